//! How well the calibrated auditor does: its score on audited traces, directives planted in runs without the skill, acts
//! that break or keep prohibitions, and the counts behind its table of document frequencies.

pub mod check;
pub mod planted;
pub mod prohibitions;
pub mod rarity;
