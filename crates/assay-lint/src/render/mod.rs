//! Outcomes as text: one file a format. A renderer lays out and computes nothing; each escapes for its medium.

mod human;
mod json;

pub use human::human;
pub use json::json;
