//! Renderers: one file per format. A renderer computes nothing, and escapes for its medium.

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
