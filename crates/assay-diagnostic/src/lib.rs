//! Diagnostics of readers, linters and commands: severity, position and message.
//!
//! [`Severity`] has one order for the complete workspace, so that `max` is the worst. A
//! [`Diagnostic`] is a finding in a file; a [`Span`] is a position in a text. Everything that comes
//! from outside (file names, output, models' answers) goes through [`escape`], [`clean`] or
//! [`escape_path`] before it is printed; all three use the same list of unsafe characters.

mod config_error;
mod config_errors;
mod diagnostic;
mod duration;
mod error;
mod escape;
mod nearest;
mod number;
mod severity;
mod span;

pub use config_error::{ConfigError, did_you_mean, reword_serde};
pub use config_errors::{ConfigErrors, ConfigReader};
pub use diagnostic::Diagnostic;
pub use duration::{MOST_SECONDS, duration_of_seconds};
pub use error::{Io, chain};
pub use escape::{clean, clean_code, clean_start, escape, escape_path, is_unsafe};
pub use nearest::nearest;
pub use number::{counted, group_digits};
pub use severity::Severity;
pub use span::{Span, position};
