//! Sends one short request to every model of a plan before its first trial, so that a wrong
//! address, key or name is found within seconds and not after several failed trials.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_agent::cli_agents::Harness;
use assay_ask::check_model;
pub use assay_ask::{PreflightError, PreflightEvent};
use assay_model::{Api, ModelOptions};
use assay_store::{Cause, JudgeModel, JudgeSpec, Store};

use crate::{Plan, RunOptions};

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
        request_reply(&model, most, &plan.experiment.directory, env, cancel, events)?;
    }
    Ok(())
}

/// The same for judges alone, as judging again needs it. Relative paths start from `directory`.
///
/// # Errors
/// The first judge that cannot be used.
pub fn preflight_judges(
    judges: &JudgeSpec,
    directory: &Path,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
    cancel: &AtomicBool,
    events: &mut dyn FnMut(&PreflightEvent),
) -> Result<(), PreflightError> {
    let most = assay_diagnostic::duration_of_seconds(judges.timeout);
    let mut models = judges.models.iter().filter_map(ModelKey::of_judge);
    models.try_for_each(|model| request_reply(&model, most, directory, env, cancel, events))
}

impl ModelKey {
    /// `None` for a script.
    fn of_judge(judge: &JudgeModel) -> Option<Self> {
        (!judge.model.starts_with("scripted:")).then(|| Self {
            model: judge.model.clone(),
            base_url: judge.base_url.clone(),
            api_key_env: judge.api_key_env.clone(),
            max_output_tokens: None,
            temperature: None,
            api: Api::Chat,
        })
    }
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
            if let Some(key) = ModelKey::of_judge(judge) {
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
    directory: &Path,
    env: &(dyn Fn(&str) -> Option<String> + Sync),
    cancel: &AtomicBool,
    events: &mut dyn FnMut(&PreflightEvent),
) -> Result<(), PreflightError> {
    let options = ModelOptions {
        base_url: model.base_url.clone(),
        api_key_env: model.api_key_env.clone(),
        max_output_tokens: model.max_output_tokens,
        temperature: model.temperature.map(f64::from_bits),
        directory: directory.to_owned(),
        ..ModelOptions::default()
    };
    check_model(&model.model, model.api, &options, most, env, cancel, events)
}
