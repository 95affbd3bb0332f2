//! Ledgers in folders and in references: every look is counted once, also with several writers.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::entry::tests::{completion, keys, opening};
use super::*;
use crate::policy::LedgerPlace;

const REF: &str = "refs/assay/gate";

fn git(folder: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    let output = Command::new("git").arg("-C").arg(folder).args(identity).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A repository with a commit, and a bare one that is its remote.
struct Repositories {
    folder: TempDir,
}

impl Repositories {
    fn new(format: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let format = format!("--object-format={format}");
        git(folder.path(), &["init", "--quiet", "--bare", "--initial-branch=main", &format, "remote.git"]);
        let here = Self { folder };
        git(here.path(""), &["init", "--quiet", "--initial-branch=main", &format, "first"]);
        let first = here.path("first").to_owned();
        for text in ["one", "two", "three"] {
            std::fs::write(first.join("a"), text).unwrap();
            git(&first, &["add", "a"]);
            git(&first, &["commit", "--quiet", "--message", text]);
        }
        git(&first, &["remote", "add", "origin", "../remote.git"]);
        git(&first, &["push", "--quiet", "origin", "main"]);
        here
    }

    fn path(&self, name: &str) -> &'static Path {
        Box::leak(self.folder.path().join(name).into_boxed_path())
    }

    fn clone(&self, name: &str, more: &[&str]) -> &'static Path {
        let url = format!("file://{}", self.path("remote.git").display());
        git(self.path(""), &[&["clone", "--quiet"], more, &[&url, name]].concat());
        self.path(name)
    }

    fn home(&self, name: &str) -> LedgerHome {
        let place = LedgerPlace::GitRef(REF.to_owned());
        let folder = self.path(name);
        LedgerHome::of(&place, None, folder, folder).unwrap().0
    }
}

fn open(home: &LedgerHome) -> Ledger {
    Ledger::open(home.clone(), keys("1")).unwrap()
}

/// Opens a look at a content, and its numbers.
fn count_look(home: &LedgerHome, content: &str) -> (LedgerEntry, (u32, u32)) {
    let opening = opening("l", content, "a");
    let entry = open(home).open_look(&Ledger::new_id(&opening), &opening).unwrap();
    let numbers = (entry.numbers.version, entry.numbers.look);
    (entry, numbers)
}

/// What every place of a ledger does.
fn check_place(home: &LedgerHome) {
    let ledger = open(home);
    assert!(ledger.entries.is_empty() && ledger.notes.is_empty(), "{ledger:?}");
    let (one, numbers) = count_look(home, "b");
    assert_eq!((numbers, one.seen.len()), ((1, 1), 0));
    let (two, numbers) = count_look(home, "c");
    assert_eq!((numbers, &two.seen), ((2, 1), &vec![one.id.clone()]));
    let (three, numbers) = count_look(home, "b");
    assert_eq!((numbers, &three.seen), ((1, 2), &vec![two.id.clone()]));
    assert!((three.level - level(0.05, 1, 2)).abs() < 1e-15);
    // The answer to a push did not arrive: the look is there.
    let mut ledger = open(home);
    let again = ledger.open_look(&three.id, &three.opening).unwrap();
    assert_eq!((&again, ledger.entries.len()), (&three, 3));
    // A decision is written once.
    ledger.complete(&three, &completion("pass")).unwrap();
    ledger.complete(&three, &completion("fail")).unwrap();
    for ledger in [&ledger, &open(home)] {
        let ids: Vec<&str> = ledger.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, [&one.id, &two.id, &three.id]);
        assert!(ledger.find(&three.id).unwrap().passed() && ledger.notes.is_empty(), "{ledger:?}");
        assert_eq!(ledger.numbers("l", "d", Some("b")), Numbers { version: 1, look: 1 });
    }
}

#[test]
fn a_folder_counts_looks() {
    let folder = tempfile::tempdir().unwrap();
    check_place(&LedgerHome::Folder(folder.path().join("a/ledger")));
}

