//! Test doubles: `doubles.toml` of a task, which declares what stands in for people, programs and
//! servers while an agent works.
//!
//! - [`ScriptedUser`]: answers to the agent's questions.
//! - [`CommandShim`]: a program with canned output.
//! - [`HttpStub`]: an HTTP server on the sandbox's loopback interface.
//! - [`McpMock`]: a server of the Model Context Protocol.
//! - [`PostgresqlSeed`]: a database server on the loopback interface.
//! - [`SqliteSeed`], [`GitSeed`]: a database and a repository in the work folder.
//!
//! The file is beside `task.toml`, and the files that it names are in the folder `doubles/`: both
//! are part of the task's digest, and neither is in the build context of its image. Patterns are
//! those of the `regex` crate, whose searches take linear time.
//!
//! This module reads and checks the file. It answers no call and starts no process.

mod raw;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use crate::plugin_eval::{MockedServer, MockedTool};

pub(crate) use read::{FILE, read};

/// The test doubles of a task.
#[derive(Debug, Clone, Default)]
pub struct Doubles {
    /// Who answers the agent's questions.
    pub user: Option<ScriptedUser>,
    /// Programs with canned output.
    pub commands: Vec<CommandShim>,
    /// HTTP servers.
    pub http: Vec<HttpStub>,
    /// MCP servers.
    pub mcp: Vec<McpMock>,
    /// Servers with a database.
    pub postgresql: Vec<PostgresqlSeed>,
    /// Databases in the work folder.
    pub sqlite: Vec<SqliteSeed>,
    /// Repositories in the work folder.
    pub git: Vec<GitSeed>,
}

impl Doubles {
    /// The command by which an agent asks the scripted user.
    pub const ASK_USER: &str = "ask-user";

    /// The command by which a tool of a mock MCP server is called.
    pub const MCP_CALL: &str = "mcp-call";

    /// Whether some of them answer calls while the agent works.
    pub fn are_called(&self) -> bool {
        self.user.is_some() || !self.commands.is_empty() || self.needs_ports()
    }

    /// Whether some of them listen at a port of the sandbox's loopback interface.
    pub fn needs_ports(&self) -> bool {
        !self.http.is_empty() || !self.mcp.is_empty() || !self.postgresql.is_empty()
    }

    /// Whether some of them are files in the work folder.
    pub fn are_seeded(&self) -> bool {
        !self.sqlite.is_empty() || !self.git.is_empty()
    }

    /// The names of the programs that the sandbox gets.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        let own = self.commands.iter().map(|command| command.name.as_str());
        own.chain(self.user.as_ref().map(|_| Self::ASK_USER))
            .chain((!self.mcp.is_empty()).then_some(Self::MCP_CALL))
    }
}

/// What they are, in words.
impl fmt::Display for Doubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (usize::from(self.user.is_some()), "scripted user"),
            (self.commands.len(), "command"),
            (self.http.len(), "HTTP server"),
            (self.mcp.len(), "MCP server"),
            (self.postgresql.len(), "PostgreSQL database"),
            (self.sqlite.len(), "SQLite database"),
            (self.git.len(), "Git repository"),
        ];
        let mut separator = "";
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            let plural = match (count, what.strip_suffix('y')) {
                (1, _) => what.to_owned(),
                (_, Some(stem)) => format!("{stem}ies"),
                (_, None) => format!("{what}s"),
            };
            write!(f, "{separator}{count} {plural}")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// A pattern that was checked when it was read.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Whether it occurs in a text; one that was read as a whole matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// When a rule applies, besides its patterns, and what it changes. The state is a table of texts
/// that all doubles of an attempt share; it is empty at first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleScope {
    /// The number of the rule in the file, from 1.
    pub number: usize,
    /// Its line, which identifies it in logs.
    pub line: usize,
    /// How often it applies; `None`: always.
    pub times: Option<u32>,
    /// The state that it needs. An empty text is a key that was not set.
    pub when: BTreeMap<String, String>,
    /// The state that it sets.
    pub set: BTreeMap<String, String>,
}

/// A user who answers from a script.
#[derive(Debug, Clone)]
pub struct ScriptedUser {
    /// Who the user is, for people who read the task. The agent is not told.
    pub persona: String,
    /// The answers; the first that applies is given.
    pub answers: Vec<UserAnswer>,
    /// The answer to every other question. Without it they are unknown calls.
    pub otherwise: Option<String>,
}

/// An answer of the scripted user.
#[derive(Debug, Clone)]
pub struct UserAnswer {
    /// When it applies.
    pub scope: RuleScope,
    /// Occurs in the question, in any case.
    pub question: Pattern,
    /// The answer.
    pub answer: String,
}

