//! Plugins and marketplaces: which skills are installed together, and their manifests.
//!
//! A plugin is a folder with `.claude-plugin/plugin.json` or `.codex-plugin/plugin.json`; a
//! marketplace is a folder with `.claude-plugin/marketplace.json`, whose entries may be plugins
//! without their own manifest. Clients name a plugin's skills `plugin:skill`. The plugins of a
//! marketplace are installed one by one.

mod hooks;
mod manifest;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

pub(crate) use hooks::is_event;
pub(crate) use manifest::{RULES, check};
pub(crate) use scan::scan;

/// Most bytes of a manifest that are read.
const CAP: u64 = 1 << 20;
/// How many folders above a named path are searched for a plugin's manifest.
const ABOVE: usize = 4;

/// The folders that contain a client's manifests.
const FOLDERS: [&str; 2] = [".claude-plugin", ".codex-plugin"];

/// A manifest that was found.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// The file.
    pub(crate) file: PathBuf,
    /// The folder of the plugin or of the marketplace.
    pub(crate) root: PathBuf,
    /// Its text, or why it cannot be read.
    pub(crate) text: Result<String, Unreadable>,
}

/// Why the text of a plugin's file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    /// It cannot be opened, or leaves the plugin.
    #[error("{0}")]
    Open(Box<dyn std::error::Error + Send + Sync>),
    /// It is too long.
    #[error("larger than 1 MiB")]
    TooLarge,
    /// It is not text.
    #[error("not UTF-8")]
    Encoding,
}

/// The text of a file of a plugin. A link that leaves the plugin is not followed: an untrusted
/// manifest could name any file of the user.
pub(crate) fn read_text(root: &Path, path: &Path) -> Result<String, Unreadable> {
    let content = assay_fs::read_within(root, path, CAP).map_err(|error| Unreadable::Open(error.into()))?;
    if content.truncated {
        return Err(Unreadable::TooLarge);
    }
    String::from_utf8(content.bytes).map_err(|_| Unreadable::Encoding)
}

impl Manifest {
    fn read(root: &Path, path: &str) -> Option<Self> {
        let file = root.join(path);
        fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
        let text = read_text(root, Path::new(path));
        Some(Self { file, root: root.to_path_buf(), text })
    }

    pub(crate) fn is_marketplace(&self) -> bool {
        self.file.file_name().is_some_and(|name| name == "marketplace.json")
    }

    pub(crate) fn is_codex(&self) -> bool {
        self.file.parent().is_some_and(|folder| folder.ends_with(".codex-plugin"))
    }

    fn json(&self) -> Option<Value> {
        serde_json::from_str(self.text.as_deref().ok()?).ok()
    }
}

/// Skills that are installed together under one name.
#[derive(Debug)]
struct Plugin {
    name: String,
    root: PathBuf,
    /// The folders of its skills.
    skills: Vec<PathBuf>,
}

/// The plugins found in some paths.
#[derive(Debug, Default)]
pub(crate) struct Plugins {
    /// The manifests in the paths.
    pub(crate) manifests: Vec<Manifest>,
    plugins: Vec<Plugin>,
}

impl Plugins {
    /// Searches the paths, and a few folders above them for the plugin that they are part of.
    pub(crate) fn find(roots: &[PathBuf]) -> Self {
        let mut found = Self::default();
        let mut folders = BTreeSet::new();
        for root in roots {
            let Ok(real) = fs::canonicalize(root) else { continue };
            let mut pending = vec![(root.clone(), 0)];
            while let Some((folder, depth)) = pending.pop() {
                if folders.len() > assay_skill::SCAN_FOLDERS {
                    break;
                }
                if !fs::canonicalize(&folder).is_ok_and(|real| folders.insert(real)) {
                    continue;
                }
                for path in ["plugin.json", "marketplace.json"] {
                    let manifests = FOLDERS.map(|name| Manifest::read(&folder, &format!("{name}/{path}")));
                    found.manifests.extend(manifests.into_iter().flatten());
                }
                if depth < assay_skill::SCAN_DEPTH && !folder.join("SKILL.md").is_file() {
                    pending.extend(below(&folder).into_iter().map(|folder| (folder, depth + 1)));
                }
            }
            for above in real.ancestors().skip(1).take(ABOVE) {
                let manifests = FOLDERS.map(|name| Manifest::read(above, &format!("{name}/plugin.json")));
                for manifest in manifests.into_iter().flatten() {
                    found.plugins.extend(Plugin::of(&manifest));
                }
            }
        }
        found.manifests.sort_by(|a, b| a.file.cmp(&b.file));
        for manifest in &found.manifests {
            if manifest.is_marketplace() {
                found.plugins.extend(entries(manifest));
            } else {
                found.plugins.extend(Plugin::of(manifest));
            }
        }
        found
    }

