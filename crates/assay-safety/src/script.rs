//! What a Python or JavaScript script would do, as far as can be determined without running it.
//!
//! Values are followed through assignments, in textual order and without scopes. Strings are joined
//! and decoded if every part is known; for others only the taint is tracked. Names are resolved
//! through imports, `getattr`, `__import__`, `require` and subscripts. The sinks of such values (a
//! shell, `exec`, a request) are in [`crate::calls`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::mapped::Mapped;
use super::site::{Scan, Site};
use super::value::{Taint, Value, unescape};
use assay_syntax::code::{DEPTH, Language, Node, children, head, named, text, tree};

/// Most bytes of expanded variables.
const BUDGET: usize = 32 << 20;

/// What a call does: reports it, and returns its value as far as it is known.
pub(crate) type CheckCall = fn(&mut Script<'_, '_>, &Call) -> Value;

/// Scans a script, with a check of each call.
pub(crate) fn scan(
    scan: &mut Scan,
    site: &Site<'_>,
    language: Language,
    source: &str,
    check_call: CheckCall,
) {
    if !scan.may(site) {
        return;
    }
    let source = head(source);
    let Some(tree) = tree(language, source) else { return };
    let mut script = Script {
        scan,
        site,
        source,
        language,
        check_call,
        variables: BTreeMap::new(),
        aliases: BTreeMap::new(),
        done: BTreeSet::new(),
        budget: BUDGET,
    };
    let mut stack = vec![tree.root_node()];
    while let Some(node) = stack.pop() {
        script.visit(node);
        stack.extend(named(node).rev());
    }
}

/// A call, its parts resolved.
pub(crate) struct Call {
    /// The function's full name, if known: `os.system`, `child_process.exec`.
    pub(crate) name: String,
    /// The object of a method call.
    pub(crate) object: Value,
    pub(crate) arguments: Vec<Value>,
    pub(crate) keywords: Vec<(String, Value)>,
    pub(crate) span: Range<usize>,
    /// The arguments as written.
    pub(crate) written: String,
    /// Integers that are in the arguments: characters by number.
    pub(crate) numbers: Vec<u32>,
}

impl Call {
    pub(crate) fn first(&self) -> Value {
        self.arguments.first().cloned().unwrap_or_default()
    }

    pub(crate) fn taint(&self) -> Taint {
        let taints = self
            .arguments
            .iter()
            .chain(self.keywords.iter().filter(|(name, _)| name != "env").map(|(_, value)| value));
        taints.fold(Taint::default(), |taint, value| taint.with(value.taint))
    }
}

pub(crate) struct Script<'s, 'a> {
    pub(crate) scan: &'s mut Scan,
    pub(crate) site: &'s Site<'a>,
    source: &'s str,
    pub(crate) language: Language,
    check_call: CheckCall,
    variables: BTreeMap<String, Value>,
    aliases: BTreeMap<String, String>,
    /// Calls that were already checked as part of a larger expression.
    done: BTreeSet<usize>,
    budget: usize,
}

impl Script<'_, '_> {
    fn visit(&mut self, node: Node<'_>) {
        match node.kind() {
            "import_statement" | "import_from_statement" => self.import(node),
            "assignment"
            | "augmented_assignment"
            | "named_expression"
            | "assignment_expression"
            | "augmented_assignment_expression" => {
                let right = node.child_by_field_name("right").or_else(|| node.child_by_field_name("value"));
                let left = node.child_by_field_name("left").or_else(|| node.child_by_field_name("name"));
                if let (Some(left), Some(right)) = (left, right) {
                    let mut value = self.value(right, 0);
                    if node.kind().starts_with("augmented")
                        && let Some(before) = self.variables.get(text(left, self.source))
                    {
                        let mut joined = before.clone();
                        joined.append(&value);
                        value = joined;
                    }
                    self.bind(left, value);
                }
            }
            "variable_declarator" => {
                if let (Some(left), Some(right)) =
                    (node.child_by_field_name("name"), node.child_by_field_name("value"))
                {
                    let value = self.value(right, 0);
                    self.bind(left, value);
                }
            }
            "for_statement" | "as_pattern" | "for_in_statement" => {
                // `for line in open(…)`, `with open(…) as f`: values from it have its taint.
                let mut kids = named(node);
                let right = node.child_by_field_name("right").or_else(|| named(node).next());
                let left = node
                    .child_by_field_name("left")
                    .or_else(|| kids.next_back().and_then(|kid| named(kid).next()));
                if let (Some(left), Some(right)) = (left, right) {
                    let value = self.value(right, 0);
                    self.bind(left, Value { text: None, items: Vec::new(), ..value });
                }
            }
            "call" | "call_expression" | "new_expression" if !self.done.contains(&node.id()) => {
                self.value(node, 0);
            }
            _ => {}
        }
    }

