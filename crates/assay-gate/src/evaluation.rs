//! What a gate evaluates of a pull request: its skills by the rules of the target.
//!
//! T is the tip of the target, H the working tree, B where their histories meet, and M the merge of H into T. Rules are T's,
//! or M's with a maintainer's word. Skills are M's. What changed is found between B and H.

mod layout;
mod lineage;
mod patterns;
mod problem;
mod request;
mod skills;
mod subject;
mod tree;
mod trust;
mod twins;
mod weakened;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::PolicyError;
use crate::paths::clean;
use crate::policy::Policy;
use crate::repository::{Listing, Repository, RepositoryError};
use crate::rules::{Rules, SETTINGS};
use crate::terms::Terms;

pub use self::request::{EvaluationError, Request};
use self::skills::SkillIndex;
pub use self::subject::{Change, Subject};
use self::tree::Trees;
use self::weakened::Places;

/// The skills of a pull request, with the rules by which they are measured.
#[derive(Debug)]
pub struct Evaluation {
    repository: Repository,
    /// The folder with the files that are evaluated: the settings of the target lie in it as in the repository.
    pub root: PathBuf,
    /// The folder of the command in `root`, if it is in the repository.
    pub directory: Option<PathBuf>,
    /// The tip of the target.
    pub target: String,
    /// Where the histories meet.
    pub base: String,
    /// The policy that applies; `None` if the target has none.
    pub policy: Option<Policy>,
    /// What it demands of each skill, by the skill's folder in the pull request.
    pub terms: Terms,
    /// The skills.
    pub subjects: Vec<Subject>,
    /// What the pull request's policy would demand, if none applies.
    pub proposed: Option<Terms>,
    /// Paths of rules that the pull request changes.
    pub rules_changed: Vec<String>,
    /// Those that are not applied.
    pub untrusted: Vec<String>,
    /// How the pull request's rules demand less.
    pub weakened: Vec<String>,
    /// Whether the changed rules apply.
    pub is_trusted: bool,
    files: Listing,
}

impl Evaluation {
    /// Reads the trees and lays out what is evaluated in a temporary folder. Nothing of the working tree changes, and nothing
    /// of it is executed.
    ///
    /// # Errors
    /// See [`EvaluationError`].
    pub fn prepare(request: &Request<'_>) -> Result<Self, EvaluationError> {
        let (repository, policy_path) = locate(request.policy, request.directory)?;
        let trees = Trees::read(&repository, request).map_err(|error| match error {
            EvaluationError::Repository(error) => repository.explain(error, request.revision).into(),
            error => error,
        })?;
        let is_trusted = match request.trust {
            Some(sha) => trust::check(&repository, &trees, sha).map(|()| true)?,
            None => false,
        };
        let rules_tree = if is_trusted { &trees.merged } else { &trees.target };
        let policy_directory = policy_path.parent().unwrap_or(Path::new(""));
        let load = |root: &Path| Policy::load(&root.join(&policy_path));
        let policy = rules_tree.has(&policy_path).then(|| load(&rules_tree.folder)).transpose()?;
        let top = clean(&repository.top);
        let inside = |path: &Path| {
            std::path::absolute(path)
                .ok()
                .and_then(|path| clean(&path).strip_prefix(&top).ok().map(Path::to_owned))
        };
        let own_directory = inside(request.directory);
        let root = repository.folder("tree")?;
        repository.checkout(&rules_tree.listing, &root)?;
        repository.adopt(&root)?;

        let before = trees.base.has(&policy_path).then(|| load(&trees.base.folder).ok()).flatten();
        let proposed = propose(&trees, &policy_path, request.policy)?;
        let settings = settings_of(&trees, own_directory.as_deref());
        let mut rules = rules_of(&trees, policy.as_ref(), before.as_ref(), &policy_path);
        rules.extend(settings.clone());
        let mut rules_changed = Vec::new();
        for changed in repository.changed(&trees.base.id, &trees.head.id)? {
            let paths = std::iter::once(&changed.path).chain(&changed.from);
            rules_changed
                .extend(paths.filter(|path| rules.contains(path)).map(|path| path.display().to_string()));
        }
        let index = match &policy {
            Some(policy) => {
                let directory = rules_tree.folder.join(policy_directory);
                let index = SkillIndex::of(&repository, &trees, policy, &directory)?;
                index.check_patterns(request.policy)?;
                Some(index)
            }
            None => None,
        };
        let moved = index.as_ref().map_or_else(BTreeMap::new, SkillIndex::moved);
        let weakened = weakened_rules(&trees, &rules, &moved, (&policy_path, own_directory.as_deref()));
        let mut evaluation = Self {
            root,
            directory: None,
            target: trees.target_commit.clone(),
            base: trees.base_commit.clone(),
            policy: None,
            terms: Terms::default(),
            subjects: Vec::new(),
            proposed: None,
            rules_changed,
            untrusted: Vec::new(),
            weakened,
            is_trusted,
            files: trees.head.listing.clone(),
            repository,
        };
        evaluation.directory = own_directory.map(|path| evaluation.root.join(path));
        if let Some(index) = index {
            let found = index.lay_out(&evaluation.root, policy_directory, &settings, is_trusted)?;
            evaluation.policy = Some(found.policy);
            evaluation.terms = found.terms;
            evaluation.subjects = found.subjects;
            evaluation.untrusted = found.untrusted;
        } else {
            let given = request.policy.display().to_string();
            let proposed = proposed
                .unwrap_or_else(|| load(&trees.head.folder).map_err(|error| error.at(request.policy)))?;
            trees.check_other_policies(&proposed, &given, request.revision)?;
            evaluation.proposed = Some(Terms::of(&proposed));
        }
        if !is_trusted {
            evaluation.untrusted.extend(evaluation.rules_changed.iter().cloned());
        }
        for list in [&mut evaluation.untrusted, &mut evaluation.rules_changed] {
            list.sort();
            list.dedup();
        }
        Ok(evaluation)
    }

