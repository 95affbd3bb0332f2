//! Parsing of valid and invalid documents.

use proptest::prelude::*;

use super::*;

fn parse(bytes: &[u8]) -> (Document, Vec<Diagnostic>) {
    Document::parse(bytes, Path::new("SKILL.md"))
}

/// Name, description and the codes of the diagnostics.
fn check(text: impl AsRef<[u8]>, name: Option<&str>, description: Option<&str>, codes: &[&str]) {
    let (document, diagnostics) = parse(text.as_ref());
    let found: Vec<_> = diagnostics.iter().map(|d| d.code).collect();
    let shown = String::from_utf8_lossy(text.as_ref()).into_owned();
    assert_eq!(
        (document.name.as_deref(), document.description.as_deref(), &found[..]),
        (name, description, codes),
        "{shown:?}: {diagnostics:#?}"
    );
}

#[test]
fn well_formed() {
    check("---\nname: a-b\ndescription: Does it.\n---\n# T\n", Some("a-b"), Some("Does it."), &[]);
    check("---\r\nname: a\r\ndescription: b\r\n---\r\nbody\r\n", Some("a"), Some("b"), &[]);
    check(
        "---\nname: a # c\n# comment\ndescription: >\n  one\n  two\n---\n",
        Some("a"),
        Some("one two"),
        &[],
    );
    check("---\nname: \"  a  \"\ndescription: |\n  one\n  two\n---\n", Some("a"), Some("one\ntwo"), &[]);
    check("---\nname: 技能\ndescription: b\n---\n", Some("技能"), Some("b"), &[]);
}

#[test]
fn badly_formed() {
    check("", None, None, &["front-matter-missing"]);
    check("# Title\n\nText.\n", None, None, &["front-matter-missing"]);
    check("\u{feff}---\nname: a\ndescription: b\n---\n", Some("a"), Some("b"), &["byte-order-mark"]);
    check("\n---\nname: a\ndescription: b\n---\n", Some("a"), Some("b"), &["front-matter-late"]);
    check("----\nname: a\ndescription: b\n---\n", Some("a"), Some("b"), &["front-matter-fence"]);
    check("---\nname: a\ndescription: b\n", Some("a"), Some("b"), &["front-matter-unclosed"]);
    check("---\nname: a\ndescription: b\n\n# T\nx: y\n", Some("a"), Some("b"), &["front-matter-unclosed"]);
    check("---\nname: a\ndescription: b --- c\n---\n", Some("a"), Some("b --- c"), &["front-matter-dashes"]);
    check("---\nname: a\ndescription: Use: this\n---\n", Some("a"), Some("Use: this"), &["yaml-unquoted"]);
    check("---\nname: a\nname: b\ndescription: c\n---\n", Some("b"), Some("c"), &["yaml-duplicate-key"]);
    check("---\n- a\n- b\n---\n", None, None, &["yaml-invalid"]);
    check("---\n---\nbody", None, None, &["yaml-invalid"]);
    check("---\nname: a\n- b\n---\n", None, None, &["yaml-invalid"]);
    check(b"---\nname: a\ndescription: caf\xe9\n---\n", Some("a"), Some("caf\u{fffd}"), &["encoding"]);
    check(b"\xff\xfe-\0-\0-\0\n\0n\0a\0m\0e\0:\0 \0a\0\n\0-\0-\0-\0", Some("a"), None, &["encoding"]);
    check("---\nname: a\ndescription: b\0c\n---\n", Some("a"), Some("b c"), &["nul-character"]);
}

#[test]
fn fields() {
    check(
        "---\nname: true\ndescription: 1.10\n---\n",
        Some("true"),
        Some("1.10"),
        &["name-type", "description-type"],
    );
    check("---\nname: null\ndescription:\n---\n", None, None, &["name-empty", "description-empty"]);
    check("---\nname: \"\"\ndescription: '  '\n---\n", None, None, &["name-empty", "description-empty"]);
    check("---\nname: [a]\ndescription: {a: b}\n---\n", None, None, &["name-type", "description-type"]);
    for name in ["Pdf", "pdf-", "-pdf", "a--b", "a b", "a.b", "a_b"] {
        check(
            format!("---\nname: {name}\ndescription: b\n---\n"),
            Some(name),
            Some("b"),
            &["name-characters"],
        );
    }
    let long = "a".repeat(65);
    check(format!("---\nname: {long}\ndescription: b\n---\n"), Some(&long), Some("b"), &["name-length"]);
    let at = "é".repeat(1024);
    check(format!("---\nname: a\ndescription: {at}\n---\n"), Some("a"), Some(&at), &[]);
    let over = "é".repeat(1025);
    check(
        format!("---\nname: a\ndescription: {over}\n---\n"),
        Some("a"),
        Some(&over),
        &["description-length"],
    );
}

