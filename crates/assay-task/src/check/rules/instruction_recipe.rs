//! Instructions that are recipes.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::{Subject, Text};

pub(super) const RULE: TaskRule = TaskRule {
    code: "instruction-recipe",
    levels: "warn",
    summary: "an instruction that is a recipe: many numbered steps, or commands to run",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for text in &subject.instructions {
        let steps: Vec<usize> =
            text.lines().filter(|(_, line)| is_step(line)).map(|(line, _)| line).collect();
        let hint =
            "describe the result, not the steps: a recipe in the instruction hides the effect of a skill";
        if steps.len() >= STEPS {
            let message = format!("{} numbered steps: it prescribes how, not only what", steps.len());
            found.push(Finding::new(Severity::Warning, RULE.code, &text.file, message, hint).at(steps[0]));
        }
        let commands = commands(text);
        if commands.len() >= COMMANDS {
            let message = format!("{} commands to run", commands.len());
            found.push(Finding::new(Severity::Warning, RULE.code, &text.file, message, hint).at(commands[0]));
        }
    }
}

/// Steps that make a recipe.
const STEPS: usize = 6;
/// Commands that make one.
const COMMANDS: usize = 4;

/// Verbs that mark a step of work rather than an item of a specification.
const VERBS: &str = " open read load run install import parse convert call use compute calculate loop iterate filter merge group \
    extract execute apply first then next finally download start navigate build click select ";

fn is_step(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['#', '*', ' ']);
    if line.len() >= 5 && line.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("step ")) {
        return line[5..].starts_with(|c: char| c.is_ascii_digit());
    }
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    if digits == 0 || digits > 2 {
        return false;
    }
    let Some(rest) = line[digits..].strip_prefix(['.', ')']) else { return false };
    let first = rest.trim_start().trim_start_matches(['*', '_', '`']);
    let first = first.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default().to_lowercase();
    !first.is_empty() && VERBS.contains(&format!(" {first} "))
}

/// The lines of shell blocks that run something.
fn commands(text: &Text) -> Vec<usize> {
    let mut lines = Vec::new();
    let mut shell = None;
    for (number, line) in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let language = language.trim().to_lowercase();
            shell = match shell {
                Some(_) => None,
                None => Some(matches!(language.as_str(), "bash" | "sh" | "shell" | "console")),
            };
        } else if shell == Some(true) && !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            lines.push(number);
        }
    }
    lines
}
