//! A skill of a run: the four questions, in order.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use assay_lint::{Options, lint};
use assay_report::{answer, clean, counted, pp};
use assay_retrieval::{Bm25, Parameters};
use assay_skill::Document;
use assay_store::{ConditionRole, Store};
use assay_trace::Source;

use super::layout::Layout;
use crate::attempt::Attempt;
use crate::data::{CellGroup, RunData};
use crate::error::PageError;
use crate::site::{AuditState, RunState, Site};
use crate::text::{Passage, line};
use crate::urls;

/// Tasks whose instructions are used as queries.
const TASKS: usize = 200;

/// Similar skills that are named.
const NEIGHBOURS: usize = 5;

/// Findings of the linter that are listed.
const FINDINGS: usize = 100;

/// Larger runs are not audited for a page.
const AUDITED: usize = 2_000;

#[derive(Template)]
#[template(path = "skill.html")]
struct SkillPage {
    page: Layout,
    name: String,
    facts: String,
    description: String,
    lint_summary: String,
    findings: Vec<Finding>,
    discovery: String,
    ranks: Vec<Rank>,
    neighbours: Vec<(String, String)>,
    effect_note: String,
    effects: Vec<Effect>,
    behaviour: String,
    traces: Vec<TraceLine>,
    history: Vec<Past>,
    document: Passage,
}

struct Finding {
    severity: String,
    rule: &'static str,
    line: String,
    message: String,
}

struct Rank {
    task: String,
    at: String,
    higher: String,
}

struct Effect {
    agent: String,
    condition: String,
    href: String,
    verdict: &'static str,
    lift: String,
    own: String,
}

struct TraceLine {
    href: String,
    task: String,
    condition: String,
    repetition: u32,
    opened: String,
    score: String,
    followed: String,
    violated: usize,
    unknown: usize,
}

struct Past {
    run: String,
    href: String,
    digest: String,
    skill_href: String,
    answer: String,
}

/// A skill of the run, as an agent finds it.
struct Listed {
    name: String,
    digest: String,
    text: String,
}

/// A page, or how far what it needs is.
pub(super) enum SkillReply {
    Page(String),
    /// The name of the skill, and a sentence.
    Waiting(String, String),
}

/// The page of a skill. What the audit of the run finds is waited for at most `wait`.
pub(super) fn page(
    site: &Arc<Site>,
    data: &Arc<RunData>,
    digest: &str,
    wait: Duration,
) -> Result<SkillReply, PageError> {
    let skills = &data.report.provenance.skills;
    let skill = skills.iter().find(|skill| skill.digest == digest);
    let skill =
        skill.ok_or_else(|| PageError::NotFound(format!("the run provides no skill {}", clean(digest))))?;
    let (behaviour, traces) = match behaviour(site, data, digest, wait) {
        Ok(found) => found,
        Err(progress) => return Ok(SkillReply::Waiting(clean(&skill.name), progress)),
    };
    let bytes = site.store.skill(digest).unwrap_or_default();
    let (document, _) = Document::parse(&bytes, Path::new("SKILL.md"));
    let description = document.description.clone().unwrap_or_default();
    let listing = assay_skill::tokens(&format!("{}: {description}", skill.name));
    let facts = format!(
        "{} · body: {} tokens · listing (name and description): {} tokens · provided by {} on {}",
        clean(digest),
        assay_diagnostic::group_digits(skill.body_tokens),
        assay_diagnostic::group_digits(listing),
        clean(&skill.conditions.join(", ")),
        counted(skill.tasks, "task", "tasks")
    );
    let (lint_summary, findings) = linted(&skill.name, &bytes);
    let listed = listed(&site.store, data);
    let (discovery, ranks) = discovery(site, data, &listed, digest);
    let (effect_note, effects) = effects(data, digest, &skill.conditions);
    let run = &data.plan.run;
    let html = SkillPage {
        page: Layout::in_run(site, run, &clean(&skill.name)),
        name: clean(&skill.name),
        facts,
        description: line(&description, 2_000),
        lint_summary,
        findings,
        discovery,
        ranks,
        neighbours: neighbours(&listed, digest, run),
        effect_note,
        effects,
        behaviour,
        traces,
        history: history(site, &skill.name),
        document: Passage::up_to(&document.text, 200_000),
    }
    .render()?;
    Ok(SkillReply::Page(html))
}

