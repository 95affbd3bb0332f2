//! Reads the cases of a suite.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use assay_diagnostic::{Diagnostic, Severity, escape};
use assay_fs::read_within;
use assay_syntax::yaml::{Kind, Node, Scalar};

use super::case::EvalCase;
use super::fields::{ERROR, EvalFile, FileParts, parts};
use super::glob::PathGlob;
use super::grader::{CallPattern, EvalGrader, GraderArm, GraderCheck, GraderTarget, MatchRule};
use super::mocks::MockedServer;
use super::pattern::JsPattern;

/// Most bytes of a file of a case.
const FILE_CAP: u64 = 1 << 20;

/// Most graders of a case.
const GRADERS: usize = 200;

/// What an empty `case.yaml` or a missing one stands for.
const VERSION: &str = "1.1";

/// Keys at the top of a case.
const TOP: [&str; 7] =
    ["schema_version", "name", "description", "tags", "plugins", "runs", "expected_outcome"];
/// Keys of a run: in `prompt.md` beside those, in `case.yaml` under `execution`.
const EXECUTION: [&str; 7] = [
    "model",
    "max_turns",
    "timeout_seconds",
    "allowed_tools",
    "disallowed_tools",
    "append_system_prompt",
    "env",
];
/// Keys that the client accepts and does not document.
const UNDOCUMENTED: [&str; 2] = ["artifact_publish", "growthbook_overrides"];

/// Reads the text of a file of a case. What goes wrong is a diagnostic.
pub(super) fn text_of(dir: &Path, name: &Path, found: &mut Vec<Diagnostic>) -> Option<String> {
    let path = dir.join(name);
    let error = |message: String| {
        Diagnostic::new(Severity::Error, ERROR, path.clone(), message).hint("make it a readable UTF-8 text")
    };
    match read_within(dir, name, FILE_CAP) {
        Err(cause) => found.push(error(format!("cannot read it: {cause}"))),
        Ok(content) if content.truncated => found.push(error(format!("larger than {FILE_CAP} bytes"))),
        Ok(content) => match String::from_utf8(content.bytes) {
            Err(_) => found.push(error("not UTF-8".to_owned())),
            // As Windows editors write them.
            Ok(text) => return Some(text.trim_start_matches('\u{feff}').replace("\r\n", "\n")),
        },
    }
    None
}

/// A case, or `None` if something in it cannot be read. `mocks` are those of the suite.
pub(super) fn read_case(
    plugin: &Path,
    dir: &Path,
    files: &[PathBuf],
    mocks: &[MockedServer],
    found: &mut Vec<Diagnostic>,
) -> Option<EvalCase> {
    let before = found.len();
    let mut reader = CaseReader { plugin, dir, files, found: Vec::new() };
    let case = reader.case(mocks);
    found.append(&mut reader.found);
    let is_broken = found.iter().skip(before).any(|found| found.severity == Severity::Error);
    case.filter(|_| !is_broken)
}

struct CaseReader<'a> {
    plugin: &'a Path,
    dir: &'a Path,
    /// The files below its folder, relative to it, sorted.
    files: &'a [PathBuf],
    found: Vec<Diagnostic>,
}

/// What both files of a case say.
#[derive(Default)]
struct Declared {
    version: Option<String>,
    name: Option<String>,
    description: Option<String>,
    tags: Option<Vec<String>>,
    runs: Option<u32>,
    model: Option<String>,
    max_turns: Option<u32>,
    timeout_seconds: Option<u32>,
    allowed_tools: Option<Vec<String>>,
    append_system_prompt: Option<String>,
    env: Option<BTreeMap<String, String>>,
    prompt: Option<String>,
    scaffold: Option<PathBuf>,
    history: Option<PathBuf>,
    add_dirs: Vec<PathBuf>,
    graders: Vec<EvalGrader>,
}

