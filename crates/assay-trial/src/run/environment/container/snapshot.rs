//! A container's files from one step of a task to the next.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use assay_sandbox::docker::Snapshot;

use super::services::Services;
use crate::run::image_scan::ImageInventory;
use crate::run::prep_cache::Prepared;

/// The container's files after a step.
pub(crate) struct ContainerSnapshot {
    pub(super) files: Arc<Snapshot>,
    pub(super) prepared: Arc<Prepared>,
    pub(super) scan: Arc<ImageInventory>,
    /// The services, as the step has left them.
    pub(super) services: Option<Rc<Services>>,
    /// Paths of the agent's own state, which is no part of its work.
    pub(super) state: Vec<PathBuf>,
}