/// The findings on the SKILL.md. The store keeps no other file of a package.
fn linted(name: &str, bytes: &[u8]) -> (String, Vec<Finding>) {
    if bytes.is_empty() {
        return ("The store has no SKILL.md of this skill.".to_owned(), Vec::new());
    }
    let outcome = tempfile::tempdir().and_then(|folder| {
        // The folder has the skill's name, which rules compare.
        let plain = !name.is_empty()
            && !name.contains(['/', '\0'])
            && name != "."
            && name != ".."
            && name.len() < 200;
        let package = folder.path().join(if plain { name } else { "skill" });
        std::fs::create_dir(&package)?;
        std::fs::write(package.join("SKILL.md"), bytes)?;
        Ok(lint(&[package], &Options::default()))
    });
    let Ok(outcome) = outcome else {
        return ("The skill cannot be linted: no temporary folder can be created.".to_owned(), Vec::new());
    };
    // Files that the document names are missing because they were not stored, not because the package lacks them.
    let is_known = |code: &str| !code.contains("missing-file") && !code.starts_with("link");
    let found: Vec<_> = outcome
        .skills
        .iter()
        .flat_map(|skill| &skill.diagnostics)
        .chain(&outcome.diagnostics)
        .filter(|found| is_known(found.code))
        .collect();
    let summary = format!(
        "{} on the SKILL.md. The package's other files are not stored with a run; lint the package with assay lint.",
        counted(found.len(), "finding", "findings")
    );
    let findings = found
        .into_iter()
        .take(FINDINGS)
        .map(|found| Finding {
            severity: format!("{:?}", found.severity).to_lowercase(),
            rule: found.code,
            line: found.span.0.map_or_else(|| "–".to_owned(), |span| span.line.to_string()),
            message: clean(&found.message),
        })
        .collect();
    (summary, findings)
}

/// The skills of the run that are not placebos, in order of name.
fn listed(store: &Store, data: &RunData) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Vec::new();
    for skill in &data.report.provenance.skills {
        if !skill.measured {
            continue;
        }
        let bytes = store.skill(&skill.digest).unwrap_or_default();
        let (document, _) = Document::parse(&bytes, Path::new("SKILL.md"));
        let text = format!("{} {}", skill.name, document.description.unwrap_or_default());
        listed.push(Listed { name: skill.name.clone(), digest: skill.digest.clone(), text });
    }
    listed
}

/// The rank of the skill for the instructions of the tasks that it is provided for.
fn discovery(site: &Site, data: &RunData, listed: &[Listed], digest: &str) -> (String, Vec<Rank>) {
    let Some(own) = listed.iter().position(|skill| skill.digest == digest) else {
        return ("This skill is a placebo, which is not meant to be found.".to_owned(), Vec::new());
    };
    if listed.len() < 2 {
        return (
            "The run provides no other skill, so there is nothing to confuse it with.".to_owned(),
            Vec::new(),
        );
    }
    let index = Bm25::new(listed.iter().map(|skill| skill.text.as_str()), Parameters::default());
    let mut ranks = Vec::new();
    let mut first = 0;
    for task in tasks_with(data, digest).into_iter().take(TASKS) {
        let Some(prompt) = instruction(site, data, task) else { continue };
        let ranked = index.rank(&prompt);
        let at = ranked.iter().position(|(found, _)| *found == own);
        first += usize::from(at == Some(0));
        let higher = ranked.iter().take(at.unwrap_or(ranked.len())).take(NEIGHBOURS);
        let higher: Vec<String> = higher.map(|(found, _)| clean(&listed[*found].name)).collect();
        ranks.push(Rank {
            task: clean(task),
            at: at.map_or_else(|| "not found".to_owned(), |at| (at + 1).to_string()),
            higher: if higher.is_empty() { "–".to_owned() } else { higher.join(", ") },
        });
    }
    if ranks.is_empty() {
        return (
            "No instruction of a task is stored, so there is no query to rank the skill for.".to_owned(),
            ranks,
        );
    }
    let text = format!(
        "BM25 over the names and descriptions of the {} skills of this run, with the instruction of each task that the skill \
         belongs to as the query: first for {} of {}.",
        listed.len(),
        first,
        counted(ranks.len(), "task", "tasks")
    );
    (text, ranks)
}

