//! What is to be executed, as data: it can be written to a file, carried to another machine and
//! read there.

pub(crate) mod agent;
pub(crate) mod network;
pub(crate) mod sandbox;
pub(crate) mod trial;
