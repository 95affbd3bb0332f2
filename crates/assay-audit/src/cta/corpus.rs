//! All pairs of a corpus, in the order of the release.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::report::{Both, Mode, PairCounts, PairLine, Record};
use super::{Log, Remark, Task, Trace, read};
use crate::corpus::{Corpus, Group, Notice, TraceFile};

/// The schema of the lines of an audit.
pub const SCHEMA: &str = "assay.audit/1";

/// Longest document of a skill that is read, in bytes.
const LONGEST_SKILL: u64 = 4 << 20;

/// Audits a corpus: each pair goes to `line` as it is found, whatever is odd to `notice`. Traces are read once, and held for as long as
/// their task in their arm is at work.
///
/// Arms and tasks by name. For each: every run with the skill against every run without, then each two without, then each two with. With
/// `records`, lines have their divergences.
pub fn audit(corpus: &Corpus, records: bool, mut line: impl FnMut(PairLine), mut notice: impl FnMut(Notice)) {
    for group in &corpus.groups {
        audit_group(group, records, &mut line, &mut notice);
    }
}

fn audit_group(group: &Group, records: bool, line: &mut dyn FnMut(PairLine), notice: &mut dyn FnMut(Notice)) {
    let skill = skill(group, notice);
    let mut task = Task::new(&skill);
    let mut sessions: Vec<(String, String)> = Vec::new();
    let mut prepare = |file: &TraceFile, task: &mut Task| -> Option<Trace> {
        match open(&file.path) {
            Ok((log, remarks)) => {
                for remark in remarks {
                    notice(Notice { path: file.path.clone(), line: remark.line, message: remark.message });
                }
                if let Some(session) = &log.session {
                    if let Some((_, other)) = sessions.iter().find(|(known, _)| known == session) {
                        let message = format!("the same session as {other}; both are audited");
                        notice(Notice { path: file.path.clone(), line: None, message });
                    }
                    sessions.push((session.clone(), file.name.clone()));
                }
                Some(task.trace(log))
            }
            Err(error) => {
                let message = format!("cannot be read: {error}; left out");
                notice(Notice { path: file.path.clone(), line: None, message });
                None
            }
        }
    };
    let mut side = |files: &[TraceFile], task: &mut Task| -> Vec<(String, Trace)> {
        let traces = files.iter().filter_map(|file| Some((file.name.clone(), prepare(file, task)?)));
        traces.collect()
    };
    let with = side(&group.with, &mut task);
    let without = side(&group.without, &mut task);
    let mut pair = |mode, plus: &(String, Trace), minus: &(String, Trace)| {
        let found = task.pair(&plus.1, &minus.1);
        let counts = PairCounts::of(&plus.1, &minus.1, &found);
        line(PairLine {
            schema: SCHEMA,
            kind: "pair",
            method: "cta-2026",
            arm: group.arm.clone(),
            task: group.task.clone(),
            mode,
            with_trace: plus.0.clone(),
            without_trace: minus.0.clone(),
            divergences: counts.divergences,
            sips: counts.sips,
            phases: counts.phases,
            tokens: counts.tokens,
            events: counts.events,
            exposure: Both { plus: Value::Null, minus: Value::Null },
            records: records.then(|| found.iter().map(Record::from).collect()),
        });
    };
    for plus in &with {
        for minus in &without {
            pair(Mode::Treatment, plus, minus);
        }
    }
    for (at, earlier) in without.iter().enumerate() {
        for later in &without[at + 1..] {
            pair(Mode::NullMinus, earlier, later);
        }
    }
    for (at, earlier) in with.iter().enumerate() {
        for later in &with[at + 1..] {
            pair(Mode::NullPlus, later, earlier);
        }
    }
}

/// The text of a group's skill, or an empty one after saying why.
fn skill(group: &Group, notice: &mut dyn FnMut(Notice)) -> String {
    let Some(path) = &group.skill else {
        let first = group.with.first().or(group.without.first());
        let message = format!("no SKILL.md for the task {}; audited as with an empty one", group.task);
        notice(Notice { path: first.map(|file| file.path.clone()).unwrap_or_default(), line: None, message });
        return String::new();
    };
    read_skill(path).unwrap_or_else(|error| {
        notice(Notice { path: path.clone(), line: None, message: format!("cannot be read: {error}") });
        String::new()
    })
}

fn open(path: &Path) -> std::io::Result<(Log, Vec<Remark>)> {
    read(&mut BufReader::with_capacity(1 << 16, File::open(path)?))
}

fn read_skill(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST_SKILL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