/// The tasks that a skill belongs to: those for which a condition that is `curated` provides it, or else any.
fn tasks_with<'a>(data: &'a RunData, digest: &str) -> Vec<&'a str> {
    let provides = |curated: bool| {
        let provisions = data.plan.provisions.iter();
        let mut tasks: Vec<&str> = provisions
            .filter(|provision| !curated || data.plan.role_of(&provision.condition) == ConditionRole::Curated)
            .filter(|provision| provision.skills.iter().any(|skill| skill.digest == digest))
            .map(|provision| provision.task.as_str())
            .collect();
        tasks.dedup();
        tasks
    };
    let curated = provides(true);
    if curated.is_empty() { provides(false) } else { curated }
}

/// What a task says: the first message of the user in one of its trials.
fn instruction(site: &Site, data: &RunData, task: &str) -> Option<String> {
    let is_baseline = |cell: &&CellGroup| Some(cell.condition.as_str()) == data.baseline();
    let cells = || data.cells.iter().filter(|cell| cell.task == task);
    let cell = cells().find(is_baseline).or(cells().next())?;
    let row = cell.rows.iter().map(|at| &data.rows[*at]).find(|row| row.result.is_some())?;
    let number = Attempt::numbers(&site.store, &row.trial).pop()?;
    let trajectory = Attempt::new(&site.store, &row.trial, number).trajectory().ok()??;
    let first = trajectory.steps.into_iter().find(|step| step.source == Source::User)?;
    Some(first.message).filter(|message| !message.trim().is_empty())
}

/// The skills whose descriptions are most similar.
fn neighbours(listed: &[Listed], digest: &str, run: &str) -> Vec<(String, String)> {
    let Some(own) = listed.iter().position(|skill| skill.digest == digest) else { return Vec::new() };
    let index = Bm25::new(listed.iter().map(|skill| skill.text.as_str()), Parameters::default());
    let ranked = index.rank(&listed[own].text).into_iter().filter(|(at, _)| *at != own).take(NEIGHBOURS);
    ranked.map(|(at, _)| (clean(&listed[at].name), urls::skill(run, &listed[at].digest))).collect()
}

/// The comparisons of the conditions that provide the skill.
fn effects(data: &RunData, digest: &str, conditions: &[String]) -> (String, Vec<Effect>) {
    let own = tasks_with(data, digest);
    let mut alone = true;
    let mut effects = Vec::new();
    for (number, comparison) in data.report.comparisons.iter().enumerate() {
        if !conditions.contains(&comparison.condition) {
            continue;
        }
        alone &= own.len() >= comparison.tasks;
        let lifts: Vec<f64> = data
            .report
            .tasks
            .iter()
            .filter(|row| row.who == comparison.who && own.contains(&row.task.as_str()))
            .flat_map(|row| &row.arms)
            .filter(|arm| arm.condition == comparison.condition)
            .filter_map(|arm| arm.lift)
            .collect();
        let mean = lifts.iter().sum::<f64>() / lifts.len() as f64;
        let interval = comparison.family.map_or_else(
            || "no CI".to_owned(),
            |family| format!("{} to {}", pp(family.low), pp(family.high)),
        );
        effects.push(Effect {
            agent: clean(comparison.who.short()),
            condition: clean(&comparison.condition),
            href: urls::comparison(&data.plan.run, number),
            verdict: comparison.word(),
            lift: format!("{} ({interval})", comparison.lift.map_or_else(|| "–".to_owned(), pp)),
            own: if lifts.is_empty() {
                "–".to_owned()
            } else {
                format!("{}, {}", pp(mean), counted(lifts.len(), "task", "tasks"))
            },
        });
    }
    let note = match (effects.is_empty(), alone) {
        (true, _) => "No comparison of this run has a condition that provides the skill.",
        (false, true) => "Verdicts of the conditions that provide the skill, agent by agent.",
        (false, false) => {
            "Verdicts are about conditions, which provide other skills for other tasks too. The last column is the mean lift on \
             this skill's tasks alone; it has too few tasks for a verdict."
        }
    };
    (note.to_owned(), effects)
}

