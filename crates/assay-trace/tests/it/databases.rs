//! OpenCode's database: what is read from its rows, and that nothing in a file can hang the reader,
//! make it run code, or make it write.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use assay_trace::read::{self, Transcript};
use assay_trace::{OfferedSkill, exposure, stats_of};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The tables as version 1.18 makes them, without the columns that are not read.
const SCHEMA: &str = "
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, title text NOT NULL,
        version text NOT NULL, time_created integer NOT NULL);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, data text NOT NULL);
    CREATE TABLE project (id text PRIMARY KEY);";

/// A session: its id, its parent, and when it began.
pub(crate) type Row<'r> = (&'r str, Option<&'r str>, i64);

/// A message: its id, its session, its content, and its parts with their ids.
pub(crate) type Said<'r> = (&'r str, &'r str, Value, Vec<(&'r str, Value)>);

fn insert(database: &Connection, sessions: &[Row<'_>], messages: &[Said<'_>]) {
    for (id, parent, created) in sessions {
        let sql = "INSERT INTO session VALUES (?1, 'p', ?2, 'A title', '1.18.0', ?3)";
        database.execute(sql, (id, parent, created)).unwrap();
    }
    for (id, session, data, parts) in messages {
        let created = data["time"]["created"].as_i64();
        let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?4)";
        database.execute(sql, (id, session, created, data.to_string())).unwrap();
        for (part, data) in parts {
            let sql = "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?5)";
            database.execute(sql, (part, id, session, created, data.to_string())).unwrap();
        }
    }
}

/// A database as bytes.
pub(crate) fn file(sessions: &[Row<'_>], messages: &[Said<'_>]) -> Vec<u8> {
    let lab = DatabaseLab::new();
    fs::read(lab.database(SCHEMA, sessions, messages)).unwrap()
}

struct DatabaseLab(TempDir);

impl DatabaseLab {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn database(&self, schema: &str, sessions: &[Row<'_>], messages: &[Said<'_>]) -> PathBuf {
        let path = self.at("opencode.db");
        let _ = fs::remove_file(&path);
        let database = Connection::open(&path).unwrap();
        database.execute_batch(schema).unwrap();
        insert(&database, sessions, messages);
        path
    }

