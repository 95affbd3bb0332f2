//! Which tool a script's call goes to: agents name them as they please, and rename them.

use serde_json::{Map, Value, json};

use crate::Tool;

/// Names of tools that run a command, in lower case, as Claude Code, Codex, Gemini CLI, Qwen Code, OpenCode and
/// mini-swe-agent have or had them.
const SHELLS: [&str; 8] = [
    "bash",
    "exec_command",
    "run_shell_command",
    "shell",
    "shell_command",
    "container.exec",
    "execute_bash",
    "terminal",
];
/// Names of tools that open a skill.
const OPENERS: [&str; 3] = ["skill", "activate_skill", "use_skill"];

/// The call that runs a command: of the first shell, else of the first tool.
pub(super) fn run_command(tools: &[Tool], command: &str) -> Option<(String, Value)> {
    let tool = named(tools, &SHELLS).or_else(|| tools.first())?;
    Some((tool.name.clone(), arguments(tool, &["command", "cmd", "script"], command)))
}

/// The call that opens a skill: of the tool made for it, else a command that reads it where agents keep skills.
pub(super) fn open_skill(tools: &[Tool], skill: &str) -> Option<(String, Value)> {
    if let Some(tool) = named(tools, &OPENERS) {
        return Some((tool.name.clone(), arguments(tool, &["skill", "name", "skill_name"], skill)));
    }
    let command = format!(
        "for d in .agents .codex .claude \"$HOME/.agents\" \"$CODEX_HOME\" \"$HOME/.codex\" \"$HOME/.claude\" \"\"; do \
         if [ -f \"$d/skills/{skill}/SKILL.md\" ]; then cat \"$d/skills/{skill}/SKILL.md\"; break; fi; done"
    );
    run_command(tools, &command)
}

fn named<'a>(tools: &'a [Tool], names: &[&str]) -> Option<&'a Tool> {
    let is = |name: &&str| tools.iter().find(|tool| tool.name.eq_ignore_ascii_case(name));
    names.iter().find_map(is)
}

/// Arguments that fit a tool's schema: `text` under the first of `keys` that it has (else under the first of all), and
/// something for whatever else it requires.
fn arguments(tool: &Tool, keys: &[&'static str], text: &str) -> Value {
    let properties = tool.parameters.get("properties");
    let kind = |name: &str| properties?.get(name)?.get("type")?.as_str();
    let has = |name: &str| properties.is_some_and(|properties| properties.get(name).is_some());
    let key = keys.iter().find(|key| has(key)).or(keys.first()).copied().unwrap_or_default();
    let mut arguments = Map::new();
    let value = if kind(key) == Some("array") { json!(["bash", "-lc", text]) } else { json!(text) };
    arguments.insert(key.to_owned(), value);
    let required = tool.parameters.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str).filter(|name| *name != key) {
        let filler = match kind(name).map(str::to_ascii_lowercase).as_deref() {
            Some("boolean") => json!(false),
            Some("integer" | "number") => json!(1),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("as scripted"),
        };
        arguments.insert(name.to_owned(), filler);
    }
    Value::Object(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, parameters: Value) -> Tool {
        Tool { name: name.to_owned(), description: String::new(), parameters }
    }

    #[test]
    fn the_shell_is_found_by_kind() {
        let check = |tools: &[Tool], expected: Option<(&str, Value)>| {
            let found = run_command(tools, "ls");
            assert_eq!(found, expected.map(|(name, arguments)| (name.to_owned(), arguments)), "{tools:?}");
        };
        let command = json!({"properties": {"command": {"type": "string"}}, "required": ["command"]});
        check(&[], None);
        check(&[tool("x", Value::Null)], Some(("x", json!({"command": "ls"}))));
        check(&[tool("Agent", Value::Null), tool("Bash", command)], Some(("Bash", json!({"command": "ls"}))));
        let codex = json!({"properties": {"cmd": {"type": "string"}, "workdir": {"type": "string"}}});
        check(
            &[tool("view", Value::Null), tool("exec_command", codex)],
            Some(("exec_command", json!({"cmd": "ls"}))),
        );
        let listed = json!({"properties": {"command": {"type": "array"}}});
        check(&[tool("shell", listed)], Some(("shell", json!({"command": ["bash", "-lc", "ls"]}))));
        let strict = json!({
            "properties": {"command": {"type": "string"}, "why": {"type": "STRING"}, "back": {"type": "boolean"}},
            "required": ["command", "why", "back"],
        });
        let arguments = json!({"command": "ls", "why": "as scripted", "back": false});
        check(&[tool("run_shell_command", strict)], Some(("run_shell_command", arguments)));
    }

    #[test]
    fn a_skill_is_opened_by_its_tool_or_by_the_shell() {
        let named = json!({"properties": {"name": {"enum": ["a"]}}});
        let (name, arguments) = open_skill(&[tool("activate_skill", named)], "a").unwrap();
        assert_eq!((name.as_str(), arguments), ("activate_skill", json!({"name": "a"})));
        let (name, arguments) = open_skill(&[tool("exec_command", Value::Null)], "a").unwrap();
        assert_eq!(name, "exec_command");
        assert!(arguments.to_string().contains("/skills/a/SKILL.md"), "{arguments}");
        assert!(open_skill(&[], "a").is_none());
    }
}
