//! Many tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet};

use crate::{Task, TaskError};

/// How deep `**` looks.
const DEPTH: usize = 8;
/// Most folders that one pattern searches.
const FOLDERS: usize = 100_000;

/// The beginning of a pattern that excludes folders.
const NOT: char = '!';

/// Tasks found by folders and patterns.
#[derive(Debug, Default)]
pub struct Suite {
    /// The tasks, sorted by name; names are unique.
    pub tasks: Vec<Task>,
    /// Folders of tasks that a pattern with `!` left out, sorted. They were not read.
    pub excluded: Vec<PathBuf>,
    /// Folders that matched and cannot be read as tasks, in the order they were found. The rest of
    /// the suite is not affected.
    pub unreadable: Vec<Unreadable>,
    /// Problems of the suite itself: patterns without a match, two tasks of the same name.
    pub problems: Vec<TaskError>,
}

/// A folder that cannot be read as a task.
#[derive(Debug)]
pub struct Unreadable {
    /// The folder's name, which would be the task's.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// Why.
    pub error: TaskError,
}

impl Suite {
    /// Reads the tasks that patterns match, relative to a base. `*`, `?`, `[…]` stay within a name,
    /// `**` is any number of folders.
    ///
    /// A pattern may match a task, or a folder whose folders are tasks. A matched folder that is
    /// neither is a problem; files are skipped, and so are hidden folders that the pattern does not
    /// name.
    ///
    /// A pattern that begins with `!` excludes the folders that it matches, and everything below
    /// them, wherever it is in the list.
    pub fn load(patterns: &[String], base: &Path) -> Self {
        let mut suite = Self::default();
        let mut names: BTreeMap<String, PathBuf> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut out = BTreeSet::new();
        for pattern in patterns.iter().filter_map(|pattern| pattern.strip_prefix(NOT)) {
            let found = expand(pattern, base);
            if found.is_empty() {
                suite.problems.push(leads_nowhere(pattern, base));
            }
            out.extend(found.into_iter().filter_map(|folder| fs::canonicalize(folder).ok()));
        }
        for pattern in patterns.iter().filter(|pattern| !pattern.starts_with(NOT)) {
            let found = expand(pattern, base);
            if found.is_empty() {
                suite.problems.push(leads_nowhere(pattern, base));
            }
            // With `**` every intermediate folder is matched: only tasks count.
            let recursive = Path::new(pattern).components().any(|part| part.as_os_str() == "**");
            let mut any = found.is_empty();
            for folder in found {
                for task in tasks_of(&folder, recursive) {
                    any = true;
                    let Ok(real) = fs::canonicalize(&task) else { continue };
                    if real.ancestors().any(|above| out.contains(above)) {
                        suite.excluded.push(task);
                    } else if seen.insert(real) {
                        suite.add(&task, &mut names);
                    }
                }
            }
            if !any {
                suite.problems.push(TaskError::Pattern {
                    pattern: pattern.clone(),
                    message: "no task in it or its subfolders".to_owned(),
                    hint: "a task is a folder with a task.toml, or with task.md, verify.sh and metadata.json"
                        .to_owned(),
                });
            }
        }
        suite.tasks.sort_by(|a, b| a.name.cmp(&b.name));
        suite.excluded.sort();
        suite.excluded.dedup();
        suite
    }

    fn add(&mut self, folder: &Path, names: &mut BTreeMap<String, PathBuf>) {
        let task = match Task::load(folder) {
            Ok(task) => task,
            Err(error) => {
                let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
                return self.unreadable.push(Unreadable { name, folder: folder.to_path_buf(), error });
            }
        };
        if let Some(first) = names.get(&task.name) {
            let (first, second) = (first.clone(), folder.to_path_buf());
            return self.problems.push(TaskError::Duplicate { name: task.name, first, second });
        }
        names.insert(task.name.clone(), folder.to_path_buf());
        self.tasks.push(task);
    }
}

