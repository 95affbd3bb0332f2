//! The four trees of an evaluation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::request::{EvaluationError, Request};
use super::twins::find_twins;
use crate::paths::{clean, relative};
use crate::policy::Policy;
use crate::repository::{EntryKind, Listing, Repository};
use crate::rules::SKILL;

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
    /// Links that lead out of the tree, and are not written: nothing of the machine is read through them.
    outside: BTreeMap<PathBuf, PathBuf>,
    /// The file by which a folder is a skill, by the folder: SKILL.md, or one whose name differs in case.
    skill_files: BTreeMap<PathBuf, PathBuf>,
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

    /// What a link names.
    pub(super) fn link(&self, path: &Path) -> PathBuf {
        let written = || std::fs::read_link(self.folder.join(path)).unwrap_or_default();
        self.outside.get(path).cloned().unwrap_or_else(written)
    }

    /// Whether the way to a path leads out of the tree.
    pub(super) fn leads_outside(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.outside.contains_key(above))
    }

    /// The file by which a folder is a skill.
    pub(super) fn skill_file(&self, folder: &Path) -> Option<&Path> {
        self.skill_files.get(folder).map(PathBuf::as_path)
    }

    /// Removes links that another tree does not have and that lead out of the folder.
    fn leave_out_links(&mut self, known: &Listing) -> Result<(), EvaluationError> {
        let links = self.listing.iter().filter(|(_, entry)| entry.kind == EntryKind::Link);
        for (path, _) in links.filter(|(path, entry)| known.get(*path) != Some(*entry)) {
            let at = self.folder.join(path);
            if std::fs::canonicalize(&at).is_ok_and(|real| !real.starts_with(&self.folder)) {
                let leads = std::fs::read_link(&at).unwrap_or_default();
                // A folder in its place: patterns of skills match it.
                std::fs::remove_file(&at)
                    .and_then(|()| std::fs::create_dir(&at))
                    .map_err(|source| EvaluationError::Write { path: at, source })?;
                self.outside.insert(path.clone(), leads);
            }
        }
        Ok(())
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
    /// Pairs of paths of the merge result that other systems take for one, and that the target does not have.
    pub(super) new_twins: Vec<(PathBuf, PathBuf)>,
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
        let mut read = |id: String, is_trusted: bool| -> Result<Tree, EvaluationError> {
            if let Some(tree) = known.iter().find(|tree| tree.id == id) {
                return Ok(tree.clone());
            }
            let folder = repository.folder(&format!("files-{}", known.len()))?;
            let listing = repository.list(&id)?;
            repository.checkout(&listing, &folder)?;
            let skill_files = skill_files(&listing);
            let mut tree = Tree { id, listing, folder, outside: BTreeMap::new(), skill_files };
            // The others are in the history of the target, or a maintainer's word covers them.
            if !is_trusted {
                tree.leave_out_links(known.first().map_or(&Listing::new(), |target| &target.listing))?;
            }
            known.push(tree.clone());
            Ok(tree)
        };
        let has_word = request.trust.is_some();
        let target = read(repository.tree(&target_commit)?, true)?;
        let base = read(repository.tree(&base_commit)?, true)?;
        let head = read(head, has_word)?;
        let merged_tree = read(merged.tree, has_word)?;
        let old = find_twins(&target.listing);
        let new_twins =
            find_twins(&merged_tree.listing).into_iter().filter(|pair| !old.contains(pair)).collect();
        Ok(Self {
            target,
            base,
            head,
            merged: merged_tree,
            conflicts: merged.conflicts,
            new_twins,
            target_commit,
            base_commit,
        })
    }

    /// The path of a skill of the merge result, through links that the target has as well. A new link is not followed: it is in
    /// the place of a folder.
    pub(super) fn follow_known_links(&self, folder: &Path) -> Option<PathBuf> {
        let path = relative(&self.merged.folder, folder)?;
        let links = path.ancestors().filter_map(|above| Some((above, self.merged.listing.get(above)?)));
        let are_known = links.clone().all(|(above, link)| self.target.listing.get(above) == Some(link));
        if !are_known {
            return Some(path);
        }
        let real = std::fs::canonicalize(folder).ok().and_then(|real| relative(&self.merged.folder, &real));
        // A link that leads to another one, or outside.
        Some(real.filter(|real| self.merged.find(real) == PathKind::Folder).unwrap_or(path))
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

/// The files by which folders are skills. SKILL.md comes before one whose name differs in case.
fn skill_files(listing: &Listing) -> BTreeMap<PathBuf, PathBuf> {
    let mut found = BTreeMap::new();
    for path in listing.keys() {
        let name = path.file_name().unwrap_or_default();
        if !name.eq_ignore_ascii_case(SKILL) {
            continue;
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        if name == SKILL || !found.contains_key(&folder) {
            found.insert(folder, path.clone());
        }
    }
    found
}
