use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use std::time::SystemTime;

use super::*;
use crate::{Record, Store, TrialId, write_json};

fn id(number: usize) -> TrialId {
    TrialId::of(&serde_json::json!(number))
}

fn leave(path: &Path, owner: &Owner) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, serde_json::to_vec(owner).unwrap()).unwrap();
}

#[test]
fn lease_is_exclusive_and_released_on_drop() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let Claim::Mine(lease) = store.claim(&id(1)).unwrap() else { panic!("the lease is free") };
    assert!(matches!(store.claim(&id(1)).unwrap(), Claim::Held(holder) if holder.owner == *store.owner()));
    assert!(matches!(store.claim(&id(2)).unwrap(), Claim::Mine(_)));
    drop(lease);
    assert!(matches!(store.claim(&id(1)).unwrap(), Claim::Mine(_)));
    // Nothing remains: neither leases nor their drafts.
    let left: Vec<_> = fs::read_dir(store.trial_folder(&id(1))).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let scratch: Vec<_> = fs::read_dir(store.scratch().unwrap()).unwrap().flatten().collect();
    assert_eq!(scratch.len(), 1, "owner.json alone: {scratch:?}");
}

#[test]
fn lease_passes_on_only_from_a_dead_owner() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let me = store.owner().clone();
    let check = |text: &[u8], expected: bool| {
        let path = store.trial_folder(&id(1)).join("lease");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let mine = matches!(store.claim(&id(1)).unwrap(), Claim::Mine(_));
        assert_eq!(mine, expected, "{}", String::from_utf8_lossy(text));
    };
    let json = |owner: Owner| serde_json::to_vec(&owner).unwrap();
    check(&json(me.clone()), false);
    check(&json(Owner { start: me.start + 1, ..me.clone() }), true);
    check(&json(Owner { boot: "the last one".into(), ..me.clone() }), true);
    check(&json(Owner { pid: u32::MAX, ..me.clone() }), true);
    // Of another machine, or of a container here: it is unknown whether it is alive.
    let other = Owner { host: Some("another".into()), boot: "its own".into(), ..me.clone() };
    check(&json(other.clone()), false);
    check(&json(Owner { pid_namespace: Some(1), pid: u32::MAX, ..me }), false);
    check(&json(Owner { host: None, pid_namespace: None, ..other }), true);
    check(b"", true);
    check(b"not JSON", true);
}

/// A process that lives until it is dropped.
struct Living(Child);

impl Living {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }

    fn owner(&self) -> Owner {
        Owner::of(self.0.id()).unwrap()
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Several processes find a dead process's lease at the same time, and the store is cleaned up
/// meanwhile: one of them gets it.
#[test]
fn dead_lease_is_claimed_by_one_process() {
    let living: Vec<Living> = (0..4).map(|_| Living::new()).collect();
    let owners: Vec<Owner> = living.iter().map(Living::owner).collect();
    let dead = Owner { start: owners[0].start + 1, ..owners[0].clone() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lease");
    let heartbeat = Arc::new(Heartbeat::default());
    let claimant = |owner| Claimant { owner, scratch: folder.path(), heartbeat: &heartbeat };
    for round in 0..300 {
        leave(&path, &dead);
        let barrier = Barrier::new(owners.len() + 1);
        let leases: Vec<Lease> = std::thread::scope(|scope| {
            let claims: Vec<_> = owners
                .iter()
                .map(|owner| {
                    let (path, barrier, claimant) = (&path, &barrier, claimant(owner));
                    scope.spawn(move || {
                        barrier.wait();
                        claimant.claim(path).unwrap()
                    })
                })
                .collect();
            barrier.wait();
            claimant(&owners[0]).remove_left(&path).unwrap();
            let claims = claims.into_iter().map(|claim| claim.join().unwrap());
            let mine = |claim| if let Claim::Mine(lease) = claim { Some(lease) } else { None };
            claims.filter_map(mine).collect()
        });
        assert_eq!(leases.len(), 1, "round {round}");
        assert!(read_owner(&path).is_some_and(|holder| holder.is_alive()), "round {round}");
        drop(leases);
        // Nothing remains: neither the lease, nor drafts, nor the right to replace it.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "round {round}");
    }
}

/// Of another machine: its state is unknown here.
fn elsewhere(owner: &Owner) -> Owner {
    Owner { host: Some("another".into()), boot: "its own".into(), ..owner.clone() }
}

#[test]
fn lease_of_another_machine_ends_when_it_is_not_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let path = store.trial_folder(&id(1)).join("lease");
    let check = |seconds: Option<u64>, age: Duration, mine: bool| {
        let content = Content { owner: elsewhere(store.owner()), number: 0, seconds };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, serde_json::to_vec(&content).unwrap()).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(SystemTime::now() - age).unwrap();
        let before = store.clean_up().leases;
        let claim = store.claim(&id(1)).unwrap();
        match claim {
            Claim::Mine(lease) => assert!(mine && lease.is_held() && before == 1, "{seconds:?} {age:?}"),
            Claim::Held(holder) => {
                let expected = Holder { owner: elsewhere(store.owner()), expires: seconds.is_some() };
                assert!(!mine && holder == expected && before == 0, "{seconds:?} {age:?}");
            }
        }
    };
    let minute = Duration::from_mins(1);
    check(Some(120), Duration::ZERO, false);
    check(Some(120), minute, false);
    check(Some(120), minute * 3, true);
    check(Some(30), minute, true);
    check(None, minute * 1000, false);
}

