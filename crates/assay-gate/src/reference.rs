//! The version that a skill may not fall behind, however many merges lie between: that of the last release, or the best one
//! that passed.

use std::path::Path;

use assay_skill::Package;

use crate::git::Git;
use crate::ledger::{LedgerEntry, Reference, content};
use crate::policy::Requirement;
use crate::repository::Repository;
use crate::terms::SkillTerms;

/// Commits of the target's history in which a version is looked for.
const COMMITS: &str = "--max-count=100";

/// A skill in the history of the branch that is merged into.
#[derive(Debug, Clone, Copy)]
pub struct SkillHistory<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The tip of the target.
    pub target: &'a str,
    /// The policy's folder, relative to the top of the repository.
    pub directory: &'a Path,
    /// The skill's folder at the target, relative to that of the policy.
    pub skill: &'a str,
    /// The digest of its normalized text there.
    pub content: &'a str,
}

/// The version that a skill is also compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceVersion {
    /// The digest of its normalized text.
    pub content: String,
    /// A commit with it.
    pub commit: String,
    /// Its folder at that commit, if that is another than at the target: relative to the top of the repository.
    pub path: Option<String>,
    /// Whether it is the version at the target.
    pub is_target: bool,
}

impl ReferenceVersion {
    /// The condition of an experiment whose trials have this version.
    pub fn condition(&self) -> String {
        let path = self.path.as_ref().map_or(String::new(), |path| format!(":{path}"));
        format!("{}:{}{path}", assay_store::ConditionRole::Version, self.commit)
    }

    /// What the ledger records about it, with the lift over it and the lower limit of that.
    pub fn record(&self, lift: Option<f64>, bound: Option<f64>) -> Reference {
        Reference { content: self.content.clone(), commit: self.commit.clone(), lift, bound }
    }
}

impl SkillTerms {
    /// Whether a reference version has trials of its own: `non-inferior` compares with the target's version already, and
    /// `helps` has no reference version.
    pub fn is_measured_against(&self, reference: &ReferenceVersion) -> bool {
        match self.rule.require {
            Requirement::Helps => false,
            Requirement::NotHarmful => true,
            Requirement::NonInferior => !reference.is_target,
        }
    }
}

