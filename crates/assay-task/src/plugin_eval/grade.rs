//! What graders decide: a case and the evidence of a run in, a score out.
//!
//! Nothing here reads a file or calls a model: votes of judges are part of the evidence. The evidence may be of a
//! trial of assay or of a run of the original client, and the same rules apply.

use super::case::EvalCase;
use super::evidence::{CallMade, Evidence, FileState};
use super::grader::{CallPattern, EvalGrader, GraderCheck, GraderTarget, MatchRule};
use super::pattern::SearchError;
use super::stringify::compact_json;

/// How many votes a judge gives.
pub const VOTES: usize = 3;

/// How many of them decide.
const MAJORITY: usize = 2;

/// Most characters of a match that an explanation shows.
const SHOWN: usize = 80;

/// The arms of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalArms {
    /// One: every grader counts.
    WithOnly,
    /// One with the plugin and one without: graders that cannot pass without it do not count.
    WithAndWithout,
}

/// One arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvalArm {
    /// With the plugin.
    With,
    /// Without it.
    Without,
}

/// The grades of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunGrades {
    /// The weighted share of the graders that count and passed, from 0 to 1.
    pub score: f64,
    /// Whether all of those that count passed.
    pub passed: bool,
    /// The graders, in the order of the case. Without the plugin those that do not count are left out; of a run that a
    /// mock ended there are none.
    pub graders: Vec<GraderResult>,
    /// Whether a refused request ended the run: it scores 0, and its case has no difference.
    pub request_failed: bool,
}

/// The result of a grader.
#[derive(Debug, Clone, PartialEq)]
pub struct GraderResult {
    /// Its name.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// Its weight.
    pub weight: f64,
    /// Why.
    pub explanation: String,
    /// Whether it only shows that the plugin was used.
    pub with_only: bool,
    /// Whether it counts.
    pub scored: bool,
    /// The votes of its judge, if it has one that was asked.
    pub votes: Option<Vec<bool>>,
}

/// Grades a run.
pub fn grade_run(case: &EvalCase, evidence: &Evidence, arms: EvalArms, arm: EvalArm) -> RunGrades {
    let is_compared = arms == EvalArms::WithAndWithout;
    // Where nothing else is left to count, they do.
    let has_mocks = case.mocks_only_its_plugin();
    let are_all = case.graders.iter().all(|grader| grader.is_with_only(has_mocks));
    let is_indicator = |grader: &EvalGrader| is_compared && !are_all && grader.is_with_only(has_mocks);
    let request_failed = evidence.request_failed;
    if evidence.aborted.is_some() || request_failed {
        return RunGrades { score: 0.0, passed: false, graders: Vec::new(), request_failed };
    }
    let mut graders = Vec::new();
    for grader in &case.graders {
        let with_only = is_indicator(grader);
        if with_only && arm == EvalArm::Without {
            continue;
        }
        let Decision { passed, explanation, votes } = decide(grader, evidence);
        graders.push(GraderResult {
            name: grader.name.clone(),
            passed,
            weight: grader.weight,
            explanation,
            with_only,
            scored: !with_only,
            votes,
        });
    }
    let counted = || graders.iter().filter(|grader| grader.scored);
    let weight: f64 = counted().map(|grader| grader.weight).sum();
    let won: f64 = counted().filter(|grader| grader.passed).map(|grader| grader.weight).sum();
    // An empty sum is -0.
    let score = if weight <= 0.0 { 0.0 } else { won / weight + 0.0 };
    RunGrades { score, passed: counted().all(|grader| grader.passed), graders, request_failed }
}

/// The numbers of a case, over its runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CaseScores {
    /// The mean score with the plugin.
    pub score: f64,
    /// The share of these runs that passed.
    pub pass_rate: f64,
    /// The mean score without it. Unknown if a refused request ended a run.
    pub score_without: Option<f64>,
    /// The share of these runs that passed.
    pub pass_rate_without: Option<f64>,
    /// The difference of the scores.
    pub delta: Option<f64>,
}

/// The numbers of a case. `None` if there is no run with the plugin.
pub fn case_scores(with: &[RunGrades], without: &[RunGrades]) -> Option<CaseScores> {
    let mean = |runs: &[RunGrades], value: fn(&RunGrades) -> f64| {
        (!runs.is_empty()).then(|| runs.iter().map(value).sum::<f64>() / runs.len() as f64)
    };
    let score = |run: &RunGrades| run.score;
    let pass = |run: &RunGrades| f64::from(u8::from(run.passed));
    let own = mean(with, score)?;
    let is_comparable = with.iter().chain(without).all(|run| !run.request_failed);
    let other = mean(without, score).filter(|_| is_comparable);
    Some(CaseScores {
        score: own,
        pass_rate: mean(with, pass)?,
        score_without: other,
        pass_rate_without: mean(without, pass),
        delta: other.map(|other| own - other),
    })
}

/// Whether a judge's reply is a vote to pass: it has the word PASS, and not the word FAIL, in any case of letters.
pub fn is_pass_vote(reply: &str) -> bool {
    let has = |word: &str| words(reply).any(|own| own.eq_ignore_ascii_case(word));
    has("PASS") && !has("FAIL")
}

/// The words of a text: runs of the characters of JavaScript's `\w`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_')
}

struct Decision {
    passed: bool,
    explanation: String,
    votes: Option<Vec<bool>>,
}

impl Decision {
    fn new(passed: bool, explanation: String) -> Self {
        Self { passed, explanation, votes: None }
    }

    fn failed(explanation: impl Into<String>) -> Self {
        Self::new(false, explanation.into())
    }
}

