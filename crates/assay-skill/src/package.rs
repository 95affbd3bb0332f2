//! One skill package.

use assay_diagnostic::group_digits;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Diagnostic, Digest, Document, FileKind, Severity, tokens};
use assay_fs::read_within;
use assay_fs::tree::{self, Entry, Tree};

/// A skill package as an agent would be offered it.
#[derive(Debug, Clone)]
pub struct Package {
    /// The folder that it was read from. Not part of any digest.
    pub root: PathBuf,
    /// The folder's name: the package's id, and the name of its mount. Not part of
    /// [`Package::digest`].
    pub directory: String,
    /// `name` of the front matter; else the folder's name.
    pub name: String,
    /// `description` of the front matter; else the body's first paragraph; else empty.
    pub description: String,
    /// The complete front matter; empty if it is missing or unreadable.
    pub front_matter: Map<String, Value>,
    /// The text after the front matter, unchanged.
    pub body: String,
    /// The complete `SKILL.md`, decoded leniently, without a byte-order mark.
    pub document: String,
    /// Every entry, `SKILL.md` included, sorted by path.
    pub files: Vec<FileEntry>,
    /// The canonical digest of the folder ([`assay_fs`]).
    pub digest: Digest,
}

/// One entry of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileEntry {
    /// Relative to the package, `/` between parts, invalid UTF-8 replaced.
    pub path: String,
    /// Its kind. Folders are listed only if they are empty.
    pub kind: FileKind,
    /// Bytes of a file, or of a link's target text.
    pub size: u64,
    /// Whether a file's owner may execute it.
    pub executable: bool,
    /// The digest of a file's bytes, of a link's target text, or of nothing.
    pub digest: Digest,
}

/// The result of reading a package.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The package; `None` if there is nothing to offer to an agent.
    pub package: Option<Package>,
    /// Its parsed document; `None` if it is missing or unreadable.
    pub document: Option<Document>,
    /// Its diagnostics.
    pub diagnostics: Vec<Diagnostic>,
}

/// Most bytes of a `SKILL.md` that are read; the rest still counts in the digest.
pub const DOCUMENT_CAP: u64 = 8 << 20;

impl Package {
    /// Reads the package in a folder, leniently. The folder itself may be a link; nothing in it is
    /// followed out of it.
    pub fn load(root: &Path) -> Loaded {
        let mut diagnostics = Vec::new();
        let (package, document) = Self::read(root, &mut diagnostics).unzip();
        Loaded { package, document, diagnostics }
    }

    fn read(root: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<(Self, Document)> {
        let document_name = find_document(root, diagnostics)?;
        let file = root.join(document_name);
        let content = match read_within(root, Path::new(document_name), DOCUMENT_CAP) {
            Ok(content) => content,
            Err(error) => {
                let hint =
                    "replace it with a regular, readable file: links that leave the package are not followed";
                let message = format!("cannot be read: {error}");
                diagnostics
                    .push(Diagnostic::new(Severity::Error, "document-unreadable", file, message).hint(hint));
                return None;
            }
        };
        if content.truncated {
            let message = format!("larger than {} bytes: the rest was not read", group_digits(DOCUMENT_CAP));
            let hint = "move detail into other files of the package";
            diagnostics
                .push(Diagnostic::new(Severity::Error, "document-too-large", &file, message).hint(hint));
        }
        let (document, found) = Document::parse(&content.bytes, &file);
        diagnostics.extend(found);
        let directory = directory_name(root);
        let name = name_of(&document, &directory, &file, diagnostics);
        let description = description_of(&document, &file, diagnostics);
        let tree = Tree::read(root);
        report_tree_problems(root, &tree, diagnostics);
        let files = tree.leaves().map(FileEntry::from).collect();
        let package = Self {
            root: root.to_path_buf(),
            directory,
            name,
            description,
            body: document.body().to_owned(),
            front_matter: document.front_matter.clone(),
            document: document.text.clone(),
            files,
            digest: tree.digest(),
        };
        Some((package, document))
    }

    /// Tokens of the body ([`tokens`]).
    pub fn body_tokens(&self) -> usize {
        tokens(&self.body)
    }
}

impl From<&Entry> for FileEntry {
    fn from(entry: &Entry) -> Self {
        let &Entry { kind, size, executable, digest, .. } = entry;
        Self { path: entry.path.to_string_lossy().into_owned(), kind, size, executable, digest }
    }
}

/// The name of the package's document in a folder: `SKILL.md`, else `skill.md`. Any other spelling
/// is missing to every client.
fn find_document(root: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<&'static str> {
    let error = |code, file: &Path, message: String, hint: &str| {
        Diagnostic::new(Severity::Error, code, file, message).hint(hint)
    };
    let listing = match fs::read_dir(root) {
        Ok(listing) => listing,
        Err(cause) => {
            let hint = "pass the folder that contains SKILL.md";
            diagnostics.push(error(
                "folder-unreadable",
                root,
                format!("cannot read the folder: {cause}"),
                hint,
            ));
            return None;
        }
    };
    let mut names: Vec<String> = listing
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_document_name(name))
        .collect();
    names.sort();
    let Some(found) =
        ["SKILL.md", "skill.md"].into_iter().find(|name| names.iter().any(|there| there == name))
    else {
        diagnostics.push(match names.first() {
            Some(other) => error(
                "document-case",
                &root.join(other),
                "no client recognizes this spelling".into(),
                "rename it to SKILL.md",
            ),
            None => error(
                "document-missing",
                root,
                "missing SKILL.md".into(),
                "pass the folder that contains SKILL.md, or add one",
            ),
        });
        return None;
    };
    let file = root.join(found);
    if found == "skill.md" {
        diagnostics.push(
            Diagnostic::new(
                Severity::Warning,
                "document-case",
                &file,
                "not every client recognizes `skill.md`",
            )
            .hint("rename it to SKILL.md"),
        );
    }
    if names.len() > 1 {
        let message =
            format!("{} files differ from SKILL.md only in case; `{found}` was read", names.len() - 1);
        diagnostics.push(
            Diagnostic::new(Severity::Warning, "document-twice", &file, message).hint("remove the others"),
        );
    }
    Some(found)
}

