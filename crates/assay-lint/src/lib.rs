//! What each client makes of a skill package, and what is worth mending in it.
//!
//! There is no one verdict on a package: the same `SKILL.md` may be refused by a validator, cut short by one client, and
//! loaded under another name by the next. So every [`Rule`] has a severity per [`Client`], and every package a [`Fate`] per
//! client: does it load, under which name and description, is it listed, what is cut off.
//!
//! [`lint`] finds the packages beneath some paths, reads each ([`Skill`]), asks every `Family` of rules, then every family
//! of the library, and settles what was found into an [`Outcome`]. Nothing is executed, nothing panics, and one package's
//! trouble ends with it. [`render`] lays an outcome out; [`fix`] carries out the edits that are safe.
//!
//! A family is one file in `rules/` and one line in `rules::families`; its documentation is a page in `tests/rules/`, which is
//! its test too.

mod baseline;
mod budgets;
pub mod client;
mod diagnostic;
mod engine;
mod explain;
pub mod fix;
mod library;
mod openai_yaml;
mod outcome;
mod paths;
mod plugin;
mod policy;
pub mod render;
mod requirements;
mod rule;
pub mod rules;
mod safety;
mod skill;
mod stats;
mod suppress;

pub use assay_diagnostic::Severity;
pub use baseline::{Baseline, BaselineError};
pub use budgets::Budgets;
pub use client::{Client, Fate};
pub use diagnostic::{Diagnostic, Severities};
pub use engine::{Options, folder_of, lint};
pub use explain::{Explanation, Source};
pub use outcome::{LintedSkill, Outcome, Summary};
pub use policy::{Allow, Level, Patterns, Policy, Selection, Selector, UnknownRule, did_you_mean};
pub use requirements::Requirements;
pub use rule::Rule;
pub use skill::Skill;
pub use stats::Stats;
