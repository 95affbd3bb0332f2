//! Vectors and scores against values computed with numpy in double precision.

use std::sync::atomic::{AtomicUsize, Ordering};

use assay_encoder::{CrossEncoder, Encoder, Kind};

use crate::support::{REFERENCE, Recipe, Vector, minilm};

fn check(encoder: &Encoder, expected: &[Vector]) {
    for kind in [Kind::Document, Kind::Query] {
        let name = if kind == Kind::Query { "query" } else { "document" };
        let expected: Vec<_> =
            expected.iter().filter(|vector| vector.kind.is_empty() || vector.kind == name).collect();
        let texts: Vec<_> = expected.iter().map(|vector| vector.text.as_str()).collect();
        let done = AtomicUsize::new(0);
        let found = encoder
            .embed(&texts, kind, &|more| {
                done.fetch_add(more, Ordering::Relaxed);
            })
            .unwrap();
        assert_eq!((found.len(), done.into_inner()), (texts.len(), texts.len()));
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(found.len(), encoder.dimensions());
            assert_eq!(found.len(), expected.numbers.len());
            let off = found.iter().zip(&expected.numbers).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-5, "{name} {:?} is off by {off}", expected.text);
            // By itself it is the same.
            let alone = encoder.embed(&[&expected.text], kind, &|_| {}).unwrap();
            let off = found.iter().zip(&alone[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(off < 1e-5, "{name} {:?} is off by {off} when alone", expected.text);
        }
    }
}

#[test]
#[ignore = "needs MiniLM"]
fn minilm_vectors_match_the_model() {
    let encoder = minilm();
    assert_eq!((encoder.name(), encoder.dimensions(), encoder.max_tokens()), ("all-MiniLM-L6-v2", 384, 256));
    assert_eq!(encoder.prompts(), &assay_encoder::Prompts::default());
    check(&encoder, &REFERENCE.minilm.vectors);
    let few = encoder.embed(&["a b c d e f", "a b c d e g"], Kind::Query, &|_| {}).unwrap();
    assert_ne!(few[0], few[1]);
    let encoder = encoder.with_max_tokens(7);
    let few = encoder.embed(&["a b c d e f", "a b c d e g"], Kind::Query, &|_| {}).unwrap();
    assert_eq!((encoder.max_tokens(), &few[0]), (7, &few[1]));
}

#[test]
fn bert_takes_the_first_token() {
    let folder = Recipe::bert().write();
    check(&Encoder::open(folder.path()).unwrap(), &REFERENCE.bert.vectors);
}

#[test]
fn qwen3_takes_the_last_token_after_its_prompt() {
    let folder = Recipe::qwen3().write();
    let encoder = Encoder::open(folder.path()).unwrap();
    assert_eq!(encoder.prompts().query, REFERENCE.qwen3.prompt);
    check(&encoder, &REFERENCE.qwen3.vectors);
}

#[test]
fn cross_encoder_scores_match_the_model() {
    for (recipe, expected) in
        [(Recipe::bert(), &REFERENCE.bert.scores), (Recipe::qwen3(), &REFERENCE.qwen3.scores)]
    {
        let folder = recipe.write();
        let encoder = CrossEncoder::open(folder.path()).unwrap();
        for case in expected {
            let found = encoder.scores(&case.query, &[&case.document, "another", &case.document]).unwrap();
            for score in [found[0], found[2]] {
                let what = format!("{:?} {:?}", case.query, case.document);
                assert!((score - case.number).abs() < 2e-5, "{what}: {score}, and not {}", case.number);
            }
        }
        assert_eq!(encoder.scores("nothing", &[]).unwrap(), [0.0; 0]);
    }
}

#[test]
fn halves_and_shards_load_the_same_model() {
    let texts = ["make a pivot table", "audit"];
    let mut expected: Option<(Vec<Vec<f32>>, String)> = None;
    for dtype in ["F32", "F16", "BF16"] {
        let mut recipe = Recipe::qwen3();
        recipe.dtype = dtype;
        let folder = recipe.write();
        let encoder = Encoder::open(folder.path()).unwrap();
        let found = encoder.embed(&texts, Kind::Document, &|_| {}).unwrap();
        if let Some((vectors, digest)) = &expected {
            assert_eq!(&found, vectors, "{dtype}");
            assert_ne!(encoder.digest(), digest, "{dtype}");
        } else {
            assert_eq!(encoder.digest(), Encoder::open(folder.path()).unwrap().digest());
            assert_eq!(encoder.digest().len(), 64);
            expected = Some((found, encoder.digest().to_owned()));
        }
    }
    let recipe = Recipe::qwen3();
    let folder = recipe.write();
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    let (mut map, mut shards) = (serde_json::Map::new(), [Vec::new(), Vec::new()]);
    for (n, (name, shape)) in recipe.tensors.iter().enumerate() {
        map.insert(name.clone(), format!("part-{}.safetensors", n % 2).into());
        shards[n % 2].push((name.as_str(), shape.as_slice(), crate::support::weights(name, shape)));
    }
    for (n, shard) in shards.iter().enumerate() {
        crate::support::write_safetensors(&folder.path().join(format!("part-{n}.safetensors")), "F32", shard);
    }
    let index = serde_json::json!({"weight_map": map}).to_string();
    std::fs::write(folder.path().join("model.safetensors.index.json"), index).unwrap();
    let found = Encoder::open(folder.path()).unwrap().embed(&texts, Kind::Document, &|_| {}).unwrap();
    assert_eq!(found, expected.unwrap().0);
}
