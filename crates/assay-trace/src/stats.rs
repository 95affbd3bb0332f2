//! A transcript in figures, without keeping it.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::read::{self, Hidden, InheritedPrefix, Input, Reader, Sink, Streamed, TraceError, Transcript};
use crate::{
    AgentInfo, Diagnostic, Exposure, FinalMetrics, Follower, Ingestion, OfferedSkill, Prices, Source, Step,
    Tally, Usage,
};

/// More kinds of tools than these are counted together.
const TOOLS: usize = 1000;

/// A transcript in figures.
#[derive(Debug, Serialize)]
pub struct Stats {
    /// The file.
    pub file: String,
    /// Which session of the file it is, from 1, and of how many, if the file has several.
    pub part: Option<(usize, usize)>,
    /// The name of its format.
    pub format: &'static str,
    /// Who ran.
    pub agent: AgentInfo,
    /// The session.
    pub session_id: Option<String>,
    /// All steps of the main agent.
    pub steps: usize,
    /// Its messages.
    pub turns: usize,
    /// Its calls, and those of its sub-agents.
    pub calls: usize,
    /// Calls marked as failed in the log; `None` if its format does not show which calls failed.
    pub failed_calls: Option<usize>,
    /// Those that are known to have failed, if it is not known of all calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_calls_at_least: Option<usize>,
    /// Calls by tool.
    pub tools: BTreeMap<String, usize>,
    /// Agents that it started.
    pub sub_agents: usize,
    /// The first time in the log, in UTC.
    pub started_at: Option<jiff::Timestamp>,
    /// From there to the last time.
    pub seconds: Option<f64>,
    /// Tokens, by every way of counting.
    pub tally: Tally,
    /// Usage by model.
    pub models: Vec<ModelUse>,
    /// The log's own sums.
    pub final_metrics: Option<FinalMetrics>,
    /// The exposure of each requested skill.
    pub skills: Vec<SkillUse>,
    /// What the log repeats of the session from which this one was forked or spawned, and which
    /// counts there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherited: Option<InheritedPrefix>,
    /// Problems in the log.
    pub diagnostics: Vec<Diagnostic>,
    /// Fields that the log's own account leaves out or lacks.
    #[serde(skip)]
    own: LoggedCost,
    /// The messages, by a key that identifies each within its session.
    #[serde(skip)]
    messages: BTreeMap<u64, Message>,
}

/// A message's usage.
#[derive(Debug, Clone)]
struct Message {
    usage: Option<Usage>,
    cost: Option<f64>,
    model: Option<Arc<str>>,
    day: Option<jiff::civil::Date>,
    /// A key that is unique among messages of all sessions, if its provider named it.
    named: Option<u64>,
}

/// The messages of a transcript that are counted elsewhere, because another transcript contains
/// them too.
#[derive(Debug, Default)]
pub struct Repeated {
    /// How many they are.
    pub messages: usize,
    /// Their usage by model.
    pub models: Vec<ModelUse>,
    /// The transcript that contains most of them, by its index in the list.
    pub by: Option<usize>,
    /// Their cost by the log's own account, if it gives the cost of each.
    cost: Option<f64>,
}

/// The cost of a session by its log's own account.
#[derive(Debug, Default)]
struct LoggedCost {
    cost: Option<f64>,
    is_partial: bool,
    /// `models` do not add up to the tokens of the session.
    is_divided: bool,
}

/// A model's usage on a day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelUse {
    /// The model, if the log names it.
    pub model: Option<String>,
    /// The day, in UTC, if the log has times.
    pub day: Option<jiff::civil::Date>,
    /// The tokens, with 0 for unknown fields.
    pub usage: Usage,
}

/// The cost of a session, in USD.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// The cost, or as much of it as is known.
    pub usd: Option<f64>,
    /// Whether that is a lower bound.
    pub is_at_least: bool,
}

/// The exposure of a skill in a transcript.
#[derive(Debug, Serialize)]
pub struct SkillUse {
    /// The facts, with the steps where they became true. `offered` is an assumption here: a log
    /// does not list the agent's files.
    pub exposure: Exposure,
    /// How much of the body was delivered.
    pub body: Ingestion,
    /// What would make this a contaminated control: `opened`, `executed` or `listed`.
    pub contamination: Option<&'static str>,
    /// Facts that are not established but may be true, because the format does not show them:
    /// `advertised`, `opened`.
    pub unknown: Vec<&'static str>,
}

