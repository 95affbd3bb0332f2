//! Skills that lie in a build context.
//!
//! Which skills an agent gets is the condition's business. What a task's Dockerfile would bake into the image is therefore found, left out of every
//! copy and of every digest, and said. A package is found by its `SKILL.md` (in any case) and by the place it lies in or goes to:
//!
//! - `skills/` at the top of the context, when any `SKILL.md` lies beneath it: all of it;
//! - a folder with a `SKILL.md` beneath a folder called `skills`, wherever that is: that folder;
//! - a folder with a `SKILL.md` that a `COPY` would put beneath a folder called `skills`: that folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_skill::FileKind;
use assay_skill::tree::Node;

use super::context::Source;
use super::{Copy, Dockerfile, SkillCopy};

/// A `COPY` with its sources read once.
struct Reach<'a> {
    copy: &'a Copy,
    sources: Vec<Source>,
}

impl<'a> Reach<'a> {
    fn all(dockerfile: &'a Dockerfile) -> Vec<Self> {
        let reach = |copy: &'a Copy| Self {
            copy,
            sources: copy.sources.iter().map(|text| Source::new(text)).collect(),
        };
        dockerfile.copies.iter().map(reach).collect()
    }

    /// Where the `COPY` puts an entry of the context; `None` when it does not reach it.
    fn destination(&self, path: &Path, kind: FileKind) -> Option<PathBuf> {
        let target = &self.copy.target;
        self.sources.iter().find_map(|source| {
            let above = path.ancestors().find(|above| source.names(above))?;
            let below = path.strip_prefix(above).ok()?;
            if !below.as_os_str().is_empty() {
                return Some(target.join(below));
            }
            let inside = kind != FileKind::Directory && self.copy.is_directory_target;
            Some(if inside { target.join(path.file_name()?) } else { target.clone() })
        })
    }

    /// Whether a source is this entry itself, not a folder above it.
    fn names(&self, path: &Path) -> bool {
        self.sources.iter().any(|source| source.names(path))
    }

    /// Whether a source lies within this entry.
    fn within(&self, path: &Path) -> bool {
        self.sources.iter().any(|source| matches!(source, Source::Path(own) if own.starts_with(path)))
    }
}

/// What is left out of a context, relative to it: sorted, none within another. The Dockerfile's sources have to be free of links
/// ([`Dockerfile::followed`]).
pub(crate) fn left_out(nodes: &[Node], dockerfile: Option<&Dockerfile>) -> BTreeSet<PathBuf> {
    let reaches = dockerfile.map(Reach::all).unwrap_or_default();
    let mut found = BTreeSet::new();
    for node in nodes {
        // What a link beneath `skills/` leads to is not looked at: it is taken for a package.
        if node.path.starts_with("skills") && (is_document(node) || node.kind == FileKind::Link) {
            found.insert(PathBuf::from("skills"));
            continue;
        }
        if !is_document(node) {
            continue;
        }
        let package = node.path.parent().unwrap_or(Path::new(""));
        let whole = || if package.as_os_str().is_empty() { node.path.clone() } else { package.to_path_buf() };
        if beneath_skills(package) {
            found.insert(whole());
            continue;
        }
        for reach in &reaches {
            let target = reach.destination(&node.path, node.kind);
            if target.as_deref().and_then(Path::parent).is_some_and(beneath_skills) {
                // A `SKILL.md` copied alone leaves its folder to whatever else needs it.
                found.insert(if reach.names(&node.path) { node.path.clone() } else { whole() });
            }
        }
    }
    let inner: Vec<PathBuf> = found
        .iter()
        .filter(|path| path.ancestors().skip(1).any(|above| found.contains(above)))
        .cloned()
        .collect();
    for path in inner {
        found.remove(&path);
    }
    found
}

/// What each `COPY` would have brought along of what is left out.
pub(crate) fn skill_copies(
    nodes: &[Node],
    dockerfile: &Dockerfile,
    out: &BTreeSet<PathBuf>,
) -> Vec<SkillCopy> {
    let mut copies = Vec::new();
    for reach in Reach::all(dockerfile) {
        for path in out {
            let kind =
                nodes.iter().find(|node| &node.path == path).map_or(FileKind::Directory, |node| node.kind);
            let part = || reach.within(path).then(|| reach.copy.target.clone());
            if let Some(target) = reach.destination(path, kind).or_else(part) {
                copies.push(SkillCopy { line: reach.copy.line, source: path.clone(), target });
            }
        }
    }
    copies
}

/// Whether a path of a context is, or lies within, something left out.
pub(crate) fn is_left_out(path: &Path, out: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().any(|part| out.contains(part))
}

fn is_document(node: &Node) -> bool {
    let named = node
        .path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    named && matches!(node.kind, FileKind::File | FileKind::Link)
}

fn beneath_skills(folder: &Path) -> bool {
    folder.components().any(|part| part.as_os_str() == "skills")
}
