//! What of a skill turns up in a trace: the adoption score and the spans it rests on.
//!
//! The score sees what the agent authored and nothing else; [`adoption`] says how it is made,
//! docs/AUDIT.md how well it does.

pub mod adoption;
mod authored;
mod skill;
#[cfg(test)]
mod tests;
mod words;

pub use adoption::{ADOPTED, Adoption, Background, Occurrence, Span, adoptions};
pub(crate) use authored::writes;
pub use authored::{Manner, TraceText};
pub use skill::SkillText;
pub(crate) use skill::{SkillLine, keys};
pub(crate) use words::words;
