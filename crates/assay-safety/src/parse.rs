//! Trees of scripts, within bounds.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Longest text that is parsed; a longer one is looked at up to here.
pub const PARSE_CAP: usize = 1 << 20;
/// Deepest expression that is followed.
pub const DEPTH: usize = 48;

/// Languages that are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// A Bourne shell.
    Shell,
    /// Python.
    Python,
    /// JavaScript, and TypeScript as far as it is the same.
    JavaScript,
}

impl Language {
    /// By the name a block gives itself.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "sh" | "bash" | "shell" | "zsh" | "ksh" | "console" | "shell-session" | "shellsession"
            | "terminal" | "bats" => Some(Self::Shell),
            "py" | "python" | "python3" | "python2" | "ipython" => Some(Self::Python),
            "js" | "javascript" | "jsx" | "mjs" | "cjs" | "node" | "nodejs" | "ts" | "typescript" | "tsx" => {
                Some(Self::JavaScript)
            }
            _ => None,
        }
    }

    /// By a file's ending, else by its first line.
    pub fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit(['/', '!']).next().unwrap_or(path);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("sh" | "bash" | "zsh" | "ksh" | "command" | "bats") => Some(Self::Shell),
            Some("py" | "pyw" | "pth") => Some(Self::Python),
            Some("js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx") => Some(Self::JavaScript),
            _ => {
                let first = text.lines().next().filter(|line| line.starts_with("#!"))?;
                let program =
                    first.rsplit(['/', ' ']).find(|part| !part.starts_with('-') && !part.is_empty())?;
                match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
                    "sh" | "bash" | "zsh" | "dash" | "ksh" => Some(Self::Shell),
                    "python" => Some(Self::Python),
                    "node" | "deno" | "bun" => Some(Self::JavaScript),
                    _ => None,
                }
            }
        }
    }
}

/// The tree of a text. `None` when the parser gave up: it may ask so often whether to go on, which is a bound on its work that does not
/// depend on the machine's speed.
pub fn tree(language: Language, text: &str) -> Option<Tree> {
    let grammar = match language {
        Language::Shell => tree_sitter_bash::LANGUAGE.into(),
        Language::Python => tree_sitter_python::LANGUAGE.into(),
        Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
    };
    let mut parser = Parser::new();
    parser.set_language(&grammar).ok()?;
    let bytes = text.as_bytes();
    let mut left = 2_000 + bytes.len() / 16;
    let mut watch = |_: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut watch);
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

/// A node's children, those that are only punctuation too.
pub fn children(node: Node<'_>) -> impl DoubleEndedIterator<Item = Node<'_>> {
    (0..u32::try_from(node.child_count()).unwrap_or(u32::MAX)).filter_map(move |index| node.child(index))
}

/// A node's children that mean something.
pub fn named(node: Node<'_>) -> impl DoubleEndedIterator<Item = Node<'_>> {
    (0..u32::try_from(node.named_child_count()).unwrap_or(u32::MAX))
        .filter_map(move |index| node.named_child(index))
}

/// The text of a node.
pub fn text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The start of a text, at most [`PARSE_CAP`] bytes.
pub fn head(text: &str) -> &str {
    &text[..super::unicode::floor(text, PARSE_CAP)]
}
