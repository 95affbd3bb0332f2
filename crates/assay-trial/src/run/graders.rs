//! A task that is a case of `claude plugin eval`: graded by what its agent did and left.
//!
//! Graders are evaluated by this process. No verifier runs, so that nothing in the work folder can decide the result:
//! the trajectory and the log of mocked calls are outside of the sandbox, and files are read from a copy of the work
//! folder, without links.

use std::path::{Path, PathBuf};

use assay_fs::{Caps, read_beneath_up_to};
use assay_task::plugin_eval::{
    EvalArm, EvalArms, EvalCase, EvalGrader, Evidence, FileState, GraderCheck, GraderResult, GraderTarget,
    MockedCall, MockedCalls, OpenedSkill, RunGrades, grade_run, target_text,
};
use assay_trace::Exposure;
use serde_json::{Value, json};

use crate::judging::{self, JudgedText};
use crate::run::attempt::Attempt;
use crate::run::broken::Broken;
use crate::run::doubles;
use crate::run::environment::phases::Compared;
use crate::run::findings::Findings;
use crate::run::verifier::Reward;

/// What is kept of a work folder while it is graded.
const WORK: Caps =
    Caps { entries: 20_000, file_bytes: 16 << 20, total_bytes: 256 << 20, depth: 64, links: false };

/// Most bytes of a file that a grader reads.
const FILE_CAP: u64 = 16 << 20;

/// Most bytes of the log of mocked calls.
const LOG_CAP: u64 = 16 << 20;

/// The file of an attempt with the results of its graders.
const GRADERS: &str = "graders.json";

impl Attempt<'_> {
    /// Grades the agent's work by the graders that need no judge. For those that do, keeps what judges are shown.
    pub(crate) fn grade_case(
        &self,
        case: &EvalCase,
        compared: &mut impl Compared,
        created: &[PathBuf],
        findings: &mut Findings,
    ) -> Result<(), Broken> {
        let work = self.scratch.join("graded");
        let left_out = compared.copy_work(&work, &WORK)?;
        let left_out: Vec<&Path> = left_out.iter().map(|left| left.path.as_path()).collect();
        let evidence = self.evidence_of(case, &work, &left_out, created, findings)?;
        let arm = if self.trial.provision.skills.is_empty() { EvalArm::Without } else { EvalArm::With };
        let grades = grade_run(case, &evidence, EvalArms::WithAndWithout, arm);
        if self.trial.judge.is_some() {
            let texts = judged_texts(case, &grades, &evidence);
            judging::keep_graders(self.folder, &texts)
                .map_err(|error| Broken::harness(format!("cannot keep what is judged: {error}")))?;
        }
        let decided: Vec<&GraderResult> =
            grades.graders.iter().filter(|result| !is_judged(case, result)).collect();
        findings.ctrf =
            Some(json!({ "tests": decided.iter().map(|result| check(result)).collect::<Vec<_>>() }));
        self.write_json(GRADERS, &document(case, &grades, &evidence))?;
        findings.reward = reward(&decided, evidence.aborted.is_some());
        findings.no_reward = evidence.aborted.filter(|_| findings.reward.is_some());
        Ok(())
    }

    fn evidence_of(
        &self,
        case: &EvalCase,
        work: &Path,
        left_out: &[&Path],
        created: &[PathBuf],
        findings: &Findings,
    ) -> Result<Evidence, Broken> {
        let opened: Vec<OpenedSkill> = findings.exposure.iter().filter_map(opened).collect();
        let calls = self.mocked_calls()?;
        let mocked = MockedCalls { servers: &case.mocks, calls: &calls };
        let mut evidence = match &findings.run {
            Some(run) => Evidence::of_trajectory(&run.trajectory, &opened, &mocked),
            None => Evidence::default(),
        };
        // The client lists files alone (Claude Code 2.1.330).
        let files = created.iter().filter(|path| !work.join(path).is_dir());
        evidence.created = files.filter_map(|path| path.to_str()).map(str::to_owned).collect();
        for path in named_files(case) {
            if let Some(state) = file_state(work, path, left_out) {
                evidence.files.insert(path.to_owned(), state);
            }
        }
        Ok(evidence)
    }

    /// The calls of mocked tools, from the log.
    fn mocked_calls(&self) -> Result<Vec<MockedCall>, Broken> {
        let read = read_beneath_up_to(self.folder, Path::new(doubles::LOG), LOG_CAP);
        let content =
            read.map_err(|error| Broken::harness(format!("cannot read {}: {error}", doubles::LOG)))?;
        let text = content.map(|content| String::from_utf8_lossy(&content.bytes).into_owned());
        let lines = text.iter().flat_map(|text| text.lines());
        Ok(lines.filter_map(|line| mocked_call(&serde_json::from_str(line).ok()?)).collect())
    }
}

