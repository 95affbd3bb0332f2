//! A build context for an image builder, with the skills removed.
//!
//! A `COPY` whose source is missing fails the build. A removed folder therefore leaves an empty
//! folder, and an instruction that names something within it, or a removed file, loses that source;
//! one that has no other source is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use assay_fs::tree;
use assay_syntax::dockerfile::{Source, Unknown, arguments, expand};

use super::baked::is_left_out;
use super::context::Source as CopySource;
use crate::TaskError;

/// A file in an emptied folder, so that patterns which matched its content match something. The
/// name is common.
const PLACEHOLDER: &str = ".keep";

/// Moved sources of a `COPY`: by its line and their path, the new path.
pub(crate) type Moved = BTreeMap<(usize, PathBuf), String>;

/// The text of a Dockerfile without the sources that are left out. Line numbers stay.
///
/// `gone` are the left-out paths, `folders` those of them that were folders: they are still there,
/// emptied. `moved` are parts of them that are not taken out.
pub(crate) fn without(
    text: &str,
    gone: &BTreeSet<PathBuf>,
    folders: &BTreeSet<PathBuf>,
    moved: &Moved,
) -> String {
    let found = Source::read(text).instructions;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let starts: Vec<usize> = found.iter().map(|instruction| instruction.line - 1).collect();
    for (number, instruction) in found.iter().enumerate() {
        if !matches!(instruction.name.as_str(), "COPY" | "ADD") || instruction.heredoc {
            continue;
        }
        let (flags, rest) = instruction.flags();
        let (words, is_list) = arguments(rest);
        if flags.iter().any(|flag| flag.starts_with("--from")) || words.len() < 2 {
            continue;
        }
        let (target, sources) = words.split_at(words.len() - 1);
        let (sources, target) = (target, &sources[0]);
        let elsewhere = |source: &String| {
            let path = tree::normalize(Path::new(source.trim_start_matches('/')))?;
            moved.get(&(instruction.line, path))
        };
        let kept: Vec<&String> = sources
            .iter()
            .filter_map(|source| {
                elsewhere(source).or_else(|| (!is_gone(source, gone, folders)).then_some(source))
            })
            .collect();
        if kept.len() == sources.len() && sources.iter().all(|source| elsewhere(source).is_none()) {
            continue;
        }
        let mut line = String::new();
        if !kept.is_empty() {
            line.push_str(&instruction.name);
            for flag in &flags {
                line.push_str(&format!(" {flag}"));
            }
            if is_list {
                let all: Vec<&String> = kept.iter().copied().chain([target]).collect();
                line.push_str(&format!(" {}", serde_json::to_string(&all).unwrap_or_default()));
            } else {
                for word in kept.iter().copied().chain([target]) {
                    line.push_str(&format!(" {word}"));
                }
            }
        }
        let start = starts[number];
        let end = starts.get(number + 1).copied().unwrap_or(lines.len());
        for old in &mut lines[start..end] {
            old.clear();
        }
        lines[start] = line;
    }
    lines.join("\n") + "\n"
}

/// The images that a Dockerfile's stages begin with, as written, once each.
pub(crate) fn base_images(text: &str) -> Vec<String> {
    let mut args: BTreeMap<String, String> = BTreeMap::new();
    let mut stages: BTreeSet<String> = BTreeSet::new();
    let mut images = Vec::new();
    for instruction in Source::read(text).instructions {
        match instruction.name.as_str() {
            // Only those before the first stage are known to `FROM`.
            "ARG" if stages.is_empty() && images.is_empty() => {
                if let Some((name, value)) = instruction.rest.split_once('=') {
                    args.insert(name.trim().to_owned(), value.trim().trim_matches(['"', '\'']).to_owned());
                }
            }
            "FROM" => {
                let words: Vec<&str> =
                    instruction.rest.split_whitespace().filter(|word| !word.starts_with("--")).collect();
                let Some(Ok(image)) = words.first().map(|image| expand(image, &args, Unknown::Refuse)) else {
                    continue;
                };
                if image != "scratch" && !stages.contains(&image.to_lowercase()) && !images.contains(&image) {
                    images.push(image);
                }
                if let [_, word, name] = words[..]
                    && word.eq_ignore_ascii_case("as")
                {
                    stages.insert(name.to_lowercase());
                }
            }
            _ => {}
        }
    }
    images
}

