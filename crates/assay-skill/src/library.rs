//! Many skill packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assay_diagnostic::nearest;

use crate::package::is_document_name;
use crate::{Diagnostic, Package, Severity};

/// Every package found below some folders.
#[derive(Debug, Clone, Default)]
pub struct Library {
    /// The packages, sorted by folder name, then by path.
    pub packages: Vec<Package>,
    /// Diagnostics about them and about the search.
    pub diagnostics: Vec<Diagnostic>,
    /// The searched folders that are not packages: where a new package would appear.
    pub passed: Vec<PathBuf>,
}

/// Why a name does not lead to one package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// No package has the name.
    #[error("no skill is named `{name}`{}", suggestions(near))]
    Missing {
        /// The name that was looked up.
        name: String,
        /// Names that resemble it, nearest first.
        near: Vec<String>,
    },
    /// Several packages have the name.
    #[error("`{name}` is the name of {} skills: {}", paths.len(), listed(paths))]
    Ambiguous {
        /// The name that was looked up.
        name: String,
        /// Their paths.
        paths: Vec<PathBuf>,
    },
}

fn suggestions(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean `{}`?", near.join("`, `")) }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// How deep below a root packages are searched for. The implementation guide for clients recommends
/// 4 to 6.
pub const SCAN_DEPTH: usize = 6;
/// How many folders below one root are checked. The implementation guide for clients recommends
/// about 2,000; a library of the whole ecosystem has more, and each package is one.
pub const SCAN_FOLDERS: usize = 200_000;
/// Folders that are never looked into.
pub const SKIPPED: [&str; 9] =
    [".git", ".hg", ".svn", ".assay", "node_modules", "target", "__pycache__", ".venv", "venv"];

/// The folders of the packages below some folders, by the rules of [`Library::load`], with
/// diagnostics of the search.
pub fn find(roots: &[PathBuf]) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let mut library = Library::default();
    let folders = library.folders(roots);
    (folders, library.diagnostics)
}

impl Library {
    /// Reads every package below the folders: a folder that is itself a package, or those below it,
    /// [`SCAN_DEPTH`] folders deep. Files below a package belong to it. A folder reached twice
    /// counts once. A link is followed if its target is below the same root, or is a package of the
    /// same project, as in `.claude/skills/x` for `.agents/skills/x`; other links to folders are
    /// counted in a diagnostic.
    pub fn load(roots: &[PathBuf]) -> Self {
        let mut library = Self::default();
        for folder in library.folders(roots) {
            // Packages are copied, and found in the history of their repository, by the folder that a link leads to.
            let real = Some(&folder).filter(|folder| folder.is_symlink());
            let real = real.and_then(|folder| fs::canonicalize(folder).ok());
            let loaded = Package::load(&real.unwrap_or(folder));
            library.diagnostics.extend(loaded.diagnostics);
            library.packages.extend(loaded.package);
        }
        library.packages.sort_by(|a, b| (&a.directory, &a.root).cmp(&(&b.directory, &b.root)));
        library
    }

    /// The folders with a document below the roots, root by root.
    fn folders(&mut self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let mut seen = BTreeSet::new();
        let mut folders = Vec::new();
        for root in roots {
            let before = seen.len();
            folders.extend(self.find(root, &mut seen));
            if seen.len() == before && root.is_dir() {
                self.diagnostics.push(
                    Diagnostic::new(Severity::Warning, "library-empty", root, "no skill in this folder")
                        .hint("pass a folder that contains SKILL.md, or whose subfolders do"),
                );
            }
        }
        folders
    }

