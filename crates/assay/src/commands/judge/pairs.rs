//! `assay judge pairs`: which of two results a judge prefers.

mod batch;
mod rows;
mod table;

use std::path::Path;

use assay_judge::planted::BLOCKED;
use assay_judge::{Choice, PairRuling, Undecided, pair_majority};
use assay_report::counted;
use assay_stats::pairwise::{Preference, tie_to_shorter};
use serde_json::{Map, Value, json};

use super::items::panel::{Forecast, Judged, Panel};
use super::items::{as_json, refuse_family};
use crate::args::judge::PairsArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;
use batch::{planted_pairs, slot};
use rows::PairRow;
use table::{JudgedPair, PairFigures, PlantedCount, figures};

/// The name of a panel's majority in the column `judge`.
const MAJORITY: &str = "majority";

pub(super) fn run(args: &PairsArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if let (Some(winner), Some(swapped)) = (&args.winner, &args.winner_swapped) {
        return report_recorded(args, [winner, swapped], ui);
    }
    let rows = rows::read(args)?;
    let candidates = rows.iter().flat_map(|row| row.candidates.iter().map(Option::as_deref));
    let unknown = refuse_family(&args.judge, candidates)?;
    if unknown > 0 {
        let results = counted(unknown, "result", "results");
        ui.note(&format!(
            "warning: {results} without a candidate's model (--candidate-a, --candidate-b); whether a judge is of its \
             family is unknown"
        ));
    }
    if let Some(out) = args.out.as_ref().filter(|out| !args.panel.dry_run && out.symlink_metadata().is_ok()) {
        return Err(
            Failure::bad_input(format!("{} exists", out.display())).hint("choose another file with `--out`")
        );
    }
    let batch = batch::batch(&rows);
    let panel = Panel::new(&args.judge, &args.panel, settings, ui)?;
    let forecast = panel.forecast(&batch)?;
    if args.panel.dry_run {
        report_forecast(rows.len(), &forecast, ui)?;
        return Ok(Status::Done);
    }
    panel.check_cap(&forecast)?;
    let judged = panel.judge_all(&batch)?;
    let (asked, missed) = (judged.planted, judged.missed);
    if missed >= BLOCKED {
        return Err(Failure::infrastructure(format!(
            "the judge missed {missed} of {asked} planted pairs, so no choice counts"
        ))
        .hint("use another judge, or shorter results"));
    }
    let decided = decide(args, &rows, &judged);
    if let Some(out) = &args.out {
        write(out, &rows, &decided)?;
    }
    let pairs = decided.into_iter().map(|one| one.pair).collect();
    let found = figures(pairs, |judge| Some(planted_count(args, rows.len(), &judged, judge)));
    report(&found, &judged, ui)?;
    Ok(Status::Done)
}

/// What a judge, or the majority of a panel, chose for a row.
struct Decided {
    /// The number of the row.
    row: usize,
    pair: JudgedPair,
    /// By order.
    rulings: [PairRuling; 2],
}

/// The choices for each row: those of each judge, and of the majority if there are several.
fn decide(args: &PairsArgs, rows: &[PairRow], judged: &Judged<PairRuling>) -> Vec<Decided> {
    let mut all = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        for judge in judges(args) {
            let decided = [false, true].map(|is_swapped| {
                let rulings = rulings_of(args, judged, slot(number, is_swapped), judge);
                pair_majority(rulings).unwrap_or_else(no_answer)
            });
            let agreement = f64::midpoint(decided[0].1, decided[1].1);
            let rulings = decided.map(|(ruling, _)| ruling);
            let choices = [
                preference(rulings[0].choice, [Preference::A, Preference::B]),
                preference(rulings[1].choice, [Preference::B, Preference::A]),
            ];
            let pair = JudgedPair {
                origin: row.origin.clone(),
                judge: judge.to_owned(),
                choices,
                agreement: Some(agreement),
            };
            all.push(Decided { row: number, pair, rulings });
        }
    }
    all
}

/// The judges, and the majority if there are several.
fn judges(args: &PairsArgs) -> impl Iterator<Item = &str> {
    let is_panel = args.judge.len() > 1;
    args.judge.iter().map(String::as_str).chain(is_panel.then_some(MAJORITY))
}

/// The rulings of one judge, or of all for the majority. They are by judge and repeat.
fn rulings_of<'a>(
    args: &PairsArgs,
    judged: &'a Judged<PairRuling>,
    slot: usize,
    judge: &str,
) -> &'a [PairRuling] {
    let rulings = &judged.rulings[slot];
    match args.judge.iter().position(|own| own == judge) {
        Some(at) => rulings.chunks(rulings.len() / args.judge.len()).nth(at).unwrap_or_default(),
        None => rulings,
    }
}

