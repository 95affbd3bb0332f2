//! The rules, one a file.

mod answer_hard_coded;
mod dependency_unpinned;
mod few_tests;
mod image_unpinned;
mod instruction_constraints;
mod instruction_format;
mod instruction_length;
mod instruction_names_skill;
mod instruction_order;
mod instruction_output_path;
mod instruction_recipe;
mod instruction_success;
mod leak_answer;
mod leak_commands;
mod leak_constants;
mod leak_names;
mod leak_words;
mod path_typo;
mod path_unmentioned;
mod path_untested;
mod reader;
mod resources;
mod script_form;
mod script_piped;
mod several_rewards;
mod solution_needs_skill;
mod unread;
mod verifier_fetches;

use super::rule::TaskRule;
pub(super) use several_rewards::writes_several_rewards;

/// Every rule, in the order of findings.
pub const TASK_RULES: [TaskRule; 29] = [
    reader::RULE,
    script_form::RULE,
    unread::RULE,
    few_tests::RULE,
    few_tests::MANY_TESTS,
    several_rewards::RULE,
    instruction_names_skill::RULE,
    instruction_output_path::RULE,
    instruction_format::RULE,
    instruction_success::RULE,
    instruction_constraints::RULE,
    instruction_order::RULE,
    instruction_recipe::RULE,
    instruction_length::RULE,
    path_unmentioned::RULE,
    path_untested::RULE,
    path_typo::RULE,
    dependency_unpinned::RULE,
    image_unpinned::RULE,
    script_piped::RULE,
    answer_hard_coded::RULE,
    solution_needs_skill::RULE,
    verifier_fetches::RULE,
    resources::RULE,
    leak_answer::RULE,
    leak_words::RULE,
    leak_names::RULE,
    leak_constants::RULE,
    leak_commands::RULE,
];
