//! Directives: what a skill tells an agent, each with its lines, what an agent that follows it does, and what one does
//! that never saw it.
//!
//! `directives.json` in the folder of a draft has them. The stages after it read the file, and a person may edit it.

mod directive;
mod line_set;
mod list;

pub use directive::{DirectiveClass, DirectiveEvidence, DirectiveSource, DraftDirective};
pub use line_set::{DirectiveLines, LineSetError};
pub use list::{DIRECTIVES_FILE, DirectiveFile, DismissedDirective, DraftDirectives, RejectedDirective};
