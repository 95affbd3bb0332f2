//! `assay gate`: do changed skills meet a policy?

mod host;
mod output;

use std::path::Path;

use assay_gate::{Gate, GateRequest, GateVerdict, Policy, Scope, ScoreGroups, SelfCheck};

use self::host::CommandHost;
use crate::args::gate::GateArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &GateArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let ran = gate(args, settings, ui);
    if let Err(failure) = &ran {
        // The error itself is what counts.
        output::write_failure(failure, args).unwrap_or_else(|other| {
            ui.fail(&other);
        });
    }
    ran
}

fn gate(args: &GateArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if args.max_usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
        return Err(Failure::bad_input("`--max-usd` must be an amount of at least 0"));
    }
    if args.self_check {
        return check_gate(args, settings, ui);
    }
    // A mistake is reported where it is, whatever the target has.
    if is_regular(&args.policy) {
        Policy::load(&args.policy)?;
    }
    let request = request(args);
    let scope = Scope::find(&request, &settings.store)?;
    let settings = match scope.settings_folder() {
        Some(folder) => settings.of_folder(folder)?,
        None => settings.clone(),
    };
    let host = CommandHost::new(&settings, args.jobs, ui);
    let gate = Gate { request: &request, scope: &scope, store: &settings.store, host: &host, events: &host };
    if let Some(skill) = args.explain.as_deref().filter(|_| scope.has_policy()) {
        return explain(&gate, skill, ui);
    }
    let document = gate.decide()?;
    if ui.json() {
        ui.document(&document)?;
    } else {
        ui.out(&document.to_text())?;
    }
    output::write_decision(&document, args)?;
    Ok(match document.exit_verdict() {
        GateVerdict::Nothing | GateVerdict::Pass => Status::Done,
        GateVerdict::Undecided => Status::Undecided,
        GateVerdict::Blocked => Status::Infrastructure,
        GateVerdict::Fail => Status::DidNotHold,
    })
}

fn request(args: &GateArgs) -> GateRequest {
    GateRequest {
        policy: args.policy.clone(),
        changed_since: args.changed_since.clone(),
        trust_changes: args.trust_changes.clone(),
        max_usd: args.max_usd,
        no_cap: args.no_cap,
        jobs: args.jobs.map(usize::from),
        permissions: args.permissions.permissions(),
        open_looks: args.open_looks,
        view_url: args.view_url.clone(),
    }
}

/// Prints what a decision rests on.
fn explain(gate: &Gate<'_>, skill: &str, ui: &Ui) -> Result<Status, Failure> {
    if let Some(explanation) = gate.explain(skill)? {
        if ui.json() {
            ui.document(&explanation)?;
        } else {
            ui.out(&explanation.to_text())?;
        }
    }
    Ok(Status::Done)
}

/// Prints how often the gate decides where nothing changed.
fn check_gate(args: &GateArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let policy = Policy::load(&args.policy)?;
    let groups = match &args.table {
        Some(table) => ScoreGroups::of_table(table, args.arms.column(), &args.range)?,
        None => ScoreGroups::of_store(&machine::read_store(&settings.store)?)?,
    };
    let checked = SelfCheck::of(&groups, policy.error_budget)?;
    if ui.json() {
        ui.document(&checked)?;
    } else {
        ui.out(&checked.to_text())?;
    }
    Ok(Status::Done)
}

/// Whether a path is that of a file, and no link is on the way: a pull request can lay one to any file of the machine.
fn is_regular(path: &Path) -> bool {
    let here = std::env::current_dir().and_then(std::fs::canonicalize).unwrap_or_default();
    std::fs::canonicalize(path).is_ok_and(|real| real.is_file() && real == here.join(path))
}
