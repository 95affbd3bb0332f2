//! Lints skill packages: per-client validity, safety and quality rules.
//!
//! Clients differ: the same `SKILL.md` may be rejected by a validator, truncated by one client and
//! loaded under another name by the next. So every [`Rule`] has a severity per [`Client`], and
//! every package a [`LoadResult`] per client: whether it loads, its name and description, whether
//! it is listed, and whether the description is truncated.
//!
//! [`lint`] finds the packages in some paths, reads each ([`Skill`]), runs every `Family` of rules
//! and then every family of library rules, and collects the findings in an [`Outcome`]. It executes
//! nothing and does not panic, and a broken package does not affect others. [`render`] formats an
//! outcome; [`fix`] applies safe edits.
//!
//! A family is one file in `rules/` and one line in `rules::families`; its documentation is a page
//! in `tests/rules/`, which is its test too.

mod baseline;
mod budgets;
pub mod client;
pub mod config;
mod diagnostic;
mod engine;
mod explain;
mod explain_text;
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
pub use assay_diagnostic::did_you_mean;
pub use baseline::{Baseline, BaselineError};
pub use budgets::Budgets;
pub use client::{Client, LoadResult};
pub use diagnostic::{Diagnostic, Severities};
pub use engine::{Options, folder_of, lint};
pub use explain::{Explanation, Source};
pub use explain_text::{explain_rule, list_rules};
pub use outcome::{LintedSkill, Outcome, Summary};
pub use policy::{Allow, Level, Patterns, Policy, Selection, Selector, UnknownRule};
pub use requirements::Requirements;
pub use rule::Rule;
pub use skill::Skill;
pub use stats::Stats;
