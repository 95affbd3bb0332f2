//! One file a command: parse, call, print.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod corpus;
pub(crate) mod dependencies;
pub(crate) mod doctor;
pub(crate) mod gateway;
pub(crate) mod gc;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod lint;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod route;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod simulate;
pub(crate) mod task;
pub(crate) mod trace;
pub(crate) mod trial;
