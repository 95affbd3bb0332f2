//! Puts a log's records together into steps, and lets go of each step as soon as nothing more can
//! belong to it.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Usage;
use crate::diagnostic::Notes;
use crate::usage::{CACHE_WRITE, CACHE_WRITE_1H, FieldCounts, KnownUsage, Tally};
use crate::{AgentInfo, FinalMetrics, Observation, ObservationResult, Source, Step, ToolCall, Trajectory};

/// Receives steps when they are complete.
pub trait Sink {
    /// A step of the main agent, or of the sub-agent that `lane` names. `step_id` counts from 1 in
    /// each lane. `session` counts from 0: one file can contain several.
    fn step(&mut self, session: usize, lane: Option<&str>, step: Step);
}

/// A transcript's data besides its steps.
#[derive(Debug, Default)]
pub struct Head {
    /// Who ran.
    pub agent: AgentInfo,
    /// The session.
    pub session_id: Option<String>,
    /// Sums that the log itself has.
    pub final_metrics: Option<FinalMetrics>,
    /// Other fields.
    pub extra: Map<String, Value>,
    /// Notes.
    pub notes: Option<String>,
    /// The file in which it continues, if any.
    pub continued: Option<String>,
    /// The first and the last time that the log has.
    pub times: Option<(Timestamp, Timestamp)>,
    /// The cost of the steps by the log's own account, in USD; `None` if it gives no step's cost.
    pub cost_usd: Option<f64>,
    /// The log's own sums leave something out: a run in it ended before it could report its usage.
    pub is_partial: bool,
    /// Usage by model from the log's own account, if it has one.
    pub models: Option<BTreeMap<String, Usage>>,
    /// What the format does not show.
    pub hidden: Hidden,
    /// Sub-agents whose trajectories were complete, in their order.
    pub lanes: Vec<LaneHead>,
    /// What the log repeats of the session from which this one was forked or spawned.
    pub inherited: Option<InheritedPrefix>,
}

/// The beginning of a fork's log, which repeats records of its origin. They count there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InheritedPrefix {
    /// The origin.
    pub session_id: String,
    /// How many records are repeated.
    pub records: usize,
}

impl InheritedPrefix {
    /// The field of a trajectory that has it.
    const FIELD: &str = "inherited";

    /// What a trajectory says of it.
    pub(crate) fn of_trajectory(extra: &Map<String, Value>) -> Option<Self> {
        Self::deserialize(extra.get(Self::FIELD)?).ok()
    }
}

/// What a format does not show, so that its absence proves nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hidden {
    /// The harness's text to the model before the first message, which may have listed skills.
    pub listing: bool,
    /// What tools gave the model, of which something else is shown.
    pub results: bool,
    /// Whether calls failed: results are texts.
    pub failures: bool,
}

/// A sub-agent's data besides its steps.
#[derive(Debug)]
pub struct LaneHead {
    /// Its name, as passed to sinks.
    pub lane: String,
    /// The trajectory, without its steps.
    pub rest: Trajectory,
}

/// How many later messages make a message count as complete: blocks of one message can come between
/// others.
const LAG: usize = 4;

/// A message that waits for results is handed on after this many later ones, or when they exceed
/// this many bytes.
const MOST_WAITING: usize = 64;
const MOST_BYTES: usize = 32 << 20;

/// Several processes write one log; a clock that is less than this many seconds back is not
/// reported.
const SLACK: f64 = 1.0;

struct Open {
    step: Step,
    key: Option<String>,
    waiting: usize,
    bytes: usize,
    counted: bool,
    /// A record gave the message's usage, here or before the message was handed on.
    is_metered: bool,
}

#[derive(Default)]
struct Lane {
    open: VecDeque<Open>,
    given: usize,
}

