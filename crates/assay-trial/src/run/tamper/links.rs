//! Where the symbolic links that an agent left lead.
//!
//! A link is followed on the tree that the verifier will see, one component after another and every
//! link on the way, as the kernel does (`path_resolution(7)`): `..` is applied to the folder that
//! was reached, and not to the text. The verifier's own folders count as existing. A component that
//! does not exist counts as a folder, because the verifier may create it.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use assay_diagnostic::escape_path;
use assay_sandbox::{Mount, Root};

use crate::run::broken::Broken;

/// Folders of the verifier into which no link of the agent may lead.
pub(crate) const VERIFIER_FOLDERS: [&str; 4] = ["/tests", "/logs/verifier", "/solution", "/proc"];

/// The path that never exists (Debian policy, "Non-existent home directories").
const NOWHERE: &str = "/nonexistent";

/// The kernel follows this many links in one path (`MAXSYMLINKS` of `linux/namei.h`).
const MOST_LINKS: usize = 40;

/// The top folders of this machine that a sandbox with its root has.
const HOST_TOP: [&str; 8] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc"];

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// A symbolic link, and its target.
    Link(PathBuf),
    /// Anything else, or nothing.
    Other,
    /// It cannot be found out.
    Unknown,
}

/// The tree that the verifier will see.
pub(crate) trait Tree {
    /// What is at an absolute path that contains no link, without following one at its end.
    fn node(&self, path: &Path) -> Result<Node, Broken>;
}

/// A symbolic link that an agent left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentLink {
    /// Its absolute path, whose parent contains no link.
    pub(crate) path: PathBuf,
    /// Its target.
    pub(crate) target: PathBuf,
}

/// Where a link leads.
#[derive(Debug, PartialEq, Eq)]
enum Lead {
    /// Through this folder of the verifier, or into it.
    Verifier(PathBuf),
    /// To this path.
    To(PathBuf),
    /// Nowhere: the kernel gives up.
    Loop,
    /// It cannot be found out.
    Unknown,
}

/// Follows the links of one tree.
pub(crate) struct Links<'a> {
    tree: &'a dyn Tree,
    nodes: RefCell<BTreeMap<PathBuf, Node>>,
    /// The verifier's folders: the path to find, and the one to show.
    reserved: Vec<(PathBuf, PathBuf)>,
    /// The task's work folders.
    work: Vec<PathBuf>,
}

impl<'a> Links<'a> {
    /// With these work folders, and folders of the verifier besides [`VERIFIER_FOLDERS`].
    pub(crate) fn new(tree: &'a dyn Tree, work: &[PathBuf], reserved: &[PathBuf]) -> Result<Self, Broken> {
        let mut links = Self { tree, nodes: RefCell::default(), reserved: Vec::new(), work: Vec::new() };
        let mut all: Vec<(PathBuf, PathBuf)> = Vec::new();
        let known = VERIFIER_FOLDERS.iter().map(PathBuf::from).chain(reserved.iter().cloned());
        for folder in known {
            // The image may have a link on the way.
            if let Lead::To(real) = links.follow(Path::new("/"), &folder)?
                && real != folder
            {
                all.push((real, folder.clone()));
            }
            all.push((folder.clone(), folder));
        }
        for folder in work {
            if let Lead::To(real) = links.follow(Path::new("/"), folder)?
                && real != *folder
            {
                links.work.push(real);
            }
            links.work.push(folder.clone());
        }
        links.reserved = all;
        Ok(links)
    }

    /// Why a link is tampering. One in a work folder may not leave them, unless `may_leave`; no link
    /// may lead into the verifier's folders.
    pub(crate) fn fault(&self, link: &AgentLink, may_leave: bool) -> Result<Option<String>, Broken> {
        let parent = link.path.parent().unwrap_or(Path::new("/"));
        let is_work = self.is_work(&link.path);
        let shown = escape_path(&link.path);
        Ok(match self.follow(parent, &link.target)? {
            Lead::Verifier(folder) => Some(format!("{shown}: a link into {}", folder.display())),
            Lead::To(end) if is_work && !may_leave && !self.is_work(&end) && !end.starts_with(NOWHERE) => {
                Some(format!("{shown}: a link that leaves the work folder, to {}", escape_path(&end)))
            }
            Lead::Unknown => Some(format!("{shown}: a link that cannot be followed")),
            Lead::To(_) | Lead::Loop => None,
        })
    }

