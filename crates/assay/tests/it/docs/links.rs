//! Every relative link in the project's Markdown leads to a file that exists, and its anchor to a heading.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::project;

/// The Markdown of the project itself. What is a fixture of a test, a task or a skill is not.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["docs", "docs/guide", "docs/lab", "crates", "examples", "examples/quickstart"]
            .map(PathBuf::from)
            .to_vec();
    folders.push(PathBuf::new());
    for folder in folders {
        let Ok(entries) = fs::read_dir(project().join(&folder)) else { continue };
        for entry in entries {
            let path = folder.join(entry.unwrap().file_name());
            if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The text without code blocks and code spans, which contain no links.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced && !line.starts_with("    ") {
            for (index, part) in line.split('`').enumerate() {
                prose.push_str(if index % 2 == 0 { part } else { "code" });
            }
            prose.push('\n');
        }
    }
    prose
}

/// The targets of the links in a text.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.trim().to_owned()).collect()
}

/// The anchors of a document, as GitHub makes them from headings.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        }
        let title = line.trim_start_matches('#');
        if is_fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

/// A path with `..` resolved by name.
fn normalized(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}

#[test]
fn every_relative_link_and_anchor_resolves() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for document in documents() {
        let text = fs::read_to_string(project().join(&document)).unwrap();
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() {
                document.clone()
            } else {
                normalized(&document.parent().unwrap().join(path))
            };
            let file = project().join(&target);
            let is_found = file.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&file)
                        .is_ok_and(|text| anchors(&text).iter().any(|found| found == anchor)));
            if !is_found {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
    assert!(checked > 50, "{checked}");
}

#[test]
fn links_and_anchors_are_found_as_github_finds_them() {
    let text = "# One `a-b` & two\n[a](b.md#c) `[x](y)`\n```\n# no\n[x](z)\n```\n## Same\n## Same\n";
    assert_eq!(links(text), ["b.md#c"]);
    assert_eq!(anchors(text), ["one-a-b--two", "same", "same-1"]);
}

/// The files below a folder with one of these endings.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, endings, found);
        } else if path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)) {
            found.push(path);
        }
    }
}

#[test]
fn no_page_or_comment_cites_a_document_that_is_not_in_the_repository() {
    let words = ["VALIDITY", "researcher plan", "was wanted", "were wanted", "study in Python"];
    let mut found = Vec::new();
    for folder in ["crates", "docs", "examples"] {
        files(&project().join(folder), &["rs", "md", "toml"], &mut found);
    }
    found.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| project().join(name)));
    // This file has the words, and so may a test that looks for more of them.
    found.retain(|path| {
        !path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("README.md")
    });
    assert!(found.len() > 100, "{}", found.len());
    let cites = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap_or_default();
        words.iter().find(|word| text.contains(**word)).map(|word| format!("{}: {word}", path.display()))
    };
    let citing: Vec<String> = found.iter().filter_map(cites).collect();
    assert!(citing.is_empty(), "{}", citing.join("\n"));
}
