//! What models say of the directives of skills: [`DirectiveFinder`] adds directives to those that rules find,
//! [`DirectiveJudge`] decides which of them runs followed, beside the rules of `assay-audit`.

mod agreement;
mod finder;
mod judge;
mod request;

pub use agreement::{DirectiveJudgement, DirectiveVerdict};
pub use finder::DirectiveFinder;
pub use judge::DirectiveJudge;
