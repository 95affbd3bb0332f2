//! A trial of a task with steps: each is a conversation of its own, with its own tests and reward,
//! on the work that the one before has left.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use assay_agent::AgentRun;
use assay_diagnostic::escape;
use assay_fs::remove_tree;
use assay_store::{GeneratedSkill, Metered, Outcome, Seconds, StepRecord};
use assay_task::{RewardStrategy, Step};
use assay_trace::Exposure;
use serde_json::{Value, json};

use super::attempt::Attempt;
use super::broken::{Broken, create_folder};
use super::doubles::{DoubleCalls, seeded};
use super::environment::phases::{Environment, StepStart};
use super::findings::{Findings, StepResults, known_turns, outcome};
use super::trial::ResolvedTrial;
use super::verifier::Reward;

/// The folder of an attempt with a folder for each step.
pub(crate) const STEPS: &str = "steps";

/// The folders of a step: in the store, and for its sandboxes.
pub(crate) struct StepFolders {
    folder: PathBuf,
    scratch: PathBuf,
}

/// Where the steps of an attempt are run; nowhere if the task has none.
pub(crate) fn step_folders(attempt: &Attempt<'_>) -> Vec<StepFolders> {
    let steps = attempt.trial.task.steps.iter().enumerate();
    steps
        .map(|(number, step)| StepFolders {
            folder: attempt.folder.join(STEPS).join(step.name()),
            scratch: attempt.scratch.join((number + 1).to_string()),
        })
        .collect()
}

/// The attempts at the steps of an attempt.
pub(crate) fn attempts<'a>(whole: &Attempt<'a>, folders: &'a [StepFolders]) -> Vec<Attempt<'a>> {
    let steps = whole.trial.steps.iter().zip(folders);
    steps
        .map(|(trial, StepFolders { folder, scratch })| Attempt { trial, folder, scratch, ..*whole })
        .collect()
}

