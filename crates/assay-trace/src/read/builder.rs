//! Puts a log's records together into steps, and lets go of each step as soon as nothing more can belong to it.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::diagnostic::Notes;
use crate::usage::{CACHE_WRITE, Tally, Usage};
use crate::{
    AgentInfo, FinalMetrics, Observation, ObservationResult, Source, Step, SubagentRef, ToolCall, Trajectory,
};

/// Takes steps as they become whole.
pub trait Sink {
    /// A step of the main agent, or of the sub-agent that `lane` names. `step_id` counts from 1 in each lane.
    fn step(&mut self, lane: Option<&str>, step: Step);
}

/// What is known of a transcript besides its steps.
#[derive(Debug, Default)]
pub struct Head {
    /// Who ran.
    pub agent: AgentInfo,
    /// The session.
    pub session_id: Option<String>,
    /// Sums that the log itself has.
    pub final_metrics: Option<FinalMetrics>,
    /// What has no place elsewhere.
    pub extra: Map<String, Value>,
    /// What somebody wrote about it.
    pub notes: Option<String>,
    /// Where it goes on, if it does in another file.
    pub continued: Option<String>,
    /// The first and the last time that the log has.
    pub times: Option<(Timestamp, Timestamp)>,
}

/// So many later messages have to stand behind one before it counts as whole: a message's blocks can come between others.
const LAG: usize = 4;

/// A message that still waits for results is let go when so many stand behind it, or when they hold so many bytes.
const MOST_WAITING: usize = 64;
const MOST_BYTES: usize = 32 << 20;

/// Clocks of several processes write one log; less than this back is no oddity, in seconds.
const SLACK: f64 = 1.0;

struct Open {
    step: Step,
    key: Option<String>,
    waiting: usize,
    bytes: usize,
    counted: bool,
}

#[derive(Default)]
struct Lane {
    open: VecDeque<Open>,
    given: usize,
}

