//! How far annotators agree, and how many items have labels.

use std::collections::BTreeMap;

use assay_diagnostic::{clean, counted};
use assay_stats::judge::{Figure, clustered_alpha_of_raters, clustered_kappa, proportion};
use assay_store::{Basis, ItemLabel, Marks, Sheet};
use serde_json::{Value, json};

use crate::figures::{figure_cell, figure_ends, figure_value};

/// What labels can follow from, in the order in which they are counted.
const BASES: [Basis; 5] =
    [Basis::Adjudicated, Basis::Unanimous, Basis::Majority, Basis::Undecided, Basis::Unmarked];

/// How far two annotators agree.
#[derive(Debug)]
struct AnnotatorPair {
    annotators: [String; 2],
    items: usize,
    equal: Option<Figure>,
    kappa: Option<Figure>,
}

/// What the labels of a sheet are based on.
#[derive(Debug)]
pub struct LabelSummary {
    sheet: String,
    items: usize,
    labeled: usize,
    /// Items by what their label follows from.
    decided: Vec<(&'static str, usize)>,
    /// Marks of each annotator: met, not met, cannot tell.
    annotators: Vec<(String, [usize; 3])>,
    pairs: Vec<AnnotatorPair>,
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

impl LabelSummary {
    pub(super) fn new(sheet: &Sheet, marks: &Marks, labels: &[ItemLabel<'_>]) -> Self {
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
                pairs.push(AnnotatorPair {
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

    /// As `assay.judge-labels/1`.
    pub fn to_json(&self) -> Value {
        let pairs: Vec<Value> = { self.pairs.iter() }
            .map(|pair| {
                json!({
                    "annotators": pair.annotators, "items": pair.items, "equal": figure_value(pair.equal),
                    "kappa": figure_value(pair.kappa),
                    "ci95": { "equal": figure_ends(pair.equal), "kappa": figure_ends(pair.kappa) },
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
                "items": self.shared, "equal": figure_value(self.equal), "alpha": figure_value(self.alpha),
                "ci95": { "equal": figure_ends(self.equal), "alpha": figure_ends(self.alpha) },
            },
        })
    }

    /// Lines for annotators and pairs of them.
    pub fn to_text(&self) -> String {
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
                text.push_str(&format!("  {figure:<22}{}\n", figure_cell(value)));
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
