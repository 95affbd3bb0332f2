//! Reading, walking and copying untrusted files and folders.
//!
//! [`read_beneath`] follows no link, [`read_within`] follows links that stay within the folder.
//! [`walk`](mod@walk) visits a folder whatever its depth, [`copy_tree`] and [`remove_tree`] are
//! walks, and a [`Manifest`] is what a walk found. [`tree`] has the canonical digest of a folder,
//! by which skills and tasks are identified.
//!
//! [`open_input`], [`next_line`] and the like read single files, compressed or not, within upper bounds.
//!
//! On Linux, folders are opened relative to one another, so that a process that changes the tree
//! meanwhile cannot lead a walk astray. Other systems have no sandbox whose output would have to be
//! read while something runs: there, walks go by path.

mod access;
mod beneath;
mod caps;
mod copy;
mod digest;
mod error;
mod input;
mod kind;
mod manifest;
mod open;
mod remove;
mod replace;
mod system;
pub mod tree;
pub mod walk;
mod zip;

pub use access::restore_access;
pub use beneath::{Content, read_beneath, read_beneath_up_to, read_within};
pub use caps::{Caps, CopyReport, LeftOut, Tally};
pub use copy::copy_tree;
pub use digest::{Digest, DigestError, Hasher};
pub use error::FsError;
pub use input::{
    CapExceeded, DOCUMENT_CAP, InputLine, Metered, Quota, next_line, open_input, read_file, read_text,
    read_up_to, size, unpack,
};
pub use kind::FileKind;
pub use manifest::{Change, ChangeKind, Entry, Manifest};
pub use open::open_file;
pub use remove::remove_tree;
pub use replace::{replace_file, replace_file_with};
#[cfg(target_os = "linux")]
pub use system::is_open_in_memory;
pub use system::{is_in_memory, pid_namespace};
pub use zip::{ZipArchive, ZipError, ZipMember};
