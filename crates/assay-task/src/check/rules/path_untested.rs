//! Files that are asked for and never looked at.

use std::collections::BTreeSet;

use crate::check::finding::{Finding, Level};
use crate::check::mention;
use crate::check::rules::Rule;
use crate::check::subject::{Subject, Text};

pub(super) struct PathUntested;

impl Rule for PathUntested {
    fn code(&self) -> &'static str {
        "path-untested"
    }

    fn weighs(&self) -> &'static str {
        "warn"
    }

    fn about(&self) -> &'static str {
        "a file that the instruction asks for and that no test looks at"
    }

    fn look(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        if subject.tests.is_empty() {
            return;
        }
        let mut seen = BTreeSet::new();
        for text in &subject.instructions {
            for (line, path) in wanted(text) {
                let name = mention::name(&path);
                if subject.finds(name) || !seen.insert(path.clone()) || looked_at(subject, &path) {
                    continue;
                }
                let message = format!("asks for {path}, which no test looks at");
                let hint = "test it, or do not ask for it";
                found.push(Finding::new(Level::Warn, self.code(), &text.file, message, hint).at(line));
            }
        }
    }
}

/// What is said of results.
const VERBS: [&str; 12] = [
    "write", "save", "create", "produce", "generate", "store", "put ", "leave", "export", "output", "render",
    "deliver",
];

/// The files with an ending that a text asks for, with their lines: those of paragraphs that speak of writing.
fn wanted(text: &Text) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut paragraph: Vec<(usize, &str)> = Vec::new();
    let mut end = |paragraph: &mut Vec<(usize, &str)>| {
        let whole: String = paragraph.iter().map(|(_, line)| line.to_lowercase() + "\n").collect();
        if VERBS.iter().any(|verb| whole.contains(verb)) {
            for (line, there) in paragraph.iter() {
                let paths = mention::mentions(there).into_iter().map(|mention| mention.path);
                found.extend(
                    paths.filter(|path| mention::extension(path).is_some()).map(|path| (*line, path)),
                );
            }
        }
        paragraph.clear();
    };
    for (line, there) in text.lines() {
        if there.trim().is_empty() {
            end(&mut paragraph);
        } else {
            paragraph.push((line, there));
        }
    }
    end(&mut paragraph);
    found
}

/// Whether a test names a file, or puts its name together from parts.
fn looked_at(subject: &Subject<'_>, path: &str) -> bool {
    let name = mention::name(path);
    let dotted = format!(".{}", mention::extension(path).unwrap_or_default());
    let made = ["}", "*", "\"", "'", "%s"].iter().any(|before| {
        subject.tests.iter().any(|text| text.is_code() && text.text.contains(&format!("{before}{dotted}")))
    });
    made || subject.tests.iter().any(|text| text.text.contains(name))
}
