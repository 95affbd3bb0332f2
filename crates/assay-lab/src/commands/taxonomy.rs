//! `assay lab taxonomy`: sorting the skills of a corpus into categories.

mod label;
mod model;

use std::path::Path;

use assay_corpus::taxonomy::{
    ClusterOptions, SkillSummary, SkillTags, Taxonomy, cluster, name_clusters, similarity_graph,
};
use assay_report::{clean, counted};
use assay_skill::corpus::Record;
use assay_skill::corpus::input::Input;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::taxonomy::{ClusterArgs, TaxonomyArgs, TaxonomyWhat};
use crate::commands::bad_lines::BadLines;
use assay_cli::config::Settings;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// Most skills that are clustered: pairs are counted in memory.
const MOST: usize = 3_000;

pub(super) fn run(args: &TaxonomyArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        TaxonomyWhat::Discover(args) => model::discover(args, settings, ui),
        TaxonomyWhat::Cluster(args) => make_clusters(args, ui),
        TaxonomyWhat::Assign(args) => model::assign(args, settings, ui),
        TaxonomyWhat::Sheet(args) => label::write_sheet(args, ui),
        TaxonomyWhat::Accuracy(args) => label::accuracy(args, ui),
    }
}

fn make_clusters(args: &ClusterArgs, ui: &Ui) -> Result<Status, Failure> {
    let tags: Vec<SkillTags> = read_lines(&args.tags)?;
    if tags.is_empty() || tags.len() > MOST {
        let message =
            format!("{} has {} skills: 1 to {MOST} can be clustered", args.tags.display(), tags.len());
        return Err(Failure::bad_input(message).hint("--n of `discover` chooses fewer"));
    }
    let graph = similarity_graph(&tags, args.neighbours);
    let clusters = cluster(&graph, &ClusterOptions { seed: args.seed, smallest: args.smallest });
    let taxonomy = name_clusters(&tags, &clusters);
    let text = serde_json::to_string_pretty(&taxonomy)
        .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
    write(&args.out, &(text + "\n"))?;
    if taxonomy.rounds.is_none() {
        ui.note("warning: the partitions did not agree; the categories are those of the last round");
    }
    if ui.json() {
        ui.document(&taxonomy)?;
    } else {
        ui.out(&render(&taxonomy))?;
    }
    Ok(if taxonomy.categories.is_empty() { Status::DidNotHold } else { Status::Done })
}

fn render(taxonomy: &Taxonomy) -> String {
    let mut text = format!("{:<44} {:>6} {:>9}  tags\n", "category", "skills", "stability");
    for category in &taxonomy.categories {
        text.push_str(&format!(
            "{:<44} {:>6} {:>9.2}  {}\n",
            clean(&category.name),
            category.skills,
            category.stability,
            clean(&category.tags.join(", "))
        ));
    }
    text.push_str(&format!(
        "{} of {}; {} in none\n",
        counted(taxonomy.categories.len(), "category", "categories"),
        counted(taxonomy.skills, "skill", "skills"),
        taxonomy.unclustered
    ));
    text
}

/// The records of a corpus, as a model sees them, without repeated ids.
fn summaries(path: &Path, ui: &Ui) -> Result<Vec<SkillSummary>, Failure> {
    let mut bad_lines = BadLines::new(ui, path);
    let mut input = Input::open(path)?;
    let mut seen = std::collections::BTreeSet::new();
    let mut skills = Vec::new();
    while let Some(batch) = input.batch(|record: Record| SkillSummary::of(&record))? {
        for line in batch {
            match line {
                Ok(skill) if seen.insert(skill.id.clone()) => skills.push(skill),
                Ok(_) => {}
                Err(bad) => bad_lines.note(&bad),
            }
        }
    }
    bad_lines.summarize();
    if skills.is_empty() {
        return Err(Failure::bad_input(format!("{}: no records", path.display())));
    }
    Ok(skills)
}

fn read_taxonomy(path: &Path) -> Result<Taxonomy, Failure> {
    let text = assay_cli::input::text(path)?;
    let taxonomy: Taxonomy = serde_json::from_str(&text).map_err(|error| {
        Failure::bad_input(format!("{}:{}: {error}", path.display(), error.line()))
            .hint("`assay lab taxonomy cluster` writes it")
    })?;
    for (at, category) in taxonomy.categories.iter().enumerate() {
        let is_known =
            |other: &assay_corpus::taxonomy::Category| other.name.eq_ignore_ascii_case(&category.name);
        let is_bad = category.name.trim().is_empty() || category.name.eq_ignore_ascii_case("none");
        if is_bad || taxonomy.categories[..at].iter().any(is_known) {
            return Err(Failure::bad_input(format!(
                "{}: {:?} is empty, `none`, or the name of two categories",
                path.display(),
                category.name
            )));
        }
    }
    if taxonomy.categories.is_empty() {
        return Err(Failure::bad_input(format!("{} has no categories", path.display())));
    }
    Ok(taxonomy)
}

/// The lines of a file as JSON.
fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let mut read = Vec::new();
    let mut input = Input::open(path)?;
    while let Some(lines) = input.lines()? {
        for (number, line) in lines {
            let value = serde_json::from_slice(&line)
                .map_err(|error| Failure::bad_input(format!("{}:{number}: {error}", path.display())))?;
            read.push(value);
        }
    }
    Ok(read)
}

fn write_lines<T: Serialize>(path: &Path, lines: &[T]) -> Result<(), Failure> {
    let mut text = String::new();
    for line in lines {
        let line = serde_json::to_string(line)
            .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
        text.push_str(&line);
        text.push('\n');
    }
    write(path, &text)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    assay_fs::replace_file(path, text.as_bytes())
        .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", path.display())))
}
