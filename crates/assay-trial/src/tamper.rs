//! What an agent may leave behind, and what it may not.
//!
//! The verifier runs in the same work folder that the agent wrote to (Harbor's shared mode). Interpreters, loaders and shells
//! are out of the agent's reach, for the root is read-only; what is left are the files by which a work folder steers them:
//! start-up hooks, test configuration, modules that shadow the standard library, links into the grader's folders, and things
//! that are no files and would hang a reader. A task that asks for such a file names it in its instruction, or under
//! `[metadata.assay] expected`.

pub(crate) mod image;

use std::path::{Component, Path, PathBuf};

use assay_sandbox::{Change, ChangeKind, EntryKind, Manifest, escape_path};
use assay_task::Task;

/// Files that interpreters and test runners read on their own, wherever they lie.
const HOOKS: [&str; 22] = [
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "setup.cfg",
    "noxfile.py",
    ".coveragerc",
    "pyvenv.cfg",
    ".npmrc",
    ".mocharc.js",
    ".mocharc.json",
    ".mocharc.yml",
    "jest.config.js",
    "jest.config.ts",
    "vitest.config.js",
    "vitest.config.ts",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".gdbinit",
];

/// Programs of the grader that a work folder must not bring its own of.
const PROGRAMS: [&str; 18] = [
    "python", "python3", "pytest", "py.test", "bash", "sh", "env", "node", "npm", "npx", "uv", "uvx", "pip",
    "pip3", "git", "make", "cargo", "go",
];

/// Modules of Python's standard library, and of its test runner, that verifiers import most. A file of that name at the top
/// of the work folder is imported in their place when the verifier runs there.
const MODULES: [&str; 92] = [
    "_pytest",
    "abc",
    "argparse",
    "array",
    "ast",
    "asyncio",
    "base64",
    "bisect",
    "builtins",
    "calendar",
    "codecs",
    "collections",
    "compileall",
    "concurrent",
    "configparser",
    "contextlib",
    "copy",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "email",
    "encodings",
    "enum",
    "errno",
    "filecmp",
    "fnmatch",
    "fractions",
    "functools",
    "gc",
    "getpass",
    "glob",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "math",
    "mimetypes",
    "numbers",
    "operator",
    "os",
    "pathlib",
    "pickle",
    "pkgutil",
    "platform",
    "pluggy",
    "posixpath",
    "pprint",
    "pytest",
    "queue",
    "random",
    "re",
    "runpy",
    "secrets",
    "select",
    "shlex",
    "shutil",
    "signal",
    "site",
    "socket",
    "sqlite3",
    "ssl",
    "stat",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "sys",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "tokenize",
    "tomllib",
    "traceback",
    "types",
    "typing",
    "unittest",
];

/// Folders of the grader that nothing of the agent's may point into.
const GRADER: [&str; 4] = ["/tests", "/logs/verifier", "/solution", "/proc"];

/// What an agent changed in one writable folder that makes the trial tampered. `root` is the folder's path inside.
pub(crate) fn tampering(task: &Task, root: &Path, changes: &[Change], after: &Manifest) -> Vec<String> {
    let mut found = Vec::new();
    for change in changes.iter().filter(|change| change.kind != ChangeKind::Removed) {
        let Some(entry) = after.entries.get(&change.path) else { continue };
        let shown = escape_path(&root.join(&change.path));
        let name = change.path.file_name().unwrap_or_default().to_string_lossy();
        match entry.kind {
            EntryKind::Other => found.push(format!("{shown}: neither file nor folder")),
            EntryKind::Link => {
                let target = entry.target.as_deref().unwrap_or(Path::new(""));
                if let Some(folder) = points_into_grader(root, &change.path, target) {
                    found.push(format!("{shown}: a link into {folder}"));
                }
                if !is_expected(task, &name) && (is_hook(&name) || is_shadow(&change.path)) {
                    found.push(format!("{shown}: a link in place of a file that steers interpreters"));
                }
            }
            EntryKind::Dir | EntryKind::File if is_expected(task, &name) => {}
            EntryKind::Dir => {
                if is_shadow(&change.path) && after.entries.contains_key(&change.path.join("__init__.py")) {
                    found.push(format!("{shown}: stands in for a module of the standard library"));
                }
            }
            EntryKind::File => {
                if is_hook(&name) {
                    found.push(format!("{shown}: read by interpreters or test runners on their own"));
                } else if is_shadow(&change.path) && change.path.extension().is_some() {
                    found.push(format!("{shown}: stands in for a module of the standard library"));
                } else if entry.mode & 0o111 != 0 && PROGRAMS.contains(&&*name) {
                    found.push(format!("{shown}: stands in for a program"));
                }
            }
        }
    }
    found
}

fn is_hook(name: &str) -> bool {
    HOOKS.contains(&name) || Path::new(name).extension().is_some_and(|extension| extension == "pth")
}

/// Whether a path at the top of a folder is a module of the standard library to a Python that runs there.
fn is_shadow(path: &Path) -> bool {
    let mut parts = path.components();
    let (Some(Component::Normal(first)), None) = (parts.next(), parts.next()) else { return false };
    let first = Path::new(first);
    let is_module = first
        .extension()
        .is_none_or(|extension| extension == "py" || extension == "pyc" || extension == "so");
    let stem = first.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.split('.').next().unwrap_or_default();
    is_module && MODULES.binary_search(&stem).is_ok()
}

/// A task may ask for such a file, by name.
fn is_expected(task: &Task, name: &str) -> bool {
    task.expected.iter().any(|expected| expected == name)
        || task.instruction.match_indices(name).any(|(at, _)| {
            let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            let before = task.instruction[..at].chars().next_back();
            let mut after = task.instruction[at + name.len()..].chars();
            let next = after.next();
            let ends = next
                .is_none_or(|c| !joins(c) || (c == '.' && !after.next().is_some_and(char::is_alphanumeric)));
            !before.is_some_and(joins) && ends
        })
}

/// The grader's folder that a link leads to, by its text alone: what it would resolve to once the grader's folders stand.
pub(crate) fn points_into_grader(root: &Path, link: &Path, target: &Path) -> Option<&'static str> {
    let from = root.join(link.parent().unwrap_or(Path::new("")));
    let mut resolved = PathBuf::from("/");
    for part in from.join(target).components() {
        match part {
            Component::Normal(name) => resolved.push(name),
            Component::ParentDir => {
                resolved.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    GRADER.into_iter().find(|folder| resolved.starts_with(folder) || Path::new(folder).starts_with(&resolved))
}

#[cfg(test)]
mod tests;