    fn bind(&mut self, left: Node<'_>, value: Value) {
        match left.kind() {
            "identifier" => {
                let name = text(left, self.source).to_owned();
                if let Some(alias) = &value.name {
                    self.aliases.insert(name.clone(), alias.clone());
                }
                self.variables.insert(name, value);
            }
            // `const { exec: run } = require('child_process')`
            "object_pattern" => {
                for part in named(left) {
                    let (key, name) = match part.kind() {
                        "pair_pattern" => {
                            (part.child_by_field_name("key"), part.child_by_field_name("value"))
                        }
                        _ => (Some(part), Some(part)),
                    };
                    if let (Some(key), Some(name), Some(object)) = (key, name, &value.name) {
                        let alias = format!("{object}.{}", text(key, self.source));
                        self.aliases.insert(text(name, self.source).to_owned(), alias);
                    }
                }
            }
            "pattern_list" | "tuple_pattern" | "array_pattern" => {
                for (index, part) in named(left).enumerate().take(64) {
                    let item = value.items.get(index).cloned().unwrap_or_else(|| Value::tainted(value.taint));
                    if part.kind() == "identifier" {
                        self.variables.insert(text(part, self.source).to_owned(), item);
                    }
                }
            }
            _ => {}
        }
    }

    fn import(&mut self, node: Node<'_>) {
        if self.language == Language::JavaScript {
            let Some(module) = node.child_by_field_name("source") else { return };
            let module = module_name(text(module, self.source)).to_owned();
            let mut stack: Vec<_> = named(node).collect();
            while let Some(part) = stack.pop() {
                match part.kind() {
                    "import_specifier" => {
                        let name = part.child_by_field_name("name");
                        let alias = part.child_by_field_name("alias").or(name);
                        if let (Some(name), Some(alias)) = (name, alias) {
                            let full = format!("{module}.{}", text(name, self.source));
                            self.aliases.insert(text(alias, self.source).to_owned(), full);
                        }
                    }
                    "identifier" => {
                        self.aliases.insert(text(part, self.source).to_owned(), module.clone());
                    }
                    "import_clause" | "namespace_import" | "named_imports" => stack.extend(named(part)),
                    _ => {}
                }
            }
            return;
        }
        let module =
            node.child_by_field_name("module_name").map(|module| text(module, self.source).to_owned());
        for part in named(node) {
            if node.child_by_field_name("module_name") == Some(part) {
                continue;
            }
            let (name, alias) = match part.kind() {
                "aliased_import" => (part.child_by_field_name("name"), part.child_by_field_name("alias")),
                "dotted_name" => (Some(part), None),
                _ => continue,
            };
            let Some(name) = name.map(|name| text(name, self.source)) else { continue };
            let full = module.as_ref().map_or_else(|| name.to_owned(), |module| format!("{module}.{name}"));
            let short = alias.map_or(name, |alias| text(alias, self.source));
            self.aliases.insert(short.to_owned(), full);
        }
    }

