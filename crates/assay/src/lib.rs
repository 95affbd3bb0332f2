//! The command line: arguments to library calls, findings to standard output, failures to exit codes.

mod args;
mod commands;
mod config;
mod failure;
mod input;
mod machine;
mod prices;
mod progress;
mod record_keys;
#[cfg(test)]
mod reference;
mod replies;
mod request_budget;
mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::{Command, Format};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Runs the command line. The first process of every sandbox is this program too, under another first argument.
pub fn main(arguments: &[OsString]) -> ExitCode {
    // What the caller left open would go from process to process, to the commands in a sandbox in the end.
    close_fds::set_fds_cloexec(3, &[]);
    if arguments.get(1).is_some_and(|argument| argument == machine::INIT) {
        return ExitCode::from(u8::try_from(assay_sandbox::init_main()).unwrap_or(1));
    }
    if arguments.get(1).is_some_and(|argument| argument == machine::FORWARD) {
        return ExitCode::from(u8::try_from(assay_sandbox::forward_main(&arguments[2..])).unwrap_or(1));
    }
    if arguments.get(1).is_some_and(|argument| argument == machine::DOUBLE) {
        return ExitCode::from(u8::try_from(assay_trial::double_main(&arguments[2..])).unwrap_or(1));
    }
    if let Some((old, new)) = args::moved::find(arguments) {
        let failure = Failure::bad_input(format!("`assay {old}` is now `assay {new}`"));
        return Ui::plain().fail(&failure).into();
    }
    let args = match args::parse(arguments) {
        Ok(args) => args,
        Err(error) => {
            // Help and version go to standard output and are no failure.
            let status = if error.use_stderr() { Status::BadInput } else { Status::Done };
            let _ = error.print();
            return status.into();
        }
    };
    let settings = match config::resolve_settings(&args) {
        Ok(settings) => settings,
        Err(failure) => return Ui::plain().fail(&failure).into(),
    };
    let ui = Ui::new(&settings);
    if matches!(args.format, Format::Markdown | Format::Html) && !args.command.makes_pages() {
        let message = format!("only reports have the format {}", args.format.name());
        return ui.fail(&Failure::bad_input(message).hint("use `assay report RUN`")).into();
    }
    if matches!(args.format, Format::Sarif | Format::Junit | Format::Github)
        && !matches!(args.command, Command::Lint(_))
    {
        let message = format!("only `lint` has the format {}", args.format.name());
        return ui.fail(&Failure::bad_input(message)).into();
    }
    // A store that cannot be read is reported by the command that needs it.
    if assay_store::Store::close_to_others(&settings.store).unwrap_or(false) {
        ui.note(&format!(
            "other users could read the store {}; from now on only you can (with `\"shared\": true` in its store.json \
             its group keeps its rights)",
            settings.store.display()
        ));
    }
    let result = match args.command {
        Command::Lint(args) => commands::lint::run(&args, &settings, &ui),
        Command::Search(args) => commands::search::run(&args, &ui),
        Command::Route(args) => commands::route::run(&args, &settings, &ui),
        Command::Init(args) => commands::init::run(args, &ui),
        Command::Draft(args) => commands::draft::run(&args, &settings, &ui),
        Command::Task(args) => commands::task::run(&args, &settings, &ui),
        Command::Plan(args) => commands::plan::run(&args, &settings, &ui),
        Command::Run(args) => commands::run::run(&args, &settings, &ui),
        Command::Worker(args) => commands::worker::run(&args, &settings, &ui),
        Command::Show(args) => commands::show::run(&args, &settings, &ui),
        Command::Gate(args) => commands::gate::run(&args, &settings, &ui),
        Command::Judge(args) => commands::judge::run(&args, &settings, &ui),
        Command::View(args) => commands::view::run(&args, &settings, &ui),
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
        Command::Lab(args) => commands::lab::run(&args, &settings, &ui),
        Command::Trial(args) => commands::trial::run(&args, &settings, &ui),
    };
    match result {
        Ok(status) => status.into(),
        Err(Failure::BrokenPipe) => Status::Done.into(),
        Err(failure) => ui.fail(&failure).into(),
    }
}
