//! What a shell script runs, as far as its text shows.

use assay_syntax::dockerfile::Source;

/// Commands that are joined by pipes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pipeline {
    /// Its line, from 1.
    pub(super) line: usize,
    /// Each command's words, quotes taken off.
    pub(super) commands: Vec<Vec<String>>,
}

/// What a script holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// What it runs, in order.
    pub(super) pipelines: Vec<Pipeline>,
    /// Bytes of here-documents.
    pub(super) heredoc_bytes: usize,
}

/// Reads a shell script; text in here-documents is no command.
pub(super) fn script(text: &str) -> Script {
    let mut script = Script::default();
    let mut lines = text.lines().enumerate();
    while let Some((index, first)) = lines.next() {
        let mut whole = first.trim().to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole.push(' ');
            whole.push_str(next.trim());
        }
        if whole.starts_with('#') || whole.is_empty() {
            continue;
        }
        let end = heredoc(&whole);
        split(&whole, index + 1, &mut script.pipelines);
        if let Some(end) = end {
            for (_, inside) in lines.by_ref() {
                if inside.trim() == end {
                    break;
                }
                script.heredoc_bytes += inside.len() + 1;
            }
        }
    }
    script
}

/// What a Dockerfile runs. A here-document is a script where it follows `RUN` alone; after a command it is that command's input.
pub(super) fn dockerfile(text: &str) -> Script {
    let lines: Vec<&str> = text.lines().collect();
    // Lines stay where they are, so that findings name the right ones.
    let mut shell = vec![String::new(); lines.len()];
    for run in Source::read(text).instructions.iter().filter(|instruction| instruction.name == "RUN") {
        let command = run.flags().1;
        let alone = command.starts_with("<<");
        if !alone {
            let is_own = |word: &&str| run.body.is_empty() || !word.starts_with("<<");
            let own: Vec<&str> = command.split(' ').filter(is_own).collect();
            shell[run.line - 1] = own.join(" ");
        }
        for (number, line) in run.body.clone().zip(&lines[run.body.clone()]) {
            let ends = command.split("<<").skip(1).any(|end| {
                let end = end.trim_start_matches(['-', ' ', '\'', '"']);
                let word = end.split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
                word == Some(line.trim())
            });
            if alone && !ends {
                (*line).clone_into(&mut shell[number]);
            }
        }
    }
    script(&shell.join("\n"))
}

/// The word that ends a here-document which a line begins.
fn heredoc(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("<<")?;
    if after.starts_with('<') {
        return None;
    }
    let after = after.trim_start_matches('-').trim_start().trim_start_matches(['\'', '"', '\\']);
    let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(after.len());
    Some(&after[..end]).filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
}

fn split(line: &str, number: usize, pipelines: &mut Vec<Pipeline>) {
    let mut commands = vec![Vec::new()];
    let mut word = String::new();
    let mut begun = false;
    let mut quote = None;
    let mut signs = line.chars().peekable();
    let end_word = |word: &mut String, begun: &mut bool, commands: &mut Vec<Vec<String>>| {
        if *begun && let Some(last) = commands.last_mut() {
            last.push(std::mem::take(word));
        }
        *begun = false;
    };
    while let Some(sign) = signs.next() {
        match (quote, sign) {
            (Some(open), _) if sign == open => quote = None,
            (Some(_), _) => word.push(sign),
            (None, '"' | '\'') => (quote, begun) = (Some(sign), true),
            (None, '#') if !begun => break,
            (None, '|' | '&' | ';' | '(' | ')') => {
                end_word(&mut word, &mut begun, &mut commands);
                let doubled = signs.peek() == Some(&sign);
                if doubled {
                    signs.next();
                }
                if sign == '|' && !doubled {
                    commands.push(Vec::new());
                } else {
                    finish(&mut commands, number, pipelines);
                }
            }
            (None, sign) if sign.is_whitespace() => end_word(&mut word, &mut begun, &mut commands),
            (None, sign) => {
                begun = true;
                word.push(sign);
            }
        }
    }
    end_word(&mut word, &mut begun, &mut commands);
    finish(&mut commands, number, pipelines);
}

fn finish(commands: &mut Vec<Vec<String>>, line: usize, pipelines: &mut Vec<Pipeline>) {
    let done = std::mem::replace(commands, vec![Vec::new()]);
    let commands: Vec<Vec<String>> = done.into_iter().map(strip).filter(|words| !words.is_empty()).collect();
    if !commands.is_empty() {
        pipelines.push(Pipeline { line, commands });
    }
}

/// Without what stands before a command and changes nothing of it: `sudo`, `then`, assignments.
fn strip(words: Vec<String>) -> Vec<String> {
    let passed = |word: &String| {
        let assigns = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        assigns
            || matches!(
                word.as_str(),
                "sudo" | "then" | "do" | "else" | "if" | "exec" | "env" | "time" | "!" | "{" | "while"
            )
    };
    words.into_iter().skip_while(passed).collect()
}
