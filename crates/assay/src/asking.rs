//! How commands ask models: the flags as a model and a cap, failures, and progress.

use std::sync::Arc;
use std::time::Duration;

pub use assay_ask::WAITING_INTERVAL;
use assay_ask::{
    AskCaps, AskError, AskEvent, AskEvents, AskProgress, CacheError, CapReached, CostCap, ModelHandle,
    PreflightEvent,
};
use assay_model::{ModelError, ModelOptions, Price};
use assay_report::counted;

use crate::args::model::{ModelAccess, ModelFlags};
use crate::failure::Failure;
use crate::machine;
use crate::ui::Ui;

/// The price that `--price IN,OUT` gives, if it is given.
pub fn price_of(values: &[f64]) -> Result<Option<Price>, Failure> {
    match *values {
        [] => Ok(None),
        [input, output] if input >= 0.0 && output >= 0.0 => Ok(Some(Price::new(input, output, None, None))),
        _ => Err(Failure::bad_input("--price needs two numbers, for input and output")
            .hint("--price 3,15, in USD per million tokens")),
    }
}

impl ModelAccess {
    fn options(&self) -> ModelOptions {
        ModelOptions {
            base_url: self.base_url.clone(),
            api_key_env: self.api_key_env.clone(),
            ..ModelOptions::default()
        }
    }

    /// Opens a model. `option` names it in errors, such as `--model`.
    pub fn open_model(&self, option: &str, spec: &str) -> Result<ModelHandle, Failure> {
        ModelHandle::open(spec, self.options(), Arc::new(machine::env))
            .map_err(|error| Failure::bad_input(format!("{option}: {error}")))
    }

    /// The same for a model that may not be asked: its key is needed only then.
    pub fn open_model_on_use(&self, option: &str, spec: &str) -> Result<ModelHandle, Failure> {
        ModelHandle::open_on_use(spec, self.options(), Arc::new(machine::env))
            .map_err(|error| Failure::bad_input(format!("{option}: {error}")))
    }

    /// The cap of a command that needs none.
    pub fn cost_cap(&self) -> Result<CostCap, Failure> {
        self.cap_of(AskCaps::default())
    }

    /// The price, and `caps` with the cap in USD.
    pub fn cap_of(&self, caps: AskCaps) -> Result<CostCap, Failure> {
        let price = price_of(&self.price)?;
        if self.max_usd.is_some() && price.is_none() {
            return Err(Failure::bad_input("--max-usd needs --price").hint("--price IN,OUT"));
        }
        Ok(CostCap::new(price, AskCaps { usd: self.max_usd, ..caps }))
    }
}

impl ModelFlags {
    /// The cap of a command that a paid model needs. `what` is the subject of the message about its absence, such as "this
    /// batch".
    pub fn cost_cap(&self, what: &'static str) -> Result<CostCap, Failure> {
        let required_by = (!self.no_cap).then_some(what);
        self.access.cap_of(AskCaps { required_by, ..AskCaps::default() })
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        no_answer(error, "model")
    }
}

impl From<CapReached> for Failure {
    fn from(reason: CapReached) -> Self {
        let hint = match &reason {
            CapReached::Missing { .. } => "--max-usd USD with --price, or --no-cap",
            _ => "run the command again with a higher cap, which uses the replies so far",
        };
        let message = match reason {
            CapReached::Usd { cap, spent, next } => format!(
                "--max-usd {cap} is reached: ${spent:.4} is spent, and the next request may cost ${next:.4}"
            ),
            reason => reason.to_string(),
        };
        Self::bad_input(message).hint(hint)
    }
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        match error {
            CacheError::Format { .. } => {
                Self::bad_input(error.to_string()).hint("remove the file; the model is then asked again")
            }
            error => Self::infrastructure(assay_diagnostic::chain(&error))
                .hint("check that the store is writable and has free space"),
        }
    }
}

