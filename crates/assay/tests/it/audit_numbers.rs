//! One number for one fact: what a trial followed, in every command and on every page.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};

const REFERENCE: &str = "# Gate\n\nWrite the code `GT-5518` into the last line of each note.\n\
    Name the file `gate_zq_log.csv` for what the gate said.\n";

/// Two skills; the run reads one with its reference, and follows directives of both of its files.
fn lab() -> Fixture {
    let read = "cat /skills/ledger/SKILL.md; cat /skills/ledger/references/gate.md";
    let write = "printf 'RH-7731\\nGT-5518\\n' > note.md; echo right > answer.txt";
    let rules = [
        json!({"condition": "curated", "turn": 0, "run": [read]}),
        json!({"condition": "curated", "turn": 1, "run": [write]}),
        json!({"condition": "none", "turn": 0, "run": ["echo RH-7731 > answer.txt"]}),
    ];
    Fixture::new()
        .task("easy", |task| task)
        .task("hard", |task| task)
        .skill(
            "ledger",
            "Ledger exports.",
            "Write the code `RH-7731` above the totals.\nRead `references/gate.md`.",
        )
        .file("skills/ledger/references/gate.md", REFERENCE)
        .skill("kiln", "Kilns.", "Use the code `KX-4417` for wet trays.")
        .script(&rules)
        .experiment(|e| {
            e.conditions(&["none", "curated"])
                .repetitions(2)
                .pair("easy", &["ledger"])
                .pair("hard", &["ledger"])
        })
}

/// What follows a text on a page up to a sign, without marks.
fn after(page: &str, text: &str) -> String {
    let mut plain = String::new();
    let mut is_mark = false;
    for sign in page.chars() {
        match sign {
            '<' => is_mark = true,
            '>' => {
                is_mark = false;
                plain.push(' ');
            }
            sign if !is_mark => plain.push(sign),
            _ => {}
        }
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    let plain = words.join(" ");
    let at = plain.find(text).unwrap_or_else(|| panic!("{text}: {plain}"));
    plain[at + text.len()..].trim().chars().take(60).collect()
}

#[test]
fn a_trial_has_the_same_numbers_everywhere() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let text = lab.assay(&["audit", "corpus", "lab", "--format", "json"]).ok().stdout;
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counts: BTreeMap<String, Value> = lines
        .iter()
        .filter(|line| line["kind"] == "trace")
        .map(|line| (line["trial"].as_str().unwrap().to_owned(), line["adoption"]["directives"].clone()))
        .collect();
    assert_eq!(counts.len(), 8);
    let copies = lines.iter().filter(|line| line["kind"] == "trace" && !line["copy_of"].is_null()).count();
    assert_eq!(copies, 4, "{text}");
    assert!(
        lines.iter().filter(|line| line["kind"] == "directive").all(|line| line["copies"] == 2),
        "{text}"
    );
    let records = lab.records();
    let id = |condition: &str, task: &str| {
        let found = records.iter().find(|record| record["condition"] == condition && record["task"] == task);
        found.unwrap()["trial"].as_str().unwrap().to_owned()
    };
    lab.assay(&["view", "--export", "site"]).ok();
    let site = lab.path("site/runs/lab");
    let read = |path: &str| fs::read_to_string(site.join(path).join("index.html")).unwrap();
    for task in ["easy", "hard"] {
        let (with, without) = (id("curated", task), id("none", task));
        let own = &counts[&with];
        // Of SKILL.md and of the reference.
        assert!(own["followed"].as_u64() >= Some(2) && own["total"].as_u64() >= Some(3), "{own}");
        let shown = lab.assay(&["audit", "show", "--with", &with, "--without", &without, "--format", "json"]);
        let shown = shown.ok().json();
        assert_eq!((&shown["with"]["directives"], &shown["without"]["directives"]), (own, &counts[&without]));
        let number = |name: &str| own[name].as_u64().unwrap();
        let of = format!("{} of {}", number("followed"), number("total"));
        let trial = read(&format!("trials/{with}"));
        let expected = format!(
            "{} followed and {} violated of {} directives",
            number("followed"),
            number("violated"),
            number("total")
        );
        assert!(trial.contains(&expected), "{expected}: {}", after(&trial, "Directives"));
        let pair = read(&format!("pairs/{with}/{without}"));
        assert!(
            after(&pair, "directives followed").starts_with(&of),
            "{of}: {}",
            after(&pair, "directives followed")
        );
    }
    let skills: Vec<_> =
        fs::read_dir(site.join("skills")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let pages: Vec<String> =
        skills.iter().map(|path| fs::read_to_string(path.join("index.html")).unwrap()).collect();
    let page = pages.iter().find(|page| page.contains("2 trials ran and wrote the same as others")).unwrap();
    let own = &counts[&id("curated", "easy")];
    let row = after(page, "easy curated 1 step");
    let expected = format!("{} of {} {} {}", own["followed"], own["total"], own["violated"], own["unknown"]);
    assert!(row.contains(&expected), "{expected}: {row}");
    // Kept results are used, and damaged ones are not.
    let kept: Vec<_> =
        fs::read_dir(lab.path(".assay/audits")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 2);
    for path in &kept {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text.replace("\"followed\"", "\"violated\"")).unwrap();
    }
    lab.assay(&["view", "--export", "again"]).ok();
    let skill = skills.iter().zip(&pages).find(|(_, other)| *other == page).unwrap().0;
    let again = lab.path("again/runs/lab/skills").join(skill.file_name().unwrap()).join("index.html");
    assert_eq!(&fs::read_to_string(again).unwrap(), page);
}

#[test]
fn a_folder_or_a_file_does_not_hide_a_run_or_a_trial() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let record = lab.records().into_iter().find(|record| record["condition"] == "curated").unwrap();
    let with = record["trial"].as_str().unwrap()[..12].to_owned();
    let control = lab.records().into_iter().find(|record| record["condition"] == "none").unwrap();
    let without = control["trial"].as_str().unwrap()[..12].to_owned();
    fs::create_dir_all(lab.path("lab")).unwrap();
    fs::create_dir_all(lab.path(&with)).unwrap();
    lab.assay(&["audit", "corpus", "lab"]).ok();
    lab.assay(&["audit", "show", "--with", &with, "--without", &without]).ok();
    let folder = lab.assay(&["audit", "corpus", "./lab"]).ended(2);
    assert!(folder.stderr.contains("contains no traces"), "{}", folder.stderr);
    fs::remove_dir(lab.path("lab")).unwrap();
    lab.write("lab", "a file");
    lab.assay(&["audit", "sheet", "lab"]).ok();
    lab.write(&without, "{}");
    let both = lab.assay(&["audit", "show", "--with", &with, "--without", &without]).ended(2);
    assert!(both.stderr.contains("is both a file and the beginning of a trial's id"), "{}", both.stderr);
}