/// Puts records together. Decoders speak to it in the terms of conversations.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) head: Head,
    pub(crate) tally: Tally,
    pub(crate) notes: Notes,
    /// The current line, from 1; `None` in documents.
    pub(crate) line: Option<usize>,
    /// Bytes of the record that is being read.
    pub(crate) bytes: usize,
    /// Steps that are complete and have not been handed on.
    pub(crate) ready: Vec<(Option<String>, Step)>,
    /// The session that the record belongs to, if it is not the builder's.
    pub(crate) elsewhere: Option<String>,
    /// The session that is put together here, and others that went on in it.
    pub(crate) session: Option<String>,
    joined: HashSet<String>,
    lanes: BTreeMap<Option<String>, Lane>,
    last: Option<Timestamp>,
    hash: RandomState,
    /// Hashes of the messages whose usage has been counted, and of the records that were read.
    counted: HashSet<u64>,
    records: HashSet<u64>,
    sum: Option<KnownUsage>,
    /// Whether the format reports usage at the end; a session without it has unknown usage.
    awaits_total: bool,
    gaps: FieldCounts,
    /// Replies whose usage is nowhere.
    unmetered: u64,
    replies: usize,
}

impl Builder {
    /// Whether a record of a session belongs to another builder, which is noted for the caller. The
    /// first session seen is the builder's own. `continues` means that the record continues this
    /// session, as the copy of a resumed session does.
    pub(crate) fn is_elsewhere(&mut self, session: &str, continues: bool) -> bool {
        match &self.session {
            None => self.session = Some(session.to_owned()),
            Some(own) if own == session || self.joined.contains(session) => {}
            Some(_) if continues => {
                self.joined.insert(session.to_owned());
            }
            Some(_) => {
                self.elsewhere = Some(session.to_owned());
                return true;
            }
        }
        false
    }

    /// Whether a record with this name was read.
    pub(crate) fn has_read(&self, record: &str) -> bool {
        self.records.contains(&self.hash.hash_one(record))
    }

    /// The format reports usage at the end; otherwise it is unknown.
    pub(crate) fn await_total(&mut self) {
        self.awaits_total = true;
    }

    /// The log's own sums leave something out of which nothing is known: they are lower bounds.
    pub(crate) fn leave_out(&mut self) {
        self.head.is_partial = true;
        self.mark_gap(&KnownUsage::default());
    }

    /// Marks the log's own sums as lower bounds in the fields that a part of the session lacks.
    pub(crate) fn mark_gap(&mut self, known: &KnownUsage) {
        self.gaps.note_unknown(known);
    }

    /// Counts a message of unknown usage.
    fn mark_unknown(&mut self) {
        self.tally.reported.note(&KnownUsage::default());
    }

    /// Adds a problem with the current record.
    pub(crate) fn note(&mut self, code: &'static str, message: impl Into<String>) {
        self.notes.add(code, self.line, message);
    }

    /// A kind of record that no version known here writes.
    pub(crate) fn unknown(&mut self, kind: &str) {
        let kind: String = kind.chars().take(40).collect();
        self.note("unknown-record", format!("unknown record type {kind:?}; skipped"));
    }

    /// Whether a record with this name was read before, in formats where that is normal.
    pub(crate) fn is_known(&mut self, record: &str) -> bool {
        !self.records.insert(self.hash.hash_one(record))
    }

    /// Whether a record with this name was read before, which is reported.
    pub(crate) fn is_repeated(&mut self, record: &str) -> bool {
        let known = self.is_known(record);
        if known {
            self.note("duplicate-record", "duplicate record; skipped");
        }
        known
    }

    /// Records a time and returns it as text. An invalid time is reported.
    pub(crate) fn time(&mut self, text: Option<&str>) -> Option<String> {
        let text = text?;
        let Ok(time) = text.parse::<Timestamp>() else {
            self.note("no-time", "invalid timestamp");
            return None;
        };
        self.clock(time);
        Some(text.to_owned())
    }

