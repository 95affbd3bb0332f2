use serde_json::json;

use super::*;
use crate::{Claim, Owner, RecordKey};

fn id(number: usize) -> TrialId {
    TrialId::of(&json!(number))
}

#[test]
fn folder_of_another_format_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let header = r#"{"schema":"assay.store/9","label":"x"}"#;
    fs::write(folder.path().join("store.json"), header).unwrap();
    let error = Store::open(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("unsupported schema \"assay.store/9\": this version of assay reads \"assay.store/1\""),
        "{error}"
    );
}

#[test]
fn a_trial_is_found_by_the_beginning_of_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for number in 0..600 {
        fs::create_dir_all(store.trial_folder(&id(number))).unwrap();
    }
    // Other entries are not trials.
    fs::create_dir_all(store.root().join("trials/zz/nothing")).unwrap();
    assert_eq!(store.trials().len(), 600);
    let one = id(7);
    assert_eq!(store.find_trial(one.as_str()).unwrap(), one);
    assert_eq!(store.find_trial(one.short()).unwrap(), one);
    let check = |prefix: &str, expected: &str| {
        let error = store.find_trial(prefix).unwrap_err().to_string();
        assert!(error.contains(expected), "{prefix}: {error}");
    };
    // 600 ids on 256 shelves: some two share their first two digits.
    let shelf = fs::read_dir(store.root().join("trials"))
        .unwrap()
        .flatten()
        .find(|shelf| fs::read_dir(shelf.path()).unwrap().count() > 1)
        .unwrap();
    check(shelf.file_name().to_str().unwrap(), "trial ids begin with");
    check("", "no trial id in this store begins with \"\"");
    check("a", "no trial");
    check("../..", "no trial");
    check("zz", "no trial");
    check(&one.as_str().to_uppercase(), "no trial");
    check(&format!("{one}0"), "no trial");
}

#[test]
fn attempts_are_counted_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let Claim::Mine(lease) = store.claim(&id(1)).unwrap() else { panic!("the lease is free") };
    let specification = json!({ "what": "was hashed" });
    for expected in 1..=3 {
        let (number, path) = store.begin(&id(1), &specification, &lease).unwrap();
        assert_eq!((number, path.is_dir()), (expected, true));
        fs::write(path.join("log.txt"), number.to_string()).unwrap();
    }
    let kept = store.trial_folder(&id(1)).join("attempts/2/log.txt");
    assert_eq!(fs::read_to_string(kept).unwrap(), "2");
    let written: Value = read_json(&store.trial_folder(&id(1)).join("trial.json")).unwrap();
    assert_eq!(written, specification);
}

#[test]
fn new_file_does_not_replace_an_existing_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    assert!(write_new(&path, b"one").unwrap());
    assert!(!write_new(&path, b"two").unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"one");
    write_atomically(&path, b"three").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"three");
    // No draft is left beside it.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(matches!(write_atomically(&path.join("below"), b"x"), Err(StoreError::Io { .. })));
}

#[test]
fn cleanup_removes_only_leftovers_of_dead_processes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().work_in(Some(folder.path().join("none")));
    let me = store.owner().clone();
    let dead = Owner { start: me.start + 1, ..me.clone() };
    let scratch = |name: &str, sign: Option<&Owner>| {
        let path = store.root().join("scratch").join(name);
        fs::create_dir_all(path.join("trials/x")).unwrap();
        if let Some(owner) = sign {
            fs::write(path.join("owner.json"), serde_json::to_vec(owner).unwrap()).unwrap();
        }
        path
    };
    // A process that has made its folder and not yet signed it counts as alive.
    let own = scratch(&me.label(), None);
    let gone = [scratch("1-1", Some(&dead)), scratch(&dead.label(), None), scratch("junk", None)];
    let lease = |number: usize, owner: &Owner| {
        let path = store.trial_folder(&id(number)).join("lease");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, serde_json::to_vec(owner).unwrap()).unwrap();
        path
    };
    let (held, left) = (lease(1, &me), lease(2, &dead));
    let elsewhere = Owner { pid_namespace: Some(1), ..dead.clone() };
    let foreign = [
        lease(3, &elsewhere),
        lease(4, &Owner { host: Some("another".into()), boot: "its own".into(), ..dead.clone() }),
        scratch("2-2-00000000", None),
        scratch("other", Some(&elsewhere)),
    ];
    let report = store.clean_up();
    assert_eq!((report.scratch, report.leases), (3, 1));
    assert!(own.exists() && held.exists() && foreign.iter().all(|path| path.exists()));
    assert!(!left.exists() && gone.iter().all(|path| !path.exists()));
    assert_eq!(store.clean_up().scratch, 0);
}

