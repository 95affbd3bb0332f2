//! The canonical digest of a folder, and the bounded walk below it.
//!
//! A folder's digest leaves nothing out: every entry below it, hidden ones too, with its path's
//! bytes, its kind, its executable bit and its content; the target text of a link, which is not
//! followed; folders that contain nothing. It does not depend on the folder's path, what it is
//! called, on owners, times, or permission bits other than the owner's execute bit, so a checkout
//! under another umask has the same digest.
//!
//! Canonical form, BLAKE3 over it: the part `assay.tree/1`, then for each entry, sorted by the
//! bytes of its path: path (a part: its length as 8 bytes, least significant first, then the
//! bytes), kind (`f`, `l`, `d`, `o`; one byte), executable (one byte), size in bytes (8 bytes),
//! digest of the content (32 bytes: the file's bytes, the link's target text, or nothing).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::digest::{Digest, Hasher, digest_stream};
use crate::walk::{self, Item, Next, Sequence, Visitor};
use crate::{FileKind, open_file};

/// Deepest entry that is checked, in path components below the root.
pub const MAX_DEPTH: usize = 64;
/// Most entries that are checked below one root.
pub const MAX_ENTRIES: usize = 200_000;
/// Most bytes of files read below one root: a sparse file of terabytes must not hang a digest.
pub const MAX_BYTES: u64 = 16 << 30;

/// An entry that was found, before its content is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its path relative to the root, byte for byte.
    pub path: PathBuf,
    /// Its kind.
    pub kind: FileKind,
    /// Bytes of a file, or of a link's target text; else 0.
    pub size: u64,
    /// Whether a file's owner may execute it.
    pub executable: bool,
}

/// An entry with the digest of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path relative to the root, byte for byte.
    pub path: PathBuf,
    /// Its kind.
    pub kind: FileKind,
    /// Bytes of a file, or of a link's target text; else 0.
    pub size: u64,
    /// Whether a file's owner may execute it.
    pub executable: bool,
    /// The digest of a file's bytes, of a link's target text, or of nothing.
    pub digest: Digest,
}

/// An entry below a root that could not be read, or was not checked. A digest made without it is
/// invalid.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct Problem {
    /// The path at fault.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// The result of a walk: entries sorted by the bytes of their paths, folders included, without the
/// root itself.
#[derive(Debug, Default)]
pub struct Walk {
    /// The entries.
    pub nodes: Vec<Node>,
    /// What could not be checked.
    pub problems: Vec<Problem>,
}

/// A folder's entries with their digests, sorted by the bytes of their paths, folders included.
#[derive(Debug, Default)]
pub struct Tree {
    /// The entries.
    pub entries: Vec<Entry>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// Visits every entry below a root without reading any, up to [`MAX_DEPTH`] and [`MAX_ENTRIES`].
/// Links are not followed, save the root itself.
pub fn walk(root: &Path) -> Walk {
    let mut collect = Collect { root, walk: Walk::default() };
    let walked = match walk::open_following(root) {
        Ok(folder) => walk::walk(folder, Sequence::Any, &mut collect),
        Err(error) => collect.failed(Path::new(""), error),
    };
    if let Err(never) = walked {
        match never {}
    }
    let mut found = collect.walk;
    found.nodes.sort_by(|a, b| bytes(&a.path).cmp(&bytes(&b.path)));
    found.problems.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Collects the entries of a walk.
struct Collect<'a> {
    root: &'a Path,
    walk: Walk,
}

impl Visitor for Collect<'_> {
    type Error = Infallible;

    fn item(&mut self, item: &Item<'_>) -> Result<Next, Infallible> {
        if self.walk.nodes.len() >= MAX_ENTRIES {
            let source = io::Error::other(format!("more than {MAX_ENTRIES} entries"));
            self.walk.problems.push(Problem { path: self.root.to_path_buf(), source });
            return Ok(Next::Stop);
        }
        let kind = item.kind();
        let is_sized = matches!(kind, FileKind::File | FileKind::Link);
        self.walk.nodes.push(Node {
            path: item.path.to_path_buf(),
            kind,
            size: if is_sized { item.size() } else { 0 },
            executable: kind == FileKind::File && item.mode() & 0o100 != 0,
        });
        if kind == FileKind::Directory && item.depth >= MAX_DEPTH {
            self.failed(item.path, io::Error::other(format!("deeper than {MAX_DEPTH} folders")))?;
            return Ok(Next::Past);
        }
        Ok(Next::Into)
    }

    fn failed(&mut self, path: &Path, source: io::Error) -> Result<(), Infallible> {
        self.walk.problems.push(Problem { path: self.root.join(path), source });
        Ok(())
    }
}

impl Tree {
    /// Reads a folder: one walk, and every file once, in pieces.
    pub fn read(root: &Path) -> Self {
        Self::from_walk(root, walk(root), |_| true)
    }

