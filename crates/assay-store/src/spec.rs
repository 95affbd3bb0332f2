//! Trials to execute, as data: they can be written to a file, carried to another machine and read
//! there.

pub(crate) mod agent;
pub(crate) mod judge;
pub(crate) mod network;
pub(crate) mod sandbox;
pub(crate) mod trial;