#[test]
fn a_reference_counts_looks() {
    for format in ["sha1", "sha256"] {
        let all = Repositories::new(format);
        let home = all.home("first");
        check_place(&home);
        // Pushed, kept here as well, and in no branch.
        assert_eq!(
            git(all.path("remote.git"), &["rev-parse", REF]),
            git(all.path("first"), &["rev-parse", REF])
        );
        assert_eq!(git(all.path("first"), &["branch", "--all", "--format=%(refname)"]).lines().count(), 2);
        // Another clone, also a shallow one, sees the same looks.
        for (name, more) in
            [("deep", &[][..]), ("shallow", &["--depth=1"]), ("bare-blobs", &["--no-checkout"])]
        {
            all.clone(name, more);
            assert_eq!(open(&all.home(name)).entries, open(&home).entries, "{name}");
        }
        let (_, numbers) = count_look(&all.home("shallow"), "e");
        assert_eq!(numbers, (3, 1));
        let (_, numbers) = count_look(&home, "e");
        assert_eq!(numbers, (3, 2));
    }
}

#[test]
fn a_repository_without_a_remote_counts_looks() {
    let all = Repositories::new("sha1");
    git(all.path("first"), &["remote", "remove", "origin"]);
    let home = all.home("first");
    assert!(matches!(&home, LedgerHome::Reference { remote: None, .. }));
    check_place(&home);
}

/// Looks that were opened without the remote are pushed with the next one.
#[test]
fn looks_of_a_clone_are_not_lost() {
    let all = Repositories::new("sha1");
    let LedgerHome::Reference { repository, name, .. } = all.home("first") else { unreachable!() };
    let alone = LedgerHome::Reference { repository, name, remote: None };
    let (one, _) = count_look(&alone, "b");
    let other = all.clone("other", &[]);
    count_look(&all.home("other"), "c");
    let ledger = open(&all.home("first"));
    assert_eq!(ledger.entries.len(), 2);
    assert_eq!(ledger.numbers("l", "d", Some("a")).version, 3);
    count_look(&all.home("first"), "d");
    let ledger = open(&all.home("other"));
    assert!(ledger.entries.len() == 3 && ledger.find(&one.id).is_some(), "{ledger:?}");
    assert!(other.is_dir());
}

#[test]
fn a_remote_that_does_not_answer_is_an_error() {
    let all = Repositories::new("sha1");
    count_look(&all.home("first"), "b");
    std::fs::rename(all.path("remote.git"), all.path("gone.git")).unwrap();
    let error = Ledger::open(all.home("first"), keys("1")).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read the ledger refs/assay/gate of origin: git ls-remote: "),
        "{error}"
    );
    let LedgerHome::Reference { repository, name, .. } = all.home("first") else { unreachable!() };
    let place = LedgerPlace::GitRef(name);
    let error = LedgerHome::of(&place, Some("upstream"), &repository, &repository).unwrap_err().to_string();
    assert!(error.contains("no remote \"upstream\""), "{error}");
}

