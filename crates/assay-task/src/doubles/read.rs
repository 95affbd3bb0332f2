//! From the text of `doubles.toml` to [`Doubles`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_diagnostic::escape;
use assay_fs::tree;
use assay_skill::{decode, position};
use regex::RegexBuilder;
use serde_json::{Value, json};
use toml::Spanned;

use super::raw::{
    RawCommand, RawDoubles, RawGit, RawHttp, RawMcp, RawPostgresql, RawRoute, RawSqlite, RawText, RawTool,
    RawUser, Texts,
};
use super::{
    CommandCall, CommandShim, Doubles, GitChanges, GitCommit, GitSeed, HttpRoute, HttpStub, McpMock,
    McpResult, McpTool, Pattern, PostgresqlSeed, RuleScope, ScriptedUser, SqliteSeed, UserAnswer,
};
use crate::TaskError;

/// The name of the file.
pub(crate) const FILE: &str = "doubles.toml";

/// The folder of the files that it names.
const FOLDER: &str = "doubles";

const SCHEMA: &str = "assay.doubles/1";

/// Most bytes of `doubles.toml`, and of a file that it names.
const TEXT_CAP: u64 = 1 << 20;

/// Most bytes of all files that it names.
const FILES_CAP: usize = 8 << 20;

/// Most characters of a pattern, and most bytes of memory of what it is compiled to.
const PATTERN_CHARS: usize = 4096;
const PATTERN_BYTES: usize = 1 << 20;

/// Most rules of all doubles together.
const RULES: usize = 1000;

/// Most HTTP servers: each has a process in the sandbox.
const SERVERS: usize = 8;

/// Programs that sandboxes and agents need themselves.
const RESERVED_PROGRAMS: [&str; 8] =
    ["sh", "bash", "dash", "env", "node", "assay", Doubles::ASK_USER, Doubles::MCP_CALL];

/// Ports of the sandbox's loopback interface that assay uses itself.
const RESERVED_PORTS: std::ops::RangeInclusive<u16> = 8790..=8799;

type Read<T> = Result<T, TaskError>;
type Span = std::ops::Range<usize>;

/// Reads `doubles.toml` of a task's folder; `None` if there is none.
pub(crate) fn read(root: &Path) -> Read<Option<Doubles>> {
    let path = root.join(FILE);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let content = assay_fs::read_within(root, Path::new(FILE), TEXT_CAP)
        .map_err(|source| TaskError::Read { path: path.clone(), source })?;
    if content.truncated {
        let message = format!("larger than {TEXT_CAP} bytes");
        let hint = "put long texts into files of the folder `doubles/`".to_owned();
        return Err(TaskError::Part { path, message, hint });
    }
    let text = decode(&content.bytes).text;
    Reader { root, file: &path, text: &text, rules: 0, bytes: 0 }.doubles().map(Some)
}

/// The file that is read.
struct Reader<'a> {
    root: &'a Path,
    file: &'a Path,
    text: &'a str,
    rules: usize,
    bytes: usize,
}

