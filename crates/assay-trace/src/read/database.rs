//! SQLite databases of unknown origin, opened for reading only. Nothing is written beside them.
//!
//! A plain file is opened in place as one that does not change, so that SQLite makes neither locks
//! nor files. What is still in its write-ahead log, or comes from a pipe or a compressed file, is
//! read from a copy in a temporary folder.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempDir;

/// How a database begins: sqlite.org/fileformat.html, 1.3.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// How the journal of a transaction begins that was not finished: ibidem, 3.
const JOURNAL: &[u8] = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

/// Longer values are passed over, in bytes.
pub(super) const VALUE_CAP: usize = 32 << 20;

/// A larger database is not copied, in bytes, its write-ahead log included.
const COPY_CAP: u64 = 4 << 30;

/// A database that changes while it is copied is copied again, so many times.
const ATTEMPTS: usize = 5;

/// Most steps of SQLite's virtual machine for a database. Reading a row takes some ten of them.
const MOST_STEPS: u64 = 2_000_000_000;

/// After so many of them they are counted.
const STEPS_AT_ONCE: u16 = 10_000;

/// Most bytes of a statement of the schema.
const SQL_CAP: i32 = 1 << 20;

/// Why a database cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseProblem {
    /// It is not as SQLite writes it.
    #[error("it is damaged: {0}")]
    Damaged(rusqlite::Error),
    /// It takes more steps than a database of transcripts.
    #[error("reading it takes more than {MOST_STEPS} steps of SQLite")]
    TooManySteps,
    /// SQLite's own words.
    #[error("{0}")]
    Sqlite(rusqlite::Error),
    /// It, its log or its copy.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is larger than is copied.
    #[error("with its write-ahead log it has more than {}", assay_fs::size(COPY_CAP))]
    TooLarge,
    /// It changed during each attempt.
    #[error("it changes while it is copied; close the program that writes it")]
    Changing,
    /// A transaction has to be undone first.
    #[error("a transaction was not finished ({} is left); open it with its own program first", .0.display())]
    Unfinished(PathBuf),
    /// It is not one of OpenCode's.
    #[error("only OpenCode's databases are read, and it has no {}", tables(.missing))]
    Foreign {
        /// The tables that it lacks.
        missing: Vec<&'static str>,
    },
    /// A table is missing.
    #[error("it has no table `{0}`")]
    NoTable(&'static str),
    /// A column is missing.
    #[error("its table `{table}` has no column `{column}`")]
    NoColumn {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
    /// It has more rows than are read.
    #[error("its table `{table}` has more than {most} rows")]
    TooManyRows {
        /// The table.
        table: &'static str,
        /// Most rows.
        most: usize,
    },
    /// There is no session in it.
    #[error("it has no sessions")]
    NoSessions,
}

impl From<rusqlite::Error> for DatabaseProblem {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Self::TooManySteps,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error),
            _ => Self::Sqlite(error),
        }
    }
}

fn tables(names: &[&str]) -> String {
    let noun = if names.len() == 1 { "table" } else { "tables" };
    format!("{noun} `{}`", names.join("`, `"))
}

/// Whether a file that begins so is a database.
pub(super) fn is_database(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// A database that is open.
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// The tables in it. Views and virtual tables are left out: reading them runs code of the file.
    pub(super) tables: Vec<String>,
    /// Its copy.
    _folder: Option<TempDir>,
}

impl Opened {
    /// Opens a file, or what a stream has if the file is compressed or there is none.
    pub(super) fn of_input(path: Option<&Path>, input: impl Read) -> Result<Self, DatabaseProblem> {
        let plain = path.filter(|path| {
            let mut start = [0; MAGIC.len()];
            path.is_file()
                && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
                && is_database(&start)
        });
        plain.map_or_else(|| Self::read(input), Self::open)
    }

