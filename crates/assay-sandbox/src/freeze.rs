//! Freezes a sandbox while something outside of it is waited for; that time is not charged to the
//! command.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Says when a sandbox must be frozen.
pub trait FreezeSignal: fmt::Debug + Send + Sync {
    /// Whether it must be frozen now.
    fn is_set(&self) -> bool;

    /// The total time so far for which it had to be frozen, the current period included. The
    /// deadline of a command is extended by the increase while it runs.
    fn set_time(&self) -> Duration;

    /// Whether the command has to be ended: what it waits for will not come.
    fn is_over(&self) -> bool;
}

/// The freeze signal of a session, and how long it was frozen.
#[derive(Debug, Clone, Default)]
pub(crate) struct FreezeState {
    pub(crate) signal: Option<Arc<dyn FreezeSignal>>,
    pub(crate) frozen: Duration,
}

impl FreezeState {
    /// For [`crate::Usage::frozen_seconds`].
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.signal.as_ref().map(|_| self.frozen.as_secs_f64())
    }
}

/// The clock of one command.
#[derive(Debug)]
pub(crate) struct Clock {
    signal: Option<Arc<dyn FreezeSignal>>,
    deadline: Option<Instant>,
    /// The freeze time before the command started.
    before: Duration,
    since: Option<Instant>,
    frozen: Duration,
}

impl Clock {
    pub(crate) fn start(state: &FreezeState, deadline: Option<Instant>) -> Self {
        let signal = state.signal.clone();
        let before = signal.as_ref().map_or(Duration::ZERO, |signal| signal.set_time());
        Self { signal, deadline, before, since: None, frozen: Duration::ZERO }
    }

    /// The deadline, as far as currently known.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let paused = self.signal.as_ref().map_or(Duration::ZERO, |signal| signal.set_time());
        Some(self.deadline? + paused.saturating_sub(self.before))
    }

    /// Whether the command has to be ended early.
    pub(crate) fn is_over(&self) -> bool {
        self.signal.as_ref().is_some_and(|signal| signal.is_over())
    }

    /// Whether the sandbox must be frozen now.
    pub(crate) fn is_set(&self) -> bool {
        self.signal.as_ref().is_some_and(|signal| signal.is_set())
    }

    /// The next action: freeze, thaw, or nothing.
    pub(crate) fn turn(&mut self) -> Option<Turn> {
        match (self.is_set(), self.since) {
            (true, None) => {
                self.since = Some(Instant::now());
                Some(Turn::Freeze)
            }
            (false, Some(_)) => self.thaw(),
            _ => None,
        }
    }

    /// Thaws, if frozen.
    pub(crate) fn thaw(&mut self) -> Option<Turn> {
        self.frozen += self.since.take()?.elapsed();
        Some(Turn::Thaw)
    }

    /// How long the sandbox was frozen.
    pub(crate) fn frozen(&self) -> Duration {
        self.frozen
    }
}

/// A change of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Freeze it.
    Freeze,
    /// Thaw it.
    Thaw,
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct TestSignal(Mutex<(bool, Duration)>);

    impl FreezeSignal for TestSignal {
        fn is_set(&self) -> bool {
            self.0.lock().unwrap().0
        }
        fn set_time(&self) -> Duration {
            self.0.lock().unwrap().1
        }
        fn is_over(&self) -> bool {
            false
        }
    }

    #[test]
    fn deadline_is_extended_by_the_freeze_time() {
        let signal = Arc::new(TestSignal::default());
        let set = |held, seconds| *signal.0.lock().unwrap() = (held, Duration::from_secs(seconds));
        set(false, 40);
        let at = Instant::now() + Duration::from_secs(5);
        let state = FreezeState { signal: Some(signal.clone()), frozen: Duration::ZERO };
        let mut clock = Clock::start(&state, Some(at));
        assert_eq!((clock.turn(), clock.deadline()), (None, Some(at)));
        set(true, 41);
        assert_eq!((clock.turn(), clock.turn()), (Some(Turn::Freeze), None));
        set(true, 43);
        assert_eq!(clock.deadline(), Some(at + Duration::from_secs(3)));
        set(false, 43);
        assert_eq!((clock.turn(), clock.turn(), clock.thaw()), (Some(Turn::Thaw), None, None));
        assert!(clock.frozen() > Duration::ZERO);
        assert_eq!(Clock::start(&FreezeState::default(), None).deadline(), None);
    }
}