    /// The value of an expression.
    fn value(&mut self, node: Node<'_>, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::default();
        }
        let raw = text(node, self.source);
        match node.kind() {
            "string" | "template_string" => self.string(node, depth),
            "concatenated_string" => {
                let mut value = Value::known("");
                for part in named(node) {
                    let part = self.value(part, depth + 1);
                    value.append(&part);
                }
                value
            }
            "binary_operator" | "binary_expression" => self.binary(node, depth),
            "integer" | "number" | "true" | "false" => Value::known(raw),
            "identifier" => self.identifier(raw),
            "attribute" | "member_expression" => {
                let property =
                    node.child_by_field_name("attribute").or_else(|| node.child_by_field_name("property"));
                let object = node
                    .child_by_field_name("object")
                    .map(|object| self.value(object, depth + 1))
                    .unwrap_or_default();
                property
                    .map(|property| Self::member(&object, text(property, self.source)))
                    .unwrap_or_default()
            }
            "subscript" | "subscript_expression" => self.subscript(node, depth),
            "list" | "tuple" | "array" | "set" | "expression_list" => {
                let items: Vec<Value> =
                    named(node).take(512).map(|item| self.value(item, depth + 1)).collect();
                let taint = items.iter().fold(Taint::default(), |taint, item| taint.with(item.taint));
                Value { taint, items, ..Value::default() }
            }
            "dictionary" | "object" => {
                let mut taint = Taint::default();
                for pair in named(node).take(512) {
                    let value =
                        pair.child_by_field_name("value").or_else(|| named(pair).last()).unwrap_or(pair);
                    taint = taint.with(self.value(value, depth + 1).taint);
                }
                Value::tainted(taint)
            }
            "call" | "call_expression" | "new_expression" => self.call(node, depth),
            "parenthesized_expression"
            | "await"
            | "await_expression"
            | "unary_expression"
            | "spread_element"
            | "list_splat"
            | "dictionary_splat"
            | "non_null_expression"
            | "as_expression"
            | "interpolation"
            | "template_substitution"
            | "keyword_argument" => {
                let inner = node.child_by_field_name("value").or_else(|| named(node).next());
                inner.map(|inner| self.value(inner, depth + 1)).unwrap_or_default()
            }
            "conditional_expression" | "ternary_expression" | "boolean_operator" => {
                let mut taint = Taint::default();
                let mut last = Value::default();
                for part in named(node) {
                    last = self.value(part, depth + 1);
                    taint = taint.with(last.taint);
                }
                Value { taint, ..last }
            }
            "dictionary_comprehension" | "list_comprehension" | "generator_expression" => {
                let taint = named(node)
                    .filter(|part| part.kind() == "for_in_clause")
                    .filter_map(|part| part.child_by_field_name("right"))
                    .fold(Taint::default(), |taint, right| taint.with(self.value(right, depth + 1).taint));
                Value::tainted(taint)
            }
            _ => Value::default(),
        }
    }

    fn string(&mut self, node: Node<'_>, depth: usize) -> Value {
        let mut value = Value::known("");
        let start =
            named(node).find(|part| part.kind() == "string_start").map(|part| text(part, self.source));
        let plain = start.is_some_and(|start| start.to_ascii_lowercase().contains('r'));
        for part in named(node) {
            match part.kind() {
                "string_content" | "string_fragment" | "escape_sequence" | "template_chars" => {
                    let raw = text(part, self.source);
                    value.append(&Value::known(if plain { raw.to_owned() } else { unescape(raw) }));
                }
                "interpolation" | "template_substitution" => {
                    let inner = self.value(part, depth + 1);
                    value.append(&inner);
                }
                _ => {}
            }
        }
        value
    }

    /// A chain of one operator is left-associative and may be long: it is walked in a loop.
    fn binary(&mut self, node: Node<'_>, depth: usize) -> Value {
        let mut parts = Vec::new();
        let mut node = node;
        let mut operators = Vec::new();
        while matches!(node.kind(), "binary_operator" | "binary_expression") && parts.len() < 4_096 {
            let operator =
                node.child_by_field_name("operator").map_or("", |operator| text(operator, self.source));
            operators.push(operator);
            parts.extend(node.child_by_field_name("right"));
            match node.child_by_field_name("left") {
                Some(left) => node = left,
                None => break,
            }
        }
        let mut value = self.value(node, depth + 1);
        for (part, operator) in parts.into_iter().rev().zip(operators.into_iter().rev()) {
            let right = self.value(part, depth + 1);
            match operator {
                "+" => value.append(&right),
                "/" if value.text.is_some() || right.text.is_some() => {
                    value.append(&Value::known("/"));
                    value.append(&right);
                }
                "%" => {
                    let with = if right.items.is_empty() { vec![right] } else { right.items };
                    for item in with {
                        value.taint = value.taint.with(item.taint);
                        value.text = value
                            .text
                            .map(|text| text.replacen("%s", item.text.as_deref().unwrap_or("\u{fffd}"), 1));
                    }
                }
                _ => value = Value::tainted(value.taint.with(right.taint)),
            }
        }
        value
    }

    fn identifier(&mut self, name: &str) -> Value {
        let mut value = match self.variables.get(name) {
            Some(value) => match self.budget.checked_sub(value.str().len() + 64 * value.items.len()) {
                Some(left) => {
                    self.budget = left;
                    value.clone()
                }
                None => Value::tainted(value.taint),
            },
            None => Value::default(),
        };
        if value.name.is_none() && value.text.is_none() {
            value.name = Some(self.aliases.get(name).cloned().unwrap_or_else(|| name.to_owned()));
        }
        value
    }

    fn member(object: &Value, property: &str) -> Value {
        let name = object.name.as_ref().map(|object| canonical(&format!("{object}.{property}")));
        let environment = matches!(name.as_deref(), Some("os.environ" | "process.env"));
        if environment {
            return Value { name, taint: Taint::ENVIRONMENT, ..Value::default() };
        }
        if object.name.as_deref() == Some("process.env") {
            // One variable is not all of them.
            return if property == "HOME" { Value::known("~") } else { Value::default() };
        }
        Value { name, taint: object.taint, ..Value::default() }
    }

    fn subscript(&mut self, node: Node<'_>, depth: usize) -> Value {
        let object = node.child_by_field_name("value").or_else(|| node.child_by_field_name("object"));
        let index = node.child_by_field_name("subscript").or_else(|| node.child_by_field_name("index"));
        let (Some(object), Some(index)) = (object, index) else { return Value::default() };
        let object = self.value(object, depth + 1);
        if text(index, self.source).replace(' ', "") == "::-1" {
            return object.decoded(object.text.as_ref().map(|text| text.chars().rev().collect()));
        }
        let index = self.value(index, depth + 1);
        match (&object.name, &index.text) {
            (Some(name), Some(key)) if name == "os.environ" || name == "process.env" => {
                if key == "HOME" {
                    Value::known("~")
                } else {
                    Value::default()
                }
            }
            (Some(_), Some(key)) => Self::member(&object, key),
            _ => {
                let at = index.text.as_deref().and_then(|text| text.parse::<usize>().ok());
                at.and_then(|at| object.items.get(at).cloned())
                    .unwrap_or_else(|| Value::tainted(object.taint))
            }
        }
    }

    fn call(&mut self, node: Node<'_>, depth: usize) -> Value {
        self.done.insert(node.id());
        let function =
            node.child_by_field_name("function").or_else(|| node.child_by_field_name("constructor"));
        let Some(function) = function else { return Value::default() };
        let mut object = Value::default();
        let mut name = String::new();
        if let Some(property) =
            function.child_by_field_name("attribute").or_else(|| function.child_by_field_name("property"))
        {
            if let Some(inner) = function.child_by_field_name("object") {
                object = self.value(inner, depth + 1);
            }
            let property = text(property, self.source);
            name = match &object.name {
                Some(object) => canonical(&format!("{object}.{property}")),
                None => format!(".{property}"),
            };
        } else if function.kind() == "import" {
            name.push_str("require");
        } else {
            let value = self.value(function, depth + 1);
            name.push_str(&canonical(value.name.as_deref().unwrap_or_default()));
            object.taint = value.taint;
            object.text = value.text;
        }
        let mut call = Call {
            name,
            object,
            arguments: Vec::new(),
            keywords: Vec::new(),
            span: node.byte_range(),
            written: String::new(),
            numbers: Vec::new(),
        };
        if let Some(list) = node.child_by_field_name("arguments") {
            call.written = text(list, self.source).chars().take(2_000).collect();
            self.promised(&call, list);
            if list.kind() == "generator_expression" {
                call.arguments.push(self.value(list, depth + 1));
            } else {
                for argument in named(list).take(512) {
                    if argument.kind() == "keyword_argument" {
                        let key = argument
                            .child_by_field_name("name")
                            .map_or("", |key| text(key, self.source))
                            .to_owned();
                        let value = self.value(argument, depth + 1);
                        call.keywords.push((key, value));
                    } else if argument.kind() != "comment" {
                        call.arguments.push(self.value(argument, depth + 1));
                    }
                }
            }
            if matches!(
                call.name.rsplit('.').next(),
                Some("join" | "bytes" | "bytearray" | "fromCharCode" | "chr" | "map" | "Uint8Array")
            ) || call.name.ends_with("Buffer.from")
            {
                call.numbers = integers(list, self.source);
            }
        }
        (self.check_call)(self, &call)
    }

    /// `fetch(…).then(code => …)`: the function's argument has the promise's taint.
    fn promised(&mut self, call: &Call, list: Node<'_>) {
        let method = call.name.rsplit('.').next().unwrap_or_default();
        if !call.name.contains('.') || !matches!(method, "then" | "on" | "get") {
            return;
        }
        let taint = if method == "get" { Taint::NETWORK } else { call.object.taint };
        for function in
            named(list).filter(|part| matches!(part.kind(), "arrow_function" | "function_expression"))
        {
            let parameter = function
                .child_by_field_name("parameter")
                .or_else(|| function.child_by_field_name("parameters").and_then(|list| named(list).next()));
            if let Some(parameter) = parameter.filter(|_| taint != Taint::default()) {
                self.variables.insert(text(parameter, self.source).to_owned(), Value::tainted(taint));
            }
        }
    }
}

