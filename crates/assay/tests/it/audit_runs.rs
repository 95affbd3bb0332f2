//! `assay audit corpus` on a run of `assay run`.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};

const BODY: &str = "Write the code `RH-7731` above the totals.\n\
    Name the column `closing_zq_month`.\n\
    Write the code `SG-4482` below the totals.";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Two tasks; where the skill is offered it is read, and its directives are followed. One task is passed without it, one is not.
fn lab() -> Fixture {
    let copy = "printf 'RH-7731\\nclosing_zq_month\\nSG-4482\\n' > note.md; echo right > answer.txt";
    let read = json!({"condition": "curated", "turn": 0, "run": ["cat /skills/ledger/SKILL.md"]});
    let rules = [
        read,
        json!({"condition": "curated", "turn": 1, "run": [copy]}),
        json!({"condition": "none", "task": "easy", "turn": 0, "run": ["echo right > answer.txt"]}),
        json!({"condition": "none", "task": "hard", "turn": 0, "run": ["ls"]}),
    ];
    Fixture::new()
        .task("easy", |task| task)
        .task("hard", |task| task)
        .skill("ledger", "Ledger exports.", BODY)
        .script(&rules)
        .experiment(|e| {
            e.conditions(&["none", "curated"])
                .repetitions(2)
                .pair("easy", &["ledger"])
                .pair("hard", &["ledger"])
        })
}

#[test]
fn a_run_is_audited_with_its_outcomes() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    // What the skill says now is nothing to a run of before.
    lab.write("skills/ledger/SKILL.md", "---\nname: ledger\ndescription: d\n---\nOther words.\n");
    let args = ["audit", "corpus", "lab", "--strict"];
    let found = lines(&lab.assay(&[&args[..], &["--format", "json"]].concat()).ok().stdout);
    let traces: Vec<&Value> = found.iter().filter(|line| line["kind"] == "trace").collect();
    assert_eq!(traces.len(), 8);
    for trace in &traces {
        let with = trace["condition"] == "with";
        assert_eq!(
            (&trace["exposure"]["opened"], trace["arm"].as_str().unwrap()),
            (&json!(with), "loop scripted:turns.jsonl, curated")
        );
        assert_eq!(trace["condition_name"], if with { "curated" } else { "none" });
        assert!(trace["repetition"].is_u64() && trace["trial"].is_string() && trace["task"].is_string());
        assert_eq!(trace["adoption"]["adopted"], with, "{trace}");
        assert!(lab.path(".assay").join(trace["trace"].as_str().unwrap()).is_file(), "{trace}");
    }
    let pairs: Vec<&Value> = found.iter().filter(|line| line["mode"] == "treatment").collect();
    assert!(!pairs.is_empty() && pairs.iter().all(|pair| pair["exposure"]["plus"]["opened"] == true));
    let arm = &found.last().unwrap()["arms"][0];
    assert_eq!((&arm["tasks"], &arm["exposure"]["contaminated"]), (&json!(2), &json!(0)));
    let buckets: Vec<(&Value, &Value)> = arm["buckets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bucket| (&bucket["bucket"], &bucket["tasks"]))
        .collect();
    assert_eq!(buckets, [(&json!("ceiling"), &json!(1)), (&json!("floor"), &json!(1))]);
    let span = &arm["readers"][0]["spans"][0];
    assert!(BODY.lines().any(|line| span["skill_text"] == line), "{span}");
    let directives: Vec<&Value> = found.iter().filter(|line| line["kind"] == "directive").collect();
    assert_eq!(directives.len(), 3);
    for directive in directives {
        // The skill belongs to both tasks.
        assert_eq!(
            (&directive["runs"], &directive["followed"], &directive["tasks"]),
            (&json!(2), &json!(2), &json!(["easy", "hard"]))
        );
        assert_eq!(directive["finding"], "followed");
    }
    let sentence = found.last().unwrap()["sentence"].as_str().unwrap();
    // The repetitions are copies of each other, and two tasks are too few to be sure.
    let expected = "`curated`: in both runs that opened the skill, the agent followed directives that no run";
    assert!(sentence.starts_with(expected) && sentence.contains("no p below .25 is possible"), "{sentence}");
    let shown = lab.assay(&args).ok().stdout;
    // People are told of task, condition and repetition; the id leads on.
    let details = lab.assay(&[&args[..], &["--details"]].concat()).ok().stdout;
    let named = |line: &&str| line.contains("condition curated, repetition 1 (trial ") && line.ends_with(')');
    let name = details.lines().find(named).unwrap();
    let (_, id) = name.trim().trim_end_matches(')').rsplit_once(' ').unwrap();
    assert!(name.trim().starts_with("task easy, ") && !details.contains("trajectory.json"), "{details}");
    assert!(shown.contains("task easy, repetition 1, step") && !shown.contains("inertia"), "{shown}");
    let control =
        traces.iter().find(|trace| trace["condition"] == "without").unwrap()["trace"].as_str().unwrap();
    let without = control.split('/').nth(2).unwrap();
    let pair = lab.assay(&["audit", "show", "--with", id, "--without", &without[..12]]).ok().stdout;
    assert!(
        pair.contains("◆ the skill was opened here") && pair.contains("outcome") && pair.contains("SG-4482"),
        "{pair}"
    );
    let swapped = lab.assay(&["audit", "show", "--with", &without[..12], "--without", id]).ended(2);
    assert!(swapped.stderr.contains("had no skill"), "{}", swapped.stderr);
    let unknown = lab.assay(&["audit", "show", "--with", "0000000000", "--without", id]).ended(2);
    assert!(unknown.stderr.contains("no trial id in this store begins with"), "{}", unknown.stderr);
    let file = lab.path(".assay").join(control).display().to_string();
    let unnamed = lab.assay(&["audit", "show", "--with", &file, "--without", id]).ended(2);
    assert!(unnamed.stderr.contains("`--skill FILE` is missing"), "{}", unnamed.stderr);
    assert!(
        details.contains("baseline ceiling: 1 tasks") && details.contains("baseline floor: 1 tasks"),
        "{details}"
    );
}

