//! `assay lab audit prohibitions`.

use std::collections::BTreeMap;

use assay_audit::calibrated::Rate;
use assay_cli::commands::audit::input;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;
use assay_report::{align_columns, clean};
use assay_skill::corpus::input::Input;
use serde::Serialize;

use crate::args::audit::ProhibitionsArgs;
use crate::audit::prohibitions::{
    Judged, LabelledAct, ProhibitionFigures, Twin, by_skill, figures, judge_act,
};

/// Longest file of labels that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    figures: ProhibitionFigures,
    acts: Vec<Judged>,
}

pub(super) fn run(args: &ProhibitionsArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut acts = Vec::new();
    for path in &args.labels {
        for (at, line) in input::text(path, LONGEST)?.lines().enumerate() {
            let act: LabelledAct = serde_json::from_str(line).map_err(|error| {
                Failure::bad_input(format!("{}:{}: no labelled act: {error}", path.display(), at + 1))
            })?;
            acts.push(act);
        }
    }
    let mut wanted = by_skill(acts);
    let mut skills: BTreeMap<String, String> = BTreeMap::new();
    let mut corpus = Input::open(&args.corpus)?;
    while let Some(batch) = corpus.batch(|record| {
        wanted.contains_key(&record.id).then(|| (record.id.clone(), record.skill_md.clone()))
    })? {
        skills.extend(batch.into_iter().flatten().flatten());
    }
    if let Some(missing) = wanted.keys().find(|id| !skills.contains_key(*id)) {
        let message = format!("{} has no skill {}", args.corpus.display(), clean(missing));
        return Err(Failure::bad_input(message).hint("pass the corpus that the labels were made from"));
    }
    let judged: Vec<Judged> = skills
        .iter()
        .flat_map(|(id, text)| wanted.remove(id).unwrap_or_default().into_iter().map(move |act| (act, text)))
        .map(|(act, text)| judge_act(&act, text))
        .collect();
    let figures = figures(&judged);
    if ui.json() {
        ui.document(&Document { schema: "assay.audit-prohibitions/1", figures, acts: judged })?;
    } else {
        ui.out(&table(&figures))?;
        if args.list {
            ui.out(&format!("\n{}", wrong(&judged)))?;
        }
    }
    Ok(Status::Done)
}

fn table(figures: &ProhibitionFigures) -> String {
    let rows = [
        ("labels that both readers share", &figures.agreed),
        ("obedient acts called violations", &figures.false_violations),
        ("guilty acts found", &figures.found),
        ("guilty acts, prohibition read", &figures.read),
        ("obedient acts, other lines violated", &figures.elsewhere),
    ];
    let share = |rate: &Rate| {
        let share = rate.count as f64 / rate.of.max(1) as f64;
        format!("{share:.3} [{:.3}, {:.3}]", rate.low, rate.high)
    };
    let mut lines = vec![["acts", "count", "share"].map(str::to_owned).to_vec()];
    for (name, rate) in rows {
        lines.push(vec![name.to_owned(), format!("{} of {}", rate.count, rate.of), share(rate)]);
    }
    align_columns(&lines)
}

/// The acts that the audit has wrong.
fn wrong(judged: &[Judged]) -> String {
    let is_wrong = |one: &&Judged| one.agreed && (one.twin == Twin::Guilty) == one.violated.is_empty();
    let mut lines = vec![["skill", "line", "act", "forbidden", "violated"].map(str::to_owned).to_vec()];
    for one in judged.iter().filter(is_wrong) {
        let act = match one.twin {
            Twin::Guilty => "guilty, not found",
            Twin::Obedient => "obedient, called a violation",
        };
        let list = |subjects: &[String]| clean(&subjects.join("; "));
        lines.push(vec![
            clean(&one.skill),
            one.line.to_string(),
            act.to_owned(),
            list(&one.forbidden),
            list(&one.violated),
        ]);
    }
    align_columns(&lines)
}