impl CaseReader<'_> {
    fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file == Path::new(name))
    }

    fn case(&mut self, mocks: &[MockedServer]) -> Option<EvalCase> {
        let mut declared = Declared::default();
        let mut is_listed = false;
        if self.has("case.yaml") {
            is_listed = self.yaml(&mut declared)?;
        }
        if self.has("prompt.md") {
            self.prompt(&mut declared)?;
        }
        if is_listed {
            self.check_identity(&declared);
        }
        self.check_version(&declared);
        let graders = self.graders()?;
        declared.graders.extend(graders);
        self.check_graders(&declared.graders);
        let Some(prompt) = declared.prompt.filter(|prompt| !prompt.trim().is_empty()) else {
            let hint = "write it below the front matter of prompt.md, or as `execution.prompt` in case.yaml";
            self.mistake(if self.has("prompt.md") { "prompt.md" } else { "case.yaml" }, "no prompt", hint);
            return None;
        };
        let own = self.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Some(EvalCase {
            name: declared.name.unwrap_or(own),
            dir: self.dir.to_owned(),
            prompt,
            tags: declared.tags.unwrap_or_default(),
            description: declared.description,
            runs: declared.runs.unwrap_or(3),
            model: declared.model,
            max_turns: declared.max_turns.unwrap_or(10),
            timeout_seconds: declared.timeout_seconds.unwrap_or(300),
            allowed_tools: declared.allowed_tools.unwrap_or_default(),
            append_system_prompt: declared.append_system_prompt,
            env: declared.env.unwrap_or_default(),
            scaffold: declared.scaffold,
            history: declared.history,
            add_dirs: declared.add_dirs,
            graders: declared.graders,
            mocks: mocks.to_vec(),
        })
    }

    fn mistake(&mut self, file: &str, message: impl Into<String>, hint: &str) {
        let found = Diagnostic::new(Severity::Error, ERROR, self.dir.join(file), message);
        self.found.push(found.at_line(1).hint(hint));
    }

    fn check_identity(&mut self, declared: &Declared) {
        for (key, is_there) in
            [("schema_version", declared.version.is_some()), ("name", declared.name.is_some())]
        {
            if !is_there {
                let hint = if key == "name" { "add it" } else { "add `schema_version: \"1.1\"`" };
                self.mistake("case.yaml", format!("`{key}` is missing"), hint);
            }
        }
    }

    fn check_version(&mut self, declared: &Declared) {
        let version = declared.version.as_deref().unwrap_or(VERSION);
        let major: Option<u32> = version.split('.').next().and_then(|major| major.trim().parse().ok());
        if major.is_none_or(|major| major > 1) {
            let file = if self.has("case.yaml") { "case.yaml" } else { "prompt.md" };
            let message = format!("schema_version \"{}\" is not supported", escape(version));
            self.mistake(file, message, "assay reads the versions 1.x");
        }
    }

    fn check_graders(&mut self, graders: &[EvalGrader]) {
        if graders.is_empty() && !self.found.iter().any(|found| found.severity == Severity::Error) {
            let hint = "add one as graders/NAME.md, or under `graders` in case.yaml";
            self.mistake(if self.has("prompt.md") { "prompt.md" } else { "case.yaml" }, "no graders", hint);
        }
        for (at, grader) in graders.iter().enumerate() {
            if graders.iter().take(at).any(|before| before.name == grader.name) {
                let message = format!("two graders are called `{}`", escape(&grader.name));
                let found = Diagnostic::new(Severity::Error, ERROR, grader.file.clone(), message);
                self.found.push(found.at_line(grader.line).hint("rename one of them"));
            }
        }
    }

    /// Reads `case.yaml`. Returns whether there is something in it.
    fn yaml(&mut self, declared: &mut Declared) -> Option<bool> {
        let text = text_of(self.dir, Path::new("case.yaml"), &mut self.found)?;
        let mut file = EvalFile::new(&self.dir.join("case.yaml"), &text);
        let root = file.mapping(&text, 0);
        if let Some(root) = &root {
            for (key, _) in root.entries() {
                let name = key.text().unwrap_or_default();
                if !TOP.contains(&name) && !["context", "execution", "graders"].contains(&name) {
                    let message = format!("unknown key `{}` in case.yaml: it has no effect", escape(name));
                    file.warn(key.span.start, message, "remove it");
                }
            }
            self.top(&mut file, root, declared);
            if let Some(execution) = file.map(root, "execution") {
                Self::execution(&mut file, execution, declared);
                declared.prompt = file.text(execution, "prompt");
            }
            if let Some(context) = file.map(root, "context") {
                self.context(&mut file, context, declared);
            }
            match root.get("graders").map(|node| (&node.kind, node)) {
                None => {}
                Some((Kind::List(items), _)) => {
                    for item in items.iter().take(GRADERS) {
                        let grader = self.listed_grader(&mut file, item);
                        declared.graders.extend(grader);
                    }
                }
                Some((_, node)) => file.wrong("graders", node, "a list"),
            }
        }
        self.found.append(&mut file.found);
        root.map(|root| !root.entries().is_empty())
    }

    fn listed_grader(&mut self, file: &mut EvalFile<'_>, item: &Node) -> Option<EvalGrader> {
        if !matches!(item.kind, Kind::Map(_)) {
            file.wrong("graders", item, "a list of mappings");
            return None;
        }
        let Some(name) = file.text(item, "name") else {
            if item.get("name").is_none() {
                file.error(item.span.start, "a grader without a `name`", "add one");
            }
            return None;
        };
        self.grader(file, item, name, "")
    }

    /// Reads `prompt.md`.
    fn prompt(&mut self, declared: &mut Declared) -> Option<()> {
        let text = text_of(self.dir, Path::new("prompt.md"), &mut self.found)?;
        let mut file = EvalFile::new(&self.dir.join("prompt.md"), &text);
        let FileParts { block, body } = parts(&text);
        let root = block.map(|(block, base)| file.mapping(block, base));
        if let Some(Some(root)) = &root {
            let known: Vec<&str> = TOP.iter().chain(&EXECUTION).chain(&UNDOCUMENTED).copied().collect();
            file.check_keys(root, &known, "prompt.md");
            self.top(&mut file, root, declared);
            Self::execution(&mut file, root, declared);
        }
        if !body.trim().is_empty() {
            declared.prompt = Some(body.trim().to_owned());
        }
        self.found.append(&mut file.found);
        Some(())
    }

    fn top(&mut self, file: &mut EvalFile<'_>, map: &Node, declared: &mut Declared) {
        let Declared { version, name, description, tags, runs, .. } = declared;
        if let Some(node) = map.get("schema_version")
            && node.type_1_2() == Some(Scalar::Number)
        {
            file.error(
                node.span.start,
                "`schema_version` is a number, and must be a text",
                "put it in quotes",
            );
        } else {
            replace(version, file.text(map, "schema_version"));
        }
        replace(name, file.text(map, "name"));
        replace(description, file.text(map, "description"));
        replace(tags, file.texts(map, "tags"));
        replace(runs, file.number(map, "runs", 1..51));
        let plugins = file.texts(map, "plugins").unwrap_or_default();
        let own = self.plugin.canonicalize().ok();
        for other in plugins {
            if self.dir.join(&other).canonicalize().ok() != own || own.is_none() {
                let at = map.get("plugins").map_or(0, |node| node.span.start);
                let message =
                    format!("`plugins` names {}, which is not the plugin of this suite", escape(&other));
                file.error(at, message, "evaluate plugins one by one");
            }
        }
    }

    fn execution(file: &mut EvalFile<'_>, map: &Node, declared: &mut Declared) {
        let Declared { model, max_turns, timeout_seconds, allowed_tools, append_system_prompt, env, .. } =
            declared;
        replace(model, file.text(map, "model"));
        replace(max_turns, file.number(map, "max_turns", 1..201));
        replace(timeout_seconds, file.number(map, "timeout_seconds", 1..3601));
        replace(allowed_tools, file.texts(map, "allowed_tools"));
        replace(append_system_prompt, file.text(map, "append_system_prompt"));
        if let Some(variables) = file.map(map, "env") {
            let mut read = BTreeMap::new();
            for (key, value) in variables.entries() {
                let name = key.text().unwrap_or_default();
                let is_own = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
                if !name.strip_prefix("EVAL_").is_some_and(|rest| rest.chars().all(is_own)) {
                    let message = format!("`{}` cannot be set by a case", escape(name));
                    file.error(key.span.start, message, "call it EVAL_…");
                }
                match value.text() {
                    Some(text) => drop(read.insert(name.to_owned(), text.to_owned())),
                    None => file.wrong(name, value, "a text"),
                }
            }
            replace(env, Some(read));
        }
        for key in UNDOCUMENTED.iter().chain(&["disallowed_tools"]) {
            if let Some(node) = map.get(key) {
                let message = format!("`{key}` has no effect here");
                file.warn(node.span.start, message, "agents have their own tools");
            }
        }
    }

    fn context(&mut self, file: &mut EvalFile<'_>, map: &Node, declared: &mut Declared) {
        for (key, is_file) in [("scaffold_script", true), ("history_file", true)] {
            if let Some(text) = file.text(map, key) {
                let at = map.get(key).map_or(0, |node| node.span.start);
                let path = self.own_path(file, at, &text, is_file);
                if key == "scaffold_script" { declared.scaffold = path } else { declared.history = path }
            }
        }
        for text in file.texts(map, "add_dirs").unwrap_or_default() {
            let at = map.get("add_dirs").map_or(0, |node| node.span.start);
            declared.add_dirs.extend(self.own_path(file, at, &text, false));
        }
        for (key, _) in map.entries() {
            let name = key.text().unwrap_or_default();
            if !["scaffold_script", "history_file", "add_dirs"].contains(&name) {
                let message = format!("unknown key `{}` in `context`: it has no effect", escape(name));
                file.warn(key.span.start, message, "remove it");
            }
        }
    }

    /// A path in the folder of the case.
    fn own_path(&self, file: &mut EvalFile<'_>, at: usize, text: &str, is_file: bool) -> Option<PathBuf> {
        let Some(path) = inside(text) else {
            let message = format!("{} leaves the folder of the case", escape(text));
            file.error(at, message, "name something in it");
            return None;
        };
        let is_there = if is_file {
            self.files.contains(&path)
        } else {
            self.files.iter().any(|file| file.starts_with(&path))
        };
        if !is_there {
            let what = if is_file { "a file" } else { "a folder with files" };
            file.error(at, format!("{} is not {what} of the case", escape(text)), "correct the path");
            return None;
        }
        Some(path)
    }

    /// Reads `graders/*.md`.
    fn graders(&mut self) -> Option<Vec<EvalGrader>> {
        let is_grader = |file: &&PathBuf| {
            file.parent() == Some(Path::new("graders")) && file.extension().is_some_and(|kind| kind == "md")
        };
        let files: Vec<PathBuf> = self.files.iter().filter(is_grader).take(GRADERS).cloned().collect();
        let mut graders = Vec::new();
        for path in files {
            let text = text_of(self.dir, &path, &mut self.found)?;
            let mut file = EvalFile::new(&self.dir.join(&path), &text);
            let FileParts { block, body } = parts(&text);
            let Some((block, base)) = block else {
                file.warn(
                    0,
                    "no front matter: claude plugin eval ignores this file",
                    "add one with a `type`",
                );
                self.found.append(&mut file.found);
                continue;
            };
            if let Some(map) = file.mapping(block, base) {
                let own = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let name = file.text(&map, "name").unwrap_or(own);
                graders.extend(self.grader(&mut file, &map, name, body.trim()));
            }
            self.found.append(&mut file.found);
        }
        Some(graders)
    }

    /// Reads a grader. `body` stands for its pattern or its criteria.
    fn grader(&self, file: &mut EvalFile<'_>, map: &Node, name: String, body: &str) -> Option<EvalGrader> {
        let begin = map.span.start;
        let Some(kind) = file.text(map, "type") else {
            if map.get("type").is_none() {
                let hint = "add one of regex, tool_used, tool_order, file_exists, llm and baseline";
                file.error(begin, "a grader without a `type`", hint);
            }
            return None;
        };
        let own: &[&str] = match kind.as_str() {
            "regex" => &["pattern", "flags", "match", "target"],
            "tool_used" => &["tool", "input_match", "min", "max"],
            "tool_order" => &["before", "after"],
            "file_exists" => &["path", "exists"],
            "llm" => &["criteria", "focus"],
            "baseline" => &["baseline_file", "criteria"],
            _ => {
                let at = map.get("type").map_or(begin, |node| node.span.start);
                let hint = "use one of regex, tool_used, tool_order, file_exists, llm and baseline";
                file.error(at, format!("unknown type of grader `{}`", escape(&kind)), hint);
                return None;
            }
        };
        let known: Vec<&str> = own.iter().chain(&["type", "name", "weight", "arm"]).copied().collect();
        file.check_keys(map, &known, &format!("a grader of the type {kind}"));
        let weight = Self::weight(file, map);
        let arm = arm(file, map);
        let check = match kind.as_str() {
            "regex" => regex(file, map, body),
            "tool_used" => tool_used(file, map),
            "tool_order" => tool_order(file, map),
            "file_exists" => file_exists(file, map),
            "llm" => llm(file, map, body),
            _ => self.baseline(file, map, body),
        }?;
        Some(EvalGrader {
            name,
            weight: weight?,
            arm,
            check,
            file: file.path.clone(),
            line: file.line(begin),
        })
    }

    fn weight(file: &mut EvalFile<'_>, map: &Node) -> Option<f64> {
        let Some(node) = map.get("weight") else { return Some(1.0) };
        let number = node.text().filter(|_| node.type_1_2() == Some(Scalar::Number));
        let number = number.and_then(|text| text.parse().ok());
        let weight = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
        if weight.is_none() {
            file.wrong("weight", node, "a number above 0");
        }
        weight
    }

    fn baseline(&self, file: &mut EvalFile<'_>, map: &Node, body: &str) -> Option<GraderCheck> {
        let criteria = criteria(file, map, body);
        let path = required(file, map, "baseline_file")?;
        let at = map.get("baseline_file").map_or(0, |node| node.span.start);
        let path = self.own_path(file, at, &path, true)?;
        let mut found = Vec::new();
        let reference = text_of(self.dir, &path, &mut found);
        for (number, line) in reference.iter().flat_map(|text| text.lines().enumerate()) {
            if line.trim().is_empty() {
                continue;
            }
            if let Err(error) = serde_json::from_str::<serde_json::Value>(line) {
                let message = format!("not JSON: {error}");
                let mistake = Diagnostic::new(Severity::Error, ERROR, self.dir.join(&path), message);
                found.push(
                    mistake.at_line(number + 1).hint("a reference is a transcript, with a JSON value a line"),
                );
                break;
            }
        }
        let is_broken = !found.is_empty();
        file.found.append(&mut found);
        let reference = reference.filter(|_| !is_broken)?;
        if reference.trim().is_empty() {
            file.error(at, "the reference is empty", "record a transcript");
            return None;
        }
        Some(GraderCheck::Baseline { criteria: criteria?, reference })
    }
}

