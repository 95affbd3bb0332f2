//! What errors of the libraries mean to the caller: a bad input or a failure of the machine, and what to do about it.

use std::error::Error as _;

use assay_analysis::appraise::AppraisalError;
use assay_model::ModelError;
use assay_retrieval::{IndexError, OpenError, RetrieverError, SearchError, UnknownRetriever};
use assay_skill::corpus::input::InputError;
use assay_store::{ArchiveError, StoreError};
use assay_trial::import::results::ResultError;
use assay_trial::import::rubric_experiment::RubricExperimentError;
use assay_trial::import::{ImportError, ImportOptionError, count_lines};
use assay_trial::task_check::TaskCheckError;
use assay_trial::{
    BatchError, CapError, EmptyConditions, ExperimentError, NotPermitted, PlanError, ResolveError, RunError,
    SelectionError, SingleTrialError, SlurmError, SpecError, WorkerError,
};

use super::Failure;

impl From<assay_lint::BaselineError> for Failure {
    fn from(error: assay_lint::BaselineError) -> Self {
        let mut message = error.to_string();
        if let Some(cause) = error.source() {
            message = format!("{message}: {cause}");
        }
        Self::bad_input(message).hint("--update-baseline writes it anew")
    }
}

impl From<assay_lint::config::LintConfigError> for Failure {
    fn from(error: assay_lint::config::LintConfigError) -> Self {
        let assay_lint::config::LintConfigError { message, hint, details } = error;
        Self::BadInput { message, hint, source: None, details }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        let message = error.to_string();
        match error {
            ExperimentError::Read { source, .. } => Self::BadInput {
                message,
                hint: Some("`assay init experiment` creates one".to_owned()),
                source: Some(source.into()),
                details: Vec::new(),
            },
            ExperimentError::Invalid(errors) => {
                let (message, details) = errors.to_message();
                Self::BadInput { message, hint: None, source: None, details }
            }
        }
    }
}

impl From<NotPermitted> for Failure {
    fn from(error: NotPermitted) -> Self {
        let message = error.to_string();
        Self::BadInput { message, hint: None, source: None, details: error.excerpt }
    }
}

impl From<assay_gate::PolicyError> for Failure {
    fn from(error: assay_gate::PolicyError) -> Self {
        let (message, details) = match &error {
            assay_gate::PolicyError::Invalid(errors) => errors.to_message(),
            assay_gate::PolicyError::Read { .. } => (error.to_string(), Vec::new()),
        };
        let hint = "docs/guide/ci.md describes policies; `assay init ci` writes one".to_owned();
        Self::BadInput { message, hint: Some(hint), source: None, details }
    }
}

