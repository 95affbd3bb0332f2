//! `assay search bench` on a small corpus.

use serde_json::{Value, json};

use crate::fixture::{Lab, Ran};

/// Four skills that are searched, one that is not, one line that is none, and one id that stands twice.
const CORPUS: &str = r#"{"id":"s1","repo":"a/x","name":"pivot-tables","description":"Makes pivot tables from exports.","skill_md":"---\nname: pivot-tables\n---\n# Pivot tables\nGroup the rows, then sum them."}
{"id":"s2","repo":"a/x","name":"log-audit","description":"Audits logs.","skill_md":"Count the errors of each hour."}
{"id":"s3","repo":"b/y","name":"letters","description":"Writes letters.","skill_md":"Be short."}
{"id":"s4","repo":"c/z","name":"sums","description":"Adds numbers up.","skill_md":"Sum the rows of a table."}
{"id":"s5","repo":"a/x","name":"pivot-copy","description":"Makes pivot tables.","skill_md":"x","filter_stage":"content"}
{"id":"s6"
{"id":"s1","repo":"a/x","name":"again","description":"again","skill_md":"again"}
"#;

const QUERIES: &str = r#"{"qid":"q1","query":"make a pivot table of this export","house":"a","source":"made","gold_ids":["s1"],"neardup_ids":["s4"],"negatives":["s2"]}
{"qid":"q2","query":"which hour has most errors in the log?","house":"a","source":"made","gold_ids":["s2"]}
{"qid":"q3","query":"sum the rows","house":"b","source":"made","gold_ids":["s1"],"acceptable_ids":["s4"]}
{"qid":"q4","query":"nobody can answer this","house":"b","source":"made","gold_ids":["gone"]}
"#;

fn lab() -> Lab {
    let negatives = "{\"query\":\"write a letter about my logs\",\"not_ids\":[\"s2\"]}\n";
    Lab::new().file("corpus.jsonl", CORPUS).file("queries.jsonl", QUERIES).file("negatives.jsonl", negatives)
}

fn bench(lab: &Lab, more: &[&str]) -> Ran {
    let base =
        ["--format", "json", "search", "bench", "--corpus", "corpus.jsonl", "--queries", "queries.jsonl"];
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
        "corpus.jsonl: 1 ids stand twice; the first counts",
        "queries.jsonl: query q4: none of its 1 relevant skills is in the corpus",
    ] {
        assert!(ran.stderr.contains(told), "{told:?} is not in {}", ran.stderr);
    }
    let found = ran.json();
    assert_eq!((&found["schema"], &found["queries"]), (&json!("assay.search-bench/1"), &json!(3)));
    assert_eq!(found["corpus"], json!({ "documents": 4 }));
    let bm25 = of(&found, "bm25", "all");
    // By hand: q1 and q2 find their skill first; q3 finds `sums` first and `pivot-tables` second.
    let third = 1.0 / 3.0_f64.log2();
    let mean = bm25["micro"]["ndcg@10"]["mean"].as_f64().unwrap();
    assert!((mean - (2.0 + third) / 3.0).abs() < 1e-12, "{bm25:#}");
    assert!((bm25["micro_lenient"]["ndcg@10"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    assert_eq!((&bm25["forbidden_top3"], &bm25["options"]["k1"]), (&json!(0.0), &json!(1.5)));
    assert_eq!(
        of(&found, "bm25", "houses")["documents"],
        2,
        "only the repository that owns what is asked for"
    );
    assert_eq!(
        found["comparisons"].as_array().unwrap().len(),
        6,
        "three retrievers against the first, in two pools"
    );
    assert_eq!(found["negatives"][0]["requests"], 1);
    assert!(bm25["cost"]["queries_per_second"].as_f64().unwrap() > 0.0);

    let run = std::fs::read_to_string(lab.path("runs/bm25.trec")).unwrap();
    assert!(run.starts_with("q1 Q0 s1 1 "), "{run}");
    // What was written can be read again, and is as good.
    let again = bench(&lab, &["--retriever", "run:runs/bm25.trec"]).ok().json();
    assert_eq!(of(&again, "bm25", "all")["micro"], bm25["micro"]);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let lab = lab().file("none.jsonl", "").file("bad.trec", "q1 Q0 s1 1 high bm25\n");
    let check = |args: &[&str], expected: &str| {
        let refused = lab.assay(&[&["search", "bench"], args].concat()).ended(2);
        assert!(refused.stderr.contains(expected), "{expected:?} is not in {}", refused.stderr);
    };
    let queries = ["--queries", "queries.jsonl"];
    check(&[&["--corpus", "none.jsonl"], &queries[..]].concat(), "holds no skill that is searched");
    check(
        &["--corpus", "corpus.jsonl", "--queries", "none.jsonl"],
        "holds no request that the corpus can answer",
    );
    check(&[&["--corpus", "nowhere.jsonl"], &queries[..]].concat(), "cannot read nowhere.jsonl");
    let corpus = [&["--corpus", "corpus.jsonl"], &queries[..]].concat();
    check(
        &[&corpus[..], &["--retriever", "bm26"]].concat(),
        "there is no retriever `bm26`; there are bm25, ",
    );
    check(&[&corpus[..], &["--retriever", "run:bad.trec"]].concat(), "bad.trec:1: \"high\" is no score");
}
