//! The gateway of a run: where it listens, and the clients of its workers.
//!
//! `runs/NAME/gateway.json` says where and with which token, for its owner only; `runs/NAME/spending.jsonl` has a
//! line for each charge.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_gateway::{
    Caps, GatewayError, LimiterAddress, LimiterClient, LimiterClientOptions, LimiterServer,
    LimiterServerOptions, LimiterState, Pace, new_token,
};
use assay_store::Store;
use serde::{Deserialize, Serialize};

const SCHEMA: &str = "assay.run-gateway/1";

/// The budget that the trials of a batch are charged to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BatchBudget {
    /// Of the invocation of `assay run`.
    pub(crate) id: String,
    pub(crate) caps: Caps,
}

/// The batch of a run. Its first line has the budget.
pub(crate) fn batch_path(store: &Store, run: &str) -> PathBuf {
    store.run_folder(run).join("batch.jsonl")
}

fn batch_budget(store: &Store, run: &str) -> Option<BatchBudget> {
    #[derive(Deserialize)]
    struct Header {
        budget: Option<BatchBudget>,
    }
    let mut line = String::new();
    BufReader::new(File::open(batch_path(store, run)).ok()?).read_line(&mut line).ok()?;
    serde_json::from_str::<Header>(&line).ok()?.budget
}

/// Where the gateway of a run listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct GatewayPlace {
    schema: String,
    /// The name of its machine.
    machine: String,
    /// By which others reach it.
    host: String,
    /// By which processes of its machine do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    local: Option<String>,
    port: u16,
    token: String,
}

fn place_path(store: &Store, run: &str) -> PathBuf {
    store.run_folder(run).join("gateway.json")
}

/// The name of this machine.
fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A running gateway of a run.
#[derive(Debug)]
pub struct RunGateway {
    server: LimiterServer,
    host: String,
}

impl RunGateway {
    /// The address under which workers reach it.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.server.address().port())
    }

    /// The state of each budget that was asked about, by the name of the invocation.
    pub fn states(&self) -> impl Iterator<Item = LimiterState> {
        self.server.states().into_values()
    }
}

/// Serves the budget of a run and the limits of its providers to workers, and writes down where. `host` is the name
/// by which they reach it, by default the address on which it listens, or that of this machine if it listens on all.
///
/// # Errors
/// The port or a file of the run cannot be used.
pub fn serve_limits(
    store: &Store,
    run: &str,
    listen: SocketAddr,
    host: Option<String>,
    pace: Pace,
) -> Result<RunGateway, GatewayError> {
    let folder = store.run_folder(run);
    let path = place_path(store, run);
    let earlier: Option<GatewayPlace> =
        fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    // The same token after a restart, so that workers that have it go on.
    let token = earlier.map_or_else(new_token, |place| Ok(place.token))?;
    let (root, name) = (store.root().to_owned(), run.to_owned());
    let caps = move |id: &str| {
        let store = Store::open(&root).ok()?;
        if id.is_empty() {
            return Some(Caps::default());
        }
        batch_budget(&store, &name).filter(|budget| budget.id == id).map(|budget| budget.caps)
    };
    let server = LimiterServer::start(LimiterServerOptions {
        address: listen,
        token: token.clone(),
        pace,
        journal: folder.join("spending.jsonl"),
        caps: Box::new(caps),
    })?;
    let named = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let (local, by_default) = match listen.ip() {
        ip if !ip.is_unspecified() => (ip, named(ip)),
        IpAddr::V4(_) => (Ipv4Addr::LOCALHOST.into(), machine()),
        IpAddr::V6(_) => (Ipv6Addr::LOCALHOST.into(), machine()),
    };
    let host = host.unwrap_or(by_default);
    let place = GatewayPlace {
        schema: SCHEMA.to_owned(),
        machine: machine(),
        host: host.clone(),
        local: Some(named(local)),
        port: server.address().port(),
        token,
    };
    save(&path, &place).map_err(|source| GatewayError::Journal { path, source })?;
    Ok(RunGateway { server, host })
}

/// Writes a file that only its owner can read.
fn save(path: &Path, place: &GatewayPlace) -> std::io::Result<()> {
    let bytes = serde_json::to_vec(place)?;
    let file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    file.as_file().set_permissions(Permissions::from_mode(0o600))?;
    fs::write(file.path(), bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// A client of the gateway of a run, which is looked for whenever it does not answer. `notify` tells the user so.
/// `budget` is that of the batch, or empty: without caps.
pub fn limiter_client(
    store: &Store,
    run: &str,
    budget: &str,
    notify: Box<dyn Fn(&str) + Send + Sync>,
) -> Arc<LimiterClient> {
    let path = place_path(store, run);
    let command = format!(
        "`assay --store {} gateway serve --run {run}` starts it; for workers on other machines, with `--listen ADDRESS:PORT`",
        store.root().display()
    );
    let find = move || {
        let place: GatewayPlace = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        let local = place.local.as_deref().unwrap_or("127.0.0.1");
        let host = if place.machine == machine() { local } else { &place.host };
        Some(LimiterAddress { address: format!("{host}:{}", place.port), token: place.token })
    };
    let process = format!("{}-{}", store.owner().mark(), jiff::Timestamp::now().as_nanosecond());
    LimiterClient::new(LimiterClientOptions {
        budget: budget.to_owned(),
        process,
        find: Box::new(find),
        notify: Box::new(move |note| {
            let hint = if note.ends_with("again") { String::new() } else { format!(" ({command})") };
            notify(&format!("{note}{hint}"));
        }),
    })
}

/// Whether a gateway was started for a run.
pub fn has_gateway(store: &Store, run: &str) -> bool {
    place_path(store, run).exists()
}