    /// A time in milliseconds since 1970, as text.
    pub(crate) fn millis(&mut self, millis: i64) -> Option<String> {
        let Ok(time) = Timestamp::from_millisecond(millis) else {
            self.note("no-time", "invalid timestamp");
            return None;
        };
        self.clock(time);
        Some(time.to_string())
    }

    fn clock(&mut self, time: Timestamp) {
        if let Some(last) = self.last
            && last.duration_since(time).as_secs_f64() > SLACK
        {
            self.note("clock-runs-back", "timestamps go backwards; the order of lines is kept");
        }
        self.last = Some(time);
        let times = self.head.times.get_or_insert((time, time));
        times.0 = times.0.min(time);
        times.1 = times.1.max(time);
    }

    /// Marks the place of records that belong to the session's origin and are not read again.
    pub(crate) fn mark_inherited(&mut self, prefix: InheritedPrefix) {
        let InheritedPrefix { session_id, records } = &prefix;
        let noun = if *records == 1 { "record" } else { "records" };
        let text = format!("inherited: {records} {noun} of session {session_id}, which count there");
        let step = self.add_message(None, Source::System, text, None);
        step.extra.insert(InheritedPrefix::FIELD.to_owned(), json!(prefix));
        self.head.extra.insert(InheritedPrefix::FIELD.to_owned(), json!(prefix));
        self.head.inherited = Some(prefix);
    }