    /// The plugins that a skill is part of, with their folders and names; empty if it is installed
    /// on its own.
    pub(crate) fn of(&self, skill: &Path) -> BTreeSet<(PathBuf, String)> {
        let skill = real(skill);
        self.plugins
            .iter()
            // A plugin may itself be one skill.
            .filter(|plugin| {
                skill == plugin.root || plugin.skills.iter().any(|folder| skill.starts_with(folder))
            })
            .map(|plugin| (plugin.root.clone(), plugin.name.clone()))
            .collect()
    }
}

impl Plugin {
    /// A plugin with its own manifest. If that cannot be read, the folder's name is used.
    fn of(manifest: &Manifest) -> Option<Self> {
        let root = fs::canonicalize(&manifest.root).ok()?;
        let json = manifest.json().unwrap_or_default();
        let folder = root.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = json.get("name").and_then(Value::as_str).map(str::to_owned).or(folder)?;
        let skills = std::iter::once("skills").chain(strings(json.get("skills")));
        let skills = skills.map(|path| real(&root.join(path))).collect();
        Some(Self { name, root, skills })
    }
}

/// The entries of a marketplace that are in its own folder.
fn entries(manifest: &Manifest) -> Vec<Plugin> {
    let Some(json) = manifest.json() else { return Vec::new() };
    let base = json.pointer("/metadata/pluginRoot").and_then(Value::as_str).unwrap_or("");
    let list = json.get("plugins").and_then(Value::as_array).cloned().unwrap_or_default();
    let root = real(&manifest.root);
    list.iter()
        .filter_map(|entry| {
            let name = entry.get("name").and_then(Value::as_str)?.to_owned();
            let source = entry.get("source").and_then(Value::as_str)?;
            let own = local(&root, base, source)?;
            let skills = strings(entry.get("skills"));
            let skills: Vec<PathBuf> = skills.iter().map(|path| real(&own.join(path))).collect();
            // Several entries may share the marketplace's own folder: if they list skills, they
            // have only those.
            let skills = if skills.is_empty() { vec![own.join("skills")] } else { skills };
            Some(Plugin { name, root: own, skills })
        })
        .collect()
}

/// The folder of a marketplace's entry; `None` if it is elsewhere.
pub(crate) fn local(root: &Path, base: &str, source: &str) -> Option<PathBuf> {
    let elsewhere = source.contains("://") || source.starts_with(['/', '~']) || source.starts_with("git@");
    if elsewhere {
        return None;
    }
    // The base applies to sources that do not start with `./` or `../`.
    let path = if source.starts_with("./") { root.join(source) } else { root.join(base).join(source) };
    Some(real(&path))
}

/// A string, or a list of strings.
pub(crate) fn strings(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The folders in a folder that may contain plugins.
fn below(folder: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = listing
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| {
            let name = entry.file_name();
            !assay_skill::SKIPPED.iter().any(|skipped| name == *skipped)
                && !FOLDERS.iter().any(|own| name == *own)
        })
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders
}

/// The canonical path; if it does not exist, the normalized path.
pub(crate) fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| {
        let mut out = PathBuf::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    out.pop();
                }
                other => out.push(other),
            }
        }
        out
    })
}

/// Skills that are installed together: a plugin's folder and name, or a client's folder such as
/// `.claude`, or neither.
pub(crate) type Key = (PathBuf, Option<String>);

/// Groups of skills that are installed together: each plugin, each client's folder, then the rest,
/// whose folder is `root`.
pub(crate) fn group(plugins: &Plugins, skills: &[&Path], root: &Path) -> BTreeMap<Key, Vec<usize>> {
    let mut groups = BTreeMap::<Key, Vec<usize>>::new();
    for (at, skill) in skills.iter().enumerate() {
        let own = if plugins.plugins.is_empty() { BTreeSet::new() } else { plugins.of(skill) };
        if own.is_empty() {
            let folder = client_folder(skill).unwrap_or_else(|| root.to_path_buf());
            groups.entry((folder, None)).or_default().push(at);
        }
        for (root, name) in own {
            groups.entry((root, Some(name))).or_default().push(at);
        }
    }
    groups
}

/// The client folder that contains a skill, as in `.claude/skills/pdf`: other clients do not search
/// it.
pub(crate) fn client_folder(skill: &Path) -> Option<PathBuf> {
    let hidden = |part: &std::ffi::OsStr| {
        part.to_string_lossy().strip_prefix('.').is_some_and(|rest| !rest.is_empty() && rest != ".")
    };
    let above = skill.ancestors().skip(1).filter(|above| above.file_name() == Some("skills".as_ref()));
    let folder = above.filter_map(Path::parent).find(|folder| folder.file_name().is_some_and(hidden));
    folder.map(Path::to_path_buf)
}
