//! `assay audit` by its default method, on traces made for it.

use serde_json::{Value, json};

use crate::fixture::Fixture;

const SKILL: &str = "---\nname: ledger\ndescription: Ledger exports.\n---\n# Ledger\n\n\
    1. Write the code `RH-7731` above the totals.\n\
    2. Name the column `closing_zq_month`.\n\
    3. Write the code `SG-4482` below the totals.\n";

const OTHER: &str =
    "---\nname: other\ndescription: Other things.\n---\nWater the office plants on Mondays and Thursdays.\n";

/// A log in which an agent reads a file, then writes one.
pub(crate) fn log(session: &str, read: &str, came: &str, content: &str) -> String {
    let block = |id: &str, block: Value| {
        let message = json!({"id": id, "role": "assistant", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 4}, "content": [block]});
        json!({"type": "assistant", "isSidechain": false, "sessionId": session, "uuid": id, "message": message})
    };
    let result = json!({"type": "tool_result", "tool_use_id": "1", "content": came});
    let lines = [
        json!({"type": "user", "isSidechain": false, "sessionId": session, "uuid": "p", "message": {"role": "user", "content": "Export the ledger."}}),
        block("m1", json!({"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": read}})),
        json!({"type": "user", "isSidechain": false, "sessionId": session, "uuid": "u", "message": {"role": "user", "content": [result]}}),
        block(
            "m2",
            json!({"type": "tool_use", "id": "2", "name": "Write", "input": {"file_path": "out.md", "content": content}}),
        ),
    ];
    lines.iter().map(|line| line.to_string() + "\n").collect()
}

/// One run that read the skill and copied from it, three controls that wrote something else.
fn lab() -> Fixture {
    let at = "data/traces/arm/ledger";
    let copied = "RH-7731\nclosing_zq_month,amount\nSG-4482\n";
    let mut lab = Fixture::new()
        .file("data/skills/ledger/SKILL.md", SKILL)
        .file("data/tasks/ledger.md", "Export the ledger.")
        .file("other.md", OTHER)
        .file(&format!("{at}/with/r1/a.jsonl"), log("a", "/s/skills/ledger/SKILL.md", SKILL, copied));
    for (run, words) in ["totals only", "a table of amounts", "nothing much"].iter().enumerate() {
        lab = lab.file(
            &format!("{at}/without/r{run}/b.jsonl"),
            log(&format!("b{run}"), "README.md", "text", words),
        );
    }
    lab
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_corpus_shows_who_read_the_skill_and_both_spans() {
    let shown = lab().assay(&["audit", "corpus", "data", "--strict"]).ok().stdout;
    insta::assert_snapshot!(shown);
    let details = lab().assay(&["audit", "corpus", "data", "--details"]).ok().stdout;
    for expected in ["opened the skill in step 2", "pattern, per pair", "adoption by task", "ledger"] {
        assert!(details.contains(expected), "{expected}: {details}");
    }
}

#[test]
fn a_corpus_gives_pairs_traces_and_findings() {
    let found = lines(&lab().assay(&["audit", "corpus", "data", "--format", "json"]).ok().stdout);
    let kinds: Vec<&str> = found.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [["pair"; 9].as_slice(), &["trace"; 4], &["directive"; 3], &["run", "findings"]].concat()
    );
    let trace = &found[9];
    assert_eq!((&trace["condition"], &trace["exposure"]["opened"]), (&json!("with"), &json!(true)));
    assert_eq!((&trace["task"], &trace["repetition"]), (&json!("ledger"), &json!(1)));
    let counts = json!({"total": 3, "delivered": 3, "followed": 3, "violated": 0, "unknown": 0});
    assert_eq!(
        (&trace["adoption"]["adopted"], &trace["adoption"]["directives"]),
        (&json!(true), &counts),
        "{trace}"
    );
    for control in &found[10..13] {
        assert_eq!((&control["adoption"]["score"], &control["condition"]), (&json!(0.0), &json!("without")));
    }
    let directive = &found[13];
    assert_eq!(
        (&directive["line"], &directive["subject"], &directive["followed"], &directive["delivered"]),
        (&json!(7), &json!("RH-7731"), &json!(1), &json!(1))
    );
    assert_eq!(directive["example_location"]["step"], 3);
    let last = &found[17];
    let sentence = last["sentence"].as_str().unwrap();
    assert_eq!(sentence, last["arms"][0]["sentence"]);
    // One of four labellings: nothing could be seen.
    assert!(sentence.contains("no p below .25 is possible"), "{sentence}");
    let reader = &last["arms"][0]["readers"][0];
    assert_eq!(
        (&reader["spans"][0]["step"], &reader["spans"][0]["after_opening"]),
        (&json!(3), &json!(true))
    );
}

