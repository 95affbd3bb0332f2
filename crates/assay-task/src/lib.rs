//! Tasks in Harbor's folder format or in the one of `task.md`, and suites of them.
//!
//! A task of Harbor's format is a folder: `task.toml`, `instruction.md`, `environment/`,
//! `tests/test.sh`, `solution/solve.sh`. [`Task::load`] reads one, [`Suite::load`] many. Everything
//! that the format's own runner accepts is accepted, and each leniency is a diagnostic; a task that
//! would be useless is a [`TaskError`] with the file, the line and a fix.
//!
//! Texts are read as that runner reads them: `task.toml` with universal newlines, `instruction.md`
//! also without canary and blank lines at its top.
//!
//! One table of the format is assay's own, and all of it is optional:
//!
//! ```toml
//! [metadata.assay]
//! writable = ["/data"]          # further paths the agent may write
//! expected = ["conftest.py"]    # files that control test runners and that the task asks for
//! keep = ["/etc/nginx"]         # files of the system that the task asks for, for Docker
//! cluster = "ledgers"           # tasks of one cluster are not independent of each other
//! pids = 256                    # most processes at once
//! negative_control = true       # no skill should help here
//! few_tests = "one figure"      # why fewer than three tests are enough
//! many_tests = "one a rule"     # why ten tests or more are needed
//! ```
//!
//! A `doubles.toml` beside `task.toml` declares test doubles ([`Doubles`]): a scripted user, programs
//! with canned output, HTTP and MCP servers, databases and repositories.
//!
//! A folder `tests/plugin-eval/` makes the task a case of `claude plugin eval` ([`plugin_eval`]): its graders decide the
//! result, and not `tests/test.sh`.
//!
//! # Tasks of `task.md`
//!
//! A folder without `task.toml` is a task too if it contains `task.md`, `verify.sh` and
//! `metadata.json`:
//!
//! - `task.md`: the instruction. The work folder is `/app`, no network is requested, and no image
//!   is built: it runs where `FROM python:3.11-slim-bookworm` does.
//! - `starting/`: the initial content of the work folder, which gets nothing else of the task.
//! - `verify.sh`: run in the work folder after the agent; exit status 0 is a pass. It finds the
//!   agent's last message in `.runner/final.txt`, and the files `.runner/score.json` and
//!   `.runner/notes.txt` that it writes are kept.
//! - `metadata.json`: `target_skill` (`"none"` for a negative control), `irrelevant_skill`,
//!   `related_skill`, `unrelated_skill`, `category`, `difficulty`, `id`, `slug`, `notes`.
//! - `rubric.json`: what the agent's text must and must not contain ([`Rubric`]). It is read, and
//!   `verify.sh` judges it.
//! - `solution/solve.sh`: optional, as in Harbor's format. It may leave a last message in
//!   `/logs/agent/final.txt`.
//!
//! A script that several tasks share may be one or two folders above them, as
//! `tasks/../verify.py`, if `verify.sh` names it that way.

pub mod check;
mod compose;
mod config;
mod counterfactual;
mod dockerfile;
mod doubles;
mod error;
#[cfg(test)]
mod fuzz;
pub mod plugin_eval;
mod prompt;
mod rubric;
mod suite;
mod task;

pub use compose::{Compose, LoginMount, Service};
pub use config::{
    Artifact, Collect, EnvironmentConfig, Healthcheck, McpServer, NetworkWish, RewardStrategy, StepConfig,
    TaskConfig, VerifierMode,
};
pub use counterfactual::{COUNTERFACTUAL_TABLE, CounterfactualError, CounterfactualTable, MarkReplacement};
pub use dockerfile::{Copy, Dockerfile, SkillCopy, Unsupported};
pub use doubles::{
    CommandCall, CommandShim, Doubles, GitChanges, GitCommit, GitSeed, HttpRoute, HttpStub, McpMock,
    McpResult, McpTool, Pattern, PostgresqlSeed, RuleScope, ScriptedUser, SqliteSeed, UserAnswer,
};
pub use error::TaskError;
pub use rubric::{Anchor, Rubric};
pub use suite::{Suite, Unreadable, folders};
pub use task::{Environment, Grading, Layout, PLUGIN_EVAL_FOLDER, RUBRIC_FILE, Step, Task, VERIFIERS};
