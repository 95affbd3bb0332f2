//! This process, as a store knows it.

use std::io;

use crate::owner::Owner;
use crate::work::WorkFolder;

/// Who it is, and where what it executes has its files.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) owner: Owner,
    pub(crate) work: WorkFolder,
}

impl Process {
    /// This one.
    pub(crate) fn current() -> io::Result<Self> {
        Ok(Self { owner: Owner::current()?, work: WorkFolder::default() })
    }
}
