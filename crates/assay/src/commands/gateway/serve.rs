//! `assay gateway serve`: the budget and the rate limits of a run, for all its workers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_gateway::{GatewayError, LimiterState, Pace};
use assay_report::counted;
use serde::Serialize;

use crate::args::gateway::ServeArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// What `--format json` prints at the end.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    run: &'a str,
    /// One for each invocation of `assay run` whose workers have asked.
    budgets: Vec<LimiterState>,
}

pub(crate) fn run(args: &ServeArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let interrupted = machine::interrupted()?;
    let until = Instant::now() + Duration::from_secs(args.wait);
    let plan = settings.store.join("runs").join(&args.run).join("plan.json");
    while !plan.is_file() && Instant::now() < until && !interrupted.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(200));
    }
    if !settings.store.join("store.json").is_file() {
        return Err(Failure::bad_input(format!("no store in {}", settings.store.display()))
            .hint("`--store DIR` names the store of the `assay run` whose workers it is for"));
    }
    machine::raise_open_files();
    let store = machine::open_store_unsigned(&settings.store)?;
    let run = store.run(&args.run)?.run;
    let pace =
        Pace { requests_per_minute: args.requests_per_minute, tokens_per_minute: args.tokens_per_minute };
    let served = assay_trial::serve_limits(&store, &run, args.listen, args.host.clone(), pace);
    let gateway = served.map_err(|error| match error {
        GatewayError::Listen { address, source } => {
            Failure::infrastructure(format!("cannot listen on {address}: {source}"))
                .hint("choose another address or port with `--listen`")
        }
        error => Failure::infrastructure(assay_diagnostic::chain(&error)),
    })?;
    ui.note(&format!("serving the workers of {run} at {}; press Ctrl-C to stop", gateway.address()));
    while !interrupted.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let budgets: Vec<LimiterState> = gateway.states().collect();
    if ui.json() {
        ui.document(&Document { schema: "assay.gateway-serve/1", run: &run, budgets })?;
        return Ok(Status::Done);
    }
    for state in &budgets {
        let capped = state.capped.as_ref().map_or(String::new(), |capped| format!("; {}", capped.reason));
        ui.out(&format!(
            "{:.4} USD spent, {} under way{capped}\n",
            state.spent_usd,
            counted(state.under_way, "trial", "trials")
        ))?;
    }
    Ok(Status::Done)
}
