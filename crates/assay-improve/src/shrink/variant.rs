//! Variants of a skill: parts replaced by placebo, or left out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_fs::{Caps, FsError, copy_tree};
use assay_skill::placebo::{Original, PlaceboError, placebo};
use assay_skill::{Document, Package};
use serde_json::Map;

use super::parts::SkillPart;

/// What takes the place of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Replacement {
    /// A text of the same shape and length without content: the variant is as long as the skill.
    Placebo,
    /// Nothing.
    Nothing,
}

/// Why a variant cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VariantError {
    /// A part without a placebo.
    #[error("no placebo of the section {heading:?}: {error}")]
    Placebo {
        /// The heading.
        heading: String,
        /// Why.
        error: PlaceboError,
    },
    /// A document that is not read back.
    #[error("the placebo of the section {heading:?} is empty")]
    Empty {
        /// The heading.
        heading: String,
    },
    /// The folder of the variant.
    #[error("cannot write {}: {error}", folder.display())]
    Write {
        /// Which.
        folder: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The files of the skill.
    #[error("cannot copy the skill: {0}")]
    Copy(#[from] FsError),
}

/// The body of a skill with some of its parts replaced. `has` says whether the part of a number stays.
///
/// # Errors
/// A part without a placebo.
pub fn render_body(
    skill: &Package,
    parts: &[SkillPart],
    has: impl Fn(usize) -> bool,
    replacement: Replacement,
    seed: u64,
) -> Result<String, VariantError> {
    let mut body = String::new();
    let mut end = 0;
    for (number, part) in parts.iter().enumerate() {
        body.push_str(&skill.body[end..part.range.start]);
        let text = &skill.body[part.range.clone()];
        match replacement {
            _ if has(number) => body.push_str(text),
            Replacement::Nothing => {}
            Replacement::Placebo => body.push_str(&render_placebo(skill, number, &part.heading, text, seed)?),
        }
        end = part.range.end;
    }
    body.push_str(&skill.body[end..]);
    Ok(body)
}

fn render_placebo(
    skill: &Package,
    number: usize,
    heading: &str,
    text: &str,
    seed: u64,
) -> Result<String, VariantError> {
    let original = Original {
        name: &skill.name,
        directory: &skill.directory,
        description: &skill.description,
        front_matter: &Map::new(),
        body: text,
        files: &[],
        digest_hex: &format!("{} {number}", skill.digest.hex()),
    };
    let made = placebo(&original, seed)
        .map_err(|error| VariantError::Placebo { heading: heading.to_owned(), error })?;
    let document = made.first().map(|file| Document::parse(&file.bytes, Path::new(&file.path)).0);
    let body = document.map(|document| document.body().to_owned()).unwrap_or_default();
    if body.trim().is_empty() {
        return Err(VariantError::Empty { heading: heading.to_owned() });
    }
    // What follows begins on a line of its own, as it did.
    let body = body.trim_end_matches('\n');
    let newlines = &text[text.trim_end_matches('\n').len()..];
    Ok(format!("{body}{newlines}"))
}

/// Writes a copy of a skill with another body to a folder that does not exist, or has been written before.
///
/// # Errors
/// The disk.
pub fn write_copy(skill: &Package, body: &str, folder: &Path) -> Result<(), VariantError> {
    if folder.is_dir() {
        return Ok(());
    }
    let write = |error: io::Error| VariantError::Write { folder: folder.to_owned(), error };
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(write)?;
    let draft = tempfile::tempdir_in(parent).map_err(write)?;
    let copy = draft.path().join("skill");
    copy_tree(&skill.root, &copy, &Caps::default())?;
    let front = skill.document.strip_suffix(skill.body.as_str()).unwrap_or_default();
    let is_document = |file: &&assay_skill::FileEntry| file.path.eq_ignore_ascii_case("SKILL.md");
    let name = skill.files.iter().find(is_document).map_or("SKILL.md", |file| file.path.as_str());
    fs::write(copy.join(name), format!("{front}{body}")).map_err(write)?;
    match fs::rename(&copy, folder) {
        // Another process wrote the same one meanwhile.
        Err(_) if folder.is_dir() => Ok(()),
        other => other.map_err(write),
    }
}

#[cfg(test)]
mod tests {
    use assay_skill::tokens;

    use super::*;
    use crate::shrink::parts::split_body;

    const TEXT: &str = "---\nname: ledger\ndescription: Writes ledgers.\n---\n# Ledger\n\n## Gate\n\nThe gate refuses a file \
        whose total is not the sum of its rows, so add a row for rounding.\n\n## Names\n\nFiles are called after their month, \
        as in 2024-05, and after nothing else at all.\n";

    fn skill(folder: &Path) -> Package {
        let root = folder.join("ledger");
        fs::create_dir_all(root.join("scripts")).unwrap();
        fs::write(root.join("SKILL.md"), TEXT).unwrap();
        fs::write(root.join("scripts/check.sh"), "exit 0\n").unwrap();
        Package::load(&root).package.unwrap()
    }

    #[test]
    fn a_part_is_replaced_by_a_text_of_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let skill = skill(folder.path());
        let parts = split_body(&skill.body);
        let body = render_body(&skill, &parts, |part| part == 1, Replacement::Placebo, 1).unwrap();
        assert!(
            body.contains("# Ledger\n") && body.contains("2024-05") && !body.contains("rounding"),
            "{body}"
        );
        let (found, whole) = (tokens(&body), tokens(&skill.body));
        assert!(found.abs_diff(whole) <= 5, "{found} {whole}: {body}");
        assert_eq!(split_body(&body).len(), 2, "{body}");
        assert_eq!(render_body(&skill, &parts, |_| true, Replacement::Placebo, 1).unwrap(), skill.body);
        assert_eq!(body, render_body(&skill, &parts, |part| part == 1, Replacement::Placebo, 1).unwrap());
    }

    #[test]
    fn a_copy_has_all_files_and_another_body() {
        let folder = tempfile::tempdir().unwrap();
        let skill = skill(folder.path());
        let parts = split_body(&skill.body);
        let body = render_body(&skill, &parts, |part| part == 0, Replacement::Nothing, 1).unwrap();
        let copy = folder.path().join("made/one/ledger");
        write_copy(&skill, &body, &copy).unwrap();
        let found = Package::load(&copy).package.unwrap();
        assert_eq!((found.name.as_str(), found.body.as_str()), ("ledger", body.as_str()));
        assert_eq!(found.files.len(), skill.files.len());
        assert!(found.body.contains("rounding") && !found.body.contains("2024-05"));
        write_copy(&skill, "other", &copy).unwrap();
        assert_eq!(Package::load(&copy).package.unwrap().body, body);
    }
}
