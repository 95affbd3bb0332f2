//! `assay judge sheet`: items for people to label.

use assay_judge::read_sheet_file;
use assay_report::{clean, counted};
use assay_store::AddedSheet;
use serde_json::json;

use crate::args::judge::SheetArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &SheetArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let sheet = read_sheet_file(&args.file, args.name.as_deref())?;
    let name = sheet.name();
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
