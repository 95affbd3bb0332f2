//! A PostgreSQL server of this machine, for an agent that reaches it through a forwarder.
//!
//! The server runs in a sandbox of its own that has no network, nothing of this machine but its programs, and the server's data. The
//! agent's role owns the database and is no superuser, so that it can neither run programs nor read files. The only
//! superuser cannot log in once the database is filled.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use assay_task::PostgresqlSeed;
use serde_json::{Value, json};

use crate::run::broken::{Broken, create_folder};

/// The name of a server's socket.
pub(super) const SOCKET: &str = ".s.PGSQL.5432";

/// Where Debian has the programs, one folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Longest wait for the server to start or stop.
const PATIENCE: Duration = Duration::from_mins(1);

/// The beginning of an entry of the server's log, before the user and the database.
const ENTRY: &str = "\u{1e}";

/// Most bytes of a log that are read.
const LOG_CAP: u64 = 8 << 20;

/// Most tables of a database that a verifier gets, and most bytes of one.
const TABLES: usize = 200;
const TABLE_BYTES: usize = 4 << 20;

/// Inside the server's sandbox: its folder, and that of its socket.
const HOME: &str = "/server";
const SOCKETS: &str = "/sockets";

/// The folder with initdb, postgres and psql; `None` if they or bubblewrap are missing.
pub(super) fn programs() -> Option<PathBuf> {
    const FOLDERS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];
    FOLDERS.iter().find(|folder| Path::new(folder).join("bwrap").is_file())?;
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    let debian = versions.into_iter().rev().map(|(_, folder)| folder);
    let mut folders = debian.chain(FOLDERS.map(PathBuf::from));
    folders.find(|folder| ["initdb", "postgres", "psql"].iter().all(|name| folder.join(name).is_file()))
}

/// A running server.
#[derive(Debug)]
pub(super) struct PostgresqlServer {
    seed: PostgresqlSeed,
    folder: PathBuf,
    sockets: PathBuf,
    programs: PathBuf,
    /// `None` once it has been stopped.
    child: Option<Child>,
    /// The length of its log when the agent's time begins.
    log_start: u64,
}

impl Drop for PostgresqlServer {
    fn drop(&mut self) {
        self.stop();
    }
}

impl PostgresqlServer {
    /// Makes a database and fills it. `folder` is the server's own; its socket is in `sockets`.
    pub(super) fn start(seed: &PostgresqlSeed, folder: &Path, sockets: &Path) -> Result<Self, Broken> {
        let programs = programs().ok_or_else(|| Broken::harness("PostgreSQL is not installed".to_owned()))?;
        create_folder(folder)?;
        let mut server = Self {
            seed: seed.clone(),
            folder: folder.to_path_buf(),
            sockets: sockets.to_path_buf(),
            programs,
            child: None,
            log_start: 0,
        };
        server.write("passwd", "assay:x:1000:1000::/server:/bin/sh\n")?;
        let arguments =
            ["-D", "/server/data", "-U", "assay", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"];
        server.succeed("initdb", &arguments)?;
        server.write("seed.sql", &seed.sql)?;
        let configured = format!(
            "listen_addresses = ''\nunix_socket_directories = '{SOCKETS}'\nfsync = off\nshared_buffers = '16MB'\n\
             max_connections = 20\ntimezone = 'UTC'\nlog_timezone = 'UTC'\nlog_statement = 'all'\n\
             log_line_prefix = '{ENTRY}%u@%d '\n"
        );
        server.append("data/postgresql.conf", &configured)?;
        let log = server.create("log")?;
        let mut command = server.command("postgres");
        command.args(["-D", "/server/data"]).stderr(log);
        server.child = Some(
            command.spawn().map_err(|error| Broken::harness(format!("cannot start PostgreSQL: {error}")))?,
        );
        server.wait()?;
        let PostgresqlSeed { database, user, .. } = seed;
        let roles = format!("CREATE ROLE {user} LOGIN; CREATE DATABASE {database} OWNER {user}");
        for statement in roles.split("; ") {
            server.query_as("assay", "postgres", &["-c", statement])?;
        }
        server.query_as(user, database, &["-f", "/server/seed.sql"]).map_err(|error| {
            Broken::harness(format!("the statements of the database {database} fail: {}", error.message))
        })?;
        server.query_as("assay", "postgres", &["-c", "ALTER ROLE assay NOLOGIN"])?;
        server.log_start = server.log_length();
        Ok(server)
    }

    pub(super) fn database(&self) -> &str {
        &self.seed.database
    }

    /// Stops the server. Returns the tables by name, and the agent's statements.
    pub(super) fn close(mut self) -> (Value, Vec<String>) {
        let log_end = self.log_length();
        // The agent may have locked or renamed its database: that is a result.
        let tables = self.tables().unwrap_or_else(|error| json!({ "error": error.message }));
        self.stop();
        let statements = self.statements(log_end);
        (tables, statements)
    }

    fn tables(&self) -> Result<Value, Broken> {
        let own = |statement: &str| {
            let settings = "SET statement_timeout = '30s'";
            let read = "SET default_transaction_read_only = on";
            self.query_as(
                &self.seed.user,
                &self.seed.database,
                &["-c", settings, "-c", read, "-c", statement],
            )
        };
        let names = own("SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables \
             WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1")?;
        let mut tables = serde_json::Map::new();
        for name in names.lines().filter(|name| !name.is_empty() && *name != "SET").take(TABLES) {
            let rows = own(&format!(
                "SELECT coalesce(jsonb_agg(r.row ORDER BY r.row::text), '[]') FROM (SELECT to_jsonb(t) AS row FROM {name} t) r"
            ))?;
            let rows = rows.lines().find(|line| line.starts_with('[')).unwrap_or("[]");
            let name = name.strip_prefix("public.").unwrap_or(name).to_owned();
            let value = if rows.len() > TABLE_BYTES {
                json!({ "error": format!("more than {TABLE_BYTES} bytes") })
            } else {
                serde_json::from_str(rows).unwrap_or(Value::Null)
            };
            tables.insert(name, value);
        }
        Ok(Value::from(tables))
    }

    /// The statements in the log of the agent's time.
    fn statements(&self, end: u64) -> Vec<String> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(self.folder.join("log"))?;
            file.seek(SeekFrom::Start(self.log_start))?;
            let mut bytes = Vec::new();
            file.take(end.saturating_sub(self.log_start).min(LOG_CAP)).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
        let prefix = format!("{}@{} LOG:  ", self.seed.user, self.seed.database);
        let entries = text.split(ENTRY).filter_map(|entry| entry.strip_prefix(&prefix));
        let statements = entries.filter_map(|entry| {
            let statement = entry.strip_prefix("statement: ");
            statement.or_else(|| entry.strip_prefix("execute ")?.split_once(": ").map(|(_, text)| text))
        });
        // Continuation lines begin with a tab.
        statements.map(|text| text.trim_end().replace("\n\t", "\n")).collect()
    }

