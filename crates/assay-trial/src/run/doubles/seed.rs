//! Databases and repositories in the work folder, made before the agent starts.
//!
//! They are made inside the sandbox, by the image's own programs: SQL and Git run nowhere else, and
//! no image can do without these programs whose agent is to use them.

use std::fs;
use std::path::Path;

use assay_task::{Doubles, GitChanges, GitCommit, GitSeed, SqliteSeed};

use crate::run::attempt::Attempt;
use crate::run::broken::{Broken, create_folder};
use crate::run::environment::phases::{Environment, StepStart};

/// The folder in the work folder with the script and its files, which it removes in the end.
const FOLDER: &str = ".assay-seed";

/// The beginning of the script. Files belong to the owner of the work folder.
const BEGIN: &str = r#"set -eu
umask 022
work=$PWD
seed=$work/.assay-seed
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 TZ=UTC LC_ALL=C
owner=$(stat -c %u:%g .)
own() { if [ "$(stat -c %u:%g "$1")" != "$owner" ]; then chown -R "$owner" "$1"; fi; }
put() { mkdir -p "$(dirname "$2")"; rm -rf -- "$2"; cp "$seed/$1" "$2"; }
sql() {
  mkdir -p "$(dirname "$1")"
  if command -v python3 >/dev/null; then
    python3 - "$1" "$seed/$2" <<'PROGRAM'
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.executescript(open(sys.argv[2], encoding="utf-8").read())
connection.commit()
connection.close()
PROGRAM
  elif command -v sqlite3 >/dev/null; then
    sqlite3 -batch -bail -init /dev/null "$1" <"$seed/$2"
  else
    echo "an SQLite database needs python3 or sqlite3 in the image" >&2
    exit 1
  fi
}
"#;

/// Makes the databases and repositories of a task in a prepared environment.
pub(crate) fn seeded<E: Environment>(environment: E, attempt: &Attempt<'_>) -> Result<E, Broken> {
    let doubles = attempt.trial.task.doubles.as_ref();
    let Some(doubles) = doubles.filter(|doubles| doubles.are_seeded()) else { return Ok(environment) };
    let files = attempt.scratch.join("seed");
    write(doubles, &files)?;
    environment.begin_step(&StepStart { name: "", files: Some(&files), healthcheck: None, is_seed: true })
}

/// Writes the script and its files.
fn write(doubles: &Doubles, files: &Path) -> Result<(), Broken> {
    let mut script = Script { folder: files.join(FOLDER), text: BEGIN.to_owned(), files: 0 };
    create_folder(&script.folder)?;
    for seed in &doubles.git {
        script.git(seed)?;
    }
    for seed in &doubles.sqlite {
        script.sqlite(seed)?;
    }
    script.line("cd \"$work\"\nrm -rf -- \"$seed\"");
    let Script { folder, text, .. } = script;
    write_file(&folder.join("seed.sh"), &text)
}

fn write_file(path: &Path, text: &str) -> Result<(), Broken> {
    fs::write(path, text)
        .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))
}

/// A script under construction.
struct Script {
    folder: std::path::PathBuf,
    text: String,
    /// The number of its files, which have numbers as names.
    files: usize,
}

impl Script {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a file, and returns its name.
    fn file(&mut self, content: &str) -> Result<String, Broken> {
        self.files += 1;
        let name = self.files.to_string();
        write_file(&self.folder.join(&name), content)?;
        Ok(name)
    }

    fn sqlite(&mut self, seed: &SqliteSeed) -> Result<(), Broken> {
        let name = self.file(&seed.sql)?;
        let path = quoted_path(&seed.path);
        self.line("cd \"$work\"");
        self.line(&format!("sql {path} {name}"));
        self.own(&seed.path);
        Ok(())
    }

    fn git(&mut self, seed: &GitSeed) -> Result<(), Broken> {
        let is_work = seed.path.as_os_str().is_empty();
        let path = if is_work { "'.'".to_owned() } else { quoted_path(&seed.path) };
        self.line("cd \"$work\"");
        self.line(
            "command -v git >/dev/null || { echo 'a Git repository needs git in the image' >&2; exit 1; }",
        );
        self.line(&format!("mkdir -p {path}\ncd {path}"));
        let Some(first) = seed.commits.first() else { return Ok(()) };
        self.line(&format!("git init -q --template= -b {} .", quoted(&first.branch)));
        self.line(&format!("git config user.name {}", quoted(&first.author)));
        self.line(&format!("git config user.email {}", quoted(&first.email)));
        let mut branches = vec![first.branch.as_str()];
        let mut current = first.branch.as_str();
        for commit in &seed.commits {
            if commit.branch != current {
                let is_new = !branches.contains(&commit.branch.as_str());
                let from = commit.from.as_ref().filter(|_| is_new);
                let from = from.map(|from| format!(" {}", quoted(from))).unwrap_or_default();
                let flag = if is_new { "-b " } else { "" };
                self.line(&format!("git checkout -q {flag}{}{from}", quoted(&commit.branch)));
                branches.push(&commit.branch);
                current = &commit.branch;
            }
            self.commit(commit)?;
        }
        if seed.head != current {
            self.line(&format!("git checkout -q {}", quoted(&seed.head)));
        }
        if let Some(changes) = &seed.uncommitted {
            self.change(changes)?;
        }
        self.line("cd \"$work\"");
        if is_work {
            self.line("own .git");
            let all = seed.commits.iter().map(|commit| &commit.changes).chain(&seed.uncommitted);
            for name in all.flat_map(|changes| changes.files.keys()) {
                self.own(Path::new(name));
            }
        } else {
            self.own(&seed.path);
        }
        Ok(())
    }

    fn commit(&mut self, commit: &GitCommit) -> Result<(), Broken> {
        self.change(&commit.changes)?;
        for who in ["AUTHOR", "COMMITTER"] {
            let (name, email, date) = (quoted(&commit.author), quoted(&commit.email), quoted(&commit.date));
            self.line(&format!("export GIT_{who}_NAME={name} GIT_{who}_EMAIL={email} GIT_{who}_DATE={date}"));
        }
        self.line(&format!("git commit -q --allow-empty --no-gpg-sign -m {}", quoted(&commit.message)));
        if let Some(tag) = &commit.tag {
            self.line(&format!("git tag {}", quoted(tag)));
        }
        Ok(())
    }

    fn change(&mut self, changes: &GitChanges) -> Result<(), Broken> {
        for (path, content) in &changes.files {
            let name = self.file(content)?;
            let path = quoted(path);
            self.line(&format!("put {name} {path}"));
            if changes.staged {
                self.line(&format!("git add -f -- {path}"));
            }
        }
        for path in &changes.delete {
            let remove = if changes.staged { "git rm -q -r -f" } else { "rm -r" };
            self.line(&format!("{remove} -- {}", quoted(path)));
        }
        Ok(())
    }

    /// Gives a path below the work folder, from its first part on, to the folder's owner.
    fn own(&mut self, path: &Path) {
        let first = path.iter().next().map_or(path, Path::new);
        let first = quoted_path(first);
        self.line(&format!("if [ -e {first} ]; then own {first}; fi"));
    }
}

fn quoted_path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// A word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
