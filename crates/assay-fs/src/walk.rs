//! Walks an untrusted folder: links are not followed, and depth is bounded.

use std::io;
use std::path::Path;

#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(not(target_os = "linux"))]
mod paths;

#[cfg(unix)]
pub use crate::kind::describe;
#[cfg(target_os = "linux")]
pub use descriptors::{Folder, Item, open, open_at, open_following, walk};
#[cfg(not(target_os = "linux"))]
pub use paths::{Folder, Item, open, open_following, walk};

/// Where to go from an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Into it, if it is a folder.
    Into,
    /// Past it.
    Past,
    /// Nowhere: the walk is over.
    Stop,
}

/// In which order a folder's items come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// As the file system has them; nothing is remembered but the names of folders.
    Any,
    /// By name, as bytes; of one folder no more than this many are visited, the first ones, and
    /// then [`Visitor::truncated`] is called.
    ByName(u64),
}

/// Callbacks for the items of a walk.
pub trait Visitor {
    /// What ends the walk.
    type Error;

    /// Called for each item, before its content.
    fn item(&mut self, item: &Item<'_>) -> Result<Next, Self::Error>;

    /// Called for each folder that was entered, after its content; `dir` is its parent.
    #[cfg(target_os = "linux")]
    fn done(
        &mut self,
        dir: std::os::fd::BorrowedFd<'_>,
        name: &std::ffi::CStr,
        path: &Path,
    ) -> Result<(), Self::Error> {
        let _ = (dir, name, path);
        Ok(())
    }

    /// Called for what could not be read.
    fn failed(&mut self, path: &Path, error: io::Error) -> Result<(), Self::Error>;

    /// Called for a folder of which not all items were visited.
    fn truncated(&mut self, path: &Path) -> Result<(), Self::Error> {
        let _ = path;
        Ok(())
    }
}
