//! Why nothing can be planned.

use std::path::PathBuf;

use assay_store::StoreError;
use assay_task::TaskError;

use crate::experiment::foreign::NotPermitted;
use crate::judging::PanelError;
use crate::plan::unsafe_skills::UnsafeSkills;
use crate::run::open_agent::AgentError;

/// Why nothing can be planned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Tasks that cannot be used.
    #[error("{} problem{} in the suite", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Tasks(Vec<TaskError>),
    /// An agent that cannot be set up.
    #[error("{}: agent {agent:?}: {error}", path.display())]
    Agent {
        /// The experiment.
        path: PathBuf,
        /// Its name.
        agent: String,
        /// The cause.
        error: AgentError,
    },
    /// Judges that cannot be used.
    #[error("{}: {error}", path.display())]
    Judge {
        /// The experiment.
        path: PathBuf,
        /// The cause.
        error: PanelError,
    },
    /// An unknown name or id.
    #[error("{}: {message}", path.display())]
    Name {
        /// The experiment.
        path: PathBuf,
        /// The cause.
        message: String,
    },
    /// Something that the caller did not permit.
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
    /// Skills with safety errors.
    #[error(transparent)]
    Unsafe(#[from] UnsafeSkills),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}
