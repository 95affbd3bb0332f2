//! `assay judge sheet`: items for people to label.

use std::path::Path;

use assay_report::{clean, counted};
use assay_store::{AddedSheet, Sheet, is_run_name};
use assay_table::read_all_documents;
use serde_json::{Value, json};

use crate::args::judge::SheetArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &SheetArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let name = args.name.clone().unwrap_or_else(|| default_name(&args.file));
    if !is_run_name(&name) {
        let message = format!("{name:?} cannot be the name of a sheet");
        return Err(Failure::bad_input(message)
            .hint("choose another with --name: letters, digits, `-`, `_` and `.`, at most 80"));
    }
    let sheet = read_sheet(&args.file, &name)?;
    let store = machine::read_store(&settings.store)?;
    let added = store.add_sheet(&sheet)?;
    if added == AddedSheet::Differs {
        let message = format!("the store has another sheet {name}, to which marks may refer");
        return Err(Failure::bad_input(message).hint("choose another name with --name"));
    }
    let hidden = sheet.hidden();
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.judge-sheet/1", "sheet": name, "items": sheet.items().len(), "hidden": hidden,
            "added": added == AddedSheet::New, "page": format!("/review/{name}/"),
        }))?;
    } else {
        let columns: Vec<String> = hidden.iter().map(|column| clean(column)).collect();
        let state = if added == AddedSheet::New { "" } else { ", in the store already" };
        ui.out(&format!(
            "{name}: {}{state}\nNot shown to annotators: {}\n",
            counted(sheet.items().len(), "item", "items"),
            columns.join(", ")
        ))?;
        ui.note(&format!("`assay view` shows the items at /review/{name}/"));
    }
    Ok(Status::Done)
}

/// Reads and checks the rows of a file.
fn read_sheet(path: &Path, name: &str) -> Result<Sheet, Failure> {
    let bad = |message: String| {
        Failure::bad_input(message).hint("`assay judge sheet --help` describes the columns")
    };
    let documents =
        read_all_documents(path).map_err(|error| Failure::bad_input(assay_diagnostic::chain(&error)))?;
    let mut rows: Vec<(u64, Value)> = Vec::with_capacity(documents.len());
    for document in documents {
        let line = document.line;
        let row = document.value.map_err(|error| bad(format!("{}: line {line}: {error}", path.display())))?;
        rows.push((line, row));
    }
    Sheet::new(name, rows).map_err(|error| bad(format!("{}: {error}", path.display())))
}

/// The name of a file without its extensions.
fn default_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".zst").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).replace(' ', "-")
}
