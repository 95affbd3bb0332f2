//! Test doubles of tasks: what they answer, what is recorded, and the examples with two agents.

use serde_json::{Value, json};

use crate::agents;
use crate::docs::with_examples;
use crate::fixture::{Fixture, attempt, needs_bubblewrap, read_json};

const BUBBLEWRAP: &str = "{ kind = \"bubblewrap\" }";
const DOCKER: &str = "{ kind = \"docker\", images = { \"*\" = \"base:bookworm\" } }";

/// One of each double that answers calls, with state.
const DOUBLES: &str = r#"schema = "assay.doubles/1"

[user]
persona = "An accountant"
otherwise = "I do not know."
[[user.answers]]
question = "which word"
answer = "The word is right."

[[commands]]
name = "deploy"
[[commands.calls]]
args = "status"
when = { deployed = "yes" }
stdout = "running\n"
[[commands.calls]]
args = "status"
stdout = "stopped\n"
[[commands.calls]]
args = "start --env (test|live)"
times = 1
set = { deployed = "yes" }
stderr = "started\n"
files = { "out/deployed.txt" = "live\n" }
[[commands.calls]]
args = "apply"
stdin = "replicas: *2"
stdout = "applied\n"
[[commands.calls]]
args = "fail"
status = 3

[[http]]
port = 8080
[[http.routes]]
method = "GET"
path = '/state'
when = { deployed = "yes" }
headers = { x-state = "on" }
body = "on"
[[http.routes]]
method = "GET"
path = '/state'
status = 404
body = "off"
"#;

/// What an agent does, one line for each call, and what it sees.
const CALLS: [(&str, &str); 16] = [
    ("ask-user 'Which word is it?'", "The word is right.\n0"),
    ("ask-user What else", "I do not know.\n0"),
    ("deploy status", "stopped\n0"),
    ("fetch http://127.0.0.1:8080/state", "404 off\n0"),
    ("deploy start --env live 2>&1", "started\n0"),
    ("cat out/deployed.txt", "live\n0"),
    ("deploy status", "running\n0"),
    ("fetch http://127.0.0.1:8080/state", "200 on\n0"),
    ("echo 'replicas: 2' | deploy apply", "applied\n0"),
    ("deploy fail", "3"),
    // Unknown calls: another argument, the second time, other input, another path and method.
    ("deploy start --env other 2>&1", "deploy: no canned output for these arguments: start --env other\n64"),
    ("deploy start --env live 2>&1", "deploy: no canned output for these arguments: start --env live\n64"),
    ("echo 'replicas: 3' | deploy apply 2>&1", "deploy: no canned output for these arguments: apply\n64"),
    ("fetch http://127.0.0.1:8080/other", "501 no canned reply to this request: GET /other\n0"),
    // A login shell sets `PATH` anew.
    ("bash -lc 'deploy status'", "running\n0"),
    ("env PATH=/usr/bin:/bin sh -c 'command -v deploy'", "127"),
];

/// A script of all calls, which writes what it saw.
fn script() -> String {
    let fetch = "fetch() { python3 -c 'import sys, urllib.request, urllib.error\ntry: r = urllib.request.urlopen(sys.argv[1])\n\
                 except urllib.error.HTTPError as e: r = e\nprint(r.status, r.read().decode().strip())' \"$1\"; }\n";
    let calls: String = CALLS.iter().map(|(call, _)| format!("{call}; echo $?\n")).collect();
    format!("{fetch}({calls}) > seen.txt\ncp seen.txt answer.txt\n")
}

fn expected() -> String {
    CALLS.iter().map(|(_, seen)| format!("{seen}\n")).collect()
}

/// A task whose agent makes every call, once with the built-in loop.
fn calls(sandbox: &str, dockerfile: &str) -> Fixture {
    let lab = Fixture::new()
        .task("t1", |task| {
            task.dockerfile(dockerfile)
                .test_sh("cat /logs/doubles.jsonl; cp /app/seen.txt /logs/verifier/; reward 1\n")
        })
        .file("tasks/t1/doubles.toml", DOUBLES)
        .script(&[json!({ "turn": 0, "run": script() })]);
    experiment(&lab, sandbox, "none");
    lab
}

