//! This process, as an owner of leases and work folders.

use std::io;
use std::sync::Arc;

use crate::heartbeat::Heartbeat;
use crate::owner::Owner;
use crate::work::WorkFolder;

/// The process's identity, and where the files of executed trials are.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) owner: Owner,
    pub(crate) work: WorkFolder,
    pub(crate) heartbeat: Arc<Heartbeat>,
}

impl Process {
    /// This one.
    pub(crate) fn current() -> io::Result<Self> {
        Ok(Self { owner: Owner::current()?, work: WorkFolder::default(), heartbeat: Arc::default() })
    }
}
