//! Sandboxes that are frozen while something outside is waited for.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_sandbox::{Exit, FreezeSignal, NoSandbox, Sandbox, Session};

use crate::common::{command, mount, needs_bubblewrap, spec, start, within};

/// A freeze signal that a test controls.
#[derive(Debug, Default)]
pub(crate) struct TestSignal {
    times: Mutex<(Option<Instant>, Duration)>,
    over: AtomicBool,
}

impl TestSignal {
    pub(crate) fn close(&self) {
        self.times.lock().unwrap().0 = Some(Instant::now());
    }

    pub(crate) fn open(&self) {
        let mut times = self.times.lock().unwrap();
        let since = times.0.take().unwrap();
        times.1 += since.elapsed();
    }
}

impl FreezeSignal for TestSignal {
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

/// Counts in the background, in its own session, and in the foreground; ends when a file appears.
const COUNT: &str = "cd $OUT; count() { i=0; while :; do i=$((i+1)); echo $i > $1.new; mv $1.new $1; sleep 0.01; done; }; \
                     export -f count; setsid bash -c 'count far' & count near & while [ ! -e end ]; do sleep 0.01; done";

fn count(folder: &Path, name: &str) -> u64 {
    fs::read_to_string(folder.join(name)).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Waits until nothing counts any more.
fn wait_until_frozen<T: PartialEq>(counts: &dyn Fn() -> T) {
    let is_still = || {
        let before = counts();
        std::thread::sleep(Duration::from_millis(300));
        before == counts()
    };
    assert!(within(Duration::from_secs(15), is_still), "not frozen");
}

/// Runs the counters' command in a session, frozen for longer than its deadline.
pub(crate) fn check_freeze(session: &mut dyn Session, folder: &Path, out: &str) {
    let signal = Arc::new(TestSignal::default());
    session.freeze_on(Arc::<TestSignal>::clone(&signal));
    let mut counters = command(&["bash", "-c", COUNT]);
    counters.env = vec![("OUT".to_owned(), out.to_owned())];
    let held = Duration::from_secs(3);
    counters.deadline = Some(Instant::now() + Duration::from_secs(20));
    let (outcome, stood) = std::thread::scope(|scope| {
        let running = scope.spawn(|| session.exec(&counters, &AtomicBool::new(false)));
        let both = || [count(folder, "near"), count(folder, "far")];
        assert!(
            within(Duration::from_secs(15), || both().iter().all(|count| *count > 3)),
            "the counters did not start"
        );
        signal.close();
        wait_until_frozen(&both);
        let before = both();
        std::thread::sleep(held);
        let after = both();
        signal.open();
        assert!(
            within(Duration::from_secs(15), || both()[0] > after[0] && both()[1] > after[1]),
            "it stays frozen"
        );
        fs::write(folder.join("end"), "").unwrap();
        (running.join().unwrap().unwrap(), before == after)
    });
    assert!(stood, "something counted while frozen");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", outcome.stdout.text());
    assert!(outcome.wall > held);
}

#[test]
fn sandbox_is_frozen_and_thawed() {
    needs_bubblewrap!();
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec();
    spec.mounts.push(mount(folder.path(), "/out", true));
    let mut session = start(&spec);
    check_freeze(&mut *session, folder.path(), "/out");
    let frozen = session.stop().unwrap().frozen_seconds.unwrap();
    assert!(frozen >= 3.0, "{frozen}");
}

/// The deadline is extended by the freeze time, and no more.
#[test]
fn freeze_time_extends_the_deadline() {
    needs_bubblewrap!();
    let mut session = start(&spec());
    let signal = Arc::new(TestSignal::default());
    session.freeze_on(Arc::<TestSignal>::clone(&signal));
    let mut late = command(&["sleep", "1000"]);
    // The command starts a little later, and its own time is that much shorter.
    let begun = Instant::now();
    late.deadline = Some(begun + Duration::from_secs(1));
    signal.close();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(3));
            signal.open();
        });
        session.exec(&late, &AtomicBool::new(false)).unwrap()
    });
    assert_eq!(outcome.exit, Exit::Deadline);
    assert!(begun.elapsed() >= Duration::from_secs(4), "{:?}", outcome.wall);
    // Freeze time before a command started does not count for it.
    late.deadline = Some(Instant::now() + Duration::from_millis(300));
    assert_eq!(session.exec(&late, &AtomicBool::new(false)).unwrap().exit, Exit::Deadline);
}

#[test]
fn frozen_command_can_be_ended() {
    needs_bubblewrap!();
    check_end_while_frozen(&mut || start(&spec()));
}

/// Interrupts a frozen command, by cancellation and by a freeze signal that is over.
pub(crate) fn check_end_while_frozen(make: &mut dyn FnMut() -> Box<dyn Session>) {
    let mut end = |act: &(dyn Fn(&TestSignal, &AtomicBool) + Sync)| {
        let mut session = make();
        let signal = Arc::new(TestSignal::default());
        session.freeze_on(Arc::<TestSignal>::clone(&signal));
        signal.close();
        let cancel = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                act(&signal, &cancel);
            });
            session.exec(&command(&["sleep", "1000"]), &cancel).unwrap()
        });
        assert_eq!(outcome.exit, Exit::Cancelled);
        session.stop().unwrap();
    };
    end(&|_, cancel| cancel.store(true, Ordering::Relaxed));
    end(&|signal, _| signal.over.store(true, Ordering::Relaxed));
}

#[test]
fn process_group_without_a_sandbox_is_frozen() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = NoSandbox.start(&spec()).unwrap();
    let signal = Arc::new(TestSignal::default());
    session.freeze_on(Arc::<TestSignal>::clone(&signal));
    let script = format!(
        "cd {}; i=0; while [ ! -e end ]; do i=$((i+1)); echo $i > n; sleep 0.01; done",
        folder.path().display()
    );
    std::thread::scope(|scope| {
        let counter = command(&["bash", "-c", &script]);
        let running = scope.spawn(move || session.exec(&counter, &AtomicBool::new(false)).unwrap().exit);
        assert!(
            within(Duration::from_secs(15), || count(folder.path(), "n") > 3),
            "the counter did not start"
        );
        signal.close();
        wait_until_frozen(&|| count(folder.path(), "n"));
        signal.open();
        fs::write(folder.path().join("end"), "").unwrap();
        assert_eq!(running.join().unwrap(), Exit::Code(0));
    });
}
