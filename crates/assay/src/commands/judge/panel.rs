//! The judges of a batch, as `assay judge items` and `assay judge pairs` name them.

use assay_ask::ModelHandle;
use assay_judge::{BatchForecast, BatchKind, JudgePanel};

use crate::args::judge::PanelArgs;
use crate::asking::{WAITING_INTERVAL, progress};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Opens the models. No request is sent yet.
pub(super) fn open_panel(
    specs: &[String],
    args: &PanelArgs,
    settings: &Settings,
    ui: &Ui,
) -> Result<JudgePanel, Failure> {
    let cap = args.flags.cost_cap("this batch")?;
    let mut judges: Vec<ModelHandle> = Vec::new();
    for spec in specs {
        if judges.iter().any(|judge| judge.name() == spec) {
            return Err(Failure::bad_input(format!("--judge {spec} is given twice"))
                .hint("--repeats asks one judge several times"));
        }
        judges.push(args.flags.access.open_model("--judge", spec)?);
    }
    let replies = settings.store.join("judgements");
    Ok(JudgePanel::new(judges, cap, &replies, args.repeats, args.concurrency)
        .report_to(progress(ui), WAITING_INTERVAL))
}

/// Prints what a batch needs.
pub(super) fn print_forecast(
    forecast: &BatchForecast,
    kind: BatchKind,
    count: usize,
    ui: &Ui,
) -> Result<Status, Failure> {
    if ui.json() {
        ui.document(&forecast.to_json(kind, count))?;
    } else {
        ui.out(&forecast.to_text(kind, count))?;
    }
    Ok(Status::Done)
}
