//! The content of a package to scan.

use std::path::Path;

use assay_fs::tree;
use assay_skill::{FileKind, Package};

/// Most bytes of a file that are read. If a file is longer, a finding says so.
pub(crate) const FILE_CAP: u64 = 8 << 20;
/// Most bytes of a package that are read.
pub(crate) const BUNDLE_CAP: u64 = 64 << 20;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Relative to the package, `/` between parts.
    pub path: String,
    /// Its bytes, up to 8 MiB.
    pub bytes: Vec<u8>,
    /// Whether bytes were omitted.
    pub truncated: bool,
}

/// A symbolic link of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its path.
    pub path: String,
    /// The text of its target.
    pub target: String,
    /// Whether it leaves the package.
    pub escapes: bool,
}

/// A package's content, in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bundle {
    /// The path of the document, if there is one.
    pub document: Option<String>,
    /// `description` as the model is shown it.
    pub description: String,
    /// `allowed-tools`, each tool separately; `None` if the field is missing.
    pub tools: Option<Vec<String>>,
    /// Regular files, the document among them.
    pub files: Vec<File>,
    /// Symbolic links.
    pub links: Vec<Link>,
}

impl Bundle {
    /// Reads a package's content, without following links out of it.
    pub fn read(package: &Package) -> Self {
        let document = ["SKILL.md", "skill.md"]
            .into_iter()
            .find(|name| package.files.iter().any(|file| file.path == *name))
            .map(str::to_owned);
        let mut bundle = Self {
            document,
            description: package.description.clone(),
            tools: tools(package.front_matter.get("allowed-tools")),
            ..Self::default()
        };
        let mut left = BUNDLE_CAP;
        for entry in &package.files {
            match entry.kind {
                FileKind::File => {
                    let cap = FILE_CAP.min(left);
                    let Ok(content) = assay_fs::read_within(&package.root, Path::new(&entry.path), cap)
                    else {
                        continue;
                    };
                    left -= content.bytes.len() as u64;
                    bundle.files.push(File {
                        path: entry.path.clone(),
                        bytes: content.bytes,
                        truncated: content.truncated,
                    });
                }
                FileKind::Link => {
                    let path = Path::new(&entry.path);
                    let target = std::fs::read_link(package.root.join(path))
                        .map(|target| target.to_string_lossy().into_owned());
                    bundle.links.push(Link {
                        path: entry.path.clone(),
                        target: target.unwrap_or_default(),
                        escapes: tree::escapes(&package.root, path),
                    });
                }
                FileKind::Directory | FileKind::Other => {}
            }
        }
        bundle
    }
}

/// The tools of an `allowed-tools` field: a text with spaces or commas between them, or a list.
fn tools(value: Option<&serde_json::Value>) -> Option<Vec<String>> {
    match value? {
        serde_json::Value::String(text) => {
            let mut tools = vec![String::new()];
            let mut open = 0_usize;
            for c in text.chars() {
                match c {
                    '(' => open += 1,
                    ')' => open = open.saturating_sub(1),
                    _ => {}
                }
                match tools.last_mut() {
                    Some(last) if open > 0 || !(c.is_whitespace() || c == ',') => last.push(c),
                    _ => tools.push(String::new()),
                }
            }
            tools.retain(|tool| !tool.is_empty());
            Some(tools)
        }
        serde_json::Value::Array(list) => {
            Some(list.iter().filter_map(|tool| tool.as_str()).map(str::to_owned).collect())
        }
        _ => None,
    }
}