/// One trial of the built-in loop.
fn experiment(lab: &Fixture, sandbox: &str, network: &str) {
    lab.write(
        "experiment.toml",
        format!(
            "schema = \"assay.experiment/1\"\nname = \"lab\"\nsuite = [\"tasks/*\"]\nconditions = [\"none\"]\nrepetitions = 1\n\
             sandbox = {sandbox}\nnetwork = \"{network}\"\n[[agents]]\nname = \"loop\"\nmodel = \"scripted:turns.jsonl\"\ntimeout = 240\n"
        ),
    );
}

/// Runs it, and returns its record with the trial's folder.
fn run(lab: &Fixture) -> Value {
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["executed"]), (0, &json!(1)), "{document:#}");
    let [folder] = &lab.trials()[..] else { panic!("{:?}", lab.trials()) };
    let mut record = read_json(&folder.join("record.json")).unwrap();
    record["folder"] = json!(folder);
    assert_eq!(record["outcome"], "passed", "{record:#}");
    record
}

fn check_calls(lab: &Fixture) {
    let record = run(lab);
    let seen = std::fs::read_to_string(attempt(&record, "verifier/seen.txt")).unwrap();
    assert_eq!(seen, expected());
    let log = std::fs::read_to_string(attempt(&record, "doubles.jsonl")).unwrap();
    let verifiers = std::fs::read_to_string(attempt(&record, "verifier/test-stdout.txt")).unwrap();
    assert_eq!(log, verifiers);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let unknown: Vec<&Value> = lines.iter().filter(|line| line["known"] == false).collect();
    assert_eq!((lines.len(), unknown.len()), (14, 4), "{log}");
    assert_eq!(unknown[0]["request"], json!({ "args": ["start", "--env", "other"], "stdin": "" }));
    assert_eq!(unknown[3]["request"]["target"], "/other");
    assert_eq!((&lines[1]["rule"], &lines[2]["rule"]), (&json!("otherwise"), &json!(17)), "{log}");
    let numbers = &record["numbers"];
    assert_eq!(
        (&numbers["doubles_calls"], &numbers["doubles_unknown_calls"]),
        (&json!(14.0), &json!(4.0)),
        "{record:#}"
    );
    let warning = record["warnings"][0].as_str().unwrap();
    assert_eq!(warning, "4 calls to the task's test doubles matched no rule (doubles.jsonl)");
    let trajectory = std::fs::read_to_string(attempt(&record, "trajectory.json")).unwrap();
    assert!(trajectory.contains("You can ask the user with the command `ask-user"), "{trajectory}");
    assert_eq!(record["outside"], Value::Null, "{record:#}");
}

#[test]
fn calls_are_answered_and_recorded_in_bubblewrap() {
    needs_bubblewrap!();
    check_calls(&calls(BUBBLEWRAP, "FROM debian:12-slim\nWORKDIR /app\n"));
}

#[test]
#[ignore = "needs Docker"]
fn calls_are_answered_and_recorded_in_docker() {
    check_calls(&calls(DOCKER, "FROM base:bookworm\nWORKDIR /app\n"));
    // Another user than root, with a program of that name in the image, and a search path of its own.
    let dockerfile = "FROM base:bookworm\nRUN mkdir /app && chown 1234 /app && cp /bin/true /usr/local/bin/deploy\n\
                      ENV PATH=/usr/local/bin:/usr/bin:/bin\nWORKDIR /app\nUSER 1234\n";
    check_calls(&calls(DOCKER, dockerfile));
}

/// What an agent leaves in the place of the verifier's log is removed.
fn check_log(sandbox: &str, dockerfile: &str) {
    for place in [
        "mkdir -p /logs/doubles.jsonl/x",
        "ln -s /app/forged /logs/doubles.jsonl",
        "echo x > /logs/doubles.jsonl",
    ] {
        let lab = Fixture::new()
            .task("t1", |task| {
                task.dockerfile(dockerfile)
                    .test_sh("grep -q '\"args\":\\[\"status\"\\]' /logs/doubles.jsonl && reward 1\n")
            })
            .file("tasks/t1/doubles.toml", DOUBLES)
            .script(&[json!({ "turn": 0, "run": format!("deploy status < /dev/null; {place}") })]);
        experiment(&lab, sandbox, "none");
        let record = run(&lab);
        assert_eq!(record["numbers"]["doubles_calls"], 1.0, "{place}: {record:#}");
    }
}

