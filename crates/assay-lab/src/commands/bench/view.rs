//! `assay lab bench view`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::export::write_store;
use super::process::{assay_program, io, peak_memory_of};
use crate::args::bench::ViewBenchArgs;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// Requests for the page of the loaded run.
const REQUESTS: usize = 20;

/// The longest that loading the run may take.
const PATIENCE: Duration = Duration::from_mins(5);

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    records: usize,
    /// Seconds until the first reply for the run's page, which shows the progress of loading.
    first_reply_seconds: f64,
    /// Seconds from the first request until the run's page shows the report.
    loaded_seconds: f64,
    /// Median milliseconds of a request for the run's page once it is loaded, with its transfer.
    overview_milliseconds: f64,
    /// Size of the run's page, in kB.
    page_kb: f64,
    /// Seconds that `assay report` takes on the same store, right after.
    report_seconds: f64,
    /// Peak memory of the server, in MB.
    peak_memory_mb: f64,
}

/// A server, ended with the benchmark.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// The body of a page.
    fn get(&self, path: &str) -> Result<String, Failure> {
        let fail = |error| io("request a page", &error);
        let mut stream = TcpStream::connect(&self.address).map_err(fail)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .map_err(fail)?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).map_err(fail)?;
        Ok(reply)
    }
}

pub(super) fn run(args: &ViewBenchArgs, ui: &Ui) -> Result<Status, Failure> {
    let folder = tempfile::tempdir().map_err(|error| io("create a temporary folder", &error))?;
    let root = folder.path().join("store");
    let plan = write_store(&root, args.records)?;
    let program = assay_program()?;
    let mut child = Command::new(&program)
        .args(["view", "--port", "0", "--quiet", "--store"])
        .arg(&root)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| io("start the server", &error))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(|error| io("read the address", &error))?;
    }
    let address = line.trim().strip_prefix("http://").and_then(|rest| rest.split('/').next());
    let address = address.unwrap_or_default().to_owned();
    let server = Server { child, address };
    let clock = Instant::now();
    let mut page = server.get("/runs/bench/")?;
    let first_reply_seconds = clock.elapsed().as_secs_f64();
    while !page.contains("id=\"report\"") {
        if clock.elapsed() > PATIENCE {
            return Err(Failure::infrastructure("the run was not loaded in time"));
        }
        page = server.get("/runs/bench/")?;
    }
    let loaded_seconds = clock.elapsed().as_secs_f64();
    let mut times = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let clock = Instant::now();
        server.get("/runs/bench/")?;
        times.push(1e3 * clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let peak_memory_mb = peak_memory_of(&server.child.id().to_string()).unwrap_or_default();
    let clock = Instant::now();
    let mut report = Command::new(program);
    report.args(["report", "bench", "--format", "html", "--store"]).arg(&root);
    let status = report.stdout(Stdio::null()).status().map_err(|error| io("start the report", &error))?;
    if !status.success() {
        return Err(Failure::infrastructure(format!("the report failed: {status}")));
    }
    let figures = Figures {
        schema: "assay.bench-view/1",
        records: plan.cells.len(),
        first_reply_seconds,
        loaded_seconds,
        overview_milliseconds: times[REQUESTS / 2],
        page_kb: page.len() as f64 / 1e3,
        report_seconds: clock.elapsed().as_secs_f64(),
        peak_memory_mb,
    };
    if ui.json() {
        ui.document(&figures)?;
    } else {
        ui.out(&format!(
            "{} records: first reply after {first_reply_seconds:.2} s, loaded after {loaded_seconds:.2} s ({:.1} × `assay report`, {:.2} s); \
             then {:.0} ms a request for {:.0} kB; peak memory {peak_memory_mb:.0} MB\n",
            figures.records,
            loaded_seconds / figures.report_seconds,
            figures.report_seconds,
            figures.overview_milliseconds,
            figures.page_kb,
        ))?;
    }
    Ok(Status::Done)
}
