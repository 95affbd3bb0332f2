//! Test doubles of a task while its agent works.
//!
//! Canned answers, the state and the log of calls are in this process: the sandbox has only
//! programs and ports that lead to Unix sockets, so that an agent can read no answer without a
//! call and remove no call from the log. What it can do is call them as often as it wants.
//!
//! - A program of a double is a script in a folder at the beginning of `PATH`. It starts this
//!   program ([`double_main`]), which sends its arguments to a socket and does what the reply says.
//! - Ports of HTTP and MCP servers lead through forwarders to sockets of their own, and those of PostgreSQL to a server of this
//!   machine, in a sandbox of its own.
//! - Databases and repositories are made in the work folder before the agent starts (`seed`).

mod answer;
mod client;
mod log;
mod mcp;
mod postgresql;
mod seed;
mod session;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_agent::{McpServer, McpTransport};
use assay_gateway::{LocalHandler, LocalReply, LocalRequest, LocalServer};
use assay_sandbox::{Mount, Session};
use assay_store::NetworkPolicy;
use assay_task::{Doubles, Task};

use self::answer::Answers;
pub use self::client::double_main;
pub(crate) use self::log::DoubleCalls;
use self::postgresql::PostgresqlServer;
pub(crate) use self::seed::seeded;
pub(crate) use self::session::DoublesSession;
use crate::run::attempt::Attempt;
use crate::run::backend::{Backend, BackendKind};
use crate::run::broken::{Broken, create_folder};
use crate::run::commands::start_forwarder;
use crate::run::route::CliAgentContext;
use crate::run::trial::ResolvedTrial;

/// The folder of doubles inside a sandbox.
const INSIDE: &str = "/opt/assay/doubles";

/// The port of the sandbox's loopback interface at which mock MCP servers answer.
const MCP_PORT: u16 = 8792;

/// A script that login shells read, after they have set `PATH` anew.
const PROFILE: &str = "/etc/profile.d/zz-assay-doubles.sh";

/// The log of calls, in the folder of an attempt and in `/logs` of the verifier.
pub(crate) const LOG: &str = "doubles.jsonl";

/// The tables of databases after the agent has ended, in `/logs` of the verifier.
pub(crate) const TABLES: &str = "postgresql.json";

/// What the verifier gets of doubles.
pub(crate) const VERIFIER_FILES: [&str; 2] = [LOG, TABLES];

/// Why a task's doubles cannot be used. Messages are sentence fragments.
#[derive(Debug, thiserror::Error)]
pub enum DoublesError {
    /// The sandbox `none`.
    #[error("its test doubles need a sandbox, which `none` is not")]
    NoSandbox,
    /// No program that could be mounted.
    #[error("its test doubles need a cache folder: set ASSAY_CACHE, XDG_CACHE_HOME or HOME")]
    NoProgram,
    /// No database server that could be started.
    #[error(
        "its PostgreSQL database needs bubblewrap and the programs initdb, postgres and psql on this machine (Debian: postgresql)"
    )]
    NoPostgresql,
    /// Ports of the host's own loopback interface.
    #[error(
        "its test doubles listen at ports, and its agent has the host's network in bubblewrap (`network = \"none\"`, a list of hosts, or Docker gives it ports of its own)"
    )]
    HostPorts,
}

/// Whether a task's doubles can be used here.
pub(crate) fn check(
    task: &Task,
    backend: &Backend,
    network: &NetworkPolicy,
    cli_agents: Option<&CliAgentContext>,
) -> Result<(), DoublesError> {
    let Some(doubles) = &task.doubles else { return Ok(()) };
    if !doubles.are_called() {
        return Ok(());
    }
    if backend.kind() == "none" {
        return Err(DoublesError::NoSandbox);
    }
    if cli_agents.is_none() {
        return Err(DoublesError::NoProgram);
    }
    if !doubles.postgresql.is_empty() && postgresql::programs().is_none() {
        return Err(DoublesError::NoPostgresql);
    }
    let is_folders = matches!(backend.inner, BackendKind::Folders { .. });
    if is_folders && doubles.needs_ports() && matches!(network, NetworkPolicy::Public) {
        return Err(DoublesError::HostPorts);
    }
    Ok(())
}