    /// Opens a file.
    pub(super) fn open(path: &Path) -> Result<Self, DatabaseProblem> {
        let path = fs::canonicalize(path)?;
        let journal = beside(&path, "-journal");
        let mut start = [0; JOURNAL.len()];
        let is_read = File::open(&journal).and_then(|mut file| file.read_exact(&mut start)).is_ok();
        if is_read && start == JOURNAL {
            return Err(DatabaseProblem::Unfinished(journal));
        }
        let log = beside(&path, "-wal");
        // A link is left alone: the name is the writer's, and so is its target.
        let has_log = fs::symlink_metadata(&log).is_ok_and(|meta| meta.is_file() && meta.len() > 0);
        if !has_log {
            return Self::of(&path, true, None);
        }
        let folder = tempfile::tempdir()?;
        let copy = folder.path().join("copy.db");
        for _ in 0..ATTEMPTS {
            let before = (state(&path)?, state(&log)?);
            copy_file(File::open(&path)?, &copy, COPY_CAP)?;
            match File::open(&log) {
                Ok(file) => copy_file(file, &beside(&copy, "-wal"), COPY_CAP.saturating_sub(before.0.0))?,
                // The writer closed it in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            }
            if (state(&path)?, state(&log)?) == before {
                return Self::of(&copy, false, Some(folder));
            }
        }
        Err(DatabaseProblem::Changing)
    }

    /// Opens what a stream has.
    fn read(input: impl Read) -> Result<Self, DatabaseProblem> {
        let folder = tempfile::tempdir()?;
        let copy = folder.path().join("copy.db");
        copy_file(input, &copy, COPY_CAP)?;
        Self::of(&copy, true, Some(folder))
    }

    fn of(path: &Path, is_unchanging: bool, folder: Option<TempDir>) -> Result<Self, DatabaseProblem> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let mut connection = Connection::open_with_flags(uri(path, is_unchanging), flags)?;
        for (option, value) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
            (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
        ] {
            connection.set_db_config(option, value)?;
        }
        for (limit, most) in [
            // A longer value is left out, which needs its length and not the value.
            (Limit::SQLITE_LIMIT_LENGTH, i32::try_from(VALUE_CAP).unwrap_or(i32::MAX)),
            (Limit::SQLITE_LIMIT_SQL_LENGTH, SQL_CAP),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
        ] {
            connection.set_limit(limit, most)?;
        }
        let mut steps = 0_u64;
        let count = move || {
            steps += u64::from(STEPS_AT_ONCE);
            steps > MOST_STEPS
        };
        connection.progress_handler(i32::from(STEPS_AT_ONCE), Some(count))?;
        connection
            .execute_batch("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON")?;
        let mut tables = Vec::new();
        {
            let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name";
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                tables.push(row.get(0)?);
            }
        }
        tables.retain(|name: &String| !name.starts_with("sqlite_"));
        Ok(Self { connection, tables, _folder: folder })
    }

    /// The columns of a table.
    pub(super) fn columns(&self, table: &'static str) -> Result<Vec<String>, DatabaseProblem> {
        if !self.tables.iter().any(|name| name == table) {
            return Err(DatabaseProblem::NoTable(table));
        }
        // Names of tables are constants here.
        let statement = self.connection.prepare(&format!("SELECT * FROM \"{table}\" LIMIT 0"))?;
        Ok(statement.column_names().map(str::to_owned).collect())
    }
}

/// A file whose name only ends differently.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// What changes with a file.
fn state(path: &Path) -> Result<(u64, Option<SystemTime>), DatabaseProblem> {
    match fs::metadata(path) {
        Ok(meta) => Ok((meta.len(), meta.modified().ok())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((0, None)),
        Err(error) => Err(error.into()),
    }
}

fn copy_file(input: impl Read, to: &Path, most: u64) -> Result<(), DatabaseProblem> {
    let mut file = File::create(to)?;
    let copied = io::copy(&mut input.take(most.saturating_add(1)), &mut file)?;
    file.flush()?;
    if copied > most { Err(DatabaseProblem::TooLarge) } else { Ok(()) }
}

/// The address of a file: sqlite.org/uri.html. `immutable` keeps SQLite from locks and other files.
fn uri(path: &Path, is_unchanging: bool) -> String {
    let mut uri = "file://".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str(if is_unchanging { "?mode=ro&immutable=1" } else { "?mode=ro" });
    uri
}
