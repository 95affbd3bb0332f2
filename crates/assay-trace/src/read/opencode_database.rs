//! OpenCode's database, in which it keeps all sessions of its user since version 1.2: a row for each
//! session, message and part, the latter two with their content as JSON. A row without a parent is a
//! session here; those that it started are its sub-agents.

use std::collections::{BTreeMap, HashMap, HashSet};

use assay_syntax::json::parse_json;
use rusqlite::Statement;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::builder::{Builder, InheritedPrefix, Sink};
use super::database::{DatabaseProblem, Opened, VALUE_CAP};
use super::marks::{Mark, Need};
use super::opencode;
use super::reader::{Decoder, DocumentDecoder, Reader, Shape};
use super::transcript::Streamed;

/// The format's name.
const NAME: &str = "opencode-database";

/// Most rows of each table that are read.
const MOST_ROWS: usize = 5_000_000;

/// Most sessions, each of which is kept until the end.
const MOST_SESSIONS: usize = 100_000;

/// The tables that are read, and the columns that they must have. Versions add others.
const TABLES: [(&str, &[&str]); 3] = [
    ("session", &["id"]),
    ("message", &["id", "session_id", "data"]),
    ("part", &["id", "message_id", "data"]),
];

/// The database.
pub(crate) struct Database;

impl Reader for Database {
    fn name(&self) -> &'static str {
        NAME
    }

    fn marks(&self) -> &'static [Mark] {
        &[&[Need::Table("session"), Need::Table("message"), Need::Table("part")]]
    }

    fn shape(&self) -> Shape {
        Shape::Database
    }

    /// Reads rows that were exported as a document.
    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(DocumentDecoder(opencode::read))
    }
}

/// The tables of OpenCode's that a database lacks.
pub(super) fn missing_tables(database: &Opened) -> Vec<&'static str> {
    let is_missing = |name: &&str| database.tables.iter().all(|table| table != name);
    TABLES.into_iter().map(|(name, _)| name).filter(is_missing).collect()
}

/// A session's row.
struct SessionRow {
    id: String,
    parent: Option<String>,
    version: Option<String>,
    /// In milliseconds since 1970.
    created: i64,
}

/// A message's row, without its content.
struct MessageRow {
    id: String,
    session: usize,
    created: i64,
    row: i64,
}

/// Reads each session, and passes on the steps of one after another.
pub(super) fn read_sessions(
    database: &Opened,
    name: &str,
    sink: &mut dyn Sink,
) -> Result<Vec<Streamed>, DatabaseProblem> {
    for (table, needed) in TABLES {
        let columns = database.columns(table)?;
        if let Some(column) = needed.iter().find(|needed| columns.iter().all(|column| column != *needed)) {
            return Err(DatabaseProblem::NoColumn { table, column });
        }
    }
    let mut sessions = list_sessions(database)?;
    let messages = list_messages(database, &mut sessions)?;
    if sessions.is_empty() {
        return Err(DatabaseProblem::NoSessions);
    }
    let (parts, strays) = list_parts(database, &messages)?;
    let origins = copied_messages(&sessions, &messages);
    let roots = roots_of(&sessions);
    let mut by_root: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for root in &roots {
        by_root.entry(*root).or_default();
    }
    for (at, message) in messages.iter().enumerate() {
        by_root.entry(roots[message.session]).or_default().push(at);
    }
    let mut contents = RowContents::prepare(database)?;
    let mut all = Vec::new();
    for (root, members) in by_root {
        let mut out = Builder::default();
        out.head.hidden.listing = true;
        "opencode".clone_into(&mut out.head.agent.name);
        sessions[root].version.as_deref().unwrap_or_default().clone_into(&mut out.head.agent.version);
        out.head.session_id = Some(sessions[root].id.clone());
        let number = all.len();
        if number == 0 {
            for _ in 0..strays {
                out.note("unknown-record", "a part of a message that the database does not have; skipped");
            }
        }
        let copied = origins.get(&root);
        if let Some((origin, copies)) = copied {
            let session_id = sessions[*origin].id.clone();
            out.mark_inherited(InheritedPrefix { session_id, records: copies.len() });
        }
        for at in members {
            if copied.is_some_and(|(_, copies)| copies.contains(&at)) {
                continue;
            }
            let message = &messages[at];
            let lane = (message.session != root).then(|| sessions[message.session].id.as_str());
            contents.read_message(message, &parts[at], lane, &mut out)?;
            hand_on(&mut out, number, sink);
        }
        out.finish();
        hand_on(&mut out, number, sink);
        let Builder { head, tally, notes, .. } = out;
        all.push(Streamed { format: NAME, head, tally, diagnostics: notes.into_sorted(name) });
    }
    Ok(all)
}

