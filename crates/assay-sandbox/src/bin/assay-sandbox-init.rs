//! The first process of a sandbox as a separate program, for this crate's tests.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(u8::try_from(assay_sandbox::init_main()).unwrap_or(1))
}