#[test]
fn unusable_parts_of_a_run_are_reported() {
    needs_bubblewrap!();
    let lab = lab();
    let refused = |args: &[&str], why: &str| {
        let ran = lab.assay(&[&["audit", "corpus"], args].concat()).ended(2);
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
    };
    refused(&["lab"], "as `assay show` lists it");
    lab.run(&["--no-checks"]);
    refused(&["other"], "no run \"other\"");
    // A store of before, in which no skill was kept.
    std::fs::remove_dir_all(lab.path(".assay/skills")).unwrap();
    refused(&["lab"], "the store has no SKILL.md of ledger");
    lab.run(&["--no-checks"]);
    // A missing trajectory is reported, and the others are audited.
    let record = lab.records().into_iter().find(|record| record["condition"] == "curated").unwrap();
    let trajectory = crate::fixture::attempt(&record, "trajectory.json");
    std::fs::remove_file(&trajectory).unwrap();
    let ran = lab.assay(&["audit", "corpus", "lab"]).ok();
    assert_eq!(ran.stderr.matches("excluded").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("trajectory.json").count(), 1, "{}", ran.stderr);
    lab.assay(&["audit", "corpus", "lab", "--strict"]).ended(1);
}

/// A skill whose last line no run reads; one task follows the others, one does not.
fn kilns() -> Fixture {
    const LINES: &str = "Write the code `KX-4417` into the file `answer.txt` of the task.\n\
        Use `zq_drain` instead of `zq_reset` whenever a kiln is emptied.\n\
        Name the column `closing_zq_month` in every table that is written.\n\
        Kilns are heated slowly, and nobody opens them before they are cold.\n\
        The glaze decides how long that takes, and so does the season.\n\
        Nobody writes the numbers of the day before into the new tables.\n\
        Sign the last line of every answer with the code `QV-9932`, always.";
    let test = "mkdir -p /logs/verifier\ns=failed; r=0\nif grep -q KX-4417 answer.txt; then s=passed; r=1; fi\n\
        printf '{\"results\":{\"tests\":[{\"name\":\"code KX-4417\",\"status\":\"%s\",\"message\":\"no KX-4417\"},\
        {\"name\":\"file\",\"status\":\"passed\"}]}}' $s > /logs/verifier/ctrf.json\necho $r > /logs/verifier/reward.txt\n";
    let does = |condition: &str, task: &str, turn: usize, run: &str| json!({"condition": condition, "task": task, "turn": turn, "run": [run]});
    let read = "head -n 11 /skills/kiln/SKILL.md";
    let rules = [
        does("curated", "north", 0, read),
        does("curated", "north", 1, "printf 'KX-4417\\nzq_drain\\nclosing_zq_month\\n' > answer.txt"),
        does("curated", "south", 0, read),
        does("curated", "south", 1, "printf 'zq_reset\\n' > answer.txt"),
        does("none", "north", 0, "echo no > answer.txt"),
        does("none", "south", 0, "echo no > answer.txt"),
    ];
    Fixture::new()
        .task("north", |task| task.test_sh(test))
        .task("south", |task| task.test_sh(test))
        .skill("kiln", "Kilns.", LINES)
        .script(&rules)
        .experiment(|e| {
            e.conditions(&["none", "curated"])
                .repetitions(2)
                .pair("north", &["kiln"])
                .pair("south", &["kiln"])
        })
}