fn hand_on(out: &mut Builder, session: usize, sink: &mut dyn Sink) {
    for (lane, step) in out.ready.drain(..) {
        sink.step(session, lane.as_deref(), step);
    }
}

/// A column, or NULL if this version does not have it.
fn column(columns: &[String], name: &'static str) -> &'static str {
    if columns.iter().any(|column| column == name) { name } else { "NULL" }
}

fn text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Null | ValueRef::Real(_) => None,
    }
}

fn number(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Integer(number) => number,
        _ => 0,
    }
}

/// The sessions in the order in which they began.
fn list_sessions(database: &Opened) -> Result<Vec<SessionRow>, DatabaseProblem> {
    let columns = database.columns("session")?;
    let [parent, version, created] =
        ["parent_id", "version", "time_created"].map(|name| column(&columns, name));
    let sql = format!("SELECT id, {parent}, {version}, {created} FROM session ORDER BY {created}, id");
    let mut statement = database.connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    while let Some(row) = rows.next()? {
        if found.len() == MOST_SESSIONS {
            return Err(DatabaseProblem::TooManyRows { table: "session", most: MOST_SESSIONS });
        }
        let Some(id) = text(row.get_ref(0)?).filter(|id| known.insert(id.clone())) else { continue };
        let (parent, version) = (text(row.get_ref(1)?), text(row.get_ref(2)?));
        found.push(SessionRow { id, parent, version, created: number(row.get_ref(3)?) });
    }
    Ok(found)
}

/// The messages in the order in which they were made. A session that has no row is added.
fn list_messages(
    database: &Opened,
    sessions: &mut Vec<SessionRow>,
) -> Result<Vec<MessageRow>, DatabaseProblem> {
    let columns = database.columns("message")?;
    let created = column(&columns, "time_created");
    let sql = format!("SELECT rowid, id, session_id, {created} FROM message ORDER BY {created}, id");
    let mut places: HashMap<String, usize> =
        sessions.iter().enumerate().map(|(at, session)| (session.id.clone(), at)).collect();
    let mut statement = database.connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if found.len() == MOST_ROWS {
            return Err(DatabaseProblem::TooManyRows { table: "message", most: MOST_ROWS });
        }
        let (id, name) = (text(row.get_ref(1)?), text(row.get_ref(2)?).unwrap_or_default());
        let created = number(row.get_ref(3)?);
        let session = if let Some(at) = places.get(&name) {
            *at
        } else {
            if sessions.len() == MOST_SESSIONS {
                return Err(DatabaseProblem::TooManyRows { table: "session", most: MOST_SESSIONS });
            }
            sessions.push(SessionRow { id: name.clone(), parent: None, version: None, created });
            places.insert(name, sessions.len() - 1);
            sessions.len() - 1
        };
        found.push(MessageRow { id: id.unwrap_or_default(), session, created, row: number(row.get_ref(0)?) });
    }
    Ok(found)
}

/// The rows of each message's parts in their order, and how many parts are of no message.
fn list_parts(database: &Opened, messages: &[MessageRow]) -> Result<(Vec<Vec<i64>>, usize), DatabaseProblem> {
    let places: HashMap<&str, usize> =
        messages.iter().enumerate().map(|(at, message)| (message.id.as_str(), at)).collect();
    let mut statement =
        database.connection.prepare("SELECT rowid, message_id FROM part ORDER BY message_id, id")?;
    let mut rows = statement.query([])?;
    let (mut found, mut strays, mut count) = (vec![Vec::new(); messages.len()], 0, 0);
    while let Some(row) = rows.next()? {
        count += 1;
        if count > MOST_ROWS {
            return Err(DatabaseProblem::TooManyRows { table: "part", most: MOST_ROWS });
        }
        match text(row.get_ref(1)?).and_then(|id| places.get(id.as_str())) {
            Some(at) => found[*at].push(number(row.get_ref(0)?)),
            None => strays += 1,
        }
    }
    Ok((found, strays))
}

