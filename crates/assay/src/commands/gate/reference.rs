//! The version that a skill may not fall behind, however many merges lie between: that of the last release.

use std::path::Path;
use std::process::{Command, Stdio};

use assay_gate::LedgerEntry;

/// The commit of the reference version of a skill, if that is another version than the one at the target.
///
/// The newest release is the newest tag with a number in its name that the target's history contains and that has the
/// skill. Without one it is the target at the first look at the skill that the ledger knows of, or a later version that
/// was shown to be better than the reference of its time and is part of the target's history.
pub(super) fn reference(folder: &Path, target: &str, skill: &str, looks: &[&LedgerEntry]) -> Option<String> {
    let has = |commit: &str| tree(folder, commit, skill).is_some();
    let found = release(folder, target, skill).or_else(|| {
        let first = looks.iter().find_map(|entry| entry.opening.target_commit.clone());
        let better = looks.iter().filter(|entry| entry.passed() && is_better(entry));
        let merged = better.filter_map(|entry| entry.opening.head_commit.as_deref());
        let best = merged.rev().find(|commit| is_ancestor(folder, commit, target) && has(commit));
        best.map(str::to_owned).or(first).filter(|commit| has(commit))
    })?;
    // The same files need no trials of their own.
    (tree(folder, &found, skill) != tree(folder, target, skill)).then_some(found)
}

/// Whether a version was shown to be better than the one that it was compared with.
fn is_better(entry: &LedgerEntry) -> bool {
    let completion = entry.completion.as_ref();
    completion.and_then(|completion| completion.bound).is_some_and(|bound| bound > 0.0)
}

fn release(folder: &Path, target: &str, skill: &str) -> Option<String> {
    let tags = git(folder, &["tag", "--merged", target, "--sort=-creatordate", "--format=%(refname:short)"])?;
    tags.lines()
        .filter(|tag| tag.chars().any(|c| c.is_ascii_digit()))
        .find(|tag| tree(folder, &format!("refs/tags/{tag}"), skill).is_some())
        .and_then(|tag| {
            git(folder, &["rev-parse", "--verify", "--quiet", &format!("refs/tags/{tag}^{{commit}}")])
        })
}

/// The object of a skill's folder at a commit, if it has a SKILL.md there. The folder is relative to `folder`.
fn tree(folder: &Path, commit: &str, skill: &str) -> Option<String> {
    let at = |path: &str| git(folder, &["rev-parse", "--verify", "--quiet", &format!("{commit}:./{path}")]);
    at(&format!("{skill}/SKILL.md"))?;
    at(skill)
}

fn is_ancestor(folder: &Path, commit: &str, of: &str) -> bool {
    git(folder, &["merge-base", "--is-ancestor", commit, of]).is_some()
}

/// The output of a Git command that succeeds.
fn git(folder: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args).stdin(Stdio::null()).stderr(Stdio::null()).env("LC_ALL", "C");
    // A hook of another repository may have set them.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_release_with_the_skill_is_the_reference() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let run = |args: &[&str]| {
            let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
            assert!(git(path, &[&identity[..], args].concat()).is_some(), "{args:?}");
        };
        let head = || git(path, &["rev-parse", "HEAD"]).unwrap();
        let mut day = 0;
        let mut save = |skill: &str, text: &str, tag: &str| {
            day += 1;
            std::fs::create_dir_all(path.join("ci/skills").join(skill)).unwrap();
            std::fs::write(path.join("ci/skills").join(skill).join("SKILL.md"), text).unwrap();
            run(&["add", "--all"]);
            let date = format!("2026-01-0{day}T00:00:00Z");
            let committed = Command::new("git")
                .arg("-C")
                .arg(path)
                .args(["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", text])
                .env("GIT_COMMITTER_DATE", date)
                .status();
            assert!(committed.unwrap().success());
            if !tag.is_empty() {
                run(&["tag", tag]);
            }
            head()
        };
        run(&["init", "-q", "--initial-branch=main"]);
        let first = save("a", "one", "v1.0");
        let second = save("a", "two", "v1.1");
        save("a", "three", "latest");
        let target = save("b", "other", "");
        let found = |target: &str, skill: &str| reference(&path.join("ci"), target, skill, &[]);
        // A tag without a number is no release, and a skill that no release has is compared with nothing.
        assert_eq!(found(&target, "skills/a"), Some(second.clone()));
        assert_eq!(found(&target, "skills/b"), None);
        // A release that the target does not contain is none of its, and the same version is no other one.
        assert_eq!((found(&first, "skills/a"), found(&second, "skills/a")), (None, None));
        run(&["tag", "v2.0", &target]);
        assert_eq!(found(&target, "skills/a"), None);
    }
}
