//! Which rule of a double applies to a call, and the reply to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use assay_gateway::{LocalReply, LocalRequest};
use assay_task::plugin_eval::{MockReply, MockedServer};
use assay_task::{CommandShim, Doubles, McpMock, McpTool, RuleScope, ScriptedUser};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::log::{Call, CallLog, DoubleCalls};
use crate::run::broken::Broken;

/// The exit status of a program whose double has no rule for a call (`EX_USAGE` of sysexits.h).
const UNKNOWN: u8 = 64;

/// What a program of a double sends.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ProgramCall {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    /// Its standard input, if a rule asks for it.
    pub(super) stdin: Option<String>,
}

/// What it then does.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProgramReply {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) status: u8,
    pub(super) files: BTreeMap<String, String>,
}

impl ProgramReply {
    fn failure(status: u8, message: String) -> Self {
        Self { stderr: message + "\n", status, ..Self::default() }
    }
}

/// A result of a tool.
pub(super) enum ToolResult {
    /// Its text, and whether it is an error.
    Text(String, bool),
    /// No such tool.
    NoTool(String),
}

/// The doubles of an attempt, with their state and their log.
#[derive(Debug)]
pub(super) struct Answers {
    doubles: Arc<Doubles>,
    state: Mutex<State>,
    log: CallLog,
}

#[derive(Debug, Default)]
struct State {
    facts: BTreeMap<String, String>,
    /// How often each rule was applied, by its number.
    applied: BTreeMap<usize, u32>,
}

impl State {
    fn allows(&self, scope: &RuleScope) -> bool {
        let fact = |key: &String| self.facts.get(key).map_or("", String::as_str);
        let applied = self.applied.get(&scope.number).copied().unwrap_or_default();
        scope.times.is_none_or(|times| applied < times)
            && scope.when.iter().all(|(key, value)| fact(key) == value)
    }

    fn apply(&mut self, scope: &RuleScope) {
        let applied = self.applied.entry(scope.number).or_default();
        *applied = applied.saturating_add(1);
        self.facts.extend(scope.set.clone());
    }
}

impl Answers {
    pub(super) fn new(doubles: Arc<Doubles>, log: &Path) -> Result<Self, Broken> {
        Ok(Self { doubles, state: Mutex::default(), log: CallLog::create(log)? })
    }

    /// Records a statement that a database executed.
    pub(super) fn record_statement(&self, database: &str, statement: &str) {
        self.log.add(Call {
            double: "postgresql",
            name: database,
            request: json!({ "statement": statement }),
            rule: Value::Null,
            known: true,
            status: 0,
        });
    }

    pub(super) fn calls(&self) -> Result<DoubleCalls, Broken> {
        self.log.counts()
    }

    pub(super) fn log_path(&self) -> &Path {
        self.log.path()
    }

    pub(super) fn mocks(&self) -> &[McpMock] {
        &self.doubles.mcp
    }

