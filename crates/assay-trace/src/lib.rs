//! What an agent did, and which skills reached it.
//!
//! [`Trajectory`] is the Agent Trajectory Interchange Format (ATIF) of the Harbor project. Every
//! reader in [`read`] converts its format into it; [`exposure`] turns a trajectory into facts about
//! skills; [`Tally`] counts tokens. This crate does not depend on trials.

mod diagnostic;
mod exposure;
mod offered;
mod price;
pub mod read;
mod reference;
mod sent_text;
mod shell;
mod stats;
mod trajectory;
mod usage;
mod watch;
mod work;

pub use assay_usage::{Price, Usage};
pub use diagnostic::Diagnostic;
pub use exposure::{Execution, Exposure, Follower, Ingestion, carries, exposure, ingestion, mentions};
pub use offered::OfferedSkill;
pub use price::{DatedPrice, Prices};
pub use sent_text::SentText;
pub use stats::{
    Cost, ModelUse, Repeated, SkillUse, Stats, duplicate, fuller, partial_duplicate, repeated, stats,
    stats_of,
};
pub use trajectory::{
    AgentInfo, FinalMetrics, Metrics, Observation, ObservationResult, Source, Step, SubagentRef, ToolCall,
    Trajectory,
};
pub use usage::{Counting, FIELDS, KnownUsage, Tally};
pub use watch::Watch;
pub use work::{Disclosure, Ended, Part, Placement};
