//! Every rule there is.

use std::sync::LazyLock;

use super::rule::Rule;
use super::{
    archive, calls, commands, disguise, effects, lures, package, prose, rules, secrets, signals, unicode,
};

/// Every rule, by family.
pub static RULES: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
    let files = [
        archive::RULES,
        calls::RULES,
        commands::RULES,
        disguise::RULES,
        effects::RULES,
        lures::RULES,
        package::RULES,
        prose::RULES,
        rules::RULES,
        secrets::RULES,
        signals::RULES,
        unicode::RULES,
    ];
    let mut rules: Vec<&Rule> = files.into_iter().flatten().copied().collect();
    rules.sort_by_key(|rule| (rule.family, rule.code));
    rules
});
