//! The rules, one file per family.

mod claude;
mod codex;
mod description;
mod document;
pub(crate) mod engine;
mod fields;
mod links;
mod name;
mod scripts;
mod sections;
mod size;
mod wording;

use crate::rule::{Family, Rule};

/// Every family of rules on one skill, in the order of their findings.
pub(crate) fn families() -> &'static [&'static dyn Family] {
    &[
        &document::Document,
        &name::Name,
        &description::Description,
        &wording::Wording,
        &fields::Fields,
        &claude::Claude,
        &codex::Codex,
        &size::Size,
        &links::Links,
        &scripts::Scripts,
        &sections::Sections,
    ]
}

/// Why a rule is off by default; `None` if it is on. docs/LINT.md has the counts.
pub fn opt_in(code: &str) -> Option<&'static str> {
    OPT_IN.iter().find(|(own, _)| *own == code).map(|(_, why)| *why)
}

/// The rules that are off by default.
pub(crate) const OPT_IN: [(&str, &str); 6] = [
    ("path-missing", "most paths in code are examples, or files of the user's project"),
    ("reference-chain", "true of most packages with several references, and seldom a mistake"),
    ("reference-contents", "true of most long references, and seldom a mistake"),
    ("reference-cycle", "true of most packages with several references, and seldom a mistake"),
    ("reference-deep", "true of most packages with several references, and seldom a mistake"),
    ("unpinned-package", "true of most commands that install something"),
];

/// Every rule, sorted by code.
pub fn rules() -> Vec<&'static Rule> {
    let mut rules: Vec<&'static Rule> = families().iter().flat_map(|family| family.rules()).collect();
    rules.extend(crate::library::families().iter().flat_map(|family| family.rules()));
    rules.extend(engine::RULES);
    rules.extend(crate::plugin::RULES);
    rules.extend(crate::safety::rules());
    rules.sort_by_key(|rule| rule.code);
    rules
}
