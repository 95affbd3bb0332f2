//! Time that is nobody's: a sandbox stands still while something outside of it is waited for.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Says when a sandbox is to stand still.
pub trait Hold: fmt::Debug + Send + Sync {
    /// Whether it is to stand still now.
    fn is_held(&self) -> bool;

    /// How long it was to so far, the present time included. The deadline of a command moves by what was added while it ran.
    fn held(&self) -> Duration;

    /// Whether what runs is to be ended: what it waits for will not come.
    fn is_over(&self) -> bool;
}

/// The holds of a session, and how long it stood still.
#[derive(Debug, Clone, Default)]
pub(crate) struct Holds {
    pub(crate) hold: Option<Arc<dyn Hold>>,
    pub(crate) frozen: Duration,
}

impl Holds {
    /// For [`crate::Usage::frozen_seconds`].
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.hold.as_ref().map(|_| self.frozen.as_secs_f64())
    }
}

/// The time of one command.
#[derive(Debug)]
pub(crate) struct Clock {
    hold: Option<Arc<dyn Hold>>,
    deadline: Option<Instant>,
    /// What was held before it began.
    before: Duration,
    since: Option<Instant>,
    frozen: Duration,
}

impl Clock {
    pub(crate) fn start(holds: &Holds, deadline: Option<Instant>) -> Self {
        let hold = holds.hold.clone();
        let before = hold.as_ref().map_or(Duration::ZERO, |hold| hold.held());
        Self { hold, deadline, before, since: None, frozen: Duration::ZERO }
    }

    /// When its time is over, as far as is known now.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let held = self.hold.as_ref().map_or(Duration::ZERO, |hold| hold.held());
        Some(self.deadline? + held.saturating_sub(self.before))
    }

    /// Whether it is to be ended before.
    pub(crate) fn is_over(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.is_over())
    }

    /// Whether its sandbox is to stand still now.
    pub(crate) fn is_held(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.is_held())
    }

    /// What to do now: freeze, thaw, or nothing.
    pub(crate) fn turn(&mut self) -> Option<Turn> {
        match (self.is_held(), self.since) {
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

    impl Hold for Hand {
        fn is_held(&self) -> bool {
            self.0.lock().unwrap().0
        }
        fn held(&self) -> Duration {
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
        let holds = Holds { hold: Some(hand.clone()), frozen: Duration::ZERO };
        let mut clock = Clock::start(&holds, Some(at));
        assert_eq!((clock.turn(), clock.deadline()), (None, Some(at)));
        set(true, 41);
        assert_eq!((clock.turn(), clock.turn()), (Some(Turn::Freeze), None));
        set(true, 43);
        assert_eq!(clock.deadline(), Some(at + Duration::from_secs(3)));
        set(false, 43);
        assert_eq!((clock.turn(), clock.turn(), clock.thaw()), (Some(Turn::Thaw), None, None));
        assert!(clock.frozen() > Duration::ZERO);
        assert_eq!(Clock::start(&Holds::default(), None).deadline(), None);
    }
}
