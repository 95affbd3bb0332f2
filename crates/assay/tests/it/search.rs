//! `assay lab search bench` on a small corpus.

use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran};

/// Four searchable skills, one that is excluded, one invalid line and one duplicate id.
const CORPUS: &str = r#"{"id":"s1","repo":"a/x","name":"pivot-tables","description":"Makes pivot tables from exports.","skill_md":"---\nname: pivot-tables\n---\n# Pivot tables\nGroup the rows, then sum them."}
{"id":"s2","repo":"a/x","name":"log-audit","description":"Audits logs.","skill_md":"Count the errors of each hour."}
{"id":"s3","repo":"b/y","name":"letters","description":"Writes letters.","skill_md":"Be short."}
{"id":"s4","repo":"c/z","name":"sums","description":"Adds numbers up.","skill_md":"Sum the rows of a table."}
{"id":"s5","repo":"a/x","name":"pivot-copy","description":"Makes pivot tables.","skill_md":"x","filter_stage":"content"}
{"id":"s6"
{"id":"s1","repo":"a/x","name":"again","description":"again","skill_md":"again"}
"#;

const QUERIES: &str = r#"{"qid":"q1","query":"make a pivot table of this export","repository":"a","source":"made","gold_ids":["s1"],"neardup_ids":["s4"],"negatives":["s2"]}
{"qid":"q2","query":"which hour has most errors in the log?","repository":"a","source":"made","gold_ids":["s2"]}
{"qid":"q3","query":"sum the rows","repository":"b","source":"made","gold_ids":["s1"],"acceptable_ids":["s4"]}
{"qid":"q4","query":"nobody can answer this","repository":"b","source":"made","gold_ids":["gone"]}
"#;

fn lab() -> Fixture {
    let negatives = "{\"query\":\"write a letter about my logs\",\"not_ids\":[\"s2\"]}\n";
    Fixture::new()
        .file("corpus.jsonl", CORPUS)
        .file("queries.jsonl", QUERIES)
        .file("negatives.jsonl", negatives)
}

fn bench(lab: &Fixture, more: &[&str]) -> Ran {
    let base = [
        "--format",
        "json",
        "lab",
        "search",
        "bench",
        "--corpus",
        "corpus.jsonl",
        "--queries",
        "queries.jsonl",
    ];
    lab.assay(&base.iter().chain(more).copied().collect::<Vec<_>>())
}

fn of<'a>(found: &'a Value, name: &str, pool: &str) -> &'a Value {
    let all = found["retrievers"].as_array().unwrap();
    all.iter().find(|own| own["name"] == name && own["pool"] == pool).unwrap()
}