    /// The first rule that applies, which changes the state.
    fn apply_first<'r, R>(
        &self,
        rules: &'r [R],
        scope: impl Fn(&R) -> &RuleScope,
        matches: impl Fn(&R) -> bool,
    ) -> Option<&'r R> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let found = rules.iter().find(|rule| state.allows(scope(rule)) && matches(rule))?;
        state.apply(scope(found));
        Some(found)
    }

    /// Answers a request of a program.
    pub(super) fn call(&self, request: &LocalRequest) -> LocalReply {
        let Ok(call) = serde_json::from_slice::<ProgramCall>(&request.body) else {
            return LocalReply::text(400, "not a call of a program\n");
        };
        let reply = match (call.program.as_str(), &self.doubles.user) {
            (Doubles::ASK_USER, Some(user)) => self.answer_question(user, &call),
            (Doubles::MCP_CALL, _) => self.call_by_command(&call),
            (name, _) => match self.doubles.commands.iter().find(|command| command.name == name) {
                Some(command) => self.run(command, &call),
                None => return LocalReply::text(404, "no such double\n"),
            },
        };
        LocalReply::json(200, &json!(reply))
    }

    fn run(&self, command: &CommandShim, call: &ProgramCall) -> ProgramReply {
        let line = call.args.join(" ");
        let input = call.stdin.as_deref().unwrap_or_default();
        let found = self.apply_first(
            &command.calls,
            |rule| &rule.scope,
            |rule| rule.args.matches(&line) && rule.stdin.as_ref().is_none_or(|stdin| stdin.matches(input)),
        );
        let reply = match found {
            Some(rule) => ProgramReply {
                stdout: rule.stdout.clone(),
                stderr: rule.stderr.clone(),
                status: rule.status,
                files: rule.files.clone(),
            },
            None => ProgramReply::failure(
                UNKNOWN,
                format!("{}: no canned output for these arguments: {line}", command.name),
            ),
        };
        let mut request = json!({ "args": call.args });
        if let Some(stdin) = &call.stdin {
            request["stdin"] = json!(stdin);
        }
        self.log.add(Call {
            double: "command",
            name: &command.name,
            request,
            rule: json!(found.map(|rule| rule.scope.line)),
            known: found.is_some(),
            status: reply.status.into(),
        });
        reply
    }

    fn answer_question(&self, user: &ScriptedUser, call: &ProgramCall) -> ProgramReply {
        let question = call.args.join(" ");
        let name = Doubles::ASK_USER;
        let found =
            self.apply_first(&user.answers, |rule| &rule.scope, |rule| rule.question.matches(&question));
        let (rule, answer) = match (found, &user.otherwise) {
            (Some(rule), _) => (json!(rule.scope.line), Some(&rule.answer)),
            (None, Some(otherwise)) => (json!("otherwise"), Some(otherwise)),
            (None, None) => (Value::Null, None),
        };
        let reply = match answer {
            Some(answer) => {
                ProgramReply { stdout: format!("{}\n", answer.trim_end()), ..ProgramReply::default() }
            }
            None => {
                ProgramReply::failure(UNKNOWN, format!("{name}: the user has no answer to this question"))
            }
        };
        self.log.add(Call {
            double: "user",
            name,
            request: json!({ "question": question }),
            known: answer.is_some(),
            rule,
            status: reply.status.into(),
        });
        reply
    }

    /// `mcp-call`: lists tools, or calls one.
    fn call_by_command(&self, call: &ProgramCall) -> ProgramReply {
        if call.args.is_empty() {
            let list = self.mocks().iter().flat_map(listed).collect();
            return ProgramReply { stdout: list, ..ProgramReply::default() };
        }
        let (mock, tool, arguments) = match self.parse_call(&call.args) {
            Ok(parsed) => parsed,
            Err(message) => {
                self.log.add(Call {
                    double: "mcp",
                    name: call.args.first().map_or("", String::as_str),
                    request: json!({ "args": call.args }),
                    rule: Value::Null,
                    known: false,
                    status: UNKNOWN.into(),
                });
                return ProgramReply::failure(UNKNOWN, format!("{}: {message}", Doubles::MCP_CALL));
            }
        };
        match self.call_tool(mock, tool, &arguments) {
            ToolResult::Text(text, false) => {
                ProgramReply { stdout: format!("{}\n", text.trim_end()), ..ProgramReply::default() }
            }
            ToolResult::Text(text, true) => ProgramReply::failure(1, text.trim_end().to_owned()),
            ToolResult::NoTool(message) => ProgramReply::failure(UNKNOWN, message),
        }
    }

    /// The server, the tool and the arguments of `mcp-call`, or what is wrong with them.
    fn parse_call<'c>(&self, args: &'c [String]) -> Result<(&McpMock, &'c str, Map<String, Value>), String> {
        let (server, tool, text) = match args {
            [server, tool] => (server, tool, "{}"),
            [server, tool, text] => (server, tool, text.as_str()),
            _ => return Err("expected SERVER TOOL ['JSON ARGUMENTS']".to_owned()),
        };
        let mock = self.mocks().iter().find(|mock| mock.name == *server);
        let mock = mock.ok_or_else(|| format!("no MCP server `{server}`"))?;
        let arguments = serde_json::from_str(text);
        let arguments = arguments.map_err(|error| format!("the arguments are not a JSON object: {error}"))?;
        Ok((mock, tool, arguments))
    }

    pub(super) fn call_tool(&self, mock: &McpMock, name: &str, arguments: &Map<String, Value>) -> ToolResult {
        if let Some(server) = &mock.eval_server {
            return self.call_eval_tool(server, name, arguments);
        }
        let tool = mock.tools.iter().find(|tool| tool.name == name);
        let text = |name: &String| match arguments.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            other => other.map(Value::to_string),
        };
        let found = tool.and_then(|tool| {
            self.apply_first(
                &tool.results,
                |rule| &rule.scope,
                |rule| {
                    let mut patterns = rule.arguments.iter();
                    patterns.all(|(name, pattern)| text(name).is_some_and(|text| pattern.matches(&text)))
                },
            )
        });
        let result = match (found, tool) {
            (Some(rule), _) => ToolResult::Text(rule.text.clone(), rule.error),
            (None, Some(_)) => {
                let arguments = Value::Object(arguments.clone());
                ToolResult::Text(format!("{name}: no canned result for these arguments: {arguments}"), true)
            }
            (None, None) => {
                ToolResult::NoTool(format!("the MCP server `{}` has no tool `{name}`", mock.name))
            }
        };
        self.log.add(Call {
            double: "mcp",
            name: &mock.name,
            request: json!({ "tool": name, "arguments": arguments }),
            rule: json!(found.map(|rule| rule.scope.line)),
            known: found.is_some(),
            status: i64::from(!matches!(result, ToolResult::Text(_, false))),
        });
        result
    }

    /// A call of a tool that is mocked by a case of `claude plugin eval`.
    fn call_eval_tool(
        &self,
        server: &MockedServer,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> ToolResult {
        let input = Value::Object(arguments.clone());
        let reply =
            server.tools.iter().find(|tool| tool.name == name).map(|tool| server.answer(tool, &input));
        let is_known = matches!(reply, Some(MockReply::Text { .. } | MockReply::Abort(_)));
        let result = match reply {
            Some(MockReply::Text { text, error }) => ToolResult::Text(text, error),
            Some(MockReply::Abort(why)) => {
                ToolResult::Text(format!("{name}: the call is not what the case expects: {why}"), true)
            }
            Some(MockReply::Unknown(why)) => ToolResult::Text(why, true),
            None => {
                ToolResult::NoTool(format!("the MCP server `{}` has no tool `{name}`", server.public_name))
            }
        };
        self.log.add(Call {
            double: "mcp",
            name: &server.public_name,
            request: json!({ "tool": name, "arguments": input }),
            rule: Value::Null,
            known: is_known,
            status: i64::from(!matches!(result, ToolResult::Text(_, false))),
        });
        result
    }

    /// Answers a request to the HTTP server of a number.
    pub(super) fn http(&self, number: usize, request: &LocalRequest) -> LocalReply {
        let Some(stub) = self.doubles.http.get(number) else {
            return LocalReply::text(501, "no such server\n");
        };
        let LocalRequest { method, path, query, body, .. } = request;
        let target = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
        let body = String::from_utf8_lossy(body);
        let found = self.apply_first(
            &stub.routes,
            |rule| &rule.scope,
            |rule| {
                rule.method == *method
                    && rule.path.matches(&target)
                    && rule.request.as_ref().is_none_or(|pattern| pattern.matches(&body))
            },
        );
        let reply = match found {
            Some(rule) => LocalReply {
                status: rule.status,
                headers: rule.headers.clone().into_iter().collect(),
                body: rule.body.clone().into_bytes(),
            },
            None => LocalReply::text(501, &format!("no canned reply to this request: {method} {target}\n")),
        };
        self.log.add(Call {
            double: "http",
            name: &stub.port.to_string(),
            request: json!({ "method": method, "target": target, "body": body }),
            rule: json!(found.map(|rule| rule.scope.line)),
            known: found.is_some(),
            status: reply.status.into(),
        });
        reply
    }
}

