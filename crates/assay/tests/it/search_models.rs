//! `dense`, `hybrid` and `rerank`: models behind an address on loopback, and in folders.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran};
use crate::server::{Answer, Request, Server};

const CORPUS: &str = r#"{"id":"s1","name":"pivot-tables","description":"Makes pivot tables.","skill_md":"Group rows."}
{"id":"s2","name":"log-audit","description":"Audits logs.","skill_md":"Count the errors of each hour."}
{"id":"s3","name":"letters","description":"Writes letters.","skill_md":"Be short."}
{"id":"s3","name":"again","description":"again","skill_md":"again"}
{"id":"s4","name":"","description":"","skill_md":""}
"#;

const QUERIES: &str = r#"{"qid":"q1","query":"summarise a spreadsheet","gold_ids":["s1"]}
{"qid":"q2","query":"write logs to a spreadsheet","gold_ids":["s2"]}
{"qid":"q3","query":"   ","gold_ids":["s3"]}
"#;

pub(crate) fn lab() -> Fixture {
    Fixture::new().file("corpus.jsonl", CORPUS).file("queries.jsonl", QUERIES)
}

fn bench(lab: &Fixture, retrievers: &[&str]) -> Ran {
    let mut args = vec![
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
    args.extend(["--run-out", "runs"]);
    args.extend(retrievers.iter().flat_map(|name| ["--retriever", name]));
    lab.assay(&args)
}

/// The ids and scores that a retriever found, by query. The folder holds this run alone.
fn found(lab: &Fixture) -> BTreeMap<String, Vec<(String, f32)>> {
    let files = std::fs::read_dir(lab.path("runs")).unwrap().map(|entry| entry.unwrap().path());
    let mut runs = files.filter(|path| path.extension().is_some_and(|extension| extension == "trec"));
    let text = std::fs::read_to_string(runs.next().unwrap()).unwrap();
    assert!(runs.next().is_none());
    let mut found: BTreeMap<String, Vec<(String, f32)>> = BTreeMap::new();
    for line in text.lines() {
        let [query, _, id, _, score, _] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        found.entry(query.to_owned()).or_default().push((id.to_owned(), score.parse().unwrap()));
    }
    found
}

/// What one retriever found, alone.
fn alone(lab: &Fixture, name: &str) -> BTreeMap<String, Vec<(String, f32)>> {
    let _ = std::fs::remove_dir_all(lab.path("runs"));
    bench(lab, &[name]).ok();
    found(lab)
}

fn ids(found: &[(String, f32)]) -> Vec<&str> {
    found.iter().map(|(id, _)| id.as_str()).collect()
}

/// Tables, logs, letters: what a text is about.
fn about(text: &str) -> [f64; 3] {
    let lower = text.to_lowercase();
    let counts = |words: &[&str]| f64::from(words.iter().any(|word| lower.contains(word)));
    [counts(&["spreadsheet", "pivot"]), counts(&["log"]), counts(&["letter"])]
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// A server that knows what things are about.
pub(crate) fn knowing(_: usize, asked: &Request) -> Answer {
    let body = &asked.body;
    Answer::of(
        200,
        match asked.path.as_str() {
            "/v1/embeddings" => {
                let item =
                    |(index, text): (usize, &&str)| json!({ "index": index, "embedding": about(text) });
                json!({ "data": texts(&body["input"]).iter().enumerate().rev().map(item).collect::<Vec<_>>() })
            }
            "/v1/rerank" => {
                // Likes letters.
                let item = |(index, text): (usize, &&str)| json!({ "index": index, "relevance_score": 0.25 + about(text)[2] / 2.0 });
                json!({ "results": texts(&body["documents"]).iter().enumerate().rev().map(item).collect::<Vec<_>>() })
            }
            _ => {
                let text = body["messages"][1]["content"].as_str().unwrap();
                return Answer::done(if text.contains("Audits logs") { "Yes." } else { "no" });
            }
        },
    )
}

/// Requests for embeddings that hold a skill.
fn embedded(server: &Server) -> usize {
    let of = |asked: &Request| texts(&asked.body["input"]).iter().filter(|text| text.contains('\n')).count();
    server.requests().iter().filter(|asked| asked.path == "/v1/embeddings").map(of).sum()
}

#[test]
fn models_behind_an_address_rank() {
    let server = Server::start(knowing);
    let lab = lab().env("OPENAI_API_KEY", "sk-loopback-0123456789");
    let url = server.url();
    let dense = format!("dense:endpoint={url},name=m");
    let half = 0.5_f32.sqrt();
    let of = alone(&lab, &dense);
    assert_eq!(of["q1"], [("s1".to_owned(), 1.0)], "no word in common, and what is about nothing is no hit");
    let [first, second] = &of["q2"][..] else { panic!("{of:?}") };
    assert_eq!((first.0.as_str(), second.0.as_str()), ("s1", "s2"), "equal cosines come in order of ids");
    assert!((first.1 - half).abs() < 1e-6 && (second.1 - half).abs() < 1e-6, "{of:?}");
    assert!(!of.contains_key("q3"), "nothing is asked for nothing: {of:?}");
    assert_eq!(embedded(&server), 3, "three skills that say something, each once");

    // Vectors are kept; a changed skill alone is embedded again.
    alone(&lab, &dense);
    assert_eq!(embedded(&server), 3);
    lab.write("corpus.jsonl", CORPUS.replace("Writes letters.", "Writes short letters."));
    alone(&lab, &dense);
    assert_eq!(embedded(&server), 4);

    // `logs` is a word of s2 and what s1 is about; `to` and `a` are stop words.
    let of = alone(&lab, &format!("hybrid:endpoint={url},name=m"));
    assert_eq!(ids(&of["q2"]), ["s2", "s1"]);
    assert!((of["q2"][0].1 - (1.0 / 61.0 + 1.0 / 62.0)).abs() < 1e-6, "{of:?}");
    let of = alone(&lab, &format!("hybrid:endpoint={url},name=m,fusion=score,weight=1"));
    assert_eq!(of["q2"], [("s1".to_owned(), 1.0), ("s2".to_owned(), 1.0)]);
    let of = alone(&lab, &format!("rerank:first=bm25,endpoint={url},name=r"));
    assert_eq!(of["q2"].first(), Some(&("s2".to_owned(), 0.25)), "{of:?}");
    let of = alone(&lab, &format!("rerank:chat=openai:m,endpoint={url},first=bm25"));
    assert_eq!(of["q2"].first(), Some(&("s2".to_owned(), 1.0)), "{of:?}");

    let ran = bench(&lab, &["bm25", &dense]).ok().json();
    let own = &ran["retrievers"][1];
    assert_eq!(
        (&own["options"]["text"], &own["options"]["embedder"]["dimensions"]),
        (&json!("name-description"), &json!(3))
    );
    assert!((own["micro"]["hit@1"]["mean"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9, "{own:#}");
    // A key of OpenAI's goes to what speaks as OpenAI does.
    for asked in server.requests() {
        let key = (asked.path != "/v1/rerank").then_some("Bearer sk-loopback-0123456789");
        assert_eq!(asked.authorization.as_deref(), key, "{asked:?}");
    }
}

#[test]
fn a_request_is_answered_by_vectors() {
    let server = Server::start(knowing);
    let lab = lab();
    let name = format!("dense:endpoint={},name=m", server.url());
    let by = ["--retriever", name.as_str()];
    let made = lab
        .assay(&[&["search", "index", "--corpus", "corpus.jsonl", "--out", "own.index"], &by[..]].concat())
        .ok();
    assert!(made.stdout.starts_with("own.index: 4 skills"), "{}", made.stdout);
    assert_eq!((server.requests().len(), embedded(&server)), (1, 3));
    for source in [["--corpus", "corpus.jsonl"], ["--index", "own.index"]] {
        let args = [&["--format", "json", "search", "summarise a spreadsheet"], &source[..], &by].concat();
        let found = lab.assay(&args).ok().json();
        assert_eq!(
            (&found["retriever"], &found["threshold"], &found["fits"]),
            (&json!(name), &json!(null), &json!(true))
        );
        let hit = &found["hits"][0];
        assert_eq!(
            (&hit["id"], &hit["confidence"], found["hits"].as_array().unwrap().len()),
            (&json!("s1"), &json!(1.0), 1)
        );
    }
    assert_eq!(embedded(&server), 3, "what was embedded with the index is known");
    let said = lab.assay(&[&["search", "tune a piano", "--index", "own.index"], &by[..]].concat()).ok();
    assert!(said.stdout.starts_with("No skill fits: "), "{}", said.stdout);
    let refused = |name: &str, expected: &str| {
        let refused = lab.assay(&["search", "x", "--index", "own.index", "--retriever", name]).ended(2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    };
    refused("densest", "unknown retriever `densest`");
    refused("dense", "`dense` needs an embedding model");
}

#[test]
fn what_is_not_installed_is_left_out_and_named() {
    let lab = lab();
    let ran = bench(&lab, &[]).ok();
    for name in ["dense", "hybrid", "rerank"] {
        assert!(ran.stderr.contains(&format!("skipped: `{name}` needs ")), "{}", ran.stderr);
        let refused = bench(&lab, &[name]).ended(2);
        assert!(refused.stderr.contains(&format!("error: `{name}` needs ")), "{}", refused.stderr);
        assert!(refused.stderr.contains("home/.cache/assay/models/"), "{}", refused.stderr);
        let hint = match name {
            "rerank" => "rerank:endpoint=URL",
            _ if cfg!(feature = "local-models") => "scripts/fetch-minilm",
            _ => "--features local-models",
        };
        assert!(refused.stderr.contains(hint), "{}", refused.stderr);
    }
    assert_eq!(ran.json()["retrievers"].as_array().unwrap().len(), 5);
}

#[test]
fn servers_that_are_no_good_end_the_benchmark() {
    let check = |answer: fn(usize, &Request) -> Answer, name: &str, expected: &str| {
        let server = Server::start(answer);
        let lab = lab();
        let name = format!("{name},endpoint={},retries=1", server.url());
        let failed = bench(&lab, &[&name]).ended(3);
        assert!(failed.stderr.contains(expected), "{expected:?} is not in {}", failed.stderr);
        assert!(failed.stdout.is_empty());
        // What a server gave for the skills was good where it is the request that fails.
        let kept = lab.path("home/.cache/assay/vectors").exists();
        assert_eq!(kept, expected.contains("where others"), "{expected}");
    };
    check(
        |number, asked| {
            let width = if number == 0 { 3 } else { 2 };
            let of = |(index, _)| json!({ "index": index, "embedding": vec![0.5; width] });
            Answer::of(
                200,
                json!({ "data": texts(&asked.body["input"]).iter().enumerate().map(of).collect::<Vec<_>>() }),
            )
        },
        "hybrid:text=full,name=m",
        "a vector has 2 dimensions where others have 3",
    );
    check(
        |_, _| Answer::of(200, json!({ "data": [] })),
        "dense:text=full,name=m",
        "0 of 3 texts have a vector",
    );
    check(
        |_, _| Answer::of(500, json!("no")).with("retry-after-ms", "1"),
        "dense:text=full,name=m",
        "provider error (status 500, tries: 2)",
    );
    check(
        |_, _| Answer::of(429, json!("slow")).with("retry-after-ms", "1"),
        "dense:text=full,name=m",
        "rate limited by the provider (status 429",
    );
    check(
        |_, _| Answer::of(200, json!({ "results": [] })),
        "rerank:first=bm25,name=m",
        "documents have a score",
    );
    check(
        |_, asked| {
            let of = |(index, _)| json!({ "index": index, "relevance_score": 3.5 });
            Answer::of(
                200,
                json!({ "results": texts(&asked.body["documents"]).iter().enumerate().map(of).collect::<Vec<_>>() }),
            )
        },
        "rerank:first=bm25,name=m",
        "m gave the score 3.5, which is not between 0 and 1: set scores=logits",
    );
    check(
        |_, _| Answer::done("perhaps"),
        "rerank:first=bm25,chat=openai:m",
        "answered neither yes nor no: \"perhaps\"",
    );
}

#[test]
fn a_server_that_hangs_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let failed = bench(&lab(), &[&format!("dense:endpoint={url},name=m,timeout=1,retries=0")]).ended(3);
    assert!(failed.stderr.contains("no reply within 1 s"), "{}", failed.stderr);
}

/// A small BERT whose weights come from the names of its tensors, as `scripts/encoder-reference` has them. `spoil` changes the tensors.
#[cfg(feature = "local-models")]
fn small(lab: &Fixture, spoil: impl Fn(&mut BTreeMap<String, Vec<usize>>)) {
    let reference: Value =
        serde_json::from_str(include_str!("../../../assay-encoder/tests/data/reference.json")).unwrap();
    let shapes = serde_json::from_value(reference["bert"]["tensors"].clone());
    let mut shapes: BTreeMap<String, Vec<usize>> = shapes.unwrap();
    spoil(&mut shapes);
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape) in shapes {
        let start = data.len();
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let offset = if name.contains("Norm.weight") { 1.0 } else { 0.0 };
        for number in 0..shape.iter().product::<usize>() as u64 {
            let x = hash.wrapping_add(number).wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let drawn = u8::try_from((x ^ (x >> 31)) >> 58).unwrap();
            data.extend(((f32::from(drawn) - 32.0) / 128.0 + offset).to_le_bytes());
        }
        header.insert(name, json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()] }));
    }
    let header = Value::Object(header).to_string().into_bytes();
    lab.write("model/model.safetensors", [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat());
    lab.write("model/config.json", reference["bert"]["config"].to_string());
    lab.write("model/tokenizer.json", include_str!("../../../assay-encoder/tests/data/wordpiece.json"));
}

#[cfg(feature = "local-models")]
#[test]
fn models_in_a_folder_rank() {
    let lab = Fixture::new()
        .file("corpus.jsonl", r#"{"id":"s1","description":"the skill audits a log"}"#)
        .file("queries.jsonl", r#"{"qid":"q1","query":"how to audit","gold_ids":["s1"]}"#);
    small(&lab, |_| ());
    // The score of this pair by another implementation: a logit of -0.2939246.
    let of = alone(&lab, "rerank:model=model");
    let share = 1.0 / (1.0 + 0.293_924_6_f32.exp());
    assert!((of["q1"][0].1 - share).abs() < 1e-5, "{of:?}");
    let ran =
        bench(&lab, &["dense:model=model", "hybrid:model=model,text=chunks,chunk=8,overlap=2"]).ok().json();
    let embedder = &ran["retrievers"][0]["options"]["embedder"];
    assert_eq!((&embedder["model"], &embedder["dimensions"]), (&json!("model"), &json!(24)));

    let refused = |name: &str, expected: &str| {
        let refused = bench(&lab, &[name]).ended(2);
        assert!(refused.stderr.contains(expected), "{expected:?} is not in {}", refused.stderr);
    };
    small(&lab, |shapes| drop(shapes.remove("bert.encoder.layer.1.output.dense.weight")));
    refused("dense:model=model", "tensor `bert.encoder.layer.1.output.dense.weight`");
    small(&lab, |shapes| drop(shapes.insert("bert.pooler.dense.weight".to_owned(), vec![24, 23])));
    refused("rerank:model=model", "tensor `bert.pooler.dense.weight`");
    refused("dense:model=nowhere", "nowhere/config.json");
}

/// The model that `scripts/fetch-minilm` has fetched finds what shares no word with the request.
#[cfg(feature = "local-models")]
#[test]
#[ignore = "needs MiniLM"]
fn minilm_finds_what_is_meant() {
    let model = assay_test::minilm();
    let lab = lab();
    for text in ["name-description", "full", "chunks", "fields"] {
        let of = alone(&lab, &format!("dense:text={text},model={}", model.display()));
        assert_eq!(of["q1"][0].0, "s1", "{text}: {of:?}");
    }
    // Where it is installed, nobody has to name it.
    std::fs::create_dir_all(lab.path("home/.cache/assay/models")).unwrap();
    std::os::unix::fs::symlink(&model, lab.path("home/.cache/assay/models/all-MiniLM-L6-v2")).unwrap();
    let ran = bench(&lab, &[]).ok();
    let names: Vec<Value> =
        ran.json()["retrievers"].as_array().unwrap().iter().map(|own| own["name"].clone()).collect();
    assert_eq!(
        names,
        ["bm25", "bm25:stemmer=english", "bm25-name-description", "bm25f", "best", "dense", "hybrid"]
    );
    assert!(ran.stderr.contains("skipped: `rerank` needs a cross-encoder"), "{}", ran.stderr);
}
