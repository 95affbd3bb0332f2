use assay_sandbox::Session;
use assay_trace::{AgentInfo, Ended, Source, Trajectory};
use serde_json::{Value, json};

use crate::agent::{Agent, AgentRun, Job, McpTransport};

/// Does nothing: a check that passes with it needs no work.
#[derive(Debug, Clone, Copy)]
pub struct Nop;

impl Agent for Nop {
    fn name(&self) -> &'static str {
        "nop"
    }

    fn version(&self) -> String {
        "1".to_owned()
    }

    fn identity(&self) -> Value {
        json!({ "name": "nop", "version": "1" })
    }

    /// It needs none.
    fn supports_mcp(&self, _transport: McpTransport) -> bool {
        true
    }

    fn measures_a_model(&self) -> bool {
        false
    }

    fn run(&self, job: &Job<'_>, _session: &mut dyn Session) -> AgentRun {
        let info = AgentInfo { name: "nop".to_owned(), version: self.version(), ..AgentInfo::default() };
        let mut trajectory = Trajectory::new(info);
        trajectory.add_step(Source::User, job.instruction);
        AgentRun::new(trajectory, Ended::Finished)
    }
}
