//! Executing trials: the executor, the life of a trial, and its environment.

pub(crate) mod attempt;
pub(crate) mod backend;
pub(crate) mod broken;
pub(crate) mod budget;
pub(crate) mod cleanup;
pub(crate) mod cli_agents;
pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod egress_proxy;
pub(crate) mod env;
pub(crate) mod environment;
pub(crate) mod execute;
pub(crate) mod executor;
pub(crate) mod findings;
pub(crate) mod image_scan;
pub(crate) mod life;
pub(crate) mod local;
pub(crate) mod open_agent;
pub(crate) mod prep_cache;
pub(crate) mod resolve;
pub(crate) mod route;
mod sandbox_record;
pub(crate) mod single;
pub(crate) mod steps;
pub(crate) mod tamper;
pub(crate) mod trial;
pub(crate) mod verifier;
