//! The crate on real data, which are outside the project: `ASSAY_SHARED` names their folder.

mod funnel;
mod fuzz;
mod health;