#[test]
fn record_round_trips_and_later_keys_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let trial = id(1);
    let Claim::Mine(lease) = store.claim(&trial).unwrap() else { panic!("the lease is free") };
    assert_eq!(store.record(&trial).unwrap(), None);
    let text = json!({
        "schema": "assay.record/3", "trial": trial, "task": "a",
        "agent": { "name": "loop", "version": "1", "model": "openai:one" },
        "sandbox": "bubblewrap", "condition": "none", "repetition": 2,
        "outcome": "infrastructure", "cause": "model_provider", "reason": "429",
        "reward": 0.1, "rewards": { "reward": 0.1 }, "ctrf": { "tests": [] },
        "ended": { "kind": "broken", "part": "model_provider", "message": "429" },
        "turns": 3, "usage": { "input": 1, "output": 2, "cache_read": 3, "cache_write": 4 }, "cost_usd": 0.1,
        "seconds": { "prepare": 0.1, "agent": 0.2, "throttled": 0.0, "verify": 0.3, "total": 0.7 },
        "exposure": [{
            "skill": "one", "offered": true, "advertised": 1, "mentioned": 3, "opened": null,
            "executed": { "step": 4, "file": "x.py", "evidence": "command-text" },
            "body_lines": 9, "body_lines_delivered": 2,
        }],
        "contaminated": ["x"], "tampered": ["y"], "outside": ["z"],
        "used": { "cpu_seconds": 0.5, "peak_memory_bytes": null },
        "measures_a_model": true, "attempt": 1,
        "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:01Z",
    });
    let record: Record = serde_json::from_value(text.clone()).unwrap();
    store.finish(&record, &lease).unwrap();
    assert_eq!(store.record(&trial).unwrap().unwrap(), record);
    let path = store.trial_folder(&trial).join("record.json");
    assert_eq!(read_json::<Value>(&path).unwrap(), text);
    // Keys that a later version adds are ignored; optional keys may be missing.
    let mut other = text.clone();
    other["added"] = json!({ "by": "a later version" });
    other["exposure"][0]["added"] = json!(1);
    for key in ["cause", "reason", "rewards", "ctrf", "ended", "contaminated", "tampered", "outside", "used"]
    {
        other.as_object_mut().unwrap().remove(key);
    }
    fs::write(&path, other.to_string()).unwrap();
    let read = store.record(&trial).unwrap().unwrap();
    assert_eq!((read.turns, read.cause, read.tampered.len()), (Some(3), None, 0));
}

#[test]
fn invalid_record_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let path = store.trial_folder(&id(1)).join("record.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for text in ["", "{}", "[]", "null", "{\"schema\":\"assay.record/3\"}", "\u{0}", "{\"outcome\":\"won\"}"]
    {
        fs::write(&path, text).unwrap();
        let error = store.record(&id(1)).unwrap_err();
        assert!(matches!(error, StoreError::Format { .. }), "{text:?}: {error}");
        assert_eq!(store.outcomes()["unreadable"], 1);
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(store.outcomes()["unfinished"], 1);
}

#[test]
fn record_of_another_trial_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (one, other) = (&id(1), &id(2));
    let Claim::Mine(lease) = store.claim(one).unwrap() else { panic!("the lease is free") };
    let record: Record = serde_json::from_value(json!({
        "schema": "assay.record/3", "trial": one, "task": "a", "agent": { "name": "nop", "version": "1" },
        "sandbox": "none", "condition": "none", "repetition": 1, "outcome": "passed", "turns": 0,
        "seconds": { "prepare": 0.0, "agent": 0.0, "throttled": 0.0, "verify": 0.0, "total": 0.0 },
        "exposure": [], "measures_a_model": false, "attempt": 1,
        "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:01Z",
    }))
    .unwrap();
    store.finish(&record, &lease).unwrap();
    assert!(store.record(one).unwrap().is_some());
    let path = |id: &TrialId| store.trial_folder(id).join("record.json");
    fs::create_dir_all(store.trial_folder(other)).unwrap();
    fs::copy(path(one), path(other)).unwrap();
    let error = store.record(other).unwrap_err();
    assert!(matches!(error, StoreError::Format { .. }), "{error}");
    assert!(error.to_string().contains(&format!("the record of another trial, {one}")), "{error}");
    // The trial is executed again, and the old record is kept beside it.
    let Claim::Mine(lease) = store.claim(other).unwrap() else { panic!("the lease is free") };
    store.finish(&Record { trial: other.clone(), ..record }, &lease).unwrap();
    assert_eq!(store.record(other).unwrap().unwrap().trial, *other);
    assert!(path(other).with_file_name("record.before-1.json").exists());
}

/// A record of the trial 1 in its first attempt, with a file that it rests on.
fn write_record(store: &Store) -> PathBuf {
    let Claim::Mine(lease) = store.claim(&id(1)).unwrap() else { panic!("the lease is free") };
    let (attempt, folder) = store.begin(&id(1), &json!({}), &lease).unwrap();
    fs::write(folder.join("workspace.diff"), "+right\n").unwrap();
    let agent = serde_json::from_value(json!({ "name": "nop", "version": "1", "model": null })).unwrap();
    let new = Record::new(id(1), "a".to_owned(), agent, crate::Outcome::Failed);
    let rewards = BTreeMap::from([("reward".to_owned(), 0.1 + 0.2)]);
    let record = Record { reward: Some(0.1 + 0.2), rewards, attempt, ..new };
    store.finish(&record, &lease).unwrap();
    store.trial_folder(&id(1))
}

