//! `assay draft run`.

use std::path::Path;
use std::sync::atomic::Ordering;

use assay_draft::author::DraftAuthor;
use assay_draft::draft::{DraftHelpers, DraftOptions, OpenDraft};
use assay_draft::pilot::PilotModel;
use assay_draft::solvers::SolverOptions;
use assay_draft::status::read_status;
use assay_report::redact;

use super::ask::open_author;
use super::events::print_progress;
use super::host::CommandHost;
use super::print::{print_result, too_few};
use crate::args::draft::DraftRunArgs;
use crate::args::model::ModelAccess;
use crate::asking::price_of;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &DraftRunArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let events = print_progress(ui);
    let (programs, secrets) = (machine::programs(), machine::secrets());
    let (has_program, redact) = (|name: &str| programs.has(name), |text: &str| redact(text, &secrets));
    let open = OpenDraft::open(options_of(args), &has_program, &redact, &events)?;
    let cancel = machine::interrupted()?;
    open.check_solver(args.solver.as_deref())?;
    price_of(&args.solver_price)?;
    let author = open_author(&args.flags, open.model_name(), open.replies(), cancel.clone(), ui)?;
    let mut draft = open.begin(author, &events)?;
    draft.add_helpers(open_helpers(args, draft.folder().root_path(), draft.author())?);
    if args.dry_run {
        let forecast = draft.forecast_requests()?;
        print_result(ui, &forecast, || forecast.to_text())?;
        return Ok(Status::Done);
    }
    let permissions = args.permissions.permissions();
    let mut host = CommandHost { settings, permissions, ui, executor: None };
    let result = draft.run_stages(&solver_of(args), &cancel, &mut host, &events);
    draft.save_cost()?;
    let result = result.map_err(Failure::from).and_then(|end| {
        if end.is_complete && !ui.json() {
            let path = draft.folder().path_of("experiment.toml");
            ui.out(&crate::commands::plan::forecast_of(&path, permissions, settings)?)?;
        }
        Ok(end.has_tasks)
    });
    if cancel.load(Ordering::Relaxed) {
        ui.note("interrupted; `--resume` continues the draft");
        return Ok(Status::Interrupted);
    }
    let has_tasks = result?;
    let status = read_status(draft.folder(), Some(draft.author()))?;
    print_result(ui, &status, || status.to_text())?;
    let tasks = || draft.folder().list_tasks().len().to_string();
    ui.note(&draft.describe_next().unwrap_or_else(|| too_few(draft.folder(), &tasks())));
    Ok(if has_tasks { Status::Done } else { Status::DidNotHold })
}

/// The other models of the draft.
fn open_helpers(args: &DraftRunArgs, root: &Path, author: &DraftAuthor) -> Result<DraftHelpers, Failure> {
    let solver = ModelAccess {
        base_url: args.solver_base_url.clone(),
        api_key_env: args.solver_api_key_env.clone(),
        price: args.solver_price.clone(),
        max_usd: None,
    };
    let own = &args.measured;
    let measured = ModelAccess {
        base_url: own.measured_base_url.clone(),
        api_key_env: own.measured_api_key_env.clone(),
        price: own.measured_price.clone(),
        max_usd: None,
    };
    let pilot = own.measured.as_ref().map(|model| PilotModel {
        model: PilotModel::name_in(root, model),
        base_url: own.measured_base_url.clone(),
        api_key_env: own.measured_api_key_env.clone(),
        price: <[f64; 2]>::try_from(&own.measured_price[..]).ok(),
    });
    // The script of a solver is one of agents, and answers no request.
    let solver_model = args.solver.as_deref().filter(|spec| !spec.starts_with("scripted:"));
    Ok(DraftHelpers {
        solver: open_helper("--solver", solver_model, &solver, author)?,
        measured: open_helper("--measured", own.measured.as_deref(), &measured, author)?,
        pilot,
    })
}

/// Opens a model beside the author.
fn open_helper(
    flag: &str,
    spec: Option<&str>,
    access: &ModelAccess,
    author: &DraftAuthor,
) -> Result<Option<DraftAuthor>, Failure> {
    let Some(spec) = spec else { return Ok(None) };
    let model = access.open_model_on_use(flag, spec)?;
    Ok(Some(author.open_helper(model, price_of(&access.price)?)?))
}

fn options_of(args: &DraftRunArgs) -> DraftOptions<'_> {
    DraftOptions {
        skills: &args.skills,
        out: args.out.as_deref(),
        model: args.model.as_deref(),
        tasks: args.tasks.map(usize::from),
        add: args.add.map(usize::from),
        intents: &args.intents,
        inputs: args.inputs.as_deref(),
        counterfactual: args.counterfactual,
        blind_ideas: args.blind_ideas,
        stop_after: args.stop_after.stage(),
        resume: args.resume,
        dry_run: args.dry_run,
        force: args.force,
    }
}

fn solver_of(args: &DraftRunArgs) -> SolverOptions<'_> {
    SolverOptions {
        model: args.solver.as_deref(),
        base_url: args.solver_base_url.as_deref(),
        api_key_env: args.solver_api_key_env.as_deref(),
        price: <[f64; 2]>::try_from(&args.solver_price[..]).ok(),
        max_usd: args.flags.access.max_usd,
        no_cap: args.flags.no_cap,
    }
}
