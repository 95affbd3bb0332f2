//! `assay import`: trials that were executed elsewhere, as a run.

mod rubric;

use std::path::Path;

use assay_store::import_run;
use assay_trial::import::results::{import_results, read_results};
use assay_trial::import::{
    AnalysisOptions, BenchmarkLayout, ImportOptions, ImportedTable, PrimaryOption, TableColumns,
    TableOptions, benchmark, harbor, name_of_file, name_of_folders, name_of_table, parse_filter,
    parse_pattern, parse_range, parse_role, table,
};
use serde_json::json;

use super::appraise::parse_columns;
use crate::args::import::{
    AnalysisArgs, ImportArgs, ImportHarborArgs, ImportResultsArgs, ImportRunArgs, ImportTableArgs,
    ImportWhat, OutcomeOption, ResultFile,
};
use crate::config::Settings;
use crate::failure::{Failure, Status};
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
        ImportWhat::Results(args) => from_results(args, settings, ui),
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
        name: args.name.clone().unwrap_or_else(|| name_of_folders(&args.dirs)),
        conditions: args.condition.iter().map(|text| parse_pattern(text)).collect::<Result<_, _>>()?,
        analysis: analysis(&args.analysis)?,
    };
    let store = machine::read_store(&settings.store)?;
    let imported = harbor(&store, &args.dirs, &options)?;
    if ui.json() {
        ui.document(&imported)?;
    } else {
        ui.out(&imported.render_text())?;
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
        name: args.name.clone().unwrap_or_else(|| name_of_table(&args.file)),
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
        filters: args.filters.iter().map(|text| parse_filter(text)).collect::<Result<_, _>>()?,
        ignored: args.ignore.clone(),
        analysis: analysis(&args.analysis)?,
        range: parse_range(&args.range)?,
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
    let name = args.name.clone().unwrap_or_else(|| name_of_file(&args.file));
    let store = machine::read_store(&settings.store)?;
    let imported = benchmark(&store, &args.file, layout, &name, &analysis(&args.analysis)?)?;
    print_table(&imported, &args.file, ui)
}

fn from_results(args: &ImportResultsArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let file = &args.file;
    let name = args.name.clone().unwrap_or_else(|| name_of_file(file));
    let results = read_results(file, &parse_columns(&args.columns)?)?;
    let store = machine::read_store(&settings.store)?;
    print_table(&import_results(&store, &results, &name, &analysis(&args.analysis)?)?, file, ui)
}

fn print_table(imported: &ImportedTable, file: &Path, ui: &Ui) -> Result<Status, Failure> {
    if ui.json() {
        ui.document(imported)?;
    } else {
        ui.out(&imported.render_text())?;
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

/// What the options say of conditions and the outcome.
fn analysis(args: &AnalysisArgs) -> Result<AnalysisOptions, Failure> {
    Ok(AnalysisOptions {
        baseline: args.baseline.clone(),
        primary: match &args.primary {
            Some(name) => PrimaryOption::Named(name.clone()),
            None if args.no_primary => PrimaryOption::Disabled,
            None => PrimaryOption::ByRole,
        },
        roles: args.roles.iter().map(|text| parse_role(text)).collect::<Result<_, _>>()?,
        outcome: args.outcome.map(OutcomeOption::rule),
    })
}
