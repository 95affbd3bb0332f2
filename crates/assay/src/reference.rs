//! The command reference, from the same definitions the command line is parsed by.

use clap::{Command, CommandFactory};

use crate::args::Args;

/// docs/COMMANDS.md.
pub(crate) fn reference() -> String {
    let mut text = "# Commands\n\nWritten from the definitions of the command line: `ASSAY_BLESS=1 cargo test -p assay reference` writes it \
                    anew.\n"
        .to_owned();
    let mut command = Args::command().term_width(100);
    command.build();
    add(&mut text, &command, "assay");
    text
}

fn add(text: &mut String, command: &Command, path: &str) {
    let help = command.clone().color(clap::ColorChoice::Never).render_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    text.push_str(&format!("\n## {path}\n\n```text\n{}\n```\n", help.join("\n").trim()));
    for inner in command.get_subcommands() {
        add(text, inner, &format!("{path} {}", inner.get_name()));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_reference_in_docs_is_the_command_lines() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/COMMANDS.md");
        let expected = super::reference();
        if std::env::var_os("ASSAY_BLESS").is_some() {
            std::fs::write(&path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, expected, "docs/COMMANDS.md is stale: ASSAY_BLESS=1 cargo test -p assay reference");
    }
}