/// Hooks of the repository, and of the remote's clone here, are not executed.
#[cfg(unix)]
#[test]
fn no_hook_is_executed() {
    use std::os::unix::fs::PermissionsExt;
    let all = Repositories::new("sha1");
    let hooks = all.path("first/.git/hooks");
    std::fs::create_dir_all(hooks).unwrap();
    for name in ["pre-push", "reference-transaction", "post-checkout", "pre-commit"] {
        std::fs::write(hooks.join(name), "#!/bin/sh\ntouch ../hooked; exit 1\n").unwrap();
        std::fs::set_permissions(hooks.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    count_look(&all.home("first"), "b");
    assert!(!all.path("hooked").exists());
}

/// Looks opened by several threads at once: each has numbers of its own.
fn check_at_once(homes: &[LedgerHome]) {
    let mut numbers: Vec<(u32, u32)> = std::thread::scope(|scope| {
        let threads: Vec<_> = homes.iter().map(|home| scope.spawn(|| count_look(home, "b").1)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    numbers.sort_unstable();
    let expected: Vec<(u32, u32)> = (1..).take(homes.len()).map(|look| (1, look)).collect();
    assert_eq!(numbers, expected);
    let ledger = open(&homes[0]);
    assert_eq!((ledger.entries.len(), ledger.heads().len()), (homes.len(), 1), "{ledger:?}");
}

#[test]
fn looks_at_once_are_all_counted() {
    let folder = tempfile::tempdir().unwrap();
    check_at_once(&[(); 8].map(|()| LedgerHome::Folder(folder.path().join("ledger"))));
    let all = Repositories::new("sha1");
    all.clone("second", &[]);
    check_at_once(&["first", "second", "first", "second"].map(|name| all.home(name)));
    let all = Repositories::new("sha1");
    git(all.path("first"), &["remote", "remove", "origin"]);
    check_at_once(&[(); 4].map(|()| all.home("first")));
}

#[test]
fn torn_and_forged_files_count_for_nothing_and_stop_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let home = LedgerHome::Folder(folder.path().to_owned());
    let (one, _) = count_look(&home, "b");
    let (two, _) = count_look(&home, "c");
    open(&home).complete(&two, &completion("fail")).unwrap();
    let path =
        |look: &LedgerEntry, is_completed| folder.path().join(entry::file_name(&look.id, is_completed));
    let completed = std::fs::read_to_string(path(&two, true)).unwrap();
    let check = |versions: u32, expected: &[&str]| {
        let ledger = open(&home);
        assert_eq!(ledger.numbers("l", "d", Some("a")).version, versions, "{ledger:?}");
        let notes = ledger.notes.join("\n");
        assert!(expected.iter().all(|part| notes.contains(part)), "{notes}");
        assert_eq!(notes.is_empty(), expected.is_empty(), "{notes}");
    };
    check(3, &[]);
    // A completed look has everything of its opening.
    std::fs::write(path(&two, false), "").unwrap();
    check(3, &["not complete JSON"]);
    // A verdict that was changed: the look stays open.
    std::fs::write(path(&two, true), completed.replace("\"fail\"", "\"pass\"")).unwrap();
    std::fs::remove_file(path(&two, false)).unwrap();
    check(2, &["changed after it was signed"]);
    std::fs::write(path(&two, true), &completed).unwrap();
    // An opening that is torn was seen by the next look, and counts.
    std::fs::write(path(&one, false), "{\"schema\":\"assay.gate-look/1\",\"id").unwrap();
    check(3, &["not complete JSON", "1 earlier look is missing and counted as other versions"]);
    // Files that are no looks.
    std::fs::write(path(&one, false), entry::write(&one, false, &keys("1")).unwrap()).unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("README.md"), "x").unwrap();
    std::fs::write(folder.path().join("gate-ledger.jsonl"), "{}\n").unwrap();
    check(3, &["README.md (not the name of a look)", "gate-ledger.jsonl (the lines of an old ledger)"]);
    // Another key.
    let stranger =
        entry::write(&LedgerEntry { id: "f".repeat(32), ..one.clone() }, false, &keys("2")).unwrap();
    std::fs::write(folder.path().join(entry::file_name(&"f".repeat(32), false)), stranger).unwrap();
    check(3, &["signed with another key"]);
    // A torn completion is written again.
    open(&home).complete(&one, &completion("pass")).unwrap();
    std::fs::write(path(&one, true), "{").unwrap();
    assert!(!open(&home).find(&one.id).unwrap().passed());
    open(&home).complete(&one, &completion("pass")).unwrap();
    assert!(open(&home).find(&one.id).unwrap().passed());
}

/// Two ledgers that were apart are merged by taking all files.
#[test]
fn merged_ledgers_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, all] = ["one", "two", "all"].map(|name| LedgerHome::Folder(folder.path().join(name)));
    count_look(&one, "b");
    count_look(&two, "c");
    count_look(&two, "d");
    let path = |home: &LedgerHome| match home {
        LedgerHome::Folder(path) => path.clone(),
        LedgerHome::Reference { .. } => PathBuf::new(),
    };
    std::fs::create_dir(path(&all)).unwrap();
    for home in [&one, &two] {
        for file in std::fs::read_dir(path(home)).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), path(&all).join(file.file_name())).unwrap();
        }
    }
    assert_eq!(open(&all).heads().len(), 2);
    let (entry, numbers) = count_look(&all, "e");
    assert_eq!((numbers, entry.seen.len()), ((4, 1), 2));
    assert_eq!(open(&all).heads(), [entry.id]);
}

