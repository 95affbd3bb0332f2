//! Which skills reached the agent, as separate facts.
//!
//! The five facts (docs/GLOSSARY.md, exposure) are *offered* (its files were in the sandbox),
//! *advertised* (its entry in a listing, its description or a path in it was in a message sent to
//! the model), *mentioned* (a tool call named a path in it or called it by the client's own tool
//! for skills), *opened* (at least max(3, half) of the body's distinct lines of 40 characters or
//! more were in tool results or injected messages), *executed* (a file of the package was run).

use std::collections::{BTreeMap, BTreeSet};

use assay_syntax::shell::program;
use serde::{Deserialize, Serialize};

use crate::offered::OfferedSkill;
use crate::reference::{Reference, commands, working_folder};
use crate::shell::{entered, is_interpreter, join, script_argument, simple_commands};
use crate::{Source, Step, Trajectory};

/// Lines shorter than this are too common to prove that a body was read.
const DISTINCTIVE_LINE: usize = 40;

/// With fewer distinctive lines than this, all of them must have been seen.
const FEW_LINES: usize = 6;

/// The exposure of one skill in one trial. Steps are ATIF's `step_id`, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposure {
    /// The skill's name.
    pub skill: String,
    /// Its files were in the sandbox.
    pub offered: bool,
    /// The first step in which the model saw its entry in a listing, its description, or a path in
    /// it.
    pub advertised: Option<usize>,
    /// The first step with a tool call that names a path in it, or calls it by the client's tool
    /// for skills.
    #[serde(alias = "touched")]
    pub mentioned: Option<usize>,
    /// The step in which enough of the body had been delivered.
    pub opened: Option<usize>,
    /// The first run of one of its files.
    pub executed: Option<Execution>,
    /// Distinct distinctive lines of the body.
    pub body_lines: usize,
    /// How many of them were delivered during the trial.
    pub body_lines_delivered: usize,
}

/// A run of a file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// The step whose call ran it.
    pub step: usize,
    /// The file, relative to the skill's folder.
    pub file: String,
    /// The evidence: `command-text` if the command names the file as its program or as its
    /// interpreter's script.
    pub evidence: String,
}

/// The exposure of each offered skill in a trajectory.
pub fn exposure(trajectory: &Trajectory, offered: &[OfferedSkill<'_>]) -> Vec<Exposure> {
    offered
        .iter()
        .map(|skill| {
            let mut follower = Follower::new(skill);
            for step in &trajectory.steps {
                follower.see(step);
            }
            follower.finish()
        })
        .collect()
}

/// Follows one skill through a trajectory, step by step, without keeping the steps.
pub struct Follower<'a> {
    tracker: Tracker<'a>,
    found: Exposure,
    delivered: BTreeSet<&'a str>,
    listed: bool,
    mentions: usize,
}

impl<'a> Follower<'a> {
    /// Before the first step.
    pub fn new(skill: &'a OfferedSkill<'a>) -> Self {
        let tracker = Tracker::new(skill);
        let found = Exposure {
            skill: skill.name.to_owned(),
            offered: true,
            advertised: None,
            mentioned: None,
            opened: None,
            executed: None,
            body_lines: tracker.lines.len(),
            body_lines_delivered: 0,
        };
        Self { tracker, found, delivered: BTreeSet::new(), listed: false, mentions: 0 }
    }

    /// The next step.
    pub fn see(&mut self, step: &Step) {
        let (tracker, found) = (&self.tracker, &mut self.found);
        if step.source != Source::Agent
            && (found.advertised.is_none() || (!self.listed && step.is_injected()))
            && tracker.reference.is_listed(&step.message, step.is_injected())
        {
            found.advertised.get_or_insert(step.step_id);
            self.listed |= step.is_injected();
        }
        for call in &step.tool_calls {
            if tracker.reference.is_called(call) {
                self.mentions += 1;
                found.mentioned.get_or_insert(step.step_id);
            }
            if found.executed.is_none() {
                let folder = working_folder(&call.arguments);
                found.executed =
                    commands(&call.arguments).find_map(|text| tracker.executed(text, folder, step.step_id));
            }
        }
        tracker.receive(step, &mut self.delivered);
        if found.opened.is_none() && tracker.needed > 0 && self.delivered.len() >= tracker.needed {
            found.opened = Some(step.step_id);
        }
    }