    fn is_work(&self, path: &Path) -> bool {
        self.work.iter().any(|folder| path.starts_with(folder))
    }

    fn node(&self, path: &Path) -> Result<Node, Broken> {
        if let Some(known) = self.nodes.borrow().get(path) {
            return Ok(known.clone());
        }
        let node = self.tree.node(path)?;
        self.nodes.borrow_mut().insert(path.to_owned(), node.clone());
        Ok(node)
    }

    /// Follows a path from a folder that is reached without a link.
    fn follow(&self, from: &Path, path: &Path) -> Result<Lead, Broken> {
        let mut at = from.to_owned();
        let mut left: VecDeque<Step> = steps(path).collect();
        let mut followed = 0;
        while let Some(step) = left.pop_front() {
            let name = match step {
                Step::Root => {
                    at = PathBuf::from("/");
                    continue;
                }
                Step::Up => {
                    at.pop();
                    continue;
                }
                Step::Down(name) => name,
            };
            let next = at.join(name);
            if let Some(folder) = self.reserved(&next) {
                return Ok(Lead::Verifier(folder));
            }
            match self.node(&next)? {
                Node::Other => at = next,
                Node::Unknown => return Ok(Lead::Unknown),
                Node::Link(target) => {
                    followed += 1;
                    if followed > MOST_LINKS {
                        return Ok(Lead::Loop);
                    }
                    for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
                        left.push_front(step);
                    }
                }
            }
        }
        // A folder that contains one of them leads into it.
        let above = self.reserved.iter().find(|(folder, _)| folder.starts_with(&at));
        Ok(above.map_or(Lead::To(at.clone()), |(_, shown)| Lead::Verifier(shown.clone())))
    }

    fn reserved(&self, path: &Path) -> Option<PathBuf> {
        self.reserved.iter().find(|(folder, _)| folder == path).map(|(_, shown)| shown.clone())
    }
}

/// A component of a path, as the kernel sees it.
enum Step {
    Root,
    Up,
    Down(OsString),
}

fn steps(path: &Path) -> impl Iterator<Item = Step> {
    path.components().filter_map(|part| match part {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Folders of this machine as a namespace mounts them.
#[derive(Debug)]
pub(crate) struct MountedTree<'a> {
    /// What is below the mounts; `None` if the namespace is this machine's own.
    pub(crate) root: Option<&'a Root>,
    /// The mounts.
    pub(crate) mounts: &'a [Mount],
}

impl Tree for MountedTree<'_> {
    fn node(&self, path: &Path) -> Result<Node, Broken> {
        let Some(own) = self.host_path(path) else { return Ok(Node::Other) };
        // Nothing runs in the sandbox any more, and no component before the last is a link.
        match fs::symlink_metadata(&own) {
            Ok(found) if found.is_symlink() => {
                let target = fs::read_link(&own);
                target.map(Node::Link).map_err(|error| {
                    Broken::harness(format!("cannot read the link {}: {error}", own.display()))
                })
            }
            _ => Ok(Node::Other),
        }
    }
}

impl MountedTree<'_> {
    fn host_path(&self, path: &Path) -> Option<PathBuf> {
        let Some(root) = self.root else { return Some(path.to_owned()) };
        let covering = self.mounts.iter().filter(|mount| path.starts_with(&mount.target));
        if let Some(mount) = covering.max_by_key(|mount| mount.target.components().count()) {
            let below = path.strip_prefix(&mount.target).ok()?;
            // The mount itself is no link.
            return (!below.as_os_str().is_empty()).then(|| mount.source.join(below));
        }
        // A folder above a mount is a folder.
        if self.mounts.iter().any(|mount| mount.target.starts_with(path)) {
            return None;
        }
        let below = path.strip_prefix("/").ok()?;
        match root {
            Root::Dir(folder) => Some(folder.join(below)),
            Root::Host => {
                let top = below.iter().next()?;
                HOST_TOP.iter().any(|known| top == *known).then(|| path.to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests;