/// The doubles of a trial that answer calls, with what their programs need.
fn called(trial: &ResolvedTrial) -> Option<(&Arc<Doubles>, &CliAgentContext)> {
    let doubles = trial.task.doubles.as_ref().filter(|doubles| doubles.are_called())?;
    Some((doubles, trial.cli_agents.as_ref()?))
}

/// Folders and files of this machine that are mounted into the agent's sandbox.
pub(crate) fn mounts(attempt: &Attempt<'_>) -> Vec<Mount> {
    let Some((_, cli_agents)) = called(attempt.trial) else { return Vec::new() };
    let folder = attempt.doubles_folder();
    let shown = |source: &Path, name: &str| Mount {
        source: source.to_path_buf(),
        target: Path::new(INSIDE).join(name),
        writable: false,
    };
    vec![
        shown(&cli_agents.forwarder, "assay"),
        shown(&folder.join("bin"), "bin"),
        shown(&folder.join("sockets"), "sockets"),
    ]
}

/// The same for a container, whose login shells read `/etc/profile`.
pub(crate) fn container_mounts(attempt: &Attempt<'_>) -> Vec<Mount> {
    let mut mounts = mounts(attempt);
    if !mounts.is_empty() {
        let source = attempt.doubles_folder().join("profile.sh");
        mounts.push(Mount { source, target: PROFILE.into(), writable: false });
    }
    mounts
}