/// Whether a file name is `SKILL.md` in any case.
pub(crate) fn is_document_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("SKILL.md")
}

/// The folder's own name, even if it is given as `.`.
fn directory_name(root: &Path) -> String {
    let own = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    own(root)
        .or_else(|| fs::canonicalize(root).ok().and_then(|real| own(&real)))
        .unwrap_or_else(|| "skill".to_owned())
}

fn name_of(document: &Document, directory: &str, file: &Path, diagnostics: &mut Vec<Diagnostic>) -> String {
    let Some(name) = &document.name else {
        if !document.front_matter.contains_key("name") {
            diagnostics.push(
                Diagnostic::new(
                    Severity::Warning,
                    "name-missing",
                    file,
                    "missing `name`; the folder's name is used instead",
                )
                .at_line(document.yaml_line)
                .hint("add a `name:` line with the folder's name"),
            );
        }
        return directory.to_owned();
    };
    if name != directory {
        let message = format!("`name` is `{name}`, but the folder is named `{directory}`");
        diagnostics.push(
            Diagnostic::new(Severity::Warning, "name-directory", file, message)
                .at_line(document.line_of("name").unwrap_or(document.yaml_line))
                .hint("use the same name for both"),
        );
    }
    name.clone()
}

fn description_of(document: &Document, file: &Path, diagnostics: &mut Vec<Diagnostic>) -> String {
    if let Some(description) = &document.description {
        return description.clone();
    }
    let paragraph = document.first_paragraph();
    let message = match (document.front_matter.contains_key("description"), paragraph.is_empty()) {
        (_, true) => "missing description, and no paragraph to use instead",
        (true, false) => "the first paragraph is used as the description",
        (false, false) => "missing `description`; the first paragraph is used instead",
    };
    diagnostics.push(
        Diagnostic::new(Severity::Error, "description-missing", file, message)
            .at_line(document.line_of("description").unwrap_or(document.yaml_line))
            .hint("add a `description:` line that says what the skill does and when to use it: most clients skip a skill without one"),
    );
    paragraph
}

fn report_tree_problems(root: &Path, tree: &Tree, diagnostics: &mut Vec<Diagnostic>) {
    for problem in &tree.problems {
        let message = format!("cannot be read, so the package's digest is not reliable: {}", problem.source);
        diagnostics.push(
            Diagnostic::new(Severity::Error, "entry-unreadable", &problem.path, message)
                .hint("make it readable, or remove it from the package"),
        );
    }
    for entry in &tree.entries {
        let file = root.join(&entry.path);
        match entry.kind {
            FileKind::Link if tree::escapes(root, &entry.path) => diagnostics.push(
                Diagnostic::new(Severity::Warning, "link-escapes", file, "a link that leaves the package")
                    .hint("copy the file into the package: the link breaks when the skill is installed"),
            ),
            FileKind::Other => diagnostics.push(
                Diagnostic::new(Severity::Warning, "special-file", file, "not a file, folder or link")
                    .hint("remove it from the package"),
            ),
            _ => {}
        }
        if entry.path.to_str().is_none() {
            diagnostics.push(
                Diagnostic::new(
                    Severity::Warning,
                    "path-encoding",
                    root.join(&entry.path),
                    "path is not valid UTF-8",
                )
                .hint("rename it: not every client can open it"),
            );
        }
    }
}

#[cfg(test)]
mod tests;
