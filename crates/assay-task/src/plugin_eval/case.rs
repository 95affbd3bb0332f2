//! Cases of a suite, as they are declared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::grader::EvalGrader;
use super::mocks::MockedServer;

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalCase {
    /// Its name, unique in the suite.
    pub name: String,
    /// Its folder.
    pub dir: PathBuf,
    /// What the agent is asked.
    pub prompt: String,
    /// Labels.
    pub tags: Vec<String>,
    /// What it is about; for people.
    pub description: Option<String>,
    /// Runs in each arm.
    pub runs: u32,
    /// The model, if it names one.
    pub model: Option<String>,
    /// Most turns of a run.
    pub max_turns: u32,
    /// Seconds of a run.
    pub timeout_seconds: u32,
    /// Tools that it asks for.
    pub allowed_tools: Vec<String>,
    /// Text for the system prompt.
    pub append_system_prompt: Option<String>,
    /// Variables of the environment, `EVAL_…`.
    pub env: BTreeMap<String, String>,
    /// A Bash script that fills the work folder.
    pub scaffold: Option<PathBuf>,
    /// A transcript that the run continues.
    pub history: Option<PathBuf>,
    /// Folders of the case that the agent may read, relative to it.
    pub add_dirs: Vec<PathBuf>,
    /// Its graders, at least one.
    pub graders: Vec<EvalGrader>,
    /// Servers of which tools are answered from files.
    pub mocks: Vec<MockedServer>,
}

impl EvalCase {
    /// Whether tools are mocked, and all of them are those of the plugin: an arm without it then has none.
    pub fn mocks_only_its_plugin(&self) -> bool {
        !self.mocks.is_empty() && self.mocks.iter().all(MockedServer::is_of_plugin)
    }
}
