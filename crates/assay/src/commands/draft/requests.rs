//! `assay draft requests`.

use assay_draft::requests::{
    Pool, RequestFiles, RequestLibrary, RequestModels, RequestOutput, RequestWriter, check_new_experiment,
};
use assay_report::redact;

use super::events::print_events;
use super::print::print_result;
use crate::args::draft::{PoolName, RequestsArgs};
use crate::asking::{WAITING_INTERVAL, progress};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &RequestsArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let files = args.out.as_deref().map(RequestFiles::beside_file);
    if let Some(files) = files.as_ref().filter(|_| !args.dry_run) {
        files.check_absent()?;
        args.experiment.as_deref().map_or(Ok(()), check_new_experiment)?;
    }
    let pool = args.pool.map(|name| match name {
        PoolName::Training => Pool::Training,
        PoolName::Evaluation => Pool::Evaluation,
    });
    let events = print_events(ui);
    let library = RequestLibrary::read_paths(&args.library, &events)?;
    let writer =
        RequestWriter::new(&library, pool, args.seed, args.count.unwrap_or_default(), args.negatives)?;
    let drafted = match &args.model {
        None => None,
        Some(model) => {
            let models = open_models(args, model, settings, ui)?;
            warn_of_family(&models, ui);
            if args.dry_run {
                let forecast = writer.forecast_calls(&models);
                print_result(ui, &forecast, || forecast.to_text())?;
                return Ok(Status::Done);
            }
            models.check_cap()?;
            match writer.draft_requests(&models, &events) {
                Err(_) if models.is_cancelled() => {
                    ui.note("interrupted: run the command again, which uses the replies so far");
                    return Ok(Status::Interrupted);
                }
                drafted => Some(drafted?),
            }
        }
    };
    let Some(files) = files.filter(|_| !args.dry_run) else { return Ok(Status::Done) };
    let (labels, experiment) = (args.labels.as_deref(), args.experiment.as_deref());
    let output = RequestOutput { files: &files, labels, traces: &args.from_traces, experiment };
    let secrets = machine::secrets();
    let report = writer.write_files(drafted.as_ref(), &output, &|text| redact(text, &secrets), &events)?;
    print_result(ui, &report, || report.to_text())?;
    if let Some(sheet) = report.sheet_path() {
        ui.note(&format!("next: `assay judge sheet {}`", sheet.display()));
    }
    Ok(match report {
        report if report.has_unread_sessions() => Status::BadInput,
        report if report.is_short() => Status::DidNotHold,
        _ => Status::Done,
    })
}

/// Opens the models. No call is sent yet.
fn open_models(
    args: &RequestsArgs,
    model: &str,
    settings: &Settings,
    ui: &Ui,
) -> Result<RequestModels, Failure> {
    let cap = args.flags.cost_cap("this command")?;
    let writer = args.flags.access.open_model("--model", model)?;
    let names = if args.reviewer.is_empty() { vec![model.to_owned()] } else { args.reviewer.clone() };
    let open = |spec: &String| args.flags.access.open_model("--reviewer", spec);
    let reviewers = names.iter().map(open).collect::<Result<_, _>>()?;
    let folder = settings.store.join("requests");
    let models = RequestModels::new(writer, reviewers, folder, cap, machine::interrupted()?);
    let concurrency = usize::try_from(args.concurrency).unwrap_or(usize::MAX);
    Ok(models.with_concurrency(concurrency).report_to(progress(ui), WAITING_INTERVAL))
}

/// A model reviews its own family's requests more favourably.
fn warn_of_family(models: &RequestModels, ui: &Ui) {
    if let Some(reviewer) = models.related_reviewer() {
        ui.note(&format!(
            "warning: the reviewer {reviewer} is of the family of {}, which wrote the requests (--reviewer)",
            models.writer_name()
        ));
    }
}