#[test]
fn an_author_sees_first_what_was_violated_ignored_and_not_delivered() {
    needs_bubblewrap!();
    let lab = kilns();
    lab.run(&["--no-checks"]);
    let shown = lab.assay(&["audit", "corpus", "lab"]).ok().stdout;
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let (head, patterns) = shown.split_once("\n  Patterns").unwrap_or((&shown, ""));
    insta::assert_snapshot!(head);
    assert!(!head.contains("inertia") && !head.contains("AUC"), "{patterns}");
    let lines = lines(&lab.assay(&["audit", "corpus", "lab", "--format", "json"]).ok().stdout);
    let found: Vec<(u64, &str)> = lines
        .iter()
        .filter(|line| line["kind"] == "directive")
        .map(|line| (line["line"].as_u64().unwrap(), line["finding"].as_str().unwrap()))
        .collect();
    let position = |finding: &str| found.iter().position(|(_, other)| *other == finding);
    assert!(position("violated") < position("not-followed-checks-fail"), "{found:?}");
    assert!(position("not-followed-checks-fail") < position("never-delivered"), "{found:?}");
    for line in lines.iter().filter(|line| line["kind"] == "trace") {
        for key in ["task", "condition", "condition_name", "repetition", "trial"] {
            assert!(!line[key].is_null(), "{key}: {line}");
        }
    }
}

/// The run of twelve tasks in which a language model passed two without the skill and all with it.
#[test]
#[ignore = "needs shared data"]
fn the_headline_of_the_twelve_runs_says_that_the_skill_was_adopted() {
    let archive = assay_test::shared("runs/twelve.tar.zst");
    let lab = Fixture::new();
    let bytes = zstd::decode_all(&std::fs::read(archive).unwrap()[..]).unwrap();
    tar::Archive::new(&bytes[..]).unpack(lab.path("store")).unwrap();
    let store = lab.path("store").display().to_string();
    let args = ["audit", "corpus", "twelve", "--store", &store, "--format", "json"];
    let found = lines(&lab.assay(&args).ok().stdout);
    let last = found.last().unwrap();
    let sentence = last["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("`curated` changed what the agent did: in "), "{sentence}");
    for word in ["AUC", "inertia"] {
        assert!(!sentence.contains(word), "{sentence}");
    }
    let arm = &last["arms"][0];
    assert_eq!(arm["evidence"].as_array().unwrap().len(), 3);
    assert_eq!(arm["adopted"]["read"]["of"], 10);
    assert!(arm["adopted"]["read"]["count"].as_u64() >= Some(8), "{sentence}");
    assert_eq!(
        (&arm["adopted"]["unread"]["count"], &arm["adopted"]["controls"]["count"]),
        (&json!(0), &json!(0))
    );
    let opened: Vec<&Value> =
        found.iter().filter(|line| line["kind"] == "trace" && line["exposure"]["opened"] == true).collect();
    assert_eq!(opened.len(), 10);
    let delivered = |trace: &&&Value| trace["adoption"]["directives"]["delivered"].as_u64() > Some(0);
    assert_eq!(opened.iter().filter(delivered).count(), 10);
}
