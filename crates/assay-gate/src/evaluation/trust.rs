//! A maintainer's word for changed rules, bound to one commit.

use super::request::EvaluationError;
use super::tree::Trees;
use crate::repository::Repository;

/// Checks that `--trust-changes` names the head of the pull request that is checked out, and nothing else is.
///
/// The head is HEAD, or the second parent of a HEAD whose first is the target and whose tree is the merge of both: a merge
/// commit of the forge. A merge with a tree of its own would apply rules that nobody saw.
pub(super) fn check(repository: &Repository, trees: &Trees, sha: &str) -> Result<(), EvaluationError> {
    let refuse = |message: String| Err(EvaluationError::Trust(format!("`--trust-changes {sha}`: {message}")));
    let is_full = matches!(sha.len(), 40 | 64) && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_full {
        return refuse("not the full name of a commit, of 40 or 64 hexadecimal digits".to_owned());
    }
    if let Some(conflict) = trees.conflicts.first() {
        let path = conflict.display();
        return refuse(format!("{path} conflicts with the target: merge the target into the branch"));
    }
    if trees.head.id != repository.tree(&repository.head)? {
        return refuse("the working tree has changes that no commit contains".to_owned());
    }
    let sha = sha.to_lowercase();
    if sha == repository.head {
        return Ok(());
    }
    let parents = repository.parents(&repository.head)?;
    if let [first, second] = parents.as_slice()
        && *first == trees.target_commit
        && *second == sha
    {
        let merged = repository.merge_commits(first, second)?;
        if merged.conflicts.is_empty() && merged.tree == trees.head.id {
            return Ok(());
        }
        return refuse(format!("HEAD is a merge of it that also changes files: {}", repository.head));
    }
    refuse(format!(
        "the head of the pull request is {}",
        parents.get(1).filter(|_| parents.first() == Some(&trees.target_commit)).unwrap_or(&repository.head)
    ))
}