/// Puts records together. Decoders speak to it in the terms of conversations.
pub(crate) struct Builder<'s> {
    pub(crate) head: Head,
    pub(crate) tally: Tally,
    pub(crate) notes: Notes,
    /// The line that is being read, from 1; `None` in documents.
    pub(crate) line: Option<usize>,
    /// Bytes of the record that is being read.
    pub(crate) bytes: usize,
    sink: &'s mut dyn Sink,
    lanes: BTreeMap<Option<String>, Lane>,
    last: Option<Timestamp>,
    hash: RandomState,
    /// Hashes of the messages whose usage has been counted, and of the records that were read.
    counted: HashSet<u64>,
    records: HashSet<u64>,
    sum: Option<Usage>,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(sink: &'s mut dyn Sink) -> Self {
        Self {
            head: Head::default(),
            tally: Tally::default(),
            notes: Notes::default(),
            line: None,
            bytes: 0,
            sink,
            lanes: BTreeMap::new(),
            last: None,
            hash: RandomState::new(),
            counted: HashSet::new(),
            records: HashSet::new(),
            sum: None,
        }
    }

    /// Something odd about the record that is being read.
    pub(crate) fn note(&mut self, code: &'static str, message: impl Into<String>) {
        self.notes.add(code, self.line, message);
    }

    /// A kind of record that no version known here writes.
    pub(crate) fn unknown(&mut self, kind: &str) {
        let kind: String = kind.chars().take(40).collect();
        self.note("unknown-record", format!("records of type {kind:?} are not known; they are passed over"));
    }

    /// Whether a record with this name was read before, where that is no oddity.
    pub(crate) fn is_known(&mut self, record: &str) -> bool {
        !self.records.insert(self.hash.hash_one(record))
    }

    /// Whether a record with this name was read before; tells if so.
    pub(crate) fn is_repeated(&mut self, record: &str) -> bool {
        let known = self.is_known(record);
        if known {
            self.note("duplicate-record", "a record stands here that was read before; it is passed over");
        }
        known
    }

    /// Takes note of a time, and gives it as text. What is no time is told.
    pub(crate) fn time(&mut self, text: Option<&str>) -> Option<String> {
        let text = text?;
        let Ok(time) = text.parse::<Timestamp>() else {
            self.note("no-time", "a timestamp is none");
            return None;
        };
        self.clock(time);
        Some(text.to_owned())
    }

    /// A time in milliseconds since 1970, as text.
    pub(crate) fn millis(&mut self, millis: i64) -> Option<String> {
        let Ok(time) = Timestamp::from_millisecond(millis) else {
            self.note("no-time", "a timestamp is none");
            return None;
        };
        self.clock(time);
        Some(time.to_string())
    }

    fn clock(&mut self, time: Timestamp) {
        if let Some(last) = self.last
            && last.duration_since(time).as_secs_f64() > SLACK
        {
            self.note("clock-runs-back", "the clock runs back here; the order of lines is kept");
        }
        self.last = Some(time);
        let times = self.head.times.get_or_insert((time, time));
        times.0 = times.0.min(time);
        times.1 = times.1.max(time);
    }

    /// A message of its own.
    pub(crate) fn say(
        &mut self,
        lane: Option<&str>,
        source: Source,
        text: impl Into<String>,
        time: Option<String>,
    ) -> &mut Step {
        let step = self.open(lane, source, None, time);
        step.message = text.into();
        step
    }

    /// The agent's message of this name; a part of it may have come before.
    pub(crate) fn message(
        &mut self,
        lane: Option<&str>,
        key: Option<&str>,
        time: Option<String>,
    ) -> &mut Step {
        let lane_key = lane.map(str::to_owned);
        let known = self.lanes.get(&lane_key).and_then(|lane| {
            let key = key?;
            lane.open.iter().rposition(|open| open.key.as_deref() == Some(key))
        });
        if let Some(at) = known {
            let bytes = self.bytes;
            let open = &mut self.lanes.entry(lane_key).or_default().open[at];
            open.bytes += bytes;
            return &mut open.step;
        }
        self.open(lane, Source::Agent, key, time)
    }

    fn open(
        &mut self,
        lane: Option<&str>,
        source: Source,
        key: Option<&str>,
        time: Option<String>,
    ) -> &mut Step {
        self.let_go(lane);
        let mut step = Step::new(0, source, "");
        step.timestamp = time;
        if let Some(key) = key {
            step.extra.insert("message_id".to_owned(), key.into());
        }
        let open = Open { step, key: key.map(str::to_owned), waiting: 0, bytes: self.bytes, counted: false };
        let lane = self.lanes.entry(lane.map(str::to_owned)).or_default();
        lane.open.push_back(open);
        let last = lane.open.len() - 1;
        &mut lane.open[last].step
    }

    /// A call by the message of this name, which is the last one that `message` gave.
    pub(crate) fn call(&mut self, lane: Option<&str>, key: Option<&str>, call: ToolCall) {
        let lane = self.lanes.entry(lane.map(str::to_owned)).or_default();
        let found =
            lane.open.iter_mut().rev().find(|open| {
                open.step.source == Source::Agent && (key.is_none() || open.key.as_deref() == key)
            });
        if let Some(open) = found {
            if open.step.tool_calls.iter().any(|known| known.tool_call_id == call.tool_call_id) {
                return;
            }
            open.step.tool_calls.push(call);
            open.waiting += 1;
        }
    }

    /// What a call gave. A result that answers no call that is still at hand becomes a message of its own.
    pub(crate) fn result(
        &mut self,
        lane: Option<&str>,
        call: &str,
        result: ObservationResult,
        time: Option<String>,
    ) {
        let mut result = ObservationResult { source_call_id: Some(call.to_owned()), ..result };
        let bytes = self.bytes;
        let at = self.lanes.entry(lane.map(str::to_owned)).or_default();
        let found = at
            .open
            .iter_mut()
            .rev()
            .find(|open| open.step.tool_calls.iter().any(|known| known.tool_call_id == call));
        if let Some(open) = found {
            open.bytes += bytes;
            let results = &mut open.step.observation.get_or_insert_with(Observation::default).results;
            // A later result of the same call takes the place of the earlier one.
            let known = results.iter_mut().find(|known| known.source_call_id.as_deref() == Some(call));
            if let Some(known) = known {
                *known = result;
            } else {
                results.push(result);
                open.waiting = open.waiting.saturating_sub(1);
            }
            return;
        }
        self.note("result-without-call", "a result stands here without its call");
        result.source_call_id = None;
        result.extra.insert("call_id".to_owned(), call.into());
        let step = self.say(lane, Source::System, "", time);
        step.observation = Some(Observation { results: vec![result] });
    }

    /// Usage that a record repeats for its message: the message is counted once, with the figures of the record that says it
    /// wrote most, which is the last one of a message that was still being written.
    pub(crate) fn usage(&mut self, lane: Option<&str>, key: Option<&str>, usage: Usage, raw: Option<&Value>) {
        self.tally.records += 1;
        self.tally.per_record.add(&usage);
        let lane = self.lanes.entry(lane.map(str::to_owned)).or_default();
        let found =
            lane.open.iter_mut().rev().find(|open| {
                open.step.source == Source::Agent && (key.is_none() || open.key.as_deref() == key)
            });
        let Some(open) = found else { return };
        if open.counted {
            if open.step.usage().is_some_and(|known| known.output < usage.output) {
                open.step.metrics = Some(usage.metrics(raw));
            }
            return;
        }
        // A message that went on after it was let go has been counted.
        let fresh = key.is_none_or(|key| self.counted.insert(self.hash.hash_one(key)));
        if fresh {
            open.counted = true;
            open.step.metrics = Some(usage.metrics(raw));
        }
    }

    /// Steps that came whole from elsewhere.
    pub(crate) fn whole(&mut self, lane: Option<&str>, step: Step) {
        if let Some(usage) = step.usage() {
            self.tally.records += 1;
            self.tally.per_record.add(&usage);
        }
        let lane = self.lanes.entry(lane.map(str::to_owned)).or_default();
        lane.open.push_back(Open { step, key: None, waiting: 0, bytes: 0, counted: true });
    }

    /// A trajectory that came whole from elsewhere. Sub-agents of sub-agents stand beside them.
    pub(crate) fn adopt(&mut self, trajectory: Trajectory) {
        self.head.agent = trajectory.agent;
        self.head.session_id = trajectory.session_id;
        self.head.extra = trajectory.extra;
        self.head.notes = trajectory.notes;
        self.head.continued = trajectory.continued_trajectory_ref;
        for step in trajectory.steps {
            self.whole(None, step);
        }
        let mut left = trajectory.subagent_trajectories;
        let mut number = 0;
        while let Some(mut one) = left.pop() {
            number += 1;
            left.append(&mut one.subagent_trajectories);
            let lane = one.trajectory_id.or(one.session_id).unwrap_or_else(|| format!("subagent-{number}"));
            for step in one.steps {
                self.whole(Some(&lane), step);
            }
        }
    }

    /// Sums that the log has of its own, which stand in place of what its messages add up to.
    pub(crate) fn total(&mut self, usage: Usage, cost: Option<f64>, raw: Option<&Value>) {
        let extra = raw.map(|raw| Map::from_iter([("usage".to_owned(), raw.clone())]));
        self.head.final_metrics = Some(FinalMetrics {
            total_prompt_tokens: Some(usage.prompt()),
            total_completion_tokens: Some(usage.output),
            total_cached_tokens: Some(usage.cache_read),
            total_cost_usd: cost,
            total_steps: 0,
            extra: extra.unwrap_or_default(),
        });
        self.sum = Some(usage);
    }

    fn let_go(&mut self, lane: Option<&str>) {
        let key = lane.map(str::to_owned);
        let Some(at) = self.lanes.get_mut(&key) else { return };
        let mut bytes: usize = at.open.iter().map(|open| open.bytes).sum();
        while at.open.len() >= LAG
            && at
                .open
                .front()
                .is_some_and(|open| open.waiting == 0 || at.open.len() > MOST_WAITING || bytes > MOST_BYTES)
        {
            let Some(open) = at.open.pop_front() else { break };
            bytes = bytes.saturating_sub(open.bytes);
            give(self.sink, &mut self.tally, lane, &mut at.given, open);
        }
    }

    /// Lets go of everything.
    pub(crate) fn finish(&mut self) {
        for (key, mut lane) in std::mem::take(&mut self.lanes) {
            while let Some(open) = lane.open.pop_front() {
                give(self.sink, &mut self.tally, key.as_deref(), &mut lane.given, open);
            }
        }
        // A log's own sums count where its messages do not say all.
        if let Some(sum) = self.sum.or_else(|| self.head.final_metrics.as_ref()?.usage())
            && (sum.total() > self.tally.usage.total() || self.sum.is_some())
        {
            self.tally.usage = sum;
        }
    }
}

