//! A trial's access to hosts other than its model.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use assay_gateway::{EgressLedger, EgressListener, Hosts};
use assay_sandbox::{Mount, Session};
use assay_store::NetworkPolicy;

use crate::run::backend::Backend;
use crate::run::broken::Broken;
use crate::run::commands::start_forwarder;
use crate::run::route::CliAgentContext;
use crate::run::trial::ResolvedTrial;

/// The proxy's folder inside a sandbox.
const INSIDE: &str = "/opt/assay/egress";

/// The port of the sandbox's loopback that leads to the listed hosts.
const PORT: u16 = 8791;

/// A way out that is open for one phase of one attempt.
#[derive(Debug)]
pub(crate) struct EgressProxy {
    egress: EgressListener,
    line: Vec<String>,
}

/// Whether these policies can be enforced here: hosts can be listed only with a sandbox and a
/// forwarder.
pub(crate) fn can_hold(
    policies: [&NetworkPolicy; 2],
    backend: &Backend,
    cli_agents: Option<&CliAgentContext>,
) -> bool {
    let by_host = policies.iter().any(|policy| matches!(policy, NetworkPolicy::Hosts(_)));
    !by_host || backend.kind() != "none" && cli_agents.is_some()
}

/// Folders of this machine that are mounted into a sandbox if hosts can be reached in one of its
/// phases.
pub(crate) fn mounts(trial: &ResolvedTrial, folder: &Path) -> Vec<Mount> {
    let wanted = [&trial.network, &trial.verifier_network]
        .iter()
        .any(|policy| matches!(policy, NetworkPolicy::Hosts(_)));
    let Some(cli_agents) = trial.cli_agents.as_ref().filter(|_| wanted) else { return Vec::new() };
    let shown = |source: &Path, name: &str| Mount {
        source: source.to_path_buf(),
        target: format!("{INSIDE}/{name}").into(),
        writable: false,
    };
    vec![shown(&cli_agents.forwarder, "assay"), shown(folder, "way")]
}

impl EgressProxy {
    /// Opens it in the folder that [`mounts`] shares, if the phase may reach hosts.
    pub(crate) fn open(
        policy: &NetworkPolicy,
        trial: &ResolvedTrial,
        folder: &Path,
    ) -> Result<Option<Self>, Broken> {
        let NetworkPolicy::Hosts(list) = policy else { return Ok(None) };
        let cli_agents =
            trial.cli_agents.as_ref().ok_or_else(|| Broken::harness("no forwarder on this machine"))?;
        let hosts = Hosts::parse(list).map_err(|error| Broken::harness(error.to_string()))?;
        let egress = EgressListener::open(&folder.join("socket"), hosts)
            .map_err(|error| Broken::harness_error(&error))?;
        let mut line = vec![format!("{INSIDE}/assay")];
        line.extend(cli_agents.forwarder_args.iter().cloned());
        line.extend([PORT.to_string(), format!("{INSIDE}/way/socket")]);
        Ok(Some(Self { egress, line }))
    }

    /// The proxy variables for programs. Loopback addresses and these names are excluded.
    pub(crate) fn env(near: &[String]) -> Vec<(String, String)> {
        let proxy = format!("http://127.0.0.1:{PORT}");
        let names = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
        let direct: Vec<&str> =
            ["localhost", "127.0.0.1", "::1"].into_iter().chain(near.iter().map(String::as_str)).collect();
        let direct = direct.join(",");
        let near = ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), direct.clone()));
        names.map(|name| (name.to_owned(), proxy.clone())).into_iter().chain(near).collect()
    }

    /// Starts the egress proxy's forwarder, and returns when it is ready.
    pub(crate) fn start(&self, session: &mut dyn Session, cancel: &AtomicBool) -> Result<(), Broken> {
        start_forwarder(session, &self.line, "the egress proxy", cancel)
    }

    /// Closes it, and returns its ledger.
    pub(crate) fn close(self) -> EgressLedger {
        self.egress.close()
    }
}