    /// The folders with a document below a root, sorted, without those in `seen`.
    fn find(&mut self, root: &Path, seen: &mut BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let base = match fs::canonicalize(root) {
            Ok(base) => base,
            Err(error) => {
                self.diagnostics.push(
                    Diagnostic::new(
                        Severity::Error,
                        "library-missing",
                        root,
                        format!("cannot be read: {error}"),
                    )
                    .hint("pass a folder that exists"),
                );
                return Vec::new();
            }
        };
        let mut found = Vec::new();
        let (project, mut outside) = (project_of(&base), Vec::new());
        let mut visited = BTreeSet::from([base.clone()]);
        let mut pending = vec![(root.to_path_buf(), 0)];
        while let Some((folder, depth)) = pending.pop() {
            let mut children = Vec::new();
            let mut is_package = false;
            let listing = match fs::read_dir(&folder) {
                Ok(listing) => listing,
                Err(error) => {
                    self.diagnostics.push(
                        Diagnostic::new(
                            Severity::Warning,
                            "folder-unreadable",
                            folder,
                            format!("cannot be read: {error}"),
                        )
                        .hint("pass a readable folder"),
                    );
                    continue;
                }
            };
            for entry in listing.flatten() {
                let name = entry.file_name();
                if name.to_str().is_some_and(is_document_name) {
                    is_package = true;
                    break;
                }
                let skipped = name.to_str().is_some_and(|name| SKIPPED.contains(&name));
                let may_be_folder = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_symlink());
                if may_be_folder && !skipped && depth < SCAN_DEPTH {
                    children.push(entry.path());
                }
            }
            if is_package {
                if fs::canonicalize(&folder).is_ok_and(|real| seen.insert(real)) {
                    found.push(folder);
                }
                continue;
            }
            self.passed.push(folder);
            for child in children {
                let Some(real) = fs::canonicalize(&child).ok().filter(|real| real.is_dir()) else { continue };
                let is_of_project = |project: &PathBuf| real.starts_with(project) && has_document(&real);
                if !real.starts_with(&base) && !project.as_ref().is_some_and(is_of_project) {
                    outside.push(child);
                    continue;
                }
                if visited.len() >= SCAN_FOLDERS {
                    let message = format!("more than {SCAN_FOLDERS} folders: the rest were not searched");
                    self.diagnostics.push(
                        Diagnostic::new(Severity::Error, "library-too-large", root, message)
                            .hint("name smaller folders"),
                    );
                    found.sort();
                    return found;
                }
                if visited.insert(real) {
                    pending.push((child, depth + 1));
                }
            }
        }
        self.report_outside(root, &mut outside);
        found.sort();
        found
    }

    /// Counts links to folders that are not followed.
    fn report_outside(&mut self, root: &Path, outside: &mut [PathBuf]) {
        let count = outside.len();
        if count == 0 {
            return;
        }
        outside.sort();
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let names: Vec<String> = outside.iter().filter_map(name).take(NAMED).collect();
        let more =
            if count > names.len() { format!(" and {} more", count - names.len()) } else { String::new() };
        let words = if count == 1 { "link leads out of it and is" } else { "links lead out of it and are" };
        let message = format!("{count} {words} not followed: {}{more}", names.join(", "));
        self.diagnostics.push(
            Diagnostic::new(Severity::Warning, "links-outside", root, message)
                .hint("name the folders that they lead to"),
        );
    }

    /// The package that a name leads to, by its front matter's name or its folder's name. Copies
    /// that are equal in folder name and digest are one.
    pub fn get(&self, name: &str) -> Result<&Package, LookupError> {
        let hits: Vec<&Package> = self
            .packages
            .iter()
            .filter(|package| package.name == name || package.directory == name)
            .collect();
        let Some(&first) = hits.first() else {
            return Err(LookupError::Missing { name: name.to_owned(), near: self.near(name) });
        };
        if hits.iter().all(|other| other.digest == first.digest && other.directory == first.directory) {
            return Ok(first);
        }
        let paths = hits.iter().map(|package| package.root.clone()).collect();
        Err(LookupError::Ambiguous { name: name.to_owned(), paths })
    }

    fn near(&self, name: &str) -> Vec<String> {
        let packages = self.packages.iter();
        nearest(name, packages.flat_map(|package| [package.name.as_str(), package.directory.as_str()]))
    }
}

/// How many links that are not followed are named.
const NAMED: usize = 5;

/// The project that a folder of skills belongs to: its repository, or the folder that contains the
/// client's folder, such as `.claude`.
fn project_of(base: &Path) -> Option<PathBuf> {
    if let Some(repository) = base.ancestors().find(|folder| folder.join(".git").exists()) {
        return Some(repository.to_path_buf());
    }
    let client = base.parent().filter(|_| base.ends_with("skills"))?;
    let is_hidden =
        client.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with('.'));
    client.parent().filter(|_| is_hidden).map(Path::to_path_buf)
}

/// Whether a folder is a package.
fn has_document(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).any(|name| is_document_name(&name))
}

#[cfg(test)]
mod tests;