#[test]
fn a_signature_shows_who_wrote_a_record_and_whether_it_was_changed() {
    let key = |digit: &str| RecordKey::parse(&digit.repeat(64)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().with_keys(RecordKeys::signing(vec![key("1"), key("2")]));
    let trial = write_record(&store);
    let origin = |store: &Store| store.record_with_origin(&id(1)).map(|found| found.unwrap().1);
    let with = |keys: Vec<RecordKey>| store.clone().with_keys(RecordKeys::verifying(keys));
    assert_eq!(origin(&store).unwrap(), RecordOrigin::Signed);
    assert_eq!(origin(&with(vec![key("2"), key("1")])).unwrap(), RecordOrigin::Signed);
    assert_eq!(origin(&with(vec![key("2")])).unwrap(), RecordOrigin::UnknownKey);
    assert_eq!(origin(&with(Vec::new())).unwrap(), RecordOrigin::UnknownKey);
    let path = trial.join("record.json");
    let text = fs::read_to_string(&path).unwrap();
    let edit = |change: &dyn Fn(&mut Value)| {
        let mut record: Value = serde_json::from_str(&text).unwrap();
        change(&mut record);
        fs::write(&path, record.to_string()).unwrap();
        origin(&store)
    };
    // Another layout, and later keys of the mark, change nothing that is signed.
    assert_eq!(edit(&|_| ()).unwrap(), RecordOrigin::Signed);
    let mark = json!({ "format": "run", "file": "x", "digest": "blake3:0" });
    assert_eq!(edit(&|record| record["imported_from"] = mark.clone()).unwrap(), RecordOrigin::Imported);
    assert_eq!(
        edit(&|record| drop(record.as_object_mut().unwrap().shift_remove("signature"))).unwrap(),
        RecordOrigin::Unsigned
    );
    for (name, value) in [
        ("outcome", json!("passed")),
        ("reward", json!(1.0)),
        ("rewards", json!({ "reward": 0.3 })),
        ("ctrf", json!({ "tests": [] })),
        ("later", json!(true)),
    ] {
        let error = edit(&|record| record[name] = value.clone()).unwrap_err();
        assert!(matches!(error, StoreError::Changed { .. }), "{name}: {error}");
        assert!(error.to_string().contains("was changed after it was signed"), "{error}");
    }
    edit(&|record| record["signature"]["mac"] = json!("0".repeat(64))).unwrap_err();
    fs::write(&path, &text).unwrap();
    // What the result rests on is signed, too. A file that is gone proves nothing.
    let diff = trial.join("attempts/1/workspace.diff");
    fs::write(&diff, "+wrong\n").unwrap();
    let error = origin(&store).unwrap_err().to_string();
    assert!(error.contains("workspace.diff was changed after the record was signed"), "{error}");
    assert!(store.record(&id(1)).is_ok(), "only where evidence is asked for");
    fs::remove_file(&diff).unwrap();
    assert_eq!(origin(&store).unwrap(), RecordOrigin::Signed);
}

#[test]
fn a_record_of_a_worker_is_signed_where_it_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let worker = Store::open(folder.path()).unwrap();
    write_record(&worker);
    let keys = RecordKeys::signing(vec![RecordKey::parse(&"1".repeat(64)).unwrap()]);
    let run = worker.clone().with_keys(keys.clone());
    let origin = || run.record_with_origin(&id(1)).unwrap().unwrap().1;
    assert_eq!(origin(), RecordOrigin::Unsigned);
    worker.clone().with_keys(keys.without_signing()).sign_accepted(&id(1)).unwrap();
    assert_eq!(origin(), RecordOrigin::Unsigned);
    run.sign_accepted(&id(1)).unwrap();
    assert_eq!(origin(), RecordOrigin::Signed);
}

#[test]
fn a_skill_of_an_archive_never_replaces_that_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let digest = "a".repeat(64);
    store.write_imported_skill(&digest, b"theirs").unwrap();
    assert_eq!(store.skill(&digest).unwrap(), b"theirs");
    store.write_imported_skill(&digest, b"another").unwrap();
    assert_eq!(store.skill(&digest).unwrap(), b"theirs");
    store.write_skill(&digest, b"own").unwrap();
    assert_eq!(store.skill(&digest).unwrap(), b"own");
    // Earlier versions kept an archive's text in its place.
    fs::write(folder.path().join("skills").join(format!("{digest}.md")), "theirs").unwrap();
    store.write_skill(&digest, b"own").unwrap();
    assert_eq!(store.skill(&digest).unwrap(), b"own");
}

#[test]
fn lines_of_several_threads_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..50 {
                    store.append_history(&json!([thread, number, "x".repeat(500)])).unwrap();
                }
            });
        }
    });
    let text = fs::read_to_string(store.root().join("history.jsonl")).unwrap();
    assert_eq!(text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count(), 400);
}
