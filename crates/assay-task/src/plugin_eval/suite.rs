//! A plugin and its suite.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_diagnostic::{Diagnostic, Severity, escape};
use assay_fs::FileKind;
use assay_fs::tree::{self, Walk};
use serde_json::Value;

use super::case::EvalCase;
use super::fields::ERROR;
use super::mock_files::read_mocks;
use super::read::{inside, read_case};

/// Most bytes of a manifest.
const MANIFEST_CAP: u64 = 1 << 20;

/// Most cases of a suite.
const CASES: usize = 2_000;

/// The folder of the suite, unless the manifest names another.
const EVALS: &str = "evals";

/// A plugin's suite.
#[derive(Debug, Clone)]
pub struct EvalSuite {
    /// The plugin.
    pub plugin: EvalPlugin,
    /// The folder of the suite.
    pub dir: PathBuf,
    /// The cases that can be read, by folder.
    pub cases: Vec<EvalCase>,
    /// Folders of cases that cannot be read. `diagnostics` says why.
    pub unread: Vec<PathBuf>,
    /// Mistakes, and what has no effect.
    pub diagnostics: Vec<Diagnostic>,
}

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalPlugin {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub root: PathBuf,
    /// Folders with its skills, relative to it.
    pub skills: Vec<PathBuf>,
    /// What it has besides skills: `commands`, `agents`, `hooks`, `MCP servers`.
    pub others: Vec<&'static str>,
    /// The names of its MCP servers.
    pub servers: BTreeSet<String>,
}

/// Why there is no suite.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalSuiteError {
    /// No manifest.
    #[error("{} is not a plugin: it has neither .claude-plugin/plugin.json nor plugin.json", .0.display())]
    NoPlugin(PathBuf),
    /// A manifest that cannot be read.
    #[error("cannot read {}: {message}", path.display())]
    Manifest {
        /// Which.
        path: PathBuf,
        /// Why, with the line if there is one.
        message: String,
    },
    /// No folder of the suite.
    #[error("{} has no suite: {} is not a folder", plugin.display(), dir.display())]
    NoSuite {
        /// The plugin.
        plugin: PathBuf,
        /// Where it would be.
        dir: PathBuf,
    },
    /// No case in it.
    #[error("{} has no case: a case is a folder with prompt.md or case.yaml", .0.display())]
    NoCases(PathBuf),
}

impl EvalPlugin {
    /// Reads the manifest of a plugin. The second is the folder of its suite.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn load(root: &Path) -> Result<(Self, PathBuf, Vec<Diagnostic>), EvalSuiteError> {
        let files = [".claude-plugin/plugin.json", "plugin.json"];
        let file = files.into_iter().find(|file| root.join(file).is_file());
        let Some(file) = file else { return Err(EvalSuiteError::NoPlugin(root.to_owned())) };
        let path = root.join(file);
        let broken = |message: String| EvalSuiteError::Manifest { path: path.clone(), message };
        let content = assay_fs::read_within(root, Path::new(file), MANIFEST_CAP)
            .map_err(|error| broken(error.to_string()))?;
        let json: Value =
            serde_json::from_slice(&content.bytes).map_err(|error| broken(error.to_string()))?;
        let name = json.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let Some(name) = name else { return Err(broken("`name` is missing".to_owned())) };
        let mut found = Vec::new();
        let dir = suite_folder(&json, &path, &mut found);
        let mut others = Vec::new();
        for (what, key, folder) in [
            ("commands", "commands", "commands"),
            ("agents", "agents", "agents"),
            ("hooks", "hooks", "hooks"),
            ("MCP servers", "mcpServers", ".mcp.json"),
        ] {
            if json.get(key).is_some() || root.join(folder).exists() {
                others.push(what);
            }
        }
        let skills = skill_folders(root, &json);
        let servers = declared_servers(root, &json);
        let plugin = Self { name: name.to_owned(), root: root.to_owned(), skills, others, servers };
        Ok((plugin, root.join(dir), found))
    }

    /// A server's name as agents see it: a server that the plugin does not declare is one of the suite alone.
    fn public_server(&self, name: &str) -> String {
        if self.servers.contains(name) { format!("plugin_{}_{name}", self.name) } else { name.to_owned() }
    }
}

/// The folder of the suite that the manifest names.
fn suite_folder(json: &Value, manifest: &Path, found: &mut Vec<Diagnostic>) -> PathBuf {
    let Some(wished) = json.pointer("/experimental/evals") else { return PathBuf::from(EVALS) };
    let path = wished.as_str().filter(|text| !text.contains("..")).and_then(inside);
    path.unwrap_or_else(|| {
        let message = "`experimental.evals` is not a relative path: evals/ is used";
        let warning = Diagnostic::new(Severity::Warning, ERROR, manifest, message);
        found.push(warning.hint("write a path of plain names, such as \"quality/evals\""));
        PathBuf::from(EVALS)
    })
}

