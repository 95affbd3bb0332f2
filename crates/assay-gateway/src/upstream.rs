//! A request to the provider, and its outcome.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::protocol::Route;
use crate::sync::lock;

/// One request to a provider.
pub(crate) struct UpstreamRequest<'a> {
    pub(crate) route: &'a Route,
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    /// Whether Anthropic's beta features are requested.
    pub(crate) beta: bool,
    pub(crate) body: &'a [u8],
    /// Headers to forward.
    pub(crate) headers: &'a [(&'static str, String)],
    pub(crate) idle: Duration,
    pub(crate) stop: &'a Arc<Stop>,
}

/// A reply whose body is still to be read.
pub(crate) struct UpstreamReply {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) retry_after: Option<String>,
    /// Headers that say how long to wait, besides the body.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Box<dyn Read + Send>,
}

/// Why there is no reply.
#[derive(Debug)]
pub(crate) struct UpstreamError {
    pub(crate) message: String,
    /// Whether the provider may have processed the request, and charge for it.
    pub(crate) may_cost: bool,
    /// Whether retrying is pointless.
    pub(crate) is_final: bool,
}

/// Ends one request from outside: the agent disconnected, or the proxy closes.
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

    /// Closes an agent's connections when the request is ended.
    pub(crate) fn watch(&self, agent: ureq::Agent) {
        let mut state = lock(&self.state);
        if state.stopped {
            drop(state);
            agent.shutdown();
        } else {
            state.agent = Some(agent);
        }
    }

    /// Stops watching the agent. `false` if it was already shut down.
    pub(crate) fn release(&self) -> bool {
        lock(&self.state).agent.take().is_some()
    }

    /// Waits. `false` if the request was ended meanwhile.
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
