//! Checks of tasks before an experiment uses them: by rules, and by the oracle and the no-op check.

mod checked;
mod checker;
mod context;
mod document;
mod hints;
mod trials;

pub use checked::{CheckedTask, report_refusal, report_unusable};
pub use checker::{
    GradedSolution, TaskCheckError, TaskCheckEvent, TaskCheckEvents, TaskCheckMachine, TaskChecker,
};
pub use context::{check_context, load_library, read_memory_size, skills_of_task};
pub use document::{TaskCheckDocument, TaskCheckSummary, check_task, list_problems};
pub use trials::{GradingEnvironment, TaskTrialSummary, TaskTrials};
