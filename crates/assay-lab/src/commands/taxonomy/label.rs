//! The accuracy of assignments: a sample for people, and what their labels say.

use std::collections::BTreeMap;

use assay_corpus::taxonomy::{Assigned, Category};
use assay_report::{clean, counted};
use assay_stats::clopper_pearson;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{read_lines, read_taxonomy, summaries, write_lines};
use crate::args::taxonomy::{AccuracyArgs, CategorySheetArgs};
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// The assigned skills of each category.
fn by_category(assigned: &[Assigned]) -> BTreeMap<&str, Vec<&Assigned>> {
    let mut groups: BTreeMap<&str, Vec<&Assigned>> = BTreeMap::new();
    for one in assigned {
        if let Some(category) = &one.category {
            groups.entry(category).or_default().push(one);
        }
    }
    groups
}

/// Writes a sample with as many skills of each category as of the others, as far as there are any.
pub(super) fn write_sheet(args: &CategorySheetArgs, ui: &Ui) -> Result<Status, Failure> {
    let taxonomy = read_taxonomy(&args.taxonomy)?;
    let assigned: Vec<Assigned> = read_lines(&args.categories)?;
    let skills: BTreeMap<String, _> =
        summaries(&args.corpus, ui)?.into_iter().map(|skill| (skill.id.clone(), skill)).collect();
    let mut groups = by_category(&assigned);
    for group in groups.values_mut() {
        group.sort_by_key(|one| *blake3::hash(format!("{} {}", args.seed, one.id).as_bytes()).as_bytes());
        group.reverse();
    }
    let mut drawn: Vec<&Assigned> = Vec::new();
    while drawn.len() < args.n && groups.values().any(|group| !group.is_empty()) {
        for group in groups.values_mut() {
            if drawn.len() < args.n {
                drawn.extend(group.pop());
            }
        }
    }
    let listed: String = taxonomy.categories.iter().map(describe).collect();
    let mut rows = Vec::new();
    for one in drawn {
        let Some(skill) = skills.get(&one.id) else {
            return Err(Failure::bad_input(format!(
                "{} has no skill {}, which {} assigns",
                args.corpus.display(),
                clean(&one.id),
                args.categories.display()
            )));
        };
        let category = one.category.as_deref().unwrap_or_default();
        rows.push(json!({
            "item": one.id,
            "criterion": format!("Of all categories, {category:?} fits the skill best, or as well as any other."),
            "context": format!("The categories:\n{listed}"),
            "materials": { "skill": format!("name: {}\ndescription: {}\n\n{}", skill.name, skill.description, skill.text) },
            "cluster": category,
            "verdict": true,
        }));
    }
    if rows.is_empty() {
        return Err(Failure::bad_input(format!("{} assigns no category", args.categories.display())));
    }
    write_lines(&args.out, &rows)?;
    ui.out(&format!(
        "{}; next: `assay judge sheet {}`, label them in `assay view`, then `assay judge labels`\n",
        counted(rows.len(), "skill", "skills"),
        args.out.display()
    ))?;
    Ok(Status::Done)
}

fn describe(category: &Category) -> String {
    format!("- {} ({})\n", category.name, category.tags.join(", "))
}

/// A line of the labels of people.
#[derive(Deserialize)]
struct Label {
    item: String,
    label: Option<bool>,
}

/// The accuracy of a category.
#[derive(Debug, Serialize)]
struct Row {
    category: String,
    /// Skills with the category.
    skills: usize,
    labelled: u64,
    right: u64,
    accuracy: Option<f64>,
    /// Exact (Clopper and Pearson 1934).
    ci95: Option<[f64; 2]>,
}

pub(super) fn accuracy(args: &AccuracyArgs, ui: &Ui) -> Result<Status, Failure> {
    let labels: Vec<Label> = read_lines(&args.labels)?;
    let assigned: Vec<Assigned> = read_lines(&args.categories)?;
    let labels: BTreeMap<&str, Option<bool>> =
        labels.iter().map(|label| (label.item.as_str(), label.label)).collect();
    let groups = by_category(&assigned);
    let rows: Vec<Row> = groups
        .iter()
        .map(|(category, group)| {
            let known: Vec<bool> =
                group.iter().filter_map(|one| labels.get(one.id.as_str()).copied().flatten()).collect();
            let (labelled, right) = (known.len() as u64, known.iter().filter(|label| **label).count() as u64);
            let interval = (labelled > 0).then(|| clopper_pearson(right, labelled, 0.95));
            Row {
                category: (*category).to_owned(),
                skills: group.len(),
                labelled,
                right,
                accuracy: (labelled > 0).then(|| right as f64 / labelled as f64),
                ci95: interval.map(|interval| [interval.low, interval.high]),
            }
        })
        .collect();
    let labelled: u64 = rows.iter().map(|row| row.labelled).sum();
    if labelled == 0 {
        return Err(Failure::bad_input(format!(
            "{} decides no skill of the categories",
            args.labels.display()
        ))
        .hint("`assay judge labels NAME --out FILE` writes labels"));
    }
    let right: u64 = rows.iter().map(|row| row.right).sum();
    // Categories have equal shares of the sample and unequal ones of the corpus.
    let known = rows.iter().filter_map(|row| Some((row.skills as f64, row.accuracy?)));
    let (sum, weight) =
        known.fold((0.0, 0.0), |(sum, weight), (skills, share)| (sum + skills * share, weight + skills));
    let weighted = sum / weight;
    let undecided = labels.values().filter(|label| label.is_none()).count();
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.taxonomy-accuracy/1", "labelled": labelled, "right": right, "undecided": undecided,
            "accuracy": weighted, "categories": rows,
        }))?;
        return Ok(Status::Done);
    }
    let mut text = format!("{:<44} {:>6} {:>8} {:>6}  accuracy\n", "category", "skills", "labelled", "right");
    for row in &rows {
        let share = match (row.accuracy, row.ci95) {
            (Some(share), Some([low, high])) => {
                format!("{:.0}% ({:.0} to {:.0})", 100.0 * share, 100.0 * low, 100.0 * high)
            }
            _ => "–".to_owned(),
        };
        text.push_str(&format!(
            "{:<44} {:>6} {:>8} {:>6}  {share}\n",
            clean(&row.category),
            row.skills,
            row.labelled,
            row.right
        ));
    }
    text.push_str(&format!(
        "accuracy, weighted by the sizes of the categories: {:.1}% ({right} of {labelled} labelled skills right, {undecided} undecided)\n",
        100.0 * weighted
    ));
    ui.out(&text)?;
    Ok(Status::Done)
}
