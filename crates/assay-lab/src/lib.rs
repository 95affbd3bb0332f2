//! The laboratory of assay: experiments on assay itself and on published methods.
//!
//! `assay lab ARGS` executes `assay-lab ARGS`. The product knows this program by its name only; this program is built on
//! the library of the product, whose settings, output and errors it shares.

mod args;
pub mod audit;
pub mod campaign;
mod commands;
pub mod cta;
mod failure;
pub mod needs_labels;
pub mod ranks;
#[cfg(test)]
mod reference;
pub mod retrieval;
pub mod routing;
mod safety_sets;
mod self_test;
pub mod simulate;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::Task;

/// Runs the laboratory: `arguments` are the name of the program and what follows `assay lab`.
pub fn main(arguments: &[OsString]) -> ExitCode {
    if let Some(status) = assay_cli::start(arguments) {
        return status;
    }
    let (global, task) = match args::parse(arguments.get(1..).unwrap_or_default()) {
        Ok(parsed) => parsed,
        Err(error) => return assay_cli::print_usage(&error),
    };
    let (settings, ui) = match assay_cli::prepare(&global, assay_cli::Accepts::default()) {
        Ok(prepared) => prepared,
        Err(status) => return status,
    };
    let result = match task {
        Task::Lab(args) => commands::run(&args, &settings, &ui),
        Task::Completions(args) => assay_cli::commands::completions::write(&args, args::command(), &ui),
    };
    assay_cli::finish(result, &ui)
}
