use std::path::Path;

use assay_diagnostic::chain;
use assay_sandbox::{Exec, Exit, LimitKind, SandboxError, Session, Sink};
use assay_trace::{AgentInfo, Ended, Observation, ObservationResult, Part, Source, ToolCall, Trajectory};
use serde_json::{Map, Value, json};

use crate::agent::{Agent, AgentRun, Job, McpTransport, now};

/// Runs the task's own solution: a check that fails with it cannot be passed.
#[derive(Debug, Clone, Copy)]
pub struct Oracle;

/// Maximum bytes of the solution's output that are stored.
const OUTPUT_CAP: u64 = 1 << 20;

impl Oracle {
    /// The solution's path inside the sandbox.
    pub const SOLUTION: &str = "/solution/solve.sh";
}

impl Agent for Oracle {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn version(&self) -> String {
        "1".to_owned()
    }

    fn identity(&self) -> Value {
        json!({ "name": "oracle", "version": "1" })
    }

    /// It needs none.
    fn supports_mcp(&self, _transport: McpTransport) -> bool {
        true
    }

    fn measures_a_model(&self) -> bool {
        false
    }

    fn needs_solution(&self) -> bool {
        true
    }

    fn run(&self, job: &Job<'_>, session: &mut dyn Session) -> AgentRun {
        let info = AgentInfo { name: "oracle".to_owned(), version: self.version(), ..AgentInfo::default() };
        let mut trajectory = Trajectory::new(info);
        trajectory.add_step(Source::User, job.instruction).timestamp = Some(now());
        let script = session.path(Path::new(Self::SOLUTION)).display().to_string();
        let command = Exec {
            argv: vec!["bash".to_owned(), script.clone()],
            env: job.env.to_vec(),
            cwd: Some(job.workdir.clone()),
            deadline: Some(job.deadline),
            stdout: Sink { file: Some(job.logs.join("oracle.txt")), cap: OUTPUT_CAP, keep: 4096 },
            stderr: None,
        };
        let outcome = session.exec(&command, job.cancel);
        let (ended, content, status) = match outcome {
            Ok(outcome) => (ended(outcome.exit), outcome.stdout.text(), json!(outcome.exit)),
            Err(error) => (broken(&error), error.to_string(), Value::Null),
        };
        let step = trajectory.add_step(Source::Agent, "plays the task's solution");
        step.timestamp = Some(now());
        step.tool_calls.push(ToolCall {
            tool_call_id: "1".to_owned(),
            function_name: "bash".to_owned(),
            arguments: json!({ "command": format!("bash {script}") }),
            ..ToolCall::default()
        });
        let extra = Map::from_iter([("exit".to_owned(), status)]);
        let result = ObservationResult {
            source_call_id: Some("1".to_owned()),
            content: Some(content),
            extra,
            ..ObservationResult::default()
        };
        step.observation = Some(Observation { results: vec![result] });
        AgentRun::new(trajectory, ended)
    }
}

fn ended(exit: Exit) -> Ended {
    match exit {
        Exit::Code(_) | Exit::Signal(_) => Ended::Finished,
        Exit::Deadline => Ended::Deadline,
        Exit::Cancelled => Ended::Cancelled,
        Exit::Limit(limit) => resource(limit),
    }
}

pub(crate) fn resource(limit: LimitKind) -> Ended {
    let limit = match limit {
        LimitKind::Memory => "memory",
        LimitKind::Storage => "storage",
    };
    Ended::ResourceLimit { limit: limit.to_owned() }
}

pub(crate) fn broken(error: &SandboxError) -> Ended {
    Ended::Broken { part: Part::Sandbox, message: chain(error) }
}