fn give(sink: &mut dyn Sink, tally: &mut Tally, lane: Option<&str>, given: &mut usize, open: Open) {
    let mut step = open.step;
    *given += 1;
    step.step_id = *given;
    if let Some(usage) = step.usage() {
        tally.messages += 1;
        tally.usage.add(&usage);
    }
    sink.step(lane, step);
}

/// Keeps everything.
#[derive(Default)]
pub(crate) struct Collector {
    lanes: BTreeMap<Option<String>, Vec<Step>>,
}

impl Sink for Collector {
    fn step(&mut self, lane: Option<&str>, step: Step) {
        self.lanes.entry(lane.map(str::to_owned)).or_default().push(step);
    }
}

impl Collector {
    /// The whole, with its sub-agents tied to the calls that started them.
    pub(crate) fn trajectory(mut self, head: Head, tally: &Tally) -> Trajectory {
        let mut trajectory = Trajectory::new(head.agent);
        trajectory.session_id = head.session_id;
        trajectory.extra = head.extra;
        trajectory.notes = head.notes;
        trajectory.continued_trajectory_ref = head.continued;
        trajectory.steps = self.lanes.remove(&None).unwrap_or_default();
        for (lane, steps) in self.lanes {
            let mut one = Trajectory::new(trajectory.agent.clone());
            one.agent.tool_definitions.clear();
            one.session_id.clone_from(&trajectory.session_id);
            one.trajectory_id = lane;
            one.steps = steps;
            tie(&mut trajectory.steps, &one);
            trajectory.subagent_trajectories.push(one);
        }
        let mut sums = head.final_metrics.unwrap_or_else(|| sums(tally));
        sums.total_steps = trajectory.steps.len();
        trajectory.final_metrics = Some(sums);
        trajectory
    }
}

