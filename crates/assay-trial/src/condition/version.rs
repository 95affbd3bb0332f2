use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use assay_fs::{Caps, copy_tree};
use assay_skill::{Digest, Library, Package};
use assay_store::ConditionRole;

use super::error::{ConditionError, VersionError};
use super::provision::{Argument, Condition, ConditionContext, Provision, curated};

/// The curated skills as they are in another folder or at a revision of their Git repository: did
/// the skill get better?
///
/// They are offered under the folder names of the curated ones, so that only content differs. `REVISION:PATH` is a skill that
/// was in another folder of the repository then.
pub(super) struct Version;

impl Condition for Version {
    fn role(&self) -> ConditionRole {
        ConditionRole::Version
    }

    fn argument(&self) -> Argument {
        Argument::Required("DIR|GITREF")
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        let version = context.argument.unwrap_or_default();
        let folder = context.directory.join(version);
        let skills = curated(context)?
            .iter()
            .map(|skill| {
                find(skill, version, &folder, context.made).map_err(|error| ConditionError::Version {
                    skill: skill.name.clone(),
                    version: version.to_owned(),
                    error: Box::new(error),
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Provision { skills, ..Provision::default() })
    }
}

/// The version of a skill, copied into `made`.
fn find(skill: &Package, version: &str, folder: &Path, made: &Path) -> Result<Package, VersionError> {
    let made = made.join("version");
    let write = |error| VersionError::Write { folder: made.clone(), error };
    fs::create_dir_all(&made).map_err(write)?;
    let draft = tempfile::tempdir_in(&made).map_err(write)?;
    let copy = draft.path().join(&skill.directory);
    let digest = if folder.is_dir() {
        let found = in_folder(skill, folder)?;
        copy_tree(&found.root, &copy, &Caps::default())?;
        Some(found.digest)
    } else {
        at_revision(skill, version, folder, &copy)?;
        None
    };
    let found = Package::load(&copy).package;
    let Some(found) = found.filter(|found| digest.is_none_or(|digest| digest == found.digest)) else {
        return Err(match digest {
            Some(_) => VersionError::Differs { folder: copy },
            None => VersionError::NotAtRevision { path: skill.directory.clone() },
        });
    };
    let kept = kept_folder(&made, &skill.directory, found.digest);
    if !kept.is_dir() {
        let parent = kept.parent().unwrap_or(&made);
        fs::create_dir_all(parent).map_err(write)?;
        match fs::rename(&copy, &kept) {
            // Another process copied the same one meanwhile.
            Err(_) if kept.is_dir() => {}
            other => other.map_err(write)?,
        }
    }
    let kept_package = Package::load(&kept).package.filter(|kept| kept.digest == found.digest);
    kept_package.ok_or(VersionError::Differs { folder: kept })
}

/// The folder in `made/version` that belongs to one skill.
fn kept_folder(made: &Path, directory: &str, digest: Digest) -> PathBuf {
    made.join(digest.short()).join(directory)
}

/// The copy of a version with a digest, if this machine has one.
pub(crate) fn version_of((directory, digest): (&str, Digest), made: &Path) -> Option<Package> {
    let folder = kept_folder(&made.join("version"), directory, digest);
    if !folder.is_dir() {
        return None;
    }
    Package::load(&folder).package.filter(|package| package.digest == digest)
}

/// The version of a skill that a trial names with its condition, extracted on this machine from a
/// folder or the skill's repository; `None` if the condition is not a version.
///
/// # Errors
/// Why this machine does not have the version.
pub(crate) fn extract_version(
    condition: &str,
    skill: &Package,
    directory: &Path,
    made: &Path,
) -> Option<Result<Package, VersionError>> {
    let version = condition.strip_prefix("version:")?;
    Some(find(skill, version, &directory.join(version), made))
}

/// The skill of the same folder name, else of the same name.
fn in_folder(skill: &Package, folder: &Path) -> Result<Package, VersionError> {
    let library = Library::load(&[folder.to_owned()]);
    let beside = folder.join(&skill.directory);
    if let Some(found) = library.packages.iter().find(|found| found.root == beside) {
        return Ok(found.clone());
    }
    library
        .get(&skill.name)
        .cloned()
        .map_err(|error| VersionError::NotInFolder { folder: folder.to_owned(), error })
}

/// Writes the skill as it is at a revision of its repository into a new folder. Reads Git's objects
/// only: neither the working tree nor the index changes.
fn at_revision(skill: &Package, version: &str, folder: &Path, to: &Path) -> Result<(), VersionError> {
    let no_git = |error: GitError| match error {
        GitError::NotInstalled => VersionError::NoGit { folder: folder.to_owned() },
        GitError::Failed(message) => VersionError::Git(message),
    };
    let repository = git(&skill.root, &["rev-parse", "--show-toplevel"]).map_err(|error| match error {
        GitError::Failed(message) => {
            VersionError::NoRepository { folder: folder.to_owned(), skill: skill.root.clone(), message }
        }
        other @ GitError::NotInstalled => no_git(other),
    })?;
    let repository = PathBuf::from(OsStr::from_bytes(repository.trim_ascii_end()));
    let prefix = git(&skill.root, &["rev-parse", "--show-prefix"]).map_err(no_git)?;
    let prefix = String::from_utf8_lossy(prefix.trim_ascii_end()).trim_end_matches('/').to_owned();
    let unknown = || VersionError::NoRevision { folder: folder.to_owned(), repository: repository.clone() };
    // Git would read it as an option.
    if version.starts_with('-') {
        return Err(unknown());
    }
    // No name of a revision contains a colon: what follows is the folder that the skill had then.
    let (version, prefix) = match version.split_once(':') {
        Some((version, path)) => (version, path.trim_matches('/').to_owned()),
        None => (version, prefix),
    };
    let commit = git(&repository, &["rev-parse", "--verify", "--quiet", &format!("{version}^{{commit}}")])
        .map_err(|error| match error {
            GitError::Failed(_) => unknown(),
            other @ GitError::NotInstalled => no_git(other),
        })?;
    let commit = String::from_utf8_lossy(commit.trim_ascii_end()).into_owned();
    let tree = format!("{commit}:{prefix}");
    let entries = git(&repository, &["ls-tree", "-r", "-z", &tree]).map_err(|error| match error {
        GitError::Failed(_) => VersionError::NotAtRevision { path: prefix.clone() },
        other @ GitError::NotInstalled => no_git(other),
    })?;
    let entries: Vec<&[u8]> = entries.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()).collect();
    if !entries.iter().any(|entry| entry.ends_with(b"\tSKILL.md")) {
        return Err(VersionError::NotAtRevision { path: prefix });
    }
    for entry in entries {
        let unreadable =
            || VersionError::Git(format!("unexpected entry {:?}", String::from_utf8_lossy(entry)));
        // MODE SP TYPE SP OBJECT TAB PATH
        let tab = entry.iter().position(|&byte| byte == b'\t').ok_or_else(unreadable)?;
        let head = String::from_utf8_lossy(&entry[..tab]).into_owned();
        let path = Path::new(OsStr::from_bytes(&entry[tab + 1..]));
        let [mode, "blob", object] = head.split(' ').collect::<Vec<_>>()[..] else {
            return Err(VersionError::Git(format!("{} is a submodule", path.display())));
        };
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(unreadable());
        }
        let bytes = git(&repository, &["cat-file", "blob", object]).map_err(no_git)?;
        let path = to.join(path);
        write_entry(&path, mode, &bytes)
            .map_err(|error| VersionError::Write { folder: path.clone(), error })?;
    }
    Ok(())
}

fn write_entry(path: &Path, mode: &str, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if mode == "120000" {
        return symlink(OsStr::from_bytes(bytes), path);
    }
    fs::write(path, bytes)?;
    let mode = if mode == "100755" { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

enum GitError {
    NotInstalled,
    Failed(String),
}

/// The standard output of `git` in a folder.
fn git(folder: &Path, args: &[&str]) -> Result<Vec<u8>, GitError> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args).stdin(Stdio::null()).env("LC_ALL", "C");
    // A hook of another repository may have set them.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => GitError::NotInstalled,
        _ => GitError::Failed(error.to_string()),
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(GitError::Failed(message.lines().next().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use assay_task::Task;
    use tempfile::TempDir;

    use super::*;
    use crate::condition::ConditionRef;

    /// A repository with the experiment, one task and its skill, whose text says `now`.
    struct Repository(TempDir);

    impl Repository {
        fn new() -> Self {
            let repository = Self(tempfile::tempdir().unwrap());
            repository.write("task/task.toml", "version = \"1.0\"\n");
            repository.write("task/instruction.md", "Count the words.\n");
            repository.write("task/environment/Dockerfile", "FROM scratch\n");
            repository.write("task/tests/test.sh", "exit 0\n");
            repository.skill("task/environment/skills/count", "now");
            repository
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn skill(&self, folder: &str, body: &str) {
            let text = format!("---\nname: count-words\ndescription: Counts words.\n---\n{body}\n");
            self.write(&format!("{folder}/SKILL.md"), &text);
        }

        fn git(&self, args: &[&str]) -> String {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
            let output = git(self.0.path(), &[&identity[..], args].concat()).ok().expect("git is installed");
            String::from_utf8(output).unwrap()
        }

        /// The skills' folder names and bodies, or why there are none.
        fn provide(&self, condition: &str) -> Result<Vec<Package>, String> {
            let task = Task::load(&self.0.path().join("task")).unwrap();
            let context = ConditionContext {
                argument: None,
                directory: self.0.path(),
                task: &task,
                library: &Library::default(),
                pairing: None,
                seed: 1,
                made: &self.0.path().join("made"),
            };
            let provided = ConditionRef::parse(condition).unwrap().provide(&context);
            let root = self.0.path().display().to_string();
            provided
                .map(|provision| provision.skills)
                .map_err(|error| error.to_string().replace(&root, "ROOT"))
        }

        fn check(&self, condition: &str, expected: Result<&str, &str>) {
            let found = self.provide(condition).map(|skills| {
                let [skill] = &skills[..] else { panic!("{skills:?}") };
                assert_eq!(skill.directory, "count", "{condition}");
                let key = (skill.directory.as_str(), skill.digest);
                let again = version_of(key, &self.0.path().join("made")).map(|again| again.root);
                assert_eq!(again.as_ref(), Some(&skill.root));
                skill.body.trim().to_owned()
            });
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{condition}");
        }
    }

    #[test]
    fn a_version_is_found_in_a_folder() {
        let repository = Repository::new();
        repository.skill("library/count", "by folder name");
        repository.skill("library/other", "another of that name");
        repository.skill("renamed/words", "by name");
        repository.skill("itself", "the folder itself");
        repository.skill("two/one", "1");
        repository.skill("two/another", "2");
        repository.write("none/README.md", "No skill.\n");
        repository.check("version:library", Ok("by folder name"));
        repository.check("version:renamed", Ok("by name"));
        repository.check("version:itself", Ok("the folder itself"));
        repository.check(
            "version:none",
            Err("the skill `count-words` has no version `none`: in ROOT/none: no skill is named `count-words`"),
        );
        repository.check(
            "version:two",
            Err("the skill `count-words` has no version `two`: in ROOT/two: `count-words` is the name of 2 skills: ROOT/two/another, ROOT/two/one"),
        );
    }

    #[test]
    fn a_version_is_found_at_a_revision_and_the_working_tree_stays_as_it_is() {
        let repository = Repository::new();
        repository.git(&["init", "-q"]);
        repository.write("README.md", "Before the skill.\n");
        repository.git(&["add", "README.md"]);
        repository.git(&["commit", "-qm", "first"]);
        repository.git(&["tag", "before"]);
        let folder = "task/environment/skills/count";
        repository.skill(folder, "then");
        repository.write(&format!("{folder}/scripts/count.sh"), "wc -w\n");
        repository.git(&["add", "-A"]);
        repository.git(&["update-index", "--chmod=+x", &format!("{folder}/scripts/count.sh")]);
        repository.git(&["commit", "-qm", "second"]);
        repository.git(&["branch", "old/skill"]);
        fs::remove_dir_all(repository.0.path().join(folder)).unwrap();
        repository.skill(folder, "now");
        let status = repository.git(&["status", "--porcelain"]);

        repository.check("version:HEAD", Ok("then"));
        repository.check("version:old/skill", Ok("then"));
        repository.check("version:HEAD:task/environment/skills/count", Ok("then"));
        repository.check(
            "version:HEAD:elsewhere",
            Err("the skill `count-words` has no version `HEAD:elsewhere`: at that revision elsewhere contains no skill"),
        );
        let skills = repository.provide("version:HEAD").unwrap();
        let files: Vec<_> =
            skills[0].files.iter().map(|file| (file.path.as_str(), file.executable)).collect();
        assert_eq!(files, [("SKILL.md", false), ("scripts/count.sh", true)]);
        repository.check(
            "version:before",
            Err("the skill `count-words` has no version `before`: at that revision task/environment/skills/count contains no skill"),
        );
        repository.check(
            "version:v9",
            Err("the skill `count-words` has no version `v9`: ROOT/v9 is not a folder, and the Git repository ROOT has no such revision"),
        );
        repository.check(
            "version:--all",
            Err("the skill `count-words` has no version `--all`: ROOT/--all is not a folder, and the Git repository ROOT has no such revision"),
        );
        let made = "?? made/\n";
        assert_eq!(repository.git(&["status", "--porcelain"]).replace(made, ""), status);
    }

    #[test]
    fn outside_of_a_repository_only_folders_are_versions() {
        let error = Repository::new().provide("version:v1").unwrap_err();
        let expected = "the skill `count-words` has no version `v1`: ROOT/v1 is not a folder, and ROOT/task/environment/skills/count is not in a Git repository";
        assert!(error.starts_with(expected), "{error}");
    }
}
