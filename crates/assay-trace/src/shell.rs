//! Shell texts as words, as far as exposure needs it.

/// The words of each simple command of a shell text: split at `;`, `&`, `|`, newlines and brackets outside quotes. Here-documents
/// and substitutions are not understood; what they hold is split like the rest.
pub(crate) fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '\\') => word.extend(chars.next()),
            (None, ';' | '&' | '|' | '\n' | '(' | ')' | '`') => {
                finish(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            (None, c) if c.is_whitespace() => finish(&mut commands, &mut word),
            (_, c) => word.push(c),
        }
    }
    finish(&mut commands, &mut word);
    commands
}

fn finish(commands: &mut [Vec<String>], word: &mut String) {
    if !word.is_empty()
        && let Some(last) = commands.last_mut()
    {
        last.push(std::mem::take(word));
    }
}

/// What may stand before a program without being one: assignments, keywords, wrappers.
pub(crate) fn is_prefix(word: &str) -> bool {
    const WRAPPERS: [&str; 12] =
        ["sudo", "env", "time", "nohup", "exec", "then", "do", "else", "if", "while", "!", "command"];
    WRAPPERS.contains(&word)
        || word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
}

pub(crate) fn is_interpreter(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        stem,
        "python"
            | "bash"
            | "sh"
            | "zsh"
            | "node"
            | "deno"
            | "ruby"
            | "perl"
            | "php"
            | "Rscript"
            | "source"
            | "uv"
            | "npx"
            | "tsx"
    ) || program == "."
}

/// The first argument that is neither an option nor a runner's word.
pub(crate) fn script_argument<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    arguments.iter().copied().find(|word| !word.starts_with('-') && *word != "run" && *word != "python")
}

/// The folder that a simple command goes into, where it does.
pub(crate) fn entered<'a>(words: &[&'a str]) -> Option<&'a str> {
    match words {
        ["cd" | "pushd"] => Some("~"),
        ["cd" | "pushd", folder, ..] => Some(folder),
        _ => None,
    }
}

/// A path as seen from a folder; an empty folder is one that nobody knows.
pub(crate) fn join(folder: &str, path: &str) -> String {
    let is_whole = path.starts_with('/') || path.starts_with('~') || path.starts_with('$');
    if folder.is_empty() || is_whole { path.to_owned() } else { format!("{folder}/{path}") }
}
