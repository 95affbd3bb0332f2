//! Reads the stand-ins of a suite or of a case: `mocks/SERVER/TOOL.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_diagnostic::{Diagnostic, Severity, escape};
use assay_syntax::yaml::{Kind, Node, Scalar};
use serde_json::{Value, json};

use super::fields::{ERROR, EvalFile, FileParts, parts};
use super::mocks::{Expected, Guard, MockAnswer, MockedServer, MockedTool, Recording};
use super::read::{pattern, text_of};

/// The folder of stand-ins.
const MOCKS: &str = "mocks";
/// The folder in it with recorded answers.
const REPLAY: &str = ".replay";

/// Types that a guard can name.
const TYPES: [&str; 6] = ["string", "number", "bool", "boolean", "array", "object"];

/// The stand-ins in the folder `mocks` of a folder, beside and in place of those of the suite. `public_name` is a server's name
/// as agents see it.
pub(super) fn read_mocks(
    dir: &Path,
    public_name: &dyn Fn(&str) -> String,
    files: &[PathBuf],
    suite: &[MockedServer],
    found: &mut Vec<Diagnostic>,
) -> Vec<MockedServer> {
    let mut servers: BTreeMap<String, MockedServer> =
        suite.iter().map(|server| (server.name.clone(), server.clone())).collect();
    let reader = MockReader { dir, files };
    for name in reader.servers() {
        let server = servers.entry(name.clone()).or_insert_with(|| MockedServer {
            public_name: public_name(&name),
            name: name.clone(),
            tools: Vec::new(),
            fixtures: BTreeMap::new(),
        });
        reader.add(server, found);
    }
    servers.into_values().filter(|server| !server.tools.is_empty()).collect()
}

struct MockReader<'a> {
    dir: &'a Path,
    /// The files below it, relative to it.
    files: &'a [PathBuf],
}