#[test]
fn diagnostics_point_at_their_line() {
    let line = |text: &str| parse(text.as_bytes()).1[0].line;
    assert_eq!(line("---\nname: a\ndescription: b: c\n---\n"), Some(3));
    assert_eq!(line("---\ndescription: b\nname: A\n---\n"), Some(3));
    assert_eq!(line("\n\n---\nname: a\nname: b\n---\n"), Some(1));
    assert_eq!(line("---\nname: a\nx: ---\n---\n"), Some(3));
    assert_eq!(line("---\nname: a\nlicense: x\ndescription:\n---\n"), Some(4));
}

#[test]
fn body_and_first_paragraph() {
    let check = |text: &str, body: &str, paragraph: &str| {
        let (document, _) = parse(text.as_bytes());
        assert_eq!((document.body(), document.first_paragraph().as_str()), (body, paragraph), "{text:?}");
    };
    check(
        "---\na: b\n---\n# T\n\nOne *two*\nthree `four`.\n\nFive.\n",
        "# T\n\nOne *two*\nthree `four`.\n\nFive.\n",
        "One two three four.",
    );
    check("plain words", "plain words", "plain words");
    check("---\na: b\n---\n", "", "");
    check("---\na: b\n---\n```\ncode\n```\n", "```\ncode\n```\n", "");
    check(
        "---\nnever closed, no yaml [\n\n# T\n",
        "---\nnever closed, no yaml [\n\n# T\n",
        "never closed, no yaml [",
    );
    check("---\na: b\n---\na\n---\nb\n", "a\n---\nb\n", "b");
    // Neither an image without a text nor the heading after it is a paragraph.
    check("![](a.png)\n\n# T\n\n- b\n\nc\n", "![](a.png)\n\n# T\n\n- b\n\nc\n", "c");
}

#[test]
fn a_long_paragraph_is_cut() {
    let text = "é ".repeat(5_000);
    assert_eq!(parse(text.as_bytes()).0.first_paragraph().chars().count(), DESCRIPTION_LIMIT);
}

/// Bytes that look like a document often enough to reach every branch.
fn documents() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("---".as_bytes().to_vec()),
        Just("\n".as_bytes().to_vec()),
        Just("\r\n".as_bytes().to_vec()),
        Just("name: ".as_bytes().to_vec()),
        Just("description: |\n  ".as_bytes().to_vec()),
        Just("- &a [*a, ".as_bytes().to_vec()),
        Just("\u{feff}".as_bytes().to_vec()),
        Just("\"".as_bytes().to_vec()),
        Just("\t: ".as_bytes().to_vec()),
        "[a-z:#\"'{}\\[\\]&*!|>%@ -]{0,12}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..8),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces: Vec<Vec<u8>>| pieces.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in documents()) {
        let (document, diagnostics) = parse(&bytes);
        document.first_paragraph();
        document.line_of("name");
        prop_assert!(document.text.ends_with(document.body()));
        for diagnostic in diagnostics {
            let lines = document.text.matches('\n').count() + 1;
            prop_assert!(diagnostic.line.is_none_or(|line| (1..=lines + 1).contains(&line)), "{}", diagnostic);
            prop_assert!(diagnostic.hint.is_some());
        }
    }

    #[test]
    fn plain_document_is_read_unchanged(name in "[a-z]{1,8}(-[a-z0-9]{1,8}){0,3}", words in "[A-Za-z][A-Za-z ,.]{0,80}[a-z]", body in "[ -~\n]{0,200}") {
        prop_assume!(!["true", "false", "null"].contains(&name.as_str()) && !["true", "false", "null"].contains(&words.to_lowercase().as_str()));
        let (document, diagnostics) = parse(format!("---\nname: {name}x\ndescription: {words}\n---\n{body}").as_bytes());
        let named = format!("{name}x");
        prop_assert_eq!(document.name.as_deref(), Some(named.as_str()));
        prop_assert_eq!(document.description.as_deref(), Some(words.as_str()));
        prop_assert_eq!(document.body(), body);
        prop_assert!(diagnostics.is_empty(), "{:?}", diagnostics);
    }
}
