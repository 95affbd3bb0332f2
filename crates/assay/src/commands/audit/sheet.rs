use std::path::Path;

use assay_audit::corpus::Corpus;
use assay_audit::{calibrated, sheet};
use serde_json::json;

use super::corpus;
use super::notices::Notices;
use crate::args::audit::SheetArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &SheetArgs, ui: &Ui) -> Result<Status, Failure> {
    print_sheet(args, ui, |found, dir, notices| {
        calibrated::corpus(dir, found, false, |notice| notices.report(&notice)).sheet()
    })
}

/// Draws from the findings of a method, and prints them for labelling.
pub(in crate::commands) fn print_sheet(
    args: &SheetArgs,
    ui: &Ui,
    findings: impl FnOnce(&Corpus, &Path, &mut Notices<'_>) -> Vec<sheet::Finding>,
) -> Result<Status, Failure> {
    let found = corpus::find(&args.dir)?;
    let mut notices = Notices::new(ui);
    found.notices.iter().for_each(|notice| notices.report(notice));
    let findings = findings(&found, &args.dir, &mut notices);
    let items = sheet::draw_items(findings, args.size, args.seed);
    if let Some(path) = &args.key {
        let line = |item: &sheet::Item| {
            json!({"schema": "assay.audit-key/1", "kind": "key", "item": item.item, "from": item.finding.key})
                .to_string()
                + "\n"
        };
        let text: String = items.iter().map(line).collect();
        std::fs::write(path, text).map_err(|error| Failure::Infrastructure {
            message: format!("cannot write {}", path.display()),
            hint: None,
            source: Some(error.into()),
        })?;
    }
    ui.raw(&if ui.json() { sheet::to_json_lines(&items) } else { sheet::to_csv(&items) })?;
    Ok(notices.status(args.strict))
}
