//! `assay view`: the pages of a store, served or written to a folder.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_report::counted;
use assay_view::{Access, ExportError, ServeError, Serving, Site, Stop, export, new_token, serve_site};

use crate::args::view::ViewArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// Time between two looks at whether the command was interrupted.
const POLL: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &ViewArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if let Some(draft) = &args.draft
        && !draft.join("draft.json").is_file()
        && !draft.is_dir()
    {
        return Err(Failure::bad_input(format!("there is no draft at {}", draft.display()))
            .hint("`assay draft run` makes one"));
    }
    if !settings.store.is_dir() && args.draft.is_none() {
        let message = format!("there is no store at {}", settings.store.display());
        return Err(Failure::bad_input(message)
            .hint("`assay run` and `assay import` create one; --store names another"));
    }
    let store = machine::read_store(&settings.store)?;
    if let Some(run) = &args.run {
        // An unknown name is an error, with similar ones.
        store.run(run)?;
    }
    let listener = ui.clone();
    let mut site = Site::new(store, machine::secrets()).report_to(move |line| listener.note(line));
    if let Some(draft) = &args.draft {
        site = site.with_draft(draft.clone());
    }
    match &args.export {
        Some(folder) => write(site, args.run.as_deref(), folder, ui),
        None => serve(site, args, ui),
    }
}

fn write(site: Site, run: Option<&str>, folder: &Path, ui: &Ui) -> Result<Status, Failure> {
    let exported = export(site, run, folder, |pages| {
        if pages.is_multiple_of(1_000) {
            ui.note(&format!("{} written", counted(pages, "page", "pages")));
        }
    })?;
    let (pages, files) = (counted(exported.pages, "page", "pages"), counted(exported.files, "file", "files"));
    ui.note(&format!("wrote {pages} and {files} to {}; open index.html", folder.display()));
    Ok(Status::Done)
}

fn serve(site: Site, args: &ViewArgs, ui: &Ui) -> Result<Status, Failure> {
    let serving = Serving::bind(SocketAddr::new(args.host, args.port))?;
    let token = new_token()?;
    let path = match (&args.run, &args.draft) {
        (Some(run), _) => format!("runs/{run}/"),
        (None, Some(_)) => "draft/".to_owned(),
        (None, None) => String::new(),
    };
    let address = format!("http://{}/{path}?token={token}", serving.address());
    ui.out(&format!("{address}\n"))?;
    ui.note("press Ctrl-C to end");
    if !args.host.is_loopback() {
        ui.note("warning: other machines that have this address can read all prompts, outputs and files of the store");
    }
    if args.open {
        open_browser(&address, ui);
    }
    let interrupted = machine::interrupted()?;
    let stop = Stop::default();
    let watched = stop.clone();
    std::thread::spawn(move || {
        while !interrupted.load(Ordering::Relaxed) {
            std::thread::sleep(POLL);
        }
        watched.stop();
    });
    serve_site(serving, Arc::new(site), Access::new(token), &stop)?;
    Ok(Status::Done)
}

/// Opens an address with the desktop's program for it.
fn open_browser(address: &str, ui: &Ui) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(program)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        ui.note(&format!("cannot open the browser: {program}: {error}"));
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let message = assay_diagnostic::chain(&error);
        match error {
            ServeError::Listen { .. } => {
                Self::bad_input(message).hint("choose another port; port 0 takes a free one")
            }
            ServeError::Ended(_) => Self::infrastructure(message),
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let message = assay_diagnostic::chain(&error);
        match error {
            ExportError::NotEmpty(_) => Self::bad_input(message).hint("name a new folder"),
            ExportError::Write { .. } => Self::bad_input(message),
            ExportError::Page(_) => Self::infrastructure(message),
        }
    }
}