    fn log_length(&self) -> u64 {
        fs::metadata(self.folder.join("log")).map_or(0, |found| found.len())
    }

    /// Waits until the server accepts connections.
    fn wait(&mut self) -> Result<(), Broken> {
        let until = Instant::now() + PATIENCE;
        loop {
            if self.query_as("assay", "postgres", &["-c", "SELECT 1"]).is_ok() {
                return Ok(());
            }
            let ended = self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || Instant::now() > until {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                let last = log.lines().last().unwrap_or_default().to_owned();
                return Err(Broken::harness(format!("PostgreSQL does not start: {last}")));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills the server with its sandbox. Its data are thrown away with the attempt's folder.
    fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = child.kill();
        let _ = child.wait();
    }

    /// What psql prints.
    fn query_as(&self, user: &str, database: &str, arguments: &[&str]) -> Result<String, Broken> {
        let own =
            ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", SOCKETS, "-U", user, "-d", database];
        self.succeed("psql", &[&own[..], arguments].concat())
    }

    /// Runs a program in the server's sandbox; its standard output.
    fn succeed(&self, program: &str, arguments: &[&str]) -> Result<String, Broken> {
        let mut command = self.command(program);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let Output { status, stdout, stderr } =
            command.output().map_err(|error| Broken::harness(format!("cannot run {program}: {error}")))?;
        if status.success() {
            return Ok(String::from_utf8_lossy(&stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&stderr);
        let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        Err(Broken::harness(format!("{program} fails: {first}")))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("bwrap");
        command
            .args(["--unshare-all", "--die-with-parent", "--new-session", "--uid", "1000", "--gid", "1000"])
            .args([
                "--ro-bind",
                "/usr",
                "/usr",
                "--symlink",
                "usr/bin",
                "/bin",
                "--symlink",
                "usr/lib",
                "/lib",
            ])
            .args(["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"])
            .arg("--bind")
            .arg(&self.folder)
            .arg(HOME)
            .arg("--bind")
            .arg(&self.sockets)
            .arg(SOCKETS)
            .arg("--ro-bind")
            .arg(self.folder.join("passwd"))
            .arg("/etc/passwd")
            .args(["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--clearenv"])
            .args([
                "--setenv", "LC_ALL", "C", "--setenv", "HOME", HOME, "--setenv", "TZ", "UTC", "--chdir", HOME,
            ])
            .arg("--")
            .arg(self.programs.join(program))
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Broken> {
        let path = self.folder.join(name);
        fs::write(&path, text)
            .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))
    }

    fn append(&self, name: &str, text: &str) -> Result<(), Broken> {
        let path = self.folder.join(name);
        let before = fs::read_to_string(&path)
            .map_err(|error| Broken::harness(format!("cannot read {}: {error}", path.display())))?;
        self.write(name, &(before + text))
    }

    fn create(&self, name: &str) -> Result<File, Broken> {
        let path = self.folder.join(name);
        File::create(&path)
            .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))
    }
}
