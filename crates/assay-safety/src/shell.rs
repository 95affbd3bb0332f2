//! The effects of a shell script, as far as can be determined without running it.
//!
//! Words are expanded as in the shell: quotes and backslashes removed, known variables replaced,
//! substitutions evaluated. `echo`, `printf`, `cat`, `base64 -d`, `xxd -r`, `rev` and `tr` are
//! simulated on known text, because commands are hidden with them. Text that is executed in the end
//! (`eval`, `sh -c`, a here-document for `sh`) is parsed too.

use assay_syntax::code::{DEPTH, Language, Node, children, head, named, text, tree};

use super::commands;
use super::shell_state::{Command, Redirect, Shell};
use super::site::{Scan, Site};
use super::value::{Value, unescape};

/// Scans a script.
pub(crate) fn scan(scan: &mut Scan, site: &Site<'_>, source: &str) {
    if !scan.may(site) {
        return;
    }
    let source = head(source);
    // A transcript shows a prompt before each command.
    let cleaned = prompts(source);
    let source = cleaned.as_deref().unwrap_or(source);
    let Some(tree) = tree(Language::Shell, source) else { return };
    let mut shell = Shell::new(scan, site, source);
    shell.statements(tree.root_node(), &Value::default(), 0);
}

/// The text with `$ ` and `% ` at the start of lines blanked out, so that offsets stay. `None` if
/// no line has one.
fn prompts(source: &str) -> Option<String> {
    if !source.lines().any(|line| line.starts_with("$ ") || line.starts_with("% ")) {
        return None;
    }
    Some(
        source
            .split_inclusive('\n')
            .map(|line| match line.strip_prefix("$ ").or_else(|| line.strip_prefix("% ")) {
                Some(rest) => format!("  {rest}"),
                None => line.to_owned(),
            })
            .collect(),
    )
}

