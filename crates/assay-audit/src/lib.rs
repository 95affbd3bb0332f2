//! What a skill changed in an agent's behaviour, from traces of runs with and without it.
//!
//! [`Method::Calibrated`] asks of each finding that it rests on the skill's own text and exceeds what
//! pairs without a difference show. [`Method::Cta2026`] is the published Counterfactual Trace Auditor,
//! which the crate `assay-lab` has.

pub mod adherence;
pub mod behaviour;
pub mod calibrated;
pub mod corpus;
mod csv;
pub mod directive;
pub mod evidence;
mod exposed;
mod method;
pub mod rarity;
pub mod sheet;
pub mod view;

pub use exposed::Exposed;
pub use method::{Method, Mode, SCHEMA};