/// What the agent is told about doubles before its instruction, in addition to what the condition
/// says.
pub(crate) fn preface(trial: &ResolvedTrial) -> Option<String> {
    let (doubles, _) = called(trial)?;
    let mut parts = Vec::new();
    if doubles.user.is_some() {
        let name = Doubles::ASK_USER;
        parts.push(format!(
            "You can ask the user with the command `{name} \"QUESTION\"`, which prints the answer."
        ));
    }
    if !doubles.mcp.is_empty() && !trial.agent.supports_mcp(McpTransport::Http) {
        let names: Vec<String> = doubles.mcp.iter().map(|mock| format!("`{}`", mock.name)).collect();
        let (servers, name) = (names.join(", "), Doubles::MCP_CALL);
        parts.push(format!(
            "Call the tools of the MCP servers {servers} with the command `{name} SERVER TOOL 'JSON ARGUMENTS'`; `{name}` alone lists the tools."
        ));
    }
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// The mock MCP servers of a trial, for an agent that supports MCP.
pub(crate) fn mcp_servers(trial: &ResolvedTrial) -> Vec<McpServer> {
    let Some((doubles, _)) = called(trial) else { return Vec::new() };
    if !trial.agent.supports_mcp(McpTransport::Http) {
        return Vec::new();
    }
    let server = |name: &String| McpServer {
        name: name.clone(),
        url: format!("http://127.0.0.1:{MCP_PORT}{}{name}", mcp::PATH),
        transport: McpTransport::Http,
    };
    doubles.mcp.iter().map(|mock| server(&mock.name)).collect()
}

/// The doubles of one attempt, answering calls.
#[derive(Debug)]
pub(crate) struct DoublesHandle {
    servers: Vec<LocalServer>,
    databases: Vec<PostgresqlServer>,
    answers: Arc<Answers>,
    /// The command lines of forwarders.
    forwarders: Vec<Vec<String>>,
}

impl DoublesHandle {
    /// Opens the sockets and writes the programs, both in the folders that [`mounts`] shows. `None`
    /// if the task has no doubles that are called.
    pub(crate) fn open(attempt: &Attempt<'_>) -> Result<Option<Self>, Broken> {
        let trial = attempt.trial;
        let Some((doubles, cli_agents)) = called(trial) else { return Ok(None) };
        let folder = attempt.doubles_folder();
        let sockets = folder.join("sockets");
        for folder in [&folder, &sockets, &folder.join("bin")] {
            create_folder(folder)?;
            set_mode(folder, 0o755)?;
        }
        write_programs(doubles, cli_agents, &folder)?;
        let answers = Arc::new(Answers::new(doubles.clone(), &attempt.folder.join(LOG))?);
        let mut handle = Self { servers: Vec::new(), databases: Vec::new(), answers, forwarders: Vec::new() };
        handle.serve(&sockets, "calls", Answers::call)?;
        let mut ports = Vec::new();
        for (number, stub) in doubles.http.iter().enumerate() {
            let name = format!("http-{}", stub.port);
            handle.serve(&sockets, &name, move |answers, request| answers.http(number, request))?;
            ports.push((stub.port, name));
        }
        if !doubles.mcp.is_empty() {
            handle.serve(&sockets, "mcp", mcp::reply)?;
            ports.push((MCP_PORT, "mcp".to_owned()));
        }
        for seed in &doubles.postgresql {
            let name = format!("postgresql-{}", seed.database);
            let own = sockets.join(&name);
            create_folder(&own)?;
            set_mode(&own, 0o755)?;
            handle.databases.push(PostgresqlServer::start(seed, &folder.join(&name), &own)?);
            ports.push((seed.port, format!("{name}/{}", postgresql::SOCKET)));
        }
        for (port, name) in ports {
            let mut line = vec![format!("{INSIDE}/assay")];
            line.extend(cli_agents.forwarder_args.iter().cloned());
            line.extend([port.to_string(), format!("{INSIDE}/sockets/{name}")]);
            handle.forwarders.push(line);
        }
        Ok(Some(handle))
    }

    fn serve(
        &mut self,
        sockets: &Path,
        name: &str,
        answer: impl Fn(&Answers, &LocalRequest) -> LocalReply + Send + Sync + 'static,
    ) -> Result<(), Broken> {
        let answers = Arc::clone(&self.answers);
        let handler: LocalHandler = Arc::new(move |request| answer(&answers, request));
        let server = LocalServer::open(&sockets.join(name), handler);
        self.servers.push(server.map_err(|error| Broken::harness_error(&error))?);
        Ok(())
    }

    /// Starts the forwarders in the agent's sandbox.
    fn start(&self, session: &mut dyn Session, cancel: &AtomicBool) -> Result<(), Broken> {
        for line in &self.forwarders {
            start_forwarder(session, line, "the forwarder of a test double", cancel)?;
        }
        Ok(())
    }

    /// Closes the sockets, copies the log to a folder, and returns the number of calls.
    pub(crate) fn close(self, logs: &Path) -> Result<DoubleCalls, Broken> {
        self.servers.into_iter().for_each(LocalServer::close);
        let mut tables = serde_json::Map::new();
        for server in self.databases {
            let name = server.database().to_owned();
            let (content, statements) = server.close();
            for statement in statements {
                self.answers.record_statement(&name, &statement);
            }
            tables.insert(name, content);
        }
        if !tables.is_empty() {
            let to = logs.join(TABLES);
            fs::write(&to, serde_json::Value::from(tables).to_string())
                .map_err(|error| Broken::harness(format!("cannot write {}: {error}", to.display())))?;
            set_mode(&to, 0o644)?;
        }
        let calls = self.answers.calls()?;
        let to = logs.join(LOG);
        fs::copy(self.answers.log_path(), &to)
            .map_err(|error| Broken::harness(format!("cannot write {}: {error}", to.display())))?;
        set_mode(&to, 0o644)?;
        Ok(calls)
    }
}

/// Writes the scripts that start the programs of doubles.
fn write_programs(doubles: &Doubles, cli_agents: &CliAgentContext, folder: &Path) -> Result<(), Broken> {
    let program: Vec<String> = [format!("{INSIDE}/assay")]
        .into_iter()
        .chain(cli_agents.double_args.iter().cloned())
        .chain([format!("{INSIDE}/sockets/calls")])
        .collect();
    let program = program.join(" ");
    for name in doubles.programs() {
        let own = doubles.commands.iter().find(|command| command.name == name);
        let input = if own.is_some_and(assay_task::CommandShim::reads_stdin) { "stdin" } else { "-" };
        let text = format!("#!/bin/sh\nexec {program} {input} {name} \"$@\"\n");
        write_script(&folder.join("bin").join(name), &text)?;
    }
    let profile = format!("if [ -S {INSIDE}/sockets/calls ]; then PATH={INSIDE}/bin:$PATH; fi\n");
    write_script(&folder.join("profile.sh"), &profile)
}

fn write_script(path: &Path, text: &str) -> Result<(), Broken> {
    fs::write(path, text)
        .map_err(|error| Broken::harness(format!("cannot write {}: {error}", path.display())))?;
    set_mode(path, 0o755)
}

fn set_mode(path: &Path, mode: u32) -> Result<(), Broken> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|error| Broken::harness(format!("cannot set the mode of {}: {error}", path.display())))
}
