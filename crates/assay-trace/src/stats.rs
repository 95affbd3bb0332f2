//! A transcript in figures, without keeping it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use serde::Serialize;

use crate::read::{self, Reader, Sink, Streamed, TraceError, Transcript};
use crate::{
    AgentInfo, Diagnostic, Exposure, FinalMetrics, Follower, Ingestion, OfferedSkill, Source, Step, Tally,
};

/// More kinds of tools than these are counted together.
const TOOLS: usize = 1000;

/// A transcript in figures.
#[derive(Debug, Serialize)]
pub struct Stats {
    /// The file.
    pub file: String,
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
    /// Those that the log says failed.
    pub failed_calls: usize,
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
    /// The log's own sums.
    pub final_metrics: Option<FinalMetrics>,
    /// What became of each skill that was asked about.
    pub skills: Vec<SkillUse>,
    /// What was odd.
    pub diagnostics: Vec<Diagnostic>,
}

/// What became of a skill in a transcript.
#[derive(Debug, Serialize)]
pub struct SkillUse {
    /// The facts, with the steps where they became true. `offered` is an assumption here: a log does not say what lay about.
    pub exposure: Exposure,
    /// How much of the body was delivered.
    pub body: Ingestion,
    /// What would make this a contaminated control: `opened`, `executed` or `listed`.
    pub contamination: Option<&'static str>,
}

struct Counter<'a> {
    steps: usize,
    turns: usize,
    calls: usize,
    failed: usize,
    tools: BTreeMap<String, usize>,
    lanes: BTreeSet<String>,
    followers: Vec<Follower<'a>>,
}

impl Sink for Counter<'_> {
    fn step(&mut self, lane: Option<&str>, step: Step) {
        match lane {
            None => {
                self.steps += 1;
                self.turns += usize::from(step.source == Source::Agent);
                for follower in &mut self.followers {
                    follower.see(&step);
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
    }
}

/// Counts a stream's transcript as it is read. `name` is what it is called.
pub fn stats(
    input: impl io::Read,
    name: &str,
    reader: Option<&'static dyn Reader>,
    skills: &[OfferedSkill<'_>],
) -> Result<Stats, TraceError> {
    let mut counter = Counter::new(skills);
    let streamed = read::stream(input, name, reader, &mut counter)?;
    Ok(counter.stats(name, streamed))
}

/// Counts a file's transcript, with the logs of sub-agents beside it, or that of a trial's folder as Harbor leaves it.
pub fn stats_of(
    path: &Path,
    reader: Option<&'static dyn Reader>,
    skills: &[OfferedSkill<'_>],
) -> Result<Stats, TraceError> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Ok(of_transcript(read::read(path, reader)?, &name, skills));
    }
    let mut whole = stats(read::open(path)?, &name, reader, skills)?;
    for beside in read::beside(path) {
        let inner =
            read::open(&beside).and_then(|input| stats(input, &beside.display().to_string(), None, &[]));
        let Ok(inner) = inner else { continue };
        whole.calls += inner.calls;
        whole.failed_calls += inner.failed_calls;
        for (tool, count) in inner.tools {
            *whole.tools.entry(tool).or_default() += count;
        }
        whole.sub_agents += inner.sub_agents.max(1);
        whole.tally.add(&inner.tally);
        whole.diagnostics.extend(inner.diagnostics);
    }
    Ok(whole)
}

/// The figures of a transcript that was read already.
fn of_transcript(transcript: Transcript, name: &str, skills: &[OfferedSkill<'_>]) -> Stats {
    let mut counter = Counter::new(skills);
    let mut trajectory = transcript.trajectory;
    for step in std::mem::take(&mut trajectory.steps) {
        counter.step(None, step);
    }
    for (number, one) in trajectory.subagent_trajectories.into_iter().enumerate() {
        for step in one.steps {
            counter.step(Some(&number.to_string()), step);
        }
    }
    let head = read::Head {
        agent: trajectory.agent,
        session_id: trajectory.session_id,
        final_metrics: trajectory.final_metrics,
        times: transcript.times,
        ..read::Head::default()
    };
    let (format, tally, diagnostics) = (transcript.format, transcript.tally, transcript.diagnostics);
    counter.stats(name, Streamed { format, head, tally, diagnostics })
}

impl<'a> Counter<'a> {
    fn new(skills: &'a [OfferedSkill<'a>]) -> Self {
        Self {
            steps: 0,
            turns: 0,
            calls: 0,
            failed: 0,
            tools: BTreeMap::new(),
            lanes: BTreeSet::new(),
            followers: skills.iter().map(Follower::new).collect(),
        }
    }

    fn stats(self, name: &str, streamed: Streamed) -> Stats {
        let times = streamed.head.times;
        let followed = self.followers.into_iter().map(|follower| {
            let (body, contamination) = (follower.ingestion(), follower.contamination());
            SkillUse { exposure: follower.finish(), body, contamination }
        });
        Stats {
            file: name.to_owned(),
            format: streamed.format,
            agent: streamed.head.agent,
            session_id: streamed.head.session_id,
            steps: self.steps,
            turns: self.turns,
            calls: self.calls,
            failed_calls: self.failed,
            tools: self.tools,
            sub_agents: self.lanes.len(),
            started_at: times.map(|(first, _)| first),
            seconds: times.map(|(first, last)| last.duration_since(first).as_secs_f64()),
            tally: streamed.tally,
            final_metrics: streamed.head.final_metrics,
            skills: followed.collect(),
            diagnostics: streamed.diagnostics,
        }
    }
}

/// Tells sessions that stand in several files: counted twice, they would count double.
#[derive(Debug, Default)]
pub struct Sessions {
    seen: BTreeMap<(String, Option<jiff::Timestamp>), String>,
}

impl Sessions {
    /// Notes a transcript, and tells if its session was seen in another file. Sub-agents share their session's name and not its
    /// first time.
    pub fn repeated(
        &mut self,
        session: Option<&str>,
        started_at: Option<jiff::Timestamp>,
        file: &str,
    ) -> Option<Diagnostic> {
        let key = (session?.to_owned(), started_at);
        if let Some(first) = self.seen.get(&key) {
            return Some(Diagnostic {
                code: "duplicate-session",
                file: file.to_owned(),
                line: None,
                count: 1,
                message: format!("the session of {first} again; it counts once"),
            });
        }
        self.seen.insert(key, file.to_owned());
        None
    }
}
