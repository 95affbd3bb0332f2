//! How a command ends.

use std::error::Error;
use std::process::ExitCode;

use assay_store::StoreError;
use assay_trial::{ExperimentError, PlanError};

/// The exit status of a command, as scripts may rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Done.
    Done = 0,
    /// Done, and something asked about did not hold.
    DidNotHold = 1,
    /// Bad usage or bad input.
    BadInput = 2,
    /// Something under the command broke.
    Infrastructure = 3,
    /// Interrupted; what was done is kept.
    Interrupted = 130,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was given cannot be used.
    #[error("{message}")]
    BadInput {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
        /// Why.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
        /// More of the same, one a line.
        details: Vec<String>,
    },
    /// The machine, the disk or a provider failed.
    #[error("{message}")]
    Infrastructure {
        /// What is wrong.
        message: String,
        /// What to do.
        hint: Option<String>,
        /// Why.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// Nobody reads the result any more.
    #[error("nobody reads the result")]
    BrokenPipe,
}

impl Failure {
    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self::BadInput { message: message.into(), hint: None, source: None, details: Vec::new() }
    }

    pub(crate) fn infrastructure(message: impl Into<String>) -> Self {
        Self::Infrastructure { message: message.into(), hint: None, source: None }
    }

    /// With what to do about it.
    pub(crate) fn hint(mut self, text: impl Into<String>) -> Self {
        match &mut self {
            Self::BadInput { hint, .. } | Self::Infrastructure { hint, .. } => *hint = Some(text.into()),
            Self::BrokenPipe => {}
        }
        self
    }

    pub(crate) fn status(&self) -> Status {
        match self {
            Self::BadInput { .. } => Status::BadInput,
            Self::Infrastructure { .. } => Status::Infrastructure,
            Self::BrokenPipe => Status::Done,
        }
    }
}

impl From<assay_lint::BaselineError> for Failure {
    fn from(error: assay_lint::BaselineError) -> Self {
        let mut message = error.to_string();
        if let Some(cause) = error.source() {
            message = format!("{message}: {cause}");
        }
        Self::bad_input(message).hint("--update-baseline writes it anew")
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        let message = error.to_string();
        match error {
            ExperimentError::Read { source, .. } => Self::BadInput {
                message,
                hint: Some("`assay init experiment` writes one to begin with".to_owned()),
                source: Some(source.into()),
                details: Vec::new(),
            },
            ExperimentError::Invalid { .. } => Self::bad_input(message),
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let message = error.to_string();
        match error {
            PlanError::Store(error) => error.into(),
            PlanError::Tasks(problems) if problems.is_empty() => Self::bad_input("the suite holds no task")
                .hint("`suite` names folders relative to the experiment"),
            PlanError::Tasks(problems) => Self::BadInput {
                message,
                hint: Some(
                    "fix them, or exclude them with a pattern such as \"!tasks/bad-*\" in `suite`".to_owned(),
                ),
                source: None,
                details: problems.iter().map(|problem| format!("{problem} ({})", problem.hint())).collect(),
            },
            _ => Self::bad_input(message),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotFound(_) => Self::bad_input(message).hint("`assay runs` lists what there is"),
            StoreError::Io { source, .. } => Self::Infrastructure {
                message,
                hint: Some(match source.kind() {
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                        "make room and run it again: what is recorded stays recorded".to_owned()
                    }
                    std::io::ErrorKind::PermissionDenied => {
                        "choose another store with --store DIR".to_owned()
                    }
                    _ => "run it again when the disk is well: what is recorded stays recorded".to_owned(),
                }),
                source: Some(source.into()),
            },
            _ => Self::bad_input(message).hint("choose another store with --store DIR, or remove the file"),
        }
    }
}
