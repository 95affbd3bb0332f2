//! What examples of code can be checked by: calls, settings, statements, and templates to fill in.

use std::collections::HashSet;

use assay_syntax::code::{self, Language, Node, children};

use super::layout::{layout, like, setting, spaced};
use super::number::numbers;
use super::unit::{Names, Unit, is_file, last_part, shape, split_setting};
use super::{Kind, Probe};

/// Most names of one block of code.
const NAMES: usize = 16;

/// Most nodes of a syntax tree that are visited.
const NODES: usize = 40_000;

type FoundUnits = Vec<(usize, Unit)>;

/// Functions that a program calls, options that it passes to them, and modules that it imports.
pub(super) fn calls(language: Language, text: &str) -> FoundUnits {
    let mut found = FoundUnits::new();
    let Some(tree) = code::tree(language, text) else { return found };
    let modules = modules(text);
    let mut open = vec![(tree.root_node(), 0)];
    let mut visited = 0;
    while let Some((node, depth)) = open.pop() {
        visited += 1;
        if visited > NODES || found.len() >= NAMES * 2 {
            break;
        }
        let line = node.start_position().row + 1;
        found.extend(call(node, text, &modules).into_iter().map(|unit| (line, unit)));
        if depth < code::DEPTH * 2 {
            open.extend(children(node).rev().map(|child| (child, depth + 1)));
        }
    }
    found.truncate(NAMES * 2);
    found
}

/// The names that a program gives to what it imports.
fn modules(text: &str) -> HashSet<&str> {
    let imports = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("import ") || line.starts_with("from ") || line.contains("require("));
    imports.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_'))).collect()
}

fn call(node: Node<'_>, text: &str, modules: &HashSet<&str>) -> Option<Unit> {
    let part = |name: &str| node.child_by_field_name(name).map(|part| code::text(part, text));
    match node.kind() {
        "call" | "call_expression" => {
            let name = part("function")?;
            let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.' || c == '$');
            let method = name.rsplit('.').next().unwrap_or(name);
            let receiver = name.split('.').next().unwrap_or_default();
            // A method of a variable says nothing without the type of the variable.
            let qualified = name.matches('.').count() == 1
                && (modules.contains(receiver) || receiver.starts_with(|c: char| c.is_ascii_uppercase()));
            if !plain || name.len() > 60 || method.len() < 4 {
                return None;
            }
            if shape(method) {
                let subject = if qualified { name } else { method };
                return Some(Unit {
                    kind: Kind::Literal,
                    subject: subject.to_owned(),
                    probe: Probe::Text(method.to_owned()),
                });
            }
            (qualified && name.len() >= 8).then(|| Unit::text(Kind::Literal, name))
        }
        "float" | "integer" | "number" => {
            let number = code::text(node, text);
            let digits = number.chars().filter(char::is_ascii_digit).count();
            let round = number.ends_with("000");
            ((5..=20).contains(&digits) && !round).then(|| Unit::text(Kind::Literal, number))
        }
        "keyword_argument" => option(part("name")?, part("value")?),
        "pair" => option(part("key")?.trim_matches(['"', '\'']), part("value")?),
        "import_from_statement" => part("module_name")
            .filter(|name| name.len() >= 4 && !name.starts_with('.'))
            .map(|name| Unit::text(Kind::Literal, name)),
        "import_statement" => {
            let name = part("source").or_else(|| part("name"))?.trim_matches(['"', '\'']);
            (name.len() >= 4 && !name.starts_with('.') && !name.contains(' '))
                .then(|| Unit::text(Kind::Literal, name))
        }
        "decorator" => {
            let name = code::text(node, text).split('(').next().unwrap_or_default().trim();
            (name.len() >= 6 && !name.contains(char::is_whitespace)).then(|| Unit::text(Kind::Literal, name))
        }
        "assignment" => {
            let name = part("left")?;
            let loud = name.len() >= 4
                && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            if loud { option(name, part("right")?) } else { None }
        }
        _ => None,
    }
}

