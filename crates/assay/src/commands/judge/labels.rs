//! `assay judge labels`: the agreement of annotators, and labels from their marks.

use std::collections::BTreeMap;
use std::path::Path;

use assay_report::{clean, counted};
use assay_stats::judge::{Figure, clustered_alpha_of_raters, clustered_kappa, proportion};
use assay_store::{
    Basis, COLUMNS_OF_LABELS, ItemLabel, Marks, Sheet, Store, StoreError, decide, write_atomically,
};
use serde_json::{Value, json};

use super::feedback::{self, AddedFeedback};
use super::figures::{cell, ends};
use crate::args::judge::LabelsArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// What labels can follow from, in the order in which they are counted.
const BASES: [Basis; 5] =
    [Basis::Adjudicated, Basis::Unanimous, Basis::Majority, Basis::Undecided, Basis::Unmarked];

pub(super) fn run(args: &LabelsArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if !settings.store.is_dir() {
        let message = format!("there is no store at {}", settings.store.display());
        return Err(
            Failure::bad_input(message).hint("`assay judge sheet` creates one; --store names another")
        );
    }
    let store = machine::read_store(&settings.store)?;
    let sheet = store.sheet(&args.sheet).map_err(|error| name_sheets(error, &store))?;
    if let Some(out) = &args.out {
        check_name(out)?;
    }
    let added = match &args.feedback {
        Some(path) => Some(feedback::add(&store, &sheet, path, &args.annotator)?),
        None => None,
    };
    let marks = store.marks(sheet.name())?;
    let labels = decide(&sheet, &marks);
    if let Some(out) = &args.out {
        write_atomically(out, table(&sheet, &labels).as_bytes())?;
    }
    let summary = Summary::new(&sheet, &marks, &labels);
    if ui.json() {
        let mut document = summary.json();
        document["out"] = json!(args.out.as_ref().map(|path| path.display().to_string()));
        document["feedback"] = json!(added.as_ref().map(AddedFeedback::json));
        ui.document(&document)?;
    } else {
        ui.out(&summary.text())?;
    }
    if let Some(added) = &added {
        ui.note(&added.text());
    }
    match &args.out {
        Some(out) => ui.note(&format!(
            "wrote {}; `assay judge calibrate` reads it with --label label --labels-by people",
            out.display()
        )),
        None => ui.note("--out FILE writes the labels"),
    }
    Ok(Status::Done)
}

/// The failure for an unknown sheet, with those that there are.
fn name_sheets(error: StoreError, store: &Store) -> Failure {
    let names = store.sheet_names();
    let hint = match names.as_slice() {
        [] => "`assay judge sheet FILE` adds one".to_owned(),
        names => format!("the store has {}", names.join(", ")),
    };
    match error {
        StoreError::NotFound(message) => Failure::bad_input(message).hint(hint),
        other => other.into(),
    }
}

/// Refuses a name that `calibrate` would not read.
fn check_name(out: &Path) -> Result<(), Failure> {
    let known = out.extension().is_some_and(|extension| extension == "jsonl" || extension == "ndjson");
    if known {
        return Ok(());
    }
    let message = format!("cannot write {}: labels are written as JSON Lines", out.display());
    Err(Failure::bad_input(message).hint("name a file that ends in .jsonl"))
}

