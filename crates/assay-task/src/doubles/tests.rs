use std::fs;
use std::path::Path;

use super::{Doubles, read};
use crate::TaskError;

fn parse(text: &str) -> Result<Doubles, TaskError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("doubles.toml"), format!("schema = \"assay.doubles/1\"\n{text}")).unwrap();
    fs::create_dir(folder.path().join("doubles")).unwrap();
    fs::write(folder.path().join("doubles/orders.json"), "[1, 2]\n").unwrap();
    for name in ["merged.txt", "shop.sql", "price.py"] {
        fs::write(folder.path().join("doubles").join(name), "1\n").unwrap();
    }
    fs::write(folder.path().join("doubles/binary"), b"\xff\xfe\x00").unwrap();
    read(folder.path()).map(Option::unwrap)
}

const WHOLE: &str = r#"
[user]
persona = "A release manager"
otherwise = "I do not know."
[[user.answers]]
question = "which (branch|version)"
answer = "2.4"
times = 1
when = { asked = "" }
set = { asked = "yes" }

[[commands]]
name = "gh"
[[commands.calls]]
args = 'pr list( --state open)?'
stdout = { file = "orders.json" }
[[commands.calls]]
args = 'pr create .*'
stdin = "title"
stderr = "created\n"
status = 3
files = { "out/pr.txt" = "7\n" }

[[http]]
port = 8080
[[http.routes]]
method = "POST"
path = '/orders(\?.*)?'
request = '"quantity": *\d+'
status = 201
headers = { Content-Type = "application/json" }
body = '{"id": 7}'

[[mcp]]
name = "tracker"
[[mcp.tools]]
name = "find_issue"
description = "Finds an issue."
input_schema = { type = "object", properties = { id = { type = "integer" } }, required = ["id"] }
[[mcp.tools.results]]
arguments = { id = "7" }
text = "Issue 7"

[[sqlite]]
path = "data/shop.db"
sql = "CREATE TABLE t (a);"

[[git]]
path = "."
author = "A <a@example.com>"
[[git.commits]]
message = "First"
files = { "a.txt" = "1\n" }
tag = "v1"
[[git.commits]]
branch = "topic/x"
from = "v1"
message = "Second"
date = "2024-05-01T12:00:00Z"
delete = ["a.txt"]
[git.uncommitted]
files = { "b.txt" = "2\n" }
staged = true
"#;

#[test]
fn every_double_is_read() {
    let doubles = parse(WHOLE).unwrap();
    assert_eq!(
        doubles.to_string(),
        "1 scripted user, 1 command, 1 HTTP server, 1 MCP server, 1 SQLite database, 1 Git repository"
    );
    assert_eq!(doubles.programs().collect::<Vec<_>>(), ["gh", "ask-user", "mcp-call"]);
    let answer = &doubles.user.as_ref().unwrap().answers[0];
    assert_eq!((answer.scope.line, answer.scope.times), (7, Some(1)));
    assert!(answer.question.matches("Which branch is it?") && !answer.question.matches("Which?"));
    let [list, create] = &doubles.commands[0].calls[..] else { panic!("{doubles:#?}") };
    assert_eq!(list.stdout, "[1, 2]\n");
    assert!(list.args.matches("pr list") && !list.args.matches("pr list --limit 3"));
    assert_eq!((create.status, &create.files["out/pr.txt"]), (3, &"7\n".to_owned()));
    assert!(doubles.commands[0].reads_stdin());
    let route = &doubles.http[0].routes[0];
    assert_eq!((route.status, &route.headers["content-type"]), (201, &"application/json".to_owned()));
    assert_eq!(doubles.mcp[0].tools[0].input_schema["required"][0], "id");
    let git = &doubles.git[0];
    assert_eq!((git.path.as_path(), git.head.as_str()), (Path::new(""), "topic/x"));
    let dates: Vec<&str> = git.commits.iter().map(|commit| commit.date.as_str()).collect();
    assert_eq!(dates, ["2024-01-01T00:00:00Z", "2024-05-01T12:00:00Z"]);
}