    /// How many tool calls so far touch the skill.
    pub fn mentions(&self) -> usize {
        self.mentions
    }

    /// How much of the body was delivered so far; lines that occur twice in it count twice.
    pub fn ingestion(&self) -> Ingestion {
        let long = |line: &&str| line.chars().count() >= DISTINCTIVE_LINE;
        let lines: Vec<&str> = self.tracker.skill.body.lines().map(str::trim).filter(long).collect();
        let ingested = lines.iter().filter(|line| self.delivered.contains(*line)).count();
        Ingestion { lines: lines.len(), ingested }
    }

    /// Why a run without the skill was exposed to it: its body was read, a file of it was run, or
    /// the harness listed it. A repository can contain the skill that it is used to measure.
    pub fn contamination(&self) -> Option<&'static str> {
        match &self.found {
            found if found.opened.is_some() => Some("opened"),
            found if found.executed.is_some() => Some("executed"),
            _ => self.listed.then_some("listed"),
        }
    }

    /// After the last step.
    pub fn finish(self) -> Exposure {
        Exposure { body_lines_delivered: self.delivered.len(), ..self.found }
    }
}

/// Whether a text contains enough of a skill's body to count as having opened the skill.
pub fn carries(text: &str, body: &str) -> bool {
    let skill = OfferedSkill { name: "", description: "", body, mount: "", files: &[] };
    let tracker = Tracker::new(&skill);
    let mut delivered = BTreeSet::new();
    tracker.deliver(text, &mut delivered);
    tracker.needed > 0 && delivered.len() >= tracker.needed
}

/// How much of a skill's body was delivered. A line that occurs twice in the body counts twice, as
/// in the published exposure labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Ingestion {
    /// Lines of the body of 40 characters or more.
    pub lines: usize,
    /// How many of them were in tool results or injected messages.
    pub ingested: usize,
}

/// How much of a body was delivered in a trajectory, its sub-agents left out.
pub fn ingestion(trajectory: &Trajectory, body: &str) -> Ingestion {
    let skill = OfferedSkill { name: "", description: "", body, mount: "", files: &[] };
    let mut follower = Follower::new(&skill);
    for step in &trajectory.steps {
        follower.see(step);
    }
    follower.ingestion()
}

/// How many tool calls of a trajectory touch a skill.
pub fn mentions(trajectory: &Trajectory, skill: &OfferedSkill<'_>) -> usize {
    let mut follower = Follower::new(skill);
    trajectory.steps.iter().for_each(|step| follower.see(step));
    follower.mentions()
}

struct Tracker<'a> {
    skill: &'a OfferedSkill<'a>,
    reference: Reference<'a>,
    lines: BTreeSet<&'a str>,
    needed: usize,
}

impl<'a> Tracker<'a> {
    fn new(skill: &'a OfferedSkill<'a>) -> Self {
        let lines = distinctive_lines(skill.body);
        let needed = enough(lines.len());
        Self { skill, reference: Reference::new(skill), lines, needed }
    }

    /// Reads what a step shows the agent: messages of others, and results of its own calls.
    fn receive(&self, step: &Step, delivered: &mut BTreeSet<&'a str>) {
        if step.source != Source::Agent {
            self.deliver(&step.message, delivered);
        }
        for result in step.observation.iter().flat_map(|observation| &observation.results) {
            self.deliver(result.content.as_deref().unwrap_or_default(), delivered);
        }
    }