/// A value of `prompt.md` replaces one of `case.yaml`.
fn replace<T>(into: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *into = value;
    }
}

/// A relative path that stays in its folder, without `.` and `..`.
pub(super) fn inside(text: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in Path::new(text).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    (!path.as_os_str().is_empty()).then_some(path)
}

/// A text without which there is no grader.
fn required(file: &mut EvalFile<'_>, map: &Node, key: &str) -> Option<String> {
    if map.get(key).is_none() {
        file.error(map.span.start, format!("`{key}` is missing"), "add it");
    }
    file.text(map, key)
}

fn criteria(file: &mut EvalFile<'_>, map: &Node, body: &str) -> Option<String> {
    if map.get("criteria").is_none() && !body.is_empty() {
        return Some(body.to_owned());
    }
    required(file, map, "criteria")
}

fn arm(file: &mut EvalFile<'_>, map: &Node) -> Option<GraderArm> {
    let node = map.get("arm")?;
    match node.text() {
        Some("with-only") => Some(GraderArm::WithOnly),
        Some("both") => Some(GraderArm::Both),
        _ => {
            file.error(node.span.start, "`arm` must be with-only or both", "correct it, or remove it");
            None
        }
    }
}

fn regex(file: &mut EvalFile<'_>, map: &Node, body: &str) -> Option<GraderCheck> {
    let (source, at) = match map.get("pattern") {
        None if !body.is_empty() => (body.to_owned(), map.span.end),
        node => (required(file, map, "pattern")?, node.map_or(map.span.start, |node| node.span.start)),
    };
    let flags = file.text(map, "flags").unwrap_or_default();
    let target = target(file, map, "target")?;
    let rule = match_rule(file, map)?;
    let pattern = pattern(file, at, &source, &flags)?;
    Some(GraderCheck::Regex { target, pattern, rule })
}

