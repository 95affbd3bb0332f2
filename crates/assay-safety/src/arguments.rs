//! Names of programs, and their options.

use assay_syntax::code::Language;

/// The last part of a path, without `.exe`.
pub(crate) fn base(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Whether one of some flags is given.
pub(crate) fn flag(texts: &[&str], names: &[&str]) -> bool {
    texts.iter().any(|text| names.contains(text))
}

/// The operand of an option: `-o FILE`, `-oFILE`, `--output=FILE`.
pub(crate) fn operand<'t>(texts: &[&'t str], names: &[&str]) -> Option<&'t str> {
    for (index, &text) in texts.iter().enumerate() {
        for name in names {
            if text == *name {
                return texts.get(index + 1).copied();
            }
            if let Some(rest) = text.strip_prefix(name)
                && let Some(rest) = if name.starts_with("--") { rest.strip_prefix('=') } else { Some(rest) }
            {
                return Some(rest);
            }
        }
    }
    None
}

/// A program that executes what it is given, and its language where that is one that is parsed.
pub(crate) struct Interpreter(pub(crate) Option<Language>);

pub(crate) fn interpreter(name: &str) -> Option<Interpreter> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(Interpreter(match stem {
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" => Some(Language::Shell),
        "python" | "pypy" => Some(Language::Python),
        "node" | "deno" | "bun" => Some(Language::JavaScript),
        "perl" | "ruby" | "php" | "lua" | "pwsh" | "powershell" | "osascript" => None,
        _ => return None,
    }))
}
