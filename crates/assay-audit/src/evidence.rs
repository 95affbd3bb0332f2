//! A skill and a trace as text: lines, words, and the features that two texts can share.

mod manner;
mod skill;
mod words;

pub use manner::Manner;
pub(crate) use manner::writes;
pub use skill::SkillText;
pub(crate) use skill::{SkillLine, keys};
pub(crate) use words::{Feature, words};