#[test]
fn the_log_cannot_be_replaced_in_bubblewrap() {
    needs_bubblewrap!();
    check_log(BUBBLEWRAP, "FROM debian:12-slim\nWORKDIR /app\n");
}

#[test]
#[ignore = "needs Docker"]
fn the_log_cannot_be_replaced_in_docker() {
    check_log(DOCKER, "FROM base:bookworm\nWORKDIR /app\n");
}

/// The verifier sees the state of a task's databases and repositories as the agent left it, and an untouched one is no change
/// of the agent's.
fn check_seeds(sandbox: &str, dockerfile: &str) {
    let doubles = r#"schema = "assay.doubles/1"
[[sqlite]]
path = "data/shop.db"
sql = "CREATE TABLE t (a); INSERT INTO t VALUES ('it''s');"
[[git]]
path = "repo"
author = "Kim Example <kim@example.com>"
[[git.commits]]
message = "First 'quoted' $(message)"
files = { "a.txt" = "1\n", "b c/d.txt" = "2\n" }
tag = "v1"
[[git.commits]]
branch = "topic"
message = "Second"
delete = ["a.txt"]
[[git.commits]]
branch = "main"
message = "Third"
files = { "a.txt" = "3\n" }
[git.uncommitted]
files = { "a.txt" = "4\n" }
staged = true
"#;
    let test = "cd /app/repo && g() { git -c safe.directory=/app/repo \"$@\"; }\n\
                g log --all --format='%H %an %ct %s' --date-order; g status --short; g branch --list\n\
                python3 -c \"import sqlite3; print(sqlite3.connect('/app/data/shop.db').execute('SELECT a FROM t').fetchall())\"\n\
                ls -A /app; stat -c %u /app /app/repo /app/repo/.git /app/data/shop.db | uniq\nreward 1\n";
    let lab = Fixture::new()
        .task("t1", |task| task.dockerfile(dockerfile).test_sh(test))
        .file("tasks/t1/doubles.toml", doubles)
        .script(&[json!({ "say": "Done." })]);
    experiment(&lab, sandbox, "none");
    let record = run(&lab);
    assert_eq!(
        (&record["numbers"]["lines_changed"], &record["outside"]),
        (&json!(0.0), &Value::Null),
        "{record:#}"
    );
    let seen = std::fs::read_to_string(attempt(&record, "verifier/test-stdout.txt")).unwrap();
    let lines: Vec<&str> = seen.lines().collect();
    // Commits are the same on every machine.
    let [third, second, first, status, main, topic, rows, data, repo, owner] = lines[..] else {
        panic!("{seen}")
    };
    assert!(third.ends_with("Kim Example 1704074400 Third"), "{seen}");
    assert!(second.ends_with("Second") && first.ends_with("First 'quoted' $(message)"), "{seen}");
    assert!(third.starts_with(THIRD), "{seen}");
    assert_eq!([status, main, topic], ["M  a.txt", "* main", "  topic"], "{seen}");
    assert_eq!([rows, data, repo], ["[(\"it's\",)]", "data", "repo"], "{seen}");
    assert!(!owner.is_empty());
}

/// The id of the last commit.
const THIRD: &str = "0d814eb23a74a70cadd844198f78b95b9ca53f94";

#[test]
fn databases_and_repositories_are_made_in_bubblewrap() {
    needs_bubblewrap!();
    check_seeds(BUBBLEWRAP, "FROM debian:12-slim\nWORKDIR /app\n");
}

#[test]
#[ignore = "needs Docker"]
fn databases_and_repositories_are_made_in_docker() {
    check_seeds(DOCKER, "FROM base:bookworm\nWORKDIR /app\n");
    check_seeds(
        DOCKER,
        "FROM base:bookworm\nRUN mkdir /app && chown 1234:1234 /app\nWORKDIR /app\nUSER 1234\n",
    );
}