impl From<EmptyConditions> for Failure {
    fn from(error: EmptyConditions) -> Self {
        Self::bad_input(error.to_string()).hint(
            "without trials it cannot be compared, and the run would pay for the others alone: correct `library` or \
             `curated`, or remove it from `conditions`",
        )
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        let message = error.to_string();
        match error {
            PlanError::Store(error) => error.into(),
            PlanError::NotPermitted(error) => error.into(),
            PlanError::Tasks(problems) if problems.is_empty() => {
                Self::bad_input("the suite contains no task")
                    .hint("`suite` names folders relative to the experiment")
            }
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

impl From<SelectionError> for Failure {
    fn from(SelectionError { message, hint }: SelectionError) -> Self {
        Self::BadInput { message, hint, source: None, details: Vec::new() }
    }
}

impl From<CapError> for Failure {
    fn from(error: CapError) -> Self {
        let failure = Self::bad_input(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Store(error) => error.into(),
            RunError::Slurm(error) => {
                let hint = match &error {
                    SlurmError::Start { .. } | SlurmError::NotInstalled(_) => {
                        "start this where Slurm's commands are installed"
                    }
                    SlurmError::Failed { command: "sbatch", .. } => "check the options given with `--sbatch`",
                    SlurmError::Fruitless(_) => {
                        "repair what the log names, and start this again: finished trials are not executed again"
                    }
                    SlurmError::Cancelled => "start this again to submit the remaining trials",
                    _ => "`squeue --json` shows whether Slurm works here",
                };
                Self::infrastructure(error.to_string()).hint(hint)
            }
            error => Self::infrastructure(assay_diagnostic::chain(&error)),
        }
    }
}

impl From<BatchError> for Failure {
    fn from(error: BatchError) -> Self {
        Self::infrastructure(assay_diagnostic::chain(&error))
    }
}

impl From<SingleTrialError> for Failure {
    fn from(error: SingleTrialError) -> Self {
        match error {
            SingleTrialError::Plan(error) => error.into(),
            SingleTrialError::Run(error) => error.into(),
            SingleTrialError::Store(error) => error.into(),
            error @ SingleTrialError::Excluded(_) => {
                Self::infrastructure(error.to_string()).hint("run `assay doctor` for suggested fixes")
            }
            error => Self::infrastructure(assay_diagnostic::chain(&error)),
        }
    }
}

impl From<TaskCheckError> for Failure {
    fn from(error: TaskCheckError) -> Self {
        match error {
            TaskCheckError::Store(error) => error.into(),
            TaskCheckError::Run(error) => error.into(),
            error => Self::infrastructure(error.to_string()),
        }
    }
}

impl From<WorkerError> for Failure {
    fn from(error: WorkerError) -> Self {
        match error {
            WorkerError::Store(error) => error.into(),
            WorkerError::Batch(error) => error.into(),
            WorkerError::Run(error) => error.into(),
            WorkerError::Experiment(error) => error.into(),
            WorkerError::NotPermitted(error) => error.into(),
            WorkerError::Unsandboxed(_) => Self::bad_input(error.to_string())
                .hint("if you trust the experiment, pass --allow-unsandboxed"),
            error => Self::bad_input(error.to_string()),
        }
    }
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        let message = assay_diagnostic::chain(&error);
        match error {
            ResolveError::NoTask { .. } | ResolveError::OtherTask { .. } => {
                Self::bad_input(message).hint("`--suite DIR` says where the planned tasks lie")
            }
            ResolveError::NoSkill { .. } => {
                Self::bad_input(message).hint("`--library DIR` says where the planned skills lie")
            }
            _ => Self::infrastructure(message),
        }
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::bad_input(assay_diagnostic::chain(&error))
            .hint("`assay plan --specs DIR` writes specifications")
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        let message = error.to_string();
        match error {
            ArchiveError::Store(error) => error.into(),
            ArchiveError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Self::bad_input(format!("{message}: {source}"))
            }
            ArchiveError::Io { source, .. } => Self::infrastructure(format!("{message}: {source}")),
            ArchiveError::Invalid { .. } => Self::bad_input(message)
                .hint("nothing was imported; export the run again with `assay export run`"),
            ArchiveError::Conflict { message, hint } => Self::bad_input(message).hint(hint),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotFound(_) => Self::bad_input(message).hint("`assay show` lists the runs"),
            StoreError::Io { source, .. } => Self::Infrastructure {
                message,
                hint: Some(match source.kind() {
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                        "make room and run it again: what is recorded stays recorded".to_owned()
                    }
                    std::io::ErrorKind::PermissionDenied => {
                        "choose another store with --store DIR".to_owned()
                    }
                    _ => "check that the path is writable and has free space, then run the command again: recorded trials are kept".to_owned(),
                }),
                source: Some(source.into()),
            },
            StoreError::PlanChanged { .. } => {
                Self::bad_input(message).hint("restore the file, or plan the run again under another name")
            }
            StoreError::Changed { .. } => Self::bad_input(message)
                .hint("restore the file, or remove the trial's folder: the trial is then executed again"),
            StoreError::LeaseLost { .. } => {
                Self::infrastructure(message).hint("run the command again: the result of the other process counts")
            }
            _ => Self::bad_input(message).hint("choose another store with --store DIR, or remove the file"),
        }
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        let message = error.to_string();
        let (InputError::Open { source, .. } | InputError::Read { source, .. }) = error;
        let hint = "name a file of JSON Lines, plain, .gz or .zst, or `-`";
        Self::BadInput {
            message,
            hint: Some(hint.to_owned()),
            source: Some(source.into()),
            details: Vec::new(),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::NotInstalled { hint, .. } => Self::bad_input(error.to_string()).hint(hint),
            OpenError::Retriever(error) => error.into(),
        }
    }
}

impl From<UnknownRetriever> for Failure {
    fn from(error: UnknownRetriever) -> Self {
        Self::bad_input(error.to_string())
    }
}

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Index(error) => error.into(),
            SearchError::Open(error) => error.into(),
            SearchError::Retriever(error) => error.into(),
        }
    }
}

