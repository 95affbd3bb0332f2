//! Registration of a plan: its digest in an annotated tag, written before the trials.
//!
//! The date of a tag is what the clock of its writer said. A tag that was pushed before the trials proves more: the host of the
//! repository knows when it came.

use std::path::Path;

use assay_analysis::{Registration, Report};
use jiff::Timestamp;

use crate::git::{Git, GitError};

/// How the tag of a plan begins; 12 digits of the plan's digest follow.
const PREFIX: &str = "assay-plan/";

/// The digits of a digest in the name of its tag.
const DIGITS: usize = 12;

/// A tag with the digest of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredPlan {
    /// The tag.
    pub tag: String,
    /// When it was written, by the clock of its writer.
    pub at: Timestamp,
    /// Whether this call wrote it.
    pub is_new: bool,
}

impl RegisteredPlan {
    /// What was done, for people.
    pub fn sentence(&self) -> String {
        let Self { tag, at, is_new } = self;
        if *is_new {
            format!(
                "registered the plan in the tag {tag}; push it before the trials: `git push origin {tag}`"
            )
        } else {
            format!("the plan has been registered since {at}, in the tag {tag}")
        }
    }
}

/// Why a plan is not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegistrationError {
    /// The experiment is in no repository.
    #[error("cannot register the plan: {} is not in a Git repository (hint: `git init`, and commit the experiment)", folder.display())]
    NoRepository {
        /// The experiment's folder.
        folder: std::path::PathBuf,
    },
    /// The repository has no commit that a tag could name.
    #[error("cannot register the plan: the repository of {} has no commit that a tag could name (hint: commit the experiment)", folder.display())]
    NoCommit {
        /// The experiment's folder.
        folder: std::path::PathBuf,
    },
    /// A tag of that name has something else.
    #[error("cannot register the plan: the tag {tag} is not that of the plan {plan}")]
    OtherTag {
        /// The tag.
        tag: String,
        /// The plan's digest.
        plan: String,
    },
    /// Git failed.
    #[error("cannot register the plan: git: {0}")]
    Git(#[from] GitError),
}

/// Writes the digest of a plan to an annotated tag of the repository that a folder is in. A plan that has one keeps it.
///
/// # Errors
/// No repository, no commit, a tag of another content, and failures of Git.
pub fn register_plan(folder: &Path, run: &str, plan: &str) -> Result<RegisteredPlan, RegistrationError> {
    let folder = &std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let git = Git::of_ledger(folder);
    if git.text(&["rev-parse", "--git-dir"]).is_err() {
        return Err(RegistrationError::NoRepository { folder: folder.to_owned() });
    }
    if git.text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).is_err() {
        return Err(RegistrationError::NoCommit { folder: folder.to_owned() });
    }
    if let Some(found) = registered_plan(folder, plan) {
        return Ok(found);
    }
    let tag = tag_of(plan);
    let message = format!("assay plan {run}\n\n{}\n", line_of(plan));
    let made = git.text(&["tag", "--annotate", "--no-sign", "--message", &message, "--", &tag, "HEAD"]);
    match (registered_plan(folder, plan), made) {
        (Some(found), made) => Ok(RegisteredPlan { is_new: made.is_ok(), ..found }),
        (None, Err(error))
            if git.text(&["rev-parse", "--verify", "--quiet", &format!("refs/tags/{tag}")]).is_err() =>
        {
            Err(error.into())
        }
        (None, _) => Err(RegistrationError::OtherTag { tag, plan: plan.to_owned() }),
    }
}

/// The tag with the digest of a plan in the repository that a folder is in; `None` without one, without a repository, and
/// without Git.
pub fn registered_plan(folder: &Path, plan: &str) -> Option<RegisteredPlan> {
    let tag = tag_of(plan);
    // The time of the tag, which a tag that is not annotated does not have.
    let format = "--format=%(taggerdate:iso-strict)%00%(contents)";
    let found = Git::of_user(folder).text(&["for-each-ref", format, &format!("refs/tags/{tag}")]).ok()?;
    let (date, message) = found.split_once('\0')?;
    let line = line_of(plan);
    let at = date.parse().ok()?;
    message.lines().any(|own| own == line).then_some(RegisteredPlan { tag, at, is_new: false })
}

/// Looks for the registration of a report's plan in the repository of its experiment.
pub fn find_registration(report: &mut Report) {
    let folder = report.experiment.as_deref().and_then(Path::parent);
    let found = folder.and_then(|folder| registered_plan(folder, &report.provenance.plan));
    let measured = report.provenance.measured.as_ref();
    report.registration = found.map(|found| Registration::of(found.tag, found.at, measured));
}

fn tag_of(plan: &str) -> String {
    let digits = plan.split_once(':').map_or(plan, |(_, digits)| digits);
    format!("{PREFIX}{}", digits.chars().take(DIGITS).collect::<String>())
}

fn line_of(plan: &str) -> String {
    format!("plan: {plan}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::git;

    const PLAN: &str = "blake3:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    #[test]
    fn a_plan_is_registered_once() {
        let folder = tempfile::tempdir().unwrap();
        let register = || register_plan(folder.path(), "lab", PLAN);
        let inside = folder.path().join("experiments");
        std::fs::create_dir(&inside).unwrap();
        assert!(matches!(register(), Err(RegistrationError::NoRepository { .. })));
        git(folder.path(), &["init", "--quiet"]);
        assert!(matches!(register(), Err(RegistrationError::NoCommit { .. })));
        git(folder.path(), &["commit", "--quiet", "--allow-empty", "--message", "first"]);
        assert_eq!(registered_plan(&inside, PLAN), None);
        let before = Timestamp::now().as_second();
        let found = register().unwrap();
        assert_eq!((found.tag.as_str(), found.is_new), ("assay-plan/001122334455", true));
        assert!((before..=Timestamp::now().as_second()).contains(&found.at.as_second()), "{}", found.at);
        // The same plan again, and from another folder of the repository.
        let again = register_plan(&inside, "lab", PLAN).unwrap();
        assert_eq!(again, RegisteredPlan { is_new: false, ..found.clone() });
        assert_eq!(registered_plan(&inside, PLAN), Some(again));
        // Another plan, and one whose first digits are the same.
        let other = PLAN.replace("ff", "00");
        assert_eq!(registered_plan(&inside, &other), None);
        assert!(matches!(register_plan(&inside, "lab", &other), Err(RegistrationError::OtherTag { .. })));
    }

    #[test]
    fn a_tag_without_a_date_registers_nothing() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"]);
        let message = format!("first\n\nplan: {PLAN}");
        git(folder.path(), &["commit", "--quiet", "--allow-empty", "--message", &message]);
        git(folder.path(), &["tag", "assay-plan/001122334455"]);
        assert_eq!(registered_plan(folder.path(), PLAN), None);
    }
}