/// Numbers that are in a list: `[105, 103]`.
fn integers(node: Node<'_>, source: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        if matches!(node.kind(), "integer" | "number") {
            let raw = text(node, source);
            let number = raw
                .strip_prefix("0x")
                .map_or_else(|| raw.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
            numbers.extend(number);
        }
        if numbers.len() > 20_000 {
            break;
        }
        stack.extend(named(node).rev());
    }
    numbers
}

/// `"node:fs"` as `fs`, `"fs/promises"` as `fs.promises`.
pub(crate) fn module_name(quoted: &str) -> &str {
    let module = quoted.trim_matches(['"', '\'', '`']);
    let module = module.strip_prefix("node:").unwrap_or(module);
    if module == "fs/promises" { "fs.promises" } else { module }
}

/// A name without the prefix for built-ins.
fn canonical(name: &str) -> String {
    let mut name = name;
    for prefix in ["builtins.", "__builtins__.", "globalThis.", "global.", "window.", "self.", "__dict__."] {
        name = name.strip_prefix(prefix).unwrap_or(name);
    }
    name.to_owned()
}

/// Comments, documentation and printed text, which an agent reads.
pub(crate) fn spoken(language: Language, source: &str) -> Vec<Mapped> {
    let source = head(source);
    let Some(tree) = tree(language, source) else { return Vec::new() };
    let mut out: Vec<Mapped> = Vec::new();
    let mut last_comment = None;
    let mut stack = vec![tree.root_node()];
    while let Some(node) = stack.pop() {
        match node.kind() {
            "comment" => {
                let raw = text(node, source);
                let bare = raw.trim_start_matches(['#', '/', '*', '!']);
                let at = node.start_byte() + (raw.len() - bare.len());
                let row = node.start_position().row;
                match out.last_mut() {
                    // Lines of comment one below the other are one text.
                    Some(text) if last_comment == Some(row) => {
                        text.push(" ", node.start_byte());
                        text.push(bare, at);
                    }
                    _ => out.push(Mapped::verbatim(bare, at)),
                }
                last_comment = Some(node.end_position().row + 1);
                continue;
            }
            "string" if node.parent().is_some_and(|parent| parent.kind() == "expression_statement") => {
                out.push(Mapped::verbatim(text(node, source), node.start_byte()));
            }
            "call" | "call_expression" | "command" => {
                let name = children(node).next().map_or("", |name| text(name, source));
                if matches!(
                    name,
                    "print"
                        | "echo"
                        | "printf"
                        | "console.log"
                        | "console.error"
                        | "sys.stdout.write"
                        | "sys.stderr.write"
                        | "process.stdout.write"
                ) {
                    out.push(Mapped::verbatim(text(node, source), node.start_byte()));
                    last_comment = None;
                    continue;
                }
            }
            "heredoc_body" => out.push(Mapped::verbatim(text(node, source), node.start_byte())),
            _ => {}
        }
        stack.extend(named(node).rev());
    }
    out
}