/// Adds a sub-agent's log to that of the agent that started it.
pub(super) fn attach(transcript: &mut super::Transcript, one: super::Transcript, file: &Path) {
    let mut inner = one.trajectory.subagent_trajectories;
    if !one.trajectory.steps.is_empty() {
        let mut own = Trajectory::new(one.trajectory.agent);
        own.trajectory_id = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        own.session_id = one.trajectory.session_id;
        own.steps = one.trajectory.steps;
        inner.push(own);
    }
    for one in inner {
        tie(&mut transcript.trajectory.steps, &one);
        transcript.trajectory.subagent_trajectories.push(one);
    }
    transcript.tally.add(&one.tally);
    transcript.diagnostics.extend(one.diagnostics);
    if transcript.format == "claude-code" {
        transcript.trajectory.final_metrics =
            Some(FinalMetrics { total_steps: transcript.trajectory.steps.len(), ..sums(&transcript.tally) });
    }
}

/// What the messages add up to.
fn sums(tally: &Tally) -> FinalMetrics {
    if tally.messages == 0 {
        return FinalMetrics::default();
    }
    let written =
        (tally.usage.cache_write > 0).then(|| (CACHE_WRITE.to_owned(), tally.usage.cache_write.into()));
    FinalMetrics {
        total_prompt_tokens: Some(tally.usage.prompt()),
        total_completion_tokens: Some(tally.usage.output),
        total_cached_tokens: Some(tally.usage.cache_read),
        extra: written.into_iter().collect(),
        ..FinalMetrics::default()
    }
}

/// Refers to a sub-agent from the result of the call that started it: the call of that name, or the one with its prompt.
fn tie(steps: &mut [Step], one: &Trajectory) {
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