/// An option with a value that is a word, a number or a switch.
fn option(name: &str, value: &str) -> Option<Unit> {
    let bare = value.trim_matches(['"', '\'']);
    let plain = !bare.is_empty()
        && bare.len() <= 40
        && bare.chars().all(|c| c.is_alphanumeric() || "._-+:/%".contains(c));
    let literal = value.starts_with(['"', '\''])
        || bare.starts_with(|c: char| c.is_ascii_digit())
        || matches!(bare, "True" | "False" | "true" | "false" | "None" | "null");
    let name_plain = name.len() >= 3 && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    (plain && literal && name_plain)
        .then(|| Unit::layout(Kind::Literal, &format!("{name}={bare}"), setting(name, bare)))
}

/// Settings of a configuration: keys with a scalar value.
pub(super) fn settings(text: &str) -> FoundUnits {
    let mut found = FoundUnits::new();
    for (at, line) in text.lines().enumerate() {
        let line =
            line.split(" #").next().unwrap_or(line).trim().trim_end_matches(',').trim_start_matches("- ");
        if line.starts_with(['#', '/']) || line.len() > 120 {
            continue;
        }
        let Some((key, value)) = split_setting(line) else { continue };
        let value = value.trim_end_matches(';').trim_matches(['"', '\'']);
        let placeholder = [
            "string",
            "boolean",
            "number",
            "integer",
            "float",
            "object",
            "array",
            "any",
            "null",
            "true|false",
        ];
        if value.ends_with(':') || placeholder.contains(&value) {
            continue;
        }
        let telling = shape(key) || shape(value) || key.len() + value.len() >= 10;
        let prose = value.split_whitespace().count() > 3;
        let switch = value.len() >= 2 && !matches!(value, "|" | ">");
        if telling && !prose && switch && key.len() >= 3 && !is_label(key) {
            found
                .push((at + 1, Unit::layout(Kind::Literal, &format!("{key}: {value}"), setting(key, value))));
        }
    }
    found.truncate(NAMES * 2);
    found
}

/// Keys whose values are the example's own.
fn is_label(key: &str) -> bool {
    let key = key.to_lowercase();
    [
        "name",
        "description",
        "title",
        "author",
        "id",
        "label",
        "url",
        "email",
        "summary",
        "message",
        "comment",
        "note",
    ]
    .contains(&key.as_str())
}

/// Statements of a database: their leading keywords with the name after them, and functions.
pub(super) fn statements(text: &str) -> FoundUnits {
    let mut found = FoundUnits::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split("--").next().unwrap_or(line).trim();
        let words: Vec<&str> = line.split([' ', ';', '(']).filter(|word| !word.is_empty()).collect();
        let keyword =
            |word: &&&str| word.len() >= 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let keywords = words.iter().take_while(keyword).count();
        let named = words
            .get(keywords)
            .filter(|word| shape(word) && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.'));
        let end = keywords + usize::from(named.is_some());
        if (keywords >= 2 || (keywords == 1 && named.is_some())) && (2..=6).contains(&end) {
            let phrase = words[..end].join(" ");
            if phrase.len() >= 10 {
                found.push((at + 1, Unit::layout(Kind::Literal, &phrase, spaced(&phrase))));
            }
        }
    }
    found.extend(tokens(text));
    found.truncate(NAMES * 2);
    found
}