/// Each step has its own state and its own log, and the seeds are made once; the record has the sums.
fn check_steps(sandbox: &str, dockerfile: &str) {
    let doubles = "schema = \"assay.doubles/1\"\n[[commands]]\nname = \"deploy\"\n[[commands.calls]]\nargs = 'status'\n\
                   times = 1\nstdout = \"first\\n\"\n[[sqlite]]\npath = \"shop.db\"\nsql = \"CREATE TABLE t (a);\"\n";
    let toml = "version = \"1.0\"\n[[steps]]\nname = \"one\"\n[[steps]]\nname = \"two\"\n";
    let lab = Fixture::new()
        .task("t1", |task| {
            task.toml(toml)
                .dockerfile(dockerfile)
                .file("steps/one/instruction.md", "Step one.\n")
                .file("steps/two/instruction.md", "Step two.\n")
                .test_sh("wc -l < /logs/doubles.jsonl; [ -s shop.db ] && [ ! -e .assay-seed ] && reward 1\n")
        })
        .file("tasks/t1/doubles.toml", doubles)
        .script(&[
            json!({ "turn": 0, "seen": "Step one", "run": "deploy status; deploy status; echo x >> shop.db" }),
            json!({ "turn": 0, "seen": "Step two", "run": "deploy status" }),
        ]);
    experiment(&lab, sandbox, "none");
    let record = run(&lab);
    let numbers = &record["numbers"];
    assert_eq!((&numbers["doubles_calls"], &numbers["doubles_unknown_calls"]), (&json!(3.0), &json!(1.0)));
    for (step, count) in [("one", "2\n"), ("two", "1\n")] {
        let output =
            std::fs::read_to_string(attempt(&record, &format!("steps/{step}/verifier/test-stdout.txt")));
        assert_eq!(output.unwrap(), count, "{step}");
        assert!(attempt(&record, &format!("steps/{step}/doubles.jsonl")).is_file());
    }
}

#[test]
fn steps_have_their_own_calls_in_bubblewrap() {
    needs_bubblewrap!();
    check_steps(BUBBLEWRAP, "FROM debian:12-slim\nWORKDIR /app\n");
}

#[test]
#[ignore = "needs Docker"]
fn steps_have_their_own_calls_in_docker() {
    check_steps(DOCKER, "FROM base:bookworm\nWORKDIR /app\n");
}