#[test]
fn retrievers_are_held_against_requests() {
    let lab = lab();
    let ran = bench(&lab, &["--negatives", "negatives.jsonl", "--run-out", "runs"]).ok();
    for told in [
        "corpus.jsonl:6: error: ",
        "corpus.jsonl: 1 duplicate ids; the first of each is used",
        "queries.jsonl: query q4: none of its 1 relevant skills is in the corpus",
    ] {
        assert!(ran.stderr.contains(told), "{told:?} is not in {}", ran.stderr);
    }
    let found = ran.json();
    assert_eq!((&found["schema"], &found["queries"]), (&json!("assay.search-bench/2"), &json!(3)));
    assert_eq!(found["corpus"], json!({ "documents": 4 }));
    assert_eq!(
        of(&found, "bm25:stemmer=english", "all")["options"]["stemmer"],
        "english",
        "the fair baseline"
    );
    let bm25 = of(&found, "bm25", "all");
    // By hand: q1 and q2 find their skill first; q3 finds `sums` first and `pivot-tables` second.
    let third = 1.0 / 3.0_f64.log2();
    let mean = bm25["micro"]["ndcg@10"]["mean"].as_f64().unwrap();
    assert!((mean - (2.0 + third) / 3.0).abs() < 1e-12, "{bm25:#}");
    assert!((bm25["micro_lenient"]["ndcg@10"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    assert_eq!((&bm25["forbidden_top3"], &bm25["options"]["k1"]), (&json!(0.0), &json!(1.5)));
    assert_eq!(
        of(&found, "bm25", "repositories")["documents"],
        2,
        "only the repository that owns what is asked for"
    );
    assert_eq!(
        found["comparisons"].as_array().unwrap().len(),
        8,
        "four retrievers against the first, in two pools"
    );
    assert_eq!(found["negatives"][0]["requests"], 1);
    assert!(bm25["cost"]["queries_per_second"].as_f64().unwrap() > 0.0);

    let run = std::fs::read_to_string(lab.path("runs/bm25.trec")).unwrap();
    assert!(run.starts_with("q1 Q0 s1 1 "), "{run}");
    // What was written can be read again, and is as good.
    let again = bench(&lab, &["--retriever", "run:runs/bm25.trec", "--qrels", "runs/qrels.txt"]).ok().json();
    assert_eq!(of(&again, "bm25", "all")["micro"], bm25["micro"]);
}

#[test]
fn a_request_is_asked_without_its_sentences() {
    let lab = lab().file(
        "queries.jsonl",
        r#"{"qid":"q1","query":"I am in a hurry. Make a pivot table of it!","repository":"a","source":"made","gold_ids":["s1"]}"#,
    );
    let args = ["lab", "search", "erase", "--corpus", "corpus.jsonl", "--queries", "queries.jsonl"];
    let found = lab.assay(&[&args[..], &["--format", "json"]].concat()).ok().json();
    let erased = found["erasure"].as_array().unwrap();
    let names: Vec<&str> = erased.iter().map(|own| own["retriever"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["bm25", "bm25:stemmer=english", "bm25-name-description", "bm25f", "best"],
        "every retriever of the first pool"
    );
    for own in erased {
        assert_eq!((&own["queries"], &own["ndcg@10"]["mean"]), (&json!(1), &json!(1.0)), "{own:#}");
        let masked = &own["examples"][0];
        let text = (&masked["sentence"], &masked["text"]);
        assert_eq!(text, (&json!("Make a pivot table of it!"), &json!("I am in a hurry. […]")), "{own:#}");
        assert!(own["score_drop"]["mean"].as_f64().unwrap() > 0.3, "{own:#}");
    }
    let text = lab.assay(&args).ok().stdout;
    assert!(text.contains("without “Make a pivot table of it!”"), "{text}");
    assert!(bench(&lab, &[]).ok().json().get("erasure").is_none(), "only when asked for");
}

#[test]
fn the_order_of_another_benchmark_is_compared() {
    let lab = lab();
    let first = bench(&lab, &[]).ok();
    let lab = lab.file("first.json", &first.stdout);
    let found = bench(&lab, &["--against", "first.json"]).ok().json();
    let agreement = &found["agreement"];
    assert_eq!((&agreement["pool"], &agreement["measure"]), (&json!("all"), &json!("ndcg@10")));
    assert_eq!(agreement["retrievers"].as_array().unwrap().len(), 5);
    let value = |name: &str| agreement[name]["value"].as_f64().unwrap();
    assert!(
        (value("spearman") - 1.0).abs() < 1e-12 && (value("kendall") - 1.0).abs() < 1e-12,
        "{agreement:#}"
    );
    assert_eq!(agreement["kendall"]["ci95"].as_array().unwrap().len(), 2);
    let text = lab
        .assay(&[
            "lab",
            "search",
            "bench",
            "--corpus",
            "corpus.jsonl",
            "--queries",
            "queries.jsonl",
            "--against",
            "first.json",
        ])
        .ok()
        .stdout;
    assert!(
        text.contains("rank agreement of 5 retrievers with first.json, pool all: Spearman 1.00"),
        "{text}"
    );
    let lab = lab.file("other.json", r#"{"schema":"assay.route/1"}"#);
    let refused = bench(&lab, &["--against", "other.json"]).ended(2);
    assert!(
        refused.stderr.contains("other.json: unsupported schema \"assay.route/1\""),
        "{}",
        refused.stderr
    );
    let one = bench(&lab, &["--against", "first.json", "--retriever", "bm25"]).ended(2);
    assert!(one.stderr.contains("fewer than two common retrievers"), "{}", one.stderr);
}

/// The three files of SkillRet's release, with the keys that they have there.
#[test]
fn the_layout_of_skillret_is_read_as_it_is() {
    let skill = |id: &str, name: &str, text: &str, major: &str| {
        json!({ "id": id, "name": name, "namespace": format!("own/{name}"), "description": text, "author": null, "stars": 3,
                "installs": 0, "license": "mit", "repo": "own/repo", "source_url": "https://example.com", "raw_url": null,
                "major": major, "sub": "x", "primary_action": "make", "primary_object": "table", "domain": "office",
                "body": text, "skill_md": format!("---\nname: {name}\n---\n{text}") })
    };
    let query = |id: &str, text: &str, ids: &[&str]| json!({ "id": id, "original_id": id, "query": text, "skill_ids": ids, "skill_names": ids, "k": ids.len(), "generator_model": "none" });
    let judged = |query: &str, id: &str| json!({ "query_id": query, "skill_id": id, "relevance": 1 });
    let lines = |all: &[Value]| all.iter().map(|line| format!("{line}\n")).collect::<String>();
    let lab = Fixture::new()
        .file(
            "skills/test.jsonl",
            lines(&[
                skill("1", "pivot-tables", "Makes pivot tables.", "Data"),
                skill("2", "log-audit", "Audits logs.", "Operations"),
                skill("3", "letters", "Writes letters.", "Content"),
            ]),
        )
        .file(
            "queries/test.jsonl",
            lines(&[
                query("a", "a pivot table, then a letter", &["1", "3"]),
                query("b", "audit the logs", &["2"]),
            ]),
        )
        .file(
            "qrels/test.jsonl",
            lines(&[judged("a", "1"), judged("a", "3"), judged("b", "2"), judged("c", "2")]),
        );
    let base = [
        "--format",
        "json",
        "lab",
        "search",
        "bench",
        "--corpus",
        "skills/test.jsonl",
        "--queries",
        "queries/test.jsonl",
    ];
    let plain = lab.assay(&base).ok();
    assert!(!plain.stderr.contains("error"), "{}", plain.stderr);
    let with_qrels = lab.assay(&[&base[..], &["--qrels", "qrels/test.jsonl"]].concat()).ok();
    assert!(with_qrels.stderr.contains("1 queries with judgements are not in"), "{}", with_qrels.stderr);
    for found in [plain.json(), with_qrels.json()] {
        assert_eq!((&found["corpus"]["documents"], &found["queries"]), (&json!(3), &json!(2)));
        let best = of(&found, "best", "all");
        assert_eq!(best["micro"]["completeness@10"]["mean"], 1.0, "{best:#}");
        assert_eq!(best["parts"]["relevant skills"]["2"]["queries"], 1);
        let classes = best["parts"]["category of the skill"].as_object().unwrap();
        assert_eq!(classes.keys().collect::<Vec<_>>(), ["Operations", "several"]);
    }
}

/// A corpus in which the gold skill of each request is the one whose description has its words, in two repositories.
fn repositories() -> Fixture {
    let (mut corpus, mut queries) = (String::new(), String::new());
    for repository in ["a", "b"] {
        for n in 0..12 {
            let id = format!("{repository}{n}");
            let skill = json!({ "id": id, "repo": repository, "name": format!("{repository}-skill-{n}"), "description": format!("Handles topic{n} for {repository}."),
                                "skill_md": format!("# Steps\nWork on topic{} in part{n}.", n + 1) });
            let query = json!({ "qid": id, "query": format!("help with topic{n} part{n}"), "repository": repository, "gold_ids": [id] });
            corpus.push_str(&format!("{skill}\n"));
            queries.push_str(&format!("{query}\n"));
        }
    }
    Fixture::new()
        .file("corpus.jsonl", &corpus)
        .file("queries.jsonl", &queries)
        .file("negatives.jsonl", "{\"query\":\"topic3 of nothing\",\"not_ids\":[\"a3\"]}\n")
}

#[test]
fn weights_are_fitted_and_held_out_ones_are_measured() {
    let lab = repositories();
    let train = |more: &[&str]| {
        let base = ["lab", "search", "train", "--corpus", "corpus.jsonl", "--queries", "queries.jsonl"];
        lab.assay(&[&base[..], more].concat())
    };
    let trained = train(&[]).ok().json();
    assert_eq!((&trained["schema"], &trained["requests"]), (&json!("assay.search-train/2"), &json!(24)));
    let vector = trained["vector"].as_array().unwrap();
    assert_eq!(vector.len(), trained["weights"].as_object().unwrap().len());
    assert!(vector.iter().all(|weight| weight.as_f64().is_some_and(f64::is_finite)), "{trained:#}");
    assert_eq!(train(&[]).ok().json(), trained, "the same requests give the same weights");
    let calibrated = train(&["--negatives", "negatives.jsonl"]).ok().json();
    assert_eq!(calibrated["weights"], trained["weights"]);
    assert_ne!(
        calibrated["calibration"], trained["calibration"],
        "negatives take part in the calibration only"
    );

    let found = bench(&lab, &["--retriever", "bm25", "--retriever", "best:held-out"]).ok().json();
    let held_out = of(&found, "best:held-out", "all");
    assert!(held_out["micro"]["ndcg@10"]["mean"].as_f64().unwrap() > 0.5, "{held_out:#}");
    assert_eq!(held_out["cost"], Value::Null, "nobody would serve two models");
    assert_eq!(found["comparisons"][0]["retriever"], "best:held-out");
    let empty = lab.file("queries.jsonl", "");
    let refused = empty
        .assay(&["lab", "search", "train", "--corpus", "corpus.jsonl", "--queries", "queries.jsonl"])
        .ended(2);
    assert!(
        refused.stderr.contains("contains no request whose skills are in the corpus"),
        "{}",
        refused.stderr
    );
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let lab = lab().file("none.jsonl", "").file("bad.trec", "q1 Q0 s1 1 high bm25\n");
    let check = |args: &[&str], expected: &str| {
        let refused = lab.assay(&[&["lab", "search", "bench"], args].concat()).ended(2);
        assert!(refused.stderr.contains(expected), "{expected:?} is not in {}", refused.stderr);
    };
    let queries = ["--queries", "queries.jsonl"];
    check(&[&["--corpus", "none.jsonl"], &queries[..]].concat(), "contains no searchable skill");
    check(
        &["--corpus", "corpus.jsonl", "--queries", "none.jsonl"],
        "contains no request whose skills are in the corpus",
    );
    check(&[&["--corpus", "nowhere.jsonl"], &queries[..]].concat(), "cannot read nowhere.jsonl");
    let corpus = [&["--corpus", "corpus.jsonl"], &queries[..]].concat();
    check(
        &[&corpus[..], &["--retriever", "bm26"]].concat(),
        "unknown retriever `bm26`; expected one of bm25, ",
    );
    check(&[&corpus[..], &["--retriever", "run:bad.trec"]].concat(), "bad.trec:1: invalid score \"high\"");
}

#[test]
fn abstention_is_measured_by_size_of_library() {
    let skill = |number: usize| {
        let topics = [
            "invoices",
            "changelogs",
            "translations",
            "benchmarks",
            "schemas",
            "certificates",
            "screenshots",
        ];
        let topic = topics[number % topics.len()];
        json!({ "id": format!("s{number:02}"), "repo": "a/x", "name": format!("{topic}-{number}"),
                "description": format!("Creates and checks {topic} of kind k{number}."), "skill_md": format!("# {topic}\nSteps for {topic}.") })
    };
    let corpus: String = (0..14).map(|number| format!("{}\n", skill(number))).collect();
    let lab = Fixture::new()
        .file("corpus.jsonl", corpus)
        .file("queries.jsonl", "{\"qid\":\"q1\",\"query\":\"create invoices of kind k7\",\"repository\":\"a\",\"gold_ids\":[\"s07\"]}\n")
        .file("off.jsonl", "{\"query\":\"my cat is hungry\",\"kind\":\"chat\"}\n{\"query\":\"why do zebras have stripes\"}\n");
    let found = bench(&lab, &["--abstention", "off.jsonl"]).ok().json();
    let size = &found["sizes"][0];
    assert_eq!(
        (&found["schema"], found["sizes"].as_array().unwrap().len()),
        (&json!("assay.search-abstention/2"), 1)
    );
    assert_eq!((&size["skills"], &size["libraries"]), (&json!("14 to 20"), &json!(2)));
    assert_eq!(
        (&size["declined"], &size["answered"]),
        (&json!({ "right": 4, "of": 4 }), &json!({ "right": 2, "of": 2 }))
    );
    assert_eq!(size["first_right"], json!({ "right": 2, "of": 2 }));
    assert!(size["confidence"].as_f64().is_some_and(|mean| mean > 0.26 && mean < 1.0), "{size}");
    assert_eq!(found["kinds"], json!({ "": { "right": 2, "of": 2 }, "chat": { "right": 2, "of": 2 } }));
    assert_eq!(found["repositories"], json!({ "a": { "right": 2, "of": 2 } }));
    let args =
        ["lab", "search", "bench", "--corpus", "corpus.jsonl", "--queries", "queries.jsonl", "--abstention"];
    let told = lab.assay(&[&args[..], &["off.jsonl"]].concat()).ok().stdout;
    let (all, some) = ("4 of 4 (100.0%)", "2 of 2 (100.0%)");
    assert!(
        told.contains(&format!("{:<19}  {:>9}  {all:<22}  {some:<22}  {some:<22}  0.", "14 to 20", 2)),
        "{told}"
    );
    lab.assay(&[&args[..], &["off.jsonl", "--run-out", "runs"]].concat()).ended(2);
    lab.assay(&[&args[..], &["nowhere.jsonl"]].concat()).ended(2);
    let fitted = lab
        .assay(&[
            "--format",
            "json",
            "lab",
            "search",
            "train",
            "--corpus",
            "corpus.jsonl",
            "--queries",
            "queries.jsonl",
            "--off-topic",
            "off.jsonl",
        ])
        .ok()
        .json();
    assert_eq!(fitted["abstention"].as_array().unwrap().len(), 10, "{fitted:#}");
}