#[test]
fn a_single_pair_takes_other_skills_for_its_null() {
    let at = "data/traces/arm/ledger";
    let (with, without) = (format!("{at}/with/r1/a.jsonl"), format!("{at}/without/r0/b.jsonl"));
    let args =
        ["audit", "pairs", "--with", &with, "--without", &without, "--skill", "data/skills/ledger/SKILL.md"];
    let of =
        |more: &[&str]| lines(&lab().assay(&[&args[..], more, &["--format", "json"]].concat()).ok().stdout);
    let found = of(&["--null", "other.md"]);
    let pattern = &found.last().unwrap()["arms"][0]["patterns"][0];
    assert_eq!(
        (&pattern["pattern"], &pattern["null"]),
        (&json!("procedural_scaffolding"), &json!("placebo"))
    );
    assert_eq!((&pattern["excess"]["treatment"], &pattern["excess"]["null"]), (&json!(0.0), &json!(0.0)));
    assert_eq!(pattern["excess"]["p"], 1.0);
    // More runs without the skill are a null of their own.
    let found = of(&["--null", &format!("{at}/without/r1/b.jsonl")]);
    assert_eq!(found.last().unwrap()["arms"][0]["patterns"][0]["null"], "runs");
    // Without either there is none, and it is said.
    assert_eq!(of(&[]).last().unwrap()["arms"][0]["patterns"][0]["excess"], Value::Null);
}

#[test]
fn what_the_task_says_is_no_evidence_in_a_pair() {
    let at = "data/traces/arm/ledger";
    let (with, without) = (format!("{at}/with/r1/a.jsonl"), format!("{at}/without/r0/b.jsonl"));
    let lab = lab().file("task.md", SKILL);
    let score = |more: &[&str]| {
        let args = [
            "audit",
            "pairs",
            "--with",
            &with,
            "--without",
            &without,
            "--skill",
            "data/skills/ledger/SKILL.md",
        ];
        let found = lines(&lab.assay(&[&args[..], more, &["--format", "json"]].concat()).ok().stdout);
        let trace = found.iter().find(|line| line["kind"] == "trace" && line["condition"] == "with").unwrap();
        trace["adoption"]["score"].as_f64()
    };
    assert!(score(&[]) > Some(0.25));
    // Nothing is left that only the skill explains.
    assert_eq!(score(&["--task", "task.md"]), None);
}

#[test]
fn traces_of_a_corpus_may_be_compressed() {
    let plain = lab();
    let packed = lab();
    let of = |lab: &Fixture, command: &[&str]| {
        lab.assay(&[command, &["corpus", "data", "--format", "json", "--strict"]].concat()).ok().stdout
    };
    for (run, ending) in [("with/r1/a", "zst"), ("without/r0/b", "gz")] {
        let path = packed.path(&format!("data/traces/arm/ledger/{run}.jsonl"));
        let text = std::fs::read(&path).unwrap();
        let bytes = if ending == "zst" {
            zstd::encode_all(&text[..], 1).unwrap()
        } else {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut gzip, &text).unwrap();
            gzip.finish().unwrap()
        };
        std::fs::remove_file(&path).unwrap();
        packed.write(&format!("data/traces/arm/ledger/{run}.jsonl.{ending}"), bytes);
    }
    for command in [&["audit"][..], &["lab", "cta-2026"]] {
        let found = of(&packed, command);
        assert!(found.contains("a.jsonl.zst"), "{found}");
        assert_eq!(found.replace(".jsonl.zst", ".jsonl").replace(".jsonl.gz", ".jsonl"), of(&plain, command));
    }
}

#[test]
fn what_cannot_be_audited_is_told_and_the_rest_is() {
    let lab = lab().file("data/traces/arm/lost/with/r1/x.jsonl", log("x", "a", "b", "c"));
    let ran = lab.assay(&["audit", "corpus", "data"]).ok();
    assert!(ran.stderr.contains("no SKILL.md for the task lost"), "{}", ran.stderr);
    assert!(ran.stdout.contains("opened in 1"));
}

