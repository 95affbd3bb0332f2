//! A benchmark report for each task, with a recommendation.

mod document;
mod markdown;
mod oracle;
mod recommend;

pub use document::{
    PolicyCheck, PolicyFinding, ReviewedSkill, ReviewedTask, TaskReview, TaskReviewDocument, distinct_names,
};
pub use markdown::{review_markdown, summarize_reviews};
pub use oracle::{OracleResults, OracleTrial};
pub use recommend::{Recommendation, ReviewChoice, ReviewReason};