#[test]
fn mistakes_are_reported_by_task_check() {
    let lab = Fixture::new().task("t1", |task| task).file(
        "tasks/t1/doubles.toml",
        "schema = \"assay.doubles/1\"\n[[commands]]\nname = \"gh\"\n[[commands.calls]]\nargs = '('\n",
    );
    let ran = lab.assay(&["task", "check", "--static", "tasks/t1"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("doubles.toml:5:8: invalid pattern: unclosed group"), "{}", ran.stdout);
}

/// Without a sandbox, and with the host's network in bubblewrap, they cannot be had.
#[test]
fn unusable_doubles_exclude_a_task() {
    let check = |sandbox: &str, network: &str, expected: &str| {
        let lab = calls(sandbox, "FROM debian:12-slim\nWORKDIR /app\n");
        experiment(&lab, sandbox, network);
        let ran = lab.assay(&["plan", "experiment.toml", "--format", "json", "--allow-unsandboxed"]);
        assert!(ran.stdout.contains(expected), "{sandbox} {network}: {}\n{}", ran.stdout, ran.stderr);
    };
    check("\"none\"", "none", "its test doubles need a sandbox");
    needs_bubblewrap!();
    check(BUBBLEWRAP, "public", "its test doubles listen at ports");
}

/// The examples: with the skill all pass, without it none, for all of these agents.
fn check_examples(lab: &Fixture, experiment: &str, agents: usize) {
    check_examples_of(lab, experiment, 3, agents);
}

fn check_examples_of(lab: &Fixture, experiment: &str, tasks: usize, agents: usize) {
    let ran = lab.assay(&["run", experiment, "--format", "json"]);
    let document = ran.ok().json();
    let counts = (&document["executed"], &document["infrastructure"]);
    assert_eq!(counts, (&json!(2 * tasks * agents), &json!(0)), "{document:#}");
    for arm in document["report"]["arms"].as_array().unwrap() {
        let expected = if arm["condition"] == "curated" { 1.0 } else { 0.0 };
        assert_eq!(arm["pass_rate"], json!(expected), "{arm:#}");
    }
}

/// Without CLI agents: the examples pass `task check`, and the built-in loop runs them.
#[test]
fn the_examples_are_sound_and_run_with_the_loop() {
    needs_bubblewrap!();
    let lab = with_examples();
    let path = "examples/doubles/experiment.toml";
    let text = std::fs::read_to_string(lab.path(path)).unwrap();
    lab.write(path, text.replace("[\"loop\", \"codex\"]", "[\"loop\"]"));
    let tasks = ["release-notes", "restock", "hotfix"].map(|name| format!("examples/doubles/tasks/{name}"));
    let [first, second, third] = &tasks;
    let checked =
        lab.assay(&["task", "check", "--experiment", path, "--format", "json", first, second, third]).ok();
    assert_eq!(checked.json()["summary"]["ok"], 3, "{}", checked.stdout);
    check_examples(&lab, path, 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn the_example_with_a_database_is_sound_and_runs_with_the_loop() {
    needs_bubblewrap!();
    let lab = with_examples();
    let path = "examples/doubles/postgresql.toml";
    let text = std::fs::read_to_string(lab.path(path)).unwrap();
    lab.write(path, text.replace("[\"loop\", \"codex\"]", "[\"loop\"]"));
    let check = ["task", "check", "--experiment", path, "--format", "json", "examples/doubles/postgresql"];
    assert_eq!(lab.assay(&check).ok().json()["summary"]["ok"], 1);
    check_examples_of(&lab, path, 1, 1);
}

#[test]
#[ignore = "needs agents and PostgreSQL"]
fn the_example_with_a_database_runs_with_two_agents() {
    needs_bubblewrap!();
    let lab = with_examples();
    agents::installed(&lab, &["codex"]);
    check_examples_of(&lab, "examples/doubles/postgresql.toml", 1, 2);
}

#[test]
#[ignore = "needs agents"]
fn the_examples_run_with_two_agents_in_bubblewrap() {
    needs_bubblewrap!();
    let lab = with_examples();
    agents::installed(&lab, &["codex"]);
    check_examples(&lab, "examples/doubles/experiment.toml", 2);
}

#[test]
#[ignore = "needs agents and Docker"]
fn the_examples_run_with_two_agents_in_docker() {
    let lab = with_examples();
    agents::installed(&lab, &["codex"]);
    check_examples(&lab, "examples/doubles/docker.toml", 2);
}

/// A client of a few lines, for images without one. Prints the rows of each statement, or the error.
const CLIENT: &str = r#"import socket, struct, sys
s = socket.create_connection(("127.0.0.1", 5432))
def send(kind, body): s.sendall(kind + struct.pack("!i", len(body) + 4) + body)
def read(n):
    data = b""
    while len(data) < n:
        part = s.recv(n - len(data))
        if not part: sys.exit("closed")
        data += part
    return data
def replies():
    while True:
        kind, size = read(1), struct.unpack("!i", read(4))[0]
        body = read(size - 4)
        if kind == b"D":
            at, row = 2, []
            for _ in range(struct.unpack("!h", body[:2])[0]):
                size = struct.unpack("!i", body[at:at + 4])[0]
                row.append(body[at + 4:at + 4 + size].decode() if size >= 0 else "null")
                at += 4 + max(size, 0)
            print("|".join(row))
        if kind == b"E": print("error", [f[1:].decode() for f in body.split(b"\0") if f[:1] == b"M"][0])
        if kind == b"Z": return
user = sys.argv[1]
send(b"", struct.pack("!i", 196608) + f"user\0{user}\0database\0shop\0\0".encode())
replies()
for statement in sys.argv[2:]:
    send(b"Q", statement.encode() + b"\0")
    replies()
"#;

/// A task with a database, whose agent reads and changes it, and tries more than it may.
fn database(sandbox: &str, dockerfile: &str) -> Fixture {
    let doubles =
        "schema = \"assay.doubles/1\"\n[[postgresql]]\ndatabase = \"shop\"\nsql = { file = \"shop.sql\" }\n";
    let statements = [
        "SELECT id, total FROM orders ORDER BY id",
        "UPDATE orders SET total = total * 2 WHERE id = 2",
        "CREATE TABLE notes (note TEXT)",
        "INSERT INTO notes VALUES ('a\nb')",
        "COPY notes TO PROGRAM 'id > /tmp/x'",
        "CREATE ROLE other SUPERUSER",
        "SELECT pg_read_file('/etc/passwd')",
    ];
    let quoted: Vec<String> = statements.iter().map(|one| format!("\"{one}\"")).collect();
    let run = format!(
        "cat > /tmp/client.py <<'END'\n{CLIENT}END\n(python3 /tmp/client.py app {}; python3 /tmp/client.py assay 2>&1) > seen.txt\ncp seen.txt answer.txt\n",
        quoted.join(" ")
    );
    let lab = Fixture::new()
        .task("t1", |task| {
            task.dockerfile(dockerfile).test_sh(
                "cp /app/seen.txt /logs/verifier/; cp /logs/postgresql.json /logs/verifier/; cp /logs/doubles.jsonl /logs/verifier/; reward 1\n",
            )
        })
        .file("tasks/t1/doubles.toml", doubles)
        .file("tasks/t1/doubles/shop.sql", "CREATE TABLE orders (id INTEGER PRIMARY KEY, total NUMERIC);\nINSERT INTO orders VALUES (1, 9.5), (2, 3);\n")
        .script(&[json!({ "turn": 0, "run": run })]);
    experiment(&lab, sandbox, "none");
    lab
}

fn check_database(lab: &Fixture) {
    let record = run(lab);
    let file = |name: &str| std::fs::read_to_string(attempt(&record, name)).unwrap();
    let seen = file("verifier/seen.txt");
    let lines: Vec<&str> = seen.lines().collect();
    assert_eq!(lines[..2], ["1|9.5", "2|3"], "{seen}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("error")).count(), 4, "{seen}");
    assert!(seen.contains("role \"assay\" is not permitted to log in"), "{seen}");
    let tables: Value = serde_json::from_str(&file("verifier/postgresql.json")).unwrap();
    assert_eq!(
        tables["shop"]["orders"],
        json!([{"id": 1, "total": 9.5}, {"id": 2, "total": 6}]),
        "{tables:#}"
    );
    assert_eq!(tables["shop"]["notes"], json!([{"note": "a\nb"}]));
    let log = file("verifier/doubles.jsonl");
    let calls: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(calls.len(), 7, "{log}");
    assert_eq!(calls[1]["request"]["statement"], "UPDATE orders SET total = total * 2 WHERE id = 2");
    assert_eq!(calls[3]["request"]["statement"], "INSERT INTO notes VALUES ('a\nb')");
    assert_eq!((&calls[0]["double"], &calls[0]["name"]), (&json!("postgresql"), &json!("shop")));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_database_is_queried_and_its_tables_reach_the_verifier() {
    needs_bubblewrap!();
    check_database(&database(BUBBLEWRAP, "FROM debian:12-slim\nWORKDIR /app\n"));
}

#[test]
#[ignore = "needs Docker and PostgreSQL"]
fn a_database_is_reached_from_docker() {
    needs_bubblewrap!();
    check_database(&database(DOCKER, "FROM debian:12-slim\nWORKDIR /app\n"));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn statements_that_fail_are_an_error_of_the_task() {
    needs_bubblewrap!();
    let lab = database(BUBBLEWRAP, "FROM debian:12-slim\nWORKDIR /app\n");
    lab.write("tasks/t1/doubles/shop.sql", "SELECT wrong;\n");
    lab.run(&["--no-checks"]);
    let record = read_json(&lab.trials()[0].join("record.json")).unwrap();
    assert_eq!(record["outcome"], "infrastructure", "{record:#}");
    let reason = record["reason"].as_str().unwrap();
    assert!(
        reason.contains("the statements of the database shop fail") && reason.contains("wrong"),
        "{reason}"
    );
}