pub(super) fn pattern(file: &mut EvalFile<'_>, at: usize, source: &str, flags: &str) -> Option<JsPattern> {
    match JsPattern::new(source, flags) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            let hint = if source.contains("(?i)") {
                "write `flags: i` in place of `(?i)`"
            } else {
                "patterns are those of JavaScript"
            };
            file.error(at, error.to_string(), hint);
            None
        }
    }
}

fn match_rule(file: &mut EvalFile<'_>, map: &Node) -> Option<MatchRule> {
    let Some(node) = map.get("match") else { return Some(MatchRule::Contains) };
    let rule = match node.text() {
        Some("contains") => Some(MatchRule::Contains),
        Some("not_contains") => Some(MatchRule::NotContains),
        Some(text) => text
            .strip_prefix("count:")
            .filter(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|count| count.parse().ok())
            .map(MatchRule::Count),
        None => None,
    };
    if rule.is_none() {
        let message = "`match` must be contains, not_contains or \"count:N\"";
        file.error(node.span.start, message, "correct it");
    }
    rule
}

fn target(file: &mut EvalFile<'_>, map: &Node, key: &str) -> Option<GraderTarget> {
    let Some(node) = map.get(key) else { return Some(GraderTarget::LastMessage) };
    let named = match node.text() {
        Some("last_message") => Some(GraderTarget::LastMessage),
        Some("trace") => Some(GraderTarget::Trace),
        Some("files") => Some(GraderTarget::Files),
        Some("mock_calls") => Some(GraderTarget::MockCalls),
        _ => None,
    };
    if named.is_some() {
        return named;
    }
    let is_file = node.get("source").and_then(Node::text) == Some("file");
    let path = node.get("path").and_then(Node::text).filter(|_| is_file && node.entries().len() == 2);
    let Some(path) = path else {
        let hint = "use last_message, trace, files, mock_calls or { source: file, path: PATH }";
        file.error(node.span.start, format!("unknown `{key}`"), hint);
        return None;
    };
    let Some(path) = inside(path).and_then(|path| path.to_str().map(str::to_owned)) else {
        let message = format!("{} leaves the work folder", escape(path));
        file.error(node.span.start, message, "name a file in it, by a relative path");
        return None;
    };
    Some(GraderTarget::File(path))
}

