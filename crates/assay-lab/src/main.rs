//! assay-lab: the laboratory of assay, which `assay lab` executes.

use std::process::ExitCode;

fn main() -> ExitCode {
    assay_lab::main(&std::env::args_os().collect::<Vec<_>>())
}