fn planted_count(args: &PairsArgs, rows: usize, judged: &Judged<PairRuling>, judge: &str) -> PlantedCount {
    let mut count = PlantedCount::default();
    for number in 0..planted_pairs(rows) {
        for (is_swapped, expected) in [(false, Choice::First), (true, Choice::Second)] {
            let rulings = rulings_of(args, judged, slot(rows + number, is_swapped), judge);
            count.planted += rulings.len();
            count.missed += rulings.iter().filter(|ruling| ruling.choice != expected).count();
        }
    }
    count
}

/// A choice as a preference, with what was shown first and second.
fn preference(choice: Choice, [first, second]: [Preference; 2]) -> Option<Preference> {
    match choice {
        Choice::First => Some(first),
        Choice::Second => Some(second),
        Choice::Tie => Some(Preference::Tie),
        Choice::Undecided => None,
    }
}

fn no_answer() -> (PairRuling, f64) {
    let ruling = PairRuling {
        choice: Choice::Undecided,
        undecided: Some(Undecided::NoAnswer),
        quote: None,
        reason: String::new(),
    };
    (ruling, 0.0)
}

fn word(preference: Preference) -> &'static str {
    match preference {
        Preference::A => "a",
        Preference::B => "b",
        Preference::Tie => "tie",
    }
}

fn write(out: &Path, rows: &[PairRow], decided: &[Decided]) -> Result<(), Failure> {
    let mut text = String::new();
    for Decided { row, pair, rulings } in decided {
        let columns = &rows[*row].columns;
        let mut object: Map<String, Value> =
            columns.iter().map(|(name, value)| (name.clone(), as_json(value))).collect();
        let preference = pair.preference();
        let broken = tie_to_shorter(preference, pair.length_difference());
        let [choice, swapped] = pair.choices.map(|choice| json!(choice.map(word)));
        let [why, why_swapped] =
            rulings.each_ref().map(|ruling| json!(ruling.undecided.map(Undecided::name)));
        let lengths = pair.origin.lengths;
        let own = [
            ("preference", json!(word(preference))),
            ("preference_with_ties_broken", json!(broken.map(word))),
            ("winner", choice),
            ("winner_swapped", swapped),
            ("undecided", why),
            ("undecided_swapped", why_swapped),
            ("quote", json!(rulings[0].quote)),
            ("quote_swapped", json!(rulings[1].quote)),
            ("reason", json!(rulings[0].reason)),
            ("reason_swapped", json!(rulings[1].reason)),
            ("length_a", json!(lengths.map(|[a, _]| a))),
            ("length_b", json!(lengths.map(|[_, b]| b))),
            ("agreement", json!(pair.agreement)),
            ("judge", json!(pair.judge)),
        ];
        object.extend(own.map(|(name, value)| (name.to_owned(), value)));
        text.push_str(&Value::Object(object).to_string());
        text.push('\n');
    }
    assay_fs::replace_file(out, text.as_bytes())
        .map_err(|error| Failure::infrastructure(format!("cannot write {}: {error}", out.display())))
}

fn report_forecast(pairs: usize, forecast: &Forecast, ui: &Ui) -> Result<(), Failure> {
    if ui.json() {
        return ui.document(&json!({
            "schema": "assay.judge-forecast/1", "pairs": pairs, "requests": forecast.requests,
            "cached": forecast.cached, "max_usd": forecast.max_usd,
        }));
    }
    let cost = forecast.max_usd.map_or_else(String::new, |cost| format!(", at most ${cost:.2}"));
    ui.out(&format!(
        "{}: {} ({} cached){cost}\n",
        counted(pairs, "pair", "pairs"),
        counted(forecast.requests, "request", "requests"),
        forecast.cached,
    ))
}

fn report(found: &[PairFigures], judged: &Judged<PairRuling>, ui: &Ui) -> Result<(), Failure> {
    if ui.json() {
        return ui.document(&json!({
            "schema": "assay.judge-pairs/1", "groups": found.iter().map(PairFigures::json).collect::<Vec<_>>(),
            "requests": judged.requests, "cached": judged.cached, "cost_usd": judged.cost_usd,
            "usage": judged.usage,
        }));
    }
    ui.out(&found.iter().map(PairFigures::text).collect::<String>())?;
    let cost = judged.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
    ui.out(&format!("{} ({} cached){cost}\n", counted(judged.requests, "request", "requests"), judged.cached))
}

/// The same figures from choices that are in the table.
fn report_recorded(args: &PairsArgs, winners: [&str; 2], ui: &Ui) -> Result<Status, Failure> {
    let rows = rows::read_recorded(args, winners)?;
    let pairs = rows.into_iter().map(|row| JudgedPair {
        origin: row.origin,
        judge: row.judge,
        choices: row.choices,
        agreement: None,
    });
    let found = figures(pairs.collect(), |_| None);
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.judge-pairs/1", "groups": found.iter().map(PairFigures::json).collect::<Vec<_>>(),
        }))?;
    } else {
        ui.out(&found.iter().map(PairFigures::text).collect::<String>())?;
    }
    Ok(Status::Done)
}
