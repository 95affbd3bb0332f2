//! Rules on many packages at once.

mod budget;
mod descriptions;
mod family;
mod names;

pub(crate) use family::{Group, Library, LibraryFamily, Member};

use crate::plugin;

/// Every family of library rules.
pub(crate) fn families() -> &'static [&'static dyn LibraryFamily] {
    &[&names::Names, &descriptions::Descriptions, &budget::Budget]
}

/// Whether a rule concerns a whole library, plugin or marketplace.
pub(crate) fn is_whole(code: &str) -> bool {
    code.starts_with("listing-budget-") || plugin::RULES.iter().any(|rule| rule.code == code)
}