    fn deliver(&self, text: &str, delivered: &mut BTreeSet<&'a str>) {
        if delivered.len() == self.lines.len() {
            return;
        }
        for line in text.lines() {
            let line = strip_line_number(line.trim());
            if let Some(known) = self.lines.get(line) {
                delivered.insert(known);
            }
        }
    }

    /// Whether a file belongs to the skill. If the skill's folder is unknown and only its SKILL.md
    /// is listed, every file below the folder does.
    fn has(&self, file: &String) -> bool {
        let files = self.skill.files;
        let is_bare = self.skill.mount.is_empty() && files.iter().all(|file| file == "SKILL.md");
        files.contains(file) || (is_bare && file != "SKILL.md")
    }

    /// A command runs a file of the skill if the file's path, absolute or after a `cd` into the
    /// folder, is the program of a simple command or the script of an interpreter.
    fn executed(&self, command: &str, folder: &str, step: usize) -> Option<Execution> {
        let mut folder = folder.to_owned();
        for simple in simple_commands(command) {
            let words: Vec<&str> = program(&simple).iter().map(String::as_str).collect();
            if let Some(entered) = entered(&words) {
                folder = join(&folder, entered);
                continue;
            }
            let Some((&first, arguments)) = words.split_first() else { continue };
            let script = if is_interpreter(first) { script_argument(arguments) } else { Some(first) };
            let file = script.and_then(|script| self.reference.file_at(&join(&folder, script)));
            if let Some(file) = file.filter(|file| self.has(file)) {
                return Some(Execution { step, file, evidence: "command-text".to_owned() });
            }
        }
        None
    }
}

/// How many of a body's distinctive lines must be delivered for it to count as opened.
pub(crate) fn enough(lines: usize) -> usize {
    if lines < FEW_LINES { lines } else { lines.div_ceil(2).max(3) }
}

/// The body's distinct lines that are long enough to be distinctive, trimmed. A body without any
/// uses its distinct lines that are not blank, so that short skills can be opened too.
pub(crate) fn distinctive_lines(body: &str) -> BTreeSet<&str> {
    let mut by_length: BTreeMap<bool, BTreeSet<&str>> = BTreeMap::new();
    for line in body.lines().map(str::trim).filter(|line| !line.is_empty()) {
        by_length.entry(line.chars().count() >= DISTINCTIVE_LINE).or_default().insert(line);
    }
    by_length.remove(&true).or_else(|| by_length.remove(&false)).unwrap_or_default()
}

