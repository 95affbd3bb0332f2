//! Commands as exposure reads them.

use assay_syntax::shell::{Source, commands, interpreter, program_name};

/// The words of each simple command of an argument that is run. The argument may be a program in
/// another language as well, so text in here-documents and comments counts: a path there is still a
/// path that the agent named.
pub(crate) fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let words = |words: Vec<String>| words.into_iter().filter(|word| !word.is_empty()).collect();
    commands(text, Source::Unknown).into_iter().map(|simple| words(simple.words)).collect()
}

/// Whether a program runs the script in its arguments.
pub(crate) fn is_interpreter(program: &str) -> bool {
    let name = program_name(program);
    interpreter(name).is_some() || matches!(name, "Rscript" | "source" | "." | "uv" | "npx" | "tsx")
}

/// The first argument that is neither an option nor a subcommand of a runner.
pub(crate) fn script_argument<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    arguments.iter().copied().find(|word| !word.starts_with('-') && *word != "run" && *word != "python")
}

/// The folder that a simple command changes into, if it does.
pub(crate) fn entered<'a>(words: &[&'a str]) -> Option<&'a str> {
    match words {
        ["cd" | "pushd"] => Some("~"),
        ["cd" | "pushd", folder, ..] => Some(folder),
        _ => None,
    }
}

/// A path relative to a folder; an empty folder is unknown.
pub(crate) fn join(folder: &str, path: &str) -> String {
    let is_whole = path.starts_with('/') || path.starts_with('~') || path.starts_with('$');
    if folder.is_empty() || is_whole { path.to_owned() } else { format!("{folder}/{path}") }
}
