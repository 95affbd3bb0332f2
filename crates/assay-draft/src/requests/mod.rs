//! Trigger requests: what users would send that a skill serves, for tests of search, routing and triggering.
//!
//! The method is that of SkillRet (section 3.2 and appendix C of its paper). A [`Sampler`] draws the skills and the
//! [`Style`] of each request, [`WritePrompt`] is what a model gets, [`Checks`] reject what copies or names a skill, and
//! three reviews ([`Review`]) decide by the rule of [`decide`]. [`Pool`] divides a library into skills for training
//! and for evaluation. A caller asks the models.

mod check;
mod pool;
mod prompt;
mod review;
mod sample;
mod skills;
mod style;

pub use self::check::{
    Checks, Facts, Fault, LONGEST_CHARACTERS, LONGEST_WORDS, MOST_OVERLAP, NEAR_DUPLICATE, SHORTEST_WORDS,
    facts,
};
pub use self::pool::Pool;
pub use self::prompt::{NULL_TOKEN, Prompt, PromptFile, SKILL_CAP, WritePrompt, written};
pub use self::review::{Decision, Opinion, Review, ReviewPrompt, SUMMARY_CAP, decide};
pub use self::sample::{Draw, SIZES, Sampler};
pub use self::skills::{COPY, Skill, Skills};
pub use self::style::{STYLES, Style};
