//! Passages of code blocks: commands line by line, other code by its paragraphs, templates as a whole.

use assay_syntax::blocks::Code;

use super::super::code::Form;

/// A part of a block, with its lines in the document.
pub(super) struct CodePart {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) text: String,
    pub(super) points: i32,
}

/// Most lines of a shell block that is read line by line.
const SCRIPT_LINES: usize = 40;

/// First words of lines that only structure a script, or that no skill has to teach.
const PLAIN: [&str; 34] = [
    "if", "then", "else", "elif", "fi", "for", "while", "do", "done", "case", "esac", "function", "{", "}",
    "(", ")", "cd", "mkdir", "set", "ls", "pwd", "exit", "return", "local", "break", "continue", "shift",
    "source", "true", "false", "EOF", "sudo", "sleep", "clear",
];

/// The parts of a block that say what to run or to write.
pub(super) fn read_code(code: &Code, form: Form) -> Vec<CodePart> {
    let lines: Vec<&str> = code.text.lines().collect();
    let parts = match form {
        Form::None => Vec::new(),
        Form::Text => whole(&lines),
        Form::Shell if lines.len() <= SCRIPT_LINES => commands(&lines),
        Form::Shell | Form::Program(_) | Form::Settings | Form::Statements | Form::Other => {
            paragraphs(&lines)
        }
    };
    let place =
        |part: CodePart| CodePart { first: part.first + code.line, last: part.last + code.line, ..part };
    parts.into_iter().map(place).collect()
}

fn whole(lines: &[&str]) -> Vec<CodePart> {
    let text = lines.join(" ");
    let points = if text.trim().is_empty() { 0 } else { 2 };
    vec![CodePart { first: 0, last: lines.len().saturating_sub(1), text, points }]
}

/// Commands, one a line, with the lines that continue them.
fn commands(lines: &[&str]) -> Vec<CodePart> {
    let mut parts: Vec<CodePart> = Vec::new();
    let mut continues = false;
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim().trim_start_matches("$ ");
        if continues && let Some(part) = parts.last_mut() {
            part.last = at;
            part.text = format!("{} {}", part.text.trim_end_matches('\\'), line);
        } else if !line.is_empty() && !line.starts_with('#') {
            parts.push(CodePart { first: at, last: at, text: line.to_owned(), points: score_command(line) });
        }
        continues = line.ends_with('\\') && !line.starts_with('#') && !parts.is_empty();
    }
    parts
}

/// A command that names or fixes something has something to teach.
fn score_command(line: &str) -> i32 {
    let first = line.split_whitespace().next().unwrap_or_default();
    let printed = line.strip_prefix("echo").map(str::trim);
    if PLAIN.contains(&first) || printed.is_some_and(|rest| rest.is_empty() || rest.starts_with("\"\"")) {
        return 0;
    }
    let fixed = line.contains(['"', '\'', '=', '<']) || line.contains(" -") || line.contains('/');
    if fixed || line.split_whitespace().count() >= 3 { 2 } else { 1 }
}

/// Paragraphs of code that name or fix something.
fn paragraphs(lines: &[&str]) -> Vec<CodePart> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].trim().is_empty() {
            at += 1;
            continue;
        }
        let length = lines[at..].iter().take_while(|line| !line.trim().is_empty()).count();
        let text = lines[at..at + length].join(" ");
        parts.push(CodePart { first: at, last: at + length - 1, points: score_paragraph(&text), text });
        at += length;
    }
    parts
}

fn score_paragraph(text: &str) -> i32 {
    let literals = text.contains(['"', '\'', '`']);
    let numbers = text.contains(|sign: char| sign.is_ascii_digit());
    let imports = ["import ", "from ", "use ", "#include", "require("]
        .iter()
        .any(|word| text.trim_start().starts_with(word));
    if imports { 0 } else { 1 + i32::from(literals || numbers) }
}
