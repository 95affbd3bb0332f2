//! Negative controls: tasks on which no skill should help.

use assay_store::RunFolder;
use serde::Serialize;

use crate::gather::Gathered;
use crate::model::{Arm, Comparison, TaskRow};
use crate::{arms, comparisons, tasks};

/// The negative controls: tasks where no skill should help. They are excluded from every other
/// table of the report, and are a separate family with the same rules; the expected verdict is
/// `negligible`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NegativeControls {
    /// The arms on these tasks.
    pub arms: Vec<Arm>,
    /// Each condition against its baseline on them.
    pub comparisons: Vec<Comparison>,
    /// Task by task.
    pub tasks: Vec<TaskRow>,
}

/// `None` if the run has no such task.
pub(crate) fn controls(run: &RunFolder, gathered: &Gathered) -> Option<NegativeControls> {
    (!gathered.controls.is_empty()).then(|| NegativeControls {
        arms: arms::arms(run, &gathered.controls),
        comparisons: comparisons::comparisons(run, &gathered.controls, None),
        tasks: tasks::rows(run, &gathered.controls),
    })
}