    /// Each file with its content.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

fn all(path: &Path) -> Vec<Transcript> {
    let source = read::Input::of(path);
    let found = read::read_all(&source, None).unwrap();
    for one in &found {
        assert_eq!(one.format, "opencode-database");
    }
    found
}

fn refused(path: &Path) -> String {
    let error = read::read_all(&read::Input::of(path), None).unwrap_err();
    error.to_string()
}

fn user(created: i64) -> Value {
    json!({ "role": "user", "time": { "created": created } })
}

fn agent(created: i64) -> Value {
    json!({ "role": "assistant", "time": { "created": created }, "providerID": "p", "modelID": "m" })
}

fn said(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn used(input: u64, output: u64) -> Value {
    json!({ "type": "step-finish", "cost": 0.5, "tokens": { "input": input, "output": output, "reasoning": 3,
        "cache": { "read": 7, "write": 2 } } })
}

fn called(tool: &str, id: &str, input: &Value, output: &str, exit: i64) -> Value {
    json!({ "type": "tool", "tool": tool, "callID": id,
        "state": { "status": "completed", "input": input, "output": output, "metadata": { "exit": exit } } })
}

fn one_session() -> Vec<Said<'static>> {
    let failed = json!({ "type": "tool", "tool": "write", "callID": "c3",
        "state": { "status": "error", "input": { "filePath": "/x" }, "error": "no such folder" } });
    vec![
        ("m1", "s", user(1_000), vec![("p1", said("Fix it."))]),
        (
            "m2",
            "s",
            agent(2_000),
            vec![
                ("p2", json!({ "type": "reasoning", "text": "Hm." })),
                ("p3", said("Look.")),
                ("p4", called("bash", "c1", &json!({ "command": "ls" }), "a.py", 0)),
                ("p5", called("bash", "c2", &json!({ "command": "false" }), "", 1)),
                ("p6", failed),
                ("p7", used(10, 20)),
            ],
        ),
        ("m3", "s", agent(3_000), vec![("p8", said("Done.")), ("p9", used(100, 30))]),
    ]
}

/// What `opencode export` writes of a session.
fn export(messages: &[Said<'_>]) -> String {
    let messages: Vec<Value> = messages
        .iter()
        .map(|(id, session, data, parts)| {
            let with = |value: &Value, id: &str| {
                let mut value = value.clone();
                (value["id"], value["sessionID"]) = (id.into(), (*session).into());
                value
            };
            let parts: Vec<Value> = parts.iter().map(|(id, part)| with(part, id)).collect();
            json!({ "info": with(data, id), "parts": parts })
        })
        .collect();
    json!({ "info": { "id": messages[0]["info"]["sessionID"], "projectID": "p", "version": "1.18.0" }, "messages": messages })
        .to_string()
}

#[test]
fn session_of_the_database_is_that_of_its_export() {
    let lab = DatabaseLab::new();
    let path = lab.database(SCHEMA, &[("s", None, 500)], &one_session());
    let before = lab.files();
    let exported = read::read_from(export(&one_session()).as_bytes(), "it", None).unwrap();
    assert_eq!(exported.format, "opencode");
    let [found] = all(&path).try_into().unwrap();
    assert_eq!(found.diagnostics, []);
    assert_eq!(found.trajectory, exported.trajectory);
    assert_eq!((found.tally, found.times, found.hidden), (exported.tally, exported.times, exported.hidden));
    assert_eq!(lab.files(), before);

    // From a pipe, and compressed.
    let bytes = fs::read(&path).unwrap();
    let piped = read::read_from(bytes.as_slice(), "it", None).unwrap();
    assert_eq!(piped.trajectory, exported.trajectory);
    let packed = lab.at("opencode.db.zst");
    fs::write(&packed, zstd::encode_all(bytes.as_slice(), 1).unwrap()).unwrap();
    assert_eq!(all(&packed)[0].trajectory, exported.trajectory);

    // The order of rows in the file does not matter, and ids of parts decide within a message.
    let mut messages = one_session();
    messages.reverse();
    messages[1].3.reverse();
    let path = lab.database(SCHEMA, &[("s", None, 500)], &messages);
    assert_eq!(all(&path)[0].trajectory, exported.trajectory);

    // Versions differ in their columns.
    let old = "CREATE TABLE session (id, parent_id, x, y, version, z); CREATE TABLE message (id, session_id, t, data);
        CREATE TABLE part (id, message_id, a, b, data)";
    let path = lab.database(old, &[("s", None, 500)], &one_session());
    assert_eq!(all(&path)[0].trajectory, exported.trajectory);
}

#[test]
fn sessions_are_apart_and_sub_agents_belong_to_theirs() {
    let lab = DatabaseLab::new();
    let call = called("task", "c1", &json!({ "prompt": "look around" }), "seen", 0);
    let messages = [
        ("m1", "late", user(9_000), vec![("p1", said("Later."))]),
        ("m2", "early", user(1_000), vec![("p2", said("Do it."))]),
        ("m3", "early", agent(2_000), vec![("p3", call), ("p4", used(10, 20))]),
        ("m4", "sub", user(2_100), vec![("p5", said("look around"))]),
        ("m5", "sub", agent(2_200), vec![("p6", said("seen")), ("p7", used(100, 30))]),
        ("m6", "subsub", agent(2_300), vec![("p8", said("deep")), ("p9", used(1_000, 40))]),
        ("m7", "nowhere", user(9_500), vec![("p10", said("A session without a row."))]),
    ];
    let sessions = [
        ("late", None, 8_900),
        ("subsub", Some("sub"), 2_250),
        ("sub", Some("early"), 2_050),
        ("early", None, 900),
    ];
    let path = lab.database(SCHEMA, &sessions, &messages);
    let found = all(&path);
    let ids: Vec<_> = found.iter().map(|one| one.trajectory.session_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["early", "late", "nowhere"]);
    let [early, ..] = found.as_slice() else { panic!("three sessions") };
    assert_eq!(early.trajectory.steps.len(), 2);
    let inner: Vec<_> = early
        .trajectory
        .subagent_trajectories
        .iter()
        .map(|one| (one.trajectory_id.as_deref().unwrap(), one.steps.len()))
        .collect();
    assert_eq!(inner, [("sub", 2), ("subsub", 1)]);
    let tied = &early.trajectory.steps[1].result_of("c1").unwrap().subagent_trajectory_ref;
    assert_eq!(tied[0].trajectory_id.as_deref(), Some("sub"));
    // 10 + 100 + 1000, and 20 + 30 + 40 with 3 tokens of reasoning each.
    let usage = early.tally.usage;
    assert_eq!((usage.input, usage.output, usage.cache_read, usage.cache_write), (1_110, 99, 21, 6));
    let counted = stats_of(&read::Input::of(&path), None, &[]).unwrap();
    let counted: Vec<_> =
        counted.iter().map(|one| (one.part, one.steps, one.calls, one.sub_agents)).collect();
    assert_eq!(counted, [(Some((1, 3)), 2, 1, 2), (Some((2, 3)), 1, 0, 0), (Some((3, 3)), 1, 0, 0)]);

    // Parents in a circle, and one that is missing.
    let circle = [("a", Some("b"), 1), ("b", Some("a"), 2), ("c", Some("c"), 3), ("d", Some("gone"), 4)];
    let found = all(&lab.database(SCHEMA, &circle, &[]));
    let ids: Vec<_> = found.iter().map(|one| one.trajectory.session_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["a", "c", "d"]);
}

#[test]
fn messages_that_a_fork_copied_count_once() {
    let lab = DatabaseLab::new();
    let reply = |text| vec![("", said(text)), ("", used(10, 20))];
    let parts = |ids: [&'static str; 2], text| {
        ids.into_iter().zip(reply(text)).map(|(id, (_, part))| (id, part)).collect::<Vec<_>>()
    };
    let messages = [
        ("m1", "origin", user(1_000), vec![("p1", said("Do it."))]),
        ("m2", "origin", agent(2_000), parts(["p2", "p3"], "Done.")),
        // The copies have new ids and their old times.
        ("m3", "fork", user(1_000), vec![("p4", said("Do it."))]),
        ("m4", "fork", agent(2_000), parts(["p5", "p6"], "Done.")),
        ("m5", "fork", user(6_000), vec![("p7", said("More."))]),
        ("m6", "fork", agent(7_000), parts(["p8", "p9"], "More.")),
        // A fork whose origin was deleted keeps what it has.
        ("m7", "orphan", agent(400), parts(["q1", "q2"], "Alone.")),
    ];
    let sessions = [("origin", None, 900), ("fork", None, 5_000), ("orphan", None, 8_000)];
    let found = all(&lab.database(SCHEMA, &sessions, &messages));
    let facts: Vec<_> = found
        .iter()
        .map(|one| {
            let messages: Vec<_> = one.trajectory.steps.iter().map(|step| step.message.as_str()).collect();
            (messages, one.tally.usage.input)
        })
        .collect();
    let inherited = "inherited: 2 records of session origin, which count there";
    assert_eq!(
        facts,
        [(vec!["Do it.", "Done."], 10), (vec![inherited, "More.", "More."], 10), (vec!["Alone."], 10)]
    );
}

#[test]
fn opened_skill_is_visible() {
    let lab = DatabaseLab::new();
    let body = "Each report ends with the word that this page names, in small letters.\n\
                No other word is written after it, and no full stop ends the report.";
    let shown = format!("<skill_content name=\"agreed-word\">\n{body}\n</skill_content>");
    let messages = [
        ("m1", "s", user(1_000), vec![("p1", said("Report."))]),
        (
            "m2",
            "s",
            agent(2_000),
            vec![("p2", called("skill", "c", &json!({ "name": "agreed-word" }), &shown, 0))],
        ),
    ];
    let found = all(&lab.database(SCHEMA, &[("s", None, 900)], &messages)).remove(0);
    let skill =
        OfferedSkill { name: "agreed-word", description: "Says a word.", body, mount: "", files: &[] };
    let seen = exposure(&found.trajectory, &[skill]).remove(0);
    assert_eq!((seen.advertised, seen.mentioned, seen.opened), (None, Some(2), Some(2)));
    // The listing of skills is in no row.
    assert!(found.hidden.listing);
}

#[test]
fn changes_in_the_log_beside_it_are_read_and_nothing_is_written() {
    let lab = DatabaseLab::new();
    let path = lab.at("opencode.db");
    let database = Connection::open(&path).unwrap();
    database.pragma_update(None, "journal_mode", "WAL").unwrap();
    database.execute_batch(SCHEMA).unwrap();
    insert(&database, &[("s", None, 500)], &one_session());
    // While it is open, and all of it is still in the log.
    assert_eq!(all(&path)[0].trajectory.steps.len(), 3);
    // The files of a process that was killed.
    let left = DatabaseLab::new();
    for name in ["opencode.db", "opencode.db-wal"] {
        fs::copy(lab.at(name), left.at(name)).unwrap();
    }
    assert!(fs::metadata(left.at("opencode.db-wal")).unwrap().len() > 0);
    let before = left.files();
    let found = all(&left.at("opencode.db"));
    assert_eq!((found.len(), found[0].trajectory.steps.len()), (1, 3));
    let folder = read::sources(&[left.0.path().to_path_buf()]);
    assert_eq!((folder.list.len(), folder.skipped), (1, 0));
    assert_eq!(left.files(), before);
    // A log that ends in the middle of a transaction: what was committed before is read.
    let log = fs::read(left.at("opencode.db-wal")).unwrap();
    fs::write(left.at("opencode.db-wal"), &log[..log.len() - 100]).unwrap();
    assert_eq!(all(&left.at("opencode.db")).len(), 1);
    // An unfinished transaction of the other kind has to be undone, which would be writing.
    fs::remove_file(left.at("opencode.db-wal")).unwrap();
    fs::write(left.at("opencode.db-journal"), b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 and more").unwrap();
    let error = refused(&left.at("opencode.db"));
    assert!(error.contains("a transaction was not finished"), "{error}");
}

#[test]
fn hostile_database_is_refused_and_runs_nothing() {
    let lab = DatabaseLab::new();
    let check = |schema: &str, expected: &str| {
        let path = lab.at("hostile.db");
        let _ = fs::remove_file(&path);
        let database = Connection::open(&path).unwrap();
        database.execute_batch(schema).unwrap();
        drop(database);
        let error = refused(&path);
        let name = path.display();
        assert_eq!(
            error,
            format!("{name} is an SQLite database that cannot be read: {expected}"),
            "{schema}"
        );
    };
    let tables = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("CREATE TABLE {name} (id, session_id, message_id, data);"))
            .collect::<String>()
    };
    let foreign = |missing: &str| format!("only OpenCode's databases are read, and it has no {missing}");
    check("CREATE TABLE x (id)", &foreign("tables `session`, `message`, `part`"));
    check(&tables(&["session", "message"]), &foreign("table `part`"));
    check(&tables(&["session", "message", "part"]), "it has no sessions");
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS message_id, i AS data FROM n";
    // A view is no table, so it is never read.
    check(&(tables(&["session", "message"]) + "CREATE VIEW part AS " + endless), &foreign("table `part`"));
    let lacking = "CREATE TABLE session (id); CREATE TABLE message (id, session_id); CREATE TABLE part (id, message_id, data)";
    check(lacking, "its table `message` has no column `data`");
    let without = "CREATE TABLE session (id); CREATE TABLE message (id, session_id, data); INSERT INTO session VALUES ('s');
        CREATE TABLE part (id PRIMARY KEY, message_id, data) WITHOUT ROWID";
    let path = lab.at("hostile.db");
    let _ = fs::remove_file(&path);
    Connection::open(&path).unwrap().execute_batch(without).unwrap();
    let error = refused(&path);
    assert!(error.contains("no such column: rowid"), "{error}");
    // If the format is named, the table is.
    let _ = fs::remove_file(&path);
    Connection::open(&path).unwrap().execute_batch(&tables(&["session", "part"])).unwrap();
    let reader = read::reader("opencode-database").ok();
    let error = read::read(&path, reader).unwrap_err().to_string();
    assert!(error.ends_with("it has no table `message`"), "{error}");
    let error = read::read(&path, read::reader("codex").ok()).unwrap_err().to_string();
    assert!(error.ends_with("is not in the codex format"), "{error}");
}

#[test]
fn damaged_rows_are_reported_and_the_rest_is_read() {
    let lab = DatabaseLab::new();
    let path = lab.database(SCHEMA, &[("s", None, 500)], &one_session());
    let database = Connection::open(&path).unwrap();
    for sql in [
        "UPDATE part SET data = '{\"type\": \"text\"' WHERE id = 'p3'",
        "UPDATE part SET data = '[1]' WHERE id = 'p2'",
        "UPDATE part SET data = zeroblob(33554433) WHERE id = 'p8'",
        "UPDATE part SET message_id = 'gone' WHERE id = 'p5'",
    ] {
        assert_eq!(database.execute(sql, []).unwrap(), 1);
    }
    drop(database);
    let found = all(&path).remove(0);
    let mut codes: Vec<_> = found.diagnostics.iter().map(|one| (one.code, one.count)).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [("invalid-json", 1), ("line-too-long", 1), ("unexpected-shape", 1), ("unknown-record", 1)]
    );
    let messages: Vec<_> = found.trajectory.steps.iter().map(|step| step.message.as_str()).collect();
    assert_eq!(messages, ["Fix it.", "", ""]);
    assert_eq!(found.tally.usage.input, 110);
}

