//! Directives: what a skill tells an agent, each with its lines, what an agent that follows it does, and what one does
//! that never saw it.
//!
//! [`find_directives`] finds them by rules. A model is asked for what only a reader can say.
//! `directives.json` in the folder of a draft has them. The stages after it read the file, and a person may edit it.

mod directive;
mod given_away;
mod infeasible;
mod line;
mod line_set;
mod list;
mod model_list;
mod reader;
mod reply;
mod request;
mod rewrite;
mod rules;
mod worth;

pub use directive::{DirectiveClass, DirectiveEvidence, DirectiveSource, DraftDirective};
pub(crate) use given_away::explain_given_away;
pub use infeasible::explain_infeasible;
pub(crate) use infeasible::record_infeasible;
pub use line::DirectivesLine;
pub use line_set::{DirectiveLines, LineSetError};
pub use list::{DIRECTIVES_FILE, DirectiveFile, DismissedDirective, DraftDirectives, RejectedDirective};
pub(crate) use model_list::{list_directives, requests_of};
pub use reader::DirectivesReader;
pub use rules::find_directives;
pub use worth::{FEWEST_MEASURABLE, MeasurableDirectives};
