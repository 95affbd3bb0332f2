//! `assay lab bench corpus`.

use std::path::Path;
use std::time::Instant;

use assay_corpus::funnel::{self, Order, Rules, StageCount};
use assay_corpus::synthetic::Synthetic;
use assay_skill::corpus::input::Input;
use serde::Serialize;

use super::process::peak_memory;
use crate::args::bench::CorpusBenchArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    records: usize,
    seconds: f64,
    records_per_second: f64,
    /// Peak memory of this process, in MB.
    peak_memory_mb: f64,
    stages: Vec<StageCount>,
    kept: usize,
}

pub(super) fn run(args: &CorpusBenchArgs, ui: &Ui) -> Result<Status, Failure> {
    let clock = Instant::now();
    let mut input = Input::of(Path::new("synthetic"), Box::new(Synthetic::new(args.records)))
        .map_err(|error| Failure::infrastructure(format!("cannot generate the corpus: {error}")))?;
    let outcome = funnel::run(&mut input, &Rules::default(), Order::Paper, &mut |_| {})?;
    let seconds = clock.elapsed().as_secs_f64();
    let figures = Figures {
        schema: "assay.bench-corpus/1",
        records: outcome.records,
        seconds,
        records_per_second: outcome.records as f64 / seconds,
        peak_memory_mb: peak_memory(),
        kept: outcome.kept(),
        stages: outcome.stages,
    };
    if ui.json() {
        ui.document(&figures)?;
    } else {
        ui.out(&format!(
            "{} records in {seconds:.1} s, {:.0} records/s; peak memory {:.0} MB;  {} kept\n",
            figures.records, figures.records_per_second, figures.peak_memory_mb, figures.kept
        ))?;
    }
    Ok(Status::Done)
}
