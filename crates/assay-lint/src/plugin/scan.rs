//! Scans what a plugin executes or loads besides its skills: hooks and the files they run, commands
//! and agents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use assay_fs::Content;
use serde_json::{Map, Value, json};

use super::{Manifest, local, read_text, real, strings};
use crate::diagnostic::Span;
use crate::rule::Findings;
use crate::safety::check_file;

/// The placeholder for the plugin's folder in commands.
pub(super) const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";
/// Most bytes of a file that are scanned.
const CAP: u64 = 8 << 20;
/// Most hooks, files and folders of all plugins that are scanned.
const MOST: usize = 5_000;

/// Scans the plugins' files outside of their skills. `skills`: canonical folders of the checked
/// skills.
pub(crate) fn scan(manifests: &[Manifest], skills: &[&Path], findings: &mut Findings) {
    let mut scan = Scan { skills, findings, seen: BTreeSet::new(), left: MOST };
    for manifest in manifests {
        let json = manifest.json().unwrap_or_default();
        if !manifest.is_marketplace() {
            scan.plugin(&manifest.root, manifest, &json);
            continue;
        }
        let base = json.pointer("/metadata/pluginRoot").and_then(Value::as_str).unwrap_or_default();
        let root = real(&manifest.root);
        for entry in json.get("plugins").and_then(Value::as_array).into_iter().flatten() {
            let source = entry.get("source").and_then(Value::as_str);
            let own = source.and_then(|source| local(&root, base, source));
            let Some(own) = own.filter(|own| own.starts_with(&root)) else { continue };
            // Report the path as it was named, like other findings.
            let own = own.strip_prefix(&root).map(|rest| manifest.root.join(rest)).unwrap_or(own.clone());
            scan.plugin(&own, manifest, entry);
        }
    }
    if scan.left == 0 {
        let file = manifests.last().map_or_else(PathBuf::new, |manifest| manifest.file.clone());
        let message =
            format!("plugins have {MOST} or more hooks, files and folders: the rest were not scanned");
        findings.begin(crate::safety::rules());
        findings.add_at("unscanned", file, None, message);
    }
}

struct Scan<'a> {
    skills: &'a [&'a Path],
    findings: &'a mut Findings,
    seen: BTreeSet<PathBuf>,
    left: usize,
}

impl Scan<'_> {
    /// Scans a plugin: its folder, and the fields that a manifest has for it.
    fn plugin(&mut self, root: &Path, manifest: &Manifest, fields: &Value) {
        let mut hooks = vec![PathBuf::from("hooks/hooks.json")];
        for own in list(fields.get("hooks")) {
            match own {
                Value::String(path) => hooks.push(PathBuf::from(path)),
                own => {
                    let text = manifest.text.as_deref().unwrap_or_default();
                    self.events(root, &manifest.file, text, own);
                }
            }
        }
        for path in hooks {
            if !self.first(root, &path) {
                continue;
            }
            let Ok(text) = read_text(root, &path) else { continue };
            if let Ok(json) = serde_json::from_str::<Value>(&text) {
                self.events(root, &root.join(tidy(&path)), &text, &json);
            }
        }
        for (key, loaded) in [("commands", true), ("agents", false)] {
            for path in std::iter::once(key).chain(strings(fields.get(key))) {
                self.pages(root, Path::new(path), loaded);
            }
        }
    }

    /// Whether a path is in the plugin and has not been scanned yet.
    fn first(&mut self, root: &Path, path: &Path) -> bool {
        let (base, place) = (real(root), real(&root.join(path)));
        let inside = place.starts_with(&base);
        if !inside || !place.is_file() || self.left == 0 || !self.seen.insert(place) {
            return false;
        }
        self.left -= 1;
        true
    }

    /// Scans the Markdown files at or below a path. Links to folders are not followed: they could
    /// form a cycle.
    fn pages(&mut self, root: &Path, path: &Path, loaded: bool) {
        if !real(&root.join(path)).starts_with(real(root)) {
            return;
        }
        let mut pending = vec![path.to_path_buf()];
        while let Some(path) = pending.pop().filter(|_| self.left > 0) {
            let place = root.join(&path);
            if place.is_dir() {
                self.left -= 1;
                let listing = fs::read_dir(&place).into_iter().flatten().flatten();
                let own = listing.filter(|entry| {
                    let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                    !is_link || !entry.path().is_dir()
                });
                let mut below: Vec<_> = own.map(|entry| path.join(entry.file_name())).collect();
                below.sort_by(|a, b| b.cmp(a));
                pending.extend(below);
            } else if place.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md")) {
                self.file(root, &path, loaded);
            }
        }
    }

    /// Scans a file, unless it is part of a skill that was checked.
    fn file(&mut self, root: &Path, path: &Path, loaded: bool) {
        let place = real(&root.join(path));
        let skipped = |part: Component<'_>| assay_skill::SKIPPED.iter().any(|name| part.as_os_str() == *name);
        let known = self.skills.iter().filter_map(|skill| place.strip_prefix(skill).ok());
        if known.into_iter().any(|rest| !rest.components().any(skipped)) || !self.first(root, path) {
            return;
        }
        if let Ok(content) = assay_fs::read_within(root, path, CAP) {
            check_file(&root.join(tidy(path)), content, loaded, None, self.findings);
        }
    }

    /// Scans the hooks anywhere in a JSON value.
    fn events(&mut self, root: &Path, file: &Path, text: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                if ["command", "url", "prompt"]
                    .iter()
                    .any(|key| fields.get(*key).is_some_and(Value::is_string))
                {
                    self.hook(root, file, text, fields);
                }
                for value in fields.values() {
                    self.events(root, file, text, value);
                }
            }
            Value::Array(items) => items.iter().for_each(|value| self.events(root, file, text, value)),
            _ => {}
        }
    }

    fn hook(&mut self, root: &Path, file: &Path, text: &str, fields: &Map<String, Value>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let said = ["command", "url", "prompt"].iter().find_map(|key| fields.get(*key)?.as_str());
        let said = said.unwrap_or_default();
        let written = serde_json::to_string(said).unwrap_or_default();
        let at = text.find(&written).map(|at| Span::of(text, &(at..at + written.len())));
        // Serialized again one by one, so that escapes hide nothing and no limit per file is
        // reached.
        let bytes = json!({ "hooks": fields }).to_string().into_bytes();
        let place = Some(at.unwrap_or(Span::at(1, 1)));
        check_file(file, Content { bytes, truncated: false }, false, place, self.findings);
        for path in paths(said) {
            self.file(root, Path::new(path), false);
        }
    }
}

/// The path without `.` components, as in `./commands`.
fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// A value, or the items of a list.
fn list(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::Array(items)) => items.iter().collect(),
        other => other.into_iter().collect(),
    }
}

/// The paths of the plugin that a command names.
pub(super) fn paths(command: &str) -> impl Iterator<Item = &str> {
    command.match_indices(ROOT).map(|(at, _)| {
        let rest = command[at + ROOT.len()..].trim_start_matches(['/', '"']);
        let end = rest.find(|c: char| c.is_whitespace() || "\"';&|<>$()*".contains(c)).unwrap_or(rest.len());
        &rest[..end]
    })
}
