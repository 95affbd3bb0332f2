//! The table of cases, and the plugin and the script that are made of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::fixture::Fixture;

/// The plugin's folder in the fixture.
pub(super) const PLUGIN: &str = "house";

/// Text that only requests with the plugin have.
const ADVERTISED: &str = "in the house style";

/// A case of the table: what it grades, and what the scripted model replies in each arm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseRow {
    /// Its name.
    pub(super) case: String,
    /// Keys of the front matter of its prompt.
    #[serde(default)]
    allowed_tools: Vec<String>,
    max_turns: Option<u32>,
    pub(super) runs: Option<u32>,
    /// A scaffold script.
    scaffold: Option<String>,
    /// Further files of its folder.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Front matter of its graders, which are called `g1`, `g2`, ….
    pub(super) graders: Vec<Value>,
    /// Replies with the plugin, one for each turn.
    with: Replies,
    /// Replies of the first run with the plugin, if they differ.
    with_first: Option<Replies>,
    /// Replies without the plugin.
    without: Replies,
    /// Rules of the script for other requests: those of judges and of servers that a model plays.
    #[serde(default)]
    other: Vec<Value>,
    /// Why a grader has one outcome only. All others have both.
    pub(super) constant: Option<String>,
    /// What assay says of the case where it refuses it, and the client does not.
    pub(super) refused: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Replies {
    One(String),
    Turns(Vec<Value>),
}

impl Replies {
    fn turns(&self) -> Vec<Value> {
        match self {
            Self::One(text) => vec![json!(text)],
            Self::Turns(turns) => turns.clone(),
        }
    }
}

/// All cases, in the order of their names, which is the order of the client.
pub(super) fn table() -> Vec<CaseRow> {
    let mut rows: Vec<CaseRow> =
        include_str!("cases.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    rows.sort_by(|a, b| a.case.cmp(&b.case));
    rows
}

impl CaseRow {
    fn token(&self) -> String {
        format!("CASE-{}.", self.case)
    }

    /// Writes the case's folder.
    pub(super) fn write(&self, lab: &Fixture) {
        let folder = format!("{PLUGIN}/evals/{}", self.case);
        let mut front = Map::new();
        if !self.allowed_tools.is_empty() {
            front.insert("allowed_tools".to_owned(), json!(self.allowed_tools));
        }
        front.extend(self.max_turns.map(|turns| ("max_turns".to_owned(), json!(turns))));
        front.extend(self.runs.map(|runs| ("runs".to_owned(), json!(runs))));
        let head = if front.is_empty() { String::new() } else { format!("---\n{}\n---\n\n", json!(front)) };
        lab.write(&format!("{folder}/prompt.md"), format!("{head}Work on {}\n", self.token()));
        for (number, grader) in self.graders.iter().enumerate() {
            let file = format!("{folder}/graders/g{}.md", number + 1);
            lab.write(&file, format!("---\n{grader}\n---\n"));
        }
        if let Some(scaffold) = &self.scaffold {
            let context = json!({ "scaffold_script": "scaffold.sh" });
            let case = json!({ "schema_version": "1.0", "name": self.case, "context": context });
            lab.write(&format!("{folder}/case.yaml"), case.to_string());
            lab.write(&format!("{folder}/scaffold.sh"), scaffold);
        }
        for (name, text) in &self.files {
            lab.write(&format!("{folder}/{name}"), text);
        }
    }

    /// The rules of the script that play it. `skill` is the name by which the agent opens the plugin's skill.
    pub(super) fn rules(&self, skill: &str) -> Vec<Value> {
        let mut rules = self.other.clone();
        let first = self.with_first.iter().map(|replies| (replies, true, Some(1)));
        let arms = first.chain([(&self.with, true, None), (&self.without, false, None)]);
        for (replies, with, times) in arms {
            for (turn, reply) in replies.turns().into_iter().enumerate() {
                let mut rule = match reply {
                    Value::String(text) => json!({ "say": text }),
                    reply if reply["tool"].is_null() => reply,
                    reply => {
                        let arguments =
                            reply["arguments"].to_string().replace("\"SKILL\"", &json!(skill).to_string());
                        let arguments: Value = serde_json::from_str(&arguments).unwrap();
                        let mut rule = json!({ "call": { "tool": reply["tool"], "arguments": arguments } });
                        if let Some(text) = reply.get("say") {
                            rule["say"] = text.clone();
                        }
                        rule
                    }
                };
                rule["turn"] = json!(turn);
                rule["seen"] = json!([self.token()]);
                if with {
                    rule["seen"] = json!([self.token(), ADVERTISED]);
                } else {
                    rule["unseen"] = json!([ADVERTISED]);
                }
                if let Some(times) = times {
                    rule["times"] = json!(times);
                }
                rules.push(rule);
            }
        }
        rules
    }

    /// Whether the scripted agent calls a tool.
    pub(super) fn calls(&self, tool: &str) -> bool {
        let turns = self.with.turns().into_iter().chain(self.without.turns());
        turns.into_iter().any(|turn| turn["tool"] == tool)
    }

    /// The rules for requests of others than the agent.
    pub(super) fn requests(&self) -> &[Value] {
        &self.other
    }

    /// The files that its scaffold makes.
    pub(super) fn scaffolded(&self) -> Vec<&str> {
        let text = self.scaffold.as_deref().unwrap_or_default();
        text.lines().filter_map(|line| line.split_once("> ")).map(|(_, file)| file.trim()).collect()
    }
}

/// Writes the plugin without cases: a skill, and a server that does not start.
pub(super) fn write_plugin(lab: &Fixture) {
    let manifest =
        json!({ "name": PLUGIN, "version": "0.1.0", "description": "Greets in a style of its own" });
    lab.write(&format!("{PLUGIN}/.claude-plugin/plugin.json"), manifest.to_string());
    let servers = json!({ "mcpServers": { "tracker": { "command": "false" } } });
    lab.write(&format!("{PLUGIN}/.mcp.json"), servers.to_string());
    let skill = format!(
        "---\nname: greet\ndescription: Greets people {ADVERTISED}. Use when somebody is greeted.\n---\n\nSay \"Moin\".\n"
    );
    lab.write(&format!("{PLUGIN}/skills/greet/SKILL.md"), skill);
}

/// Writes the script of some cases.
pub(super) fn write_script(lab: &Fixture, rows: &[CaseRow], skill: &str, file: &str) {
    let lines: Vec<String> =
        rows.iter().flat_map(|row| row.rules(skill)).map(|rule| rule.to_string()).collect();
    lab.write(file, lines.join("\n"));
}
