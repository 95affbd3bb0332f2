//! Rubrics: lists of requirements by which a result is judged that no test can check, and judgements outside of trials.
//!
//! - [`Rubric`] is one as data, with its own file format; [`Rubric::scores`] computes scores from verdicts.
//! - [`find`] reads the formats in use below a folder into [`Scenario`]s: an instruction with its rubric.
//! - [`write_task`] writes a scenario as a task in Harbor's layout whose verifier is `tests/rubric.json`.
//! - [`check`] finds defects of a rubric; [`check_folders`] checks those of folders.
//! - [`Case`] is what a judge is asked about a result; its reply counts only with evidence.
//! - [`Pair`] is the same for two results: which of them fulfils an instruction better.
//! - [`mod@format`] has the readers and writers by format.
//!
//! - [`read_items`] and [`read_pairs`] read tables that a [`JudgePanel`] of language models judges, by `assay-ask`.
//! - [`measure_agreement`] compares verdicts with labels, and [`correct_rates`] corrects rates for a judge's errors.
//! - [`read_sheet_file`] and [`make_labels`] are for labels of people.
//!
//! - [`DirectiveFinder`] and [`DirectiveJudge`] ask models about the directives of skills and the runs that an audit reads.
//!
//! A rubric that is read is checked. Only these and [`JudgePanel`] ask models; nothing here prints.

mod agreement;
mod ask;
mod batch;
mod cells;
mod check;
mod check_folders;
mod correct;
mod directives;
mod export;
mod family;
mod figures;
pub mod format;
#[cfg(test)]
mod fuzz;
mod import;
mod labels;
mod pair;
pub mod planted;
mod rubric;
mod scenario;
mod score;
mod task;
mod verdicts;

pub use agreement::{LabelAgreement, LabelSource, measure_agreement};
pub use ask::{Case, FILE, LEAST_QUOTE, MATERIAL_FOLDER, PROTOCOL, Request, Ruling, Undecided, majority};
pub use batch::{
    BatchForecast, BatchJudgeError, BatchKind, BatchTableError, ItemColumns, ItemTable, ItemVerdicts,
    JudgePanel, PairChoices, PairColumns, PairTable, RecordedChoices, SameFamilyError, check_absent,
    check_families, read_items, read_pairs, read_recorded_pairs,
};
pub use check::{Context, Defect, Finding, check};
pub use check_folders::{CheckedRubrics, RubricCheckError, check_folders};
pub use correct::{CorrectedRates, RateCorrection, RateCorrectionError, correct_rates};
pub use directives::{DirectiveFinder, DirectiveJudge, DirectiveJudgement, DirectiveVerdict};
pub use export::{ExportError, Exported, export};
pub use family::{family, is_same_family};
pub use figures::{figure_cell, interval_ends};
pub use format::Format;
pub use import::{
    ImportedRubric, ImportedRubrics, RecordedScores, RubricImport, RubricRefusal, import_rubrics,
};
pub use labels::{
    AddedFeedback, FeedbackError, LabelRequest, LabelSummary, LabelsError, SheetFileError, SheetLabels,
    make_labels, read_sheet_file,
};
pub use pair::{Choice, Pair, PairRuling, pair_majority};
pub use rubric::{
    Aggregation, Check, Class, Item, Kind, MAX_DEPTH, Rubric, RubricError, SCHEMA, Set, Unverifiable,
};
pub use scenario::{Infeasible, Input, Refused, Scenario, Scenarios, find};
pub use score::{ScoreError, Scores, Verdict};
pub use task::{RUBRIC, TaskError, write_task};
pub use verdicts::{
    ClusterNumbers, LabeledItem, VerdictColumns, VerdictRow, VerdictTableError, has_column,
    read_labeled_items, read_verdicts, use_booleans,
};
