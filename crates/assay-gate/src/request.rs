//! What a gate is asked to decide.

use std::path::{Path, PathBuf};

use assay_trial::Permissions;

/// What a gate is asked to decide, and what it may spend.
#[derive(Debug, Clone, Default)]
pub struct GateRequest {
    /// The policy.
    pub policy: PathBuf,
    /// The revision that is merged into; `None` for the rules and skills of the working tree.
    pub changed_since: Option<String>,
    /// The head of the pull request, if a maintainer applies its changes of rules.
    pub trust_changes: Option<String>,
    /// US dollars at most.
    pub max_usd: Option<f64>,
    /// Whether paid models may run without a cap.
    pub no_cap: bool,
    /// Concurrent trials; `None` for those of the experiments.
    pub jobs: Option<usize>,
    /// What experiments may do.
    pub permissions: Permissions,
    /// Whether looks are opened, and no trial is executed.
    pub open_looks: bool,
    /// Where the trials can be seen.
    pub view_url: Option<String>,
}

impl GateRequest {
    /// The folder of the policy in the checkout, in which the ledger's path begins: it is kept in the repository, not in the files
    /// that are evaluated.
    pub(crate) fn policy_folder(&self) -> &Path {
        let folder = self.policy.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }
}