impl SkillHistory<'_> {
    /// The reference version, given the looks at the skill's lineage in their order.
    ///
    /// The newest release is the newest tag with a number in its name that the target's history contains and that has the
    /// skill. Without one it is the first version at the target that the ledger knows of, or a later one that passed, was
    /// shown to be better than the reference version before it, and is part of the target's history.
    pub fn reference(&self, looks: &[&LedgerEntry]) -> ReferenceVersion {
        let places = self.places(looks);
        if let Some(release) = self.release(&places) {
            return release;
        }
        let mut best: Option<ReferenceVersion> = None;
        for look in looks {
            if best.is_none() {
                let first = look.opening.target_content.as_deref();
                best = first.and_then(|first| self.find_merged(first, looks, &places));
            }
            let Some(known) = &best else { continue };
            let against = look.completion.as_ref().and_then(|completion| completion.reference.as_ref());
            let is_better = look.passed()
                && against.is_some_and(|against| {
                    against.content == known.content && against.bound.is_some_and(|bound| bound > 0.0)
                });
            if is_better && let Some(found) = self.find_merged(&look.opening.content, looks, &places) {
                best = Some(found);
            }
        }
        best.unwrap_or_else(|| self.at_target())
    }

    fn at_target(&self) -> ReferenceVersion {
        ReferenceVersion {
            content: self.content.to_owned(),
            commit: self.target.to_owned(),
            path: None,
            is_target: true,
        }
    }

    /// The folders at which the skill may have been, the present one first.
    fn places(&self, looks: &[&LedgerEntry]) -> Vec<String> {
        let mut places = vec![self.path(self.skill)];
        for look in looks.iter().rev() {
            let place = self.path(&look.opening.skill);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    fn path(&self, skill: &str) -> String {
        self.directory.join(skill).to_string_lossy().into_owned()
    }

    fn release(&self, places: &[String]) -> Option<ReferenceVersion> {
        let args = ["tag", "--merged", self.target, "--sort=-creatordate", "--format=%(refname)"];
        let tags = self.git().text(&args).ok()?;
        let numbered = |tag: &&str| tag.trim_start_matches("refs/tags/").chars().any(|c| c.is_ascii_digit());
        tags.lines().filter(numbered).find_map(|tag| {
            let commit = self.git().text(&["rev-parse", "--verify", "--quiet", &format!("{tag}^{{commit}}")]);
            self.version_at(&commit.ok()?, None, places)
        })
    }

    /// A version of the skill that is, or was, at the target.
    fn find_merged(
        &self,
        content: &str,
        looks: &[&LedgerEntry],
        places: &[String],
    ) -> Option<ReferenceVersion> {
        if content == self.content {
            return Some(self.at_target());
        }
        let of = |commit: &Option<String>| commit.clone().filter(|commit| self.is_merged(commit));
        // The target as another look saw it.
        let seen = looks.iter().filter(|look| look.opening.target_content.as_deref() == Some(content));
        let mut seen = seen.filter_map(|look| of(&look.opening.target_commit));
        let head = looks.iter().filter(|look| look.opening.content == content);
        let mut head = head.filter_map(|look| of(&look.opening.head_commit));
        seen.find_map(|commit| self.version_at(&commit, Some(content), places))
            .or_else(|| head.find_map(|commit| self.version_at(&commit, Some(content), places)))
            .or_else(|| {
                // A merge that left the commits of its branch out.
                let mut args = vec!["rev-list", "--first-parent", COMMITS, self.target, "--"];
                args.extend(places.iter().map(String::as_str));
                let commits = self.git().text(&args).ok()?;
                commits.lines().find_map(|commit| self.version_at(commit, Some(content), places))
            })
    }

    /// The skill at a commit, if it is there, and with this content.
    fn version_at(&self, commit: &str, content: Option<&str>, places: &[String]) -> Option<ReferenceVersion> {
        places.iter().enumerate().find_map(|(number, place)| {
            let found = self.content_at(commit, place)?;
            if found == self.content && content.is_none_or(|content| content == found) {
                return Some(self.at_target());
            }
            content.is_none_or(|content| content == found).then(|| ReferenceVersion {
                content: found,
                commit: commit.to_owned(),
                path: (number > 0).then(|| place.clone()),
                is_target: false,
            })
        })
    }

    /// The digest of the normalized text of a skill at a commit.
    fn content_at(&self, commit: &str, place: &str) -> Option<String> {
        let document = format!("{commit}:{place}/SKILL.md");
        self.git().text(&["rev-parse", "--verify", "--quiet", &document]).ok()?;
        let listing = self.repository.list(&format!("{commit}:{place}")).ok()?;
        let folder = tempfile::tempdir().ok()?;
        self.repository.checkout(&listing, folder.path()).ok()?;
        Package::load(folder.path()).package.as_ref().map(content)
    }

    fn is_merged(&self, commit: &str) -> bool {
        self.git().output(&["merge-base", "--is-ancestor", commit, self.target]).is_ok()
    }

    fn git(&self) -> Git {
        Git::of_user(&self.repository.top)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tempfile::TempDir;

    use super::*;
    use crate::ledger::testing::entry;

    /// A repository whose main branch has one version of a skill after another.
    struct Branch {
        folder: TempDir,
        day: u32,
    }

    impl Branch {
        fn new() -> Self {
            let here = Self { folder: tempfile::tempdir().unwrap(), day: 0 };
            here.git(&["init", "--quiet", "--initial-branch=main"]);
            here
        }

        fn git(&self, args: &[&str]) -> String {
            let mut command = Command::new("git");
            command.arg("-C").arg(self.folder.path());
            command.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
            command.env("GIT_COMMITTER_DATE", format!("2026-01-{:02}T00:00:00Z", self.day));
            let output = command.output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        }

        /// Writes a version in a folder of skills, and commits it.
        fn save(&mut self, skill: &str, text: &str) -> String {
            self.day += 1;
            let folder = self.folder.path().join("ci").join(skill);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("SKILL.md"), document(text)).unwrap();
            self.git(&["add", "--all"]);
            self.git(&["commit", "--quiet", "--allow-empty", "--message", text]);
            self.git(&["rev-parse", "HEAD"])
        }

        fn reference(&self, target: &str, skill: &str, looks: &[LedgerEntry]) -> ReferenceVersion {
            let repository = Repository::around(self.folder.path()).unwrap();
            let show = |commit: &str| {
                let path = format!("{commit}:ci/{skill}/SKILL.md");
                digest(&self.git(&["show", &path]))
            };
            let own = show(target);
            let history = SkillHistory {
                repository: &repository,
                target,
                directory: Path::new("ci"),
                skill,
                content: &own,
            };
            history.reference(&looks.iter().collect::<Vec<_>>())
        }
    }

    fn document(text: &str) -> String {
        format!("---\nname: a\ndescription: Sorts.\n---\n{text}\n")
    }

    fn digest(document: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("SKILL.md"), document).unwrap();
        content(&Package::load(folder.path()).package.unwrap())
    }

    fn of(text: &str) -> String {
        digest(&document(text))
    }

    /// A look at a version; `reference` is what it was compared with, and the lower limit of the lift over that.
    fn decided_look(
        text: &str,
        target: (&str, &str),
        decision: &str,
        reference: Option<(&str, f64)>,
    ) -> LedgerEntry {
        let mut look = entry("1", "l", &of(text), &of(target.0)).decided(decision);
        look.opening.target_commit = Some(target.1.to_owned());
        look.completion.as_mut().unwrap().reference = reference.map(|(content, bound)| Reference {
            content: of(content),
            commit: String::new(),
            lift: None,
            bound: Some(bound),
        });
        look
    }

    #[test]
    fn the_newest_release_with_the_skill_is_the_reference() {
        let mut branch = Branch::new();
        let first = branch.save("skills/a", "one");
        branch.git(&["tag", "v1.0"]);
        let second = branch.save("skills/a", "two");
        branch.git(&["tag", "v1.1"]);
        let third = branch.save("skills/a", "three");
        branch.git(&["tag", "latest"]);
        let target = branch.save("skills/b", "other");
        let check = |target: &str, skill: &str, expected: &str| {
            let found = branch.reference(target, skill, &[]);
            assert_eq!((found.commit.as_str(), found.is_target), (expected, target == expected));
        };
        // A tag without a number is no release; what no release has is compared with the target alone.
        check(&target, "skills/a", &second);
        check(&target, "skills/b", &target);
        // A release that the target does not contain is none of its.
        check(&first, "skills/a", &first);
        check(&second, "skills/a", &second);
        // The text counts, not the layout.
        let layout = branch.save("skills/a", "two\n\n");
        let found = branch.reference(&layout, "skills/a", &[]);
        assert_eq!((found.commit.as_str(), found.is_target), (layout.as_str(), true));
        assert_eq!(branch.reference(&third, "skills/a", &[]).condition(), format!("version:{second}"));
    }

    /// Each version passes against the one before it, and loses a little.
    #[test]
    fn merges_that_each_lose_a_little_are_compared_with_the_best_version() {
        let mut branch = Branch::new();
        let zero = branch.save("skills/a", "zero");
        let one = branch.save("skills/a", "one");
        let two = branch.save("skills/a", "two");
        let three = branch.save("skills/a", "three");
        let looks = [
            decided_look("one", ("zero", &zero), "pass", Some(("zero", -0.05))),
            decided_look("two", ("one", &one), "pass", Some(("zero", -0.08))),
            // Better than the target of its time, and not than the reference.
            decided_look("three", ("two", &two), "pass", Some(("zero", -0.01))),
        ];
        let check = |looks: &[LedgerEntry], expected: &str| {
            assert_eq!(branch.reference(&three, "skills/a", looks).commit, expected, "{looks:#?}");
        };
        check(&[], &three);
        for count in 1..=3 {
            check(&looks[..count], &zero);
        }
        // The second one was shown to be better than the first.
        let mut better = looks.clone();
        better[1] = decided_look("two", ("one", &one), "pass", Some(("zero", 0.02)));
        check(&better, &two);
        // Only if it passed, was compared with the reference of its time, and was merged.
        let unless = |second: LedgerEntry| {
            let mut changed = looks.clone();
            changed[1] = second;
            check(&changed, &zero);
        };
        unless(decided_look("two", ("one", &one), "fail", Some(("zero", 0.02))));
        unless(decided_look("two", ("one", &one), "pass", Some(("one", 0.02))));
        unless(decided_look("two", ("one", &one), "pass", None));
        unless(decided_look("never merged", ("one", &one), "pass", Some(("zero", 0.02))));
        // Found in the history where no later look saw it: no commit of its branch is part of it.
        check(&better[..2], &two);
        // The best one is the target's: nothing more has to be executed.
        let best = branch.reference(&two, "skills/a", &better[..2]);
        assert!(best.is_target && best.commit == two);
    }

    #[test]
    fn a_skill_that_moved_keeps_its_reference() {
        let mut branch = Branch::new();
        let zero = branch.save("skills/a", "zero");
        let mut before = decided_look("one", ("zero", &zero), "pass", Some(("zero", -0.05)));
        before.opening.skill = "skills/a".to_owned();
        branch.git(&["mv", "ci/skills", "ci/more"]);
        let moved = branch.save("more/a", "one");
        let found = branch.reference(&moved, "more/a", &[before]);
        assert_eq!((found.commit.as_str(), found.path.as_deref()), (zero.as_str(), Some("ci/skills/a")));
        assert_eq!(found.condition(), format!("version:{zero}:ci/skills/a"));
        assert_eq!(found.content, of("zero"));
    }

    #[test]
    fn a_skill_that_was_new_is_compared_with_its_first_version() {
        let mut branch = Branch::new();
        let empty = branch.save("skills/b", "other");
        let mut added = decided_look("one", ("one", &empty), "pass", None);
        added.opening.target_content = None;
        let one = branch.save("skills/a", "one");
        let two = branch.save("skills/a", "two");
        let second = decided_look("two", ("one", &one), "pass", Some(("one", -0.1)));
        assert_eq!(branch.reference(&one, "skills/a", &[added.clone()]).commit, one);
        assert_eq!(branch.reference(&two, "skills/a", &[added, second]).commit, one);
    }
}
