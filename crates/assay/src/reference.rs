//! The command reference, from the same definitions the command line is parsed by.

use clap::Command;

/// docs/COMMANDS.md.
pub(crate) fn reference() -> String {
    let mut text = "# Commands\n\nWritten from the definitions of the command line: `ASSAY_BLESS=1 cargo test -p assay reference` writes it \
                    anew.\n"
        .to_owned();
    let mut command = crate::args::command().term_width(100);
    command.build();
    add(&mut text, &command, "assay");
    text
}

fn add(text: &mut String, command: &Command, path: &str) {
    let help = command.clone().color(clap::ColorChoice::Never).render_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    text.push_str(&format!("\n## {path}\n\n```text\n{}\n```\n", help.join("\n").trim()));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        add(text, inner, &format!("{path} {}", inner.get_name()));
    }
}

#[cfg(test)]
#[path = "../tests/it/docs/blocks.rs"]
mod blocks;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::error::ErrorKind;

    /// Words of a command, as a shell without special characters would split them.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                // Of alternatives the first counts, and what may be left out is not.
                '[' | ']' if !quoted => {}
                c => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words.iter().map(|word| word.split('|').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_command_in_the_documents_parses() {
        let lines = super::blocks::commands(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        let mut parsed = 0;
        for line in lines {
            let command = line.text.split(" && ").next().unwrap().split(" > ").next().unwrap();
            let words = words(command);
            let is_variable = |word: &&str| {
                word.split_once('=')
                    .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
            };
            let mut own: Vec<&str> = words.iter().map(String::as_str).skip_while(is_variable).collect();
            if !matches!(own.first(), Some(&("assay" | "target/release/assay"))) {
                continue;
            }
            own[0] = "assay";
            let is_cut = own.contains(&"…");
            own.retain(|word| *word != "…");
            parsed += 1;
            if let Err(error) = crate::args::command().try_get_matches_from(&own) {
                let is_missing =
                    matches!(error.kind(), ErrorKind::MissingRequiredArgument | ErrorKind::InvalidValue);
                assert!(is_cut && is_missing, "{}: {}\n{error}", line.document, line.text);
            }
        }
        assert!(parsed > 30, "{parsed}");
    }

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
