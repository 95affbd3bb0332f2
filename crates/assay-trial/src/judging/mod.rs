//! Judges: models that decide the items of a rubric by what an agent left.
//!
//! [`ask_judge`] sends one request and reads its reply. [`Panel`] is the judges of an experiment, opened. [`judge_work`]
//! decides a rubric by the files of an attempt, which are in the store: a trial is judged when its agent is dead, and
//! can be judged again later without another trial. [`regrade_run`] judges all trials of a run again, and [`judged_rows`]
//! makes tables of what was judged.

mod agent;
mod ask;
mod inputs;
mod panel;
mod regrade;
mod regrade_run;
mod replies;
mod room_shares;
mod tables;
mod work;
mod work_list;

pub use agent::NoAnswer;
pub use ask::{AskError, JudgeQuestion, REPLY_TOKENS, TRIES, ask_judge};
pub use inputs::{judged_texts, keep_instruction, keep_rubric};
pub use panel::{Panel, PanelError, TrialJudge, rubric_digest};
pub(crate) use regrade::TESTS_NUMBER;
pub use regrade::{Judging, RegradeError, is_kept, judge_again};
pub use regrade_run::{
    JudgeChanges, RegradedRun, RunRegrade, RunRegradeError, TaskRubricsError, planned_judges,
    read_task_rubrics, regrade_run,
};
pub use tables::{JudgedRows, JudgedTableError, judged_rows};
pub use work::{Graded, JudgeContext, JudgeError, judge_work};
pub(crate) use work::{KEPT, work_folder, write_list};
