//! `assay draft run`.

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::Ordering;

use assay_draft::DraftStage;
use assay_draft::author::DraftAuthor;
use assay_draft::draft::{Draft, DraftHelpers, DraftOptions, OpenDraft};
use assay_draft::headroom::FEWEST_TASKS;
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
    ui.note(&describe_next(&draft));
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
        model: relate_script(model, root),
        base_url: own.measured_base_url.clone(),
        api_key_env: own.measured_api_key_env.clone(),
        price: <[f64; 2]>::try_from(&own.measured_price[..]).ok(),
    });
    // The script of a solver is one of agents, and answers no request.
    let solver_model = args.solver.as_deref().filter(|spec| !spec.starts_with(SCRIPTED));
    Ok(DraftHelpers {
        solver: open_helper("--solver", solver_model, &solver, author)?,
        measured: open_helper("--measured", own.measured.as_deref(), &measured, author)?,
        pilot,
    })
}

/// The provider of scripts in place of models.
const SCRIPTED: &str = "scripted:";

/// A model as an experiment in the folder of a draft names it: there a script is relative to that folder, and on the command
/// line to the working directory.
fn relate_script(model: &str, root: &Path) -> String {
    let Some(script) = model.strip_prefix(SCRIPTED) else { return model.to_owned() };
    let absolute = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let (Ok(script_path), Ok(root)) = (absolute(Path::new(script)), absolute(root)) else {
        return model.to_owned();
    };
    let shared =
        script_path.components().zip(root.components()).take_while(|(one, other)| one == other).count();
    let up = root.components().skip(shared).map(|_| Component::ParentDir);
    let down = script_path.components().skip(shared);
    let path: PathBuf = up.chain(down).collect();
    format!("{SCRIPTED}{}", path.display())
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

/// What to do about files that still have the model that they were written with.
fn set_models(draft: &Draft<'_>, files: &[&str]) -> String {
    let unset = draft.files_without_model(files);
    let unset: Vec<String> = unset.iter().map(|path| path.display().to_string()).collect();
    if unset.is_empty() { String::new() } else { format!("set the model in {}, then ", unset.join(" and ")) }
}

/// What to do next.
fn describe_next(draft: &Draft<'_>) -> String {
    let root = draft.folder().root_path().display();
    let run = draft.run_name();
    let tasks = draft.folder().list_tasks().len();
    let experiment = format!("`assay run {root}/experiment.toml`");
    let pilot = format!("`assay run {root}/pilot.toml` and `assay draft headroom {root} --run {run}-pilot`");
    let next = match draft.last_stage() {
        Some(DraftStage::Experiment) if tasks < FEWEST_TASKS => {
            return too_few(draft.folder(), &tasks.to_string());
        }
        Some(DraftStage::Experiment) if draft.is_piloted() => {
            format!("{}{experiment}", set_models(draft, &["experiment.toml"]))
        }
        Some(DraftStage::Experiment) => {
            format!("{}{pilot}, then {experiment}", set_models(draft, &["experiment.toml", "pilot.toml"]))
        }
        Some(DraftStage::Pilot) if tasks > 0 => "--resume writes the experiment".to_owned(),
        Some(DraftStage::Validation | DraftStage::Solvers) if tasks > 0 => {
            format!("{}{pilot}; --resume writes the experiment", set_models(draft, &["pilot.toml"]))
        }
        Some(DraftStage::Validation | DraftStage::Solvers | DraftStage::Pilot) => {
            format!("see {root}/infeasible.json for the reasons")
        }
        Some(DraftStage::Probe) if draft.has_nothing_to_measure() => {
            "read the directives above; --resume --force drafts tasks all the same".to_owned()
        }
        _ => format!("review the files in {root}, then run the command again with --resume"),
    };
    format!("next: {next}")
}
