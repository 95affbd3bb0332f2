//! Model providers: a provider's server, any server by its URL, or a script.

use std::path::PathBuf;
use std::sync::Arc;

use assay_model::wire::{self, Endpoint, Service, escape};
use assay_model::{ModelOptions, Script};
use serde_json::{Value, json};

use crate::error::GatewayError;
use crate::pace::{Pace, Pacer};
use crate::server::{Server, ServerProtocols};

/// A model provider. Cheap to clone; clones share their pace.
#[derive(Debug, Clone)]
pub struct Provider {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) pacer: Pacer,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Script(Script),
    Server(Box<Server>),
}

/// The options of a provider, besides its name.
#[derive(Debug, Clone, Default)]
pub struct ProviderOptions {
    /// Base URL, in place of the provider's own.
    pub base_url: Option<String>,
    /// Environment variable with the API key, in place of the provider's own.
    pub api_key_env: Option<String>,
    /// Whether a missing key is accepted, because no request will be sent.
    pub keyless: bool,
    /// The folder that relative script paths start from.
    pub directory: PathBuf,
    /// How fast it may be called.
    pub pace: Pace,
}

/// A server of no particular provider: no key is sent to it by default.
const ANY: Service = Service { home: "", base_env: "", key_env: &[] };

impl Provider {
    /// Opens a provider by its name: `anthropic`, `openai`, `gemini`, `scripted:FILE`, or the URL
    /// of a server, which is called in the agent's own protocol (Ollama, vLLM, llama.cpp, another
    /// gateway).
    ///
    /// `env` looks up variables for keys, addresses and proxies, as [`assay_model::open`] does. No
    /// request is sent here.
    pub fn open(
        spec: &str,
        options: &ProviderOptions,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, GatewayError> {
        let pacer = Pacer::new(options.pace);
        if let Some(file) = spec.strip_prefix("scripted:") {
            let script = Script::open(file, &options.directory)?;
            let inner = Inner { name: spec.to_owned(), kind: Kind::Script(script), pacer };
            return Ok(Self { inner: Arc::new(inner) });
        }
        let is_address = spec.starts_with("http://") || spec.starts_with("https://");
        let (service, protocols) = match spec {
            "anthropic" => (&wire::ANTHROPIC, ServerProtocols::Anthropic),
            "openai" => (&wire::OPENAI, ServerProtocols::Openai),
            "gemini" => (&wire::GEMINI, ServerProtocols::Gemini),
            _ if is_address => (&ANY, ServerProtocols::All),
            _ => {
                let spec = escape(spec);
                return Err(GatewayError::Spec(format!(
                    "unknown provider {spec:?}: expected anthropic, openai, gemini, scripted:FILE or a URL"
                )));
            }
        };
        let base_url = if is_address { Some(spec.to_owned()) } else { options.base_url.clone() };
        let model_options = ModelOptions {
            base_url,
            api_key_env: options.api_key_env.clone(),
            needs_key: !options.keyless,
            ..ModelOptions::default()
        };
        let endpoint = Endpoint::resolve(service, &model_options, env)?;
        let inner = Inner {
            name: spec.to_owned(),
            kind: Kind::Server(Box::new(Server::new(endpoint, protocols))),
            pacer,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The name it was opened by.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Whether its replies measure a model. `false` for scripts.
    pub fn measures_a_model(&self) -> bool {
        matches!(self.inner.kind, Kind::Server(_))
    }

    /// Whether the name of the condition can change a reply. Only a script reads it.
    pub fn reads_condition(&self) -> bool {
        matches!(&self.inner.kind, Kind::Script(script) if script.reads_condition())
    }

    /// What its replies depend on besides requests, for a trial's identity: the digest of a script;
    /// `Null` otherwise.
    pub fn identity(&self) -> Value {
        match &self.inner.kind {
            Kind::Script(script) => json!({"script": script.digest()}),
            Kind::Server(_) => Value::Null,
        }
    }
}
