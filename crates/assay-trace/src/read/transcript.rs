//! A transcript that was read: its steps as one trajectory, and several of them as one.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::builder::{Head, Hidden, Sink};
use super::error::TraceError;
use crate::Usage;
use crate::usage::{CACHE_WRITE, CACHE_WRITE_1H, Tally};
use crate::{Diagnostic, FinalMetrics, Source, Step, SubagentRef, Trajectory};

/// A transcript that was read.
#[derive(Debug)]
pub struct Transcript {
    /// The actions of the agent.
    pub trajectory: Trajectory,
    /// The name of the format.
    pub format: &'static str,
    /// Its tokens.
    pub tally: Tally,
    /// The first and the last time in it.
    pub times: Option<(jiff::Timestamp, jiff::Timestamp)>,
    /// Its own sums are incomplete.
    pub is_partial: bool,
    /// Usage by model from its own account, if it has one.
    pub models: Option<BTreeMap<String, Usage>>,
    /// What its format does not show.
    pub hidden: Hidden,
    /// Problems in it.
    pub diagnostics: Vec<Diagnostic>,
}

/// A transcript whose steps went to a sink.
#[derive(Debug)]
pub struct Streamed {
    /// The name of the format.
    pub format: &'static str,
    /// Its data besides the steps.
    pub head: Head,
    /// Its tokens.
    pub tally: Tally,
    /// Problems in it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Keeps everything.
#[derive(Default)]
pub(crate) struct Collector {
    sessions: Vec<BTreeMap<Option<String>, Vec<Step>>>,
    /// Steps so far, and bytes of their texts.
    steps: usize,
    bytes: u64,
}

/// Most steps of a transcript that is kept in memory, and most bytes in them.
const MOST_STEPS: usize = 100_000;
const MOST_BYTES: u64 = 192 << 20;

/// Counts what is written.
struct Counter(u64);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Sink for Collector {
    fn step(&mut self, session: usize, lane: Option<&str>, step: Step) {
        let mut counter = Counter(0);
        // Counting cannot fail.
        let _ = serde_json::to_writer(&mut counter, &step);
        (self.steps, self.bytes) = (self.steps + 1, self.bytes + counter.0);
        if !self.fits() {
            // Nothing of it is used.
            self.sessions.clear();
            return;
        }
        if self.sessions.len() <= session {
            self.sessions.resize_with(session + 1, BTreeMap::new);
        }
        self.sessions[session].entry(lane.map(str::to_owned)).or_default().push(step);
    }
}

impl Collector {
    fn fits(&self) -> bool {
        self.steps <= MOST_STEPS && self.bytes <= MOST_BYTES
    }

    /// Refuses a transcript of which not all steps were kept.
    pub(super) fn check(&self, name: &str) -> Result<(), TraceError> {
        if self.fits() {
            return Ok(());
        }
        Err(TraceError::TooManySteps { name: name.to_owned(), steps: MOST_STEPS, bytes: MOST_BYTES })
    }

