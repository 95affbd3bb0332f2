//! Who answers: a provider's server, any server by its address, or a script.

use std::path::PathBuf;
use std::sync::Arc;

use assay_model::wire::{self, Endpoint, Service, escape};
use assay_model::{ModelOptions, Script};
use serde_json::{Value, json};

use crate::error::GatewayError;
use crate::pace::{Pace, Pacer};
use crate::server::{Server, ServerProtocols};

/// Who answers. Cheap to clone; clones share their pace.
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

/// What there is to say of a provider beside its name.
#[derive(Debug, Clone, Default)]
pub struct ProviderOptions {
    /// Where it is reached, in place of its own address.
    pub base_url: Option<String>,
    /// The name of the variable that holds the key, in place of the provider's own.
    pub api_key_env: Option<String>,
    /// Whether a missing key is no error, because nothing will be asked.
    pub keyless: bool,
    /// Where relative paths of scripts start.
    pub directory: PathBuf,
    /// How fast it may be asked.
    pub pace: Pace,
}

/// A server of no provider in particular: no key goes there by itself.
const ANY: Service = Service { home: "", base_env: "", key_env: &[] };

impl Provider {
    /// Opens a provider by its name: `anthropic`, `openai`, `gemini`, `scripted:FILE`, or the address of a server, which is
    /// asked in the agent's own protocol (Ollama, vLLM, llama.cpp, another gateway).
    ///
    /// `env` looks variables up: keys, addresses and proxies, as [`assay_model::open`] does. No request is sent here.
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
        let settled = ModelOptions {
            base_url,
            api_key_env: options.api_key_env.clone(),
            needs_key: !options.keyless,
            ..ModelOptions::default()
        };
        let endpoint = Endpoint::resolve(service, &settled, env)?;
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

    /// Whether its answers say anything about a model. `false` for scripts.
    pub fn measures_a_model(&self) -> bool {
        matches!(self.inner.kind, Kind::Server(_))
    }

    /// Whether the condition's mere name can change an answer. Only a script's can.
    pub fn reads_condition(&self) -> bool {
        matches!(&self.inner.kind, Kind::Script(script) if script.reads_condition())
    }

    /// What its answers depend on beside requests, for a trial's identity: the digest of a script; `Null` otherwise.
    pub fn identity(&self) -> Value {
        match &self.inner.kind {
            Kind::Script(script) => json!({"script": script.digest()}),
            Kind::Server(_) => Value::Null,
        }
    }
}