/// A corpus of one skill with this body: one run that read it and wrote this, and three controls.
fn lab_of(body: &str, written: &str) -> Fixture {
    let skill = format!("---\nname: ledger\ndescription: Exports.\n---\n{body}");
    let at = "data/traces/arm/ledger";
    (0..3).fold(
        Fixture::new()
            .file("data/skills/ledger/SKILL.md", &skill)
            .file("data/tasks/ledger.md", "Export the ledger.")
            .file(&format!("{at}/with/r1/a.jsonl"), log("a", "/s/skills/ledger/SKILL.md", &skill, written)),
        |lab, run| {
            let words = log(&format!("b{run}"), "README.md", "text", &format!("totals {run}"));
            lab.file(&format!("{at}/without/r{run}/b.jsonl"), words)
        },
    )
}

/// A skill of which nothing can be adopted measurably, a skill of which no single run can show adoption, and one of which it can.
#[test]
fn adoption_is_unknown_where_nothing_can_be_adopted_measurably() {
    const CANNOT: &str = "adoption cannot be measured";
    let check = |body: &str, written: &str, measured: bool, decided: bool, says: &str| {
        let lab = lab_of(body, written);
        let found = lines(&lab.assay(&["audit", "corpus", "data", "--format", "json"]).ok().stdout);
        let arm = &found.last().unwrap()["arms"][0];
        let trace = found.iter().find(|line| line["kind"] == "trace" && line["condition"] == "with").unwrap();
        let known = |value: &Value, known: bool, what: &str| {
            assert_eq!(!value.is_null(), known, "{body:?}: {what} in {arm:#}");
        };
        known(&arm["adoption"], measured, "adoption");
        known(&trace["adoption"]["score"], measured, "score");
        known(&arm["readers"][0]["adoption"], measured, "adoption of the reader");
        known(&arm["adopted"], decided, "adopted");
        known(&trace["adoption"]["adopted"], decided, "whether it adopted");
        known(&arm["readers"][0]["adopted"], decided, "whether the reader adopted");
        known(&arm["buckets"][0]["adopted"], decided, "adopted in the bucket");
        assert_eq!(arm["sensitivity"].as_array().unwrap().is_empty(), !decided, "{arm:#}");
        let sentence = arm["sentence"].as_str().unwrap();
        assert!(sentence.contains(says), "{body:?}: {sentence}");
        assert_eq!(sentence.contains(CANNOT), !measured, "{sentence}");
        assert!(decided || !sentence.contains("none of") && !sentence.contains("shows"), "{sentence}");
        for args in [&["--details"][..], &[]] {
            let shown = lab.assay(&[&["audit", "corpus", "data"], args].concat()).ok().stdout;
            let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(says), "{body:?}: {shown}");
            assert_eq!(flat.contains("adopted cannot be measured"), !decided, "{shown}");
            assert_eq!(flat.contains(" of 1 runs that opened it"), decided, "{shown}");
        }
        let pair = ["with/r1/a", "without/r0/b"].map(|run| format!("data/traces/arm/ledger/{run}.jsonl"));
        let show = [
            "audit",
            "show",
            "--with",
            &pair[0],
            "--without",
            &pair[1],
            "--skill",
            "data/skills/ledger/SKILL.md",
            "--task",
            "data/tasks/ledger.md",
        ];
        let document = lab.assay(&[&show[..], &["--format", "json"]].concat()).ok().json();
        // How usual a round limit is, one other run does not tell.
        let measured = measured && !body.contains("above 20");
        known(&document["with"]["adoption"], measured, "adoption of a pair");
        known(&document["without"]["adoption"], measured, "adoption of a pair");
        for format in ["terminal", "html"] {
            let page = lab.assay(&[&show[..], &["--format", format]].concat()).ok().stdout;
            assert_eq!(page.contains("cannot be measured"), !measured, "{body:?} as {format}: {page}");
        }
    };
    let nothing = "what the skill demands is common or already in the task";
    let little = "a single run cannot show adoption";
    // Round limits are what many would choose, unless the other runs do not: of three that is little evidence.
    check(
        "- A flood is a ratio above 20.\n- A scan has a share above 0.7.\n",
        "flood\n",
        true,
        false,
        little,
    );
    // Prose demands nothing that can be seen.
    check("Be careful with totals.\n", "totals\n", false, false, nothing);
    // What the task itself demands.
    check("Export `the ledger`.\n", "the ledger\n", false, false, nothing);
    // One directive is less than one and a half.
    check("Write the code `RH-7731` above the totals.\n", "RH-7731\n", true, false, little);
    let more = "Name the column `closing_zq_month`.\n\nWrite the code `SG-4482` below the totals.\n";
    check(
        &format!("Write the code `RH-7731`.\n\n{more}"),
        "nothing of it\n",
        true,
        true,
        "shows no adoption",
    );
}
