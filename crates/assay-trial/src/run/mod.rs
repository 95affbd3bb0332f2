//! Executing trials: the executor, the life of a trial, and what it works in.

pub(crate) mod backend;
pub(crate) mod budget;
pub(crate) mod cli_agents;
pub(crate) mod egress_proxy;
pub(crate) mod environment;
pub(crate) mod image_scan;
pub(crate) mod life;
pub(crate) mod local;
pub(crate) mod prep_cache;
pub(crate) mod tamper;
pub(crate) mod verifier;
