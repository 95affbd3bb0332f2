//! Guards in code: what checks an input, a state or an outcome, found in the syntax tree and not by
//! counting words.

use assay_syntax::code::{self, Language, Node};

/// Larger pieces of code are passed over, in bytes.
const CODE_CAP: usize = 1 << 19;

/// Nodes of one piece of code that are looked at.
const NODE_CAP: usize = 200_000;

/// The lines, trimmed, that guards of a file begin at. Languages without a grammar here have none.
pub(super) fn guards(path: &str, code: &str) -> Vec<String> {
    let Some(language) = language(path, code).filter(|_| code.len() <= CODE_CAP) else { return Vec::new() };
    let Some(tree) = code::tree(language, code) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    let mut cursor = tree.walk();
    for _ in 0..NODE_CAP {
        if is_guard(language, cursor.node(), code)
            && let Some(line) = code.lines().nth(cursor.node().start_position().row)
        {
            let line = line.trim().to_owned();
            if !found.contains(&line) {
                found.push(line);
            }
        }
        if cursor.goto_first_child() || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return found;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
    found
}

/// By the extension; of a file without one, whether its first line names a shell.
///
/// The auditor is calibrated on these languages, so they do not follow those that the workspace
/// knows otherwise.
fn language(path: &str, code: &str) -> Option<Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("py" | "pyi") => Some(Language::Python),
        Some("sh" | "bash" | "bats" | "zsh") => Some(Language::Shell),
        Some("js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx") => Some(Language::JavaScript),
        Some(_) => None,
        None => {
            let first = code.lines().next()?;
            (first.starts_with("#!") && first.contains("sh")).then_some(Language::Shell)
        }
    }
}

fn is_guard(language: Language, node: Node<'_>, source: &str) -> bool {
    let text = |node| code::text(node, source);
    let condition = || node.child_by_field_name("condition").map(text).unwrap_or_default();
    match (language, node.kind()) {
        (Language::Python, "except_clause" | "raise_statement" | "assert_statement" | "finally_clause")
        | (Language::JavaScript, "catch_clause" | "throw_statement" | "finally_clause") => true,
        (Language::Python, "if_statement") => {
            let condition = condition();
            condition.contains("None") || condition.starts_with("not ") || condition.contains(" not ")
        }
        (Language::JavaScript, "if_statement") => {
            let condition = condition();
            condition.contains('!') || condition.contains("null") || condition.contains("undefined")
        }
        (Language::Shell, "test_command") => ["-z ", "-n ", "-f ", "-d ", "-e ", "-r ", "-x ", "-s ", "! "]
            .iter()
            .any(|flag| text(node).contains(flag)),
        (Language::Shell, "command") => {
            let text = text(node);
            let mut words = text.split_whitespace();
            match words.next() {
                Some("trap") => true,
                Some("set") => words
                    .next()
                    .is_some_and(|flags| flags.starts_with('-') && flags.contains(['e', 'u', 'o', 'E'])),
                Some("exit" | "return" | "die") => node.parent().is_some_and(|parent| {
                    parent.kind() == "list" && code::text(parent, source).contains("||")
                }),
                _ => false,
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_found_in_the_tree() {
        let check =
            |path: &str, code: &str, expected: &[&str]| assert_eq!(guards(path, code), expected, "{code}");
        check(
            "a.py",
            "def f(x):\n    if x is None:\n        raise ValueError('no')\n    try:\n        g()\n    except OSError:\n        pass\n    return x # except when raise\n",
            &["if x is None:", "raise ValueError('no')", "except OSError:"],
        );
        check("a.py", "s = 'raise, except and assert'\nif x > 1:\n    y()\n", &[]);
        check(
            "run.sh",
            "set -Eeuo pipefail\ntrap cleanup EXIT\n[[ -f \"$1\" ]] || exit 2\necho 'trap x'\nset x\nmain\n",
            &["set -Eeuo pipefail", "trap cleanup EXIT", "[[ -f \"$1\" ]] || exit 2"],
        );
        for first in ["#!/bin/bash", "#!/bin/ash", "#!/bin/sh -e main"] {
            check("run", &format!("{first}\nset -e\n"), &["set -e"]);
        }
        check("run", "#!/usr/bin/env python3\nassert x\n", &[]);
        check("a.pyi", "assert x\n", &["assert x"]);
        for extension in ["ksh", "command"] {
            check(&format!("run.{extension}"), "set -e\n", &[]);
        }
        for extension in ["pyw", "pth", "PY"] {
            check(&format!("a.{extension}"), "assert x\n", &[]);
        }
        for extension in ["mts", "cts"] {
            check(&format!("x.{extension}"), "throw x\n", &[]);
        }
        check(
            "x.js",
            "if (!a) { throw new Error('x') }\ntry { b() } catch (e) { c() }\n",
            &["if (!a) { throw new Error('x') }", "try { b() } catch (e) { c() }"],
        );
        check("notes.md", "set -e", &[]);
        check("a.py", "", &[]);
    }

    #[test]
    fn broken_code_is_no_trouble() {
        for code in ["def (((", "\0\0\0", "if x is None", &"(".repeat(5000)] {
            for path in ["a.py", "a.sh", "a.js"] {
                assert!(guards(path, code).len() < 3);
            }
        }
    }
}