/// `cat -n` and file viewers put a number before each line.
pub(crate) fn strip_line_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() {
        return line;
    }
    match rest.chars().next() {
        // One mark and no more: the line itself may begin with one, as tables do.
        Some(mark @ ('\t' | '→' | '|')) => rest[mark.len_utf8()..].trim_start(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{AgentInfo, Observation, ObservationResult, ToolCall};

    const BODY: &str = "# Ledger\n\
        Amounts are written in minor units, without a decimal point.\n\
        Credits stand in parentheses, and never carry a minus sign.\n\
        The last line is a control total over all amounts of the file.\n\
        Fiscal periods are written as FY followed by two digits and P.\n\
        short\n\
        Accounts are padded with zeros on the left to eight places.\n\
        Lines end in CR LF, the file in one final line break only.\n";

    fn skill() -> OfferedSkill<'static> {
        static FILES: std::sync::LazyLock<Vec<String>> =
            std::sync::LazyLock::new(|| vec!["SKILL.md".to_owned(), "scripts/total.py".to_owned()]);
        OfferedSkill {
            name: "ledger-export",
            description: "Writes ledger exports in the house format",
            body: BODY,
            mount: "/skills/ledger-export",
            files: &FILES,
        }
    }

    /// The source of a message, its text, and a command with its output.
    type TestMessage<'a> = (Source, &'a str, Option<(&'a str, &'a str)>);

    /// Where a skill was advertised, mentioned and opened, and which of its files was run.
    type Facts<'a> = (Option<usize>, Option<usize>, Option<usize>, Option<&'a str>);

    fn trajectory(steps: &[TestMessage<'_>]) -> Trajectory {
        let agent = AgentInfo { name: "loop".into(), version: "1".into(), ..AgentInfo::default() };
        let mut trajectory = Trajectory::new(agent);
        for (source, message, call) in steps {
            let step = trajectory.add_step(*source, *message);
            if let Some((command, result)) = call {
                step.tool_calls.push(ToolCall {
                    tool_call_id: "1".into(),
                    function_name: "bash".into(),
                    arguments: json!({ "command": command }),
                    ..ToolCall::default()
                });
                step.observation = Some(Observation {
                    results: vec![ObservationResult {
                        source_call_id: Some("1".into()),
                        content: Some((*result).to_owned()),
                        ..ObservationResult::default()
                    }],
                });
            }
        }
        trajectory
    }

    #[test]
    fn reading_a_file_is_not_executing_it() {
        let check = |arguments: Value, expected: Option<&str>| {
            let mut made = trajectory(&[(Source::Agent, "", Some(("ls", "")))]);
            made.steps[0].tool_calls[0].arguments = arguments.clone();
            let found = exposure(&made, &[skill()]).remove(0);
            let executed = found.executed.as_ref().map(|run| run.file.as_str());
            assert_eq!((found.mentioned, executed), (Some(1), expected), "{arguments}");
        };
        let path = "/skills/ledger-export/scripts/total.py";
        check(json!({"file_path": path}), None);
        check(json!({"path": path, "content": path}), None);
        check(json!({"command": path}), Some("scripts/total.py"));
        check(json!({"command": ["bash", "-lc", format!("python3 {path}")]}), Some("scripts/total.py"));
        check(json!({"cmd": format!("python3 {path}")}), Some("scripts/total.py"));
    }

    fn check(steps: &[TestMessage<'_>], expected: Facts<'_>) {
        let found = exposure(&trajectory(steps), &[skill()]).remove(0);
        let executed = found.executed.as_ref().map(|run| run.file.as_str());
        assert_eq!((found.advertised, found.mentioned, found.opened, executed), expected, "{steps:?}");
    }

    #[test]
    fn five_exposure_facts_are_independent() {
        use Source::{Agent, System, User};
        let catalogue = (System, "Skills: ledger-export: Writes ledger exports", None);
        let half: String = BODY.lines().skip(1).take(3).map(|line| format!("{line}\n")).collect();
        let two: String = BODY.lines().skip(1).take(2).map(|line| format!("{line}\n")).collect();
        check(&[], (None, None, None, None));
        check(&[catalogue], (Some(1), None, None, None));
        check(&[(User, "Export the ledger", None)], (None, None, None, None));
        // The description alone advertises too.
        check(&[(System, "* Writes ledger exports in the house format", None)], (Some(1), None, None, None));
        // Listing the folder mentions it and opens nothing.
        check(
            &[catalogue, (Agent, "", Some(("ls /skills/ledger-export", "SKILL.md")))],
            (Some(1), Some(2), None, None),
        );
        check(
            &[(Agent, "", Some(("cat /skills/ledger-export/SKILL.md", BODY)))],
            (None, Some(1), Some(1), None),
        );
        // Of six distinctive lines three are enough and two are not; the third may come later.
        check(&[(Agent, "", Some(("head", &half)))], (None, None, Some(1), None));
        check(&[(Agent, "", Some(("head", &two)))], (None, None, None, None));
        check(
            &[(Agent, "", Some(("head", &two))), (Agent, "", Some(("tail", BODY)))],
            (None, None, Some(2), None),
        );
        // The agent's own text is not delivery.
        check(&[(Agent, BODY, None)], (None, None, None, None));
        // Injected messages are.
        check(&[(User, BODY, None)], (None, None, Some(1), None));
        // A skill whose name contains this one's is another skill.
        check(&[(System, "Skills: my-ledger-export-2", None)], (None, None, None, None));
    }

    #[test]
    fn execution_is_detected_from_commands() {
        let run = |command: &str| {
            let steps = [(Source::Agent, "", Some((command, "")))];
            exposure(&trajectory(&steps), &[skill()]).remove(0).executed.map(|run| run.file)
        };
        for command in [
            "/skills/ledger-export/scripts/total.py",
            "python3 /skills/ledger-export/scripts/total.py out.csv",
            "cd data && python3 -I '/skills/ledger-export/scripts/total.py' < x | head",
            "cd /skills/ledger-export; ./scripts/total.py",
            "LC_ALL=C sudo python3.11 /skills/ledger-export/scripts/total.py",
            "if true; then bash /skills/ledger-export/scripts/total.py; fi",
            "timeout -k 5 60 python3 /skills/ledger-export/scripts/total.py 2>&1",
            "python3 -I \\\n  /skills/ledger-export/scripts/total.py",
        ] {
            assert_eq!(run(command).as_deref(), Some("scripts/total.py"), "{command}");
        }
        for command in [
            "cat /skills/ledger-export/scripts/total.py",
            "ls -l /skills/ledger-export/scripts",
            "grep -r total /skills/ledger-export/scripts/total.py",
            "python3 scripts/total.py",
            "python3 /skills/other/scripts/total.py",
            "echo 'python3 /skills/ledger-export/scripts/total.py'",
            "command -v /skills/ledger-export/scripts/total.py",
        ] {
            assert_eq!(run(command), None, "{command}");
        }
    }

    #[test]
    fn script_execution_is_detected_with_only_the_document() {
        let document = vec!["SKILL.md".to_owned()];
        let command = "python3 .gemini/skills/ledger-export/scripts/total.py out.csv";
        let run = |mount: &str, files: &[String]| {
            let skill = OfferedSkill { mount, files, ..skill() };
            exposure(&trajectory(&[(Source::Agent, "", Some((command, "")))]), &[skill]).remove(0).executed
        };
        assert_eq!(run("", &document).map(|run| run.file).as_deref(), Some("scripts/total.py"));
        // If the files are known, any other file belongs to something else.
        assert_eq!(run("", &["SKILL.md".to_owned(), "scripts/other.py".to_owned()]), None);
        assert_eq!(run("/skills/ledger-export", &document), None);
    }

    #[test]
    fn short_body_is_opened_only_when_fully_delivered() {
        let files = Vec::new();
        let body = "One long line that is certainly more than forty characters.\nAnother long line that also has more than forty.\n";
        let skill = OfferedSkill { name: "x", description: "", body, mount: "/skills/x", files: &files };
        let first = body.lines().next().unwrap();
        let steps = [(Source::User, first, None)];
        assert_eq!(exposure(&trajectory(&steps), &[skill])[0].opened, None);
        let steps = [(Source::User, body, None)];
        assert_eq!(exposure(&trajectory(&steps), &[skill])[0].opened, Some(1));
        // A body of short lines only is recognized by them.
        let short = OfferedSkill { body: "do this\nthen that\n", ..skill };
        let steps = [(Source::User, "do this\nthen that", None)];
        assert_eq!(exposure(&trajectory(&steps), &[short])[0].opened, Some(1));
        // An empty body cannot be opened.
        let empty = OfferedSkill { body: "", ..skill };
        assert_eq!(exposure(&trajectory(&steps), &[empty])[0].opened, None);
    }

    #[test]
    fn line_numbers_are_stripped_from_delivered_lines() {
        let numbered: String =
            BODY.lines().enumerate().map(|(i, line)| format!("{:6}\t{line}\n", i + 1)).collect();
        let steps = [(Source::Agent, "", Some(("cat -n SKILL.md", numbered.as_str())))];
        assert_eq!(exposure(&trajectory(&steps), &[skill()])[0].opened, Some(1));
    }
}
