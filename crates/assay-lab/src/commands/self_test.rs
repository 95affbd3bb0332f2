//! `assay lab self-test`: error rates of the safety rules on planted attacks and look-alikes.

use crate::args::self_test::SelfTestArgs;
use crate::self_test;
use assay_cli::args::Format;
use assay_cli::commands::lint::check_path;
use assay_cli::config::Settings;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

pub(super) fn run(args: &SelfTestArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    for path in &args.paths {
        check_path(path)?;
    }
    let hosts = if args.paths.is_empty() { self_test::hosts() } else { self_test::hosts_at(&args.paths) };
    if hosts.is_empty() {
        return Err(Failure::bad_input("no skill found to plant attacks in")
            .hint("name folders of skills, or none to use assay's own"));
    }
    let options = self_test::Options { seed: args.seed, repetitions: usize::from(args.repetitions) };
    let report = self_test::run(&hosts, options);
    match settings.format {
        Format::Json => ui.document(&report)?,
        _ => ui.out(&self_test::table(&report))?,
    }
    Ok(Status::Done)
}