    /// Adds a separate message.
    pub(crate) fn add_message(
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

    /// The agent's message of this name; a part of it may have been read before.
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

    /// The main agent's message of this name, by the model that wrote it. The first of them is the
    /// session's own.
    pub(crate) fn message_by(
        &mut self,
        model: Option<&str>,
        key: Option<&str>,
        time: Option<String>,
    ) -> &mut Step {
        if let Some(model) = model {
            self.head.agent.model_name.get_or_insert_with(|| model.to_owned());
        }
        let other =
            model.filter(|model| self.head.agent.model_name.as_deref() != Some(model)).map(str::to_owned);
        let step = self.message(None, key, time);
        step.model_name = other;
        step
    }

    /// The agent's message of this name, if a part of it was read before.
    pub(crate) fn known(&mut self, lane: Option<&str>, key: Option<&str>) -> Option<&mut Step> {
        let lane = self.lanes.get_mut(&lane.map(str::to_owned))?;
        let open = lane.open.iter_mut().rev().find(|open| key.is_some() && open.key.as_deref() == key)?;
        Some(&mut open.step)
    }

    fn open(
        &mut self,
        lane: Option<&str>,
        source: Source,
        key: Option<&str>,
        time: Option<String>,
    ) -> &mut Step {
        self.emit_complete_steps(lane);
        let mut step = Step::new(0, source, "");
        step.timestamp = time;
        if let Some(key) = key {
            step.extra.insert("message_id".to_owned(), key.into());
        }
        let open = Open {
            step,
            key: key.map(str::to_owned),
            waiting: 0,
            bytes: self.bytes,
            counted: false,
            is_metered: false,
        };
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

    /// The result of a call. A result whose call is no longer kept becomes a separate message.
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
        self.note("result-without-call", "result without a call");
        result.source_call_id = None;
        result.extra.insert("call_id".to_owned(), call.into());
        let step = self.add_message(lane, Source::System, "", time);
        step.observation = Some(Observation { results: vec![result] });
    }

    /// Usage that a record repeats for its message. The message is counted once, with the figures
    /// of the record with the most output: the last one of a message that was still being written.
    pub(crate) fn usage(
        &mut self,
        lane: Option<&str>,
        key: Option<&str>,
        usage: impl Into<KnownUsage>,
        raw: Option<&Value>,
    ) {
        let usage = usage.into();
        self.tally.records += 1;
        self.tally.per_record += usage.at_least();
        let lane = self.lanes.entry(lane.map(str::to_owned)).or_default();
        let found =
            lane.open.iter_mut().rev().find(|open| {
                open.step.source == Source::Agent && (key.is_none() || open.key.as_deref() == key)
            });
        let Some(open) = found else { return };
        open.is_metered = true;
        if open.counted {
            let output = usage.output.unwrap_or_default();
            if open.step.usage().is_some_and(|known| known.output < output) {
                open.step.metrics = Some(usage.metrics(raw));
            }
            return;
        }
        // A message that continued after it was handed on has been counted.
        let fresh = key.is_none_or(|key| self.counted.insert(self.hash.hash_one(key)));
        if fresh {
            open.counted = true;
            open.step.metrics = Some(usage.metrics(raw));
        }
    }

    /// Adds a complete step from elsewhere.
    pub(crate) fn add_step(&mut self, lane: Option<&str>, step: Step) {
        let usage = step.usage();
        let is_metered = usage.is_some();
        if let Some(usage) = usage {
            self.tally.records += 1;
            self.tally.per_record += usage;
        }
        let lane = self.lanes.entry(lane.map(str::to_owned)).or_default();
        lane.open.push_back(Open { step, key: None, waiting: 0, bytes: 0, counted: true, is_metered });
    }

    /// Adds a complete trajectory from elsewhere. Sub-agents of sub-agents are put beside them.
    pub(crate) fn adopt(&mut self, mut trajectory: Trajectory) {
        let inner = std::mem::take(&mut trajectory.subagent_trajectories);
        self.head.agent = trajectory.agent;
        self.head.session_id = trajectory.session_id;
        self.head.inherited = InheritedPrefix::of_trajectory(&trajectory.extra);
        self.head.extra = trajectory.extra;
        self.head.notes = trajectory.notes;
        self.head.continued = trajectory.continued_trajectory_ref;
        for step in trajectory.steps {
            self.add_step(None, step);
        }
        self.adopt_inner(inner);
    }

    fn adopt_inner(&mut self, inner: Vec<Trajectory>) {
        for mut one in inner {
            let deeper = std::mem::take(&mut one.subagent_trajectories);
            let number = self.head.lanes.len() + 1;
            let name = one.trajectory_id.clone().or_else(|| one.session_id.clone());
            let mut lane = name.unwrap_or_else(|| format!("subagent-{number}"));
            if self.head.lanes.iter().any(|known| known.lane == lane) {
                lane = format!("{lane}-{number}");
            }
            for step in std::mem::take(&mut one.steps) {
                self.add_step(Some(&lane), step);
            }
            self.head.lanes.push(LaneHead { lane, rest: one });
            self.adopt_inner(deeper);
        }
    }

    /// The log's own sums, which replace the sum of its messages and earlier sums.
    pub(crate) fn total(&mut self, sum: impl Into<KnownUsage>, cost: Option<f64>, raw: Option<&Value>) {
        let sum = sum.into();
        let extra = raw.map(|raw| Map::from_iter([("usage".to_owned(), raw.clone())]));
        let prompt = sum.at_least().prompt();
        self.head.final_metrics = Some(FinalMetrics {
            total_prompt_tokens: sum.input.map(|_| prompt),
            total_completion_tokens: sum.output,
            total_cached_tokens: sum.cache_read,
            total_cost_usd: cost,
            total_steps: 0,
            extra: extra.unwrap_or_default(),
        });
        self.sum = Some(sum);
    }

    /// Sums of a further run of the same session.
    pub(crate) fn add_total(&mut self, sum: impl Into<KnownUsage>, cost: Option<f64>, raw: Option<&Value>) {
        let sum = sum.into();
        let Some(known) = self.sum else { return self.total(sum, cost, raw) };
        let sum = known.plus(&sum);
        let before = self.head.final_metrics.as_ref().and_then(|sums| sums.total_cost_usd);
        let cost = match (before, cost) {
            (Some(before), Some(cost)) => Some(before + cost),
            (one, other) => {
                self.head.is_partial |= one.or(other).is_some();
                one.or(other)
            }
        };
        self.total(sum, cost, None);
        self.written(&sum);
    }

    /// Keeps the tokens written to a cache, for which ATIF has no field, if no provider's figures
    /// contain them.
    pub(crate) fn written(&mut self, sum: &KnownUsage) {
        if let (Some(sums), Some(written)) =
            (&mut self.head.final_metrics, sum.cache_write.filter(|n| *n > 0))
            && sums.extra.get("usage").and_then(|raw| raw.get(CACHE_WRITE)).is_none()
        {
            sums.extra.insert(CACHE_WRITE.to_owned(), written.into());
            if sum.cache_write_1h > 0 {
                sums.extra.insert(CACHE_WRITE_1H.to_owned(), sum.cache_write_1h.into());
            }
        }
    }

    fn emit_complete_steps(&mut self, lane: Option<&str>) {
        let key = lane.map(str::to_owned);
        let Some(at) = self.lanes.get_mut(&key) else { return };
        let mut bytes: usize = at.open.iter().map(|open| open.bytes).sum();
        let mut whole = Vec::new();
        while at.open.len() >= LAG
            && at
                .open
                .front()
                .is_some_and(|open| open.waiting == 0 || at.open.len() > MOST_WAITING || bytes > MOST_BYTES)
        {
            let Some(mut open) = at.open.pop_front() else { break };
            bytes = bytes.saturating_sub(open.bytes);
            at.given += 1;
            open.step.step_id = at.given;
            whole.push(open);
        }
        for open in whole {
            self.emit_step(lane, open);
        }
    }

    /// Whether nothing was read into it.
    pub(crate) fn is_void(&self) -> bool {
        self.lanes.is_empty() && self.replies == 0
    }

    /// Lets go of everything.
    pub(crate) fn finish(&mut self) {
        for (key, lane) in std::mem::take(&mut self.lanes) {
            let mut given = lane.given;
            for mut open in lane.open {
                given += 1;
                open.step.step_id = given;
                self.emit_step(key.as_deref(), open);
            }
        }
        // A log's own sums count if its messages are incomplete.
        let own = self.sum.or_else(|| self.head.final_metrics.as_ref()?.known());
        if let Some(sum) = own
            && (sum.at_least().total() > self.tally.usage.total()
                || self.sum.is_some()
                || self.gaps != FieldCounts::default())
        {
            self.tally.usage = sum.at_least();
            self.tally.reported = FieldCounts::default();
            self.tally.reported.note(&sum);
            self.tally.reported.add(&self.gaps);
            if self.sum.is_some()
                && let Some(sums) = &mut self.head.final_metrics
            {
                sums.set_lower_bounds(&self.tally, self.head.is_partial);
            }
        } else if own.is_none() && self.tally.messages == 0 && (self.replies > 0 || self.awaits_total) {
            self.tally.reported = FieldCounts::default();
            self.mark_unknown();
        } else if own.is_none() && self.tally.messages > 0 {
            (0..self.unmetered).for_each(|_| self.mark_unknown());
        }
    }

    fn emit_step(&mut self, lane: Option<&str>, open: Open) {
        let Open { step, key, is_metered, .. } = open;
        if step.source == Source::Agent {
            self.replies += 1;
            // The usage of the rest of a message that was handed on too early is in its first part.
            let is_rest = key.is_some_and(|key| self.counted.contains(&self.hash.hash_one(key)));
            if step.usage().is_none() && !is_metered && !is_rest {
                self.unmetered += 1;
            }
        }
        if let Some(metrics) = &step.metrics {
            if let Some(usage) = step.usage() {
                self.tally.messages += 1;
                self.tally.usage += usage;
                self.tally.reported.note(&metrics.known());
            }
            if let Some(cost) = metrics.cost_usd {
                *self.head.cost_usd.get_or_insert_default() += cost;
            }
        }
        self.ready.push((lane.map(str::to_owned), step));
    }
}
