//! `assay lab draft`: `assay draft` on labelled skills.

use std::collections::{BTreeMap, BTreeSet};

use assay_draft::needs::{self, Category, Needs};
use assay_report::{clean, counted};
use assay_skill::corpus::Record;
use assay_skill::corpus::input::Input;
use serde_json::{Map, Value, json};

use super::simulate::table::markdown;
use crate::args::draft::{LabDraftArgs, LabDraftWhat, LabNeedsArgs};
use crate::commands::bad_lines::BadLines;
use crate::needs_labels::{Agreement, Counts, DISCARDED, Frequencies, Labelled, published_share};
use assay_cli::failure::{Failure, Status};
use assay_cli::input;
use assay_cli::ui::Ui;

pub(super) fn run(args: &LabDraftArgs, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        LabDraftWhat::Needs(args) => needs(args, ui),
    }
}

fn needs(args: &LabNeedsArgs, ui: &Ui) -> Result<Status, Failure> {
    let labelled = read_labels(args)?;
    let ids: BTreeSet<&str> = labelled.iter().map(|labelled| labelled.id.as_str()).collect();
    let mut found = BTreeMap::<String, (String, Needs)>::new();
    let mut frequencies = Frequencies::default();
    let mut input = Input::open(&args.corpus)?;
    let mut bad_lines = BadLines::new(ui, &args.corpus);
    let work = |record: Record| {
        let id = record.key();
        let is_labelled = ids.contains(id.as_str());
        let found = (is_labelled || args.frequencies).then(|| needs::find_in_text(&record.skill_md));
        let categories: Vec<_> = found.iter().flat_map(Needs::categories).collect();
        (categories, found.filter(|_| is_labelled).map(|needs| (id, record.name, needs)))
    };
    while let Some(batch) = input.batch(work)? {
        for line in batch {
            match line {
                Ok((categories, labelled)) => {
                    frequencies.add(&categories);
                    if let Some((id, name, needs)) = labelled {
                        found.insert(id, (name, needs));
                    }
                }
                Err(bad) => bad_lines.note(&bad),
            }
        }
    }
    bad_lines.summarize();
    let mut agreement = Agreement::default();
    for labelled in &labelled {
        let Some((_, needs)) = found.get(&labelled.id) else {
            return Err(Failure::bad_input(format!(
                "{} has no skill with the id {}",
                args.corpus.display(),
                clean(&labelled.id)
            )));
        };
        agreement.add(labelled, needs);
    }
    let frequencies = args.frequencies.then_some(frequencies);
    if ui.json() {
        ui.document(&document(labelled.len(), &agreement, frequencies.as_ref()))?;
        return Ok(Status::Done);
    }
    let mut text = render(labelled.len(), &agreement);
    if let Some(frequencies) = &frequencies {
        text.push_str(&render_frequencies(frequencies));
    }
    if args.errors {
        text.push_str(&render_errors(&labelled, &found));
    }
    ui.out(&text)?;
    Ok(Status::Done)
}

fn read_labels(args: &LabNeedsArgs) -> Result<Vec<Labelled>, Failure> {
    let mut labelled = Vec::new();
    let mut error = None;
    let mut bad = |number: usize, why: &str| {
        error.get_or_insert_with(|| format!("{}:{number}: {why}", args.labels.display()));
    };
    let mut bad_length = None;
    let each = |number: usize, line: &str| match Labelled::parse(line) {
        Ok(row) => labelled.push(row),
        Err(why) => bad(number, &why.to_string()),
    };
    input::lines(&args.labels, each, |number, why| bad_length = Some((number, why.to_owned())))?;
    if let Some((number, why)) = bad_length {
        error.get_or_insert_with(|| format!("{}:{number}: {why}", args.labels.display()));
    }
    match error {
        Some(message) => Err(Failure::bad_input(message)),
        None if labelled.is_empty() => {
            Err(Failure::bad_input(format!("{}: no labels", args.labels.display())))
        }
        None => Ok(labelled),
    }
}

fn share(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

fn percent(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{:.1}%", 100.0 * value))
}

fn row(name: &str, counts: Counts) -> [String; 6] {
    [
        name.to_owned(),
        counts.labels().to_string(),
        counts.needed().to_string(),
        share(counts.precision()),
        share(counts.recall()),
        share(counts.f1()),
    ]
}

fn render(skills: usize, agreement: &Agreement) -> String {
    let mut rows: Vec<_> =
        Category::ALL.iter().map(|category| row(category.name(), agreement.of(*category))).collect();
    rows.push(row("all (micro-average)", agreement.pooled(&Category::ALL)));
    rows.push(row("the seven that rule out", agreement.pooled(&DISCARDED)));
    let table = markdown(["category", "labels", "needed", "precision", "recall", "F1"], &rows);
    format!(
        "{}; labels on which both readers agree\n\n{table}",
        counted(skills, "labelled skill", "labelled skills")
    )
}

fn render_frequencies(frequencies: &Frequencies) -> String {
    let rows: Vec<_> = Category::ALL
        .iter()
        .map(|category| {
            let published =
                published_share(*category).map_or("at most 4.4%".to_owned(), |share| format!("{share:.1}%"));
            [
                category.name().to_owned(),
                frequencies.count(*category).to_string(),
                percent(frequencies.share(*category)),
                published,
            ]
        })
        .collect();
    let table = markdown(["category", "skills", "share", "published (500 skills)"], &rows);
    format!("\n{} skills of the corpus\n\n{table}", frequencies.skills)
}

fn render_errors(labelled: &[Labelled], found: &BTreeMap<String, (String, Needs)>) -> String {
    let mut text = String::from("\n");
    for category in Category::ALL {
        for labelled in labelled {
            let Some((name, needs)) = found.get(&labelled.id) else { continue };
            match labelled.agreed(category) {
                Some(true) if !needs.has(category) => {
                    text.push_str(&format!("missed {} in {}\n", category.name(), clean(name)));
                }
                Some(false) if needs.has(category) => {
                    text.push_str(&format!("wrongly found {} in {}\n", category.name(), clean(name)));
                    for need in needs.of(category) {
                        let (line, by) = (need.line, need.by.name());
                        text.push_str(&format!("  {line}  {by}  {}\n", clean(&need.text)));
                    }
                }
                _ => {}
            }
        }
    }
    text
}

fn document(skills: usize, agreement: &Agreement, frequencies: Option<&Frequencies>) -> Value {
    let figures = |counts: Counts| {
        json!({
            "labels": counts.labels(), "needed": counts.needed(), "counts": counts,
            "precision": counts.precision(), "recall": counts.recall(), "f1": counts.f1(),
        })
    };
    let by_category = |value: &dyn Fn(Category) -> Value| -> Map<String, Value> {
        Category::ALL.iter().map(|category| (category.name().to_owned(), value(*category))).collect()
    };
    let frequencies = frequencies.map(|frequencies| {
        json!({
            "skills": frequencies.skills,
            "categories": by_category(&|category| json!({
                "skills": frequencies.count(category), "share": frequencies.share(category),
                "published_percent": published_share(category),
            })),
        })
    });
    json!({
        "schema": "assay.lab-needs/1",
        "skills": skills,
        "categories": by_category(&|category| figures(agreement.of(category))),
        "micro": figures(agreement.pooled(&Category::ALL)),
        "ruling_out": figures(agreement.pooled(&DISCARDED)),
        "frequencies": frequencies,
    })
}