/// A question without an answer. `role` is what the model is called in the message, such as "judge".
pub fn no_answer(error: AskError, role: &str) -> Failure {
    match error {
        AskError::Cache(error) => error.into(),
        AskError::Capped(reason) => reason.into(),
        AskError::Unreadable { model, fault } => {
            Failure::infrastructure(format!("cannot read the replies of the {role} {model}: {fault}"))
                .hint(format!("use another {role}; the replies so far are kept"))
        }
        AskError::NoReply { model, source } => {
            no_reply(format!("the {role} {model} gives no reply"), &source, role, "the replies so far")
        }
        AskError::Preflight(error) => {
            let address = error.address.as_ref().map_or(String::new(), |address| format!(" at {address}"));
            let message = format!("the {role} {}{address} gives no reply to a first request", error.model);
            no_reply(message, &error.source, role, "what is stored; no other request was sent")
        }
        error => Failure::infrastructure(error.to_string()),
    }
}

fn no_reply(message: String, source: &ModelError, role: &str, stored: &str) -> Failure {
    let hint = match source {
        ModelError::Refused { .. } => "check the model's name and its API key (--api-key-env)".to_owned(),
        ModelError::Script(_) => "add a rule that answers to the script".to_owned(),
        ModelError::ContextExceeded { .. } => {
            format!("use a {role} with a larger context window, or shorter material")
        }
        ModelError::Network { .. } => {
            format!("check the address and the server; run the command again, which uses {stored}")
        }
        _ => format!("run the command again, which uses {stored}"),
    };
    let is_input = matches!(source, ModelError::Script(_) | ModelError::Spec(_));
    let (hint, source) = (Some(hint), Some(source.to_string().into()));
    if is_input {
        Failure::BadInput { message, hint, source, details: Vec::new() }
    } else {
        Failure::Infrastructure { message, hint, source }
    }
}

/// Lines on standard error: how long requests have been waiting, and what models answer to the first request.
pub fn progress(ui: &Ui) -> Arc<dyn AskEvents> {
    let ui = ui.clone();
    Arc::new(move |event: &AskEvent<'_>| {
        if let Some(line) = describe_event(event) {
            ui.note(&line);
        }
    })
}

/// The lines of [`progress`] about judges of trials.
pub(crate) fn judge_progress(ui: &Ui) -> AskProgress {
    let ui = ui.clone();
    let events = move |event: &AskEvent<'_>| {
        if let AskEvent::Waiting { requests, oldest } = event {
            ui.note(&describe_waiting_judges(*requests, *oldest));
        }
    };
    AskProgress::new(Arc::new(events), WAITING_INTERVAL)
}

/// How long requests have been waiting.
fn describe_waiting(requests: usize, oldest: Duration) -> String {
    let oldest = assay_report::seconds(oldest.as_secs_f64());
    match requests {
        1 => format!("1 request has been waiting for {oldest}"),
        _ => format!("{} wait, the oldest for {oldest}", counted(requests, "request", "requests")),
    }
}

/// The same of requests to judges of trials.
pub(crate) fn describe_waiting_judges(requests: usize, oldest: Duration) -> String {
    format!("judges: {}", describe_waiting(requests, oldest))
}

/// What is said about an event.
fn describe_event(event: &AskEvent<'_>) -> Option<String> {
    Some(match event {
        AskEvent::Waiting { requests, oldest } => describe_waiting(*requests, *oldest),
        AskEvent::Preflight(event) => describe_preflight(event),
        _ => return None,
    })
}

/// What is said about the first request to a model.
pub fn describe_preflight(event: &PreflightEvent) -> String {
    let seconds = |duration: &Duration| assay_report::seconds(duration.as_secs_f64());
    match event {
        PreflightEvent::Waiting { model, address, most } => format!(
            "preflight: waiting up to {} for the first reply of {model} at {address} (a local model may be loading)",
            seconds(most)
        ),
        PreflightEvent::Replied { model, after } => {
            format!("preflight: {model} replied after {}", seconds(after))
        }
        PreflightEvent::RateLimited { model, message } => {
            format!("preflight: {model} is rate-limited, so requests will wait: {message}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_requests_are_counted_with_the_oldest() {
        let check = |requests, seconds, expected: &str| {
            let event = AskEvent::Waiting { requests, oldest: Duration::from_secs(seconds) };
            assert_eq!(describe_event(&event).as_deref(), Some(expected));
        };
        check(1, 10, "1 request has been waiting for 10 s");
        check(3, 40, "3 requests wait, the oldest for 40 s");
        assert_eq!(describe_event(&AskEvent::Cached { model: "a:b" }), None);
    }
}
