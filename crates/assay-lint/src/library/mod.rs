//! The rules that look at many packages at once.

mod budget;
mod descriptions;
mod family;
mod names;

pub(crate) use family::{Group, Library, LibraryFamily, Member};

use crate::plugin;

/// Every family that looks at the library.
pub(crate) fn families() -> &'static [&'static dyn LibraryFamily] {
    &[&names::Names, &descriptions::Descriptions, &budget::Budget]
}

/// Whether a rule speaks of a library, a plugin or a marketplace as a whole.
pub(crate) fn is_whole(code: &str) -> bool {
    code.starts_with("listing-budget-") || plugin::RULES.iter().any(|rule| rule.code == code)
}
