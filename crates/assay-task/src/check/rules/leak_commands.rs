//! Commands that a skill shares with a task.

use std::collections::HashMap;

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::rules::leak_words::Side;
use crate::check::shell;
use crate::check::subject::{Subject, Text};

pub(super) const RULE: TaskRule = TaskRule {
    code: "leak-commands",
    levels: "warn",
    summary: "three or more consecutive commands that a skill shares with tests or solution",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for skill in &subject.skills {
        let known: Vec<(&Text, Vec<Command>)> = skill
            .texts
            .iter()
            .map(|text| (text, commands(text)))
            .filter(|(_, all)| all.len() >= ROW)
            .collect();
        let mut rows: HashMap<[&str; ROW], (&Text, usize, usize)> = HashMap::new();
        for (text, all) in &known {
            for row in all.windows(ROW) {
                if let [a, b, c] = row {
                    let key = [a.words.as_str(), b.words.as_str(), c.words.as_str()];
                    rows.entry(key).or_insert((text, a.line, c.line));
                }
            }
        }
        for (side, texts) in Side::all(subject).into_iter().filter(|(side, _)| *side != Side::Instruction) {
            for task in texts.iter().filter(|text| text.is_shell()) {
                let all = commands(task);
                let mut at = 0;
                while let Some([a, b, c]) = all.get(at..at + ROW) {
                    let key = [a.words.as_str(), b.words.as_str(), c.words.as_str()];
                    let Some((from, first, last)) = rows.get(&key) else {
                        at += 1;
                        continue;
                    };
                    at += ROW;
                    if key.iter().all(|command| subject.is_shown_to_agent(command)) {
                        continue;
                    }
                    let message = format!(
                        "the skill `{}` and the {} run the same consecutive commands",
                        skill.name,
                        side.word()
                    );
                    let hint = "a skill should teach the kind of work, not this task's solution";
                    let (skill, task) = (from.span(*first, *last), task.span(a.line, c.line));
                    found.push(Finding::shared(Severity::Warning, RULE.code, message, hint, skill, task));
                }
            }
        }
    }
}

/// Commands in a row that make a sequence.
const ROW: usize = 3;

struct Command {
    line: usize,
    words: String,
}

/// Commands that are common to all work.
const TRIVIAL: [&str; 14] = [
    "cd", "echo", "set", "export", "mkdir", "true", "exit", "fi", "done", "esac", "pwd", "ls", "cat", "sleep",
];

/// The commands of a script, or of the shell blocks of a Markdown text, without trivial ones.
fn commands(text: &Text) -> Vec<Command> {
    let shell: String = if text.is_shell() {
        text.text.clone()
    } else if text.extension() == "md" {
        blocks(text)
    } else {
        return Vec::new();
    };
    let all = shell::script(&shell).into_iter();
    all.filter(|pipeline| !TRIVIAL.contains(&pipeline.commands[0][0].as_str()))
        .map(|pipeline| {
            let words: Vec<String> = pipeline.commands.iter().map(|words| words.join(" ")).collect();
            Command { line: pipeline.line, words: words.join(" | ") }
        })
        .filter(|command| command.words.contains(' '))
        .collect()
}

/// The fenced blocks of a Markdown text, at their lines.
fn blocks(text: &Text) -> String {
    let mut inside = false;
    let mut shell = String::new();
    for (_, line) in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            shell.push_str(line.trim_start().trim_start_matches("$ "));
        }
        shell.push('\n');
    }
    shell
}