impl Shell<'_, '_> {
    /// Evaluates statements in order. Returns their output.
    fn statements(&mut self, root: Node<'_>, input: &Value, depth: usize) -> Value {
        let mut out = Value::default();
        let mut first = true;
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            match node.kind() {
                "comment" | "heredoc_body" => {}
                "command" | "pipeline" | "redirected_statement" => {
                    let written = self.stage(node, input, depth);
                    out.taint = out.taint.with(written.taint);
                    out.text =
                        if first { written.text } else { out.text.zip(written.text).map(|(a, b)| a + &b) };
                    first = false;
                }
                "variable_assignment" => self.assign(node, depth),
                _ => stack.extend(named(node).rev()),
            }
        }
        out
    }

    fn assign(&mut self, node: Node<'_>, depth: usize) {
        let name = node.child_by_field_name("name").map(|name| text(name, self.source).to_owned());
        let value =
            node.child_by_field_name("value").map(|value| self.word(value, depth + 1)).unwrap_or_default();
        let value = Value {
            text: value.text.or_else(|| node.child_by_field_name("value").is_none().then(String::new)),
            ..value
        };
        if let Some(name) = name {
            let appended = children(node).any(|child| child.kind() == "+=");
            let value = match self.variables.get(&name) {
                Some(before) if appended => {
                    let mut joined = before.clone();
                    joined.append(&value);
                    joined
                }
                _ => value,
            };
            self.variables.insert(name, value);
        }
    }

    /// A stage of a pipeline, or a separate statement.
    fn stage(&mut self, node: Node<'_>, input: &Value, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::default();
        }
        match node.kind() {
            "pipeline" => {
                let mut flowing = input.clone();
                for stage in named(node) {
                    flowing = self.stage(stage, &flowing, depth + 1);
                }
                flowing
            }
            "command" => self.command(node, node, input, Vec::new(), depth),
            "redirected_statement" => self.redirected(node, input, depth),
            "comment" => input.clone(),
            _ => self.statements_within(node, input, depth + 1),
        }
    }

    fn statements_within(&mut self, node: Node<'_>, input: &Value, depth: usize) -> Value {
        let mut out = Value::default();
        let kids: Vec<_> = named(node).collect();
        let single = kids.len() == 1;
        for kid in kids {
            let written = self.statements(kid, input, depth + 1);
            out.taint = out.taint.with(written.taint);
            if single {
                out.text = written.text;
            }
        }
        out
    }

    fn redirected(&mut self, node: Node<'_>, input: &Value, depth: usize) -> Value {
        let (mut input, mut outputs, mut after) = (input.clone(), Vec::new(), Vec::new());
        let body = node.child_by_field_name("body");
        for child in named(node).filter(|child| Some(*child) != body) {
            match child.kind() {
                "file_redirect" => self.file(child, &mut input, &mut outputs, depth),
                "herestring_redirect" => {
                    input = named(child).last().map(|word| self.word(word, depth + 1)).unwrap_or_default();
                }
                "heredoc_redirect" => {
                    for part in named(child) {
                        match part.kind() {
                            "heredoc_body" => input = self.here(part, depth),
                            "heredoc_start" | "heredoc_end" => {}
                            "file_redirect" => self.file(part, &mut input, &mut outputs, depth),
                            // What follows the mark on its line: further words, a pipe, the next
                            // command.
                            _ => after.push(part),
                        }
                    }
                }
                _ => {}
            }
        }
        let out = match body {
            Some(body) if body.kind() == "command" => self.command(body, node, &input, outputs, depth),
            Some(body) => {
                let out = self.stage(body, &input, depth + 1);
                let command =
                    Command { words: Vec::new(), span: node.byte_range(), input: out.clone(), outputs };
                super::effects::written(self, &command, &out);
                out
            }
            None => input,
        };
        let mut flowing = out;
        for part in after {
            flowing = match part.kind() {
                "pipeline" => {
                    let mut flowing = flowing;
                    for stage in named(part) {
                        flowing = self.stage(stage, &flowing, depth + 1);
                    }
                    flowing
                }
                "command" | "redirected_statement" => self.stage(part, &flowing, depth + 1),
                _ => {
                    self.statements(part, &Value::default(), depth + 1);
                    flowing
                }
            };
        }
        flowing
    }

    fn here(&mut self, body: Node<'_>, depth: usize) -> Value {
        let mut value = Value::known(text(body, self.source));
        for part in named(body) {
            let inner = match part.kind() {
                "command_substitution" | "simple_expansion" | "expansion" => self.word(part, depth + 1),
                _ => continue,
            };
            value.taint = value.taint.with(inner.taint);
            if let (Some(whole), Some(known)) = (&mut value.text, &inner.text) {
                *whole = whole.replacen(text(part, self.source), known, 1);
            }
        }
        value
    }

    fn file(&mut self, node: Node<'_>, input: &mut Value, outputs: &mut Vec<Redirect>, depth: usize) {
        let reads = children(node).any(|child| child.kind() == "<");
        let target = node
            .child_by_field_name("destination")
            .map(|word| self.word(word, depth + 1))
            .unwrap_or_default();
        if reads {
            *input = commands::content(self, &target);
        } else {
            outputs.push(Redirect { target, span: node.byte_range() });
        }
    }

    fn command(
        &mut self,
        node: Node<'_>,
        whole: Node<'_>,
        input: &Value,
        mut outputs: Vec<Redirect>,
        depth: usize,
    ) -> Value {
        let mut words = Vec::new();
        let mut input = input.clone();
        for child in named(node) {
            match child.kind() {
                "variable_assignment" => self.assign(child, depth),
                "file_redirect" => self.file(child, &mut input, &mut outputs, depth),
                "herestring_redirect" => {
                    input = named(child).last().map(|word| self.word(word, depth + 1)).unwrap_or_default();
                }
                "comment" => {}
                "command_name" => {
                    let inner = named(child).next().unwrap_or(child);
                    self.split(inner, &mut words, depth);
                }
                _ => self.split(child, &mut words, depth),
            }
        }
        let command = Command { words, span: whole.byte_range(), input, outputs };
        commands::run(self, &command)
    }

    /// A word, split as the shell does: at spaces from a variable or a substitution, and at braces.
    fn split(&mut self, node: Node<'_>, words: &mut Vec<Value>, depth: usize) {
        let value = self.word(node, depth + 1);
        let raw = text(node, self.source);
        let loose = !raw.starts_with(['"', '\'']) && raw.contains(['$', '`']);
        match &value.text {
            Some(text) if loose && text.contains(char::is_whitespace) => {
                words.extend(
                    text.split_whitespace()
                        .map(|part| Value { text: Some(part.to_owned()), ..value.clone() }),
                );
            }
            Some(text)
                if raw.starts_with('{')
                    && text.starts_with('{')
                    && text.ends_with('}')
                    && text.contains(',') =>
            {
                let inner = &text[1..text.len() - 1];
                words.extend(
                    inner.split(',').map(|part| Value { text: Some(part.to_owned()), ..value.clone() }),
                );
            }
            _ => words.push(value),
        }
    }

    /// The expanded value of a word.
    fn word(&mut self, node: Node<'_>, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::default();
        }
        let raw = text(node, self.source);
        match node.kind() {
            "raw_string" => Value::known(raw.trim_start_matches('\'').trim_end_matches('\'')),
            "ansi_c_string" => Value::known(unescape(
                raw.strip_prefix("$'").unwrap_or(raw).strip_suffix('\'').unwrap_or(raw),
            )),
            "string" | "translated_string" | "concatenation" => {
                let mut value = Value::known("");
                let mut at = node.start_byte();
                for child in children(node) {
                    // White space between the parts belongs to the text.
                    value.append(&Value::known(self.source.get(at..child.start_byte()).unwrap_or_default()));
                    at = child.end_byte();
                    if !matches!(child.kind(), "\"" | "$\"" | "$") {
                        let part = self.word(child, depth + 1);
                        value.append(&part);
                    }
                }
                value
            }
            "string_content" => Value::known(
                raw.replace("\\\n", "").replace("\\\"", "\"").replace("\\$", "$").replace("\\\\", "\\"),
            ),
            "simple_expansion" => self.variable(raw.trim_start_matches('$')),
            "expansion" => {
                let name: String = raw
                    .trim_start_matches("${")
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                let plain = raw.len() == name.len() + 3;
                let value = self.variable(&name);
                if plain || name == "IFS" { value } else { Value::tainted(value.taint) }
            }
            "command_substitution" | "process_substitution" => {
                let out = self.statements_within(node, &Value::default(), depth + 1);
                Value { text: out.text.map(|text| text.trim_end_matches('\n').to_owned()), ..out }
            }
            "word" | "command_name" | "number" | "extglob_pattern" | "regex" | "test_operator"
            | "variable_name" => {
                let mut known = String::with_capacity(raw.len());
                let mut chars = raw.chars();
                while let Some(c) = chars.next() {
                    match c {
                        '\\' => known.extend(chars.next().filter(|c| *c != '\n')),
                        _ => known.push(c),
                    }
                }
                Value::known(known)
            }
            _ => Value::known(raw),
        }
    }
}
