//! Finds tasks below folders, and reports what is not a task.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::dialect;
use crate::Task;

/// How deep folders are looked through.
const DEPTH: usize = 8;
/// Most folders searched.
const FOLDERS: usize = 100_000;

/// The result of a search.
#[derive(Debug, Default)]
pub struct TaskSearch {
    /// Task folders, in the given order, sorted by path within each.
    pub tasks: Vec<PathBuf>,
    /// A folder that looks like a task but is not a valid one.
    pub refused: Vec<Refusal>,
    /// Folders without a task, next to folders with tasks.
    pub skipped: Vec<PathBuf>,
}

/// A folder that looks like a task but is not a valid one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The folder or file.
    pub path: PathBuf,
    /// `foreign-dialect`, `not-a-task` or `unreadable`.
    pub code: &'static str,
    /// Why: a lower-case fragment.
    pub reason: String,
    /// What to do.
    pub hint: String,
}

/// Finds tasks at and below paths. Hidden folders and links to folders are skipped; tasks are not
/// searched.
pub fn find(paths: &[PathBuf]) -> TaskSearch {
    let mut search = Search { found: TaskSearch::default(), seen: BTreeSet::new(), left: FOLDERS };
    for path in paths {
        let before = search.found.tasks.len() + search.found.refused.len();
        if path.is_file() {
            search.report_file(path);
        } else if path.is_dir() {
            search.visit(path, 0);
            if search.found.tasks.len() + search.found.refused.len() == before {
                search.report_unusable(path, "not-a-task", "no task in it or its subfolders", HINT);
            }
        } else {
            search.report_unusable(path, "unreadable", "no such folder", "check the path");
        }
    }
    search.found
}

const HINT: &str = "a task is a folder with a task.toml, or with task.md, verify.sh and metadata.json";

struct Search {
    found: TaskSearch,
    seen: BTreeSet<PathBuf>,
    left: usize,
}

impl Search {
    fn report_unusable(&mut self, path: &Path, code: &'static str, reason: &str, hint: &str) {
        let refusal =
            Refusal { path: path.to_path_buf(), code, reason: reason.to_owned(), hint: hint.to_owned() };
        if !self.found.refused.contains(&refusal) {
            self.found.refused.push(refusal);
        }
    }

    fn report_file(&mut self, path: &Path) {
        match dialect(path) {
            Some(name) => self.report_dialect(path, name),
            None => self.report_unusable(path, "not-a-task", "a file, not a folder", "use the task's folder"),
        }
    }

    fn report_dialect(&mut self, path: &Path, name: &str) {
        let hint = "convert it: a folder with task.toml, instruction.md, environment/, tests/test.sh and solution/solve.sh";
        self.report_unusable(path, "foreign-dialect", &format!("{name}, which is not supported"), hint);
    }

    /// Whether anything was found in or below a folder.
    fn visit(&mut self, folder: &Path, depth: usize) -> bool {
        if self.left == 0 {
            self.report_unusable(
                folder,
                "unreadable",
                "too many folders: search stopped",
                "pass folders closer to the tasks",
            );
            return true;
        }
        self.left -= 1;
        if Task::is_task(folder) {
            if fs::canonicalize(folder).is_ok_and(|real| self.seen.insert(real)) {
                self.found.tasks.push(folder.to_path_buf());
            }
            return true;
        }
        if let Some(name) = dialect(folder) {
            self.report_dialect(folder, name);
            return true;
        }
        if let Some(reason) = missing_parts(folder) {
            self.report_unusable(folder, "not-a-task", &reason, HINT);
            return true;
        }
        let listing = match fs::read_dir(folder) {
            Ok(listing) => listing,
            Err(error) => {
                self.report_unusable(
                    folder,
                    "unreadable",
                    &format!("cannot be read: {error}"),
                    "check its permissions",
                );
                return true;
            }
        };
        let mut inner: Vec<PathBuf> = listing
            .flatten()
            .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
            .map(|entry| entry.path())
            .filter(|path| path.is_dir() && (depth == 0 || !path.is_symlink()))
            .collect();
        inner.sort();
        if depth >= DEPTH {
            if inner.is_empty() {
                return false;
            }
            self.report_unusable(
                folder,
                "unreadable",
                "nested too deeply: not searched",
                "pass folders closer to the tasks",
            );
            return true;
        }
        let (full, empty): (Vec<PathBuf>, Vec<PathBuf>) =
            inner.into_iter().partition(|path| self.visit(path, depth + 1));
        if full.is_empty() {
            return false;
        }
        self.found.skipped.extend(empty);
        true
    }
}

/// What a folder lacks that looks like an incomplete task.
fn missing_parts(folder: &Path) -> Option<String> {
    let has = |name: &str| folder.join(name).exists();
    if has("instruction.md") || (has("tests/test.sh") && has("environment")) {
        return Some("it has no task.toml".to_owned());
    }
    if has("task.md") {
        let lacking: Vec<&str> =
            ["verify.sh", "metadata.json"].into_iter().filter(|name| !folder.join(name).is_file()).collect();
        return Some(format!("it has a task.md but no {}", lacking.join(" and no ")));
    }
    None
}
