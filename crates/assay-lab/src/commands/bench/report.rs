//! `assay lab bench report`.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Serialize;

use super::export::write_store;
use super::process::{assay_program, io};
use crate::args::bench::ReportBenchArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// Reports on what the kernel has in memory.
const WARM: usize = 5;

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    records: usize,
    /// Seconds of the first report, nothing of the store being in memory; unset without root.
    #[serde(skip_serializing_if = "Option::is_none")]
    cold_seconds: Option<f64>,
    /// Median seconds of the next ones.
    warm_seconds: f64,
}

pub(super) fn run(args: &ReportBenchArgs, ui: &Ui) -> Result<Status, Failure> {
    let folder = tempfile::tempdir().map_err(|error| io("create a temporary folder", &error))?;
    let root = folder.path().join("store");
    let records = write_store(&root, args.records)?.cells.len();
    let program = assay_program()?;
    let report = || -> Result<f64, Failure> {
        let clock = Instant::now();
        let mut report = Command::new(&program);
        report.args(["report", "bench", "--store"]).arg(&root).stdout(Stdio::null());
        let status = report.status().map_err(|error| io("start the report", &error))?;
        if !status.success() {
            return Err(Failure::infrastructure(format!("the report failed: {status}")));
        }
        Ok(clock.elapsed().as_secs_f64())
    };
    // Linux, Documentation/admin-guide/sysctl/vm.rst: `3` frees the page cache, and what is cached of folders.
    rustix::fs::sync();
    let is_cold = fs::write("/proc/sys/vm/drop_caches", "3").is_ok();
    let first = report()?;
    let mut times = Vec::with_capacity(WARM);
    for _ in 0..WARM {
        times.push(report()?);
    }
    times.sort_by(f64::total_cmp);
    let figures = Figures {
        schema: "assay.bench-report/1",
        records,
        cold_seconds: is_cold.then_some(first),
        warm_seconds: times[WARM / 2],
    };
    if ui.json() {
        ui.document(&figures)?;
        return Ok(Status::Done);
    }
    let cold = match figures.cold_seconds {
        Some(seconds) => format!("{seconds:.2} s with nothing in memory"),
        None => "the first report was not measured: only root can empty the caches".to_owned(),
    };
    ui.out(&format!("report on {records} records: {:.2} s; {cold}\n", figures.warm_seconds))?;
    Ok(Status::Done)
}