fn decide(grader: &EvalGrader, evidence: &Evidence) -> Decision {
    match &grader.check {
        GraderCheck::Regex { target, pattern, rule } => {
            let text = match target_text(target, evidence) {
                Ok(text) => text,
                Err(why) => return Decision::failed(why.to_string()),
            };
            let result = match rule {
                MatchRule::Contains | MatchRule::NotContains => pattern.find(&text).map(|found| {
                    let passed = found.is_some() == (*rule == MatchRule::Contains);
                    Decision::new(passed, found_or_not(found.as_deref(), target))
                }),
                MatchRule::Count(expected) => pattern.count(&text).map(|found| {
                    let explanation = format!("found {found} matches (expected {expected})");
                    Decision::new(found == *expected, explanation)
                }),
            };
            result.unwrap_or_else(|error| Decision::failed(error.to_string()))
        }
        GraderCheck::ToolUsed { call, min, max } => tool_used(call, *min, *max, evidence),
        GraderCheck::ToolOrder { before, after } => tool_order(before, after, evidence),
        GraderCheck::FileExists { path, exists } => {
            let found = evidence.created.iter().any(|created| path.matches(created));
            let state = if found { "was created" } else { "was not created" };
            Decision::new(found == *exists, format!("{} {state}", path.source()))
        }
        GraderCheck::Llm { .. } | GraderCheck::Baseline { .. } => judged(grader, evidence),
    }
}

fn found_or_not(found: Option<&str>, target: &GraderTarget) -> String {
    match found {
        Some(found) => format!("matched {}", assay_diagnostic::clean_start(found, SHOWN)),
        None => format!("pattern not found in {}", target.word()),
    }
}

/// Why there is no text for a grader.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoTargetText {
    /// The file is not there.
    #[error("{0} does not exist")]
    Missing(String),
    /// It is no regular file, or too large.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// Calls of mocks, where there are no mocks.
    #[error("no tool was mocked in this run")]
    NoMocks,
}

/// The text that a grader reads.
///
/// # Errors
/// It does not exist. Such a grader fails, whatever it asks for.
pub fn target_text(target: &GraderTarget, evidence: &Evidence) -> Result<String, NoTargetText> {
    match target {
        GraderTarget::LastMessage => Ok(evidence.last_message.clone()),
        GraderTarget::Trace => Ok(evidence.trace.join("\n")),
        GraderTarget::Files => Ok(evidence.created.iter().cloned().collect::<Vec<_>>().join("\n")),
        GraderTarget::File(path) => match evidence.files.get(path) {
            Some(FileState::Text(text)) => Ok(text.clone()),
            Some(FileState::Unreadable(why)) => {
                Err(NoTargetText::Unreadable { path: path.clone(), why: why.clone() })
            }
            None => Err(NoTargetText::Missing(path.clone())),
        },
        GraderTarget::MockCalls => match &evidence.mock_calls {
            Some(calls) => Ok(calls.join("\n")),
            None => Err(NoTargetText::NoMocks),
        },
    }
}

fn tool_used(call: &CallPattern, min: u32, max: Option<u32>, evidence: &Evidence) -> Decision {
    let mut count = 0_u32;
    for made in &evidence.calls {
        match matches_call(call, made) {
            Ok(is_match) => count = count.saturating_add(u32::from(is_match)),
            Err(why) => return Decision::failed(why.to_string()),
        }
    }
    let passed = count >= min && max.is_none_or(|max| count <= max);
    let most = max.map_or_else(|| "∞".to_owned(), |max| max.to_string());
    Decision::new(passed, format!("{} called {count}x (expected {min}..{most})", call.tool))
}

fn tool_order(before: &CallPattern, after: &CallPattern, evidence: &Evidence) -> Decision {
    let first = |pattern: &CallPattern| -> Result<Option<usize>, SearchError> {
        for (at, made) in evidence.calls.iter().enumerate() {
            if matches_call(pattern, made)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    };
    let (earlier, later) = match (first(before), first(after)) {
        (Ok(earlier), Ok(later)) => (earlier, later),
        (Err(why), _) | (_, Err(why)) => return Decision::failed(why.to_string()),
    };
    match (earlier, later) {
        (None, _) => Decision::failed(format!("before: {} was never called", before.tool)),
        (_, None) => Decision::failed(format!("after: {} was never called", after.tool)),
        (Some(earlier), Some(later)) => {
            let word = if earlier < later { "precedes" } else { "does not precede" };
            let explanation = format!("{}@{earlier} {word} {}@{later}", before.tool, after.tool);
            Decision::new(earlier < later, explanation)
        }
    }
}

fn matches_call(pattern: &CallPattern, made: &CallMade) -> Result<bool, SearchError> {
    if pattern.tool != made.tool {
        return Ok(false);
    }
    match &pattern.input {
        None => Ok(true),
        Some(input) => input.find(&compact_json(&made.input)).map(|found| found.is_some()),
    }
}

fn judged(grader: &EvalGrader, evidence: &Evidence) -> Decision {
    if let GraderCheck::Llm { focus, .. } = &grader.check
        && let Err(why) = target_text(focus, evidence)
    {
        return Decision::failed(why.to_string());
    }
    let Some(replies) = evidence.votes.get(&grader.name) else {
        return Decision::failed("its judge was not asked");
    };
    let votes: Vec<bool> = replies.iter().map(|reply| is_pass_vote(reply)).collect();
    let words: Vec<&str> = votes.iter().map(|vote| if *vote { "PASS" } else { "FAIL" }).collect();
    let passed = votes.iter().filter(|vote| **vote).count() >= MAJORITY;
    Decision { passed, explanation: format!("judge votes: {}", words.join(" ")), votes: Some(votes) }
}
