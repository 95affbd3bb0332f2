//! The other files of a package: scripts that print a usage line, texts and data without content.

use serde_json::{Value, json};

use super::bank::Kind;
use super::body;
use super::draw::Draw;
use super::package::MadeFile;

/// The most bytes of a generated text.
const TEXT_CAP: usize = 256 * 1024;
/// The most zero bytes of a generated binary file.
const BINARY_CAP: usize = 1024 * 1024;
/// The most bytes of a script: everything besides its usage line is comment.
const SCRIPT_CAP: usize = 64 * 1024;
/// The most lines of a table or of a file of JSON lines.
const LINES_CAP: usize = 2000;

/// How a file is made empty of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A script: how its interpreter is named, how it prints, and what begins a comment.
    Script { interpreter: Option<&'static str>, print: (&'static str, &'static str), comment: &'static str },
    /// Source code or settings, of which a comment is all that is left; with what ends it.
    Comment(&'static str, &'static str),
    /// Markdown.
    Markdown,
    /// One JSON value.
    Json,
    /// A JSON value a line.
    JsonLines,
    /// Cells with what separates them.
    Table(char),
    /// XML.
    Xml,
    /// Text as such, HTML among it: bare text is valid there.
    Text,
    /// Anything else.
    Binary,
}

const PYTHON: Format = script(Some("python3"), "print(\"", "\")", "#");
const BASH: Format = script(Some("bash"), "echo \"", "\"", "#");
const SHELL: Format = script(Some("sh"), "echo \"", "\"", "#");
const NODE: Format = script(Some("node"), "console.log(\"", "\")", "//");
const RUBY: Format = script(Some("ruby"), "puts \"", "\"", "#");
const PERL: Format = script(Some("perl"), "print \"", "\\n\";", "#");

const fn script(
    interpreter: Option<&'static str>,
    open: &'static str,
    close: &'static str,
    comment: &'static str,
) -> Format {
    Format::Script { interpreter, print: (open, close), comment }
}

/// The format of a file, by its name, its first line and its bytes.
pub(super) fn format(file: &MadeFile) -> Format {
    let name = file.path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if !file.bytes.is_empty() && is_binary(&file.bytes) {
        // A program is treated like a script: it may be run.
        return if file.executable { SHELL } else { Format::Binary };
    }
    let first = file.bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let shebang =
        if first.starts_with(b"#!") { String::from_utf8_lossy(first).into_owned() } else { String::new() };
    let by_extension = match extension {
        "py" | "pyw" => Some(PYTHON),
        "bash" | "zsh" | "bats" => Some(BASH),
        "sh" | "ksh" => Some(SHELL),
        "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" => Some(NODE),
        "rb" => Some(RUBY),
        "pl" => Some(PERL),
        "fish" => Some(script(Some("fish"), "echo \"", "\"", "#")),
        "lua" => Some(script(Some("lua"), "print(\"", "\")", "--")),
        "r" => Some(script(Some("Rscript"), "cat(\"", "\\n\")", "#")),
        "ps1" => Some(script(None, "Write-Output \"", "\"", "#")),
        "bat" | "cmd" => Some(script(None, "@echo ", "", "@rem")),
        _ => None,
    };
    if let Some(script) = by_extension {
        return script;
    }
    let interpreters = [
        ("python", PYTHON),
        ("bash", BASH),
        ("node", NODE),
        ("deno", NODE),
        ("bun", NODE),
        ("ruby", RUBY),
        ("perl", PERL),
    ];
    if !shebang.is_empty() || (file.executable && extension.is_empty()) {
        return interpreters
            .iter()
            .find(|(name, _)| shebang.contains(name))
            .map_or(SHELL, |(_, script)| *script);
    }
    match extension {
        "md" | "mdx" | "markdown" | "mdc" => Format::Markdown,
        "json" | "ipynb" | "jsonc" | "json5" | "geojson" | "webmanifest" => Format::Json,
        "jsonl" | "ndjson" => Format::JsonLines,
        "csv" => Format::Table(','),
        "tsv" => Format::Table('\t'),
        "xml" | "svg" | "xsd" | "xsl" | "xslt" | "plist" | "rels" | "xhtml" => Format::Xml,
        "yaml" | "yml" | "toml" | "cfg" | "conf" | "env" | "properties" | "tf" | "hcl" | "mk" | "cmake"
        | "dockerfile" | "lock" | "gitignore" | "gitattributes" | "editorconfig" | "ex" | "exs" | "nix"
        | "graphql" | "gql" | "jl" | "nim" => Format::Comment("#", ""),
        "ini" => Format::Comment(";", ""),
        "sql" | "hs" | "elm" | "ada" => Format::Comment("--", ""),
        "tex" | "erl" | "bib" => Format::Comment("%", ""),
        "el" | "clj" | "lisp" | "scm" => Format::Comment(";;", ""),
        "css" => Format::Comment("/*", " */"),
        "rs" | "go" | "java" | "kt" | "kts" | "swift" | "c" | "h" | "cc" | "cpp" | "hpp" | "cs" | "scala"
        | "dart" | "jsx" | "tsx" | "vue" | "svelte" | "scss" | "less" | "proto" | "sol" | "zig"
        | "groovy" | "gradle" | "move" | "cu" | "glsl" => Format::Comment("//", ""),
        "php" => Format::Comment("<?php //", " ?>"),
        _ if matches!(name.as_str(), "makefile" | "dockerfile" | "gemfile" | "rakefile" | "justfile") => {
            Format::Comment("#", "")
        }
        _ if name.starts_with("requirements") || name.starts_with(".env") => Format::Comment("#", ""),
        _ => Format::Text,
    }
}

