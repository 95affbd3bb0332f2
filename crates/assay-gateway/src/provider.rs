//! Who answers: a provider's server, any server by its address, or a script.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use assay_model::wire::{self, Endpoint, Service, escape};
use assay_model::{ModelOptions, Script};
use serde_json::{Value, json};

use crate::pace::Pacer;
use crate::protocol::Route;
use crate::server::{Server, Speaks};
use crate::{GatewayError, Pace, lock};

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
        let (service, speaks) = match spec {
            "anthropic" => (&wire::ANTHROPIC, Speaks::Anthropic),
            "openai" => (&wire::OPENAI, Speaks::Openai),
            "gemini" => (&wire::GEMINI, Speaks::Gemini),
            _ if is_address => (&ANY, Speaks::All),
            _ => {
                let spec = escape(spec);
                return Err(GatewayError::Spec(format!(
                    "{spec:?} names no provider: write anthropic, openai, gemini, scripted:FILE, or an address"
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
            kind: Kind::Server(Box::new(Server::new(endpoint, speaks))),
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

/// One request to a provider.
pub(crate) struct Ask<'a> {
    pub(crate) route: &'a Route,
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    /// Whether Anthropic is asked for what is in beta.
    pub(crate) beta: bool,
    pub(crate) body: &'a [u8],
    /// Headers that are passed on.
    pub(crate) headers: &'a [(&'static str, String)],
    pub(crate) idle: Duration,
    pub(crate) stop: &'a Arc<Stop>,
}

/// A reply whose body is still to be read.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) retry_after: Option<String>,
    /// What the provider asks to be waited, beside what its body says.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Box<dyn Read + Send>,
}

/// Why there is no reply.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) message: String,
    /// Whether the provider may have worked, and charge for it.
    pub(crate) may_cost: bool,
    /// Whether another try is pointless.
    pub(crate) is_final: bool,
}

/// Ends one request from outside: the agent went away, or the door closes.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    state: Mutex<StopState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct StopState {
    stopped: bool,
    agent: Option<ureq::Agent>,
}

impl Stop {
    pub(crate) fn stop(&self) {
        let agent = {
            let mut state = lock(&self.state);
            state.stopped = true;
            state.agent.take()
        };
        self.changed.notify_all();
        if let Some(agent) = agent {
            agent.shutdown();
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        lock(&self.state).stopped
    }

    /// Has an agent's connections closed when the request is ended.
    pub(crate) fn watch(&self, agent: ureq::Agent) {
        let mut state = lock(&self.state);
        if state.stopped {
            drop(state);
            agent.shutdown();
        } else {
            state.agent = Some(agent);
        }
    }

    /// Gives the agent back that was watched. `false` where it was shut down already.
    pub(crate) fn release(&self) -> bool {
        lock(&self.state).agent.take().is_some()
    }

    /// Waits. `false` where the request was ended meanwhile.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = lock(&self.state);
        loop {
            if state.stopped {
                return false;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}
