//! What makes two versions of a skill the same.

use std::path::Path;

use assay_skill::{FileKind, Package};
use assay_store::canonical;
use serde_json::Value;

/// Bytes of a text file that are normalized; longer ones count as they are.
const CAP: u64 = 8 << 20;

/// The digest of a skill without what no reader of it notices: trailing blanks, line ends, runs of blank lines, and the order and
/// layout of the front matter's keys. Files that are not UTF-8 text count as they are.
pub fn content(package: &Package) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &str| {
        // With their length, so that no two lists of parts are one text.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    };
    for file in &package.files {
        add(&file.path);
        add(&format!("{:?} {}", file.kind, file.executable));
        if is_document(package, &file.path) {
            if package.front_matter.is_empty() {
                add(&normalized(&package.document));
            } else {
                add(&canonical(&Value::Object(package.front_matter.clone())));
                add(&normalized(&package.body));
            }
            continue;
        }
        let is_text = matches!(file.kind, FileKind::File) && file.size <= CAP;
        let text = is_text.then(|| text_of(&package.root, &file.path)).flatten();
        match text {
            Some(text) => add(&normalized(&text)),
            None => add(&file.digest.to_string()),
        }
    }
    format!("blake3:{}", hasher.finalize().to_hex())
}

/// Whether a path is that of the package's document.
fn is_document(package: &Package, path: &str) -> bool {
    path == "SKILL.md"
        || (path.eq_ignore_ascii_case("SKILL.md")
            && !package.files.iter().any(|file| file.path == "SKILL.md"))
}

fn text_of(root: &Path, path: &str) -> Option<String> {
    let content = assay_fs::read_within(root, Path::new(path), CAP).ok()?;
    String::from_utf8(content.bytes).ok().filter(|text| !text.contains('\0'))
}

/// Lines without trailing blanks, runs of blank lines as one, and none at the ends.
fn normalized(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    while lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str =
        "---\nname: a\ndescription: Ends reports.\nmetadata:\n  x: 1\n  y: 2\n---\n\nOne.\n\nTwo  three.\n";

    fn of(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        content(&Package::load(folder.path()).package.unwrap())
    }

    fn check(document: &str, note: &str, is_same: bool) {
        let expected = of(&[("SKILL.md", DOCUMENT), ("references/n.md", "Note.\n")]);
        let found = of(&[("SKILL.md", document), ("references/n.md", note)]);
        assert_eq!(found == expected, is_same, "{document:?}, {note:?}");
    }

    #[test]
    fn what_no_reader_notices_is_the_same_content() {
        for document in [
            format!("{DOCUMENT}\n"),
            format!("{DOCUMENT} \t\n\n"),
            DOCUMENT.trim_end().to_owned(),
            DOCUMENT.replace('\n', "\r\n"),
            DOCUMENT.replace("One.\n", "One.   \n"),
            DOCUMENT.replace("One.\n\n", "One.\n\n \n"),
            DOCUMENT.replace("---\n\nOne", "---\n\n\n\nOne"),
            DOCUMENT.replace("---\n\nOne", "---\nOne"),
            format!("\u{feff}{DOCUMENT}"),
            DOCUMENT
                .replace("name: a\ndescription: Ends reports.\n", "description: Ends reports.\nname: a\n"),
            DOCUMENT.replace("  x: 1\n  y: 2\n", "  y: 2\n  x: 1\n"),
            DOCUMENT.replace("name: a\n", "name:   \"a\"   # as the folder\n"),
        ] {
            check(&document, "Note.\n", true);
        }
        for note in ["Note.", "Note.\r\n\r\n", "Note.  \n\n"] {
            check(DOCUMENT, note, true);
        }
    }

    #[test]
    fn other_words_are_another_content() {
        for document in [
            DOCUMENT.replace("One", "one"),
            DOCUMENT.replace("Two  three", "Two three"),
            DOCUMENT.replace("One.\n\nTwo", "One.\nTwo"),
            DOCUMENT.replace("One", " One"),
            DOCUMENT.replace("name: a", "name: b"),
            DOCUMENT.replace("y: 2", "y: 3"),
            DOCUMENT.replace("One.\n\nTwo", "Two.\n\nOne"),
        ] {
            check(&document, "Note.\n", false);
        }
        check(DOCUMENT, "note.\n", false);
        let one = of(&[("SKILL.md", DOCUMENT), ("a.txt", "x"), ("b.txt", "y")]);
        assert_ne!(one, of(&[("SKILL.md", DOCUMENT), ("a.txt", "y"), ("b.txt", "x")]));
        assert_ne!(one, of(&[("SKILL.md", DOCUMENT), ("a.txt", "x")]));
    }
}
