//! What a caller permits an experiment. Only the command line says so: no file and no variable can.

use assay_trial::Permissions;

/// Permissions of an experiment whose commands or paths reach beyond its own project.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct ForeignFlags {
    /// Allow sandbox `none`, in which commands of the experiment run with your permissions
    ///
    /// Only for experiments that you trust: nothing is isolated. docs/SECURITY.md describes the sandboxes.
    #[arg(long)]
    pub(crate) allow_unsandboxed: bool,
    /// Allow the experiment to name paths outside of its Git work tree
    ///
    /// Without a work tree: outside of the nearest folder with an assay.toml, else of the experiment's folder.
    /// Texts of such paths can enter prompts, which are sent to the model's provider.
    #[arg(long)]
    pub(crate) allow_outside: bool,
}

impl ForeignFlags {
    /// The permissions, without that for unsafe skills.
    pub(crate) fn permissions(self) -> Permissions {
        Permissions { unsandboxed: self.allow_unsandboxed, outside: self.allow_outside, unsafe_skills: false }
    }
}

/// The same for commands that give skills to agents.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PermissionFlags {
    #[command(flatten)]
    pub(crate) foreign: ForeignFlags,
    /// Give agents skills that have a safety error
    ///
    /// `assay lint` lists and explains the errors, and `assay plan` names the skills.
    #[arg(long)]
    pub(crate) allow_unsafe: bool,
}

impl PermissionFlags {
    /// The permissions.
    pub(crate) fn permissions(self) -> Permissions {
        Permissions { unsafe_skills: self.allow_unsafe, ..self.foreign.permissions() }
    }
}
