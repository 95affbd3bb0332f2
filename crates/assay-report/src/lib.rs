//! Reports for the terminal and as Markdown, HTML and JSON.
//!
//! Renderers format results and compute none. Names from skills, tasks and models are untrusted:
//! each renderer escapes them for its medium.

mod appraisal;
mod audit;
mod cells;
mod columns;
mod comparison_text;
mod diagnosis;
mod doc;
mod exhibit;
mod forecast;
mod html;
mod inline;
mod json;
mod labels;
mod links;
mod markdown;
mod next_steps;
mod notes;
mod plot;
mod redact;
mod renderer;
mod sections;
mod sentences;
mod short;
mod svg;
#[cfg(target_os = "linux")]
pub mod task_review;
mod terminal;
mod text;
mod trace_stats;
mod trace_totals;
mod transcript;
mod trial_text;
mod view;
mod wrap;

pub use appraisal::{
    appraisal_badge, appraisal_html, appraisal_markdown, appraisal_sentence, appraisal_text,
};
pub use audit::{align_columns, audit_text};
pub use comparison_text::comparison_text;
pub use diagnosis::diagnosis_text;
pub use exhibit::{Exhibit, Piece};
pub use forecast::{cost_words, forecast_text};
pub use html::{report_style, run_html};
pub use json::WithNotes;
pub use links::{Links, Target};
pub use next_steps::next_step;
pub use notes::{changed_records, note, record_origins};
pub use plot::bars::Bar;
pub use redact::redact;
pub use renderer::{Renderer, Style};
pub use sentences::{answer, verdict_line};
pub use svg::plots;
pub use text::{clean, counted, percent, points, pp, seconds, shell_word, usd, with_store};
pub use trace_stats::{
    may_be_read, session_title, token_fields, token_lines, trace_cost_words, trace_stats_text,
};
pub use trace_totals::{TraceTotals, trace_document};
pub use transcript::transcript_text;
pub use trial_text::{TrialFiles, run_cells_text, trial_heading, trial_text};
pub use view::{PAIR_STYLE, PairOptions, pair_html, view_html, view_text};
pub use wrap::wrap_lines;

/// All renderers.
pub const RENDERERS: [&dyn Renderer; 4] =
    [&terminal::Terminal, &markdown::Markdown, &html::Html, &json::Json];

/// A renderer by its name.
pub fn find_renderer(name: &str) -> Option<&'static dyn Renderer> {
    RENDERERS.into_iter().find(|renderer| renderer.name() == name)
}
