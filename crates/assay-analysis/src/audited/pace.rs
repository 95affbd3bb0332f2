//! Says now and then how far an audit is.

use std::time::{Duration, Instant};

/// An audit that takes no longer says nothing.
const FIRST: Duration = Duration::from_secs(3);

/// Between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// Decides when a line about progress is due: the first after three seconds, then one every ten.
#[derive(Debug, Clone, Copy)]
pub struct AuditPace {
    next: Instant,
}

impl Default for AuditPace {
    fn default() -> Self {
        Self { next: Instant::now() + FIRST }
    }
}

impl AuditPace {
    /// The line, if one is due: `what` is as in [`super::Notices::progress`].
    pub fn describe_progress(&mut self, what: &str, done: usize, total: usize) -> Option<String> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        self.next = now + INTERVAL;
        Some(format!("{what}: {done} of {total}"))
    }
}
