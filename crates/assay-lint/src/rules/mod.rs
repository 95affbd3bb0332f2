//! The rules, a file a family.

mod claude;
mod codex;
mod description;
mod document;
mod fields;
mod links;
mod name;
mod scripts;
mod sections;
mod size;
mod wording;

pub(crate) use codex::openai_yaml;

use crate::rule::{Family, Rule};

/// Every family that looks at one skill, in the order of their findings.
pub fn families() -> &'static [&'static dyn Family] {
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

/// Every rule there is, by code.
pub fn rules() -> Vec<&'static Rule> {
    let mut rules: Vec<&'static Rule> = families().iter().flat_map(|family| family.rules()).collect();
    rules.extend(crate::library::families().iter().flat_map(|family| family.rules()));
    rules.extend(crate::engine::RULES);
    rules.extend(crate::safety::lint::rules());
    rules.sort_by_key(|rule| rule.code);
    rules
}
