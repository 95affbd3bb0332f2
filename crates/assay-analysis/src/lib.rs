//! Records to findings: pure functions from what lies in a store to what a report says.
//!
//! Nothing here calls a model, starts a sandbox or lays anything out. [`report`] gathers a run's records from a store,
//! [`find`] needs none; [`Report`] is what they find: the arms, their comparisons with the baseline, and the tasks.

mod arms;
mod compare;
mod comparisons;
mod controls;
mod explore;
mod forecast;
mod gather;
mod models;
mod overlap;
mod report;
mod result;
mod tasks;
mod tests_breakdown;

pub use assay_trial::Exclusion;

pub use compare::{LEAST_TASKS, LeftOutArm, RunComparison, SkillChange, compare, compare_gathered};
pub use controls::NegativeControls;
pub use explore::{
    Frontier, FrontierPoint, HeatMap, HeatRow, Pooled, Repetitions, Stratum, TopTask, TopTasks, UnknownCost,
    Variance,
};
pub use forecast::{
    ArmForecast, DesignForecast, LimitForecast, PlanForecast, ShapeForecast, VerdictChances, Wish,
    WishForecast, forecast,
};
pub use gather::Gathered;
pub use models::RepliedModel;
pub use report::{
    Arm, Comparison, EstimatedShare, ExposureShares, FamilyInterval, Report, SCHEMA, TaskArm, TaskRow,
    TokenCounts, find, report, report_selected,
};
pub use tests_breakdown::{TestArm, TestRow};
