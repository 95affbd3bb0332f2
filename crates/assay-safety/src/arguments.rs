//! Names of programs, and their options.

use assay_syntax::code::Language;
use assay_syntax::shell;

pub(crate) use assay_syntax::shell::program_name as base;

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

/// A program that executes its input, and its language if it is one that is parsed.
pub(crate) struct Interpreter(pub(crate) Option<Language>);

pub(crate) fn interpreter(name: &str) -> Option<Interpreter> {
    Some(Interpreter(match shell::interpreter(name)? {
        shell::Interpreter::Shell => Some(Language::Shell),
        shell::Interpreter::Python => Some(Language::Python),
        shell::Interpreter::JavaScript => Some(Language::JavaScript),
        shell::Interpreter::Other => None,
    }))
}
