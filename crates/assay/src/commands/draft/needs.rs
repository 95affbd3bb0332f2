//! `assay draft needs`.

use std::path::Path;

use assay_draft::needs::{self, Assessment, Needs, Unmet, Verdict};
use assay_report::{clean, counted};
use assay_skill::corpus::Record;
use assay_skill::corpus::input::Input;
use assay_skill::{Document, Severity};
use serde::Serialize;

use crate::args::draft::NeedsArgs;
use crate::commands::bad_lines::BadLines;
use crate::failure::{Failure, Status};
use crate::machine::{self, Programs};
use crate::ui::Ui;

/// A line of the output.
#[derive(Serialize)]
pub(super) struct Line {
    schema: &'static str,
    skill: String,
    path: String,
    needs: Needs,
    unmet: Vec<Unmet>,
    verdict: Verdict,
}

impl Line {
    pub(super) fn new(skill: String, path: String, needs: Needs, programs: &Programs) -> Self {
        let Assessment { unmet, verdict } = needs::assess(&needs, &|name| programs.has(name));
        Self { schema: "assay.needs/1", skill, path, needs, unmet, verdict }
    }
}

pub(super) fn run(args: &NeedsArgs, ui: &Ui) -> Result<Status, Failure> {
    let programs = machine::programs();
    let mut status = Status::Done;
    for path in &args.paths {
        let complete = if path.is_dir() {
            of_folder(path, &programs, ui)?
        } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md")) {
            of_document(path, &programs, ui)?;
            true
        } else {
            of_corpus(path, &programs, ui)?
        };
        if !complete {
            status = Status::BadInput;
        }
    }
    Ok(status)
}

/// The skills below a folder. Returns whether all could be read.
fn of_folder(root: &Path, programs: &Programs, ui: &Ui) -> Result<bool, Failure> {
    let (folders, diagnostics) = assay_skill::find(&[root.to_path_buf()]);
    let mut complete = true;
    for told in diagnostics.iter().filter(|told| told.severity == Severity::Error) {
        ui.note(&told.to_string());
        complete = false;
    }
    if folders.is_empty() {
        return Err(Failure::bad_input(format!("no skill in {}", root.display()))
            .hint("pass a folder that contains a SKILL.md, or a corpus"));
    }
    for folder in folders {
        complete &= of_package(&folder, programs, ui)?;
    }
    Ok(complete)
}

/// A package with its scripts. Returns whether it could be read.
fn of_package(folder: &Path, programs: &Programs, ui: &Ui) -> Result<bool, Failure> {
    let loaded = needs::load(folder);
    let Some(skill) = loaded.skill else {
        for told in loaded.diagnostics.iter().filter(|told| told.severity == Severity::Error) {
            ui.note(&told.to_string());
        }
        return Ok(false);
    };
    let found = needs::find(&skill.document, &skill.scripts);
    let path = folder.join("SKILL.md").display().to_string();
    print(&Line::new(skill.name, path, found, programs), ui)?;
    Ok(true)
}

/// A document. A `SKILL.md` is read with the scripts beside it.
fn of_document(path: &Path, programs: &Programs, ui: &Ui) -> Result<(), Failure> {
    if path.file_name().is_some_and(|name| name == "SKILL.md") {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if of_package(folder, programs, ui)? {
            return Ok(());
        }
    }
    let bytes = assay_fs::read_file(path, assay_fs::DOCUMENT_CAP)
        .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
    let (document, _) = Document::parse(&bytes, path);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = document.name.clone().unwrap_or(stem);
    let found = needs::find(&document, &[]);
    print(&Line::new(name, path.display().to_string(), found, programs), ui)
}

/// The records of a corpus. Returns whether it has any.
fn of_corpus(path: &Path, programs: &Programs, ui: &Ui) -> Result<bool, Failure> {
    let mut input = Input::open(path)?;
    let mut bad_lines = BadLines::new(ui, path);
    let mut records = 0;
    let work = |record: Record| {
        let found = needs::find_in_text(&record.skill_md);
        (record.key(), record.path, found)
    };
    while let Some(batch) = input.batch(work)? {
        for line in batch {
            match line {
                Ok((id, path, found)) => {
                    records += 1;
                    print(&Line::new(id, path, found, programs), ui)?;
                }
                Err(bad) => bad_lines.note(&bad),
            }
        }
    }
    bad_lines.summarize();
    if records == 0 {
        ui.note(&format!("{}: no records", path.display()));
    }
    Ok(records > 0)
}

fn print(line: &Line, ui: &Ui) -> Result<(), Failure> {
    if ui.json() {
        let text = serde_json::to_string(line)
            .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
        return ui.raw(&(text + "\n"));
    }
    ui.out(&render(line))
}

fn render(line: &Line) -> String {
    let categories: Vec<_> = line.needs.categories().collect();
    let mut text = format!(
        "{} ({}): {}, {}\n",
        clean(&line.skill),
        clean(&line.path),
        line.verdict.name(),
        counted(categories.len(), "category", "categories"),
    );
    for category in categories {
        for need in line.needs.of(category) {
            let place = match &need.file {
                Some(file) => format!("{}:{}", clean(file), need.line),
                None => need.line.to_string(),
            };
            text.push_str(&format!(
                "  {:<14}  {place:>6}  {:<12}  {}\n",
                category.name(),
                need.by.name(),
                clean(&need.text)
            ));
        }
    }
    if !line.unmet.is_empty() {
        text.push_str("  unmet here:\n");
    }
    for unmet in &line.unmet {
        let name = unmet.name.as_ref().map_or(String::new(), |name| format!(" {}", clean(name)));
        let remedy = match (unmet.double, unmet.rules_out) {
            (Some(double), _) => format!("a test double can replace it ({})", double.name()),
            (None, true) => "nothing replaces it".to_owned(),
            (None, false) => "install it into the task's environment".to_owned(),
        };
        text.push_str(&format!("    {}{name}: {remedy}\n", unmet.category.name()));
    }
    text.push('\n');
    text
}
