//! assay: the instrument that measures agent skills.

use std::process::ExitCode;

fn main() -> ExitCode {
    assay_cli::main(&std::env::args_os().collect::<Vec<_>>())
}
