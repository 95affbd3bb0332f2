//! `assay audit sheet`.

use std::path::Path;

use assay_audit::calibrated::{audit, claims};
use assay_audit::sheet;
use serde_json::json;

use super::notices::Notices;
use super::source::Source;
use crate::args::audit::{SampleArgs, SheetArgs};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &SheetArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let mut findings = Vec::new();
    for path in &args.sources {
        let source = Source::open(path, settings, &mut notices)?;
        source.visit(&mut notices, |task, library| {
            let found = claims(task, &audit(task, library));
            // The sources have a like share in the sheet.
            findings.extend(found.into_iter().map(|finding| sheet::Finding {
                stratum: format!("{} {}", source.name, finding.stratum),
                ..finding
            }));
        })?;
    }
    print_sheet(findings, &args.sample, &notices, ui)
}

/// Draws a sample of findings, and prints it for labelling.
pub fn print_sheet(
    findings: Vec<sheet::Finding>,
    args: &SampleArgs,
    notices: &Notices<'_>,
    ui: &Ui,
) -> Result<Status, Failure> {
    let items = sheet::draw_items(findings, args.size, args.seed);
    if let Some(path) = &args.key {
        let line = |item: &sheet::Item| {
            json!({"schema": "assay.audit-key/1", "kind": "key", "item": item.item, "from": item.finding.key})
                .to_string()
                + "\n"
        };
        write(path, &items.iter().map(line).collect::<String>())?;
    }
    ui.raw(&if ui.json() { sheet::to_json_lines(&items) } else { sheet::to_csv(&items) })?;
    Ok(notices.status(args.strict))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    assay_fs::replace_file(path, text.as_bytes()).map_err(|error| Failure::Infrastructure {
        message: format!("cannot write {}", path.display()),
        hint: None,
        source: Some(error.into()),
    })
}
