//! The four trees of an evaluation.

use std::path::{Path, PathBuf};

use super::request::{EvaluationError, Request};
use crate::paths::{clean, relative};
use crate::policy::Policy;
use crate::repository::{EntryKind, Listing, Repository};

/// How policies begin: other files are not read as such.
const SCHEMA: &str = "assay.gate-policy/";

/// The largest file that may be a policy.
const LARGEST: u64 = 1 << 20;

/// A tree with its files.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// Its name in Git.
    pub(super) id: String,
    /// The files.
    pub(super) listing: Listing,
    /// Where they are written.
    pub(super) folder: PathBuf,
}

/// What lies at a path of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathKind {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A file, a link or a submodule: at this path, or instead of one of its parent folders.
    Other(&'static str),
}

impl Tree {
    /// Whether there is a file, or a link, at a path.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.listing.contains_key(path)
    }

    /// What lies at a path. Links are not followed.
    pub(super) fn find(&self, path: &Path) -> PathKind {
        for above in path.ancestors().filter(|above| !above.as_os_str().is_empty()) {
            if let Some(entry) = self.listing.get(above) {
                return PathKind::Other(match entry.kind {
                    EntryKind::File => "a file",
                    EntryKind::Link => "a symbolic link",
                    EntryKind::Submodule => "a submodule",
                });
            }
        }
        // Paths below a folder follow its own in the order of paths.
        let next = self.listing.range(path.to_owned()..).next();
        if next.is_some_and(|(next, _)| next.starts_with(path)) {
            PathKind::Folder
        } else {
            PathKind::Nothing
        }
    }

    /// The entries at a path and below it, relative to it.
    pub(super) fn below(&self, path: &Path) -> Vec<(PathBuf, &crate::repository::Entry)> {
        self.listing
            .range(path.to_owned()..)
            .take_while(|(found, _)| found.starts_with(path))
            .map(|(found, entry)| (found.strip_prefix(path).unwrap_or(found).to_owned(), entry))
            .collect()
    }
}

/// The trees of a pull request.
#[derive(Debug)]
pub(super) struct Trees {
    pub(super) target_commit: String,
    pub(super) base_commit: String,
    /// T.
    pub(super) target: Tree,
    /// B.
    pub(super) base: Tree,
    /// H.
    pub(super) head: Tree,
    /// M.
    pub(super) merged: Tree,
    /// Paths that cannot be merged.
    pub(super) conflicts: Vec<PathBuf>,
}

impl Trees {
    pub(super) fn read(repository: &Repository, request: &Request<'_>) -> Result<Self, EvaluationError> {
        let target_commit = repository.commit(request.revision)?;
        let base_commit = repository.merge_base(&target_commit)?;
        let left_out: Vec<PathBuf> = request
            .left_out
            .iter()
            .filter_map(|path| std::path::absolute(path).ok())
            .filter_map(|path| relative(&repository.top, &clean(&path)))
            .collect();
        let head = repository.snapshot(&left_out)?;
        let merged = if repository.is_ancestor(&target_commit, &repository.head) {
            crate::repository::Merged { tree: head.clone(), conflicts: Vec::new() }
        } else {
            repository.merge(&target_commit, &head)?
        };
        let mut known: Vec<Tree> = Vec::new();
        let mut read = |id: String| -> Result<Tree, EvaluationError> {
            if let Some(tree) = known.iter().find(|tree| tree.id == id) {
                return Ok(tree.clone());
            }
            let folder = repository.folder(&format!("files-{}", known.len()))?;
            let listing = repository.list(&id)?;
            repository.checkout(&listing, &folder)?;
            let tree = Tree { id, listing, folder };
            known.push(tree.clone());
            Ok(tree)
        };
        Ok(Self {
            target: read(repository.tree(&target_commit)?)?,
            base: read(repository.tree(&base_commit)?)?,
            head: read(head)?,
            merged: read(merged.tree)?,
            conflicts: merged.conflicts,
            target_commit,
            base_commit,
        })
    }

    /// Refuses a policy that the target does not have, if another one of the target covers one of its skills.
    pub(super) fn check_other_policies(
        &self,
        proposed: &Policy,
        given: &str,
        revision: &str,
    ) -> Result<(), EvaluationError> {
        let skills = |policy: &Policy, root: &Path| -> Vec<PathBuf> {
            policy.skills().iter().filter_map(|(folder, _)| relative(root, folder)).collect()
        };
        let own = skills(proposed, &self.head.folder);
        let skill_file = |skill: &Path| skill.join("SKILL.md");
        let is_new = own.iter().any(|skill| !self.target.has(&skill_file(skill)));
        for (path, entry) in &self.target.listing {
            let is_toml = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
            if !is_toml || entry.kind != EntryKind::File {
                continue;
            }
            let file = self.target.folder.join(path);
            if file.metadata().is_ok_and(|metadata| metadata.len() > LARGEST) {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if !text.contains(SCHEMA) {
                continue;
            }
            let Ok(policy) = Policy::parse(&file, &text) else { continue };
            let mut covered = skills(&policy, &self.target.folder);
            // A skill that is gone may be one that is new elsewhere.
            let gone = covered.iter().find(|skill| is_new && !self.head.has(&skill_file(skill))).cloned();
            // What it covers where the pull request put it.
            let folder = self.head.folder.join(path.parent().unwrap_or(Path::new("")));
            covered.extend(skills(&policy.in_folder(&folder), &self.head.folder));
            if let Some(skill) = own.iter().find(|skill| covered.contains(skill)).or(gone.as_ref()) {
                return Err(EvaluationError::OtherPolicy {
                    given: given.to_owned(),
                    known: path.display().to_string(),
                    skill: skill.display().to_string(),
                    target: revision.to_owned(),
                });
            }
        }
        Ok(())
    }
}
