use super::*;
use crate::corpus::Document;
use crate::index_file::IndexFile;
use crate::retriever::Retriever;

fn documents() -> Vec<Document> {
    let document = |id: &str, name: &str, description: &str, document: &str| Document {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        document: document.to_owned(),
        ..Document::default()
    };
    vec![
        document(
            "a",
            "pivot-tables",
            "Pivot tables. Makes one from an export.",
            "# One\nPivot an export.\n# Two\nTables.",
        ),
        document("b", "log-audit", "Audits logs.", "Export the table."),
        document("c", "letters", "Writes letters.", "Be short."),
    ]
}

fn best(documents: Vec<Document>) -> Best<Arc<Vec<Document>>> {
    let index = Arc::new(Index::of(&documents, Stemmer::English));
    Best::new("best", &index, Arc::new(documents))
}

#[test]
fn features_match_hand_computation() {
    let best = best(documents());
    let request = "pivot tables pivot the export, quixotic";
    let candidates = best.candidates(request);
    assert_eq!(candidates.iter().map(|own| own.number).collect::<Vec<_>>(), [0, 1]);
    let of = |place: usize, name: &str| {
        candidates[place].features[NAMES.iter().position(|own| *own == name).unwrap()]
    };
    // Of three skills, one contains `pivot`, two `table` and `export`, none `quixotic`.
    let idf = |df: f64| (1.0 + (3.0 - df + 0.5) / (df + 0.5)).ln();
    let (pivot, table, unknown) = (idf(1.0), idf(2.0), idf(0.0));
    let total = pivot + 2.0 * table + unknown;
    let check = |place: usize, name: &str, expected: f64| {
        let found = of(place, name);
        assert!((found - expected).abs() < 1e-9, "{name} of {place}: {found}, not {expected}");
    };
    check(0, "bm25f", 1.0);
    check(0, "cover_all", (pivot + 2.0 * table) / total);
    check(1, "cover_all", 2.0 * table / total);
    check(0, "cover_description", (pivot + 2.0 * table) / total);
    check(1, "cover_description", 0.0);
    check(0, "name_named", 1.0);
    check(1, "name_named", 0.0);
    // The first sentence has both words and no other.
    check(0, "sentence_named", (pivot + table) / (pivot + table + 5.0));
    // The first section has three words, `pivot` and `export` among them.
    check(0, "section", (pivot + table) / (1.0 + 0.002 * 3.0) / total);
    // The pairs: pivot table, table pivot, pivot export, export quixotic. The document has `pivot
    // export`.
    let pairs = 3.0 * (pivot + table) + table + unknown;
    check(0, "bigrams", (pivot + table) / pairs);
    check(1, "bigrams", 0.0);
    check(0, "top_word", pivot / unknown);
    check(0, "length_description", 7.0_f64.ln());
    check(1, "length_body", 3.0_f64.ln());
    let k = |tf: f64, length: f64| tf / (tf + 1.2 * (0.25 + 0.75 * length / (10.0 / 3.0)));
    let top = f64::from(Lexical::bm25f("x", &best.index, &FIRST).rank(request, 1)[0].1);
    let alone = idf(1.0);
    check(0, "bm25_description", 3.0 * alone * k(1.0, 6.0) / top);
}

#[test]
fn full_and_partial_index_rank_equally() {
    let file = IndexFile::build(documents(), Stemmer::English, &[]).unwrap();
    let whole = best(documents());
    for request in ["pivot tables of the export", "audit my logs", "letters", "export", "", "quixotic"] {
        let index = Arc::new(file.restricted_to(request).unwrap());
        let part = Best::new("best", &index, &file);
        let hits = part.rank(request, 5);
        assert_eq!(hits, whole.rank(request, 5), "{request}");
        assert!(hits.iter().all(|(_, likely)| (0.0..=1.0).contains(likely)), "{hits:?}");
        assert!(hits.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{hits:?}");
    }
}

#[test]
fn weights_have_names_and_values() {
    assert!(WEIGHTS.iter().all(|weight| weight.is_finite() && *weight != 0.0));
    const { assert!(CALIBRATION[1] > 0.0, "the model's order is kept") };
    assert_eq!(best(documents()).options()["weights"].as_object().unwrap().len(), FEATURES);
}

#[test]
fn long_requests_and_lines_terminate() {
    let mut all = documents();
    all[0].document = "pivot ".repeat(200_000);
    all[1].name = "x".repeat(100_000);
    let hits = best(all).rank(&"pivot export table ".repeat(5_000), 3);
    assert_eq!(hits.len(), 2);
}

#[test]
fn a_declined_skill_comes_last() {
    let best = best(documents());
    let named = |request: &str| best.rank(request, 5)[0].0;
    assert_eq!(named("export pivot tables"), 0);
    let hits = best.rank("export a table, not by pivot tables", 5);
    assert_eq!(hits[0].0, 1);
    assert!(hits[1].1 <= 1e-6, "{hits:?}");
}