/// Names that are distinctive by their form, each once, in code of any language.
pub(super) fn tokens(text: &str) -> FoundUnits {
    let mut found = FoundUnits::new();
    let mut seen = HashSet::new();
    for (at, line) in text.lines().enumerate() {
        if found.len() >= NAMES {
            break;
        }
        let code = line.split("//").next().unwrap_or(line);
        for word in code.split(|c: char| !(c.is_alphanumeric() || "_@$.".contains(c))) {
            let word = word.trim_matches('.').trim_end_matches('$');
            // Of a decimal number all digits count.
            let whole = word.starts_with('@') || word.chars().all(|c| c.is_ascii_digit() || c == '.');
            let name = if whole { word } else { word.rsplit('.').next().unwrap_or(word) };
            let long = name.chars().count() >= 8;
            let loud = name.chars().all(|c| c.is_ascii_uppercase());
            if long && name.len() <= 60 && !name.starts_with('$') && !loud && shape(name) && seen.insert(name)
            {
                found.push((at + 1, Unit::text(Kind::Literal, name)));
                if found.len() >= NAMES {
                    break;
                }
            }
        }
    }
    found
}

/// Files of a drawn tree of folders.
pub(super) fn tree(text: &str, names: &Names) -> FoundUnits {
    if !text.contains("── ") && !text.contains("|-- ") && !text.contains("+-- ") {
        return FoundUnits::new();
    }
    let mut found = FoundUnits::new();
    for (at, line) in text.lines().enumerate() {
        let Some(name) = line.rsplit_once("─ ").or_else(|| line.rsplit_once("-- ")).map(|(_, name)| name)
        else {
            continue;
        };
        let name = name.split_whitespace().next().unwrap_or_default();
        if is_file(name) && !name.ends_with('/') && !names.contains(name) {
            found.push((at + 1, Unit::text(Kind::File, last_part(name))));
        }
    }
    found
}

/// A text to fill in: its headings, labels and lines with places for values.
pub(super) fn template(text: &str) -> FoundUnits {
    let mut found = FoundUnits::new();
    if text.contains("── ") {
        return found;
    }
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let heading = line.trim_start_matches('#');
        let is_heading = heading.len() < line.len() && heading.starts_with(' ');
        let unit = if is_heading {
            let heading = heading.trim();
            match layout(heading) {
                Some(pattern) => Some(Unit::layout(Kind::Format, heading, pattern)),
                None => (heading.split_whitespace().count() >= 2
                    && heading.len() <= 60
                    && !heading.contains(['[', '<', '{']))
                .then(|| Unit::layout(Kind::Literal, heading, spaced(heading))),
            }
        } else if let Some(label) = line
            .trim_start_matches(['-', ' '])
            .strip_prefix("**")
            .and_then(|rest| rest.split_once("**"))
            .map(|(label, _)| label)
        {
            let label = label.trim_end_matches(':');
            (label.len() >= 8 && label.len() <= 40 && !label.contains(['[', '<', '{']))
                .then(|| Unit::layout(Kind::Literal, label, spaced(label)))
        } else if line.len() <= 120 && line.split_whitespace().count() <= 8 {
            layout(line).map(|pattern| Unit::layout(Kind::Format, line, pattern))
        } else {
            None
        };
        // Numbers of a template are limits, and codes in it stand for others like them.
        if unit.as_ref().is_none_or(|unit| unit.kind == Kind::Format) && line.len() <= 120 {
            for word in line.split_whitespace() {
                let word = word.trim_matches([',', ';', ':', '"', '\'', '`']);
                let mixed = word.contains(|c: char| c.is_alphabetic()) && !word.contains(['<', '{']);
                if let Some(pattern) = like(word).filter(|_| mixed) {
                    found.push((at + 1, Unit::layout(Kind::Format, word, pattern)));
                }
            }
            let lower = line.to_lowercase();
            for number in numbers(&lower, false).into_iter().filter(|number| !number.near.is_empty()) {
                let Some(subject) = line.get(number.range.clone()) else { continue };
                let probe = Probe::Number { value: number.value, near: number.near };
                found.push((at + 1, Unit { kind: Kind::Threshold, subject: subject.to_owned(), probe }));
            }
        }
        found.extend(unit.map(|unit| (at + 1, unit)));
    }
    found.truncate(NAMES * 2);
    found
}
