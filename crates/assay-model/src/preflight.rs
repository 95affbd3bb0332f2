//! A small request before a run: can the model be reached, with the key, under its name?

use std::sync::Arc;

use serde_json::json;

use crate::endpoint::{Endpoint, Service};
use crate::open::bearer_transport;
use crate::{
    Call, ChatModel, ChatRequest, Message, ModelError, ModelOptions, anthropic, gemini, open, openai,
};

/// The prompt: as short as every provider accepts, without limits that the experiment does not set.
pub const PREFLIGHT_PROMPT: &str = "This checks the connection before a run. Reply with the word OK.";

/// The API that the model will be called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Api {
    /// The provider's own: chat completions, Messages, generateContent.
    Chat,
    /// OpenAI's Responses, the only API of some of its models.
    Responses,
}

/// Sends one short request to a model. Returns the name of the model that replied, if reported.
///
/// # Errors
/// The errors that an agent's first turn would get.
pub fn preflight(
    spec: &str,
    api: Api,
    options: &ModelOptions,
    env: &dyn Fn(&str) -> Option<String>,
    call: &Call<'_>,
) -> Result<Option<String>, ModelError> {
    // Always opened, because this checks the name.
    let model: Arc<dyn ChatModel> = open(spec, options, env)?;
    if let (Api::Responses, Some(("openai", name))) = (api, spec.split_once(':')) {
        let endpoint = Endpoint::resolve(&openai::SERVICE, options, env)?;
        let transport = bearer_transport(endpoint, "/responses", options)?;
        let mut body = json!({ "model": name, "input": PREFLIGHT_PROMPT, "store": false });
        if let (Some(most), Some(body)) = (options.max_output_tokens, body.as_object_mut()) {
            body.insert("max_output_tokens".to_owned(), json!(most));
        }
        if let (Some(temperature), Some(body)) = (options.temperature, body.as_object_mut()) {
            body.insert("temperature".to_owned(), json!(temperature));
        }
        let answer = transport.post(&body, call)?;
        return Ok(answer.body.get("model").and_then(serde_json::Value::as_str).map(str::to_owned));
    }
    let message = Message::User { text: PREFLIGHT_PROMPT.to_owned() };
    let request = ChatRequest { messages: vec![message], ..ChatRequest::default() };
    Ok(model.chat(&request, call)?.model)
}

/// The URL of a model; `None` for scripts, and if it cannot be resolved.
pub fn address(spec: &str, options: &ModelOptions, env: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let service: &Service = match spec.split_once(':')?.0 {
        "openai" => &openai::SERVICE,
        "anthropic" => &anthropic::SERVICE,
        "gemini" => &gemini::SERVICE,
        _ => return None,
    };
    Endpoint::resolve(service, options, env).ok().map(|endpoint| endpoint.base)
}
