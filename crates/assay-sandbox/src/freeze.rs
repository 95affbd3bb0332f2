//! Time that is nobody's: a sandbox stands still while something outside of it is waited for.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Says when a sandbox is to stand still.
pub trait FreezeSignal: fmt::Debug + Send + Sync {
    /// Whether it is to stand still now.
    fn is_set(&self) -> bool;

    /// How long it was to so far, the present time included. The deadline of a command moves by what was added while it ran.
    fn set_time(&self) -> Duration;

    /// Whether what runs is to be ended: what it waits for will not come.
    fn is_over(&self) -> bool;
}

/// The state of a session, and how long it stood still.
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

/// The time of one command.
#[derive(Debug)]
pub(crate) struct Clock {
    signal: Option<Arc<dyn FreezeSignal>>,
    deadline: Option<Instant>,
    /// What was held before it began.
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

    /// When its time is over, as far as is known now.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let paused = self.signal.as_ref().map_or(Duration::ZERO, |signal| signal.set_time());
        Some(self.deadline? + paused.saturating_sub(self.before))
    }

    /// Whether it is to be ended before.
    pub(crate) fn is_over(&self) -> bool {
        self.signal.as_ref().is_some_and(|signal| signal.is_over())
    }

    /// Whether its sandbox is to stand still now.
    pub(crate) fn is_set(&self) -> bool {
        self.signal.as_ref().is_some_and(|signal| signal.is_set())
    }

    /// What to do now: freeze, thaw, or nothing.
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

    /// Whatever is to come runs.
    pub(crate) fn thaw(&mut self) -> Option<Turn> {
        self.frozen += self.since.take()?.elapsed();
        Some(Turn::Thaw)
    }

    /// How long its sandbox stood still.
    pub(crate) fn frozen(&self) -> Duration {
        self.frozen
    }
}

/// What is to be done to a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Have it stand still.
    Freeze,
    /// Have it go on.
    Thaw,
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct Hand(Mutex<(bool, Duration)>);

    impl FreezeSignal for Hand {
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
    fn a_deadline_moves_by_what_was_held_meanwhile() {
        let hand = Arc::new(Hand::default());
        let set = |held, seconds| *hand.0.lock().unwrap() = (held, Duration::from_secs(seconds));
        set(false, 40);
        let at = Instant::now() + Duration::from_secs(5);
        let state = FreezeState { signal: Some(hand.clone()), frozen: Duration::ZERO };
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
