//! Skill packages: a folder with a `SKILL.md` and other files, and its static properties.
//!
//! [`Package::load`] reads one folder, [`Library::load`] reads every package below some folders.
//! Both are lenient: everything that a client would still offer to an agent is loaded, and every
//! leniency is a [`Diagnostic`] with its file and line. Nothing here executes anything, follows a
//! link out of a package, or panics on any input.
//!
//! A package is identified by the digest of its folder ([`assay_fs::tree`]).

pub mod corpus;
mod document;
mod front_matter;
pub mod generated;
mod library;
mod package;
pub mod placebo;
mod repair;
mod text;
mod tokens;

pub use assay_diagnostic::nearest;
pub use assay_diagnostic::{Diagnostic, Severity, position};
pub use assay_fs::{Digest, DigestError, FileKind, Hasher};
pub use document::{DESCRIPTION_LIMIT, Document, Fence, NAME_LIMIT};
pub use front_matter::{Leniency, Trouble};
pub use library::{Library, LookupError, SCAN_DEPTH, SCAN_FOLDERS, SKIPPED, find};
pub use package::{DOCUMENT_CAP, FileEntry, Loaded, Package};
pub use repair::{is_one_bracket, quote_values};
pub use text::{Decoded, Encoding, decode};
pub use tokens::{tokens, tokens_from};