/// Whether bytes are binary: not UTF-8, or with a zero byte.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.contains(&0) || std::str::from_utf8(bytes).is_err()
}

/// Generates the replacement of a file: same path, same executable bit, about the same size, and an
/// empty file if it was empty.
pub(super) fn make(file: &MadeFile, draw: &mut Draw<'_>) -> MadeFile {
    let size = file.bytes.len();
    let text = String::from_utf8_lossy(&file.bytes);
    let bytes = if size == 0 {
        Vec::new()
    } else {
        match format(file) {
            Format::Binary => vec![0; size.min(BINARY_CAP)],
            Format::Script { interpreter, print, comment } => {
                let mut out = String::new();
                if let Some(interpreter) =
                    interpreter.filter(|_| file.bytes.starts_with(b"#!") || file.executable)
                {
                    out.push_str(&format!("#!/usr/bin/env {interpreter}\n"));
                }
                let phrase = piece(draw, Kind::Phrase, 4);
                let usage = format!("{}usage: {phrase}{}\n", print.0, print.1);
                let rest = size.min(SCRIPT_CAP).saturating_sub(out.len() + usage.len());
                out.push_str(&comments(draw, rest, comment, ""));
                out.push_str(&usage);
                out.into_bytes()
            }
            Format::Comment(open, close) => comments(draw, size.min(TEXT_CAP), open, close).into_bytes(),
            Format::Markdown => {
                body::filled(&text, draw).unwrap_or_else(|| paragraphs(draw, size)).into_bytes()
            }
            Format::Json => json_like(&text, size, draw).into_bytes(),
            Format::JsonLines => {
                let mut out = String::new();
                for line in text.lines().filter(|line| !line.trim().is_empty()).take(LINES_CAP) {
                    let key = piece(draw, Kind::Word, 1);
                    let value = prose(draw, line.len().saturating_sub(key.len() + 7).min(TEXT_CAP));
                    out.push_str(&format!("{}\n", json!({ key: value })));
                    if out.len() > TEXT_CAP {
                        break;
                    }
                }
                out.into_bytes()
            }
            Format::Table(separator) => table(&text, separator, draw).into_bytes(),
            Format::Xml => {
                let word = piece(draw, Kind::Word, 1);
                let rest = size.min(TEXT_CAP).saturating_sub(2 * word.len() + 6);
                format!("<{word}>{}</{word}>\n", prose(draw, rest)).into_bytes()
            }
            Format::Text => paragraphs(draw, size).into_bytes(),
        }
    };
    MadeFile { path: file.path.clone(), bytes, executable: file.executable }
}

/// One piece of a part of the bank, or a word made up.
fn piece(draw: &mut Draw<'_>, kind: Kind, want: usize) -> String {
    let piece = draw.deal(kind, Some(want), &[], &[]).or_else(|| draw.deal(Kind::Word, Some(want), &[], &[]));
    piece.unwrap_or_else(|| draw.made_piece(&[], &[])).text.clone()
}