/// More pairs of model and day than these are counted together.
const MODELS: usize = 1000;

type ModelKey = (Option<String>, Option<String>, Option<jiff::civil::Date>);

struct Counter<'a> {
    steps: usize,
    turns: usize,
    calls: usize,
    failed: usize,
    tools: BTreeMap<String, usize>,
    lanes: BTreeSet<String>,
    models: BTreeMap<ModelKey, Usage>,
    messages: BTreeMap<u64, Message>,
    followers: Vec<Follower<'a>>,
    /// The model of the last message, which is that of most.
    model: Option<Arc<str>>,
}

/// One counter a session.
struct Counters<'a> {
    skills: &'a [OfferedSkill<'a>],
    sessions: Vec<Counter<'a>>,
}

impl Sink for Counters<'_> {
    fn step(&mut self, session: usize, lane: Option<&str>, step: Step) {
        while self.sessions.len() <= session {
            self.sessions.push(Counter::new(self.skills));
        }
        self.sessions[session].step(lane, &step);
    }
}

/// Counts the sessions of a stream as it is read. `name` is the name used in diagnostics.
pub fn stats(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
    skills: &[OfferedSkill<'_>],
) -> Result<Vec<Stats>, TraceError> {
    count_sessions(name, skills, |sink| read::stream(input, name, reader, sink))
}

/// Counts the sessions of a file as it is read.
fn stats_of_file(
    path: &Path,
    reader: Option<&'static dyn Reader>,
    skills: &[OfferedSkill<'_>],
) -> Result<Vec<Stats>, TraceError> {
    count_sessions(&path.display().to_string(), skills, |sink| read::stream_file(path, reader, sink))
}

fn count_sessions(
    name: &str,
    skills: &[OfferedSkill<'_>],
    read: impl FnOnce(&mut dyn Sink) -> Result<Vec<Streamed>, TraceError>,
) -> Result<Vec<Stats>, TraceError> {
    let mut counters = Counters { skills, sessions: Vec::new() };
    let streamed = read(&mut counters)?;
    let count = streamed.len();
    let mut counters = counters.sessions.into_iter();
    let mut all = Vec::new();
    for (number, one) in streamed.into_iter().enumerate() {
        let counter = counters.next().unwrap_or_else(|| Counter::new(skills));
        let mut stats = counter.stats(name, one);
        stats.part = (count > 1).then_some((number + 1, count));
        all.push(stats);
    }
    Ok(all)
}

/// Counts the sessions of a file, with the logs of their sub-agents, or that of a trial's folder as
/// Harbor leaves it.
pub fn stats_of(
    source: &Input,
    reader: Option<&'static dyn Reader>,
    skills: &[OfferedSkill<'_>],
) -> Result<Vec<Stats>, TraceError> {
    let name = source.path.display().to_string();
    if source.path.is_dir() {
        let transcripts = read::read_all(source, reader)?;
        return Ok(transcripts.into_iter().map(|one| of_transcript(one, &name, skills)).collect());
    }
    let mut all = stats_of_file(&source.path, reader, skills)?;
    for beside in &source.beside {
        let inner = match stats_of_file(beside, None, &[]) {
            Ok(inner) => inner,
            Err(error) => {
                if let Some(first) = all.first_mut() {
                    first.diagnostics.push(Diagnostic::of_unreadable(beside, &error));
                }
                continue;
            }
        };
        for inner in inner {
            let at = all.iter().position(|known| known.session_id == inner.session_id).unwrap_or_default();
            if let Some(whole) = all.get_mut(at).filter(|whole| !inner.is_within(whole)) {
                whole.add_sub_agent(inner);
            }
        }
    }
    Ok(all)
}

/// The figures of a transcript that was read already.
fn of_transcript(transcript: Transcript, name: &str, skills: &[OfferedSkill<'_>]) -> Stats {
    let mut counter = Counter::new(skills);
    let mut trajectory = transcript.trajectory;
    for step in &trajectory.steps {
        counter.step(None, step);
    }
    let mut lanes = Vec::new();
    for (number, mut one) in std::mem::take(&mut trajectory.subagent_trajectories).into_iter().enumerate() {
        let lane = number.to_string();
        for step in std::mem::take(&mut one.steps) {
            counter.step(Some(&lane), &step);
        }
        lanes.push(read::LaneHead { lane, rest: one });
    }
    let head = read::Head {
        inherited: InheritedPrefix::of_trajectory(&trajectory.extra),
        agent: trajectory.agent,
        session_id: trajectory.session_id,
        final_metrics: trajectory.final_metrics,
        times: transcript.times,
        is_partial: transcript.is_partial,
        models: transcript.models,
        hidden: transcript.hidden,
        lanes,
        ..read::Head::default()
    };
    let (format, tally, diagnostics) = (transcript.format, transcript.tally, transcript.diagnostics);
    counter.stats(name, Streamed { format, head, tally, diagnostics })
}

/// Names that readers give to messages whose log has none; they recur in other sessions.
const MADE_NAMES: [&str; 4] = ["reply-", "message-", "item_", "event-"];

impl<'a> Counter<'a> {
    fn new(skills: &'a [OfferedSkill<'a>]) -> Self {
        Self {
            steps: 0,
            turns: 0,
            calls: 0,
            failed: 0,
            tools: BTreeMap::new(),
            lanes: BTreeSet::new(),
            models: BTreeMap::new(),
            messages: BTreeMap::new(),
            model: None,
            followers: skills.iter().map(Follower::new).collect(),
        }
    }

    fn step(&mut self, lane: Option<&str>, step: &Step) {
        match lane {
            None => {
                self.steps += 1;
                self.turns += usize::from(step.source == Source::Agent);
                for follower in &mut self.followers {
                    follower.see(step);
                }
            }
            Some(lane) => {
                self.lanes.insert(lane.to_owned());
            }
        }
        self.calls += step.tool_calls.len();
        for call in &step.tool_calls {
            let full = self.tools.len() >= TOOLS && !self.tools.contains_key(&call.function_name);
            let name = if full { "(others)" } else { call.function_name.as_str() };
            *self.tools.entry(name.to_owned()).or_default() += 1;
        }
        let results = step.observation.iter().flat_map(|observation| &observation.results);
        self.failed += results.filter(|result| result.failed() == Some(true)).count();
        let usage = step.usage();
        let time = step.timestamp.as_deref().and_then(|text| text.parse::<jiff::Timestamp>().ok());
        let day = time.map(|time| time.to_zoned(jiff::tz::TimeZone::UTC).date());
        if step.source == Source::Agent {
            self.record_message(step, usage, day);
        }
        if let Some(usage) = usage {
            let mut key = (lane.map(str::to_owned), step.model_name.clone(), day);
            if self.models.len() >= MODELS && !self.models.contains_key(&key) {
                key = (None, Some("(others)".to_owned()), None);
            }
            *self.models.entry(key).or_default() += usage;
        }
    }

    fn record_message(&mut self, step: &Step, usage: Option<Usage>, day: Option<jiff::civil::Date>) {
        if self.model.as_deref() != step.model_name.as_deref() {
            self.model = step.model_name.as_deref().map(Arc::from);
        }
        let cost = step.metrics.as_ref().and_then(|metrics| metrics.cost_usd);
        let (print, named) = prints(step, usage);
        let message = Message { usage, cost, model: self.model.clone(), day, named };
        self.messages.insert(print, message);
    }

    fn stats(self, name: &str, streamed: Streamed) -> Stats {
        let head = streamed.head;
        let times = head.times;
        let hidden = head.hidden;
        let hides_failures = hidden.failures && self.calls > 0;
        let followed = self.followers.into_iter().map(|follower| {
            let (body, contamination) = (follower.ingestion(), follower.contamination());
            let exposure = follower.finish();
            let unknown = unknown(&exposure, hidden);
            SkillUse { exposure, body, contamination, unknown }
        });
        let day = times.map(|(first, _)| first.to_zoned(jiff::tz::TimeZone::UTC).date());
        let usual = |lane: Option<&String>| {
            let own = lane.and_then(|lane| head.lanes.iter().find(|one| one.lane == *lane));
            own.and_then(|one| one.rest.agent.model_name.clone()).or_else(|| head.agent.model_name.clone())
        };
        let mut models: BTreeMap<(Option<String>, Option<jiff::civil::Date>), Usage> = BTreeMap::new();
        for ((lane, model, on), usage) in self.models {
            let model = model.or_else(|| usual(lane.as_ref()));
            *models.entry((model, on.or(day))).or_default() += usage;
        }
        let mut sum = Usage::default();
        for usage in models.values() {
            sum += *usage;
        }
        let mut is_divided = false;
        if let Some(own) = head.models {
            models = own.into_iter().map(|(model, usage)| ((Some(model), day), usage)).collect();
        } else if !(sum.covers(&streamed.tally.usage) && streamed.tally.usage.covers(&sum)) {
            // The log's own sums exceed its messages and do not say which model used the rest.
            let mut names: BTreeSet<Option<String>> = models.keys().map(|(model, _)| model.clone()).collect();
            if names.is_empty() {
                names.insert(head.agent.model_name.clone());
            }
            is_divided = names.len() > 1;
            if let (Some(model), false) = (names.pop_first(), is_divided) {
                models = BTreeMap::from([((model, day), streamed.tally.usage)]);
            }
        }
        // An agent without prices adds up zeros.
        let sums = head.final_metrics.as_ref();
        let least = sums.and_then(FinalMetrics::least_cost);
        let cost = sums.and_then(|sums| sums.total_cost_usd).or(least).or(head.cost_usd);
        let cost = cost.filter(|cost| *cost > 0.0);
        Stats {
            file: name.to_owned(),
            part: None,
            format: streamed.format,
            agent: head.agent,
            session_id: head.session_id,
            steps: self.steps,
            turns: self.turns,
            calls: self.calls,
            failed_calls: (!hides_failures).then_some(self.failed),
            failed_calls_at_least: Some(self.failed).filter(|count| hides_failures && *count > 0),
            tools: self.tools,
            sub_agents: self.lanes.len(),
            started_at: times.map(|(first, _)| first),
            seconds: times.map(|(first, last)| last.duration_since(first).as_secs_f64()),
            tally: streamed.tally,
            models: models.into_iter().map(|((model, day), usage)| ModelUse { model, day, usage }).collect(),
            final_metrics: head.final_metrics,
            skills: followed.collect(),
            inherited: head.inherited,
            diagnostics: streamed.diagnostics,
            own: LoggedCost { cost, is_partial: head.is_partial || least.is_some(), is_divided },
            messages: self.messages,
        }
    }
}

/// Facts that are not established but may be true.
fn unknown(found: &Exposure, hidden: Hidden) -> Vec<&'static str> {
    let mut all = Vec::new();
    if hidden.listing && found.advertised.is_none() {
        all.push("advertised");
    }
    if hidden.results && found.opened.is_none() {
        all.push("opened");
    }
    all
}

/// A key that identifies a message within its session, and one that identifies it across sessions
/// if the provider named it.
fn prints(step: &Step, usage: Option<Usage>) -> (u64, Option<u64>) {
    let hash = |value: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        value(&mut hasher);
        hasher.finish()
    };
    if let Some(id) = step.message_id().filter(|id| !MADE_NAMES.iter().any(|made| id.starts_with(made))) {
        // Short names may recur in another session; the copy in a fork keeps time and usage.
        let used = usage.map(|usage| (usage.prompt(), usage.output));
        let named = hash(&|hasher| (id, &step.timestamp, used).hash(hasher));
        return (hash(&|hasher| id.hash(hasher)), Some(named));
    }
    let print = hash(&|hasher| {
        (&step.timestamp, &step.message).hash(hasher);
        for call in &step.tool_calls {
            (&call.function_name, call.arguments.to_string()).hash(hasher);
        }
    });
    (print, None)
}

impl Stats {
    /// Adds a sub-agent's usage from a separate log file.
    fn add_sub_agent(&mut self, inner: Self) {
        self.calls += inner.calls;
        let failed = [&*self, &inner].map(|one| (one.failed_calls, one.failed_calls_at_least));
        let least = failed.iter().map(|(all, least)| all.or(*least).unwrap_or_default()).sum();
        self.failed_calls = failed.iter().all(|(all, _)| all.is_some()).then_some(least);
        self.failed_calls_at_least = Some(least).filter(|least| self.failed_calls.is_none() && *least > 0);
        for (tool, count) in inner.tools {
            *self.tools.entry(tool).or_default() += count;
        }
        self.sub_agents += inner.sub_agents.max(1);
        self.tally.add(&inner.tally);
        self.models.extend(inner.models);
        self.own.is_divided |= inner.own.is_divided;
        self.messages.extend(inner.messages);
        self.diagnostics.extend(inner.diagnostics);
    }

    /// The cost of the session: with prices, the cost of its tokens by them, each model's at its
    /// own; without, the cost in its log. The two are never mixed: a total over sessions uses one
    /// kind of prices.
    pub fn cost(&self, prices: Option<&Prices>) -> Cost {
        let Some(prices) = prices else {
            return Cost { usd: self.own.cost, is_at_least: self.own.cost.is_some() && self.own.is_partial };
        };
        let (mut sum, mut any, mut all) = (0.0, false, !self.own.is_divided && self.tally.is_complete());
        for one in self.models.iter().filter(|one| one.usage.total() > 0) {
            // If a log has no times, the latest price applies.
            let day = one.day.unwrap_or(jiff::civil::Date::MAX);
            let priced = one.model.as_deref().and_then(|model| prices.cost(model, day, &one.usage));
            match priced {
                Some(cost) => {
                    sum += cost;
                    any = true;
                }
                None => all = false,
            }
        }
        match (any, all) {
            (true, true) => Cost { usd: Some(sum), is_at_least: false },
            (true, false) => Cost { usd: Some(sum), is_at_least: true },
            (false, _) => Cost::default(),
        }
    }

    /// The tokens without messages that count elsewhere.
    pub fn tally_without(&self, repeated: &Repeated) -> Tally {
        let mut tally = self.tally;
        for one in &repeated.models {
            tally.usage.subtract(&one.usage);
        }
        tally.messages = tally.messages.saturating_sub(repeated.messages as u64);
        tally
    }

    /// The cost without messages that are counted elsewhere; unknown if the log gives the cost of
    /// all messages only.
    pub fn cost_without(&self, repeated: &Repeated, prices: Option<&Prices>) -> Cost {
        let cost = self.cost(prices);
        let Some(usd) = cost.usd.filter(|_| repeated.messages > 0) else { return cost };
        let less = match prices {
            None => repeated.cost,
            Some(prices) => {
                let priced = repeated.models.iter().filter_map(|one| {
                    let day = one.day.unwrap_or(jiff::civil::Date::MAX);
                    prices.cost(one.model.as_deref()?, day, &one.usage)
                });
                // Messages without a price are not in the cost either.
                Some(priced.sum::<f64>())
            }
        };
        less.map_or(Cost::default(), |less| Cost { usd: Some((usd - less).max(0.0)), ..cost })
    }

    /// How much of its session a transcript contains. The log that an agent keeps is the better
    /// source.
    fn fullness(&self) -> (bool, usize, u64, usize) {
        (!self.is_printed(), self.messages.len(), self.tally.usage.total(), self.calls)
    }

    /// Whether it is an agent's output rather than the log that it keeps.
    fn is_printed(&self) -> bool {
        self.format.ends_with("-stream") || self.format.ends_with("-exec")
    }

    /// Whether all its messages are in the other.
    fn is_within(&self, other: &Self) -> bool {
        !self.messages.is_empty() && self.messages.keys().all(|print| other.messages.contains_key(print))
    }

    /// Whether the messages have the provider's names.
    fn is_named(&self) -> bool {
        self.messages.values().any(|message| message.named.is_some())
    }

    /// Whether two transcripts of one session use the same names for messages.
    fn names_alike(&self, other: &Self) -> bool {
        let (kept, printed) = if self.is_printed() { (other, self) } else { (self, other) };
        let is_alike = self.is_printed() == other.is_printed() || printed.format.starts_with(kept.format);
        is_alike && self.is_named() && other.is_named()
    }

    /// Whether another transcript of the session contains everything in this one.
    fn is_snapshot_of(&self, other: &Self) -> bool {
        // An agent's output is in the log that it keeps, though often without the names of the
        // messages.
        if self.is_printed() && !other.is_printed() && !self.names_alike(other) {
            return true;
        }
        if self.messages.is_empty() && other.messages.is_empty() {
            return self.started_at == other.started_at;
        }
        self.is_within(other)
    }
}

/// For each transcript, the other transcript of the same session that contains all its messages, if
/// there is one, which is counted instead. Of equal transcripts the first is counted. Other
/// transcripts of one session are all counted, and [`repeated`] finds the messages that they share.
pub fn fuller(all: &[Stats]) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(all[at].fullness()));
    let mut kept: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut found = vec![None; all.len()];
    for at in order {
        let Some(session) = all[at].session_id.as_deref() else { continue };
        let others = kept.entry(session).or_default();
        found[at] = others.iter().copied().find(|&other| all[at].is_snapshot_of(&all[other]));
        if found[at].is_some() {
            continue;
        }
        // An agent's output can contain more than the log that it keeps, but it comes after it.
        others.retain(|&other| {
            let is_less = all[other].names_alike(&all[at]) && all[other].is_within(&all[at]);
            if is_less {
                found[other] = Some(at);
            }
            !is_less
        });
        others.push(at);
    }
    for at in 0..found.len() {
        while let Some(next) = found[at].and_then(|other| found[other]) {
            found[at] = Some(next);
        }
    }
    found
}

