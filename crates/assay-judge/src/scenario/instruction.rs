//! What the agent is told, out of a `task.md` that may also say what is expected of it.

use assay_syntax::markdown::{Dialect, Outline};

/// The part of a `task.md` that is for the agent.
pub(super) struct Instruction {
    pub(super) text: String,
    /// Whether the file has more than that, which the agent must not see.
    pub(super) is_part: bool,
    pub(super) notes: Vec<String>,
}

/// Headings of what the user says. A file with such sections describes a scenario; one without is the instruction.
const PROMPT: &str = "user prompt";

/// Headings of what the work folder contains at the beginning.
const SETUP: [&str; 3] = ["setup", "context", "preconditions"];

/// Reads a `task.md`. If it has sections "User prompt", those are the instruction, in their order.
pub(super) fn from_task(task: &str) -> Instruction {
    let outline = Outline::read(task, 0, Dialect::GitHub);
    let title = |at: usize| outline.headings[at].text.trim().to_lowercase();
    let section = |at: usize| {
        let heading = &outline.headings[at];
        let next = outline.headings[at + 1..].iter().find(|next| next.level <= heading.level);
        let end = next.map_or(task.len(), |next| next.span.start);
        unquoted(task[heading.span.end..end].trim())
    };
    let all = 0..outline.headings.len();
    let prompts: Vec<String> = all
        .clone()
        .filter(|&at| title(at).starts_with(PROMPT))
        .map(section)
        .filter(|text| !text.is_empty())
        .collect();
    if prompts.is_empty() {
        return Instruction { text: task.to_owned(), is_part: false, notes: Vec::new() };
    }
    let mut notes = vec!["the instruction is the section \"User prompt\" of task.md".to_owned()];
    if all.clone().any(|at| SETUP.contains(&title(at).as_str())) {
        notes.push("task.md describes the initial work folder in words; nothing creates it".to_owned());
    }
    let text = match prompts.as_slice() {
        [one] => one.clone(),
        several => {
            notes.push(format!("{} prompts are given at once, in their order", several.len()));
            let numbered = several.iter().enumerate().map(|(at, text)| format!("{}. {text}", at + 1));
            format!("Do the following, one after the other:\n\n{}", numbered.collect::<Vec<_>>().join("\n\n"))
        }
    };
    Instruction { text: format!("{text}\n"), is_part: true, notes }
}

/// A text without the quotation marks around all of it.
fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.filter(|inner| !inner.contains('"')).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions() {
        let check = |task: &str, expected: &str, is_part: bool, notes: usize| {
            let found = from_task(task);
            assert_eq!(
                (found.text.as_str(), found.is_part, found.notes.len()),
                (expected, is_part, notes),
                "{task}"
            );
        };
        check("# Do it\n\n## Output\n\nA file.\n", "# Do it\n\n## Output\n\nA file.\n", false, 0);
        let task = "# Eval\n\n## Setup\n\nA folder.\n\n## User prompt\n\n\"Do it\"\n\n## Expected behavior\n\nIt is done.\n";
        check(task, "Do it\n", true, 2);
        check("## User prompt\n\nSay \"x\" and\nstop\n", "Say \"x\" and\nstop\n", true, 1);
        let task = "## User prompt (run 1)\n\nA\n\n## Expected\n\nX\n\n## User prompt (run 2)\n\nB\n";
        check(task, "Do the following, one after the other:\n\n1. A\n\n2. B\n", true, 2);
    }
}