/// The session to which each one belongs: itself, or the one that started it and was not started by
/// another.
fn roots_of(sessions: &[SessionRow]) -> Vec<usize> {
    let places: HashMap<&str, usize> =
        sessions.iter().enumerate().map(|(at, session)| (session.id.as_str(), at)).collect();
    let mut roots: Vec<Option<usize>> = vec![None; sessions.len()];
    let mut visited = vec![usize::MAX; sessions.len()];
    for start in 0..sessions.len() {
        let (mut at, mut path) = (start, Vec::new());
        let root = loop {
            if let Some(root) = roots[at] {
                break root;
            }
            // Parents in a circle: the first that is met again stands for all of them.
            if std::mem::replace(&mut visited[at], start) == start {
                break at;
            }
            path.push(at);
            match sessions[at].parent.as_deref().and_then(|parent| places.get(parent)) {
                Some(parent) => at = *parent,
                None => break at,
            }
        };
        for one in path {
            roots[one] = Some(root);
        }
    }
    roots.into_iter().enumerate().map(|(at, root)| root.unwrap_or(at)).collect()
}

/// The messages that a fork has copied, with the session from which it has most of them. A copy gets
/// a new id and keeps its time, which is before that of the fork.
fn copied_messages(
    sessions: &[SessionRow],
    messages: &[MessageRow],
) -> HashMap<usize, (usize, HashSet<usize>)> {
    let mut by_time: HashMap<i64, Vec<usize>> = HashMap::new();
    for message in messages {
        by_time.entry(message.created).or_default().push(message.session);
    }
    let mut copies: HashMap<usize, BTreeMap<usize, HashSet<usize>>> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        let fork = message.session;
        if message.created >= sessions[fork].created {
            continue;
        }
        for &origin in by_time.get(&message.created).into_iter().flatten() {
            let is_earlier = (sessions[origin].created, origin) < (sessions[fork].created, fork);
            if origin != fork && is_earlier && sessions[origin].created <= message.created {
                copies.entry(fork).or_default().entry(origin).or_default().insert(at);
            }
        }
    }
    let most = |found: BTreeMap<usize, HashSet<usize>>| found.into_iter().max_by_key(|(_, at)| at.len());
    copies.into_iter().filter_map(|(fork, found)| Some((fork, most(found)?))).collect()
}

/// Reads what is in the rows.
struct RowContents<'c> {
    messages: Statement<'c>,
    parts: Statement<'c>,
}

impl<'c> RowContents<'c> {
    fn prepare(database: &'c Opened) -> Result<Self, DatabaseProblem> {
        // The length of a value is known without reading it.
        let prepare = |table: &str| {
            let sql = format!(
                "SELECT CASE WHEN octet_length(data) < {VALUE_CAP} THEN data ELSE octet_length(data) END \
                 FROM {table} WHERE rowid = ?1"
            );
            database.connection.prepare(&sql)
        };
        Ok(Self { messages: prepare("message")?, parts: prepare("part")? })
    }

    fn read_message(
        &mut self,
        message: &MessageRow,
        parts: &[i64],
        lane: Option<&str>,
        out: &mut Builder,
    ) -> Result<(), DatabaseProblem> {
        out.bytes = 0;
        let Some(info) = content(&mut self.messages, "message", message.row, out)? else { return Ok(()) };
        let mut read = Vec::new();
        for row in parts {
            read.extend(content(&mut self.parts, "part", *row, out)?);
        }
        opencode::read_message(&info, Some(&message.id), read.into_iter(), lane, out);
        Ok(())
    }
}

/// The JSON in a row; `None`, which is reported, if there is none.
fn content(
    statement: &mut Statement<'_>,
    table: &str,
    row: i64,
    out: &mut Builder,
) -> Result<Option<Value>, DatabaseProblem> {
    let mut rows = statement.query([row])?;
    let Some(found) = rows.next()? else { return Ok(None) };
    let bytes = match found.get_ref(0)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        // In place of the value, its length.
        ValueRef::Integer(length) if usize::try_from(length).is_ok_and(|length| length >= VALUE_CAP) => {
            out.note(
                "line-too-long",
                format!("a row of table {table} has more than {VALUE_CAP} bytes; skipped"),
            );
            return Ok(None);
        }
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => {
            out.note("unexpected-shape", format!("a row of table {table} has no content; skipped"));
            return Ok(None);
        }
    };
    out.bytes += bytes.len();
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        out.note("invalid-utf8", "invalid UTF-8, shown as replacement characters");
    }
    match parse_json::<Value>(text.as_bytes()) {
        Ok(value) if value.is_object() => Ok(Some(value)),
        Ok(_) => {
            out.note("unexpected-shape", format!("a row of table {table} is no JSON object; skipped"));
            Ok(None)
        }
        Err(_) => {
            out.note("invalid-json", format!("a row of table {table} is not JSON; skipped"));
            Ok(None)
        }
    }
}