/// For each transcript that is counted, the messages that an earlier one contains too: snapshots
/// that diverged, forks with a new session's name, and an agent's output of a session of which it
/// keeps a part.
pub fn repeated(all: &[Stats], fuller: &[Option<usize>]) -> Vec<Repeated> {
    let mut order: Vec<usize> = (0..all.len()).filter(|&at| fuller[at].is_none()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(all[at].fullness()));
    let mut known: HashMap<(Option<&str>, u64), (usize, &Message)> = HashMap::new();
    let mut found: Vec<Repeated> = all.iter().map(|_| Repeated::default()).collect();
    for at in order {
        let one = &all[at];
        let mut models: BTreeMap<(Option<&str>, Option<jiff::civil::Date>), Usage> = BTreeMap::new();
        let mut by: BTreeMap<usize, usize> = BTreeMap::new();
        let mut cost = Some(0.0);
        for (print, message) in &one.messages {
            let own = one.session_id.as_deref().map(|session| (Some(session), *print));
            let keys = [own, message.named.map(|named| (None, named))];
            let earlier = keys.iter().flatten().find_map(|key| known.get(key)).copied();
            let Some((holder, before)) = earlier.filter(|(holder, _)| *holder != at) else {
                for key in keys.into_iter().flatten() {
                    if let Entry::Vacant(place) = known.entry(key) {
                        place.insert((at, message));
                    }
                }
                continue;
            };
            *by.entry(holder).or_default() += 1;
            cost = cost.zip(message.cost).map(|(sum, cost)| sum + cost);
            let Some(counted) = before.usage else { continue };
            // The sum at the end of a stream covers the complete message, its records only a part
            // of it.
            let usage = match message.usage {
                Some(usage) if !one.is_printed() => usage.least(&counted),
                _ if one.is_printed() => counted,
                _ => Usage::default(),
            };
            let model = message.model.as_deref().or(one.agent.model_name.as_deref());
            *models.entry((model, message.day)).or_default() += usage;
        }
        let most = by.iter().max_by_key(|(_, count)| **count);
        found[at] = Repeated {
            messages: by.values().sum(),
            by: most.map(|(holder, _)| *holder),
            cost,
            models: models
                .into_iter()
                .map(|((model, day), usage)| ModelUse { model: model.map(str::to_owned), day, usage })
                .collect(),
        };
    }
    found
}

/// The diagnostic for a transcript some of whose messages are counted with another.
pub fn partial_duplicate(file: &str, repeated: &Repeated, other: &str) -> Option<Diagnostic> {
    let count = repeated.messages;
    let messages = if count == 1 { "message is" } else { "messages are" };
    (count > 0).then(|| Diagnostic {
        code: "repeated-messages",
        file: file.to_owned(),
        line: None,
        count: 1,
        message: format!(
            "{count} {messages} also in {other} or other transcripts; counted once in the total"
        ),
    })
}

/// The diagnostic for a transcript that a fuller one replaces.
pub fn duplicate(file: &str, fuller: &str) -> Diagnostic {
    Diagnostic {
        code: "duplicate-session",
        file: file.to_owned(),
        line: None,
        count: 1,
        message: format!("same session as {fuller}, which is at least as complete; counted once"),
    }
}