/// Whether nothing is left of a source.
fn is_gone(source: &str, gone: &BTreeSet<PathBuf>, folders: &BTreeSet<PathBuf>) -> bool {
    match CopySource::new(source) {
        CopySource::Path(path) => is_left_out(&path, gone) && !folders.contains(&path),
        // A pattern may match a left-out file or folder by name; one that reaches into an emptied
        // folder matches its placeholder, unless it needs more than one level.
        CopySource::Pattern(matcher) => {
            let named = gone.iter().any(|path| !folders.contains(path) && matcher.is_match(path));
            let inside = folders.iter().any(|folder| reaches_into(source, folder));
            let placeholder = folders.iter().any(|folder| matcher.is_match(folder.join(PLACEHOLDER)));
            named || (inside && !placeholder)
        }
        CopySource::Invalid => false,
    }
}

/// Whether a pattern matches entries of a folder.
fn reaches_into(pattern: &str, folder: &Path) -> bool {
    let normal = tree::normalize(Path::new(pattern.trim_start_matches('/'))).unwrap_or_default();
    let depth = folder.iter().count();
    if normal.iter().count() <= depth {
        return false;
    }
    let head: PathBuf = normal.iter().take(depth).collect();
    CopySource::new(&head.to_string_lossy()).names(folder)
}

/// Leaves empty folders where folders were removed from a context in `into`.
pub(crate) fn placeholders(into: &Path, folders: &BTreeSet<PathBuf>) -> Result<(), TaskError> {
    for folder in folders {
        let at = into.join(folder);
        let write = |source| TaskError::Write { path: at.clone(), source };
        fs::create_dir_all(&at).map_err(write)?;
        fs::write(at.join(PLACEHOLDER), "").map_err(write)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_begin_with_images() {
        let check = |text: &str, expected: &[&str]| assert_eq!(base_images(text), expected, "{text}");
        check("FROM a:1\n", &["a:1"]);
        check(
            "ARG V=3.12\nFROM --platform=linux/amd64 python:$V AS Build\nFROM build\nFROM scratch\nFROM b\n",
            &["python:3.12", "b"],
        );
        check("FROM ${NOBODY}\n", &[]);
        check("FROM a\nFROM a\n", &["a"]);
        check("", &[]);
    }

    #[test]
    fn missing_sources_are_removed() {
        let gone: BTreeSet<PathBuf> = ["skills", "packs/x", "SKILL.md"].map(PathBuf::from).into();
        let folders: BTreeSet<PathBuf> = ["skills", "packs/x"].map(PathBuf::from).into();
        let check = |text: &str, expected: &str| {
            let moved = [((1, PathBuf::from("skills/mine")), "elsewhere/0".to_owned())].into();
            let found = without(&format!("{text}\nRUN true\n"), &gone, &folders, &moved);
            assert_eq!(found, format!("{expected}\nRUN true\n"), "{text}");
        };
        // The emptied folder is still there.
        check("COPY skills /root/.claude/skills", "COPY skills /root/.claude/skills");
        check("COPY skill[s] /root/.claude/skills", "COPY skill[s] /root/.claude/skills");
        check("COPY skills/* /x/", "COPY skills/* /x/");
        check("COPY . .", "COPY . .");
        // Its content is missing.
        check("COPY skills/x/run.sh /usr/bin/", "");
        check("COPY skills/*/SKILL.md /x/", "");
        check("COPY --chown=a:b a.txt skills/x/run.sh /y/", "COPY --chown=a:b a.txt /y/");
        check("COPY [\"SKILL.md\", \"b c\", \"/y/\"]", "COPY [\"b c\",\"/y/\"]");
        check("ADD packs/x/deep /z", "");
        check("COPY --from=build /skills/x /y", "COPY --from=build /skills/x /y");
        check("COPY \\\n  skills/x/a \\\n  /y", "\n\n");
        check("copy SKILL.md /y", "");
        // A moved source is found at its new path.
        check("COPY skills/mine /root/verifier", "COPY elsewhere/0 /root/verifier");
        check("COPY a.txt ./skills/mine /z/", "COPY a.txt elsewhere/0 /z/");
        check("RUN true\nCOPY skills/mine /root/verifier", "RUN true\n");
    }
}
