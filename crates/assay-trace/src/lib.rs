//! What an agent did, and which skills reached it.
//!
//! [`Trajectory`] is the Agent Trajectory Interchange Format (ATIF) of the Harbor project, as far as assay writes it;
//! [`exposure`] turns a trajectory into facts about skills. This crate knows nothing of trials.

mod exposure;
mod trajectory;

pub use exposure::{Execution, Exposure, OfferedSkill, carries, exposure};
pub use trajectory::{
    AgentInfo, FinalMetrics, Metrics, Observation, ObservationResult, Source, Step, ToolCall, Trajectory,
};
