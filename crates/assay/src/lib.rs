//! The command line: arguments to library calls, findings to standard output, failures to exit codes.
//!
//! What is public here is for the program of the laboratory, `assay-lab`, which has the same options, output and errors.

pub mod args;
pub mod asking;
pub mod commands;
pub mod config;
mod environment;
pub mod failure;
pub mod input;
pub mod machine;
mod prices;
mod progress;
mod record_keys;
pub mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::lint::LintArgs;
use crate::args::{Command, Format, GlobalArgs};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Begins a program. Returns an exit code if the program was started as a part of a sandbox, under another first argument:
/// the first process of every sandbox is this program too.
pub fn start(arguments: &[OsString]) -> Option<ExitCode> {
    // What the caller left open would go from process to process, to the commands in a sandbox in the end.
    close_fds::set_fds_cloexec(3, &[]);
    let first = arguments.get(1)?;
    let rest = arguments.get(2..).unwrap_or_default();
    let status = if first == machine::INIT {
        assay_sandbox::init_main()
    } else if first == machine::FORWARD {
        assay_sandbox::forward_main(rest)
    } else if first == machine::DOUBLE {
        assay_trial::double_main(rest)
    } else {
        return None;
    };
    Some(ExitCode::from(u8::try_from(status).unwrap_or(1)))
}

/// Prints why arguments cannot be parsed, or the help or version that they ask for.
pub fn print_usage(error: &clap::Error) -> ExitCode {
    // Help and version go to standard output and are no failure.
    let status = if error.use_stderr() { Status::BadInput } else { Status::Done };
    let _ = error.print();
    status.into()
}

/// What a command accepts beside what all commands do.
#[derive(Debug, Clone, Copy, Default)]
pub struct Accepts<'a> {
    /// Pages as a format.
    pages: bool,
    /// The formats of `lint`, and another file of settings.
    lint: Option<&'a LintArgs>,
}

/// Resolves the settings of a command. Returns an exit code if the command cannot be executed with them.
pub fn prepare(global: &GlobalArgs, accepts: Accepts<'_>) -> Result<(Settings, Ui), ExitCode> {
    let settings = config::resolve_settings(global, accepts.lint)
        .map_err(|failure| ExitCode::from(Ui::plain().fail(&failure)))?;
    let ui = Ui::new(&settings);
    let format = settings.format;
    if matches!(format, Format::Markdown | Format::Html) && !accepts.pages {
        let message = format!("only reports have the format {}", format.name());
        return Err(ui.fail(&Failure::bad_input(message).hint("use `assay report RUN`")).into());
    }
    if matches!(format, Format::Sarif | Format::Junit | Format::Github) && accepts.lint.is_none() {
        let message = format!("only `lint` has the format {}", format.name());
        return Err(ui.fail(&Failure::bad_input(message)).into());
    }
    // A store that cannot be read is reported by the command that needs it.
    if assay_store::Store::close_to_others(&settings.store).unwrap_or(false) {
        ui.note(&format!(
            "other users could read the store {}; from now on only you can (with `\"shared\": true` in its store.json \
             its group keeps its rights)",
            settings.store.display()
        ));
    }
    Ok((settings, ui))
}

/// The exit code of a command's result. A failure is printed.
pub fn finish(result: Result<Status, Failure>, ui: &Ui) -> ExitCode {
    match result {
        Ok(status) => status.into(),
        Err(Failure::BrokenPipe) => Status::Done.into(),
        Err(failure) => ui.fail(&failure).into(),
    }
}

/// Runs the command line.
pub fn main(arguments: &[OsString]) -> ExitCode {
    if let Some(status) = start(arguments) {
        return status;
    }
    if let Some((old, new)) = args::moved::find(arguments) {
        let failure = Failure::bad_input(format!("`assay {old}` is now `assay {new}`"));
        return Ui::plain().fail(&failure).into();
    }
    if let Some(arguments) = commands::lab::find_arguments(arguments) {
        return finish(commands::lab::run(&arguments), &Ui::plain());
    }
    let args = match args::parse(arguments) {
        Ok(args) => args,
        Err(error) => return print_usage(&error),
    };
    let lint = if let Command::Lint(lint) = &args.command { Some(lint) } else { None };
    let accepts = Accepts { pages: args.command.makes_pages(), lint };
    let (settings, ui) = match prepare(&args.global, accepts) {
        Ok(prepared) => prepared,
        Err(status) => return status,
    };
    let result = match args.command {
        Command::Lint(args) => commands::lint::run(&args, &settings, &ui),
        Command::Search(args) => commands::search::run(&args, &ui),
        Command::Route(args) => commands::route::run(&args, &settings, &ui),
        Command::Init(args) => commands::init::run(args, &ui),
        Command::Draft(args) => commands::draft::run(&args, &settings, &ui),
        Command::Task(args) => commands::task::run(&args, &settings, &ui),
        Command::Plan(args) => commands::plan::run(&args, &settings, &ui),
        Command::Run(args) => commands::run::run(&args, &settings, &ui),
        Command::Improve(args) => commands::improve::run(&args, &settings, &ui),
        Command::Worker(args) => commands::worker::run(&args, &settings, &ui),
        Command::Show(args) => commands::show::run(&args, &settings, &ui),
        Command::Gate(args) => commands::gate::run(&args, &settings, &ui),
        Command::Judge(args) => commands::judge::run(&args, &settings, &ui),
        Command::View(args) => commands::view::run(&args, &settings, &ui),
        Command::Appraise(args) => commands::appraise::run(&args, &settings, &ui),
        Command::Report(args) => commands::report::run(&args, &settings, &ui),
        Command::Compare(args) => commands::compare::run(&args, &settings, &ui),
        Command::Audit(args) => commands::audit::run(&args, &settings, &ui),
        Command::Trace(args) => commands::trace::run(&args, &ui),
        Command::Import(args) => commands::import::run(&args, &settings, &ui),
        Command::Export(args) => commands::export::run(&args, &settings, &ui),
        Command::Agent(args) => commands::agent::run(&args, &settings, &ui),
        Command::Gateway(args) => commands::gateway::run(&args, &settings, &ui),
        Command::Doctor(_) => commands::doctor::run(&settings, &ui),
        Command::Gc(args) => commands::gc::run(&args, &settings, &ui),
        Command::Completions(args) => commands::completions::run(&args, &ui),
        Command::Lab(args) => commands::lab::run(&args.arguments),
        Command::Trial(args) => commands::trial::run(&args, &settings, &ui),
    };
    finish(result, &ui)
}
