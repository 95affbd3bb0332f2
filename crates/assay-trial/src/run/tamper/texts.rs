//! The texts of a task that are searched for names.

use std::path::PathBuf;

use assay_fs::tree;
use assay_task::Task;

/// Most bytes of a file that are searched.
const FILE_CAP: u64 = 1 << 20;

/// Most bytes of a task's own files that are searched for names.
const SEARCHED: u64 = 8 << 20;

/// The text files of a task below a name, also of its steps.
pub(super) fn texts(task: &Task, name: &str) -> Vec<(PathBuf, String)> {
    let mut room = SEARCHED;
    let mut found = Vec::new();
    let mut nodes = tree::walk(&task.root).nodes;
    // Scripts before data, so that large files cannot use up the budget.
    nodes.sort_by_key(|node| node.size);
    for node in nodes {
        let mut parts = node.path.iter();
        let first = parts.next().unwrap_or_default();
        let is_wanted = first == name || first == "steps" && parts.nth(1).is_some_and(|part| part == name);
        if node.kind != assay_skill::FileKind::File || !is_wanted {
            continue;
        }
        let Ok(content) = assay_fs::read_within(&task.root, &node.path, room.min(FILE_CAP)) else { continue };
        room = room.saturating_sub(content.bytes.len() as u64);
        found.push((node.path, String::from_utf8_lossy(&content.bytes).into_owned()));
    }
    found
}
