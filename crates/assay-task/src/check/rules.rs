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

use super::rule::Rule;
pub(super) use several_rewards::writes_several_rewards;

/// Every rule, in the order of findings.
pub fn rules() -> &'static [&'static dyn Rule] {
    &[
        &reader::Reader,
        &script_form::ScriptForm,
        &unread::Unread,
        &few_tests::FewTests,
        &few_tests::ManyTests,
        &several_rewards::SeveralRewards,
        &instruction_names_skill::InstructionNamesSkill,
        &instruction_output_path::InstructionOutputPath,
        &instruction_format::InstructionFormat,
        &instruction_success::InstructionSuccess,
        &instruction_constraints::InstructionConstraints,
        &instruction_order::InstructionOrder,
        &instruction_recipe::InstructionRecipe,
        &instruction_length::InstructionLength,
        &path_unmentioned::PathUnmentioned,
        &path_untested::PathUntested,
        &path_typo::PathTypo,
        &dependency_unpinned::DependencyUnpinned,
        &image_unpinned::ImageUnpinned,
        &script_piped::ScriptPiped,
        &answer_hard_coded::AnswerHardCoded,
        &solution_needs_skill::SolutionNeedsSkill,
        &verifier_fetches::VerifierFetches,
        &resources::Resources,
        &leak_answer::LeakAnswer,
        &leak_words::LeakWords,
        &leak_names::LeakNames,
        &leak_constants::LeakConstants,
        &leak_commands::LeakCommands,
    ]
}