/// Runs the steps of a trial until the last, or until one does not reach what its gate demands.
pub(crate) fn run<'a, E: Environment>(
    whole: &Attempt<'a>,
    attempts: &[Attempt<'a>],
    open: impl Fn(Attempt<'a>, Option<E::Snapshot>) -> Result<E, Broken>,
    findings: &mut Findings,
) -> Result<(), Broken> {
    let mut each = Vec::new();
    let mut results = StepResults::default();
    let ended = run_each(whole, attempts, open, &mut each, &mut results);
    let steps = &whole.trial.task.steps;
    let not_run = steps.iter().skip(results.records.len());
    results.records.extend(not_run.map(|step| StepRecord::not_run(step.name())));
    let strategy = whole.trial.task.config.reward_strategy;
    results.is_late = is_late(&results.records, strategy);
    findings.reward = reward(&results.records, strategy);
    findings.steps = Some(results);
    combine(findings, steps, each);
    if let Some(run) = &findings.run {
        whole.write_json("trajectory.json", &run.trajectory)?;
        whole.write_json("exposure.json", &findings.exposure)?;
    }
    ended
}

fn run_each<'a, E: Environment>(
    whole: &Attempt<'a>,
    attempts: &[Attempt<'a>],
    open: impl Fn(Attempt<'a>, Option<E::Snapshot>) -> Result<E, Broken>,
    each: &mut Vec<Findings>,
    results: &mut StepResults,
) -> Result<(), Broken> {
    let task = &whole.trial.task;
    let mut snapshot = None;
    for (number, (attempt, step)) in attempts.iter().zip(&task.steps).enumerate() {
        let mut own = Findings::default();
        let environment = || {
            create_folder(attempt.folder)?;
            let files = attempt.scratch.join("files");
            create_folder(&files)?;
            let laid = task.lay_out_step_files(number, &files);
            let has_files = laid.map_err(|error| Broken::harness_error(&error))?;
            let start = StepStart {
                name: step.name(),
                files: has_files.then_some(&files),
                healthcheck: step.config.healthcheck.as_ref(),
                is_seed: false,
            };
            let environment = open(*attempt, snapshot.take())?;
            let environment = if number == 0 { seeded(environment, attempt)? } else { environment };
            environment.begin_step(&start)
        };
        let result = attempt.run_phases(environment, &mut own, number + 1 < attempts.len());
        own.seconds.total = added([own.seconds.prepare, own.seconds.agent, own.seconds.verify]);
        let in_step = |broken: Broken| broken.in_step(step.name());
        let result = match result {
            // What the steps before have left is part of what a step starts with.
            Err(broken) if number > 0 && own.enforcement.is_none() => match attempt.blame(broken) {
                Ok(reason) => {
                    own.no_reward = Some(reason);
                    fail_from(number, &task.steps, own, each, results);
                    return Ok(());
                }
                Err(broken) => Err(broken),
            },
            result => result,
        };
        results.records.push(record(attempt.trial, step, &own, &result));
        let gate = unmet(step, own.reward.as_ref());
        let is_tampered = !own.tampered.is_empty();
        let no_reward = own.no_reward.clone();
        each.push(own);
        let kept = result.map_err(in_step)?;
        if is_tampered || whole.cancel.load(Ordering::Relaxed) {
            return Ok(());
        }
        if number + 1 == attempts.len() {
            return Ok(());
        }
        if let Some(gate) = gate {
            let left = attempts.len() - number - 1;
            let steps = if left == 1 { "1 step was".to_owned() } else { format!("{left} steps were") };
            results.stopped = Some(format!("step `{}`: {gate}, so {steps} not run", escape(step.name())));
            return Ok(());
        }
        let lost = match kept {
            Some(Ok(kept)) => {
                snapshot = Some(kept);
                None
            }
            Some(Err(broken)) => Some(attempt.blame(broken).map_err(in_step)?),
            None => no_reward,
        };
        if lost.is_some() {
            let own = Findings { no_reward: lost, ..Findings::default() };
            fail_from(number + 1, &task.steps, own, each, results);
            return Ok(());
        }
        // The snapshot is all that the next step needs.
        if let Some(before) = number.checked_sub(1).and_then(|before| attempts.get(before)) {
            let _ = remove_tree(before.scratch);
        }
    }
    Ok(())
}

/// Records the steps from one on as failed: what the agent left before cannot be handed over to it.
fn fail_from(
    number: usize,
    steps: &[Step],
    own: Findings,
    each: &mut Vec<Findings>,
    results: &mut StepResults,
) {
    let nothing = Reward::nothing();
    results.records.extend(steps.iter().skip(number).map(|step| {
        StepRecord {
            name: step.name().to_owned(),
            outcome: Some(Outcome::Failed),
            reason: own.no_reward.clone(),
            reward: Some(nothing.value),
            rewards: nothing.keys.clone(),
            ..StepRecord::default()
        }
        .scored()
    }));
    each.push(own);
}

/// Why the gate of a step is not met: a key of the reward is missing or too small.
fn unmet(step: &Step, reward: Option<&Reward>) -> Option<String> {
    step.config.min_reward.iter().find_map(|(key, least)| {
        let found = reward.and_then(|reward| reward.key(key));
        match found {
            Some(found) if found >= least => None,
            Some(found) => Some(format!("`{}` is {found} and `min_reward` {least}", escape(key))),
            None => Some(format!("the reward has no `{}`, for which `min_reward` is {least}", escape(key))),
        }
    })
}

fn record<S>(
    trial: &ResolvedTrial,
    step: &Step,
    findings: &Findings,
    result: &Result<S, Broken>,
) -> StepRecord {
    let (outcome, reason) = if let Err(broken) = result {
        (Outcome::Infrastructure, Some(broken.message.clone()))
    } else {
        let (outcome, _, reason) = outcome(findings);
        (outcome, reason)
    };
    let run = findings.run.as_ref();
    let usage = run.and_then(|run| run.usage);
    StepRecord {
        name: step.name().to_owned(),
        outcome: Some(outcome),
        reason,
        reward: findings.reward.as_ref().map(|reward| reward.value),
        rewards: findings.reward.as_ref().map(|reward| reward.keys.clone()).unwrap_or_default(),
        ended: run.map(|run| run.ended.clone()),
        turns: run.and_then(|run| known_turns(&run.trajectory, findings.metered.as_ref())),
        usage,
        cost_usd: usage.zip(trial.price).map(|(usage, price)| price.cost(&usage)),
        seconds: findings.seconds,
        exposure: findings.exposure.clone(),
        ..StepRecord::default()
    }
    .scored()
}

/// The steps whose rewards count, of those that were run.
fn counted(records: &[StepRecord], strategy: RewardStrategy) -> impl Iterator<Item = &StepRecord> {
    let run: Vec<&StepRecord> = records.iter().filter(|step| step.outcome.is_some()).collect();
    let first = match strategy {
        RewardStrategy::Mean => 0,
        RewardStrategy::Final => run.len().saturating_sub(1),
    };
    run.into_iter().skip(first)
}

/// Whether the agent ran out of time in every step that counts.
fn is_late(records: &[StepRecord], strategy: RewardStrategy) -> bool {
    let mut steps = counted(records, strategy).peekable();
    steps.peek().is_some() && steps.all(|step| step.outcome == Some(Outcome::TimedOut))
}

/// The reward of a trial, by the format's rule: the last step's, or of each key the mean over the
/// steps that were graded, with 0 where it is missing. Steps that were not run do not count. A step
/// in which the agent ran out of time counts as 0, as such a trial does, if others count too.
fn reward(records: &[StepRecord], strategy: RewardStrategy) -> Option<Reward> {
    let graded: Vec<&StepRecord> = counted(records, strategy).filter(|step| step.reward.is_some()).collect();
    let [.., last] = &graded[..] else { return None };
    if let [only] = &graded[..] {
        return Some(Reward { value: last.reward?, keys: only.rewards.clone(), ..Reward::default() });
    }
    let number = graded.len() as f64;
    let mut keys: BTreeMap<String, f64> = BTreeMap::new();
    let mut value = 0.0;
    for step in graded {
        let weight = if step.outcome == Some(Outcome::TimedOut) { 0.0 } else { 1.0 / number };
        value += weight * step.reward.unwrap_or_default();
        for (key, reward) in &step.rewards {
            *keys.entry(key.clone()).or_default() += weight * reward;
        }
    }
    Some(Reward { value, keys, ..Reward::default() })
}

/// Adds up the findings of the steps.
fn combine(findings: &mut Findings, steps: &[Step], each: Vec<Findings>) {
    let mut tests = Vec::new();
    for (own, step) in each.into_iter().zip(steps) {
        let before = findings.run.as_ref().map_or(0, |run| run.trajectory.steps.len());
        merge_exposure(&mut findings.exposure, own.exposure, before);
        if let Some(own) = own.generated {
            merge_generated(findings.generated.get_or_insert_default(), own);
        }
        if let Some(run) = own.run {
            match &mut findings.run {
                Some(all) => append(all, run),
                all => *all = Some(run),
            }
        }
        // In every step.
        findings.text_sent = match (findings.text_sent, own.text_sent) {
            (Some(all), Some(own)) => Some(all && own),
            (all, own) => all.or(own),
        };
        tests.extend(named_tests(own.ctrf, step.name()));
        if let Some(reason) = own.no_reward {
            findings.no_reward.get_or_insert(format!("step `{}`: {reason}", escape(step.name())));
        }
        findings.verifier_environment = findings.verifier_environment.or(own.verifier_environment);
        findings.kept_because = findings.kept_because.or(own.kept_because);
        extend(&mut findings.contaminated, own.contaminated);
        extend(&mut findings.tampered, own.tampered);
        extend(&mut findings.outside, own.outside);
        extend(&mut findings.task_skills, own.task_skills);
        findings.enforcement = findings.enforcement.or(own.enforcement);
        findings.used = match (findings.used, own.used) {
            (Some(all), Some(own)) => Some(total_usage(all, own)),
            (all, own) => all.or(own),
        };
        findings.metered = match (findings.metered, own.metered) {
            (Some(all), Some(own)) => Some(total_metered(all, own)),
            (all, own) => all.or(own),
        };
        findings.lines_changed = match (findings.lines_changed, own.lines_changed) {
            (Some(all), Some(own)) => Some(all + own),
            (all, own) => all.or(own),
        };
        findings.doubles = match (findings.doubles, own.doubles) {
            (Some(all), Some(own)) => {
                Some(DoubleCalls { calls: all.calls + own.calls, unknown: all.unknown + own.unknown })
            }
            (all, own) => all.or(own),
        };
        let Seconds { prepare, agent, throttled, verify, .. } = own.seconds;
        let all = &mut findings.seconds;
        for (all, own) in [
            (&mut all.prepare, prepare),
            (&mut all.agent, agent),
            (&mut all.throttled, throttled),
            (&mut all.verify, verify),
        ] {
            *all = added([*all, own]);
        }
    }
    findings.ctrf = (!tests.is_empty()).then(|| json!({ "tests": tests }));
}

/// The sum of the phases that took place; `None` if none did.
fn added<const N: usize>(phases: [Option<f64>; N]) -> Option<f64> {
    phases.into_iter().flatten().reduce(|sum, seconds| sum + seconds)
}

fn extend(all: &mut Vec<String>, own: Vec<String>) {
    for text in own {
        if !all.contains(&text) {
            all.push(text);
        }
    }
}

/// The tests of a step, with its name before theirs.
fn named_tests(report: Option<Value>, step: &str) -> Vec<Value> {
    let mut report = report.unwrap_or_default();
    let tests = report.get_mut("tests").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
    let named = |mut test: Value| {
        let name = test.get("name").and_then(Value::as_str).unwrap_or_default();
        let name = format!("{step}: {name}");
        if let Some(test) = test.as_object_mut() {
            test.insert("name".to_owned(), Value::String(name));
        }
        test
    };
    tests.into_iter().map(named).collect()
}

/// Adds a step's conversation to those before. The end is that of the last step.
fn append(all: &mut AgentRun, run: AgentRun) {
    let AgentRun { trajectory, usage, estimated, replied_models, ended, throttled } = run;
    let before = all.trajectory.steps.len();
    all.trajectory.steps.extend(trajectory.steps.into_iter().map(|mut step| {
        step.step_id += before;
        step
    }));
    all.trajectory.subagent_trajectories.extend(trajectory.subagent_trajectories);
    let total_steps = all.trajectory.steps.len();
    all.trajectory.final_metrics = match (all.trajectory.final_metrics.take(), trajectory.final_metrics) {
        (Some(mut sum), Some(own)) => {
            let add = |sum: Option<u64>, own: Option<u64>| Some(sum? + own?);
            sum.total_prompt_tokens = add(sum.total_prompt_tokens, own.total_prompt_tokens);
            sum.total_completion_tokens = add(sum.total_completion_tokens, own.total_completion_tokens);
            sum.total_cached_tokens = add(sum.total_cached_tokens, own.total_cached_tokens);
            sum.total_cost_usd = sum.total_cost_usd.zip(own.total_cost_usd).map(|(sum, own)| sum + own);
            sum.total_steps = total_steps;
            Some(sum)
        }
        _ => None,
    };
    // One unknown count makes the sum unknown.
    all.usage = all.usage.zip(usage).map(|(mut sum, own)| {
        sum += own;
        sum
    });
    all.estimated.requests += estimated.requests;
    all.estimated.usage += estimated.usage;
    for (model, replies) in replied_models {
        *all.replied_models.entry(model).or_default() += replies;
    }
    all.ended = ended;
    all.throttled += throttled;
}

/// Adds a step's exposure: of each stage the first time it was reached in any step, counted in the
/// steps of the joined trajectory, and of lines the most that one conversation delivered.
fn merge_exposure(all: &mut Vec<Exposure>, own: Vec<Exposure>, before: usize) {
    for mut skill in own {
        for step in [&mut skill.advertised, &mut skill.mentioned, &mut skill.opened].into_iter().flatten() {
            *step += before;
        }
        if let Some(executed) = &mut skill.executed {
            executed.step += before;
        }
        let Some(first) = all.iter_mut().find(|first| first.skill == skill.skill) else {
            all.push(skill);
            continue;
        };
        first.offered |= skill.offered;
        first.advertised = first.advertised.or(skill.advertised);
        first.mentioned = first.mentioned.or(skill.mentioned);
        first.opened = first.opened.or(skill.opened);
        first.executed = first.executed.take().or(skill.executed);
        first.body_lines_delivered = first.body_lines_delivered.max(skill.body_lines_delivered);
    }
}

/// Adds the skills that the agent wrote in a step; one that is there already is as it is after the step.
fn merge_generated(all: &mut Vec<GeneratedSkill>, own: Vec<GeneratedSkill>) {
    for skill in own {
        match all.iter_mut().find(|first| first.name == skill.name) {
            Some(first) => (first.bytes, first.opened) = (skill.bytes, first.opened || skill.opened),
            None => all.push(skill),
        }
    }
}

fn total_usage(all: assay_sandbox::Usage, own: assay_sandbox::Usage) -> assay_sandbox::Usage {
    let add = |all: Option<f64>, own: Option<f64>| Some(all? + own?);
    assay_sandbox::Usage {
        cpu_seconds: add(all.cpu_seconds, own.cpu_seconds),
        peak_memory_bytes: all.peak_memory_bytes.max(own.peak_memory_bytes),
        frozen_seconds: add(all.frozen_seconds, own.frozen_seconds),
    }
}

fn total_metered(all: Metered, own: Metered) -> Metered {
    Metered {
        requests: all.requests + own.requests,
        tokens: all.tokens + own.tokens,
        transcript_tokens: all.transcript_tokens.zip(own.transcript_tokens).map(|(all, own)| all + own),
        estimated_tokens: all.estimated_tokens + own.estimated_tokens,
        side_request_tokens: all.side_request_tokens + own.side_request_tokens,
        replayed: all.replayed || own.replayed,
    }
}
