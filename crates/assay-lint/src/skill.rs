//! One package, as rules see it.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use assay_skill::{Document, Encoding, FileKind, Leniency, Package, quote_values};
use assay_syntax::markdown::{Dialect, Outline};
use assay_syntax::yaml::{Node, Yaml};

use crate::budgets::Budgets;

/// Most bytes of a resource that are read.
pub(crate) const RESOURCE_CAP: u64 = 1 << 20;
/// Most resources of a package that are read.
const RESOURCES: usize = 500;

/// A text file of a package, beside its document.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Relative to the package, `/` between parts.
    pub path: String,
    /// Its first `RESOURCE_CAP` bytes, decoded leniently.
    pub text: String,
    /// Whether its owner may execute it.
    pub executable: bool,
}

/// One package, as rules see it.
#[derive(Debug)]
pub struct Skill {
    /// The package's folder.
    pub root: PathBuf,
    /// The document, or the folder when there is none.
    pub file: PathBuf,
    /// The package; `None` when no document can be read.
    pub package: Option<Package>,
    /// The parsed document; `None` likewise.
    pub document: Option<Document>,
    /// The front matter with positions. If it is only valid with values quoted, the values as
    /// parsed that way.
    pub yaml: Yaml,
    /// The size limits.
    pub budgets: Budgets,
    /// The loader's diagnostics.
    pub loader: Vec<assay_skill::Diagnostic>,
    /// The folders within the package that have their own `SKILL.md`, relative to it, ending with a
    /// slash.
    pub nested: Vec<String>,
    markdown: OnceLock<Outline>,
    resources: OnceLock<Vec<Resource>>,
}

impl Skill {
    /// Reads the package in a folder.
    pub fn load(root: &Path) -> Self {
        let loaded = Package::load(root);
        let file = document_of(root);
        let yaml = loaded.document.as_ref().map(read_yaml).unwrap_or_default();
        let nested = loaded.package.as_ref().map_or_else(Vec::new, nested);
        Self {
            root: root.to_path_buf(),
            file,
            package: loaded.package,
            document: loaded.document,
            yaml,
            budgets: Budgets::default(),
            loader: loaded.diagnostics,
            nested,
            markdown: OnceLock::new(),
            resources: OnceLock::new(),
        }
    }

    /// The whole document; empty when there is none.
    pub fn text(&self) -> &str {
        self.document.as_ref().map_or("", |document| &document.text)
    }

    /// What follows the front matter.
    pub fn body(&self) -> &str {
        self.document.as_ref().map_or("", Document::body)
    }

    /// The offset of the body in the text.
    pub fn body_start(&self) -> usize {
        self.document.as_ref().map_or(0, |document| document.body_start)
    }

    /// The folder's name; empty when there is no package.
    pub fn directory(&self) -> &str {
        self.package.as_ref().map_or("", |package| &package.directory)
    }

    /// Whether the document is named exactly `SKILL.md`.
    pub fn exact_name(&self) -> bool {
        self.document.is_some() && self.file.file_name().is_some_and(|name| name == "SKILL.md")
    }

    /// Whether the document is plain UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.document.as_ref().is_some_and(|document| document.encoding == Encoding::Utf8)
    }

    /// A field of the front matter: key and value.
    pub fn field(&self, key: &str) -> Option<&(Node, Node)> {
        self.yaml.field(key)
    }

    /// The position of a field's value, else of its key, else of the first line of the front
    /// matter, else of the document's start.
    pub fn place(&self, key: &str) -> Range<usize> {
        match self.field(key) {
            Some((key, value)) if value.span.is_empty() => key.span.clone(),
            Some((_, value)) => value.span.clone(),
            None => self.fence(),
        }
    }

    /// The position of the opening fence, or of the document's start.
    pub fn fence(&self) -> Range<usize> {
        let text = self.text();
        let end = self.document.as_ref().map_or(0, |document| {
            document.fence.as_ref().map_or(0, |fence| fence.inside.start.saturating_sub(1))
        });
        let start = text[..end].rfind('\n').map_or(0, |at| at + 1);
        let line = text[start..].find('\n').map_or(text.len(), |at| start + at);
        start..line.max(start)
    }

    /// The body's structure.
    pub fn markdown(&self) -> &Outline {
        self.markdown.get_or_init(|| Outline::read(self.text(), self.body_start(), Dialect::GitHub))
    }

    /// The package's entries other than its document, without those of skills within it.
    pub fn entries(&self) -> impl Iterator<Item = &assay_skill::FileEntry> {
        let own = self.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let files = self.package.iter().flat_map(|package| &package.files);
        files.filter(move |entry| entry.path != own && !self.is_nested(&entry.path))
    }

    /// Whether a path of the package belongs to a skill within it.
    pub fn is_nested(&self, path: &str) -> bool {
        self.nested.iter().any(|folder| path.starts_with(folder.as_str()))
    }

    /// The text files other than the document: regular files without NUL bytes, the first 500, each
    /// up to 1 MiB.
    pub fn resources(&self) -> &[Resource] {
        self.resources.get_or_init(|| {
            self.entries()
                .filter(|entry| entry.kind == FileKind::File)
                .take(RESOURCES)
                .filter_map(|entry| {
                    let content =
                        assay_fs::read_within(&self.root, Path::new(&entry.path), RESOURCE_CAP).ok()?;
                    if content.bytes.contains(&0) {
                        return None;
                    }
                    let text = assay_skill::decode(&content.bytes).text;
                    Some(Resource { path: entry.path.clone(), text, executable: entry.executable })
                })
                .collect()
        })
    }
}

/// The maximum depth at which clients find a skill within another.
const NESTED_DEPTH: usize = 6;

/// The folders of a package that have their own document. Clients do not search hidden folders and
/// dependency folders.
fn nested(package: &Package) -> Vec<String> {
    package
        .files
        .iter()
        .filter(|entry| entry.kind == FileKind::File)
        .filter_map(|entry| entry.path.strip_suffix("SKILL.md").filter(|folder| folder.ends_with('/')))
        .filter(|folder| {
            let parts = folder.trim_end_matches('/').split('/');
            parts.clone().count() <= NESTED_DEPTH
                && parts.clone().all(|part| !part.starts_with('.') && !assay_skill::SKIPPED.contains(&part))
        })
        .map(str::to_owned)
        .collect()
}

/// `SKILL.md`, else `skill.md`, else another spelling of it, else the folder.
fn document_of(root: &Path) -> PathBuf {
    let Ok(listing) = fs::read_dir(root) else { return root.to_path_buf() };
    let names: Vec<String> = listing
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.eq_ignore_ascii_case("SKILL.md"))
        .collect();
    ["SKILL.md", "skill.md"]
        .into_iter()
        .find(|wanted| names.iter().any(|name| name == wanted))
        .map(str::to_owned)
        .or_else(|| names.into_iter().min())
        .map_or_else(|| root.to_path_buf(), |name| root.join(name))
}

fn read_yaml(document: &Document) -> Yaml {
    let range = document.yaml.clone();
    let block = &document.text[range.clone()];
    match &document.trouble {
        Some((_, Leniency::Quoted)) => quote_values(&block.replace('\0', " "))
            .map(|repaired| Yaml::parse_repaired(&repaired, block, range.start))
            .unwrap_or_default(),
        _ => Yaml::parse(block, range.start),
    }
}
