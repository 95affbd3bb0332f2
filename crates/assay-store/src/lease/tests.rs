use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::{Store, TrialId};

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
    assert!(matches!(store.claim(&id(1)).unwrap(), Claim::Held(owner) if owner == *store.owner()));
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
    let (path, lock) = (folder.path().join("lease"), folder.path().join("lock"));
    for round in 0..300 {
        leave(&path, &dead);
        let barrier = Barrier::new(owners.len() + 1);
        let leases: Vec<Lease> = std::thread::scope(|scope| {
            let claims: Vec<_> = owners
                .iter()
                .map(|owner| {
                    let draft = folder.path().join(owner.label());
                    let (path, lock, barrier) = (&path, &lock, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        claim(path, owner, &draft, lock).unwrap()
                    })
                })
                .collect();
            barrier.wait();
            remove_dead(&path, &lock).unwrap();
            let claims = claims.into_iter().map(|claim| claim.join().unwrap());
            let mine = |claim| if let Claim::Mine(lease) = claim { Some(lease) } else { None };
            claims.filter_map(mine).collect()
        });
        assert_eq!(leases.len(), 1, "round {round}");
        assert!(read_owner(&path).is_some_and(|holder| holder.is_alive()), "round {round}");
    }
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
