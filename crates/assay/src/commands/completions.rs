//! `assay completions`: shell completions and man pages, from the definitions of the command line.

use std::path::Path;

use clap_complete::Shell;
use clap_mangen::Man;

use crate::args;
use crate::args::completions::{CompletionsArgs, Target};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

pub(crate) fn run(args: &CompletionsArgs, ui: &Ui) -> Result<Status, Failure> {
    write(args, args::command(), ui)
}

/// Writes the completions or man pages of a command line.
pub fn write(args: &CompletionsArgs, mut command: clap::Command, ui: &Ui) -> Result<Status, Failure> {
    let shell = match args.target {
        Target::Bash => Shell::Bash,
        Target::Elvish => Shell::Elvish,
        Target::Fish => Shell::Fish,
        Target::PowerShell => Shell::PowerShell,
        Target::Zsh => Shell::Zsh,
        Target::Man => {
            let folder = args.out.as_deref().unwrap_or(Path::new("."));
            let pages = write_pages(command, folder)
                .map_err(|error| Failure::bad_input(format!("cannot write {}: {error}", folder.display())))?;
            ui.note(&format!("{pages} man pages written to {}", folder.display()));
            return Ok(Status::Done);
        }
    };
    if args.out.is_some() {
        return Err(Failure::bad_input("--out is for man pages; completions go to standard output"));
    }
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "assay", &mut text);
    ui.raw(&String::from_utf8_lossy(&text))?;
    Ok(Status::Done)
}

/// Writes a page for every command that is not hidden, and returns their number.
fn write_pages(mut command: clap::Command, folder: &Path) -> std::io::Result<usize> {
    std::fs::create_dir_all(folder)?;
    command.build();
    write_page(&command, "assay", folder)
}

fn write_page(command: &clap::Command, name: &str, folder: &Path) -> std::io::Result<usize> {
    let mut text = Vec::new();
    let titled = command.clone().display_name(name.to_owned()).disable_help_subcommand(true);
    Man::new(titled).title(name.to_owned()).render(&mut text)?;
    std::fs::write(folder.join(format!("{name}.1")), text)?;
    let mut pages = 1;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        pages += write_page(inner, &format!("{name}-{}", inner.get_name()), folder)?;
    }
    Ok(pages)
}