impl From<RetrieverError> for Failure {
    fn from(error: RetrieverError) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(own) = cause {
            text.push_str(&format!(": {own}"));
            cause = own.source();
        }
        match error {
            RetrieverError::NoLocalModels { .. } => Self::bad_input(text)
                .hint("name a server with `endpoint=URL`, or build assay with `--features local-models`"),
            #[cfg(feature = "local-models")]
            RetrieverError::Encoder(_) => Self::bad_input(text)
                .hint("name the folder of a model as sentence-transformers lays it out, or install one with `scripts/fetch-minilm`"),
            RetrieverError::Model(ModelError::Spec(_)) => Self::bad_input(text),
            _ => Self::infrastructure(text),
        }
    }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        let hint = match &error {
            IndexError::Write { .. } => "name a place in a folder that exists and may be written to",
            _ => "`assay search index` makes an index",
        };
        let mut text = error.to_string();
        if let Some(cause) = error.source() {
            text.push_str(&format!(": {cause}"));
        }
        match error {
            IndexError::Write { .. } => Self::infrastructure(text).hint(hint),
            _ => Self::bad_input(text).hint(hint),
        }
    }
}

impl From<ImportOptionError> for Failure {
    fn from(error: ImportOptionError) -> Self {
        let failure = Self::bad_input(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<RubricExperimentError> for Failure {
    fn from(error: RubricExperimentError) -> Self {
        match error {
            RubricExperimentError::Store(error) => error.into(),
            RubricExperimentError::Exists(_) => {
                Self::bad_input(error.to_string()).hint("choose another file")
            }
            error @ RubricExperimentError::Folder { .. } => Self::bad_input(error.to_string()),
        }
    }
}

impl From<ResultError> for Failure {
    fn from(error: ResultError) -> Self {
        let hint = error.hint();
        match error {
            ResultError::Import(error) => error.into(),
            ResultError::Read { ref path, ref source } => {
                Self::bad_input(format!("cannot read {}: {source}", path.display()))
            }
            error => hinted(Self::bad_input(error.to_string()), hint),
        }
    }
}

impl From<AppraisalError> for Failure {
    fn from(error: AppraisalError) -> Self {
        hinted(Self::bad_input(error.to_string()), error.hint())
    }
}

fn hinted(failure: Failure, hint: Option<&'static str>) -> Failure {
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        let message = error.to_string();
        match error {
            ImportError::Store(error) => error.into(),
            ImportError::Nothing { unusable, .. } => Self::BadInput {
                message,
                hint: Some("DIR is a job's folder, a folder of jobs, or a trial's".to_owned()),
                source: None,
                details: count_lines(&unusable).collect(),
            },
            _ => Self::bad_input(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_of_a_store_has_one_hint_and_that_of_its_own() {
        let check = |error: StoreError, expected: &str| {
            let failure = Failure::from(error);
            let (Failure::BadInput { message, hint, .. } | Failure::Infrastructure { message, hint, .. }) =
                failure
            else {
                panic!("no hint")
            };
            assert!(!message.contains("hint"), "{message}");
            assert!(hint.as_ref().is_some_and(|hint| hint.contains(expected)), "{message}: {hint:?}");
        };
        let path = || std::path::PathBuf::from("/store/runs/lab/plan.json");
        check(StoreError::PlanChanged { run: "lab".into(), path: path() }, "under another name");
        check(StoreError::Format { path: path(), message: "it ends early".into() }, "remove the file");
        check(StoreError::NotFound("no run".into()), "`assay show`");
        let io = std::io::ErrorKind::PermissionDenied.into();
        check(StoreError::Io { action: "read", path: path(), source: io }, "another store");
        check(StoreError::LeaseLost { trial: assay_store::TrialId::of(&serde_json::json!(1)) }, "again");
    }

    #[test]
    fn a_full_disk_is_told_by_whatever_met_it() {
        let full = || StoreError::Io {
            action: "write",
            path: "/store/events.jsonl".into(),
            source: std::io::ErrorKind::StorageFull.into(),
        };
        let told = |failure: Failure| match failure {
            Failure::Infrastructure { message, hint, source } => (message, hint, source.is_some()),
            other => panic!("{other:?}"),
        };
        let expected = told(full().into());
        assert!(expected.1.as_ref().is_some_and(|hint| hint.contains("room")) && expected.2, "{expected:?}");
        assert_eq!(told(SingleTrialError::Run(RunError::Store(full())).into()), expected);
        assert_eq!(told(SingleTrialError::Store(full()).into()), expected);
    }
}
