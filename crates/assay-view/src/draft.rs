//! The folder of a draft, whose files are read as they are now, and as JSON: their types belong to the commands that write them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

/// Most bytes of a file that is shown.
const FILE_BYTES: u64 = 4 << 20;

/// The file with the decisions of people.
pub(crate) const APPROVALS: &str = "approvals.json";

/// A draft's folder.
pub(crate) struct Draft {
    pub(crate) root: PathBuf,
    /// Held while decisions are written.
    pub(crate) writing: Mutex<()>,
}

impl Draft {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, writing: Mutex::default() }
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let content = assay_fs::read_within(&self.root, Path::new(name), FILE_BYTES).ok()?;
        Some(String::from_utf8_lossy(&content.bytes).into_owned())
    }

    /// A file as JSON; null if it is missing or has another form.
    pub(crate) fn json(&self, name: &str) -> Value {
        self.text(name).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// The lines of a file as JSON.
    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        let text = self.text(name).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The names in a folder, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }

    /// What a person decided on an idea or a task: `approved`, `rejected` or nothing, and the comment.
    pub(crate) fn decision(&self, kind: &str, name: &str) -> (String, String) {
        let found = &self.json(APPROVALS)[kind][name];
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (text("decision"), text("comment"))
    }
}
