//! Diagnostics of readers, linters and commands: severity, position and message.
//!
//! [`Severity`] has one order for the whole workspace, so that `max` is the worst. A [`Diagnostic`]
//! is a finding in a file; a [`Span`] is a place in a text. Everything that comes from outside
//! (file names, output, models' answers) goes through [`escape`], [`clean`] or [`escape_path`]
//! before a terminal sees it; all three agree on which characters are unsafe.

mod diagnostic;
mod error;
mod escape;
mod number;
mod severity;
mod span;

pub use diagnostic::Diagnostic;
pub use error::{Io, chain};
pub use escape::{clean, clean_start, escape, escape_path, is_unsafe};
pub use number::group_digits;
pub use severity::Severity;
pub use span::{Span, position};