    /// One session, with its sub-agents tied to the calls that started them.
    pub(crate) fn trajectory(&mut self, session: usize, head: Head, tally: &Tally) -> Trajectory {
        let mut lanes = self.sessions.get_mut(session).map(std::mem::take).unwrap_or_default();
        let mut trajectory = Trajectory::new(head.agent);
        trajectory.session_id = head.session_id;
        trajectory.extra = head.extra;
        trajectory.notes = head.notes;
        trajectory.continued_trajectory_ref = head.continued;
        trajectory.steps = lanes.remove(&None).unwrap_or_default();
        // Complete trajectories have their references already.
        for one in head.lanes {
            let steps = lanes.remove(&Some(one.lane.clone())).unwrap_or_default();
            let whole = Trajectory { trajectory_id: Some(one.lane), steps, ..one.rest };
            trajectory.subagent_trajectories.push(whole);
        }
        for (lane, steps) in lanes {
            let mut one = Trajectory::new(trajectory.agent.clone());
            one.agent.tool_definitions.clear();
            one.session_id.clone_from(&trajectory.session_id);
            one.trajectory_id = lane;
            one.steps = steps;
            link_sub_agent(&mut trajectory.steps, &one);
            trajectory.subagent_trajectories.push(one);
        }
        let mut sums = head.final_metrics.unwrap_or_else(|| sums(tally));
        sums.total_steps = trajectory.steps.len();
        if sums.least_cost().is_none() {
            sums.total_cost_usd = sums.total_cost_usd.or(head.cost_usd);
        }
        trajectory.final_metrics = Some(sums);
        trajectory
    }
}

/// Merges the sessions of one file into one trajectory.
pub(super) fn merged(mut all: Vec<Transcript>) -> Option<Transcript> {
    let rest = all.split_off(all.len().min(1));
    let mut first = all.pop()?;
    for one in rest {
        first.tally.add(&one.tally);
        first.is_partial |= one.is_partial;
        first.diagnostics.extend(one.diagnostics);
        first.times = match (first.times, one.times) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        let before = first.trajectory.agent.model_name.clone();
        let model = one.trajectory.agent.model_name;
        for mut step in one.trajectory.steps {
            step.step_id = first.trajectory.steps.len() + 1;
            if step.source == Source::Agent && step.model_name.is_none() && model != before {
                step.model_name.clone_from(&model);
            }
            first.trajectory.steps.push(step);
        }
        first.trajectory.subagent_trajectories.extend(one.trajectory.subagent_trajectories);
        let sums = first.trajectory.final_metrics.get_or_insert_default();
        let other = one.trajectory.final_metrics.unwrap_or_default();
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        sums.total_prompt_tokens = add(sums.total_prompt_tokens, other.total_prompt_tokens);
        sums.total_completion_tokens = add(sums.total_completion_tokens, other.total_completion_tokens);
        sums.total_cached_tokens = add(sums.total_cached_tokens, other.total_cached_tokens);
        sums.total_cost_usd = sums.total_cost_usd.zip(other.total_cost_usd).map(|(a, b)| a + b);
        sums.extra.clear();
        sums.extra.extend(written(&first.tally.usage));
        sums.total_steps = first.trajectory.steps.len();
    }
    Some(first)
}

/// Adds a sub-agent's log to that of the agent that started it.
pub(super) fn attach(transcript: &mut Transcript, one: Transcript, file: &Path) {
    let mut inner = one.trajectory.subagent_trajectories;
    if !one.trajectory.steps.is_empty() {
        let mut own = Trajectory::new(one.trajectory.agent);
        own.trajectory_id = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        own.session_id = one.trajectory.session_id;
        own.steps = one.trajectory.steps;
        inner.push(own);
    }
    for one in inner {
        link_sub_agent(&mut transcript.trajectory.steps, &one);
        transcript.trajectory.subagent_trajectories.push(one);
    }
    transcript.tally.add(&one.tally);
    transcript.is_partial |= one.is_partial;
    transcript.diagnostics.extend(one.diagnostics);
    if transcript.format == "claude-code" {
        transcript.trajectory.final_metrics =
            Some(FinalMetrics { total_steps: transcript.trajectory.steps.len(), ..sums(&transcript.tally) });
    }
}

/// The tokens written to a cache, for which ATIF has no field.
fn written(usage: &Usage) -> impl Iterator<Item = (String, Value)> + use<> {
    let fields = [(CACHE_WRITE, usage.cache_write), (CACHE_WRITE_1H, usage.cache_write_1h)];
    fields.into_iter().filter(|(_, count)| *count > 0).map(|(key, count)| (key.to_owned(), count.into()))
}

/// The sums of the messages.
fn sums(tally: &Tally) -> FinalMetrics {
    if tally.messages == 0 {
        return FinalMetrics::default();
    }
    // A lower bound is not a total.
    let bounds = tally.lower_bounds();
    let mut known = tally.known();
    for (name, field) in
        [("input", &mut known.input), ("output", &mut known.output), ("cache_read", &mut known.cache_read)]
    {
        if bounds.contains(&name) {
            *field = None;
        }
    }
    FinalMetrics {
        total_prompt_tokens: known.input.map(|_| tally.usage.prompt()),
        total_completion_tokens: known.output,
        total_cached_tokens: known.cache_read,
        extra: written(&tally.usage).collect(),
        ..FinalMetrics::default()
    }
}

/// Refers to a sub-agent from the result of the call that started it: the call of that name, or the
/// one with its prompt.
fn link_sub_agent(steps: &mut [Step], one: &Trajectory) {
    let id = one.trajectory_id.as_deref();
    let prompt = one.steps.iter().find(|step| step.source == Source::User).map(|step| step.message.trim());
    for step in steps {
        let call = step.tool_calls.iter().find(|call| {
            let asked = call.arguments.get("prompt").and_then(Value::as_str).map(str::trim);
            Some(call.tool_call_id.as_str()) == id || (asked.is_some() && asked == prompt)
        });
        let Some(call) = call.map(|call| call.tool_call_id.clone()) else { continue };
        let mut results = step.observation.iter_mut().flat_map(|observation| &mut observation.results);
        let result = results.find(|result| result.source_call_id.as_deref() == Some(&call));
        if let Some(result) = result {
            result
                .subagent_trajectory_ref
                .push(SubagentRef { trajectory_id: id.map(str::to_owned), ..SubagentRef::default() });
            return;
        }
    }
}
