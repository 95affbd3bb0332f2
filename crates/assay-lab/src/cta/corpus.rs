//! All pairs of a corpus, in the order of the release.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use assay_skill::Document;
use assay_trace::OfferedSkill;
use serde_json::json;

use super::python::head;
use super::report::{Both, PairLine};
use super::{Divergence, Log, Remark, Task, Trace, read};
use assay_audit::corpus::{Corpus, Group, Notice, TraceFile};
use assay_audit::sheet::Finding;
use assay_audit::{Exposed, Mode};

/// So much of a text is shown to raters, in code points.
const SHOWN: usize = 800;

/// Longest document of a skill that is read, in bytes.
const LONGEST_SKILL: u64 = 4 << 20;

/// Audits a corpus: each pair goes to `line` as it is found, whatever is odd to `notice`. Traces
/// are read once, and held for as long as their task in their arm is at work.
///
/// Arms and tasks by name. For each: every run with the skill against every run without, then each
/// two without, then each two with. With `records`, lines have their divergences.
///
/// # Errors
/// The first that `line` gives; nothing is audited after it.
pub fn audit<E>(
    corpus: &Corpus,
    records: bool,
    line: &mut dyn FnMut(PairLine) -> Result<(), E>,
    notice: &mut dyn FnMut(Notice),
) -> Result<(), E> {
    corpus.groups.iter().try_for_each(|group| {
        let exposed = exposed(group);
        visit_pairs(group, notice, &mut |pair, found| {
            let mut made = PairLine::of(pair.mode, &pair.plus.1, &pair.minus.1, found, records);
            made.arm.clone_from(&group.arm);
            made.task.clone_from(&group.task);
            made.with_trace.clone_from(&pair.plus.0);
            made.without_trace.clone_from(&pair.minus.0);
            let of = |trace: &str| exposed.get(trace).copied().flatten();
            made.exposure = Both { plus: of(&pair.plus.0), minus: of(&pair.minus.0) };
            line(made)
        })
    })
}

/// Every pattern that fires in a corpus, for people to judge. Strata are arm, mode and pattern.
pub fn findings(corpus: &Corpus, notice: &mut dyn FnMut(Notice)) -> Vec<Finding> {
    let mut made = Vec::new();
    for group in &corpus.groups {
        let Ok(()) = visit_pairs(group, notice, &mut |pair, found| {
            for (divergence, (sip, score)) in
                found.iter().flat_map(|d| d.sips.iter().map(move |sip| (d, sip)))
            {
                let actions: Vec<&str> =
                    divergence.events_plus.iter().map(|&at| pair.plus.1.target(at)).collect();
                made.push(Finding {
                    schema: "assay.audit-sheet/1",
                    stratum: format!("{} {} {}", group.arm, pair.mode.name(), sip.name()),
                    key: json!({
                        "arm": group.arm, "task": group.task, "mode": pair.mode.name(), "with_trace": pair.plus.0,
                        "without_trace": pair.minus.0, "record": divergence.id, "pattern": sip.name(), "score": score,
                    }),
                    fields: vec![
                        ("task", group.task.clone()),
                        ("pattern", sip.name().to_owned()),
                        ("intent_plus", head(divergence.intent_plus, SHOWN).to_owned()),
                        ("intent_minus", head(divergence.intent_minus, SHOWN).to_owned()),
                        ("actions", actions.join("\n")),
                        ("skill_section", head(divergence.region, SHOWN).to_owned()),
                    ],
                });
            }
            Ok::<(), Infallible>(())
        });
    }
    made
}

/// The exposure of each run of a group. The method's own reader drops the necessary records, so
/// this is read by another.
fn exposed(group: &Group) -> BTreeMap<&str, Option<Exposed>> {
    let text = group.skill.as_deref().and_then(|path| read_skill(path).ok()).unwrap_or_default();
    let (document, _) = Document::parse(text.as_bytes(), Path::new("SKILL.md"));
    let skill = OfferedSkill {
        name: &group.task,
        description: document.description.as_deref().unwrap_or_default(),
        body: document.body(),
        mount: "",
        files: &[],
    };
    let files = group.with.iter().chain(&group.without);
    files.map(|file| (file.name.as_str(), Exposed::in_file(&file.path, &skill).ok())).collect()
}

/// A run by its name.
type Named = (String, Trace);

/// Two runs, put together.
struct Pair<'a> {
    mode: Mode,
    plus: &'a Named,
    minus: &'a Named,
}

/// What is done with a pair and what differs in it.
type Visit<'v, E> = dyn FnMut(&Pair<'_>, &[Divergence<'_>]) -> Result<(), E> + 'v;

fn visit_pairs<E>(group: &Group, notice: &mut dyn FnMut(Notice), visit: &mut Visit<'_, E>) -> Result<(), E> {
    let mut task = Task::new(&skill(group, notice));
    let mut sessions = BTreeMap::new();
    let mut side = |files: &[TraceFile], task: &mut Task| -> Vec<Named> {
        let opened = files.iter().filter_map(|file| Some((file, open(file, &mut sessions, notice)?)));
        opened.map(|(file, log)| (file.name.clone(), task.trace(log))).collect()
    };
    let with = side(&group.with, &mut task);
    let without = side(&group.without, &mut task);
    let mut pair = |mode, plus, minus| {
        let pair = Pair { mode, plus, minus };
        let found = task.pair(&plus.1, &minus.1);
        visit(&pair, &found)
    };
    for plus in &with {
        for minus in &without {
            pair(Mode::Treatment, plus, minus)?;
        }
    }
    for (at, earlier) in without.iter().enumerate() {
        for later in &without[at + 1..] {
            pair(Mode::NullMinus, earlier, later)?;
        }
    }
    for (at, earlier) in with.iter().enumerate() {
        for later in &with[at + 1..] {
            pair(Mode::NullPlus, later, earlier)?;
        }
    }
    Ok(())
}

/// The text of a group's skill, or an empty one after saying why.
fn skill(group: &Group, notice: &mut dyn FnMut(Notice)) -> String {
    let Some(path) = &group.skill else {
        let first = group.with.first().or(group.without.first());
        let message = format!("no SKILL.md for the task {}; audited with an empty skill", group.task);
        notice(Notice { path: first.map(|file| file.path.clone()).unwrap_or_default(), line: None, message });
        return String::new();
    };
    read_skill(path).unwrap_or_else(|error| {
        notice(Notice { path: path.clone(), line: None, message: format!("cannot read: {error}") });
        String::new()
    })
}

/// Reads a trace, or says why it is left out. `sessions` are those read so far.
fn open(
    file: &TraceFile,
    sessions: &mut BTreeMap<String, String>,
    notice: &mut dyn FnMut(Notice),
) -> Option<Log> {
    let mut tell = |line, message| notice(Notice { path: file.path.clone(), line, message });
    let opened = assay_trace::read::open(&file.path).map_err(io::Error::other);
    match opened.and_then(|opened| read(&mut BufReader::with_capacity(1 << 16, opened))) {
        Ok((log, remarks)) => {
            for Remark { line, message, .. } in remarks.into_iter().filter(|remark| !remark.minor) {
                tell(line, message);
            }
            if let Some(other) = log.session.as_ref().and_then(|session| sessions.get(session)) {
                tell(None, format!("same session as {other}; both are audited"));
            }
            if let Some(session) = &log.session {
                sessions.entry(session.clone()).or_insert_with(|| file.name.clone());
            }
            Some(log)
        }
        Err(error) => {
            tell(None, format!("cannot read: {error}; excluded"));
            None
        }
    }
}

fn read_skill(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST_SKILL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