impl MockReader<'_> {
    /// The files below a folder in `mocks`, relative to it.
    fn below(&self, folder: &Path) -> Vec<&Path> {
        let folder = Path::new(MOCKS).join(folder);
        self.files.iter().filter_map(|file| file.strip_prefix(&folder).ok()).collect()
    }

    fn servers(&self) -> BTreeSet<String> {
        let first = |path: &&Path| path.iter().next().and_then(|part| part.to_str()).map(str::to_owned);
        let below = self.below(Path::new(""));
        let deep = below.iter().filter(|path| path.iter().count() > 1);
        deep.filter_map(first).filter(|name| !name.starts_with('.')).collect()
    }

    fn add(&self, server: &mut MockedServer, found: &mut Vec<Diagnostic>) {
        let folder = Path::new(MOCKS).join(&server.name);
        let files: Vec<PathBuf> =
            self.below(Path::new(&server.name)).into_iter().map(Path::to_owned).collect();
        for file in &files {
            if file.starts_with("fixtures")
                && let Some(text) = text_of(self.dir, &folder.join(file), found)
            {
                server.fixtures.insert(file.to_string_lossy().into_owned(), text);
            }
        }
        let listed = if files.iter().any(|file| file == Path::new("_tools.json")) {
            self.listed(&folder.join("_tools.json"), found)
        } else {
            Vec::new()
        };
        let recordings = self.recordings(&server.name, found);
        let mut tools = Vec::new();
        let is_tool =
            |file: &&PathBuf| file.iter().count() == 1 && file.extension().is_some_and(|kind| kind == "md");
        for file in files.iter().filter(is_tool) {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let answers = |tool: &str| recordings.get(tool).cloned().unwrap_or_default();
            tools.extend(self.tools(&folder.join(file), &name, &answers, found));
        }
        // An own file of a tool takes precedence over `_server.md`.
        tools.sort_by_key(|tool: &MockedTool| tool.file.ends_with("_server.md"));
        for mut tool in tools {
            if let Some((description, schema)) = listed_tool(&listed, &tool.name) {
                (tool.description, tool.input_schema) = (description, schema);
            }
            let is_of_suite = |other: &MockedTool| !other.file.starts_with(self.dir.join(&folder));
            match server.tools.iter_mut().find(|other| other.name == tool.name) {
                None => server.tools.push(tool),
                Some(other) if is_of_suite(other) => *other = tool,
                Some(_) => {}
            }
        }
        server.tools.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// `tools` of a saved reply of the server.
    fn listed(&self, path: &Path, found: &mut Vec<Diagnostic>) -> Vec<Value> {
        let Some(json) = self.json(path, found) else { return Vec::new() };
        let tools = json.get("tools").or_else(|| json.pointer("/result/tools")).unwrap_or(&json);
        let Some(tools) = tools.as_array() else {
            let mistake = Diagnostic::new(Severity::Error, ERROR, self.dir.join(path), "no list of tools");
            found.push(mistake.hint("save the server's reply to tools/list"));
            return Vec::new();
        };
        tools.clone()
    }

    fn json(&self, path: &Path, found: &mut Vec<Diagnostic>) -> Option<Value> {
        let text = text_of(self.dir, path, found)?;
        match serde_json::from_str(&text) {
            Ok(json) => Some(json),
            Err(error) => {
                let mistake = Diagnostic::new(
                    Severity::Error,
                    ERROR,
                    self.dir.join(path),
                    format!("not JSON: {error}"),
                );
                found.push(mistake.at_line(error.line()).hint("correct it"));
                None
            }
        }
    }

    /// Recorded answers of a server, by tool: files `TOOL-HASH.json`.
    fn recordings(&self, server: &str, found: &mut Vec<Diagnostic>) -> BTreeMap<String, Vec<Recording>> {
        let mut recordings: BTreeMap<String, Vec<Recording>> = BTreeMap::new();
        let folder = Path::new(REPLAY).join(server);
        let files: Vec<PathBuf> = self.below(&folder).into_iter().map(Path::to_owned).collect();
        for file in files {
            let path = Path::new(MOCKS).join(&folder).join(&file);
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let Some((tool, _)) =
                name.rsplit_once('-').filter(|_| file.extension().is_some_and(|kind| kind == "json"))
            else {
                let mistake =
                    Diagnostic::new(Severity::Error, ERROR, self.dir.join(&path), "not a recorded answer");
                found.push(mistake.hint("recorded answers are called TOOL-HASH.json"));
                continue;
            };
            let Some(json) = self.json(&path, found) else { continue };
            let text = json.get("output").and_then(Value::as_str);
            let (Some(input), Some(text)) = (json.get("input"), text) else {
                let mistake =
                    Diagnostic::new(Severity::Error, ERROR, self.dir.join(&path), "no `input` and `output`");
                found.push(mistake.hint("copy the recording as the client wrote it"));
                continue;
            };
            // An answer that begins so is an error of the tool.
            let is_marked = json.get("verdict").and_then(Value::as_str) == Some("tool_error");
            let error = is_marked || json.get("isError").and_then(Value::as_bool) == Some(true);
            let recording = Recording { input: input.clone(), text: text.to_owned(), error };
            recordings.entry(tool.to_owned()).or_default().push(recording);
        }
        recordings
    }

    /// The tools of a file: one, or those that a `_server.md` lists.
    fn tools(
        &self,
        path: &Path,
        name: &str,
        answers: &dyn Fn(&str) -> Vec<Recording>,
        found: &mut Vec<Diagnostic>,
    ) -> Vec<MockedTool> {
        let Some(text) = text_of(self.dir, path, found) else { return Vec::new() };
        let mut file = EvalFile::new(&self.dir.join(path), &text);
        let tools = tools(&mut file, &text, name, answers);
        let is_broken = file.found.iter().any(|found| found.severity == Severity::Error);
        found.append(&mut file.found);
        if is_broken { Vec::new() } else { tools }
    }
}

