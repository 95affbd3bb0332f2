//! Graders of a case, as they are declared.

use std::path::PathBuf;

use super::glob::PathGlob;
use super::pattern::JsPattern;

/// One grader.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalGrader {
    /// Its name, unique in its case.
    pub name: String,
    /// Its share of the score, above 0.
    pub weight: f64,
    /// In which arms it counts, where the case says so.
    pub arm: Option<GraderArm>,
    /// What it checks.
    pub check: GraderCheck,
    /// The file that declares it.
    pub file: PathBuf,
    /// The line in it, from 1.
    pub line: usize,
}

impl EvalGrader {
    /// Whether it shows only that the plugin was used: it cannot pass without one. Such a grader is no part of the
    /// score of a run with two arms, unless all graders of the case are of this kind. Where the case does not say so,
    /// these are calls of the tool `Skill`, and, if tools are mocked, the calls of these.
    pub fn is_with_only(&self, has_mocks: bool) -> bool {
        if let Some(arm) = self.arm {
            return arm == GraderArm::WithOnly;
        }
        match &self.check {
            GraderCheck::ToolUsed { call, .. } => call.tool == "Skill",
            GraderCheck::Regex { target, .. } | GraderCheck::Llm { focus: target, .. } => {
                has_mocks && *target == GraderTarget::MockCalls
            }
            _ => false,
        }
    }

    /// Whether a model decides it.
    pub fn is_judged(&self) -> bool {
        matches!(self.check, GraderCheck::Llm { .. } | GraderCheck::Baseline { .. })
    }
}

/// The arms in which a grader counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraderArm {
    /// `with-only`: in none, if there are two.
    WithOnly,
    /// `both`.
    Both,
}

/// What a grader checks.
#[derive(Debug, Clone, PartialEq)]
pub enum GraderCheck {
    /// `regex`: a pattern in a text.
    Regex {
        /// The text.
        target: GraderTarget,
        /// The pattern.
        pattern: JsPattern,
        /// How often it has to match.
        rule: MatchRule,
    },
    /// `tool_used`: how often a tool was called.
    ToolUsed {
        /// Which calls.
        call: CallPattern,
        /// At least so often.
        min: u32,
        /// At most so often.
        max: Option<u32>,
    },
    /// `tool_order`: the first call of one kind is before the first of another.
    ToolOrder {
        /// The earlier one.
        before: CallPattern,
        /// The later one.
        after: CallPattern,
    },
    /// `file_exists`: a file that was created in the run.
    FileExists {
        /// Its path.
        path: PathGlob,
        /// Whether there has to be one, or must be none.
        exists: bool,
    },
    /// `llm`: a judge's votes on a text.
    Llm {
        /// What the judge is told.
        criteria: String,
        /// The text.
        focus: GraderTarget,
    },
    /// `baseline`: a judge's votes on the run in comparison with a reference.
    Baseline {
        /// What the judge is told.
        criteria: String,
        /// The reference: its messages as JSON, one a line.
        reference: String,
    },
}

/// The text that a grader reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraderTarget {
    /// `last_message`.
    LastMessage,
    /// `trace`: the messages as JSON, one a line.
    Trace,
    /// `files`: the paths of files created in the run, one a line.
    Files,
    /// `{ source: file, path: … }`: the content of one file, by its path in the work folder, without `..`.
    File(String),
    /// `mock_calls`: calls of mocked tools, with their inputs and answers.
    MockCalls,
}

impl GraderTarget {
    /// Its word in a case.
    pub fn word(&self) -> &'static str {
        match self {
            Self::LastMessage => "last_message",
            Self::Trace => "trace",
            Self::Files => "files",
            Self::File(_) => "file",
            Self::MockCalls => "mock_calls",
        }
    }
}

/// How often a pattern has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchRule {
    /// `contains`: at least once.
    Contains,
    /// `not_contains`: never.
    NotContains,
    /// `count:N`: so often.
    Count(usize),
}

/// Some calls of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPattern {
    /// The tool's name.
    pub tool: String,
    /// A pattern in the call's input, as JSON without spaces.
    pub input: Option<JsPattern>,
}