/// The tools of a server, a JSON object on each line.
fn listed(mock: &McpMock) -> impl Iterator<Item = String> {
    mock.tools.iter().map(|tool| {
        let described = described(tool);
        format!("{}\n", json!({ "server": mock.name, "tool": described }))
    })
}

/// What a client is told of a tool.
pub(super) fn described(tool: &McpTool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "inputSchema": tool.input_schema })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOUBLES: &str = r#"schema = "assay.doubles/1"
[user]
[[user.answers]]
question = "colou?r"
answer = "Blue.\n"
times = 2
[[mcp]]
name = "tracker"
[[mcp.tools]]
name = "get_issue"
[[mcp.tools.results]]
arguments = { number = "7", labels = '\["a","b"\]' }
text = "Issue 7"
[[mcp.tools.results]]
arguments = { number = "8" }
text = "It is private."
error = true
"#;

    #[test]
    fn programs_are_answered_and_unknown_calls_counted() {
        let fixture = crate::testing::Fixture::new();
        fixture.write("tasks/a/doubles.toml", DOUBLES);
        let doubles = fixture.load_task("a").doubles.unwrap();
        let answers = Answers::new(doubles, &fixture.path("doubles.jsonl")).unwrap();
        let check = |words: &[&str], status: u8, expected: &str, unknown: u64| {
            let (program, args) = words.split_first().unwrap();
            let args = args.iter().map(ToString::to_string).collect();
            let call = ProgramCall { program: (*program).to_owned(), args, stdin: None };
            let body = serde_json::to_vec(&call).unwrap();
            let reply = answers.call(&LocalRequest { body, ..LocalRequest::default() });
            let reply: ProgramReply = serde_json::from_slice(&reply.body).unwrap();
            assert_eq!(
                (reply.status, format!("{}{}", reply.stdout, reply.stderr).as_str()),
                (status, expected)
            );
            assert_eq!(answers.calls().unwrap().unknown, unknown, "{words:?}");
        };
        check(&["ask-user", "Which Color?"], 0, "Blue.\n", 0);
        check(&["ask-user", "Which", "colour?"], 0, "Blue.\n", 0);
        check(&["ask-user", "Which color?"], 64, "ask-user: the user has no answer to this question\n", 1);
        check(&["ask-user"], 64, "ask-user: the user has no answer to this question\n", 2);
        let tool = json!({ "name": "get_issue", "description": "", "inputSchema": { "type": "object" } });
        check(&["mcp-call"], 0, &format!("{}\n", json!({ "server": "tracker", "tool": tool })), 2);
        let call = ["mcp-call", "tracker", "get_issue"];
        let arguments = r#"{"number": 7, "labels": ["a", "b"], "other": null}"#;
        check(&[&call[..], &[arguments]].concat(), 0, "Issue 7\n", 2);
        check(&[&call[..], &[r#"{"number": "8"}"#]].concat(), 1, "It is private.\n", 2);
        let unknown = "get_issue: no canned result for these arguments: {}\n";
        check(&call, 1, unknown, 3);
        check(&["mcp-call", "tracker", "drop"], 64, "the MCP server `tracker` has no tool `drop`\n", 4);
        check(&["mcp-call", "other", "x"], 64, "mcp-call: no MCP server `other`\n", 5);
        check(&["mcp-call", "tracker"], 64, "mcp-call: expected SERVER TOOL ['JSON ARGUMENTS']\n", 6);
        let wrong = "mcp-call: the arguments are not a JSON object: invalid type: sequence, expected a map at line 1 column 0\n";
        check(&[&call[..], &["[]"]].concat(), 64, wrong, 7);
    }
}
