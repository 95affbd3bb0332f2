//! Directives from the code blocks of a document.

use std::collections::HashSet;

use assay_syntax::blocks::Code;
use assay_syntax::code::Language;
use assay_syntax::shell::{self, Operator, Source};

use super::example::{calls, settings, statements, template, tokens, tree};
use super::lists::EVERYDAY;
use super::order;
use super::prose::{Context, Demand};
use super::unit::{Names, Unit, command, is_command_line};
use super::whole_call::prohibited_call;
use super::{Kind, Modality};

/// Most units of one block.
const BLOCK_CAP: usize = 40;

/// Longest block that is read, in bytes.
const CODE_CAP: usize = 64 << 10;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Shell,
    Program(Language),
    Settings,
    Statements,
    /// Text to fill in, or a tree of folders.
    Text,
    /// Code in a language that is not parsed.
    Other,
    /// What a program prints, diagrams.
    None,
}

/// What a code block can be checked by, with the document's lines.
pub(super) fn demands(code: &Code, context: &Context, names: &Names) -> Vec<(usize, Demand)> {
    let text = &code.text[..code.text.floor_char_boundary(CODE_CAP)];
    let form = form(code, text, names);
    let stances = stances(text);
    // Within the block, from 1.
    let mut found = scripts(text, names);
    match form {
        Form::Shell => {
            let is_forbidden =
                |line: usize| context.forbidden || stances.get(line - 1) == Some(&Modality::Forbidden);
            shell_units(text, names, &is_forbidden, &mut found);
        }
        Form::Program(language) => found.extend(calls(language, text)),
        Form::Settings => {
            list_commands(text, names, &mut found);
            found.extend(settings(text));
        }
        Form::Statements => found.extend(statements(text)),
        Form::Text => {
            found.extend(tree(text, names));
            found.extend(template(text));
        }
        Form::Other => found.extend(tokens(text)),
        Form::None => {}
    }
    found.truncate(BLOCK_CAP);
    let sure = matches!(form, Form::Shell | Form::Text) && !(form == Form::Shell && is_program(text));
    found
        .into_iter()
        .filter_map(|(line, unit)| {
            let forbidden = context.forbidden || stances.get(line - 1) == Some(&Modality::Forbidden);
            let act = matches!(unit.kind, Kind::Command | Kind::Flag | Kind::Script);
            // Which part of wrong code is wrong is known only of a command.
            if forbidden && !act {
                return None;
            }
            let demand = Demand {
                modality: if forbidden { Modality::Forbidden } else { Modality::Required },
                example: unit.kind != Kind::Script && (context.example || !sure || unit.kind == Kind::File),
                condition: context.condition.clone(),
                applies: None,
                instead: Vec::new(),
                range: 0..0,
                unit,
            };
            Some((code.line + line - 1, demand))
        })
        .collect()
}

/// What a block holds, by its language and its first line.
pub(super) fn form(code: &Code, text: &str, names: &Names) -> Form {
    match code.language.as_str() {
        "yaml" | "yml" | "toml" | "json" | "jsonc" | "json5" | "ini" | "properties" | "env" | "dotenv"
        | "cfg" | "conf" | "hcl" | "terraform" | "tf" | "editorconfig" => Form::Settings,
        "sql" | "psql" | "postgresql" | "mysql" | "sqlite" | "plsql" | "tsql" => Form::Statements,
        "markdown" | "md" | "text" | "txt" | "plaintext" | "plain" | "template" => Form::Text,
        "mermaid" | "dot" | "graphviz" | "plantuml" | "output" | "log" | "diff" | "ascii" | "csv" | "tsv" => {
            Form::None
        }
        "" => {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
            let shell = line.is_some_and(|line| {
                let words: Vec<&str> = line.trim_start_matches("$ ").split_whitespace().collect();
                line.starts_with("$ ") || is_command_line(&words, names)
            });
            if shell { Form::Shell } else { Form::Text }
        }
        language => match Language::named(language) {
            Some(Language::Shell) => Form::Shell,
            Some(language) => Form::Program(language),
            None => Form::Other,
        },
    }
}

/// Whether a shell block is a program to learn from rather than commands to run.
fn is_program(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| {
        line.starts_with("#!")
            || ["if ", "for ", "while ", "case ", "function "].iter().any(|word| line.starts_with(word))
            || line.ends_with("() {")
    })
}

/// Takes the programs that a block of commands runs.
pub(super) fn add_programs(code: &Code, names: &mut Names) {
    let text = &code.text[..code.text.floor_char_boundary(CODE_CAP)];
    if form(code, text, names) == Form::Shell && !is_program(text) {
        names.add_programs(&without_prompts(text));
    }
}

/// Scripts of the package that a block names, whatever its language.
fn scripts(text: &str, names: &Names) -> Vec<(usize, Unit)> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for word in line.split(|c: char| c.is_whitespace() || "\"'`()[]{},;=<>|".contains(c)) {
            if word.contains('/') && word.len() <= 200 {
                found.extend(names.runnable(word).map(|unit| (at + 1, unit)));
            }
        }
    }
    found
}