#[test]
fn mistakes_have_their_line() {
    let check = |text: &str, line: usize, expected: &str| match parse(text) {
        Err(TaskError::Line { line: found, message, .. }) => {
            assert!(message.contains(expected) && found == line, "{text}\n{found}: {message}");
        }
        other => panic!("{text}\n{other:?}"),
    };
    let command = "[[commands]]\nname = \"gh\"\n[[commands.calls]]\n";
    let route = "[[http]]\nport = 8080\n[[http.routes]]\nmethod = \"GET\"\n";
    let git = "[[git]]\npath = \"r\"\n[[git.commits]]\nmessage = \"m\"\n";
    check("", 1, "declares no test double");
    check("[users]\n", 2, "unknown field `users`");
    check("[user]\nanswer = []\n", 3, "unknown field `answer`");
    check("[user]\n[[user.answers]]\nquestion = '('\nanswer = \"\"\n", 4, "invalid pattern: unclosed group");
    check(&format!("{command}args = 'a)(b'\n"), 5, "invalid pattern");
    check(&format!("{command}args = '(a{{1000}}){{1000}}'\n"), 5, "invalid pattern");
    check(&format!("{command}args = '{}'\n", "a".repeat(5000)), 5, "more than 4096 characters");
    check(&format!("{command}args = ''\ntimes = 0\n"), 5, "never applies");
    check(&format!("{command}args = ''\nstatus = 256\n"), 6, "invalid value");
    check(&format!("{command}args = ''\nstdout = {{ file = \"none\" }}\n"), 6, "cannot read doubles/none");
    check(&format!("{command}args = ''\nstdout = {{ file = \"../x\" }}\n"), 6, "invalid file name");
    check(&format!("{command}args = ''\nstdout = {{ file = \"binary\" }}\n"), 6, "is not UTF-8");
    check(&format!("{command}args = ''\nstdout = 3\n"), 6, "expected a string");
    check(&format!("{command}args = ''\nfiles = {{ \"/etc/x\" = \"\" }}\n"), 6, "invalid path `/etc/x`");
    check("[[commands]]\nname = \"sh\"\n", 3, "cannot be replaced");
    check("[[commands]]\nname = \"a/b\"\n", 3, "invalid name of command");
    check("[[commands]]\nname = \"a\"\n[[commands]]\nname = \"a\"\n", 5, "two commands are called `a`");
    check("[[http]]\nport = 80\n", 3, "port 80 cannot be used");
    check("[[http]]\nport = 8790\n", 3, "port 8790 cannot be used");
    check("[[http]]\nport = 8080\n[[http]]\nport = 8080\n", 5, "two HTTP servers have the port 8080");
    check(&format!("{route}path = '/'\nstatus = 100\n"), 7, "invalid status 100");
    check(&format!("{route}path = '/'\nheaders = {{ Connection = \"close\" }}\n"), 7, "cannot be set");
    check("[[mcp]]\nname = \"a b\"\n", 3, "invalid name of MCP server");
    check("[[mcp]]\nname = \"a\"\n[[mcp.tools]]\nname = \"t\"\n", 5, "has no results");
    let database = "[[postgresql]]\ndatabase = \"a\"\nsql = \"\"\n";
    check(
        "[[postgresql]]\ndatabase = \"postgres\"\nsql = \"\"\n",
        3,
        "cannot be the name of a database or its user",
    );
    check("[[postgresql]]\ndatabase = \"a; DROP\"\nsql = \"\"\n", 3, "cannot be the name of a database");
    check(&format!("{database}user = \"assay\"\n"), 5, "cannot be the name of a database or its user");
    check(&format!("{database}port = 80\n"), 5, "port 80 cannot be used, or is used twice");
    check(&format!("{database}{database}"), 6, "two databases are called `a`");
    check(&format!("{database}[[http]]\nport = 5432\n"), 3, "port 5432 cannot be used, or is used twice");
    check("[[sqlite]]\npath = \"../x\"\nsql = \"\"\n", 3, "invalid path `../x`");
    check("[[git]]\npath = \"r\"\ncommits = []\n", 4, "without commits");
    check(&format!("{git}branch = \"-x\"\n"), 6, "invalid name of a branch");
    check(&format!("{git}from = \"v9\"\n"), 6, "no earlier commit is on the branch or tag `v9`");
    check(&format!("{git}date = \"yesterday\"\n"), 6, "invalid date");
    check(&format!("{git}author = \"A\"\n"), 6, "invalid author");
    check(&format!("{git}files = {{ \".git/config\" = \"\" }}\n"), 6, "invalid path `.git/config`");
}

/// The examples of the documentation are read.
#[test]
fn documented_examples_are_valid() {
    let page = include_str!("../../../../docs/TASKS.md");
    let section = page.split("\n## ").find(|section| section.starts_with("Test doubles")).unwrap();
    let is_toml = |line: &&str| line.starts_with("    ") && !line.starts_with("    assay ");
    let text: String =
        section.lines().filter(is_toml).map(|line| format!("{}\n", line.trim_start())).collect();
    let doubles = parse(&text).unwrap();
    assert_eq!(
        doubles.to_string(),
        "1 scripted user, 1 command, 1 HTTP server, 1 MCP server, 1 PostgreSQL database, 1 SQLite database, 1 Git repository"
    );
}
