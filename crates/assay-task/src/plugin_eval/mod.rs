//! Suites of `claude plugin eval`: the cases and graders of a plugin, and what the graders decide.
//!
//! [`EvalSuite::load`] reads the folder `evals/` of a plugin as the client does (Claude Code 2.1.332, and
//! <https://code.claude.com/docs/en/plugin-evals>). [`grade_run`] decides a case by the [`Evidence`] of a run, which
//! may be of any agent: it reads no file and calls no model.

mod case;
mod evidence;
mod fields;
mod glob;
mod grade;
mod grader;
mod mock_files;
mod mocks;
mod pattern;
mod read;
mod stringify;
mod suite;
mod task_files;
#[cfg(test)]
mod tests;

pub use case::EvalCase;
pub use evidence::{CallMade, Evidence, FileState, MockedCall, MockedCalls, OpenedSkill};
pub use glob::PathGlob;
pub use grade::{
    CaseScores, EvalArm, EvalArms, GraderResult, NoTargetText, RunGrades, VOTES, case_scores, grade_run,
    is_pass_vote, target_text,
};
pub use grader::{CallPattern, EvalGrader, GraderArm, GraderCheck, GraderTarget, MatchRule};
pub use mocks::{Expected, Guard, MockAnswer, MockReply, MockedServer, MockedTool, Recording};
pub use pattern::{JsPattern, PATTERN_CAP, PatternError, SEARCH_SECONDS, SearchError, TEXT_CAP};
pub use stringify::compact_json;
pub use suite::{EvalPlugin, EvalSuite, EvalSuiteError};
pub use task_files::{Inexpressible, write_new_folder};