fn shell_units(
    text: &str,
    names: &Names,
    is_forbidden: &dyn Fn(usize) -> bool,
    found: &mut Vec<(usize, Unit)>,
) {
    let text = without_prompts(text);
    let functions: HashSet<&str> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("function ").or(Some(line.trim()))?.split_once("()"))
        .map(|(name, _)| name.trim())
        .collect();
    let defines = |subject: &str| functions.contains(subject.split(' ').next().unwrap_or_default());
    let mut previous: Option<Unit> = None;
    let mut array = false;
    for simple in shell::commands(&text, Source::Script) {
        let listed = array;
        array = simple.end == Operator::Parenthesis
            && simple.words.last().is_some_and(|word| word.ends_with('='));
        if listed || is_sentence(&simple.words, names) {
            continue;
        }
        let words = &simple.words[..simple.here_document.unwrap_or(simple.words.len())];
        if is_forbidden(simple.line) && words.len() > 1 {
            previous = None;
            found.extend(prohibited_call(words).map(|unit| (simple.line, unit)));
            continue;
        }
        let mut units = command(words, names);
        for unit in &mut units {
            let defined = unit.kind == Kind::Command && defines(&unit.subject);
            if defined {
                *unit = Unit::text(Kind::Literal, &unit.subject);
            }
        }
        // Names that a script sets, such as `API_TOKEN=…`.
        let set = |word: &String| shell::is_assignment(word) && word.contains('_');
        for word in words
            .iter()
            .take_while(|word| set(word) || EVERYDAY.contains(&word.as_str()))
            .filter(|word| set(word))
        {
            let name = word.split(['=', '+']).next().unwrap_or_default();
            if name.len() >= 6 && name.chars().all(|c| !c.is_lowercase()) {
                found.push((simple.line, Unit::text(Kind::Literal, name)));
            }
        }
        let act = units.iter().find(|unit| matches!(unit.kind, Kind::Script)).cloned();
        // Blocks list alternatives too: what `&&` joins is run in that order.
        if let Some(order) =
            act.as_ref().zip(previous.as_ref()).and_then(|(act, previous)| order::sequence(previous, act))
        {
            found.push((simple.line, order));
        }
        previous = act.filter(|_| simple.end == Operator::And);
        found.extend(units.into_iter().map(|unit| (simple.line, unit)));
    }
}

/// Whether words in a block of commands are prose.
fn is_sentence(words: &[String], names: &Names) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = shell::program(&words);
    let plain = program.iter().filter(|word| word.chars().all(|c| c.is_alphabetic() || c == ',')).count();
    !is_command_line(&words, names) && plain >= 3 && plain == program.len()
        || program
            .iter()
            .any(|word| word.len() > 2 && word.ends_with([':', ',']) && !word.starts_with(['-', '{', '"']))
}

/// Commands in the lists of a settings file: the steps of a pipeline.
fn list_commands(text: &str, names: &Names, found: &mut Vec<(usize, Unit)>) {
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let Some(line) = line
            .strip_prefix("- ")
            .or_else(|| line.strip_prefix("run: "))
            .or_else(|| line.strip_prefix("- run: "))
        else {
            continue;
        };
        let line = line.trim_start_matches("run: ");
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() >= 2 && !words[0].ends_with(':') && is_command_line(&words, names) {
            for simple in shell::commands(line, Source::Script) {
                found.extend(command(&simple.words, names).into_iter().map(|unit| (at + 1, unit)));
            }
        }
    }
}

/// A shell session without the prompts before its commands.
fn without_prompts(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().map(|line| line.trim_start().strip_prefix("$ ").unwrap_or(line)).collect();
    lines.join("\n")
}

/// For each line of a block, whether a comment above or on it calls it wrong.
fn stances(text: &str) -> Vec<Modality> {
    let mut stance = Modality::Required;
    let wrong = [
        "wrong",
        "bad",
        "incorrect",
        "don't",
        "don’t",
        "do not",
        "avoid",
        "never",
        "❌",
        "✗",
        "anti-pattern",
        "not ",
    ];
    text.lines()
        .map(|line| {
            if let Some(comment) = comment(line) {
                let lower = comment.to_lowercase();
                if wrong.iter().any(|word| lower.starts_with(word)) {
                    stance = Modality::Forbidden;
                } else if line.trim_start().starts_with(['#', '/', '-', '<', '*']) {
                    stance = Modality::Required;
                }
            }
            stance
        })
        .collect()
}

/// The text of a comment that is a line of its own, or stands at the end of one after two blanks.
fn comment(line: &str) -> Option<&str> {
    let marks = ["# ", "// ", "-- ", "/* ", "<!-- "];
    let (at, length) = marks.iter().filter_map(|mark| line.find(mark).map(|at| (at, mark.len()))).min()?;
    let lead = &line[..at];
    (lead.trim().is_empty() || lead.ends_with("  ")).then(|| line[at + length..].trim())
}
