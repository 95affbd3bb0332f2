//! `assay route`: the skill that would be chosen for one request.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_ask::{AskError, ModelHandle};
use assay_report::{clean, counted};
use assay_router::{
    Answers, Candidate, CandidateError, RouteDocument, RouteRequest, Routed, RoutedRequest, Template,
    list_candidates, route_by_words, route_request,
};
use assay_skill::Library;

use crate::args::route::{ModelArgs, OrderArgs, RouteArgs};
use crate::asking::{no_answer, progress};
use crate::commands::note_losses;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::input;
use crate::machine;
use crate::ui::Ui;

pub(crate) fn run(args: &RouteArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if args.request.trim().is_empty() {
        return Err(Failure::bad_input("the request is empty")
            .hint("`assay route \"make a pivot table\" --library DIR`"));
    }
    let skills = candidates(&args.library, ui)?;
    let (document, status) = match &args.model {
        None => (route_by_words(&args.request, &skills), Status::Done),
        Some(model) => ask_model(model, args, &skills, settings, ui)?,
    };
    if ui.json() {
        ui.document(&document)?;
    } else {
        ui.out(&document.render_text())?;
    }
    Ok(status)
}

fn ask_model(
    spec: &str,
    args: &RouteArgs,
    skills: &[Candidate],
    settings: &Settings,
    ui: &Ui,
) -> Result<(RouteDocument, Status), Failure> {
    let (template, cap) = (template(&args.orders)?, Arc::new(args.access.model.cost_cap()?));
    let model = open(spec, &args.access)?;
    let cancel = machine::interrupted()?;
    let asked = RouteRequest {
        request: &args.request,
        skills,
        template: &template,
        model: &model,
        cap,
        events: Some(progress(ui)),
        repetitions: args.orders.repetitions,
        seed: args.orders.seed,
        concurrency: usize::from(args.access.jobs),
    };
    let answers = Answers::new(settings.store.join("routes"));
    let detail =
        |routed: &Routed| ui.detail(&format!("order {}: {:?}", routed.repetition + 1, routed.status));
    let RoutedRequest { document, lost, left, malformed } =
        route_request(&asked, &answers, &cancel, &detail).map_err(broken)?;
    if let Some(first) = lost.first() {
        let message = first.message.as_deref().unwrap_or("no reason given");
        ui.note(&format!(
            "{}: {} without an answer: {}",
            model.name(),
            counted(lost.len(), "question", "questions"),
            clean(message)
        ));
    }
    if malformed > 0 {
        ui.note(&format!(
            "{}: {} in another format than the template asks for",
            model.name(),
            counted(malformed, "reply is", "replies are")
        ));
    }
    let status = match (cancel.load(Ordering::Relaxed), lost.len() + left) {
        (true, _) => Status::Interrupted,
        (false, 0) => Status::Done,
        _ => Status::Infrastructure,
    };
    Ok((document, status))
}

/// The skills of some folders, in order of name.
pub fn candidates(folders: &[PathBuf], ui: &Ui) -> Result<Vec<Candidate>, Failure> {
    let library = Library::load(folders);
    note_losses(&library, ui);
    list_candidates(library).map_err(|error| match error {
        CandidateError::Ambiguous(_) => {
            Failure::bad_input(error.to_string()).hint("name folders whose skills have different names")
        }
        CandidateError::TooFew => Failure::bad_input(error.to_string()),
    })
}

/// The prompt of a router: that of a file, or the built-in one.
pub fn template(args: &OrderArgs) -> Result<Template, Failure> {
    let Some(path) = &args.template else { return Ok(Template::default()) };
    Template::new(input::text(path)?)
        .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
}

/// Opens a model. No request is sent.
pub fn open(spec: &str, args: &ModelArgs) -> Result<ModelHandle, Failure> {
    args.model.open_model("--model", spec)
}

/// The failure to read or keep answers, or to reach a model.
pub fn broken(error: impl Into<AskError>) -> Failure {
    match error.into() {
        AskError::Cache(error) => Failure::infrastructure(assay_diagnostic::chain(&error))
            .hint("check that the path is writable and has free space; the answers so far are kept"),
        error => no_answer(error, "model"),
    }
}
