//! Trigger requests: what users would send that a skill serves, for tests of search, routing and triggering.
//!
//! The method is that of SkillRet (section 3.2 and appendix C of its paper). A [`Sampler`] draws the skills and the
//! [`Style`] of each request, [`WritePrompt`] is what a model gets, [`Checks`] reject what copies or names a skill, and
//! three reviews ([`Review`]) decide by the rule of [`decide`]. [`Pool`] divides a library into skills for training
//! and for evaluation. [`RequestWriter`] draws, asks [`RequestModels`], and writes the files.

mod calls;
mod check;
mod drafted;
mod library;
mod output;
mod pool;
mod prompt;
mod report;
mod review;
mod rounds;
mod sample;
mod session_requests;
mod skills;
mod style;
mod suite;
mod writer;

pub use self::calls::RequestModels;
pub use self::check::{
    Checks, Facts, Fault, LONGEST_CHARACTERS, LONGEST_WORDS, MOST_OVERLAP, NEAR_DUPLICATE, SHORTEST_WORDS,
    facts,
};
pub use self::drafted::DraftedRequests;
pub use self::library::RequestLibrary;
pub use self::output::RequestFiles;
pub use self::pool::Pool;
pub use self::prompt::{NULL_TOKEN, Prompt, PromptFile, SKILL_CAP, WritePrompt, written};
pub use self::report::RequestReport;
pub use self::review::{Decision, Opinion, Review, ReviewPrompt, SUMMARY_CAP, decide};
pub use self::rounds::RequestKind;
pub use self::sample::{Draw, SIZES, Sampler};
pub use self::skills::{COPY, Skill, Skills};
pub use self::style::{STYLES, Style};
pub use self::suite::check_new_experiment;
pub use self::writer::{RequestForecast, RequestOutput, RequestWriter};
