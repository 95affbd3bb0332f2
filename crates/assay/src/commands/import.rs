//! `assay import`: trials that were executed elsewhere, as a run.

mod rubric;
mod rubric_experiment;

use std::path::{Path, PathBuf};

use assay_store::{ConditionRole, import_run};
use assay_trial::import::{
    AnalysisOptions, BenchmarkLayout, ImportOptions, Imported, ImportedTable, PrimaryOption, TableColumns,
    TableOptions, benchmark, harbor, table,
};
use serde_json::json;

use crate::args::import::{
    AnalysisArgs, ImportArgs, ImportHarborArgs, ImportRunArgs, ImportTableArgs, ImportWhat, OutcomeOption,
    ResultFile,
};
use crate::config::Settings;
use crate::failure::{Failure, Status, lines};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &ImportArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    match &args.what {
        ImportWhat::Harbor(args) => from_harbor(args, settings, ui),
        ImportWhat::Table(args) => from_table(args, settings, ui),
        ImportWhat::SweSkillsBench(args) => {
            from_benchmark(&args.file, BenchmarkLayout::SweSkillsBench, settings, ui)
        }
        ImportWhat::SkillsBench(args) => {
            from_benchmark(&args.file, BenchmarkLayout::SkillsBench, settings, ui)
        }
        ImportWhat::BenchFlow(args) => from_benchmark(&args.file, BenchmarkLayout::BenchFlow, settings, ui),
        ImportWhat::Rubric(args) => rubric::run(args, ui),
        ImportWhat::Run(args) => from_archive(args, settings, ui),
    }
}

fn from_archive(args: &ImportRunArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::read_store(&settings.store)?;
    let imported =
        import_run(&store, &args.file, args.name.as_deref(), args.outcome.map(OutcomeOption::rule));
    store.clear_scratch();
    let imported = imported?;
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.import-run/1", "run": imported.run, "imported": imported.imported,
            "present": imported.present, "trajectories": imported.trajectories,
        }))?;
    } else {
        let trials = assay_report::counted(imported.imported, "trial", "trials");
        let present = match imported.present {
            0 => String::new(),
            present => format!("; {present} already in the store"),
        };
        ui.out(&format!("{}: {trials} imported{present}\n", imported.run))?;
    }
    for note in &imported.notes {
        ui.note(note);
    }
    ui.note(&format!("`assay report {}` shows the report", imported.run));
    Ok(Status::Done)
}

fn from_harbor(args: &ImportHarborArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let options = ImportOptions {
        name: args.name.clone().unwrap_or_else(|| name_of(&args.dirs)),
        conditions: args.condition.iter().map(|text| pattern(text)).collect::<Result<_, _>>()?,
        analysis: analysis(&args.analysis)?,
    };
    let store = machine::read_store(&settings.store)?;
    let imported = harbor(&store, &args.dirs, &options)?;
    if ui.json() {
        ui.document(&imported)?;
    } else {
        ui.out(&summary_text(&imported))?;
    }
    for note in &imported.notes {
        ui.note(note);
    }
    ui.note(&format!("`assay report {}` shows the report", imported.run));
    Ok(Status::Done)
}

/// Rows whose reasons are printed; the others are counted.
const REASONS: usize = 10;

fn from_table(args: &ImportTableArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let options = TableOptions {
        name: args.name.clone().unwrap_or_else(|| table_name(&args.file)),
        columns: TableColumns {
            task: args.task.clone(),
            condition: args.condition.clone(),
            score: args.score.clone(),
            repetition: args.repetition.clone(),
            cluster: args.cluster.clone(),
            agent: args.agent.clone(),
            model: args.model.clone(),
            started: args.started.clone(),
        },
        filters: args.filters.iter().map(|text| filter(text)).collect::<Result<_, _>>()?,
        ignored: args.ignore.clone(),
        analysis: analysis(&args.analysis)?,
        range: range(&args.range)?,
    };
    let store = machine::read_store(&settings.store)?;
    print_table(&table(&store, &args.file, &options)?, &args.file, ui)
}

fn from_benchmark(
    args: &ResultFile,
    layout: BenchmarkLayout,
    settings: &Settings,
    ui: &Ui,
) -> Result<Status, Failure> {
    let name = args.name.clone().unwrap_or_else(|| run_name(&stem(&args.file)));
    let store = machine::read_store(&settings.store)?;
    let imported = benchmark(&store, &args.file, layout, &name, &analysis(&args.analysis)?)?;
    print_table(&imported, &args.file, ui)
}

fn print_table(imported: &ImportedTable, file: &Path, ui: &Ui) -> Result<Status, Failure> {
    if ui.json() {
        ui.document(imported)?;
    } else {
        ui.out(&table_text(imported))?;
    }
    let file = file.display();
    for row in imported.skipped.iter().take(REASONS) {
        ui.note(&format!("warning: {file}:{}: {}; skipped", row.line, row.reason));
    }
    if let Some(more) = imported.skipped.len().checked_sub(REASONS).filter(|more| *more > 0) {
        ui.note(&format!("warning: {more} more rows skipped; `--format json` lists them"));
    }
    for note in &imported.notes {
        ui.note(note);
    }
    ui.note(&format!("`assay report {}` shows the report", imported.run));
    Ok(if imported.skipped.is_empty() { Status::Done } else { Status::DidNotHold })
}

