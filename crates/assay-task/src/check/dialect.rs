//! Recognizes tasks of other formats, so that they can be reported.

use std::path::Path;

/// Most bytes that are read to detect a format.
const PEEK: u64 = 64 << 10;

/// The unsupported task format of a file or folder. `None` if none is detected.
pub fn dialect(path: &Path) -> Option<&'static str> {
    if path.is_file() {
        return of_file(path);
    }
    let has = |name: &str| path.join(name).is_file();
    if has("task.yaml") || has("task.yml") {
        return Some("a task of the older Terminal-Bench format (task.yaml)");
    }
    if has("promptfooconfig.yaml") || has("promptfooconfig.yml") {
        return Some("a promptfoo suite (promptfooconfig.yaml)");
    }
    if has("evals/evals.json") || has("evals.json") {
        return Some("evaluations of a skill (evals.json)");
    }
    let mut names: Vec<_> =
        std::fs::read_dir(path).ok()?.flatten().take(4096).map(|entry| entry.path()).collect();
    names.sort();
    names.iter().filter(|name| name.is_file()).take(64).find_map(|name| of_file(name))
}

fn of_file(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    if !matches!(extension, "jsonl" | "json" | "py" | "yaml" | "yml") {
        return None;
    }
    let (folder, name) = (path.parent()?, path.file_name()?);
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let bytes = assay_fs::read_within(folder, Path::new(name), PEEK).ok()?.bytes;
    let text = String::from_utf8_lossy(&bytes);
    let has = |part: &str| text.contains(part);
    match extension {
        "jsonl" | "json" if has("\"instance_id\"") && (has("\"base_commit\"") || has("\"test_patch\"")) => {
            Some("instances of the SWE-bench format")
        }
        "py" if has("from inspect_ai") || has("import inspect_ai") => Some("tasks of Inspect (inspect_ai)"),
        "yaml" | "yml" if has("parser_name:") && has("instruction:") => {
            Some("a task of the older Terminal-Bench format (task.yaml)")
        }
        _ => None,
    }
}
