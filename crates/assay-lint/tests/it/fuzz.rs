//! Documents that are almost well formed, for as long as `ASSAY_FUZZ_SECONDS` says (default 2):
//! nothing panics or hangs, every position is in the document, the load results of clients are
//! consistent, and one run of `--fix` leaves nothing to fix.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_lint::client::{AGENTS, CLIENTS};
use assay_lint::{Options, Severity, fix, lint};
use assay_syntax::markdown::{Dialect, Outline};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let words: Vec<&'static str> = vec![
        "---",
        "\n",
        "\r\n",
        "----",
        "...",
        "name: ",
        "description: ",
        "metadata:\n  ",
        "a: b",
        ": ",
        " #",
        "\"",
        "'",
        "[",
        "]",
        "{",
        "}",
        "- ",
        "&x ",
        "*x",
        "!!str ",
        "|\n  ",
        ">\n  ",
        "\t",
        "yes",
        "null",
        "1.10",
        "2024-01-31",
        "pdf",
        "PDF",
        "\u{feff}",
        "é",
        "技能",
        "\u{202e}",
        "\0",
        "Use when",
        "# T\n",
        "## T\n",
        "[a](b.md)",
        "[a](../c)",
        "[a](#t)",
        "`scripts/x.py`",
        "!`git push`",
        "$ARGUMENTS",
        "<!-- assay: allow ",
        " -->",
        "```\n",
        "allowed-tools: Bash(",
        "version: 1",
        "compatibility: ",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Half of them begin as a document should.
fn documents() -> impl Strategy<Value = Vec<u8>> {
    (any::<bool>(), pieces()).prop_map(|(whole, rest)| {
        let start: &[u8] = if whole { b"---\nname: pdf\ndescription: " } else { b"" };
        [start, &rest].concat()
    })
}

fn lint_document(root: &Path, bytes: &[u8]) {
    let file = root.join("pdf/SKILL.md");
    fs::write(&file, bytes).expect("written");
    let outcome = lint(&[root.to_path_buf()], &Options::default());
    let skill = &outcome.skills[0];
    let shown = String::from_utf8_lossy(bytes);
    let lines = shown.matches('\n').count() + 2;
    for found in &skill.diagnostics {
        let inside = found.span.0.is_none_or(|span| span.line <= lines && span.line <= span.end_line);
        assert!(inside, "{shown:?}: {found:?}");
    }
    for client in CLIENTS {
        let load_result = skill.load_result(client).expect("a load_result");
        // A dangerous skill loads like any other.
        let of_form = |code: &str| !assay_safety::RULES.iter().any(|rule| rule.code == code);
        let error = skill
            .diagnostics
            .iter()
            .any(|found| of_form(found.code) && found.clients.of(client) == Some(Severity::Error));
        assert!(
            load_result.valid != error || suppressed(&shown),
            "{shown:?}: {}: {load_result:?}",
            client.name()
        );
        if AGENTS.contains(&client) {
            assert_eq!(load_result.loads, load_result.valid, "{shown:?}: {}: {load_result:?}", client.name());
        }
    }
    let paths = [root.to_path_buf()];
    let (outcome, files) = fix::run(&paths, &Options::default());
    // Only UTF-8 is written.
    if std::str::from_utf8(bytes).is_ok() {
        assert!(files.iter().all(|file| file.error.is_none()), "{shown:?}: {files:?}");
        let left = outcome.skills.iter().flat_map(|skill| &skill.diagnostics);
        assert!(left.clone().all(|found| found.fix.is_none()), "{shown:?}: {:?}", left.collect::<Vec<_>>());
    }
    let after = fs::read(&file).expect("read");
    fix::run(&paths, &Options::default());
    assert_eq!(fs::read(&file).expect("read"), after, "a second run changes {shown:?}");
}

fn suppressed(text: &str) -> bool {
    text.contains("assay: allow")
}

#[test]
fn documents_of_all_kinds_are_checked() {
    let seconds = std::env::var("ASSAY_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let end = Instant::now() + Duration::from_secs(seconds);
    let temp = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(temp.path().join("pdf")).expect("created");
    let mut runner = TestRunner::default();
    let (strategy, bodies) = (documents(), pieces());
    let mut count = 0_u32;
    while Instant::now() < end || count < 50 {
        let bytes = strategy.new_tree(&mut runner).expect("a document").current();
        lint_document(temp.path(), &bytes);
        let body =
            String::from_utf8_lossy(&bodies.new_tree(&mut runner).expect("a body").current()).into_owned();
        for link in Outline::read(&body, 0, Dialect::GitHub).links {
            assert!(body.get(link.span.clone()).is_some(), "{body:?}: {link:?}");
        }
        count += 1;
    }
    println!("{count} documents");
}