/// The rows of the sheet with their labels.
fn table(sheet: &Sheet, labels: &[ItemLabel<'_>]) -> String {
    let row = |(item, label): (&assay_store::SheetItem, &ItemLabel<'_>)| {
        let mut row = item.row().clone();
        let names: Vec<&str> = label.marks.iter().map(|mark| mark.annotator.as_str()).collect();
        let values = [json!(label.label), json!(label.basis.word()), json!(names)];
        row.extend(COLUMNS_OF_LABELS.map(str::to_owned).into_iter().zip(values));
        format!("{}\n", Value::Object(row))
    };
    sheet.items().iter().zip(labels).map(row).collect()
}

/// How far two annotators agree.
struct Pair {
    annotators: [String; 2],
    items: usize,
    equal: Option<Figure>,
    kappa: Option<Figure>,
}

struct Summary {
    sheet: String,
    items: usize,
    labeled: usize,
    /// Items by what their label follows from.
    decided: Vec<(&'static str, usize)>,
    /// Marks of each annotator: met, not met, cannot tell.
    annotators: Vec<(String, [usize; 3])>,
    pairs: Vec<Pair>,
    /// Items with two marks or more.
    shared: usize,
    /// Share of these items whose marks are all equal.
    equal: Option<Figure>,
    alpha: Option<Figure>,
}

/// A label as a category: *cannot tell* is one of its own.
fn category(label: Option<bool>) -> usize {
    match label {
        Some(true) => 0,
        Some(false) => 1,
        None => 2,
    }
}

impl Summary {
    fn new(sheet: &Sheet, marks: &Marks, labels: &[ItemLabel<'_>]) -> Self {
        let clusters = clusters(sheet);
        let names = marks.annotators();
        let given: Vec<BTreeMap<&str, usize>> = names
            .iter()
            .map(|name| {
                marks.by_item(name).into_iter().map(|(id, mark)| (id, category(mark.label))).collect()
            })
            .collect();
        let counts = names.iter().zip(&given).map(|(name, given)| {
            let count = |category: usize| given.values().filter(|mark| **mark == category).count();
            ((*name).to_owned(), [0, 1, 2].map(count))
        });
        let mut pairs = Vec::new();
        for (a, first) in given.iter().enumerate() {
            for (b, second) in given.iter().enumerate().skip(a + 1) {
                let both: Vec<((usize, usize), Option<usize>)> = { sheet.items().iter().zip(&clusters) }
                    .filter_map(|(item, cluster)| {
                        Some(((*first.get(item.id())?, *second.get(item.id())?), *cluster))
                    })
                    .collect();
                let equal: Vec<_> = both.iter().map(|((a, b), cluster)| (a == b, *cluster)).collect();
                pairs.push(Pair {
                    annotators: [names[a].to_owned(), names[b].to_owned()],
                    items: both.len(),
                    equal: proportion(&equal),
                    kappa: clustered_kappa(&both),
                });
            }
        }
        let shared: Vec<(Vec<usize>, Option<usize>)> = labels
            .iter()
            .zip(&clusters)
            .map(|(label, cluster)| (label.marks.iter().map(|mark| category(mark.label)).collect(), *cluster))
            .filter(|(marks, _): &(Vec<usize>, _)| marks.len() >= 2)
            .collect();
        let equal: Vec<_> = shared
            .iter()
            .map(|(marks, cluster)| (marks.iter().all(|mark| *mark == marks[0]), *cluster))
            .collect();
        let count = |basis: Basis| labels.iter().filter(|label| label.basis == basis).count();
        Self {
            sheet: sheet.name().to_owned(),
            items: labels.len(),
            labeled: labels.iter().filter(|label| label.label.is_some()).count(),
            decided: BASES.into_iter().map(|basis| (basis.word(), count(basis))).collect(),
            annotators: counts.collect(),
            pairs,
            shared: shared.len(),
            equal: proportion(&equal),
            alpha: clustered_alpha_of_raters(
                &shared.iter().map(|(marks, cluster)| (marks, *cluster)).collect::<Vec<_>>(),
            ),
        }
    }

    fn json(&self) -> Value {
        let value = |figure: Option<Figure>| figure.map(|figure| figure.value);
        let interval = |figure: Option<Figure>| figure.and_then(|figure| ends(figure.interval));
        let pairs: Vec<Value> = { self.pairs.iter() }
            .map(|pair| {
                json!({
                    "annotators": pair.annotators, "items": pair.items, "equal": value(pair.equal),
                    "kappa": value(pair.kappa),
                    "ci95": { "equal": interval(pair.equal), "kappa": interval(pair.kappa) },
                })
            })
            .collect();
        let annotators: Vec<Value> = { self.annotators.iter() }
            .map(|(name, [met, not_met, cannot_tell])| {
                json!({ "name": name, "met": met, "not_met": not_met, "cannot_tell": cannot_tell })
            })
            .collect();
        json!({
            "schema": "assay.judge-labels/1", "sheet": self.sheet, "items": self.items,
            "labeled": self.labeled, "decided": self.decided.iter().copied().collect::<BTreeMap<_, _>>(),
            "annotators": annotators, "pairs": pairs,
            "all": {
                "items": self.shared, "equal": value(self.equal), "alpha": value(self.alpha),
                "ci95": { "equal": interval(self.equal), "alpha": interval(self.alpha) },
            },
        })
    }

    fn text(&self) -> String {
        let decided = self.decided.iter().filter(|(_, count)| *count > 0);
        let decided: Vec<String> = decided.map(|(basis, count)| format!("{count} {basis}")).collect();
        let items = counted(self.items, "item", "items");
        let mut text =
            format!("{}: {items}, {} labeled ({})\n", self.sheet, self.labeled, decided.join(", "));
        for (name, [met, not_met, cannot_tell]) in &self.annotators {
            let counts = format!("{met} met, {not_met} not met, {cannot_tell} cannot tell");
            text.push_str(&format!("  {:<22}{counts}\n", clean(name)));
        }
        let mut group = |name: String, items: usize, figures: [(&str, Option<Figure>); 2]| {
            text.push_str(&format!("{name}: {}\n", counted(items, "item", "items")));
            for (figure, value) in figures.into_iter().filter(|(_, value)| value.is_some()) {
                text.push_str(&format!("  {figure:<22}{}\n", cell(value)));
            }
        };
        for pair in &self.pairs {
            let names = pair.annotators.each_ref().map(|name| clean(name)).join(" and ");
            group(names, pair.items, [("equal marks", pair.equal), ("kappa", pair.kappa)]);
        }
        if self.shared > 0 {
            let figures = [("equal marks", self.equal), ("Krippendorff's alpha", self.alpha)];
            group("all annotators".to_owned(), self.shared, figures);
        }
        text
    }
}

/// The number of each item's cluster; none if an item has no cluster.
fn clusters(sheet: &Sheet) -> Vec<Option<usize>> {
    let mut numbers = BTreeMap::<String, usize>::new();
    let mut found = Vec::with_capacity(sheet.items().len());
    for item in sheet.items() {
        let Some(cluster) = item.cluster() else { return vec![None; sheet.items().len()] };
        let next = numbers.len();
        found.push(Some(*numbers.entry(cluster).or_insert(next)));
    }
    found
}