/// Sentences of about the given number of bytes in all, at least one piece.
fn sentences(draw: &mut Draw<'_>, bytes: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut before = Vec::new();
    let mut have = 0;
    while have < bytes || out.is_empty() {
        let rest = bytes.saturating_sub(have);
        let (kind, want) = match rest {
            0..16 => (Kind::Word, Some(1)),
            16..40 => (Kind::Phrase, Some(rest / 5)),
            40..140 => (Kind::Sentence, Some(rest / 5)),
            _ => (Kind::Sentence, None),
        };
        let piece =
            draw.deal(kind, want, &before, &[]).or_else(|| draw.deal(Kind::Word, Some(1), &before, &[]));
        let piece = piece.unwrap_or_else(|| draw.made_piece(&before, &[]));
        before.extend_from_slice(&piece.marks);
        before.drain(..before.len().saturating_sub(2));
        have += piece.text.len() + 1;
        out.push(piece.text.clone());
    }
    out
}

fn prose(draw: &mut Draw<'_>, bytes: usize) -> String {
    sentences(draw, bytes).join(" ")
}

/// Paragraphs of about the given number of bytes in all, in lines of about 100.
fn paragraphs(draw: &mut Draw<'_>, size: usize) -> String {
    let mut out = String::new();
    let mut line = 0;
    for (number, sentence) in sentences(draw, size.min(TEXT_CAP)).into_iter().enumerate() {
        if number > 0 {
            out.push_str(if number % 12 == 0 {
                "\n\n"
            } else if line > 70 {
                "\n"
            } else {
                " "
            });
        }
        line = if out.ends_with('\n') { sentence.len() } else { line + sentence.len() };
        out.push_str(&sentence);
    }
    out.push('\n');
    out
}

/// A sentence a line, each behind what begins a comment.
fn comments(draw: &mut Draw<'_>, bytes: usize, open: &str, close: &str) -> String {
    let around = open.len() + close.len() + 1;
    if bytes < around + 8 {
        return String::new();
    }
    // A sentence has some 60 bytes; the marks around it are taken off in that proportion.
    let inner = bytes * 60 / (60 + around);
    sentences(draw, inner).iter().map(|line| format!("{open} {line}{close}\n")).collect()
}

/// An object for an object, an array for anything else, with one text of about the same size.
fn json_like(text: &str, size: usize, draw: &mut Draw<'_>) -> String {
    let key = piece(draw, Kind::Word, 1);
    let empty = matches!(text.trim(), "{}" | "[]");
    let value =
        if empty { String::new() } else { prose(draw, size.min(TEXT_CAP).saturating_sub(key.len() + 9)) };
    let value = match (text.trim_start().starts_with('{'), empty) {
        (true, true) => json!({}),
        (true, false) => json!({ key: value }),
        (false, true) => json!([]),
        (false, false) => Value::Array(vec![Value::String(value)]),
    };
    format!("{value}\n")
}