fn call_pattern(file: &mut EvalFile<'_>, node: &Node, key: &str) -> Option<CallPattern> {
    if let (Some(Scalar::Text), Some(tool)) = (node.type_1_2(), node.text()) {
        return Some(CallPattern { tool: tool.to_owned(), input: None });
    }
    if !matches!(node.kind, Kind::Map(_)) {
        file.wrong(key, node, "the name of a tool, or { tool, input_match }");
        return None;
    }
    file.check_keys(node, &["tool", "input_match"], &format!("`{key}`"));
    calls(file, node)
}

/// `tool` and `input_match`.
fn calls(file: &mut EvalFile<'_>, map: &Node) -> Option<CallPattern> {
    let tool = required(file, map, "tool")?;
    let input = match map.get("input_match") {
        None => None,
        Some(node) => {
            let source = file.text(map, "input_match")?;
            Some(pattern(file, node.span.start, &source, "")?)
        }
    };
    Some(CallPattern { tool, input })
}

fn tool_used(file: &mut EvalFile<'_>, map: &Node) -> Option<GraderCheck> {
    let call = calls(file, map);
    let min = file.number(map, "min", 0..u32::MAX);
    let max = file.number(map, "max", 0..u32::MAX);
    let min = min.unwrap_or(1);
    if max.is_some_and(|max| max < min) {
        let hint = "with `min: 0` and `max: 0` the tool must not be called";
        file.warn(map.span.start, format!("`max` is below `min` ({min}): it never passes"), hint);
    }
    Some(GraderCheck::ToolUsed { call: call?, min, max })
}

fn tool_order(file: &mut EvalFile<'_>, map: &Node) -> Option<GraderCheck> {
    let mut side = |key: &str| {
        let Some(node) = map.get(key) else {
            file.error(map.span.start, format!("`{key}` is missing"), "add the tool that it is about");
            return None;
        };
        call_pattern(file, node, key)
    };
    let (before, after) = (side("before"), side("after"));
    Some(GraderCheck::ToolOrder { before: before?, after: after? })
}

fn file_exists(file: &mut EvalFile<'_>, map: &Node) -> Option<GraderCheck> {
    let path = required(file, map, "path");
    let exists = file.boolean(map, "exists").unwrap_or(true);
    Some(GraderCheck::FileExists { path: PathGlob::new(&path?), exists })
}

fn llm(file: &mut EvalFile<'_>, map: &Node, body: &str) -> Option<GraderCheck> {
    let criteria = criteria(file, map, body);
    let focus = target(file, map, "focus")?;
    Some(GraderCheck::Llm { criteria: criteria?, focus })
}
