//! Skill corpora: building, deduplicating and summarizing collections of skills, and scoring the
//! documents of a library fare by rules that anybody can check.
//!
//! Deterministic and offline, but for [`health::links`], which asks servers when it is called.
//! Nothing here runs a skill or asks a model: these are figures about texts, and no figure here
//! says that a skill helps.

pub mod compare;
pub mod funnel;
pub mod gather;
pub mod health;
pub mod input;
mod license;
pub mod near;
pub mod normal;
pub mod quality;
mod record;
pub mod stats;
pub mod synthetic;
pub mod unpack;

pub use record::{File, Record};
