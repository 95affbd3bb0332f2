//! The front matter: tools that an author allows, and programs and variables that metadata names.

use assay_skill::Document;
use serde_json::Value;

use super::Category::{Auth, BrowserUi, EnvVars, Mcp, MultiTurn, Network, Other, Runtime, ToolCli};
use super::clues::{Clue, Clues};
use super::{Signal, programs, variables};

/// The most strings that are read of a front matter.
const STRINGS: usize = 500;

/// The clues of a front matter.
pub(super) fn find(document: &Document, clues: &mut Clues) {
    for key in ["allowed-tools", "allowed_tools", "tools"] {
        if let Some(value) = document.front_matter.get(key) {
            let line = document.line_of(key).unwrap_or(document.yaml_line);
            let mut tools = Vec::new();
            strings(value, &mut tools);
            for tool in tools.iter().flat_map(|text| split(text)) {
                allowed(tool, line_with(document, tool, line), clues);
            }
        }
    }
    for key in
        ["metadata", "requires", "dependencies", "mcp", "mcp-servers", "mcp_servers", "env", "environment"]
    {
        if let Some(value) = document.front_matter.get(key) {
            requires(document, key, value, document.line_of(key).unwrap_or(document.yaml_line), clues);
        }
    }
}

/// A list of tools in one string, with commas or spaces between them; not within parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth <= 0 && (c == ',' || c == ' ')
    })
    .filter(|tool| !tool.is_empty())
    .collect()
}

/// A tool that the author allows. It may go unused, so few are enough alone.
fn allowed(tool: &str, line: usize, clues: &mut Clues) {
    let mut add = |category, points, key: &str| {
        clues.push(Clue::new(category, points, line, Signal::FrontMatter, key).named(tool));
    };
    match tool {
        "WebFetch" | "WebSearch" => add(Network, 2, "web"),
        "AskUserQuestion" | "AskUser" => add(MultiTurn, 2, "question"),
        _ if tool.starts_with("mcp__") => add(Mcp, 3, tool),
        _ => {
            let Some(command) = tool.strip_prefix("Bash(") else { return };
            let name = command.split([':', ' ', '*', ')']).next().unwrap_or_default();
            if name.is_empty() || programs::is_standard(name) {
            } else if programs::is_runtime(name) {
                add(Runtime, 1, "allowed");
            } else if name == "curl" || name == "wget" {
                add(Network, 1, "allowed");
            } else {
                add(ToolCli, 1, "allowed");
                for (category, points) in programs::effects(name) {
                    add(category, points.min(1), "allowed");
                }
            }
        }
    }
}

/// Programs, packages, variables and servers that metadata lists.
fn requires(document: &Document, key: &str, value: &Value, line: usize, clues: &mut Clues) {
    if let Value::Object(map) = value {
        for (key, value) in map {
            requires(document, key, value, line, clues);
        }
        return;
    }
    let mut values = Vec::new();
    strings(value, &mut values);
    for text in values {
        let at = line_with(document, text, line);
        let mut add = |category, name: &str| {
            clues.push(Clue::new(category, 3, at, Signal::FrontMatter, name).named(name));
        };
        match key {
            "bins" | "anyBins" | "binaries" | "commands" | "cli" => {
                add(if programs::is_runtime(text) { Runtime } else { ToolCli }, text);
            }
            "package" | "pip" | "npm" | "packages" | "python" | "node" => add(Runtime, text),
            "env" | "primaryEnv" | "environment" | "env_vars" if is_variable(text) => {
                variables::credential(text, at, clues);
                clues.push(Clue::new(EnvVars, 3, at, Signal::FrontMatter, text).named(text));
            }
            "mcp" | "mcp-servers" | "mcp_servers" | "mcpServers" => add(Mcp, text),
            "browser" => add(BrowserUi, text),
            "auth" | "credentials" => add(Auth, text),
            "os" if text == "darwin" || text == "macos" || text == "windows" => {
                clues.push(Clue::new(Other, 1, at, Signal::FrontMatter, "os").named(text));
            }
            _ => {}
        }
    }
}

fn is_variable(text: &str) -> bool {
    text.len() > 2 && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// The strings of a value, at any depth.
fn strings<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    if found.len() > STRINGS {
        return;
    }
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(map) => map.values().for_each(|value| strings(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The line of the front matter, from `first` on, that contains a text.
fn line_with(document: &Document, text: &str, first: usize) -> usize {
    let lines = document.text[..document.body_start].lines().enumerate().skip(first.saturating_sub(1));
    lines.into_iter().find(|(_, line)| line.contains(text)).map_or(first, |(index, _)| index + 1)
}