    /// Reads those entries of a finished walk that `keep` accepts. Omitting a folder does not omit
    /// its content: `keep` is called for every entry.
    pub fn from_walk(root: &Path, walk: Walk, keep: impl Fn(&Node) -> bool) -> Self {
        let mut tree = Self { entries: Vec::with_capacity(walk.nodes.len()), problems: walk.problems };
        let mut left = MAX_BYTES;
        for node in walk.nodes {
            if !keep(&node) {
                continue;
            }
            match digest_node(root, &node, left) {
                Ok((digest, size)) => {
                    left = left.saturating_sub(size);
                    let Node { path, kind, executable, .. } = node;
                    tree.entries.push(Entry { path, kind, size, executable, digest });
                }
                Err(source) => tree.problems.push(Problem { path: root.join(&node.path), source }),
            }
        }
        tree
    }

    /// The digest of the complete folder.
    pub fn digest(&self) -> Digest {
        self.digest_where(|_| true)
    }

    /// The digest the folder would have with only the entries that `keep` accepts. A folder that
    /// loses its content this way is an empty folder, unless it is itself omitted.
    pub fn digest_where(&self, keep: impl Fn(&Entry) -> bool) -> Digest {
        digest_entries(
            self.entries.iter().filter(|entry| keep(entry)).map(|entry| (entry.path.as_path(), entry)),
        )
    }

    /// The digest of a folder below the root on its own, with the entries that `keep` accepts
    /// (called with paths relative to the root).
    pub fn digest_beneath(&self, folder: &Path, keep: impl Fn(&Entry) -> bool) -> Digest {
        digest_entries(self.entries.iter().filter(|entry| keep(entry)).filter_map(|entry| {
            let path = entry.path.strip_prefix(folder).ok()?;
            (!path.as_os_str().is_empty()).then_some((path, entry))
        }))
    }

    /// The entries without the folders that contain something.
    pub fn leaves(&self) -> impl Iterator<Item = &Entry> {
        let parents: BTreeSet<&Path> = self.entries.iter().filter_map(|entry| entry.path.parent()).collect();
        let holds =
            move |entry: &Entry| entry.kind == FileKind::Directory && parents.contains(entry.path.as_path());
        self.entries.iter().filter(move |entry| !holds(entry))
    }

    /// The entry at a path relative to the root.
    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.entries
            .binary_search_by(|entry| bytes(&entry.path).cmp(&bytes(path)))
            .ok()
            .map(|at| &self.entries[at])
    }
}

fn digest_entries<'a>(entries: impl Iterator<Item = (&'a Path, &'a Entry)>) -> Digest {
    // Removing a common prefix does not change the order of the bytes.
    let entries: Vec<_> = entries.collect();
    let parents: BTreeSet<&Path> = entries.iter().filter_map(|(path, _)| path.parent()).collect();
    let mut hasher = Hasher::new("assay.tree/1");
    for (path, entry) in entries {
        let kind = match entry.kind {
            FileKind::Directory if parents.contains(path) => continue,
            FileKind::Directory => b'd',
            FileKind::File => b'f',
            FileKind::Link => b'l',
            FileKind::Other => b'o',
        };
        hasher
            .part(&bytes(path))
            .byte(kind)
            .byte(u8::from(entry.executable))
            .number(entry.size)
            .digest(&entry.digest);
    }
    hasher.finish()
}

fn digest_node(root: &Path, node: &Node, limit: u64) -> io::Result<(Digest, u64)> {
    match node.kind {
        FileKind::File if node.size > limit => {
            Err(io::Error::other(format!("larger than the {limit} bytes that are left to read")))
        }
        FileKind::File => digest_stream(open_file(&root.join(&node.path))?, limit),
        FileKind::Link => {
            let target = fs::read_link(root.join(&node.path))?;
            let target = bytes(&target);
            Ok((Digest::of(&target), target.len() as u64))
        }
        FileKind::Directory | FileKind::Other => Ok((Digest::of(b""), 0)),
    }
}

/// Removes `.` and `..` from a path by its text alone, never leaving `/` or the start. The result
/// is what a link-free file system would find; `None` if a relative path climbs above its start.
pub fn normalize(path: &Path) -> Option<PathBuf> {
    let mut parts: Vec<OsString> = Vec::new();
    let absolute = path.is_absolute();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_os_string()),
            Component::ParentDir if parts.pop().is_none() && !absolute => return None,
            _ => {}
        }
    }
    let mut normal = if absolute { PathBuf::from("/") } else { PathBuf::new() };
    normal.extend(parts);
    Some(normal)
}

/// Whether a link below a root leaves it: by its real target, or by its text if the target does not
/// exist.
pub fn escapes(root: &Path, link: &Path) -> bool {
    let at = root.join(link);
    if let (Ok(base), Ok(real)) = (fs::canonicalize(root), fs::canonicalize(&at)) {
        return !real.starts_with(base);
    }
    let Ok(target) = fs::read_link(at) else { return true };
    target.is_absolute() || normalize(&link.parent().unwrap_or(Path::new("")).join(target)).is_none()
}

/// The bytes of a path, with `/` between its parts on every system.
pub fn bytes(path: &Path) -> Cow<'_, [u8]> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if std::path::MAIN_SEPARATOR == '/' || !bytes.contains(&b'\\') {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(bytes.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect())
}

/// The path these bytes make.
#[cfg(unix)]
pub fn path_from(bytes: &[u8]) -> PathBuf {
    let path: OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec());
    path.into()
}

/// The path these bytes make.
#[cfg(not(unix))]
pub fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests;
