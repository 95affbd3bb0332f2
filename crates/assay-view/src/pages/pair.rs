//! Two trials side by side.

use std::sync::Arc;

use askama::Template;
use assay_analysis::audited::read_trial;
use assay_audit::calibrated::audit_own;
use assay_audit::evidence::SkillText;
use assay_audit::view::{pair_runs, view_pair};
use assay_report::{PairOptions, clean, pair_html, percent, seconds, usd};
use assay_store::{Record, TrialId};
use assay_trace::Source;

use super::layout::Layout;
use super::trials::{agent, outcome_text};
use crate::data::RunData;
use crate::error::PageError;
use crate::site::Site;
use crate::urls;

/// What the page shows of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Whole,
    Differences,
    Blind,
}

#[derive(Template)]
#[template(path = "pair.html")]
struct PairPage {
    page: Layout,
    kind: &'static str,
    heading: String,
    views: Vec<(String, Option<String>)>,
    note: String,
    first: String,
    second: String,
    facts: Vec<(&'static str, String, String)>,
    pair: String,
}

pub(super) fn page(
    site: &Site,
    data: &RunData,
    first: &TrialId,
    second: &TrialId,
    kind: Kind,
) -> Result<String, PageError> {
    let missing = |id: &TrialId| PageError::NotFound(format!("trial {} is not finished", id.short()));
    let record =
        |id: &TrialId| -> Result<Record, PageError> { site.store.record(id)?.ok_or_else(|| missing(id)) };
    // Which is on the left must not tell which had the skill.
    let (left, right) = if kind == Kind::Blind && first > second { (second, first) } else { (first, second) };
    let (one, other) = (record(left)?, record(right)?);
    let options = PairOptions { differences_only: kind == Kind::Differences, blind: kind == Kind::Blind };
    let (skill, skill_name) = skill_of(site, data, first)
        .or_else(|| skill_of(site, data, second))
        .unwrap_or_else(|| (Arc::new(SkillText::parse(b"")), String::new()));
    let runs = read_trial(&site.store, one.clone(), &condition(data, left), &skill_name, &mut ())
        .zip(read_trial(&site.store, other.clone(), &condition(data, right), &skill_name, &mut ()));
    let task = data.row(first).map(|row| clean(&data.cell_of(row).task)).unwrap_or_default();
    let mut note = match kind {
        Kind::Blind => "Conditions, outcomes and the skill's directives are hidden, and the order of the runs does not depend on them. \
                        What the agents read and wrote is shown as it is and may name the skill."
            .to_owned(),
        Kind::Differences => "Rows in which both runs do the same are left out.".to_owned(),
        Kind::Whole => String::new(),
    };
    let pair = if let Some((left_run, right_run)) = runs {
        let mut steps = right_run.trajectory.steps.iter();
        let prompt = steps.find(|step| step.source == Source::User).map(|step| step.message.clone());
        let prompt = prompt.unwrap_or_default();
        let runs = pair_runs(&task, &skill_name, &prompt, &skill, [left_run, right_run]);
        let found = audit_own(&runs, &site.known_skills(data));
        pair_html(&view_pair(&runs, &found), options)
    } else {
        note.push_str(" No trajectory is stored for at least one of the two trials.");
        String::new()
    };
    let href = urls::pair(&data.plan.run, first, second);
    let has_steps = !pair.is_empty();
    let view =
        |name: &str, own: Kind, path: &str| (name.to_owned(), (own != kind).then(|| format!("{href}{path}")));
    let mut views = vec![
        view(if kind == Kind::Blind { "Reveal" } else { "Everything" }, Kind::Whole, ""),
        view("Differences only", Kind::Differences, "differences/"),
        view("Blind", Kind::Blind, "blind/"),
    ];
    if pair.contains("id=\"first-difference\"") {
        views.push(("First difference".to_owned(), Some("#first-difference".to_owned())));
    }
    let name = |id: &TrialId| {
        data.row(id)
            .map(|row| format!("{} (repetition {})", clean(&data.cell_of(row).condition), row.repetition))
    };
    let (name_one, name_other) = (name(left).unwrap_or_default(), name(right).unwrap_or_default());
    let blind = kind == Kind::Blind;
    if !blind {
        for (what, id) in [("first", first), ("second", second)] {
            views.push((format!("Trial page of the {what}"), Some(urls::trial(&data.plan.run, id))));
        }
    }
    let page = Layout {
        style: if has_steps { "pair" } else { "view" },
        ..Layout::in_run(site, &data.plan.run, &format!("{task}: pair"))
    };
    Ok(PairPage {
        page,
        kind: if blind { "pair, blind" } else { "pair" },
        heading: if blind { task } else { format!("{task}: {name_one} and {name_other}") },
        views,
        note,
        first: if blind { "run A".to_owned() } else { name_one },
        second: if blind { "run B".to_owned() } else { name_other },
        // The steps have a summary of their own.
        facts: if blind || has_steps { Vec::new() } else { facts(data, &one, &other, left, right) },
        pair,
    }
    .render()?)
}

fn condition(data: &RunData, id: &TrialId) -> String {
    data.row(id).map(|row| data.cell_of(row).condition.clone()).unwrap_or_default()
}

fn facts(
    data: &RunData,
    one: &Record,
    other: &Record,
    left: &TrialId,
    right: &TrialId,
) -> Vec<(&'static str, String, String)> {
    let rows = (data.row(left), data.row(right));
    let cell =
        |row: Option<&crate::data::TrialRow>| row.map(|row| agent(data.cell_of(row))).unwrap_or_default();
    let outcome = |row: Option<&crate::data::TrialRow>| row.map(outcome_text).unwrap_or_default();
    let none = || "–".to_owned();
    let score = |row: Option<&crate::data::TrialRow>| {
        row.and_then(|row| row.result.as_ref()?.score).map_or_else(none, percent)
    };
    let both = |name, of: &dyn Fn(&Record) -> String| (name, of(one), of(other));
    let mut facts = vec![
        ("agent", cell(rows.0), cell(rows.1)),
        ("outcome", outcome(rows.0), outcome(rows.1)),
        ("score", score(rows.0), score(rows.1)),
        both("cost", &|record| record.cost_usd.map_or_else(none, usd)),
        both("time", &|record| record.seconds.agent.map_or_else(none, seconds)),
    ];
    let names: std::collections::BTreeSet<&String> = one.numbers.keys().chain(other.numbers.keys()).collect();
    for name in names {
        let value = |record: &Record| record.numbers.get(name).map_or_else(none, ToString::to_string);
        facts.push((
            "metric",
            format!("{}: {}", clean(name), value(one)),
            format!("{}: {}", clean(name), value(other)),
        ));
    }
    facts
}

/// The skill that a trial was given, of several the first that it opened, and its name.
pub(super) fn skill_of(site: &Site, data: &RunData, trial: &TrialId) -> Option<(Arc<SkillText>, String)> {
    let cell = data.cell_of(data.row(trial)?);
    let provided = data
        .plan
        .provisions
        .iter()
        .find(|provision| provision.task == cell.task && provision.condition == cell.condition)?;
    let record = site.store.record(trial).ok()??;
    let opened = |name: &str| {
        record.skills().iter().any(|exposure| exposure.opened.is_some() && exposure.skill == name)
    };
    let mut skills = provided.skills.iter();
    let skill = skills.find(|skill| opened(&skill.name)).or(provided.skills.first())?;
    Some((site.skill_text(data, skill)?, skill.name.clone()))
}