/// As many lines of as many cells.
fn table(text: &str, separator: char, draw: &mut Draw<'_>) -> String {
    let columns = text.lines().next().map_or(1, |line| line.split(separator).count()).min(LINES_CAP);
    let mut out = String::new();
    for line in text.lines().take(LINES_CAP) {
        let want = (line.len() / columns / 6).clamp(1, 12);
        // Cells with a comma in them would be more cells.
        let cells: Vec<_> =
            (0..columns).map(|_| piece(draw, Kind::Cell, want).replace(separator, "")).collect();
        out.push_str(&cells.join(&separator.to_string()));
        out.push('\n');
        if out.len() > TEXT_CAP {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::draw::Rng;
    use super::super::facts::Facts;
    use super::*;

    fn made_file(path: &str, content: &[u8], executable: bool) -> MadeFile {
        let facts = Facts::default();
        let mut draw = Draw::new(&facts, Rng::new("d", 1, path));
        make(&MadeFile { path: path.to_owned(), bytes: content.to_vec(), executable }, &mut draw)
    }

    fn text(path: &str, content: &str) -> String {
        String::from_utf8(made_file(path, content.as_bytes(), false).bytes).unwrap()
    }

    #[test]
    fn formats_are_detected_by_name_first_line_and_bytes() {
        let check = |path: &str, content: &[u8], executable, expected| {
            assert_eq!(
                format(&MadeFile { path: path.to_owned(), bytes: content.to_vec(), executable }),
                expected,
                "{path}"
            );
        };
        check("scripts/a.py", b"x", false, PYTHON);
        check("scripts/a", b"#!/usr/bin/env python3\n", false, PYTHON);
        check("scripts/a", b"#!/opt/odd\n", false, SHELL);
        check("bin/a", b"echo", true, SHELL);
        check("bin/a", b"\x7fELF\0", true, SHELL);
        check("bin/a", b"\x7fELF\0", false, Format::Binary);
        check("a.PNG", b"\x89PNG", false, Format::Binary);
        check("LICENSE", b"Permission", false, Format::Text);
        check("a.md", b"# A", false, Format::Markdown);
        check(".gitignore", b"x", false, Format::Comment("#", ""));
        check("Makefile", b"all:", false, Format::Comment("#", ""));
        check("requirements.txt", b"numpy", false, Format::Comment("#", ""));
    }

    #[test]
    fn sizes_are_kept_about() {
        for size in [100, 1000, 20_000] {
            for path in
                ["a.txt", "a.py", "a.json", "a.yaml", "a.html", "a.xml", "a.css", "a.rs", "a.sql", "a"]
            {
                let have = text(path, &"word in a line\n".repeat(size / 15)).len();
                assert!(have.abs_diff(size) <= size / 5 + 30, "{path} {size}: {have}");
            }
        }
        assert_eq!(made_file("a.bin", &[0; 500], false).bytes, vec![0; 500]);
        assert_eq!(made_file("a.bin", &vec![0; 2 * BINARY_CAP], false).bytes.len(), BINARY_CAP);
        assert!(text("a.txt", &"word ".repeat(1_000_000)).len() < TEXT_CAP + 500);
    }

    #[test]
    fn empty_files_stay_empty() {
        for path in ["__init__.py", "a.md", "a.json", "a", ".gitkeep"] {
            assert_eq!(made_file(path, b"", true).bytes, b"", "{path}");
        }
    }

    #[test]
    fn data_stays_valid() {
        let object: Value =
            serde_json::from_str(&text("a.json", "{\"k\": [1, 2, 3, \"and more\"]}")).unwrap();
        assert!(object.is_object());
        assert!(serde_json::from_str::<Value>(&text("a.json", " [1]")).unwrap().is_array());
        assert_eq!(text("a.json", "{}\n"), "{}\n");
        let lines = text("a.jsonl", "{\"a\":1}\n\n{\"a\":\"a longer line than the others\"}\n");
        assert_eq!(lines.lines().count(), 2);
        assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");
        let csv = text("a.csv", "id,amount,when\n1,2.50,2024-01-01\n2,3.50,2024-01-02\n");
        assert_eq!(csv.lines().map(|line| line.split(',').count()).collect::<Vec<_>>(), [3, 3, 3]);
        let yaml = text("a.yaml", "key: a value that is long enough to have a comment\n");
        assert!(yaml.lines().all(|line| line.starts_with("# ")) && !yaml.is_empty(), "{yaml}");
    }

    #[test]
    fn scripts_print_a_usage_line_and_succeed() {
        let folder = tempfile::tempdir().unwrap();
        let check = |interpreter: &str, path: &str, content: &str| {
            let made = made_file(path, content.as_bytes(), true);
            assert!(made.executable);
            assert!(made.bytes.starts_with(b"#!/usr/bin/env "));
            let at = folder.path().join(path);
            std::fs::write(&at, &made.bytes).unwrap();
            match std::process::Command::new(interpreter).arg(&at).output() {
                Ok(output) => {
                    assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
                    let printed = String::from_utf8(output.stdout).unwrap();
                    assert!(
                        printed.starts_with("usage: ") && printed.lines().count() == 1,
                        "{path}: {printed}"
                    );
                }
                Err(_) => eprintln!("not tried: no {interpreter} here"),
            }
        };
        let long = "import os\nprint(os.listdir('.'))\n".repeat(30);
        check("python3", "a.py", &long);
        check("python3", "b.py", "x");
        check("bash", "a.bash", &long);
        check("sh", "a.sh", &long);
        check("sh", "a", &long);
        check("perl", "a.pl", &long);
        check("node", "a.js", &long);
        check("ruby", "a.rb", &long);
    }
}