fn tools(
    file: &mut EvalFile<'_>,
    text: &str,
    name: &str,
    answers: &dyn Fn(&str) -> Vec<Recording>,
) -> Vec<MockedTool> {
    let FileParts { block, body } = parts(text);
    let map = match block {
        None => Node { kind: Kind::Map(Vec::new()), span: 0..0 },
        Some((block, base)) => match file.mapping(block, base) {
            Some(map) => map,
            None => return Vec::new(),
        },
    };
    file.check_keys(&map, &["type", "expect", "error", "abort_when", "tools"], "a mock");
    let is_server = name == "_server";
    let is_agent = match file.text(&map, "type").as_deref() {
        None => is_server,
        Some("fixed") => false,
        Some("agent") => true,
        Some(other) => {
            file.error(
                map.span.start,
                format!("unknown type of mock `{}`", escape(other)),
                "use fixed or agent",
            );
            return Vec::new();
        }
    };
    let names = if is_server { file.texts(&map, "tools").unwrap_or_default() } else { vec![name.to_owned()] };
    if is_server && names.is_empty() {
        file.error(map.span.start, "`_server.md` lists no `tools`", "list the tools that it answers");
    }
    let expect = guards(file, &map);
    let error = file.boolean(&map, "error").unwrap_or(false);
    let mut found = Vec::new();
    for name in names {
        let answer = if is_agent {
            let recordings = answers(&name);
            if recordings.is_empty() {
                let hint = "a model would answer: run the suite once with claude plugin eval, and copy what it recorded";
                let message = format!("`{}` has no recorded answers in mocks/{REPLAY}", escape(&name));
                file.warn(map.span.start, message, hint);
            }
            MockAnswer::Recorded(recordings)
        } else {
            MockAnswer::Fixed { text: body.trim().to_owned(), error }
        };
        found.push(MockedTool {
            name,
            file: file.path.clone(),
            description: String::new(),
            input_schema: json!({ "type": "object", "additionalProperties": true }),
            expect: expect.clone(),
            answer,
        });
    }
    found
}

/// The description and the schema of a tool in a saved list.
fn listed_tool(listed: &[Value], name: &str) -> Option<(String, Value)> {
    let tool = listed.iter().find(|tool| tool.get("name").and_then(Value::as_str) == Some(name))?;
    let description = tool.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let schema = tool.get("inputSchema").filter(|schema| schema.is_object()).cloned();
    Some((description, schema.unwrap_or_else(|| json!({ "type": "object" }))))
}

fn guards(file: &mut EvalFile<'_>, map: &Node) -> Vec<Guard> {
    let Some(expect) = file.map(map, "expect") else { return Vec::new() };
    let mut guards = Vec::new();
    for (key, value) in expect.entries() {
        let path = key.text().unwrap_or_default().to_owned();
        if let Some(expected) = expected(file, value) {
            guards.push(Guard { path, expected });
        }
    }
    guards
}

fn expected(file: &mut EvalFile<'_>, node: &Node) -> Option<Expected> {
    match &node.kind {
        Kind::List(items) => {
            let values: Option<Vec<Value>> = items.iter().map(literal).collect();
            if values.is_none() {
                file.error(
                    node.span.start,
                    "a list of allowed values has a list or a mapping",
                    "write literals",
                );
            }
            values.map(Expected::OneOf)
        }
        Kind::Scalar { text, .. } => {
            if TYPES.contains(&text.as_str()) {
                return Some(Expected::Type(text.clone()));
            }
            let inner = text.strip_prefix('/').and_then(|text| text.rsplit_once('/'));
            let is_flags = |flags: &str| flags.chars().all(|flag| "is".contains(flag));
            if let Some((inner, flags)) = inner.filter(|(inner, flags)| !inner.is_empty() && is_flags(flags))
            {
                return pattern(file, node.span.start, inner, flags).map(Expected::Pattern);
            }
            literal(node).map(|value| Expected::OneOf(vec![value]))
        }
        _ => {
            let hint = "write a type, a /pattern/, a value, or a list of values";
            file.error(node.span.start, "unknown condition on an input", hint);
            None
        }
    }
}

/// A scalar as JSON.
fn literal(node: &Node) -> Option<Value> {
    let text = node.text()?;
    Some(match node.type_1_2()? {
        Scalar::Null => Value::Null,
        Scalar::Bool => json!(text.eq_ignore_ascii_case("true")),
        Scalar::Number => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        Scalar::Text | Scalar::Date => json!(text),
    })
}