impl Reader<'_> {
    fn error(&self, at: &Span, message: impl Into<String>, hint: impl Into<String>) -> TaskError {
        let (line, column) = position(self.text, at.start);
        let path = self.file.to_path_buf();
        TaskError::Line { path, line, column, message: message.into(), hint: hint.into() }
    }

    fn doubles(&mut self) -> Read<Doubles> {
        let raw: RawDoubles = toml::from_str(self.text).map_err(|error| {
            let message = error.message().lines().next().unwrap_or("not valid TOML").to_owned();
            let hint = "docs/TASKS.md, \"Test doubles\", lists the keys";
            self.error(&error.span().unwrap_or_default(), escape(&message), hint)
        })?;
        if raw.schema.get_ref() != SCHEMA {
            let message = format!("unknown schema {:?}", raw.schema.get_ref());
            return Err(self.error(&raw.schema.span(), message, format!("write `schema = \"{SCHEMA}\"`")));
        }
        let user = raw.user.map(|user| self.user(user)).transpose()?;
        let commands = self.commands(raw.commands)?;
        let http = self.http(raw.http)?;
        let ports = http.iter().map(|stub| stub.port).collect();
        let doubles = Doubles {
            user,
            commands,
            http,
            mcp: self.mcp(raw.mcp)?,
            postgresql: self.postgresql(raw.postgresql, ports)?,
            sqlite: raw.sqlite.iter().map(|raw| self.sqlite(raw)).collect::<Read<_>>()?,
            git: self.each(raw.git, Self::git)?,
        };
        if !doubles.are_called() && !doubles.are_seeded() {
            return Err(self.error(&(0..0), "it declares no test double", "add one, or remove the file"));
        }
        Ok(doubles)
    }

    fn each<R, T>(&mut self, raw: Vec<R>, one: impl Fn(&mut Self, R) -> Read<T>) -> Read<Vec<T>> {
        raw.into_iter().map(|raw| one(self, raw)).collect()
    }

    /// The common part of a rule, which is identified by the line of its pattern.
    fn scope(
        &mut self,
        at: &Span,
        times: Option<u32>,
        when: BTreeMap<String, String>,
        set: BTreeMap<String, String>,
    ) -> Read<RuleScope> {
        self.rules += 1;
        if self.rules > RULES {
            return Err(self.error(at, format!("more than {RULES} rules"), "combine or remove some"));
        }
        if times == Some(0) {
            return Err(self.error(at, "a rule with `times = 0` never applies", "remove it, or the key"));
        }
        Ok(RuleScope { number: self.rules, line: position(self.text, at.start).0, times, when, set })
    }

    fn pattern(&self, raw: &Spanned<String>, whole: bool) -> Read<Pattern> {
        let text = raw.get_ref();
        if text.chars().count() > PATTERN_CHARS {
            let message = format!("a pattern of more than {PATTERN_CHARS} characters");
            return Err(self.error(&raw.span(), message, "shorten it"));
        }
        let full = if whole { format!(r"\A(?:{text})\z") } else { text.clone() };
        // The pattern alone, too: one that closes the group would not match the whole.
        let build = |text: &str| {
            RegexBuilder::new(text)
                .case_insensitive(!whole)
                .dot_matches_new_line(true)
                .size_limit(PATTERN_BYTES)
                .build()
        };
        build(text).and_then(|_| build(&full)).map(Pattern).map_err(|error| {
            let last = error.to_string();
            let last = last.lines().last().unwrap_or_default().trim();
            let message = format!("invalid pattern: {}", escape(last.trim_start_matches("error: ")));
            self.error(&raw.span(), message, "write a regular expression of the `regex` crate")
        })
    }

    fn patterns(&self, raw: Option<&Spanned<String>>) -> Read<Option<Pattern>> {
        raw.map(|raw| self.pattern(raw, false)).transpose()
    }

    fn content(&mut self, raw: &Spanned<RawText>) -> Read<String> {
        let name = match raw.get_ref() {
            RawText::Text(text) => return Ok(text.clone()),
            RawText::File { file } => file,
        };
        let Some(path) = plain_path(name) else {
            let message = format!("invalid file name `{}`", escape(name));
            return Err(self.error(&raw.span(), message, "name a file in the folder `doubles/`"));
        };
        let shown = format!("{FOLDER}/{}", escape(name));
        let hint = "it must be a file in the folder `doubles/` of the task";
        let content = assay_fs::read_within(self.root, &Path::new(FOLDER).join(path), TEXT_CAP)
            .map_err(|error| self.error(&raw.span(), format!("cannot read {shown}: {error}"), hint))?;
        self.bytes += content.bytes.len();
        if content.truncated || self.bytes > FILES_CAP {
            let message = format!(
                "{shown} is too large: at most {TEXT_CAP} bytes each and {FILES_CAP} bytes together are allowed"
            );
            return Err(self.error(&raw.span(), message, "shorten it"));
        }
        String::from_utf8(content.bytes)
            .map_err(|_| self.error(&raw.span(), format!("{shown} is not UTF-8"), "only texts are supported"))
    }

    fn optional(&mut self, raw: Option<&Spanned<RawText>>) -> Read<String> {
        raw.map_or(Ok(String::new()), |raw| self.content(raw))
    }

    /// Texts by the relative path of a file.
    fn files(&mut self, raw: &Texts) -> Read<BTreeMap<String, String>> {
        let mut files = BTreeMap::new();
        for (name, text) in raw {
            let path = self.relative(name, &text.span())?;
            files.insert(path, self.content(text)?);
        }
        Ok(files)
    }

    fn relative(&self, name: &str, at: &Span) -> Read<String> {
        let path = plain_path(name).and_then(|path| path.to_str().map(str::to_owned));
        path.ok_or_else(|| {
            let message = format!("invalid path `{}`", escape(name));
            self.error(at, message, "use a relative path without `..`")
        })
    }

    fn name(&self, raw: &Spanned<String>, what: &str, seen: &mut BTreeSet<String>) -> Read<String> {
        let name = raw.get_ref();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        let is_named = name.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_named || name.len() > 64 || !name.chars().all(is_plain) {
            let message = format!("invalid name of {what}: `{}`", escape(name));
            return Err(self.error(&raw.span(), message, "use at most 64 letters, digits, `-`, `_` and `.`"));
        }
        if !seen.insert(name.clone()) {
            let message = format!("two {what}s are called `{name}`");
            return Err(self.error(&raw.span(), message, "put the rules of both into one"));
        }
        Ok(name.clone())
    }

    fn user(&mut self, raw: RawUser) -> Read<ScriptedUser> {
        let answers = self.each(raw.answers, |reader, raw| {
            Ok(UserAnswer {
                scope: reader.scope(&raw.question.span(), raw.times, raw.when, raw.set)?,
                question: reader.pattern(&raw.question, false)?,
                answer: reader.content(&raw.answer)?,
            })
        })?;
        Ok(ScriptedUser { persona: raw.persona, answers, otherwise: raw.otherwise })
    }

    fn commands(&mut self, raw: Vec<RawCommand>) -> Read<Vec<CommandShim>> {
        let mut seen = BTreeSet::new();
        let mut commands = Vec::new();
        for raw in raw {
            let name = self.name(&raw.name, "command", &mut seen)?;
            if RESERVED_PROGRAMS.contains(&name.as_str()) {
                let message = format!("`{name}` cannot be replaced: agents or assay itself need it");
                return Err(self.error(&raw.name.span(), message, "replace another program"));
            }
            let calls = self.each(raw.calls, |reader, raw| {
                Ok(CommandCall {
                    scope: reader.scope(&raw.args.span(), raw.times, raw.when, raw.set)?,
                    args: reader.pattern(&raw.args, true)?,
                    stdin: reader.patterns(raw.stdin.as_ref())?,
                    stdout: reader.optional(raw.stdout.as_ref())?,
                    stderr: reader.optional(raw.stderr.as_ref())?,
                    status: raw.status,
                    files: reader.files(&raw.files)?,
                })
            })?;
            commands.push(CommandShim { name, calls });
        }
        Ok(commands)
    }

    fn http(&mut self, raw: Vec<RawHttp>) -> Read<Vec<HttpStub>> {
        let mut ports = BTreeSet::new();
        let mut servers = Vec::new();
        for raw in raw {
            let port = *raw.port.get_ref();
            if port < 1024 || RESERVED_PORTS.contains(&port) {
                let (first, last) = (RESERVED_PORTS.start(), RESERVED_PORTS.end());
                let hint = format!("use a port from 1024 on, except {first} to {last}");
                return Err(self.error(&raw.port.span(), format!("port {port} cannot be used"), hint));
            }
            if !ports.insert(port) {
                let message = format!("two HTTP servers have the port {port}");
                return Err(self.error(&raw.port.span(), message, "put the routes of both into one"));
            }
            if servers.len() == SERVERS {
                let message = format!("more than {SERVERS} HTTP servers");
                return Err(self.error(&raw.port.span(), message, "put their routes into one"));
            }
            servers.push(HttpStub { port, routes: self.each(raw.routes, Self::route)? });
        }
        Ok(servers)
    }

    fn route(&mut self, raw: RawRoute) -> Read<HttpRoute> {
        let method = raw.method.get_ref();
        if method.is_empty() || !method.chars().all(|c| c.is_ascii_uppercase()) {
            let message = format!("invalid method `{}`", escape(method));
            return Err(self.error(&raw.method.span(), message, "write it in capitals, such as \"GET\""));
        }
        let status = raw.status.as_ref().map_or(200, |status| *status.get_ref());
        if !(200..=599).contains(&status) {
            let at = raw.status.as_ref().map(Spanned::span).unwrap_or_default();
            return Err(self.error(&at, format!("invalid status {status}"), "use one from 200 to 599"));
        }
        let mut headers = BTreeMap::new();
        for (name, value) in raw.headers {
            let lower = name.to_ascii_lowercase();
            let is_token = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
            let is_ours = ["content-length", "transfer-encoding", "connection"].contains(&lower.as_str());
            if !is_token || is_ours || value.get_ref().chars().any(char::is_control) {
                let message = format!("the header `{}` cannot be set", escape(&name));
                let hint = "assay sets length, encoding and connection itself; a value is one line";
                return Err(self.error(&value.span(), message, hint));
            }
            headers.insert(lower, value.into_inner());
        }
        Ok(HttpRoute {
            scope: self.scope(&raw.path.span(), raw.times, raw.when, raw.set)?,
            method: method.clone(),
            path: self.pattern(&raw.path, true)?,
            request: self.patterns(raw.request.as_ref())?,
            status,
            headers,
            body: self.optional(raw.body.as_ref())?,
        })
    }

    fn mcp(&mut self, raw: Vec<RawMcp>) -> Read<Vec<McpMock>> {
        let mut seen = BTreeSet::new();
        let mut servers = Vec::new();
        for raw in raw {
            let name = self.name(&raw.name, "MCP server", &mut seen)?;
            // Agents make names of tools and keys of their settings of it.
            if name.contains(['.', '+']) {
                let message = format!("invalid name of MCP server: `{name}`");
                return Err(self.error(&raw.name.span(), message, "use letters, digits, `-` and `_`"));
            }
            let mut tools = BTreeSet::new();
            let tools = raw.tools.into_iter().map(|raw| self.tool(raw, &mut tools)).collect::<Read<_>>()?;
            servers.push(McpMock { name, tools, eval_server: None });
        }
        Ok(servers)
    }

    fn tool(&mut self, raw: RawTool, seen: &mut BTreeSet<String>) -> Read<McpTool> {
        let name = self.name(&raw.name, "tool", seen)?;
        let input_schema = match raw.input_schema {
            None => json!({ "type": "object" }),
            Some(schema) => {
                let at = schema.span();
                let schema = serde_json::to_value(schema.into_inner()).unwrap_or_default();
                if schema.get("type").and_then(Value::as_str) != Some("object") {
                    let message = "`input_schema` is not the JSON schema of an object";
                    return Err(self.error(&at, message, "add `type = \"object\"`"));
                }
                schema
            }
        };
        let at = raw.name.span();
        let results = self.each(raw.results, |reader, raw| {
            let first = raw.arguments.values().map(Spanned::span).min_by_key(|span| span.start);
            let at = first.unwrap_or_else(|| raw.text.span());
            let mut arguments = BTreeMap::new();
            for (name, pattern) in &raw.arguments {
                arguments.insert(name.clone(), reader.pattern(pattern, true)?);
            }
            Ok(McpResult {
                scope: reader.scope(&at, raw.times, raw.when, raw.set)?,
                arguments,
                text: reader.content(&raw.text)?,
                error: raw.error,
            })
        })?;
        if results.is_empty() {
            let message = format!("the tool `{name}` has no results");
            return Err(self.error(&at, message, "add `[[mcp.tools.results]]` with a `text`"));
        }
        Ok(McpTool { name, description: raw.description, input_schema, results })
    }

    /// `ports` are those that are taken.
    fn postgresql(&mut self, raw: Vec<RawPostgresql>, mut ports: BTreeSet<u16>) -> Read<Vec<PostgresqlSeed>> {
        let mut databases = BTreeSet::new();
        let mut seeds = Vec::new();
        for raw in raw {
            let database = self.role_name(&raw.database)?;
            if !databases.insert(database.clone()) {
                let message = format!("two databases are called `{database}`");
                return Err(self.error(&raw.database.span(), message, "rename one"));
            }
            let user = raw.user.as_ref().map(|user| self.role_name(user)).transpose()?;
            let port = raw.port.as_ref().map_or(5432, |port| *port.get_ref());
            let span = raw.port.as_ref().map_or_else(|| raw.database.span(), Spanned::span);
            if port < 1024 || RESERVED_PORTS.contains(&port) || !ports.insert(port) {
                let message = format!("port {port} cannot be used, or is used twice");
                let hint = "use another port from 1024 on";
                return Err(self.error(&span, message, hint));
            }
            let sql = self.content(&raw.sql)?;
            seeds.push(PostgresqlSeed {
                database,
                user: user.unwrap_or_else(|| "app".to_owned()),
                port,
                sql,
            });
        }
        Ok(seeds)
    }

    /// A name that needs no quotes in SQL and is not one of the server's own.
    fn role_name(&self, name: &Spanned<String>) -> Read<String> {
        let text = name.get_ref();
        let is_plain = text.len() <= 40
            && text.starts_with(|sign: char| sign.is_ascii_lowercase())
            && text.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_');
        let is_own =
            text.starts_with("pg_") || text.starts_with("template") || text == "postgres" || text == "assay";
        if is_plain && !is_own {
            return Ok(text.clone());
        }
        let message = format!("{text:?} cannot be the name of a database or its user");
        Err(self.error(
            &name.span(),
            message,
            "use lower-case letters, digits and `_`, and no name of the server's own",
        ))
    }

    fn sqlite(&mut self, raw: &RawSqlite) -> Read<SqliteSeed> {
        let path = PathBuf::from(self.relative(raw.path.get_ref(), &raw.path.span())?);
        Ok(SqliteSeed { path, sql: self.content(&raw.sql)? })
    }

    fn git(&mut self, raw: RawGit) -> Read<GitSeed> {
        let path = match raw.path.get_ref().as_str() {
            "." => PathBuf::new(),
            name => PathBuf::from(self.relative(name, &raw.path.span())?),
        };
        let default = match &raw.author {
            Some(author) => self.author(author)?,
            None => ("Test Author".to_owned(), "author@example.com".to_owned()),
        };
        let at = raw.commits.span();
        let mut branch = "main".to_owned();
        let mut commits: Vec<GitCommit> = Vec::new();
        let mut references = BTreeSet::new();
        for raw in raw.commits.into_inner() {
            if let Some(own) = &raw.branch {
                branch = self.reference(own)?;
            }
            let from = raw.from.as_ref().map(|from| self.reference(from)).transpose()?;
            if let (Some(from), Some(given)) = (&from, &raw.from)
                && !references.contains(from)
            {
                let message = format!("no earlier commit is on the branch or tag `{from}`");
                return Err(self.error(&given.span(), message, "name one of an earlier commit"));
            }
            let author = raw.author.as_ref().map(|author| self.author(author)).transpose()?;
            let (author, email) = author.unwrap_or_else(|| default.clone());
            let date = match &raw.date {
                Some(date) => self.date(date)?,
                // An hour after the one before.
                None => {
                    format!("2024-01-{:02}T{:02}:00:00Z", 1 + commits.len() / 24 % 28, commits.len() % 24)
                }
            };
            let tag = raw.tag.as_ref().map(|tag| self.reference(tag)).transpose()?;
            references.insert(branch.clone());
            references.extend(tag.clone());
            let changes = self.changes(&raw.files, &raw.delete, true)?;
            let message = raw.message;
            commits.push(GitCommit {
                branch: branch.clone(),
                from,
                message,
                author,
                email,
                date,
                changes,
                tag,
            });
        }
        if commits.is_empty() {
            return Err(self.error(&at, "a repository without commits", "add `[[git.commits]]`"));
        }
        let head = match &raw.head {
            Some(head) => self.reference(head)?,
            None => branch,
        };
        if !commits.iter().any(|commit| commit.branch == head) {
            let at = raw.head.as_ref().map(Spanned::span).unwrap_or(at);
            return Err(self.error(&at, format!("no commit is on the branch `{head}`"), "name another"));
        }
        let uncommitted = match &raw.uncommitted {
            Some(raw) => Some(self.changes(&raw.files, &raw.delete, raw.staged)?),
            None => None,
        };
        Ok(GitSeed { path, commits, head, uncommitted })
    }

    fn changes(&mut self, files: &Texts, delete: &[Spanned<String>], staged: bool) -> Read<GitChanges> {
        let files = self.files(files)?;
        let delete: Vec<String> =
            delete.iter().map(|name| self.relative(name.get_ref(), &name.span())).collect::<Read<_>>()?;
        Ok(GitChanges { files, delete, staged })
    }

    /// `NAME <ADDRESS>`.
    fn author(&self, raw: &Spanned<String>) -> Read<(String, String)> {
        let is_plain = |text: &str| {
            !text.trim().is_empty() && !text.contains(['<', '>']) && !text.chars().any(char::is_control)
        };
        let parts = raw.get_ref().strip_suffix('>').and_then(|text| text.split_once('<'));
        let parts = parts.filter(|(name, mail)| is_plain(name) && is_plain(mail));
        parts.map(|(name, mail)| (name.trim().to_owned(), mail.trim().to_owned())).ok_or_else(|| {
            let message = format!("invalid author `{}`", escape(raw.get_ref()));
            self.error(&raw.span(), message, "write \"NAME <ADDRESS>\"")
        })
    }

    /// A time in RFC 3339, with seconds.
    fn date(&self, raw: &Spanned<String>) -> Read<String> {
        let text = raw.get_ref();
        let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        let (time, zone) = shape.split_at_checked(19).unwrap_or_default();
        if time == "0000-00-00T00:00:00" && matches!(zone, "Z" | "+00:00" | "-00:00") {
            return Ok(text.clone());
        }
        let message = format!("invalid date `{}`", escape(text));
        Err(self.error(&raw.span(), message, "write it as 2024-05-31T12:00:00Z"))
    }

    /// The name of a branch or tag, of those that need no quoting anywhere.
    fn reference(&self, raw: &Spanned<String>) -> Read<String> {
        let name = raw.get_ref();
        let is_part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric())
                && !part.contains("..")
                && !part.ends_with('.')
                && !part.to_ascii_lowercase().ends_with(".lock")
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        if name.len() <= 200 && name != "HEAD" && name.split('/').all(is_part) {
            return Ok(name.clone());
        }
        let message = format!("invalid name of a branch or tag: `{}`", escape(name));
        Err(self.error(&raw.span(), message, "use letters, digits, `-`, `_`, `.` and `/`"))
    }
}

/// A relative path that stays where it is, without control characters.
fn plain_path(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    // A name that begins with a dash would be an option of the programs that write it.
    if path.is_absolute() || name.starts_with('-') || name.chars().any(char::is_control) {
        return None;
    }
    let is_plain = |part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir);
    let path = path.components().all(is_plain).then(|| tree::normalize(path)).flatten()?;
    // Git would take it for a repository's own files.
    let is_git = path.iter().any(|part| part.eq_ignore_ascii_case(".git"));
    (!path.as_os_str().is_empty() && !is_git).then_some(path)
}
