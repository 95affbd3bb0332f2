//! Opens models by their names.

use std::sync::Arc;

use crate::anthropic::{self, Anthropic};
use crate::endpoint::{Endpoint, Service};
use crate::gemini::{self, Gemini};
use crate::openai::{self, OpenAi};
use crate::provider::HostedModel;
use crate::scripted::Scripted;
use crate::text::{Secret, escape};
use crate::transport::Transport;
use crate::{ChatModel, ModelError, ModelOptions};

/// Opens a model by its name: `openai:NAME`, `anthropic:NAME`, `gemini:NAME` or `scripted:FILE`.
///
/// `env` looks up variables, so that the library does not read the environment itself: each
/// provider's key and address (`OPENAI_API_KEY`, `OPENAI_BASE_URL`; `ANTHROPIC_API_KEY`,
/// `ANTHROPIC_BASE_URL`; `GEMINI_API_KEY` or `GOOGLE_API_KEY`, `GOOGLE_GEMINI_BASE_URL`) and the
/// proxy (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, also in lower case).
///
/// A `base_url` that is neither the provider's own nor on this machine gets a key only if
/// `api_key_env` names it. No request is sent here.
pub fn open(
    spec: &str,
    options: &ModelOptions,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn ChatModel>, ModelError> {
    let (provider, name) = spec.split_once(':').unwrap_or((spec, ""));
    let wrong = |what: &str| {
        let spec = escape(spec);
        ModelError::Spec(format!(
            "invalid model {spec:?}: {what} (expected openai:NAME, anthropic:NAME, gemini:NAME or scripted:FILE)"
        ))
    };
    if !matches!(provider, "openai" | "anthropic" | "gemini" | "scripted") {
        return Err(wrong("unknown provider"));
    }
    if name.trim().is_empty() {
        return Err(wrong("missing model name"));
    }
    if provider == "scripted" {
        return Ok(Arc::new(Scripted::open(name, &options.directory)?));
    }
    if !is_plain(name) {
        return Err(wrong("character not allowed in a model name"));
    }
    if options.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
        return Err(ModelError::Spec("temperature must be between 0 and 2".to_owned()));
    }
    let id = spec.to_owned();
    let model = name.to_owned();
    match provider {
        "openai" => {
            let endpoint = Endpoint::resolve(&openai::SERVICE, options, env)?;
            let dialect = OpenAi { model, is_home: endpoint.is_home };
            let transport = bearer_transport(endpoint, "/chat/completions", options)?;
            Ok(Arc::new(HostedModel { id, dialect, transport, options: options.clone() }))
        }
        "anthropic" => {
            let endpoint = Endpoint::resolve(&anthropic::SERVICE, options, env)?;
            let mut headers = vec![("anthropic-version", Secret::new(anthropic::VERSION.to_owned()))];
            headers.extend(endpoint.key.clone().map(|key| ("x-api-key", key)));
            let transport = Transport::new(endpoint, "/v1/messages", headers, options)?;
            Ok(Arc::new(HostedModel {
                id,
                dialect: Anthropic { model },
                transport,
                options: options.clone(),
            }))
        }
        _ => {
            let endpoint = Endpoint::resolve(&gemini::SERVICE, options, env)?;
            let headers = endpoint.key.clone().map(|key| ("x-goog-api-key", key)).into_iter().collect();
            let transport = Transport::new(endpoint, &gemini::path(&model), headers, options)?;
            Ok(Arc::new(HostedModel { id, dialect: Gemini, transport, options: options.clone() }))
        }
    }
}

/// Whether a model's name may be part of a URL path, as it is with one provider, and of every
/// record.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@+".contains(c);
    name.chars().all(is_plain) && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// A transport that sends the key, if there is one, as a bearer token.
pub(crate) fn bearer_transport(
    endpoint: Endpoint,
    path: &str,
    options: &ModelOptions,
) -> Result<Transport, ModelError> {
    let authorization = |key: &Secret| ("authorization", Secret::new(format!("Bearer {}", key.expose())));
    let headers = endpoint.key.as_ref().map(authorization).into_iter().collect();
    Transport::new(endpoint, path, headers, options)
}

/// A model without conversations, and its transport.
pub(crate) struct StatelessModel {
    pub(crate) model: String,
    pub(crate) transport: Transport,
}

/// Opens a model by its name, at `path` of a service.
pub(crate) fn open_stateless(
    model: &str,
    service: &Service,
    path: &str,
    options: &ModelOptions,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<StatelessModel, ModelError> {
    if !is_plain(model) {
        let message = format!("{:?} is not a valid model name", escape(model));
        return Err(ModelError::Spec(message));
    }
    let endpoint = Endpoint::resolve(service, options, env)?;
    Ok(StatelessModel { model: model.to_owned(), transport: bearer_transport(endpoint, path, options)? })
}
