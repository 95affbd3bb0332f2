//! `assay export run` and `assay import run`: the same report from another store, and archives that are refused.

use std::fs;
use std::io::Read;

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::suite;

/// A run of two tasks under two conditions.
fn lab() -> Fixture {
    let lab = suite::lab(2).experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 2));
    let (document, status) = lab.run(&["--no-checks"]);
    assert_eq!((&document["infrastructure"], status), (&json!(0), 0), "{document:#}");
    lab
}

fn run_name(lab: &Fixture) -> String {
    let mut runs = fs::read_dir(lab.path(".assay/runs")).unwrap();
    runs.next().unwrap().unwrap().file_name().into_string().unwrap()
}

/// A file in an archive: its path, type and content.
type Entry = (String, tar::EntryType, Vec<u8>);

fn entries(archive: &[u8]) -> Vec<Entry> {
    let mut archive = tar::Archive::new(zstd::Decoder::new(archive).unwrap());
    let read = |entry: std::io::Result<tar::Entry<'_, _>>| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut content = Vec::new();
        let kind = entry.header().entry_type();
        entry.read_to_end(&mut content).unwrap();
        (path, kind, content)
    };
    archive.entries().unwrap().map(read).collect()
}

/// An archive with entries whose paths are not checked.
fn pack(entries: &[Entry]) -> Vec<u8> {
    let mut archive = tar::Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
    for (path, kind, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_ustar_mut().unwrap().name[..path.len().min(100)]
            .copy_from_slice(&path.as_bytes()[..path.len().min(100)]);
        if path.len() <= 255 && !path.contains("..") && !path.starts_with('/') {
            header.set_path(path).unwrap();
        }
        header.set_size(content.len() as u64);
        header.set_entry_type(*kind);
        if *kind == tar::EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        archive.append(&header, &content[..]).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

/// The manifest in the first entry, changed.
fn with_manifest(entries: &[Entry], change: impl FnOnce(&mut Value)) -> Vec<Entry> {
    let mut changed = entries.to_vec();
    let mut manifest: Value = serde_json::from_slice(&changed[0].2).unwrap();
    change(&mut manifest);
    changed[0].2 = serde_json::to_vec(&manifest).unwrap();
    changed
}

/// What the report of an imported run says more.
const IMPORTED: &str = "4 were imported";

/// A report without what tells where its records are from.
fn but_for_origin(mut report: Value) -> Value {
    report.as_object_mut().unwrap().shift_remove("keys");
    report["provenance"].as_object_mut().unwrap().shift_remove("plan");
    report["notes"].as_array_mut().unwrap().retain(|note| !note.to_string().contains(IMPORTED));
    report
}

#[test]
fn the_report_of_an_imported_run_is_the_same() {
    needs_bubblewrap!();
    let from = lab();
    let run = run_name(&from);
    let export = |file: &str, more: &[&str]| {
        from.assay(&[&["export", "run", &run, "--out", file, "--format", "json"], more].concat())
    };
    let exported = export("a.tar.zst", &["--tasks", "tasks/*"]).ok().json();
    assert_eq!(
        (&exported["trials"], &exported["tasks"], &exported["skipped"]),
        (&json!(4), &json!(2), &json!([]))
    );
    export("b.tar.zst", &["--tasks", "tasks/*"]).ok();
    let archive = fs::read(from.path("a.tar.zst")).unwrap();
    assert_eq!(archive, fs::read(from.path("b.tar.zst")).unwrap(), "equal runs give equal bytes");
    let all: String = entries(&archive)
        .iter()
        .map(|(_, _, content)| String::from_utf8_lossy(content).into_owned())
        .collect();
    assert!(!all.contains(from.folder().to_str().unwrap()), "an archive names no folder of this machine");

    let to = Fixture::new().file("run.tar.zst", &archive);
    let imported = to.assay(&["import", "run", "run.tar.zst", "--format", "json"]).ok().json();
    assert_eq!(
        imported,
        json!({ "schema": "assay.import-run/1", "run": run, "imported": 4, "present": 0, "trajectories": true })
    );
    for format in ["terminal", "json", "markdown", "html"] {
        let report = |lab: &Fixture| {
            let ran = lab.assay(&["report", &run, "--details", "--format", format]).ok();
            if format == "json" {
                return but_for_origin(ran.json()).to_string();
            }
            let text = ran.stdout;
            // Only where it comes from is another.
            let lines = text.lines().filter(|line| !line.contains(IMPORTED) && !line.contains("blake3:"));
            lines.collect::<Vec<_>>().join("\n")
        };
        let [before, after] = [report(&from), report(&to)];
        assert!(before == after, "{format}:\n{before}\n{after}");
    }
    let mut records = [from.records(), to.records()];
    for records in &mut records {
        for record in records {
            let record = record.as_object_mut().unwrap();
            for key in ["folder", "trial", "imported_from"] {
                record.shift_remove(key);
            }
        }
    }
    let [before, after] = records;
    assert!(before == after);
    let shown = |lab: &Fixture| {
        let id = lab.records()[0]["trial"].as_str().unwrap().to_owned();
        lab.assay(&["show", &id, "--format", "json"]).ok().json()["trajectory"].clone()
    };
    assert_eq!(shown(&to), shown(&from));
    let script = to.path(&format!(".assay/runs/{run}/tasks/t1/tests/test.sh"));
    assert_eq!(fs::read(script).unwrap(), fs::read(from.path("tasks/t1/tests/test.sh")).unwrap());

    // Once more: nothing to do. Under another name: the same trials.
    let again = to.assay(&["import", "run", "run.tar.zst"]).ok().stdout;
    assert_eq!(again, format!("{run}: 0 trials imported; 4 already in the store\n"));
    to.assay(&["import", "run", "run.tar.zst", "--name", "theirs"]).ok();
    to.assay(&["report", "theirs"]).ok();

    // Without trajectories the report is still the same.
    let small = export("small.tar.zst", &["--no-trajectories"]).ok().json();
    assert!(small["files"].as_u64() < exported["files"].as_u64());
    let to = Fixture::new().file("run.tar.zst", fs::read(from.path("small.tar.zst")).unwrap());
    to.assay(&["import", "run", "run.tar.zst"]).ok();
    let report = |lab: &Fixture| but_for_origin(lab.assay(&["report", &run, "--format", "json"]).ok().json());
    assert_eq!(report(&to), report(&from));

    // A file is not overwritten, and a changed task is not included.
    assert!(export("a.tar.zst", &[]).ended(2).stderr.contains("a.tar.zst"));
    from.write("tasks/t1/instruction.md", "Something else.\n");
    let changed = export("c.tar.zst", &["--tasks", "tasks/*"]).ended(1).json();
    assert_eq!(
        (&changed["tasks"], &changed["skipped"]),
        (&json!(1), &json!(["task `t1`: changed since the run"]))
    );
}

#[test]
fn secrets_are_removed() {
    needs_bubblewrap!();
    let lab = suite::lab(1)
        .env("DEPLOY_TOKEN", "hunter2-hunter2-hunter2")
        .script(&[json!({ "turn": 0, "run": "echo hunter2-hunter2-hunter2 > answer.txt; cat answer.txt" })])
        .experiment(|e| suite::paired(e.conditions(&["none", "curated"]), 1));
    lab.run(&["--no-checks"]);
    let run = run_name(&lab);
    lab.assay(&["export", "run", &run, "--out", "run.tar.zst"]).ok();
    let entries = entries(&fs::read(lab.path("run.tar.zst")).unwrap());
    let trajectories = entries.iter().filter(|(path, ..)| path.ends_with("trajectory.json")).count();
    assert_eq!(trajectories, 2);
    for (path, _, content) in &entries {
        assert!(!String::from_utf8_lossy(content).contains("hunter2"), "{path}");
    }
    let to = Fixture::new().file("run.tar.zst", fs::read(lab.path("run.tar.zst")).unwrap());
    to.assay(&["import", "run", "run.tar.zst"]).ok();
}

/// An archive with a result that counts twice, in a plan that was sealed again and is listed as it is, and what it is refused
/// with.
fn doubled_result(good: &[Entry]) -> (Vec<Entry>, String) {
    let at = good.iter().position(|entry| entry.0 == "run/plan.json").unwrap();
    let mut plan = assay_store::RunFolder::parse(&good[at].2, std::path::Path::new("plan.json")).unwrap();
    let mut twice = plan.cells[0].clone();
    twice.repetition += 10;
    plan.cells.push(twice);
    plan.seal();
    let mut doubled = good.to_vec();
    doubled[at].2 = serde_json::to_vec(&plan).unwrap();
    let bytes = doubled[at].2.clone();
    let doubled = with_manifest(&doubled, |it| {
        it["plan"] = json!(plan.plan);
        it["files"][at - 1]["bytes"] = json!(bytes.len());
        it["files"][at - 1]["blake3"] = json!(blake3::hash(&bytes).to_hex().as_str());
    });
    let place = format!("run/plan.json: cells 1 and {} of the condition", plan.cells.len());
    (doubled, place)
}

#[test]
fn archives_that_are_not_what_they_claim_import_nothing() {
    needs_bubblewrap!();
    let from = lab();
    let run = run_name(&from);
    from.assay(&["export", "run", &run, "--out", "run.tar.zst"]).ok();
    let archive = fs::read(from.path("run.tar.zst")).unwrap();
    let good = entries(&archive);
    let regular = tar::EntryType::Regular;
    let to = Fixture::new();
    let check = |name: &str, bytes: &[u8], expected: &str| {
        to.write("hostile.tar.zst", bytes);
        let ran = to.assay(&["import", "run", "hostile.tar.zst"]).ended(2);
        assert!(ran.stderr.contains(expected), "{name}: {}", ran.stderr);
        assert_eq!(to.records(), Vec::<Value>::new(), "{name}");
        assert!(fs::read_dir(to.path(".assay/runs")).is_ok_and(|mut runs| runs.next().is_none()), "{name}");
    };
    check("text", b"no archive", "damaged or incomplete");
    check("empty", &pack(&[]), "it is empty");
    check("cut off", &archive[..archive.len() / 2], "incomplete");
    check(
        "no manifest",
        &pack(&good[1..]),
        "it begins with \"run/experiment.toml\" instead of manifest.json",
    );
    check(
        "a later version",
        &pack(&with_manifest(&good, |it| it["schema"] = json!("assay.run-archive/9"))),
        "assay.run-archive/9",
    );
    let mut more = good.clone();
    more.push(("run/more.json".to_owned(), regular, Vec::new()));
    check("a file that is not listed", &pack(&more), "\"run/more.json\" is not in the manifest");
    check("a missing file", &pack(&good[..good.len() - 1]), "is missing: the file is incomplete");
    let mut changed = good.clone();
    changed.last_mut().unwrap().2[0] ^= 1;
    check("a changed file", &pack(&changed), "does not have the digest in the manifest");
    for path in ["../../escape", "/etc/cron.d/x", "run/tasks/../../../x/y", "trials/x/record.json"] {
        let mut hostile = with_manifest(&good, |it| it["files"][0]["path"] = json!(path));
        path.clone_into(&mut hostile[1].0);
        check(path, &pack(&hostile), "is not a path of a run archive");
    }
    let mut link = good.clone();
    link[1] = (link[1].0.clone(), tar::EntryType::Symlink, Vec::new());
    check("a link", &pack(&link), "\"run/experiment.toml\" is not a regular file");
    let mut outside = good.clone();
    "../../escape".clone_into(&mut outside[1].0);
    check("a path that differs from the manifest", &pack(&outside), "where the manifest lists");
    check(
        "a bomb",
        &pack(&with_manifest(&good, |it| {
            for file in it["files"].as_array_mut().unwrap() {
                file["bytes"] = json!(250 << 20);
            }
        })),
        "which no run does",
    );
    check(
        "a large file",
        &pack(&with_manifest(&good, |it| it["files"][0]["bytes"] = json!(1_u64 << 60))),
        "has more than",
    );
    check(
        "a file twice",
        &pack(&with_manifest(&good, |it| {
            let first = it["files"][0].clone();
            it["files"].as_array_mut().unwrap().push(first);
        })),
        "is listed twice",
    );

    // A record under another trial's id, with a digest that fits.
    let mut swapped = good.clone();
    let records: Vec<usize> =
        (0..good.len()).filter(|entry| good[*entry].0.ends_with("/record.json")).collect();
    let (a, b) = (records[0], records[1]);
    swapped[a].2 = good[b].2.clone();
    let swapped = with_manifest(&swapped, |it| {
        it["files"][a - 1]["bytes"] = it["files"][b - 1]["bytes"].clone();
        it["files"][a - 1]["blake3"] = it["files"][b - 1]["blake3"].clone();
    });
    check("a swapped record", &pack(&swapped), "is the record of");

    let (doubled, place) = doubled_result(&good);
    check("a result twice", &pack(&doubled), &place);

    assert!(to.assay(&["import", "run", "absent.tar.zst"]).ended(2).stderr.contains("absent.tar.zst"));
    to.write("good.tar.zst", &archive);
    assert!(
        to.assay(&["import", "run", "good.tar.zst", "--name", "../x"])
            .ended(2)
            .stderr
            .contains("not a name of a run")
    );
    to.assay(&["import", "run", "good.tar.zst"]).ok();
    // Another result of a trial that the store has.
    let record = to.records()[0]["trial"].as_str().unwrap().to_owned();
    let path = to.path(&format!(".assay/trials/{}/{record}/record.json", &record[..2]));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"turns\":", "\"turns\": 1", 1)).unwrap();
    let ran = to.assay(&["import", "run", "good.tar.zst", "--name", "again"]).ended(2);
    assert!(ran.stderr.contains("the store has another result of trial"), "{}", ran.stderr);
}
