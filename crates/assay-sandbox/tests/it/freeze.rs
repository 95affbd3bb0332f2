//! Sandboxes that stand still while something outside is waited for.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_sandbox::{Exit, FreezeSignal, NoSandbox, Sandbox, Session};

use crate::common::{command, mount, needs_bubblewrap, spec, start, within};

/// A hold in a test's hand.
#[derive(Debug, Default)]
pub(crate) struct Hand {
    times: Mutex<(Option<Instant>, Duration)>,
    over: AtomicBool,
}

impl Hand {
    pub(crate) fn close(&self) {
        self.times.lock().unwrap().0 = Some(Instant::now());
    }

    pub(crate) fn open(&self) {
        let mut times = self.times.lock().unwrap();
        let since = times.0.take().unwrap();
        times.1 += since.elapsed();
    }
}

impl FreezeSignal for Hand {
    fn is_set(&self) -> bool {
        self.times.lock().unwrap().0.is_some()
    }

    fn set_time(&self) -> Duration {
        let (since, before) = *self.times.lock().unwrap();
        before + since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Counts in the background, in a session of its own, and in front; ends when it is told to.
const COUNT: &str = "cd $OUT; count() { i=0; while :; do i=$((i+1)); echo $i > $1.new; mv $1.new $1; sleep 0.01; done; }; \
                     export -f count; setsid bash -c 'count far' & count near & while [ ! -e end ]; do sleep 0.01; done";

fn count(folder: &Path, name: &str) -> u64 {
    fs::read_to_string(folder.join(name)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Waits until nothing counts any more.
fn comes_to_a_stand<T: PartialEq>(counts: &dyn Fn() -> T) {
    let is_still = || {
        let before = counts();
        std::thread::sleep(Duration::from_millis(300));
        before == counts()
    };
    assert!(within(Duration::from_secs(15), is_still), "it does not stand still");
}

/// The counters' command in a session, held for longer than its time.
pub(crate) fn stands_still(session: &mut dyn Session, folder: &Path, out: &str) {
    let hand = Arc::new(Hand::default());
    session.freeze_on(Arc::<Hand>::clone(&hand));
    let mut counters = command(&["bash", "-c", COUNT]);
    counters.env = vec![("OUT".to_owned(), out.to_owned())];
    let held = Duration::from_secs(3);
    counters.deadline = Some(Instant::now() + Duration::from_secs(20));
    let (outcome, stood) = std::thread::scope(|scope| {
        let running = scope.spawn(|| session.exec(&counters, &AtomicBool::new(false)));
        let both = || [count(folder, "near"), count(folder, "far")];
        assert!(within(Duration::from_secs(15), || both().iter().all(|count| *count > 3)), "nothing counts");
        hand.close();
        comes_to_a_stand(&both);
        let before = both();
        std::thread::sleep(held);
        let after = both();
        hand.open();
        assert!(
            within(Duration::from_secs(15), || both()[0] > after[0] && both()[1] > after[1]),
            "it stays still"
        );
        fs::write(folder.join("end"), "").unwrap();
        (running.join().unwrap().unwrap(), before == after)
    });
    assert!(stood, "something counted while it stood still");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", outcome.stdout.text());
    assert!(outcome.wall > held);
}

#[test]
fn all_that_runs_stands_still_and_goes_on() {
    needs_bubblewrap!();
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec();
    spec.mounts.push(mount(folder.path(), "/out", true));
    let mut session = start(&spec);
    stands_still(&mut *session, folder.path(), "/out");
    let frozen = session.stop().unwrap().frozen_seconds.unwrap();
    assert!(frozen >= 3.0, "{frozen}");
}

/// Its time ends later by what it was held, and not before.
#[test]
fn time_that_is_held_is_not_a_commands() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    let hand = Arc::new(Hand::default());
    session.freeze_on(Arc::<Hand>::clone(&hand));
    let mut late = command(&["sleep", "1000"]);
    late.deadline = Some(Instant::now() + Duration::from_secs(1));
    hand.close();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(3));
            hand.open();
        });
        session.exec(&late, &AtomicBool::new(false)).unwrap()
    });
    assert_eq!(outcome.exit, Exit::Deadline);
    assert!(outcome.wall >= Duration::from_secs(4), "{:?}", outcome.wall);
    // What was held before a command began is none of its time.
    late.deadline = Some(Instant::now() + Duration::from_millis(300));
    assert_eq!(session.exec(&late, &AtomicBool::new(false)).unwrap().exit, Exit::Deadline);
}

#[test]
fn what_stands_still_can_be_ended() {
    needs_bubblewrap!();
    ends_while_still(&mut || start(&spec()));
}

/// Interrupts a command that stands still, and one that nothing will come for.
pub(crate) fn ends_while_still(make: &mut dyn FnMut() -> Box<dyn Session>) {
    let mut end = |act: &(dyn Fn(&Hand, &AtomicBool) + Sync)| {
        let mut session = make();
        let hand = Arc::new(Hand::default());
        session.freeze_on(Arc::<Hand>::clone(&hand));
        hand.close();
        let cancel = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                act(&hand, &cancel);
            });
            session.exec(&command(&["sleep", "1000"]), &cancel).unwrap()
        });
        assert_eq!(outcome.exit, Exit::Cancelled);
        session.stop().unwrap();
    };
    end(&|_, cancel| cancel.store(true, Ordering::Relaxed));
    end(&|hand, _| hand.over.store(true, Ordering::Relaxed));
}

#[test]
fn a_process_group_without_a_sandbox_stands_still_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = NoSandbox.start(&spec()).unwrap();
    let hand = Arc::new(Hand::default());
    session.freeze_on(Arc::<Hand>::clone(&hand));
    let script = format!(
        "cd {}; i=0; while [ ! -e end ]; do i=$((i+1)); echo $i > n; sleep 0.01; done",
        folder.path().display()
    );
    std::thread::scope(|scope| {
        let counter = command(&["bash", "-c", &script]);
        let running = scope.spawn(move || session.exec(&counter, &AtomicBool::new(false)).unwrap().exit);
        assert!(within(Duration::from_secs(15), || count(folder.path(), "n") > 3), "nothing counts");
        hand.close();
        comes_to_a_stand(&|| count(folder.path(), "n"));
        hand.open();
        fs::write(folder.path().join("end"), "").unwrap();
        assert_eq!(running.join().unwrap(), Exit::Code(0));
    });
}