/// A program with canned output, which is found before a real one of that name.
#[derive(Debug, Clone)]
pub struct CommandShim {
    /// Its name.
    pub name: String,
    /// Its calls; the first that applies answers.
    pub calls: Vec<CommandCall>,
}

impl CommandShim {
    /// Whether its standard input decides what it prints.
    pub fn reads_stdin(&self) -> bool {
        self.calls.iter().any(|call| call.stdin.is_some())
    }
}

/// A call of a program.
#[derive(Debug, Clone)]
pub struct CommandCall {
    /// When it applies.
    pub scope: RuleScope,
    /// Matches all arguments, joined by single spaces.
    pub args: Pattern,
    /// Occurs in the standard input.
    pub stdin: Option<Pattern>,
    /// What it prints.
    pub stdout: String,
    /// What it prints to standard error.
    pub stderr: String,
    /// Its exit status.
    pub status: u8,
    /// Files that it writes, relative to the folder in which it is called.
    pub files: BTreeMap<String, String>,
}

/// An HTTP server on the sandbox's loopback interface.
#[derive(Debug, Clone)]
pub struct HttpStub {
    /// Its port.
    pub port: u16,
    /// Its routes; the first that applies answers.
    pub routes: Vec<HttpRoute>,
}

/// A route of an HTTP server.
#[derive(Debug, Clone)]
pub struct HttpRoute {
    /// When it applies.
    pub scope: RuleScope,
    /// The method, in capitals.
    pub method: String,
    /// Matches the whole path, with the query if there is one.
    pub path: Pattern,
    /// Occurs in the body of the request.
    pub request: Option<Pattern>,
    /// The status of the reply.
    pub status: u16,
    /// Its headers.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: String,
}

/// A server of the Model Context Protocol.
#[derive(Debug, Clone)]
pub struct McpMock {
    /// Its name, by which agents name its tools.
    pub name: String,
    /// Its tools.
    pub tools: Vec<McpTool>,
    /// What answers in place of the results of its tools, for a mock of `claude plugin eval`.
    pub eval_server: Option<Arc<MockedServer>>,
}

impl McpMock {
    /// The server that stands for one in a case of `claude plugin eval`.
    pub(crate) fn of_eval(server: &MockedServer) -> Self {
        let tool = |tool: &MockedTool| McpTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            results: Vec::new(),
        };
        let tools = server.tools.iter().map(tool).collect();
        Self { name: server.public_name.clone(), tools, eval_server: Some(Arc::new(server.clone())) }
    }
}

/// A tool of an MCP server.
#[derive(Debug, Clone)]
pub struct McpTool {
    /// Its name.
    pub name: String,
    /// What the model is told of it.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
    /// Its results; the first that applies is returned.
    pub results: Vec<McpResult>,
}

/// A result of a tool.
#[derive(Debug, Clone)]
pub struct McpResult {
    /// When it applies.
    pub scope: RuleScope,
    /// Match the whole of an argument: a text as it is, anything else as JSON. An argument without
    /// a pattern may be anything.
    pub arguments: BTreeMap<String, Pattern>,
    /// The text of the result.
    pub text: String,
    /// Whether it is an error of the tool.
    pub error: bool,
}

/// A PostgreSQL server with one database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresqlSeed {
    /// The database.
    pub database: String,
    /// The role that owns it. It is no superuser.
    pub user: String,
    /// The port of the sandbox's loopback interface.
    pub port: u16,
    /// The statements that fill it, executed by the role.
    pub sql: String,
}

/// An SQLite database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteSeed {
    /// Its file, relative to the work folder.
    pub path: PathBuf,
    /// The statements that make it.
    pub sql: String,
}

/// A Git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSeed {
    /// Its folder, relative to the work folder; empty for the work folder itself.
    pub path: PathBuf,
    /// Its commits, in order.
    pub commits: Vec<GitCommit>,
    /// The branch that is checked out in the end.
    pub head: String,
    /// Changes that are not committed.
    pub uncommitted: Option<GitChanges>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCommit {
    /// Its branch. A new one starts at the commit before, or at `from`.
    pub branch: String,
    /// The branch or tag at which a new branch starts.
    pub from: Option<String>,
    /// Its message.
    pub message: String,
    /// The name of author and committer.
    pub author: String,
    /// Their mail address.
    pub email: String,
    /// The time of both, in RFC 3339.
    pub date: String,
    /// What it changes.
    pub changes: GitChanges,
    /// A tag on it.
    pub tag: Option<String>,
}

/// Changes of a repository's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitChanges {
    /// Files that are written.
    pub files: BTreeMap<String, String>,
    /// Files that are removed.
    pub delete: Vec<String>,
    /// Whether they are in the index; commits always are.
    pub staged: bool,
}