/// The names of the MCP servers that a plugin declares: in its manifest, in files that it names, and in `.mcp.json`.
fn declared_servers(root: &Path, manifest: &Value) -> BTreeSet<String> {
    let names = |servers: &Value| -> Vec<String> {
        let servers = servers.get("mcpServers").unwrap_or(servers).as_object();
        servers.into_iter().flat_map(|servers| servers.keys().cloned()).collect()
    };
    let of_file = |path: &Path| -> Vec<String> {
        let content = assay_fs::read_within(root, path, MANIFEST_CAP).ok();
        let json = content.and_then(|content| serde_json::from_slice(&content.bytes).ok());
        json.map(|json: Value| names(&json)).unwrap_or_default()
    };
    let mut found: BTreeSet<String> = of_file(Path::new(".mcp.json")).into_iter().collect();
    let listed = match manifest.get("mcpServers") {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    for one in listed {
        match one.as_str() {
            Some(path) => found.extend(inside(path).iter().flat_map(|path| of_file(path))),
            None => found.extend(names(one)),
        }
    }
    found
}

/// Folders of skills: below `skills/`, and those that the manifest names.
fn skill_folders(root: &Path, json: &Value) -> Vec<PathBuf> {
    let named: Vec<&str> = match json.get("skills") {
        Some(Value::String(path)) => vec![path],
        Some(Value::Array(paths)) => paths.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let folders = named.into_iter().chain(["skills"]).filter_map(inside);
    let mut found = BTreeSet::new();
    for folder in folders {
        let is_skill = |path: &Path| root.join(path).join("SKILL.md").is_file();
        if is_skill(&folder) {
            found.insert(folder);
            continue;
        }
        let Ok(entries) = std::fs::read_dir(root.join(&folder)) else { continue };
        let below = entries.flatten().map(|entry| folder.join(entry.file_name()));
        found.extend(below.filter(|path| is_skill(path)));
    }
    found.into_iter().collect()
}

impl EvalSuite {
    /// Reads the suite of the plugin in a folder. Cases with a mistake are left out, and each mistake is a diagnostic.
    ///
    /// # Errors
    /// The folder is not a plugin with a case.
    pub fn load(plugin: &Path) -> Result<Self, EvalSuiteError> {
        let (plugin, dir, mut diagnostics) = EvalPlugin::load(plugin)?;
        if !dir.is_dir() {
            return Err(EvalSuiteError::NoSuite { plugin: plugin.root, dir });
        }
        let walk = tree::walk(&dir);
        for problem in &walk.problems {
            let message = format!("cannot read it: {}", problem.source);
            diagnostics.push(Diagnostic::new(Severity::Error, ERROR, problem.path.clone(), message));
        }
        let folders = case_folders(&walk);
        if folders.is_empty() {
            return Err(EvalSuiteError::NoCases(dir));
        }
        if folders.len() > CASES {
            let message = format!("{} cases, of which the first {CASES} are read", folders.len());
            diagnostics.push(Diagnostic::new(Severity::Error, ERROR, dir.clone(), message));
        }
        let shared = read_mocks(
            &dir,
            &|name| plugin.public_server(name),
            &files_below(&walk, Path::new("")),
            &[],
            &mut diagnostics,
        );
        let mut suite = Self { plugin, dir, cases: Vec::new(), unread: Vec::new(), diagnostics };
        for folder in folders.into_iter().take(CASES) {
            suite.add_case(&walk, &folder, &shared);
        }
        suite.check_names();
        suite.diagnostics.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        Ok(suite)
    }

    fn add_case(&mut self, walk: &Walk, folder: &Path, shared: &[super::mocks::MockedServer]) {
        let files = files_below(walk, folder);
        let dir = self.dir.join(folder);
        let mocks =
            read_mocks(&dir, &|name| self.plugin.public_server(name), &files, shared, &mut self.diagnostics);
        match read_case(&self.plugin.root, &dir, &files, &mocks, &mut self.diagnostics) {
            Some(case) => self.cases.push(case),
            None => self.unread.push(dir),
        }
    }

    /// Leaves out cases whose name another has.
    fn check_names(&mut self) {
        let mut names = BTreeSet::new();
        let (kept, again): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.cases).into_iter().partition(|case| names.insert(case.name.clone()));
        self.cases = kept;
        for case in again {
            let message = format!("two cases are named `{}`", escape(&case.name));
            let file = if case.dir.join("prompt.md").is_file() { "prompt.md" } else { "case.yaml" };
            let mistake = Diagnostic::new(Severity::Error, ERROR, case.dir.join(file), message);
            self.diagnostics.push(mistake.at_line(1).hint("rename one of them"));
            self.unread.push(case.dir);
        }
    }
}

/// The files below a folder, relative to it, sorted.
fn files_below(walk: &Walk, folder: &Path) -> Vec<PathBuf> {
    let files = walk.nodes.iter().filter(|node| node.kind == FileKind::File);
    files.filter_map(|node| node.path.strip_prefix(folder).ok().map(Path::to_owned)).collect()
}

/// The folders of cases, sorted. A folder in a case belongs to it.
fn case_folders(walk: &Walk) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for node in walk.nodes.iter().filter(|node| node.kind == FileKind::File) {
        let name = node.path.file_name().and_then(|name| name.to_str());
        let Some(folder) = node.path.parent().filter(|_| matches!(name, Some("prompt.md" | "case.yaml")))
        else {
            continue;
        };
        let top = folder.iter().next().and_then(|part| part.to_str()).unwrap_or_default();
        let is_hidden = folder.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
        if top.is_empty() || matches!(top, "results" | "mocks") || is_hidden {
            continue;
        }
        found.push(folder.to_owned());
    }
    found.sort();
    found.dedup();
    let all = found.clone();
    found.retain(|folder| !all.iter().any(|other| folder != other && folder.starts_with(other)));
    found
}
