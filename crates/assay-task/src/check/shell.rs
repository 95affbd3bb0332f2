//! The pipelines that shell scripts and Dockerfiles run, as their text shows them.

use assay_syntax::dockerfile::{Source, heredocs};
use assay_syntax::shell::{Operator, Source as Origin, commands, program};

/// Commands that are joined by pipes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pipeline {
    /// Its line, from 1.
    pub(super) line: usize,
    /// Each command's words, quotes taken off.
    pub(super) commands: Vec<Vec<String>>,
}

/// The pipelines of a shell script, in order. Each command begins at its program: `sudo`, `then`
/// and assignments are left out.
pub(super) fn script(text: &str) -> Vec<Pipeline> {
    let mut pipelines: Vec<Pipeline> = Vec::new();
    let mut is_piped = false;
    for simple in commands(text, Origin::Script) {
        if !is_piped {
            pipelines.push(Pipeline { line: simple.line, commands: Vec::new() });
        }
        is_piped = simple.end == Operator::Pipe;
        let words = program(&simple.words);
        if let Some(last) = pipelines.last_mut().filter(|_| !words.is_empty()) {
            last.commands.push(words.to_vec());
        }
    }
    pipelines.retain(|pipeline| !pipeline.commands.is_empty());
    pipelines
}

/// The commands that a Dockerfile runs. A here-document is a script if it follows `RUN` alone;
/// after a command it is that command's input.
pub(super) fn dockerfile(text: &str) -> Vec<Pipeline> {
    let lines: Vec<&str> = text.lines().collect();
    // Lines keep their numbers, so that findings name the right ones.
    let mut shell = vec![String::new(); lines.len()];
    for run in Source::read(text).instructions.iter().filter(|instruction| instruction.name == "RUN") {
        let command = run.flags().1;
        let (alone, ends) = (command.starts_with("<<"), heredocs(command).unwrap_or_default());
        if !alone {
            let is_digit = |c: char| c.is_ascii_digit();
            let is_own =
                |word: &&str| run.body.is_empty() || !word.trim_start_matches(is_digit).starts_with("<<");
            let own: Vec<&str> = command.split(' ').filter(is_own).collect();
            shell[run.line - 1] = own.join(" ");
        }
        for (number, line) in run.body.clone().zip(&lines[run.body.clone()]) {
            if alone && !ends.iter().any(|(end, _)| end == line.trim()) {
                (*line).clone_into(&mut shell[number]);
            }
        }
    }
    script(&shell.join("\n"))
}
