//! Outcomes as text: one file a format. A renderer lays out and computes nothing; each escapes for its medium.

mod github;
mod human;
mod json;
mod junit;
mod sarif;

pub use github::github;
pub use human::{View, human, omitted};
pub use json::json;
pub use junit::junit;
pub use sarif::sarif;
