//! `assay judge items`: items of a table judged by language models.

pub(super) mod batch;
pub(super) mod panel;

use std::collections::BTreeMap;
use std::path::Path;

use assay_judge::planted::BLOCKED;
use assay_judge::{Ruling, Verdict, is_same_family, majority};
use assay_table::Value;
use serde_json::{Map, json};

use crate::args::judge::ItemsArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;
use batch::ItemRow;
use panel::{Batch, Panel};

pub(super) fn run(args: &ItemsArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let rows = batch::read(args)?;
    let unknown = refuse_family(&args.judge, rows.iter().map(|row| row.candidate.as_deref()))?;
    if unknown > 0 {
        let items = assay_report::counted(unknown, "item", "items");
        ui.note(&format!(
            "warning: {items} without a candidate's model (--candidate); whether a judge is of its family is unknown"
        ));
    }
    if let Some(out) = args.out.as_ref().filter(|out| !args.panel.dry_run && out.symlink_metadata().is_ok()) {
        return Err(
            Failure::bad_input(format!("{} exists", out.display())).hint("choose another file with `--out`")
        );
    }
    let batch = Batch::new(&rows);
    let panel = Panel::new(&args.judge, &args.panel, settings, ui)?;
    let forecast = panel.forecast(&batch)?;
    if args.panel.dry_run {
        if ui.json() {
            ui.document(&json!({
                "schema": "assay.judge-forecast/1", "items": rows.len(), "requests": forecast.requests,
                "cached": forecast.cached, "max_usd": forecast.max_usd,
            }))?;
        } else {
            let cost = forecast.max_usd.map_or_else(String::new, |cost| format!(", at most ${cost:.2}"));
            ui.out(&format!(
                "{}: {} ({} cached){cost}\n",
                assay_report::counted(rows.len(), "item", "items"),
                assay_report::counted(forecast.requests, "request", "requests"),
                forecast.cached,
            ))?;
        }
        return Ok(Status::Done);
    }
    panel.check_cap(&forecast)?;
    let judged = panel.judge_all(&batch)?;
    let (asked, missed) = (judged.planted, judged.missed);
    if missed >= BLOCKED {
        return Err(Failure::infrastructure(format!(
            "the judge missed {missed} of {asked} planted items, so no verdict counts"
        ))
        .hint("use another judge, or shorter material"));
    }
    let decided: Vec<(Ruling, f64)> =
        judged.rulings.iter().map(|rulings| majority(rulings).unwrap_or_else(no_answer)).collect();
    if let Some(out) = &args.out {
        write(out, args, &rows, &decided)?;
    }
    report(args, &judged, &decided, ui)?;
    Ok(Status::Done)
}

fn no_answer() -> (Ruling, f64) {
    let ruling = Ruling {
        item: String::new(),
        verdict: Verdict::CannotTell,
        undecided: Some(assay_judge::Undecided::NoAnswer),
        part: None,
        quote: None,
        reason: String::new(),
    };
    (ruling, 0.0)
}

/// Refuses judges of the family of a candidate. Returns for how many results the candidate is unknown.
pub(super) fn refuse_family<'a>(
    judges: &[String],
    candidates: impl Iterator<Item = Option<&'a str>> + Clone,
) -> Result<usize, Failure> {
    for judge in judges {
        let own = candidates.clone().flatten().find(|own| is_same_family(judge, own));
        if let Some(candidate) = own {
            return Err(Failure::bad_input(format!(
                "{judge} is of the family of {candidate}, which it would judge"
            ))
            .hint("judges favour results of their own family: use a judge of another vendor"));
        }
    }
    Ok(candidates.filter(Option::is_none).count())
}

fn write(out: &Path, args: &ItemsArgs, rows: &[ItemRow], decided: &[(Ruling, f64)]) -> Result<(), Failure> {
    let mut text = String::new();
    for (row, (ruling, agreement)) in rows.iter().zip(decided) {
        let mut object: Map<String, serde_json::Value> =
            row.columns.iter().map(|(name, value)| (name.clone(), as_json(value))).collect();
        let verdict = match ruling.verdict {
            Verdict::Met => json!(true),
            Verdict::NotMet => json!(false),
            Verdict::CannotTell => json!(null),
            Verdict::Points(points) => json!(points),
        };
        let own = [
            ("verdict", verdict),
            ("undecided", json!(ruling.undecided.map(assay_judge::Undecided::name))),
            ("quote", json!(ruling.quote)),
            ("reason", json!(ruling.reason)),
            ("agreement", json!(agreement)),
            ("judge", json!(args.judge.join(", "))),
        ];
        object.extend(own.map(|(name, value)| (name.to_owned(), value)));
        text.push_str(&serde_json::Value::Object(object).to_string());
        text.push('\n');
    }
    assay_fs::replace_file(out, text.as_bytes())
        .map_err(|error| Failure::infrastructure(format!("cannot write {}: {error}", out.display())))
}

pub(super) fn as_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => json!(null),
        Value::Bool(value) => json!(value),
        Value::Integer(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::Text(text) => json!(text),
    }
}

fn report(
    args: &ItemsArgs,
    judged: &panel::Judged<Ruling>,
    decided: &[(Ruling, f64)],
    ui: &Ui,
) -> Result<(), Failure> {
    let count = |verdict: Verdict| decided.iter().filter(|(ruling, _)| ruling.verdict == verdict).count();
    let (met, unmet, unclear) = (count(Verdict::Met), count(Verdict::NotMet), count(Verdict::CannotTell));
    let mut undecided: BTreeMap<&str, usize> = BTreeMap::new();
    for why in decided.iter().filter_map(|(ruling, _)| ruling.undecided) {
        *undecided.entry(why.name()).or_default() += 1;
    }
    let agreement = decided.iter().map(|(_, share)| share).sum::<f64>() / decided.len().max(1) as f64;
    if ui.json() {
        return ui.document(&json!({
            "schema": "assay.judge-items/1", "items": decided.len(), "met": met, "not_met": unmet,
            "cannot_tell": unclear, "undecided": undecided, "agreement": agreement, "requests": judged.requests,
            "cached": judged.cached, "planted": {"items": judged.planted, "missed": judged.missed},
            "cost_usd": judged.cost_usd, "usage": judged.usage,
        }));
    }
    ui.out(&format!(
        "{}: {met} met, {unmet} not met, {unclear} that cannot be told\n",
        assay_report::counted(decided.len(), "item", "items")
    ))?;
    for (why, count) in &undecided {
        ui.out(&format!("  {why}: {count}\n"))?;
    }
    if args.panel.repeats > 1 || args.judge.len() > 1 {
        ui.out(&format!("agreement with the majority: {agreement:.3}\n"))?;
    }
    let cost = judged.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
    ui.out(&format!(
        "{} ({} cached){cost}; planted items missed: {} of {}\n",
        assay_report::counted(judged.requests, "request", "requests"),
        judged.cached,
        judged.missed,
        judged.planted,
    ))
}