/// The folders that a pattern matches, sorted, relative to a base if the pattern is. The same rules
/// as in [`Suite::load`], without reading their content.
pub fn folders(pattern: &str, base: &Path) -> Vec<PathBuf> {
    expand(pattern, base)
}

fn leads_nowhere(pattern: &str, base: &Path) -> TaskError {
    let at = base.join(pattern);
    let message = match fs::metadata(&at) {
        Ok(_) => "matches a file, not a folder".to_owned(),
        Err(_) => format!("matches no folder (relative to {})", base.display()),
    };
    let hint = "use a folder with a task.toml, or one whose subfolders have one".to_owned();
    TaskError::Pattern { pattern: pattern.to_owned(), message, hint }
}

/// The folder itself, or its folders if one of them is a task. A folder that is neither is returned
/// unchanged: reading it as a task then reports the error.
fn tasks_of(folder: &Path, recursive: bool) -> Vec<PathBuf> {
    if Task::is_task(folder) {
        return vec![folder.to_path_buf()];
    }
    if recursive {
        return Vec::new();
    }
    let children = subfolders(folder);
    if children.iter().any(|child| Task::is_task(child)) { children } else { vec![folder.to_path_buf()] }
}

/// The folders in a folder, sorted, hidden ones left out.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = listing
        .flatten()
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

enum Step {
    Exact(PathBuf),
    Name { matcher: GlobSet, hidden: bool },
    Any,
    Never,
}

fn steps(pattern: &str) -> Vec<Step> {
    let step = |part: Component<'_>| {
        let text = part.as_os_str().to_string_lossy();
        if text == "**" {
            return Step::Any;
        }
        if !text.contains(['*', '?', '[']) {
            return Step::Exact(PathBuf::from(part.as_os_str()));
        }
        // A set, because compiling a single pattern panics if it is too large.
        let glob = GlobBuilder::new(&text).literal_separator(true).build();
        match glob.and_then(|glob| GlobSet::builder().add(glob).build()) {
            Ok(matcher) => Step::Name { matcher, hidden: text.starts_with('.') },
            Err(_) => Step::Never,
        }
    };
    Path::new(pattern).components().map(step).collect()
}

fn expand(pattern: &str, base: &Path) -> Vec<PathBuf> {
    let mut found = vec![base.to_path_buf()];
    for step in steps(pattern) {
        let mut next = BTreeSet::new();
        for folder in found {
            match &step {
                Step::Exact(name) => {
                    let path = folder.join(name);
                    if path.is_dir() {
                        next.insert(path);
                    }
                }
                Step::Name { matcher, hidden } => {
                    let Ok(listing) = fs::read_dir(&folder) else { continue };
                    for entry in listing.flatten() {
                        let name = entry.file_name();
                        let shown = *hidden || !name.as_encoded_bytes().starts_with(b".");
                        if shown && matcher.is_match(Path::new(&name)) && entry.path().is_dir() {
                            next.insert(entry.path());
                        }
                    }
                }
                Step::Any => collect_folders(&folder, &mut next),
                Step::Never => {}
            }
            if next.len() > FOLDERS {
                break;
            }
        }
        found = next.into_iter().collect();
    }
    found
}

/// A folder and everything below it, [`DEPTH`] deep. Links to folders are not followed, and tasks
/// are not searched.
fn collect_folders(folder: &Path, into: &mut BTreeSet<PathBuf>) {
    let mut pending = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = pending.pop() {
        if into.len() > FOLDERS {
            return;
        }
        if depth < DEPTH && !Task::is_task(&folder) {
            let real = |path: &PathBuf| path.symlink_metadata().is_ok_and(|there| there.is_dir());
            pending.extend(subfolders(&folder).into_iter().filter(real).map(|child| (child, depth + 1)));
        }
        into.insert(folder);
    }
}

#[cfg(test)]
mod tests;