#[test]
fn database_with_damaged_pages_is_named_with_its_damage() {
    let lab = DatabaseLab::new();
    let path = lab.database(SCHEMA, &[("s", None, 500)], &one_session());
    let whole = fs::read(&path).unwrap();
    let check = |bytes: &[u8], expected: &str| {
        let path = lab.at("damaged.db");
        fs::write(&path, bytes).unwrap();
        let error = refused(&path);
        assert!(
            error.contains("damaged.db is an SQLite database that cannot be read: it is damaged"),
            "{error}"
        );
        assert!(error.contains(expected), "{error}");
    };
    check(&whole[..whole.len() / 2], "malformed");
    check(&whole[..100], "");
    let mut torn = whole.clone();
    torn[4096..].fill(0xa5);
    check(&torn, "malformed");
}

#[test]
fn databases_of_a_folder_are_found_and_those_of_other_programs_are_not() {
    let lab = DatabaseLab::new();
    lab.database(SCHEMA, &[("s", None, 500)], &one_session());
    let other = |name: &str, schema: &str| {
        Connection::open(lab.at(name)).unwrap().execute_batch(schema).unwrap();
        lab.at(name)
    };
    other("history.db", "CREATE TABLE urls (id)");
    fs::File::create(lab.at("empty.db")).unwrap().write_all(b"").unwrap();
    let found = read::sources(&[lab.0.path().to_path_buf()]);
    let names: Vec<_> = found.list.iter().map(|one| one.path.clone()).collect();
    assert_eq!((names, found.skipped), (vec![lab.at("opencode.db")], 2));
    // Those of agents that cannot be read are refused by name.
    let check = |name: &str, schema: &str, expected: &str| {
        let path = other(name, schema);
        let error = refused(&path);
        assert!(error.contains(expected) && error.contains("--from atif"), "{error}");
        assert_eq!(read::sources(&[lab.0.path().to_path_buf()]).list.len(), 2, "{name}");
        fs::remove_file(path).unwrap();
    };
    check(
        "state.db",
        "CREATE TABLE ItemTable (key); CREATE TABLE cursorDiskKV (key)",
        "a database of Cursor",
    );
    check("store.db", "CREATE TABLE blobs (id); CREATE TABLE meta (key)", "a database of Cursor");
    check("a.db", "CREATE TABLE steps (idx); CREATE TABLE trajectory_meta (x)", "a database of Antigravity");
}
