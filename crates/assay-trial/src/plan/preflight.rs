//! Sends one short request to every model of a plan before its first trial, so that a wrong
//! address, key or name is found within seconds and not after several failed trials.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use assay_agent::cli_agents::Harness;
use assay_model::{Api, Call, ModelError, ModelOptions, ScriptContext, address};
use assay_store::{Cause, Store};

use crate::{Plan, RunOptions};

/// Delay before a waiting message is shown.
const PATIENCE: Duration = Duration::from_secs(2);

/// Attempts if a provider answers that it failed; the error may be temporary.
const TRIES: u32 = 3;

/// Between two of them.
const PAUSE: Duration = Duration::from_secs(1);

/// A progress event of a run.
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

/// A model that no trial can be run with.
#[derive(Debug, thiserror::Error)]
#[error("{model}{} does not answer: {source}", address.as_ref().map_or(String::new(), |address| format!(" at {address}")))]
pub struct PreflightError {
    /// `provider:model`.
    pub model: String,
    /// Its address.
    pub address: Option<String>,
    /// The variable that the experiment names for its key.
    pub api_key_env: Option<String>,
    /// Why.
    pub source: ModelError,
}

/// A model as it is called: agents that call it the same way share one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ModelKey {
    model: String,
    base_url: Option<String>,
    api_key_env: Option<String>,
    max_output_tokens: Option<u32>,
    /// Its bits: numbers with a fraction have no order.
    temperature: Option<u64>,
    api: Api,
}

/// Sends a request to the models of the trials that a run would execute. Scripts are left out.
///
/// # Errors
/// The first model that cannot be used. The timeout is that of its longest trial: a model that does
/// not reply in that time cannot do a task in it.
pub fn preflight(
    plan: &Plan,
    store: &Store,
    options: &RunOptions,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
    cancel: &AtomicBool,
    events: &mut dyn FnMut(&PreflightEvent),
) -> Result<(), PreflightError> {
    for (model, most) in models(plan, store, options) {
        request_reply(&model, most, plan, env, cancel, events)?;
    }
    Ok(())
}

/// The distinct models that are still needed, and how long each may take.
fn models(plan: &Plan, store: &Store, options: &RunOptions) -> BTreeMap<ModelKey, Duration> {
    let mut models = BTreeMap::new();
    if options.max_trials == Some(0) {
        return models;
    }
    for cell in &plan.cells {
        let entry = &plan.agents[cell.agent];
        if !options.only.matches(cell, &entry.label.name) {
            continue;
        }
        // As the pool decides which trials are executed.
        let is_done = store.record(&cell.trial).is_ok_and(|record| {
            record.is_some_and(|record| record.outcome.counts() || !options.retry_broken && record.is_done())
        });
        let Some(trial) = plan.trials.get(&cell.trial).filter(|_| !is_done) else { continue };
        // Then only judges are asked.
        let is_worked = trial.work_id().is_some_and(|work| {
            store.work_record(&work).is_ok_and(|found| {
                found.is_some_and(|one| one.outcome.counts() || one.cause == Some(Cause::Judge))
            })
        });
        for judge in trial.judge.iter().flat_map(|judge| &judge.models) {
            let key = ModelKey {
                model: judge.model.clone(),
                base_url: judge.base_url.clone(),
                api_key_env: judge.api_key_env.clone(),
                max_output_tokens: None,
                temperature: None,
                api: Api::Chat,
            };
            if !judge.model.starts_with("scripted:") {
                let most = trial.judge.as_ref().map_or(0.0, |judge| judge.timeout);
                models.insert(key, assay_diagnostic::duration_of_seconds(most));
            }
        }
        let Some(model) = entry.spec.model.clone().filter(|_| !is_worked && entry.agent.measures_a_model())
        else {
            continue;
        };
        let model = ModelKey {
            model,
            base_url: entry.spec.base_url.clone(),
            api_key_env: entry.spec.api_key_env.clone(),
            max_output_tokens: entry.spec.max_output_tokens,
            temperature: entry.spec.temperature.map(f64::to_bits),
            api: if assay_agent::cli_agents::find(&entry.label.name)
                .is_some_and(<dyn Harness>::uses_responses_api)
            {
                Api::Responses
            } else {
                Api::Chat
            },
        };
        let most = models.entry(model).or_insert(Duration::ZERO);
        *most = (*most).max(assay_diagnostic::duration_of_seconds(trial.agent_seconds));
    }
    models
}

fn request_reply(
    model: &ModelKey,
    most: Duration,
    plan: &Plan,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
    cancel: &AtomicBool,
    events: &mut dyn FnMut(&PreflightEvent),
) -> Result<(), PreflightError> {
    let options = ModelOptions {
        base_url: model.base_url.clone(),
        api_key_env: model.api_key_env.clone(),
        max_output_tokens: model.max_output_tokens,
        temperature: model.temperature.map(f64::from_bits),
        request_timeout: most,
        // A connection that is refused now is not worth a minute of retries.
        max_retries: 0,
        directory: plan.experiment.directory.clone(),
        ..ModelOptions::default()
    };
    let began = Instant::now();
    let deadline = Some(began + most);
    let address = address(&model.model, &options, env);
    let fail = |source: ModelError| PreflightError {
        model: model.model.clone(),
        address: address.clone(),
        api_key_env: model.api_key_env.clone(),
        source,
    };
    let request = || {
        let script_context = ScriptContext::default();
        let call = Call { deadline, cancel, script_context: &script_context };
        for tried in 1.. {
            match assay_model::preflight(&model.model, model.api, &options, env, &call) {
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
            events(&PreflightEvent::Waiting { model: model.model.clone(), address, most });
            let result = receiver.recv().unwrap_or(Err(ModelError::Cancelled));
            if result.is_ok() {
                let model = model.model.clone();
                events(&PreflightEvent::Replied { model, after: began.elapsed() });
            }
            return result;
        }
        first.unwrap_or(Err(ModelError::Cancelled))
    });
    match result {
        Ok(_) => Ok(()),
        Err(ModelError::RateLimited { message, .. }) => {
            events(&PreflightEvent::RateLimited { model: model.model.clone(), message });
            Ok(())
        }
        Err(error) => Err(fail(error)),
    }
}