/// What the trials show, or how far the audit is.
fn behaviour(
    site: &Arc<Site>,
    data: &Arc<RunData>,
    digest: &str,
    wait: Duration,
) -> Result<(String, Vec<TraceLine>), String> {
    if data.progress().1 > AUDITED {
        let text = format!("The run has more than {AUDITED} trials; assay audit corpus audits it.");
        return Ok((text, Vec::new()));
    }
    let behaviour = match site.behaviour(data, wait) {
        AuditState::Ready(found) => found,
        AuditState::Running(what, _, 0) => return Err(what),
        AuditState::Running(what, done, total) => return Err(format!("{what}: {done} of {total}")),
    };
    if let Some(refusal) = &behaviour.refusal {
        return Ok((clean(refusal), Vec::new()));
    }
    let Some(traces) = behaviour.skills.get(digest).filter(|traces| !traces.is_empty()) else {
        return Ok(("No finished trial with a trajectory was given this skill.".to_owned(), Vec::new()));
    };
    let opened = traces.iter().filter(|trace| trace.opened_at.is_some()).count();
    let followed = traces.iter().filter(|trace| trace.counts.followed > 0).count();
    let mut text = format!(
        "Of {}, {opened} opened the skill and {followed} {} followed at least one of its directives.",
        counted(traces.len(), "trial with the skill", "trials with the skill"),
        if followed == 1 { "is seen to have" } else { "are seen to have" }
    );
    match traces.iter().filter(|trace| trace.is_copy).count() {
        0 => {}
        1 => text.push_str(" One trial ran and wrote the same as another; it is listed, too."),
        copies => text
            .push_str(&format!(" {copies} trials ran and wrote the same as others; they are listed, too.")),
    }
    let unknown = traces.iter().filter(|trace| trace.adoption.is_none()).count();
    if unknown > 0 {
        let of = if unknown == traces.len() { String::new() } else { format!(" in {unknown} of them") };
        text.push_str(&format!(
            " Adoption cannot be measured{of}: what the skill demands is common or already in the task."
        ));
    }
    let run = &data.plan.run;
    let baseline = data.baseline().unwrap_or_default();
    let lines = traces
        .iter()
        .filter_map(|trace| {
            let row = data.row(&trace.trial)?;
            let cell = data.cell_of(row);
            let partner = data.sibling(cell, baseline).and_then(|other| {
                let same = |at: &&usize| data.rows[**at].repetition == row.repetition;
                other.rows.iter().find(same).map(|at| &data.rows[*at].trial)
            });
            Some(TraceLine {
                href: match partner {
                    Some(partner) if *partner != row.trial => urls::pair(run, &row.trial, partner),
                    _ => urls::trial(run, &row.trial),
                },
                task: clean(&cell.task),
                condition: clean(&cell.condition),
                repetition: row.repetition,
                opened: trace.opened_at.map_or_else(|| "no".to_owned(), |step| format!("step {step}")),
                score: trace.adoption.map_or_else(|| "–".to_owned(), |score| format!("{score:.2}")),
                followed: format!("{} of {}", trace.counts.followed, trace.counts.total),
                violated: trace.counts.violated,
                unknown: trace.counts.unknown,
            })
        })
        .collect();
    Ok((text, lines))
}

/// All runs of the store that provide a skill of this name.
fn history(site: &Arc<Site>, name: &str) -> Vec<Past> {
    let wait = if site.is_export { Duration::MAX / 4 } else { Duration::from_millis(300) };
    let mut past = Vec::new();
    for run in site.run_names() {
        let Ok(RunState::Ready(data)) = site.run(&run, wait) else { continue };
        for skill in data.report.provenance.skills.iter().filter(|skill| skill.name == name) {
            past.push(Past {
                run: run.clone(),
                href: urls::run(&run),
                digest: clean(&skill.digest).chars().take(19).collect(),
                skill_href: urls::skill(&run, &skill.digest),
                answer: answer(&data.report).replace('`', ""),
            });
        }
    }
    past
}
