//! Chooses the tool for a script's call: agents name their tools differently, and rename them.

use serde_json::{Map, Value, json};

use super::rule::ScriptedCall;
use crate::{ChatRequest, Message, Tool};

/// Names of tools that run a command, in lower case, in present and past versions of Claude Code,
/// Codex, Gemini CLI, Qwen Code, OpenCode and mini-swe-agent.
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

/// The call that runs a command: with the first shell tool, else with the first tool.
pub(super) fn run_command(tools: &[Tool], command: &str) -> Option<(String, Value)> {
    let tool = named(tools, &SHELLS).or_else(|| tools.first())?;
    Some((tool.name.clone(), arguments(tool, &["command", "cmd", "script"], command)))
}

/// The call of the tool with this name, which may have a prefix such as `mcp__SERVER__`.
pub(super) fn call_tool(tools: &[Tool], call: &ScriptedCall) -> Option<(String, Value)> {
    let is_named = |tool: &&Tool| {
        tool.name
            .strip_suffix(&call.tool)
            .is_some_and(|before| before.is_empty() || before.ends_with(['_', '.', '/']))
    };
    let tool = tools.iter().find(is_named)?;
    Some((tool.name.clone(), Value::Object(call.arguments.clone())))
}

/// What the model of mini-swe-agent prints through its shell when the work is done.
const SUBMIT: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// The call that ends the work, for an agent whose prompt asks for such a call.
pub(super) fn submit(request: &ChatRequest) -> Option<(String, Value)> {
    let asks_for_it = texts(request).any(|text| text.contains(SUBMIT));
    if asks_for_it { run_command(&request.tools, &format!("echo {SUBMIT}")) } else { None }
}

/// The call that opens a skill: a command that reads it at the path in the agent's prompt, else the
/// skill tool, else a command that reads it where agents keep skills.
pub(super) fn open_skill(request: &ChatRequest, skill: &str) -> Option<(String, Value)> {
    let tools = &request.tools;
    if let Some(path) = listed(request, skill) {
        return run_command(tools, &format!("cat '{path}'"));
    }
    if let Some(tool) = named(tools, &OPENERS) {
        return Some((tool.name.clone(), arguments(tool, &["skill", "name", "skill_name"], skill)));
    }
    let command = format!(
        "for d in .agents .codex .claude \"$HOME/.agents\" \"$CODEX_HOME\" \"$HOME/.codex\" \"$HOME/.claude\" \"\"; do \
         if [ -f \"$d/skills/{skill}/SKILL.md\" ]; then cat \"$d/skills/{skill}/SKILL.md\"; break; fi; done"
    );
    run_command(tools, &command)
}

/// The path of a skill's document as listed in a text of the system or of the user: `(file: PATH)`.
/// Codex shortens its paths, so that they cannot be read.
fn listed<'a>(request: &'a ChatRequest, skill: &str) -> Option<&'a str> {
    let end = format!("/{skill}/SKILL.md");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    texts(request).find_map(|text| {
        let paths = text.split("(file: ").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        paths
            .into_iter()
            .find(|path| path.starts_with('/') && path.ends_with(&end) && path.chars().all(is_plain))
    })
}

/// The texts that the agent itself wrote to its model.
fn texts(request: &ChatRequest) -> impl Iterator<Item = &str> {
    let said = request.messages.iter().filter_map(|message| match message {
        Message::User { text } => Some(text.as_str()),
        _ => None,
    });
    std::iter::once(request.system.as_str()).chain(said)
}

fn named<'a>(tools: &'a [Tool], names: &[&str]) -> Option<&'a Tool> {
    let is = |name: &&str| tools.iter().find(|tool| tool.name.eq_ignore_ascii_case(name));
    names.iter().find_map(is)
}

/// Arguments that fit a tool's schema: `text` under the first of `keys` that it has (else under the
/// first of all), and a filler for every other required argument.
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
        let listed = properties.and_then(|properties| properties.get(name)?.get("enum")?.get(0));
        let filler =
            listed.cloned().unwrap_or_else(|| match kind(name).map(str::to_ascii_lowercase).as_deref() {
                Some("boolean") => json!(false),
                Some("integer" | "number") => json!(1),
                Some("array") => json!([]),
                Some("object") => json!({}),
                _ => json!("as scripted"),
            });
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
    fn other_tools_are_found_by_the_end_of_their_names() {
        let check = |names: &[&str], expected: Option<&str>| {
            let tools: Vec<Tool> = names.iter().map(|name| tool(name, json!({}))).collect();
            let arguments = Map::from_iter([("name".to_owned(), json!("lantern"))]);
            let call = ScriptedCall { tool: "find".to_owned(), arguments: arguments.clone() };
            let expected = expected.map(|name| (name.to_owned(), Value::Object(arguments)));
            assert_eq!(call_tool(&tools, &call), expected, "{names:?}");
        };
        check(&["bash", "find"], Some("find"));
        check(&["bash", "mcp__shop__find"], Some("mcp__shop__find"));
        check(&["pathfind", "shop.find"], Some("shop.find"));
        check(&["pathfind", "finder"], None);
        check(&[], None);
    }

    #[test]
    fn shell_tool_is_found_by_its_name() {
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
    fn skill_is_opened_by_its_tool_or_by_the_shell() {
        let named = json!({"properties": {"name": {"enum": ["a"]}}});
        let asked = |system: &str, tools: &[Tool]| ChatRequest {
            system: system.to_owned(),
            tools: tools.to_vec(),
            ..ChatRequest::default()
        };
        let both = [tool("activate_skill", named), tool("exec_command", Value::Null)];
        let (name, arguments) = open_skill(&asked("", &both), "a").unwrap();
        assert_eq!((name.as_str(), arguments), ("activate_skill", json!({"name": "a"})));
        let (name, arguments) = open_skill(&asked("", &both[1..]), "a").unwrap();
        assert_eq!(name, "exec_command");
        assert!(arguments.to_string().contains("/skills/a/SKILL.md"), "{arguments}");
        assert!(open_skill(&asked("", &[]), "a").is_none());
        let (name, arguments) = open_skill(&asked("- a: b (file: /x/a/SKILL.md)", &both), "a").unwrap();
        assert_eq!((name.as_str(), arguments), ("exec_command", json!({"command": "cat '/x/a/SKILL.md'"})));
        for path in ["/x'/a/SKILL.md", "r0/a/SKILL.md", "/x/b/SKILL.md"] {
            let (name, _) = open_skill(&asked(&format!("- a: b (file: {path})"), &both), "a").unwrap();
            assert_eq!(name, "activate_skill", "{path}");
        }
    }

    #[test]
    fn final_command_is_called_if_the_prompt_asks_for_it() {
        let asked = |system: &str| ChatRequest {
            system: system.to_owned(),
            tools: vec![tool("bash", Value::Null)],
            ..ChatRequest::default()
        };
        assert!(submit(&asked("Say that you are done.")).is_none());
        let (name, arguments) = submit(&asked(&format!("End with `echo {SUBMIT}`."))).unwrap();
        assert_eq!((name.as_str(), arguments), ("bash", json!({"command": format!("echo {SUBMIT}")})));
    }
}