    /// The pattern of a policy that matches no skill in its own folder.
    pub fn unmatched(policy: &Policy) -> Option<EvaluationError> {
        patterns::unmatched(policy, &policy.path, &[&policy.directory])
    }

    /// A text in which files of the trees are named as in the repository.
    pub fn shorten(&self, text: &str) -> String {
        self.repository.shorten(text)
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        &self.repository.top
    }

    /// The commit that is checked out.
    pub fn head(&self) -> &str {
        &self.repository.head
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Whether Git tracks a file at a path or below it.
    pub fn tracks(&self, path: &Path) -> bool {
        self.files.keys().any(|file| file.starts_with(path))
    }
}

/// The repository of a policy, and the policy's path in it. That of the working folder comes first: a link or a submodule in the
/// place of the policy's folder leads to no other.
fn locate(policy: &Path, directory: &Path) -> Result<(Repository, PathBuf), EvaluationError> {
    let absolute =
        |path: &Path| std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| clean(&path));
    let path = absolute(policy);
    let inside = |repository: &Repository, path: &Path| {
        let top = std::fs::canonicalize(&repository.top).unwrap_or_else(|_| repository.top.clone());
        [repository.top.clone(), top].iter().find_map(|top| path.strip_prefix(top).ok().map(Path::to_owned))
    };
    if let Ok(repository) = Repository::around(directory) {
        let real = std::fs::canonicalize(directory).unwrap_or_else(|_| absolute(directory));
        let given = if policy.is_absolute() { path.clone() } else { clean(&real.join(policy)) };
        if let Some(found) = inside(&repository, &given) {
            return Ok((repository, found));
        }
    }
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let repository = Repository::around(&real)?;
    let rest = path.strip_prefix(folder).unwrap_or(&path);
    let found = inside(&repository, &real.join(rest)).ok_or_else(|| RepositoryError::None {
        folder: folder.to_owned(),
        message: "the policy is outside of the work tree".to_owned(),
    })?;
    Ok((repository, found))
}

/// The policy of the pull request, if it has one. A mistake in it is an error; what cannot be read is none yet.
fn propose(
    trees: &Trees,
    path: &Path,
    given: &Path,
) -> Result<Option<Result<Policy, PolicyError>>, EvaluationError> {
    let head = &trees.head;
    if head.leads_outside(path) {
        let source = std::io::Error::other("a symbolic link leads out of the repository");
        return Ok(Some(Err(PolicyError::Read { path: given.to_owned(), source })));
    }
    if !head.folder.join(path).is_file() {
        return Ok(None);
    }
    match Policy::load(&head.folder.join(path)).map_err(|error| error.at(given)) {
        Err(error @ PolicyError::Invalid { .. }) => Err(error.into()),
        found => Ok(Some(found)),
    }
}

/// How the pull request demands less than where it began, and the merge less than the target: a branch may begin before the
/// target had a rule.
fn weakened_rules(
    trees: &Trees,
    rules: &Rules,
    moved: &BTreeMap<PathBuf, PathBuf>,
    (policy, directory): (&Path, Option<&Path>),
) -> Vec<String> {
    let of = |base, head| weakened::find(&Places { base, head, moved }, policy, directory);
    let mut found = of(&trees.base, &trees.head);
    if (&trees.base.id, &trees.head.id) != (&trees.target.id, &trees.merged.id) {
        for more in of(&trees.target, &trees.merged) {
            if !found.contains(&more) {
                found.push(more);
            }
        }
    }
    let twins = trees.new_twins.iter().filter(|(one, other)| rules.contains(one) || rules.contains(other));
    found.extend(twins.map(|(one, other)| {
        format!(
            "{} and {} are the same path on case-insensitive file systems",
            one.display(),
            other.display()
        )
    }));
    found
}

/// The files by which the command is set up.
fn settings_of(trees: &Trees, directory: Option<&Path>) -> Rules {
    let mut rules = Rules::default();
    for tree in [&trees.target, &trees.head] {
        let folder = tree.folder.join(directory.unwrap_or(Path::new("")));
        let file = folder.join(SETTINGS);
        rules.add(&tree.folder, &file);
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let Ok(settings) = text.parse::<toml::Table>() else { continue };
        let lint = settings.get("lint").and_then(toml::Value::as_table);
        let named = [settings.get("prices"), lint.and_then(|lint| lint.get("baseline"))];
        for path in named.into_iter().flatten().filter_map(toml::Value::as_str) {
            rules.add(&tree.folder, &folder.join(path));
        }
    }
    rules
}

/// The rules of the target, of the common ancestor and of the pull request.
fn rules_of(trees: &Trees, policy: Option<&Policy>, before: Option<&Policy>, policy_path: &Path) -> Rules {
    let mut rules = Rules::default();
    for tree in [&trees.target, &trees.base, &trees.head] {
        rules.add(&tree.folder, &tree.folder.join(policy_path));
    }
    let folder = policy_path.parent().unwrap_or(Path::new(""));
    let mut add = |policy: &Policy, root: &Path| {
        rules.extend(Rules::of(&policy.in_folder(&root.join(folder)), root));
    };
    if let Some(policy) = policy {
        add(policy, &trees.target.folder);
        // What the pull request adds in a place where the target's rules look.
        add(policy, &trees.head.folder);
    }
    if let Some(before) = before {
        add(before, &trees.base.folder);
    }
    if let Ok(proposed) = Policy::load(&trees.head.folder.join(policy_path)) {
        add(&proposed, &trees.head.folder);
    }
    rules
}
