//! Judges: models that decide the items of a rubric by what an agent left.
//!
//! [`Panel`] is the judges of an experiment, opened. [`judge_work`] decides a rubric by the files of an attempt, which are in
//! the store: a trial is judged when its agent is dead, and can be judged again later without another trial. Judges are asked
//! by `assay-ask`: their replies are stored in the folder of the work's judgements, and charged to the run's budget.
//! [`regrade_run`] judges all trials of a run again, and [`judged_rows`] makes tables of what was judged.

mod agent;
mod ask;
mod context;
mod inputs;
mod panel;
mod regrade;
mod regrade_run;
mod replies;
mod room_shares;
mod tables;
mod votes;
mod work;
mod work_list;

pub use agent::NoAnswer;
pub use context::{JudgeContext, JudgeError};
pub(crate) use inputs::work_folder;
pub use inputs::{judged_texts, keep_instruction, keep_rubric};
pub use panel::{Panel, PanelError, TrialJudge, rubric_digest};
pub(crate) use regrade::TESTS_NUMBER;
pub use regrade::{Judging, RegradeError, is_kept, judge_again};
pub use regrade_run::{
    JudgeChanges, JudgePreflight, RegradedRun, RunRegrade, RunRegradeError, TaskRubricsError, planned_judges,
    read_task_rubrics, regrade_run,
};
pub use tables::{JudgedRows, JudgedTableError, judged_rows};
pub(crate) use votes::{JudgedText, keep_graders};
pub use work::{Graded, judge_work};
pub(crate) use work::{KEPT, write_list};

#[cfg(test)]
mod tests;
