//! The agents that check tasks: oracle and no-op.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use assay_agent::{Agent, Disclosure, Ended, Job, LoopOptions, Nop, Oracle, Part, built_in, open};
use assay_model::ScriptContext;
use assay_sandbox::{Captured, Enforcement, Exec, ExecOutcome, Exit, SandboxError, Session, Usage};

/// A session that ends every command in the same way, or that cannot be used.
struct FixedSession(Result<Exit, ()>, Vec<Vec<String>>);

impl Session for FixedSession {
    fn exec(&mut self, command: &Exec, _cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError> {
        self.1.push(command.argv.clone());
        let exit = self.0.map_err(|()| SandboxError::Start("no room".into()))?;
        let captured = Captured { head: b"solved".to_vec(), tail: Vec::new(), total: 6 };
        Ok(ExecOutcome { exit, stdout: captured, stderr: Captured::default(), wall: Duration::ZERO })
    }

    fn path(&self, target: &Path) -> PathBuf {
        Path::new("/elsewhere").join(target.strip_prefix("/").unwrap())
    }

    fn enforcement(&self) -> &Enforcement {
        unreachable!("no agent reads it")
    }

    fn stop(self: Box<Self>) -> Result<Usage, SandboxError> {
        Ok(Usage::default())
    }
}

fn run_agent(agent: &dyn Agent, session: &mut FixedSession) -> assay_agent::AgentRun {
    let logs = tempfile::tempdir().unwrap();
    let job = Job {
        instruction: "Do it.",
        skills: &[],
        disclosure: Disclosure::Offered,
        preface: "",
        workdir: "/app".into(),
        deadline: Instant::now() + Duration::from_mins(1),
        time: Duration::from_mins(1),
        cancel: &AtomicBool::new(false),
        script_context: &ScriptContext::default(),
        logs: logs.path().to_owned(),
        env: &[],
        mcp_servers: &[],
        endpoint: None,
        budget: None,
    };
    agent.run(&job, session)
}

#[test]
fn oracle_runs_the_solution() {
    let check = |exit: Result<Exit, ()>, expected: &Ended| {
        let mut session = FixedSession(exit, Vec::new());
        let run = run_agent(&Oracle, &mut session);
        assert_eq!(&run.ended, expected);
        assert_eq!(session.1, [["bash", "/elsewhere/solution/solve.sh"]]);
        assert_eq!(run.usage, None, "the oracle uses no tokens");
    };
    check(Ok(Exit::Code(0)), &Ended::Finished);
    // A failing solution was still run; the verifier decides about it.
    check(Ok(Exit::Code(1)), &Ended::Finished);
    check(Ok(Exit::Deadline), &Ended::Deadline);
    check(Ok(Exit::Cancelled), &Ended::Cancelled);
    let message = "the sandbox did not start: no room".to_owned();
    check(Err(()), &Ended::Broken { part: Part::Sandbox, message });
}

#[test]
fn nop_does_nothing() {
    let mut session = FixedSession(Ok(Exit::Code(0)), Vec::new());
    let run = run_agent(&Nop, &mut session);
    assert_eq!((run.ended, session.1.len(), run.trajectory.turns()), (Ended::Finished, 0, 0));
}

#[test]
fn built_in_names_open_and_others_are_errors() {
    let name = |name: &str| match open(name, None, LoopOptions::default()) {
        Ok(agent) => agent.name().to_owned(),
        Err(error) => error.to_string(),
    };
    for known in built_in().filter(|name| *name != "loop") {
        assert_eq!(name(known), known);
        assert!(!open(known, None, LoopOptions::default()).unwrap().measures_a_model());
    }
    assert!(name("loop").contains("needs a model"));
    assert_eq!(name("lop"), "unknown agent `lop` (known: loop, oracle, nop)");
}