#[test]
fn lease_is_renewed_while_it_is_held() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().lease_for(Duration::from_secs(1));
    let Claim::Mine(lease) = store.claim(&id(1)).unwrap() else { panic!("the lease is free") };
    let path = store.trial_folder(&id(1)).join("lease");
    let touched = || fs::metadata(&path).unwrap().modified().unwrap();
    let first = touched();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(touched() > first + Duration::from_millis(900));
    drop(lease);
    assert!(!path.exists());
}

/// As another machine does once this process has been stopped for too long.
fn take_over(store: &Store, trial: &TrialId) -> Vec<u8> {
    let content = Content { owner: elsewhere(store.owner()), number: 7, seconds: Some(120) };
    let bytes = serde_json::to_vec(&content).unwrap();
    fs::write(store.trial_folder(trial).join("lease"), &bytes).unwrap();
    bytes
}

#[test]
fn result_under_a_lost_lease_is_discarded() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let record = |attempt: u32| -> Record {
        serde_json::from_value(serde_json::json!({
            "schema": "assay.record/3", "trial": id(1), "task": "a", "agent": { "name": "nop", "version": "1" },
            "sandbox": "none", "condition": "none", "repetition": 1, "outcome": "passed", "turns": 0,
            "seconds": { "prepare": 0.0, "agent": 0.0, "throttled": 0.0, "verify": 0.0, "total": 0.0 },
            "exposure": [], "measures_a_model": false, "attempt": attempt,
            "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:01Z",
        }))
        .unwrap()
    };
    let path = store.trial_folder(&id(1)).join("record.json");
    let lost = |result| matches!(result, Err(StoreError::LeaseLost { trial }) if trial == id(1));
    let claim = || match store.claim(&id(1)).unwrap() {
        Claim::Mine(lease) => lease,
        Claim::Held(holder) => panic!("{holder:?}"),
    };

    let lease = claim();
    let other = take_over(&store, &id(1));
    assert!(!lease.is_held() && lost(store.finish(&record(1), &lease)) && !path.exists());
    // The other's lease is left alone.
    drop(lease);
    assert_eq!(fs::read(path.with_file_name("lease")).unwrap(), other);
    fs::remove_file(path.with_file_name("lease")).unwrap();

    // It has also finished since.
    let lease = claim();
    write_json(&path, &record(2)).unwrap();
    assert!(lost(store.finish(&record(3), &lease)));
    assert_eq!(store.record(&id(1)).unwrap().unwrap().attempt, 2);
    drop(lease);

    // What the claimant knew may be replaced, also twice.
    let lease = claim();
    store.finish(&record(4), &lease).unwrap();
    store.finish(&record(5), &lease).unwrap();
    assert_eq!(store.record(&id(1)).unwrap().unwrap().attempt, 5);
}

const CONTENDERS: &str = "ASSAY_TEST_CONTENDERS";
const TRIALS: usize = 200;
const THREADS: usize = 8;

/// One contending process: it tries to win each trial, and writes down which it won. A trial is won
/// only once, because its winner leaves a mark before it releases the lease.
#[test]
fn contender() {
    let Some(root) = std::env::var_os(CONTENDERS) else { return };
    let store = Store::open(Path::new(&root)).unwrap();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                // Each trial is tried by four of the threads, so that threads contend as well.
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= 4 * TRIALS {
                        return;
                    }
                    let trial = id(number / 4);
                    if let Claim::Mine(_lease) = store.claim(&trial).unwrap() {
                        let mark = store.trial_folder(&trial).join("won");
                        if !mark.exists() {
                            // With two holders at once, one of them would fail here.
                            fs::File::create_new(&mark).unwrap();
                        }
                    }
                }
            });
        }
    });
}

#[test]
fn threads_and_processes_never_share_a_lease() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    // Every other trial was held by a process that died.
    let dead = Owner { start: 1, ..store.owner().clone() };
    for number in (0..TRIALS).step_by(2) {
        leave(&store.trial_folder(&id(number)).join("lease"), &dead);
    }
    let start = || {
        let mut test = Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "lease::tests::contender", "--nocapture"]);
        test.env(CONTENDERS, folder.path()).stdout(Stdio::null()).spawn().unwrap()
    };
    let contenders: Vec<Child> = (0..3).map(|_| start()).collect();
    // A cleanup meanwhile removes nothing of living processes.
    for _ in 0..20 {
        store.clean_up();
    }
    for mut contender in contenders {
        assert!(contender.wait().unwrap().success());
    }
    for number in 0..TRIALS {
        assert!(store.trial_folder(&id(number)).join("won").exists(), "{number}");
        assert!(!store.trial_folder(&id(number)).join("lease").exists(), "{number}");
    }
    // The next cleanup removes the folders of the dead contenders.
    store.clean_up();
    let left = fs::read_dir(folder.path().join("scratch")).unwrap().count();
    assert!(left <= 1, "{left} scratch folders are left");
}
