//! `assay judge export`: the judged items of a run, or its pairs of results, as tables.

use assay_report::counted;
use assay_store::write_atomically;
use assay_trial::judging::{JudgedRows, judged_rows};
use serde_json::json;

use crate::args::judge::{ExportArgs, ExportKind};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &ExportArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let store = machine::read_store(&settings.store)?;
    let run = store.run(&args.run)?;
    let (kind, next) = match args.kind {
        ExportKind::Items => (JudgedRows::Items, "`assay judge sheet` takes it, for people to label"),
        ExportKind::Pairs => (JudgedRows::Pairs, "`assay judge pairs` reads it"),
    };
    let rows = judged_rows(&store, &run, kind, args.sample.map(|sample| (sample, args.seed)))?;
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    write_atomically(&args.out, text.as_bytes())?;
    if ui.json() {
        ui.document(&json!({
            "schema": "assay.judge-export/1", "run": run.run, "rows": rows.len(), "out": args.out,
        }))?;
    }
    ui.note(&format!("wrote {} to {}; {next}", counted(rows.len(), "row", "rows"), args.out.display()));
    Ok(Status::Done)
}
