//! Skill corpora: building, deduplicating and summarizing collections of skills, and scoring the
//! documents of a library by reproducible rules.
//!
//! Deterministic and offline, except for [`health::links`], which sends requests to servers when it
//! is called. No skill is run and no model is called: the figures are about texts, and none of them
//! shows that a skill helps.

pub mod compare;
pub mod funnel;
pub mod health;
pub mod near;
pub mod quality;
pub mod sample;
pub mod stats;
pub mod synthetic;
pub mod taxonomy;
pub mod unpack;
