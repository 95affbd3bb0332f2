//! What errors of judging mean to the caller.

use std::sync::Arc;

use assay_ask::AskError;
use assay_judge::{
    BatchJudgeError, BatchKind, BatchTableError, FeedbackError, LabelsError, RateCorrectionError,
    RubricCheckError, SameFamilyError, SheetFileError, VerdictTableError,
};

use assay_trial::judging::{JudgedTableError, RunRegradeError, TaskRubricsError};

use super::Failure;
use crate::asking::no_answer;

impl From<VerdictTableError> for Failure {
    fn from(error: VerdictTableError) -> Self {
        let failure = Self::bad_input(error.to_string());
        match error {
            VerdictTableError::NoColumn { columns, .. } => {
                let columns: Vec<String> = columns.iter().map(|name| format!("`{name}`")).collect();
                failure.hint(format!("the table has {}", columns.join(", ")))
            }
            _ => failure,
        }
    }
}

impl From<RateCorrectionError> for Failure {
    fn from(error: RateCorrectionError) -> Self {
        match error {
            RateCorrectionError::Table(error) => error.into(),
            error @ RateCorrectionError::UnequalErrors { .. } => Self::bad_input(error.to_string())
                .hint("`--separate` corrects each group by its own error rates"),
            error => Self::bad_input(error.to_string()),
        }
    }
}

impl From<SheetFileError> for Failure {
    fn from(error: SheetFileError) -> Self {
        match error {
            SheetFileError::Read(error) => Self::bad_input(assay_diagnostic::chain(&error)),
            error @ SheetFileError::Name { .. } => Self::bad_input(error.to_string())
                .hint("choose another with --name: letters, digits, `-`, `_` and `.`, at most 80"),
            error => {
                Self::bad_input(error.to_string()).hint("`assay judge sheet --help` describes the columns")
            }
        }
    }
}

impl From<LabelsError> for Failure {
    fn from(error: LabelsError) -> Self {
        match error {
            LabelsError::Store(error) => error.into(),
            LabelsError::Feedback(error) => error.into(),
            LabelsError::NoSheet { message, sheets } => Self::bad_input(message).hint(match &*sheets {
                [] => "`assay judge sheet FILE` adds one".to_owned(),
                names => format!("the store has {}", names.join(", ")),
            }),
            error => Self::bad_input(error.to_string()).hint("name a file that ends in .jsonl"),
        }
    }
}

impl From<FeedbackError> for Failure {
    fn from(error: FeedbackError) -> Self {
        let hint = match error {
            FeedbackError::Store(error) => return error.into(),
            FeedbackError::Read(error) => return Self::bad_input(assay_diagnostic::chain(&error)),
            FeedbackError::Annotator { .. } => "use letters, digits, `-`, `_` and `.`, and not `adjudicated`",
            FeedbackError::OtherSheet { .. } => "the sheet's column `item` must have the run ids",
            _ => "expected {\"reviews\": [{\"run_id\": …, \"feedback\": …}], \"status\": \"complete\"}",
        };
        Self::bad_input(error.to_string()).hint(hint)
    }
}

impl From<RubricCheckError> for Failure {
    fn from(error: RubricCheckError) -> Self {
        let failure = Self::bad_input(error.to_string());
        match error {
            RubricCheckError::Nothing => failure.hint("`assay import rubric --help` lists the formats"),
            _ => failure,
        }
    }
}

impl From<BatchTableError> for Failure {
    fn from(error: BatchTableError) -> Self {
        let failure = Self::bad_input(error.to_string());
        match error {
            BatchTableError::NoValue { columns, .. } => {
                failure.hint(format!("the row has {}", columns.join(", ")))
            }
            BatchTableError::NotAChoice { .. } => {
                failure.hint("choices are 1, 2 and tie, or a, b and tie; empty if there is none")
            }
            BatchTableError::MixedClusters { .. } => {
                failure.hint("--cluster names a column that all rows have")
            }
            _ => failure,
        }
    }
}

impl From<SameFamilyError> for Failure {
    fn from(error: SameFamilyError) -> Self {
        Self::bad_input(error.to_string())
            .hint("judges favour results of their own family: use a judge of another vendor")
    }
}

impl From<BatchJudgeError> for Failure {
    fn from(error: BatchJudgeError) -> Self {
        let message = error.to_string();
        match error {
            BatchJudgeError::Unanswered(error) => no_answer(error, "judge"),
            BatchJudgeError::Blocked { kind: BatchKind::Items, .. } => {
                Self::infrastructure(message).hint("use another judge, or shorter material")
            }
            BatchJudgeError::Blocked { kind: BatchKind::Pairs, .. } => {
                Self::infrastructure(message).hint("use another judge, or shorter results")
            }
            BatchJudgeError::Exists { .. } => {
                Self::bad_input(message).hint("choose another file with `--out`")
            }
            _ => Self::infrastructure(message),
        }
    }
}

impl From<RunRegradeError> for Failure {
    fn from(error: RunRegradeError) -> Self {
        let hint = match error {
            RunRegradeError::Store(error) => return error.into(),
            RunRegradeError::Preflight(error) => {
                return no_answer(AskError::Preflight(Arc::new(error)), "judge");
            }
            RunRegradeError::NotJudged { .. } => {
                "only runs of tasks with a rubric, and with `[judge]` in the experiment, can be judged again"
            }
            RunRegradeError::Name { .. } => "use letters, digits, `-`, `_` and `.`, at most 80",
            _ => {
                "trials that ended before their work could be judged, and those of imported runs, have nothing to judge"
            }
        };
        Self::bad_input(error.to_string()).hint(hint)
    }
}

impl From<TaskRubricsError> for Failure {
    fn from(error: TaskRubricsError) -> Self {
        let failure = Self::bad_input(error.to_string());
        match error {
            TaskRubricsError::SameName { .. } => failure.hint("give --tasks the one that the run had"),
            _ => failure,
        }
    }
}

impl From<JudgedTableError> for Failure {
    fn from(error: JudgedTableError) -> Self {
        let message = error.to_string();
        match error {
            JudgedTableError::Store(error) => error.into(),
            JudgedTableError::NotJudged { .. } => Self::bad_input(message)
                .hint("tasks with tests/rubric.json are judged if the experiment has `[judge]`"),
            JudgedTableError::NoRows { .. } => Self::bad_input(message)
                .hint("pairs need a task with judged trials under the baseline and under another condition"),
            _ => Self::infrastructure(message),
        }
    }
}
