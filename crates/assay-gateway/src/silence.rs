//! How long a provider with a pending request has sent nothing.

use std::time::{Duration, Instant};

/// Measures the time during which requests are pending and nothing is received. Idle time does not
/// count.
#[derive(Debug, Default)]
pub(crate) struct Silence {
    under_way: usize,
    since: Option<Instant>,
    so_far: Duration,
    longest: Duration,
}

impl Silence {
    /// A request is sent, or continues after a wait.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.under_way += 1;
        self.since.get_or_insert(now);
    }

    /// A request has ended, or waits.
    pub(crate) fn end(&mut self, now: Instant) {
        self.under_way = self.under_way.saturating_sub(1);
        if self.under_way == 0
            && let Some(since) = self.since.take()
        {
            self.so_far += now.saturating_duration_since(since);
        }
    }

    /// Data was received.
    pub(crate) fn note_data(&mut self, now: Instant) {
        self.longest = self.longest(now);
        self.so_far = Duration::ZERO;
        self.since = (self.under_way > 0).then_some(now);
    }

    /// The longest silence, including the current one.
    pub(crate) fn longest(&self, now: Instant) -> Duration {
        let current = self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.longest.max(self.so_far + current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_only_pending_requests() {
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        let longest = |silence: &Silence, second: u64| silence.longest(at(second)).as_secs();
        let mut silence = Silence::default();
        assert_eq!(longest(&silence, 100), 0, "no request was sent");
        silence.begin(at(100));
        assert_eq!(longest(&silence, 107), 7);
        silence.note_data(at(110));
        silence.note_data(at(111));
        silence.end(at(111));
        assert_eq!(longest(&silence, 500), 10, "idle time is not silence");
        // Given up and sent again: nothing was received yet.
        silence.begin(at(500));
        silence.end(at(508));
        silence.begin(at(600));
        assert_eq!(longest(&silence, 605), 13);
        // Two concurrent requests count once.
        silence.begin(at(605));
        silence.end(at(606));
        assert_eq!(longest(&silence, 610), 18);
        silence.note_data(at(610));
        assert_eq!(longest(&silence, 611), 18);
    }
}
