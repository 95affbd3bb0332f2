//! `assay draft directives`.

use assay_draft::author::DraftAuthor;
use assay_draft::directives::DirectivesReader;

use super::ask::open_without_spending;
use super::events::print_events;
use crate::args::draft::DraftDirectivesArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

pub(super) fn run(args: &DraftDirectivesArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let author = open_reader(args, settings, ui)?;
    let events = print_events(ui);
    let mut reader = DirectivesReader {
        author: author.as_ref(),
        print: &mut |line| {
            let printed = if ui.json() { ui.json_line(line) } else { ui.out(&line.to_text()) };
            Ok(printed?)
        },
        events: &events,
    };
    let mut status = Status::Done;
    for path in &args.paths {
        if !reader.read_path(path)? {
            status = Status::BadInput;
        }
    }
    Ok(status)
}

/// The model, if one is named. Its replies are in the store, so that no skill is read twice.
fn open_reader(
    args: &DraftDirectivesArgs,
    settings: &Settings,
    ui: &Ui,
) -> Result<Option<DraftAuthor>, Failure> {
    let Some(spec) = args.model.as_deref() else {
        return if args.flags.is_given() {
            Err(Failure::bad_input("options of a model without --model")
                .hint("--model PROVIDER:MODEL names it"))
        } else {
            Ok(None)
        };
    };
    let replies = settings.store.join("directives");
    let author = open_without_spending(&args.flags, spec, replies, machine::interrupted()?, ui)?;
    author.check_cap()?;
    Ok(Some(author))
}