/// The run's name where none is given.
fn table_name(file: &Path) -> String {
    format!("table-{}", run_name(&stem(file)))
}

/// The name of a file without its extensions.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(name, _)| name).to_owned()
}

/// What the options say of conditions and the outcome.
fn analysis(args: &AnalysisArgs) -> Result<AnalysisOptions, Failure> {
    let role = |text: &String| {
        let split = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
        let (name, role) = split.ok_or_else(|| {
            Failure::bad_input(format!("{text:?} is not CONDITION=ROLE"))
                .hint("for example `--role with-skill=curated`")
        })?;
        match ConditionRole::of(role) {
            ConditionRole::Other => {
                let known = ConditionRole::ALL.map(ConditionRole::name).join(", ");
                Err(Failure::bad_input(format!("unknown role {role:?}: expected one of {known}")))
            }
            role => Ok((name.to_owned(), role)),
        }
    };
    Ok(AnalysisOptions {
        baseline: args.baseline.clone(),
        primary: match &args.primary {
            Some(name) => PrimaryOption::Named(name.clone()),
            None if args.no_primary => PrimaryOption::Disabled,
            None => PrimaryOption::ByRole,
        },
        roles: args.roles.iter().map(role).collect::<Result<_, _>>()?,
        outcome: args.outcome.map(OutcomeOption::rule),
    })
}

/// `COLUMN=VALUE`; the value may contain `=`.
fn filter(text: &str) -> Result<(String, String), Failure> {
    let split = text.split_once('=').filter(|(column, _)| !column.is_empty());
    split
        .map(|(column, value)| (column.to_owned(), value.to_owned()))
        .ok_or_else(|| Failure::bad_input(format!("{text:?} is not COLUMN=VALUE")))
}

/// `LOW..HIGH`.
fn range(text: &str) -> Result<(f64, f64), Failure> {
    let number = |text: &str| text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    let read = |(low, high): (&str, &str)| Some((number(low)?, number(high)?));
    text.split_once("..").and_then(read).filter(|(low, high)| low < high).ok_or_else(|| {
        Failure::bad_input(format!("{text:?} is not LOW..HIGH")).hint("for example `--range 0..10`")
    })
}

fn table_text(imported: &ImportedTable) -> String {
    let trials = assay_report::counted(imported.imported, "trial", "trials");
    let mut text = format!("{}: {trials}\n", imported.run);
    for (heading, counts) in [("condition", &imported.by_condition), ("outcome", &imported.by_outcome)] {
        for line in lines(counts) {
            text.push_str(&format!("  {heading:9}  {line}\n"));
        }
    }
    if !imported.numbers.is_empty() {
        let numbers: Vec<&str> = imported.numbers.iter().map(String::as_str).collect();
        text.push_str(&format!("  numbers    {}\n", numbers.join(", ")));
    }
    for (heading, count) in [("filtered", imported.filtered), ("skipped", imported.skipped.len())] {
        if count > 0 {
            text.push_str(&format!("  {heading:9}  {}\n", assay_report::counted(count, "row", "rows")));
        }
    }
    text
}

/// The run's name where none is given: that of the first folder, with what a name cannot hold replaced.
fn name_of(dirs: &[PathBuf]) -> String {
    let first = dirs.first().and_then(|dir| dir.canonicalize().ok()).unwrap_or_default();
    let name = first.file_name().unwrap_or_default().to_string_lossy();
    format!("harbor-{}", run_name(&name))
}

/// A text with what the name of a run cannot hold replaced.
fn run_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    text.chars().map(plain).take(60).collect()
}

/// `PATTERN=CONDITION`; the pattern may hold `=`.
fn pattern(text: &str) -> Result<(String, String), Failure> {
    match text.rsplit_once('=') {
        Some((pattern, condition)) if !pattern.is_empty() && !condition.is_empty() => {
            Ok((pattern.to_owned(), condition.to_owned()))
        }
        _ => Err(Failure::bad_input(format!("{text:?} is not PATTERN=CONDITION")).hint(
            "for example --condition 'job-7/*=none'; a pattern matches JOB/TRIAL/AGENT or one of the three",
        )),
    }
}

fn summary_text(imported: &Imported) -> String {
    let trials = assay_report::counted(imported.imported, "trial", "trials");
    let mut text = format!("{}: {trials}\n", imported.run);
    for (heading, counts) in [
        ("condition", &imported.by_condition),
        ("outcome", &imported.by_outcome),
        ("unusable", &imported.unusable),
    ] {
        for line in lines(counts) {
            text.push_str(&format!("  {heading:9}  {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_ends_at_the_last_sign() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = pattern(text).ok();
            assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())), "{text}");
        };
        check("job/*=none", Some(("job/*", "none")));
        check("a=b/*=curated", Some(("a=b/*", "curated")));
        for bad in ["", "none", "=none", "job="] {
            check(bad, None);
        }
    }

    #[test]
    fn a_name_comes_of_the_first_folder() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("my jobs (old)");
        std::fs::create_dir(&odd).unwrap();
        assert_eq!(name_of(&[odd]), "harbor-my-jobs--old-");
    }
}
