//! The command reference, from the same definitions the command line is parsed by.

use clap::Command;

/// docs/COMMANDS.md.
pub(crate) fn reference() -> String {
    let mut text = "# Commands\n\nGenerated from the definitions of the command line; `ASSAY_BLESS=1 cargo test -p assay-lab reference` updates it.\n\
                    Every command takes the global options, which are listed once.\n"
        .to_owned();
    let mut command = crate::args::command().term_width(100);
    command.build();
    add(&mut text, &command, "assay");
    text
}

fn add(text: &mut String, command: &Command, path: &str) {
    let help = command.clone().color(clap::ColorChoice::Never).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let global = if path == "assay" { "" } else { "\n\nGlobal options: see `assay --help`" };
    text.push_str(&format!("\n## {path}\n\n```text\n{}{global}\n```\n", help.join("\n").trim()));
    for inner in visible(command) {
        // The usage counts the global options, which are hidden below.
        let usage = inner.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").to_owned();
        let inner = inner.clone().override_usage(usage).mut_args(|arg| {
            let is_global = arg.is_global_set() || arg.get_id() == "help";
            arg.hide(is_global)
        });
        add(text, &inner, &format!("{path} {}", inner.get_name()));
    }
}

/// The commands that help lists, without `help`.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

#[cfg(test)]
#[path = "../../assay/tests/it/docs/blocks.rs"]
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

    /// Calls `check` with every command that has a help, and its words.
    fn each(command: &clap::Command, path: &[&str], check: &mut dyn FnMut(&clap::Command, &[&str])) {
        check(command, path);
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            each(inner, &[path, &[inner.get_name()]].concat(), check);
        }
    }

    #[test]
    fn every_help_has_a_short_summary_and_two_examples_that_parse() {
        let mut command = crate::args::command();
        command.build();
        let mut commands = 0;
        each(&command, &["assay"], &mut |command, path| {
            commands += 1;
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let length = about.chars().count();
            assert!((1..60).contains(&length), "{path:?}: {length} characters: {about}");
            assert!(about.starts_with(char::is_uppercase) && !about.ends_with('.'), "{path:?}: {about}");
            let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
            assert!(
                long.starts_with(&about) && long.len() > about.len(),
                "{path:?} does not say when to use it"
            );
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) =
                after.split_once("Examples:\n").unwrap_or_else(|| panic!("{path:?}: no examples"));
            let examples: Vec<&str> = examples.lines().collect();
            assert!((2..=3).contains(&examples.len()), "{path:?}: {examples:?}");
            for example in examples {
                let line = example.strip_prefix("  ").unwrap_or_else(|| panic!("{path:?}: {example}"));
                assert!(line.len() <= 110, "{path:?}: {line}");
                let line = line.split(" > ").next().unwrap().replace('\'', "\"");
                let words = words(&line);
                // `assay lab cta-2026 sheet` shares the help of `assay audit sheet`.
                let is_own = words.iter().zip(path).all(|(word, own)| word == own);
                assert!(is_own || path.ends_with(&["sheet"]), "{path:?}: {line}");
                crate::args::command()
                    .try_get_matches_from(&words)
                    .unwrap_or_else(|error| panic!("{line}: {error}"));
            }
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty() && help.chars().count() <= 110, "{path:?} {}: {help}", arg.get_id());
            }
        });
        assert!(commands > 50, "{commands}");
    }

    #[test]
    fn at_most_25_commands_in_six_groups() {
        let mut command = crate::args::command();
        command.build();
        let listed: Vec<&str> = super::visible(&command).map(clap::Command::get_name).collect();
        assert!(listed.len() <= 25, "{listed:?}");
        let help = command.clone().render_help().to_string();
        for name in listed {
            assert_eq!(help.matches(&format!("\n  {name} ")).count(), 1, "{name} in {help}");
        }
        let headings: Vec<&str> =
            help.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).collect();
        assert_eq!(
            headings,
            [
                "Skills:",
                "Experiments:",
                "Results:",
                "Data:",
                "Tools:",
                "Lab:",
                "Global options:",
                "Exit status:",
                "Examples:"
            ]
        );
    }

    #[test]
    fn the_help_documents_every_exit_status() {
        use assay_cli::failure::Status;
        let help = crate::args::command().render_help().to_string();
        for status in
            [Status::Done, Status::DidNotHold, Status::BadInput, Status::Infrastructure, Status::Interrupted]
        {
            assert!(help.contains(&format!("\n  {:<3}  ", status as u8)), "{status:?} in {help}");
        }
    }

    #[test]
    fn the_reference_in_docs_is_the_command_lines() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/COMMANDS.md");
        let expected = super::reference();
        if std::env::var_os("ASSAY_BLESS").is_some() {
            std::fs::write(&path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            found, expected,
            "docs/COMMANDS.md is stale: ASSAY_BLESS=1 cargo test -p assay-lab reference"
        );
    }
}