fn mocked_call(line: &Value) -> Option<MockedCall> {
    let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    if text("/double").as_deref() != Some("mcp") {
        return None;
    }
    let input = line.pointer("/request/arguments").cloned().unwrap_or_else(|| json!({}));
    Some(MockedCall { server: text("/name")?, tool: text("/request/tool")?, input })
}

fn opened(exposure: &Exposure) -> Option<OpenedSkill> {
    Some(OpenedSkill { name: exposure.skill.clone(), step: exposure.opened? })
}

/// The files that graders read.
fn named_files(case: &EvalCase) -> impl Iterator<Item = &str> {
    case.graders.iter().filter_map(|grader| match target(grader)? {
        GraderTarget::File(path) => Some(path.as_str()),
        _ => None,
    })
}

fn target(grader: &EvalGrader) -> Option<&GraderTarget> {
    match &grader.check {
        GraderCheck::Regex { target, .. } | GraderCheck::Llm { focus: target, .. } => Some(target),
        _ => None,
    }
}

/// The content of a file of the work folder, `None` if it is not there.
fn file_state(work: &Path, path: &str, left_out: &[&Path]) -> Option<FileState> {
    let unreadable = |why: &str| Some(FileState::Unreadable(why.to_owned()));
    if left_out.contains(&Path::new(path)) {
        return unreadable("it is too large, or not a regular file");
    }
    match read_beneath_up_to(work, Path::new(path), FILE_CAP) {
        Err(error) => unreadable(&error.to_string()),
        Ok(None) => None,
        Ok(Some(content)) if content.truncated => unreadable("it is too large"),
        Ok(Some(content)) => Some(FileState::Text(String::from_utf8_lossy(&content.bytes).into_owned())),
    }
}

fn is_judged(case: &EvalCase, result: &GraderResult) -> bool {
    case.graders.iter().any(|grader| grader.name == result.name && grader.is_judged())
}

/// The weighted share of those that count and passed. `None` if none of them counts.
fn reward(decided: &[&GraderResult], is_aborted: bool) -> Option<Reward> {
    let of = |value: f64| Reward { value, keys: [("reward".to_owned(), value)].into(), ..Reward::default() };
    if is_aborted {
        return Some(of(0.0));
    }
    let counted = || decided.iter().filter(|result| result.scored);
    let weight: f64 = counted().map(|result| result.weight).sum();
    let won: f64 = counted().filter(|result| result.passed).map(|result| result.weight).sum();
    (weight > 0.0).then(|| of(if counted().all(|result| result.passed) { 1.0 } else { won / weight + 0.0 }))
}

/// A grader as a test of a report.
fn check(result: &GraderResult) -> Value {
    let status = if result.passed { "passed" } else { "failed" };
    json!({
        "name": result.name, "status": status, "duration": 0, "message": result.explanation,
        "extra": { "weight": result.weight, "scored": result.scored },
    })
}

/// What is kept of the graders: their results, and what they read besides the trajectory and the work folder.
fn document(case: &EvalCase, grades: &RunGrades, evidence: &Evidence) -> Value {
    let graders: Vec<Value> = grades
        .graders
        .iter()
        .map(|result| {
            json!({
                "name": result.name, "passed": (!is_judged(case, result)).then_some(result.passed),
                "judged": is_judged(case, result), "weight": result.weight, "scored": result.scored,
                "with_only": result.with_only, "explanation": result.explanation,
            })
        })
        .collect();
    json!({
        "schema": "assay.graders/1", "case": case.name, "graders": graders, "created": evidence.created,
        "mock_calls": evidence.mock_calls, "aborted": evidence.aborted,
    })
}

/// What judges are shown, for each grader that they decide and that counts.
fn judged_texts(case: &EvalCase, grades: &RunGrades, evidence: &Evidence) -> Vec<JudgedText> {
    let counts = |grader: &&EvalGrader| {
        let own = grades.graders.iter().find(|result| result.name == grader.name);
        grader.is_judged() && own.is_some_and(|result| result.scored)
    };
    let text = |grader: &EvalGrader| {
        let name = grader.name.clone();
        match &grader.check {
            GraderCheck::Llm { criteria, focus } => match target_text(focus, evidence) {
                Ok(text) => JudgedText::llm(name, criteria, focus, &text, &evidence.trace),
                Err(why) => JudgedText::failed(name, why.to_string()),
            },
            GraderCheck::Baseline { criteria, reference } => {
                JudgedText::baseline(name, criteria, reference, &evidence.trace)
            }
            _ => JudgedText::failed(name, "not decided by a judge".to_owned()),
        }
    };
    let kept = case.graders.iter().filter(counts);
    if let Some(why) = &evidence.aborted {
        return case
            .graders
            .iter()
            .filter(|grader| grader.is_judged())
            .map(|grader| JudgedText::failed(grader.name.clone(), why.clone()))
            .collect();
    }
    kept.map(text).collect()
}
