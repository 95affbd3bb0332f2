//! `assay judge items`: items of a table judged by language models.

use assay_judge::{BatchKind, ItemColumns, check_absent, check_families, read_items};
use assay_report::counted;

use super::panel::{open_panel, print_forecast};
use crate::args::judge::ItemsArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(super) fn run(args: &ItemsArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let columns = ItemColumns {
        criterion: &args.criterion,
        material: &args.material,
        instruction: args.instruction.as_deref(),
        candidate: args.candidate.as_deref(),
    };
    let table = read_items(&args.table, &columns)?;
    let unknown = check_families(&args.judge, table.candidates())?;
    if unknown > 0 {
        let items = counted(unknown, "item", "items");
        ui.note(&format!(
            "warning: {items} without a candidate's model (--candidate); whether a judge is of its family is unknown"
        ));
    }
    if let Some(out) = args.out.as_ref().filter(|_| !args.panel.dry_run) {
        check_absent(out)?;
    }
    let panel = open_panel(&args.judge, &args.panel, settings, ui)?;
    let forecast = table.forecast_cost(&panel)?;
    if args.panel.dry_run {
        return print_forecast(&forecast, BatchKind::Items, table.count_items(), ui);
    }
    panel.check_cap(&forecast)?;
    let verdicts = table.judge_items(&panel)?;
    if let Some(out) = &args.out {
        verdicts.write_file(out)?;
    }
    if ui.json() {
        ui.document(&verdicts.to_json())?;
    } else {
        ui.out(&verdicts.to_text())?;
    }
    Ok(Status::Done)
}
