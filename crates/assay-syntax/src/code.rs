//! Syntax trees of code, within bounds, and the languages that have one.

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Parser};

pub use tree_sitter::{Node, Tree};

/// Longest text that is parsed; a longer one is read up to here.
pub const PARSE_CAP: usize = 1 << 20;

/// Deepest expression that is followed.
pub const DEPTH: usize = 48;

/// Languages that are parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `sh` and its descendants.
    Shell,
    /// Python.
    Python,
    /// JavaScript; TypeScript is read with the same grammar.
    JavaScript,
}

impl Language {
    /// By the extension of a path, else by the first line. What follows a `!` is a path within an
    /// archive.
    pub fn of(path: &str, text: &str) -> Option<Self> {
        let name = path.rsplit(['/', '!']).next().unwrap_or(path);
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        extension.and_then(|extension| Self::by_extension(&extension)).or_else(|| Self::by_interpreter(text))
    }

    /// By the name that a code block gives itself, in lower case.
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

    /// By what follows the last dot of a file's name, in lower case. Python's stubs (`.pyi`) do not
    /// run and are not code here.
    pub fn by_extension(extension: &str) -> Option<Self> {
        match extension {
            "sh" | "bash" | "zsh" | "ksh" | "command" | "bats" => Some(Self::Shell),
            "py" | "pyw" | "pth" => Some(Self::Python),
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => Some(Self::JavaScript),
            _ => None,
        }
    }

    /// By the interpreter that the first line names.
    pub fn by_interpreter(text: &str) -> Option<Self> {
        let first = text.lines().next().filter(|line| line.starts_with("#!"))?;
        let program = first.rsplit(['/', ' ']).find(|part| !part.starts_with('-') && !part.is_empty())?;
        match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "sh" | "bash" | "zsh" | "dash" | "ksh" => Some(Self::Shell),
            "python" => Some(Self::Python),
            "node" | "deno" | "bun" => Some(Self::JavaScript),
            _ => None,
        }
    }
}

/// The tree of a text. `None` if the parser gave up: it is called back a limited number of times,
/// which bounds its work independently of the machine's speed.
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
    &text[..text.floor_char_boundary(PARSE_CAP)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_known_by_name_extension_and_interpreter() {
        let check = |text: &str, expected| assert_eq!(Language::by_interpreter(text), expected, "{text}");
        check("#!/bin/bash\n", Some(Language::Shell));
        check("#!/usr/bin/env python3.12", Some(Language::Python));
        check("#!/usr/bin/env -S node", Some(Language::JavaScript));
        check("#!/usr/bin/fish", None);
        check("bash", None);
        assert_eq!(Language::named("tsx"), Some(Language::JavaScript));
        assert_eq!(Language::by_extension("pyw"), Some(Language::Python));
        assert_eq!(Language::of("stubs.pyi", "x = 1"), None);
        assert_eq!(Language::by_extension("md"), None);
    }

    #[test]
    fn slow_parse_is_aborted() {
        for language in [Language::Shell, Language::Python, Language::JavaScript] {
            let hard = "${(".repeat(20_000);
            let started = std::time::Instant::now();
            let _ = tree(language, &hard);
            assert!(started.elapsed().as_secs() < 60, "{language:?}");
            assert!(tree(language, "a").is_some());
        }
    }
}