#[test]
fn a_ledger_that_was_deleted_is_noticed() {
    let all = Repositories::new("sha1");
    let (first, home) = (all.path("first"), all.home("first"));
    let known = KnownHeads::at(all.path("state"));
    let (one, _) = count_look(&home, "b");
    known.check(&open(&home)).unwrap();
    known.remember(&open(&home));
    known.check(&open(&home)).unwrap();
    let merge = |message: &str| git(first, &["commit", "--quiet", "--allow-empty", "--message", message]);
    assert_eq!(Anchor::of(first, "HEAD"), None);
    merge(&format!("Merge\n\n{}\nSigned-off-by: t <t@localhost>", Anchor::trailer(&one.id)));
    merge("Later");
    let anchor = Anchor::of(first, "HEAD").unwrap();
    open(&home).require(&anchor).unwrap();
    // What names nothing is no anchor.
    merge("Noise\n\nAssay-Gate: everything");
    assert_eq!(Anchor::of(first, "HEAD"), Some(anchor.clone()));

    git(all.path("remote.git"), &["update-ref", "-d", REF]);
    git(first, &["update-ref", "-d", REF]);
    for error in [open(&home).require(&anchor).unwrap_err(), known.check(&open(&home)).unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains(&one.id) && text.contains("restore it from another clone"), "{text}");
    }
    // Another key does not see the look either.
    let other = Ledger::open(home.clone(), keys("2")).unwrap();
    assert!(other.require(&anchor).is_err());
    // A maintainer begins a new ledger.
    merge("Begin a new ledger\n\nAssay-Gate: reset");
    assert_eq!(Anchor::of(first, "HEAD"), None);
}

#[test]
fn a_place_in_the_checkout_is_not_used() {
    let all = Repositories::new("sha1");
    let first = all.path("first");
    let check = |path: &str, inside: bool| {
        let place = LedgerPlace::File(path.into());
        let (home, note) = LedgerHome::of(&place, None, &first.join("ci"), first).unwrap();
        assert_eq!(matches!(home, LedgerHome::Reference { .. }), inside, "{path}: {home:?}");
        assert_eq!(note.is_some(), inside, "{path}: {note:?}");
        note.unwrap_or_default()
    };
    std::fs::create_dir(first.join("ci")).unwrap();
    assert!(!check("looks", true).contains("old ledger"));
    std::fs::write(first.join("ci/ledger.jsonl"), "{}\n").unwrap();
    let note = check("ledger.jsonl", true);
    assert!(note.contains("counted in refs/assay/gate; the lines of the old ledger"), "{note}");
    check("../looks/all", true);
    check("../../first/x", true);
    check("../../outside", false);
    check(&all.path("outside").display().to_string(), false);
    #[cfg(unix)]
    {
        // A link of the checkout that leads out of it, and one from outside that leads in.
        std::os::unix::fs::symlink(all.path("outside"), first.join("ci/link")).unwrap();
        std::os::unix::fs::symlink(first, all.path("in")).unwrap();
        check("link", true);
        check("../../in/looks", true);
    }
    std::fs::write(all.path("file"), "x").unwrap();
    let place = LedgerPlace::File("../file".into());
    let error = LedgerHome::of(&place, None, first, first).unwrap_err().to_string();
    assert!(error.contains("looks are files in a folder"), "{error}");
}

#[test]
fn the_same_look_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let home = LedgerHome::Folder(folder.path().to_owned());
    let (one, _) = count_look(&home, "b");
    let ledger = open(&home);
    let same = |opening: &Opening, known: bool| ledger.find_same(opening, |_| known).map(|entry| &entry.id);
    assert_eq!(same(&one.opening, true), Some(&one.id));
    // The store is gone; another plan; another digest of the same content; another target.
    assert_eq!(same(&one.opening, false), None);
    assert_eq!(same(&Opening { plan: "p".to_owned(), ..one.opening.clone() }, true), None);
    assert_eq!(same(&Opening { digest: "d".to_owned(), ..one.opening.clone() }, true), None);
    assert_eq!(same(&Opening { target_content: None, ..one.opening.clone() }, true), None);
}
