//! One short request to a model before anything else is sent to it, so that a wrong address, key or name is found within
//! seconds and before anything is spent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use assay_model::{Api, Call, ModelError, ModelOptions, ScriptContext, address};

/// Delay before a waiting message is shown.
const PATIENCE: Duration = Duration::from_secs(2);

/// Attempts if a provider answers that it failed; the error may be temporary.
const TRIES: u32 = 3;

/// Between two of them.
const PAUSE: Duration = Duration::from_secs(1);

/// What happens to the first request to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreflightEvent {
    /// A model has not replied yet.
    Waiting {
        /// `provider:model`.
        model: String,
        /// Its address.
        address: String,
        /// The longest that it is waited for.
        most: Duration,
    },
    /// One that had to be waited for replied.
    Replied {
        /// `provider:model`.
        model: String,
        /// How long it took.
        after: Duration,
    },
    /// The provider is reachable but rate-limited.
    RateLimited {
        /// `provider:model`.
        model: String,
        /// Its answer.
        message: String,
    },
}

/// A model that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{model}{} does not answer: {source}", address.as_ref().map_or(String::new(), |address| format!(" at {address}")))]
pub struct PreflightError {
    /// `provider:model`.
    pub model: String,
    /// Its address.
    pub address: Option<String>,
    /// The variable that is named for its key.
    pub api_key_env: Option<String>,
    /// Why.
    pub source: ModelError,
}

/// Sends one short request to a model and waits for its reply, for `most` at the longest. A provider that limits the rate
/// can be reached, which is enough.
///
/// # Errors
/// The model cannot be used. A refused connection or a wrong key is reported at once, a server that fails after seconds.
pub fn check_model(
    model: &str,
    api: Api,
    options: &ModelOptions,
    most: Duration,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
    cancel: &AtomicBool,
    events: &mut dyn FnMut(&PreflightEvent),
) -> Result<(), PreflightError> {
    // A connection that is refused now is not worth a minute of retries.
    let options = ModelOptions { request_timeout: most, max_retries: 0, ..options.clone() };
    let began = Instant::now();
    let deadline = Some(began + most);
    let address = address(model, &options, env);
    let request = || {
        let script_context = ScriptContext::default();
        let call = Call { deadline, cancel, script_context: &script_context };
        for tried in 1.. {
            match assay_model::preflight(model, api, &options, env, &call) {
                Err(ModelError::Server { .. }) if tried < TRIES && !cancel.load(Ordering::Relaxed) => {
                    std::thread::sleep(PAUSE);
                }
                result => return result,
            }
        }
        Err(ModelError::Cancelled)
    };
    let (sender, receiver) = channel();
    let result = std::thread::scope(|scope| {
        let request = &request;
        // The sender is dropped with the thread: if that ends without a result, so does the wait.
        scope.spawn(move || drop(sender.send(request())));
        let first = receiver.recv_timeout(PATIENCE);
        if matches!(first, Err(RecvTimeoutError::Timeout)) {
            let address = address.clone().unwrap_or_default();
            events(&PreflightEvent::Waiting { model: model.to_owned(), address, most });
            let result = receiver.recv().unwrap_or(Err(ModelError::Cancelled));
            if result.is_ok() {
                events(&PreflightEvent::Replied { model: model.to_owned(), after: began.elapsed() });
            }
            return result;
        }
        first.unwrap_or(Err(ModelError::Cancelled))
    });
    match result {
        Ok(_) => Ok(()),
        Err(ModelError::RateLimited { message, .. }) => {
            events(&PreflightEvent::RateLimited { model: model.to_owned(), message });
            Ok(())
        }
        Err(source) => Err(PreflightError {
            model: model.to_owned(),
            address,
            api_key_env: options.api_key_env.clone(),
            source,
        }),
    }
}
