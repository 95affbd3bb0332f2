//! Parts of documents.

use assay_encoder::Encoder;

use crate::support::{REFERENCE, Recipe};

#[test]
fn parts_cover_the_text_and_fit() {
    let folders = [Recipe::bert().write(), Recipe::qwen3().write()];
    for folder in &folders {
        let encoder = Encoder::open(folder.path()).unwrap();
        let mut texts: Vec<String> = REFERENCE.bert.tokens.iter().map(|case| case.text.clone()).collect();
        texts.push(texts.join("\n\n"));
        texts.push("é".repeat(5000));
        texts.push("skill-".repeat(500));
        for text in &texts {
            for (tokens, overlap) in [(1, 0), (8, 0), (8, 3), (8, 100), (40, 10), (usize::MAX, 0)] {
                let chunks = encoder.chunks(text, tokens, overlap);
                let what = format!("{tokens} and {overlap} of {text:.60?}: {chunks:?}");
                assert_eq!(chunks.first().unwrap().start, 0, "{what}");
                assert_eq!(chunks.last().unwrap().end, text.len(), "{what}");
                for pair in chunks.windows(2) {
                    assert!(pair[0].start < pair[1].start && pair[0].end < pair[1].end, "{what}");
                    assert!(
                        pair[1].start <= pair[0].end && (overlap > 0 || pair[1].start == pair[0].end),
                        "{what}"
                    );
                }
                for chunk in &chunks {
                    let held = encoder.tokens(&text[chunk.clone()]).len();
                    let one = text[chunk.clone()].chars().count() == 1;
                    assert!(held <= tokens || one || tokens == 1, "{held} tokens in {chunk:?}; {what}");
                }
            }
        }
    }
}

#[test]
fn parts_end_where_words_do_and_overlap() {
    let folder = Recipe::bert().write();
    let encoder = Encoder::open(folder.path()).unwrap();
    let text = "the skill log the table report how the skill";
    let check = |tokens, overlap, expected: &[&str]| {
        let found: Vec<&str> =
            encoder.chunks(text, tokens, overlap).into_iter().map(|span| &text[span]).collect();
        assert_eq!(found, expected, "{tokens}, {overlap}");
    };
    // Each word is one token, and the model puts two around.
    check(6, 0, &["the skill log the", " table report how the", " skill"]);
    check(6, 1, &["the skill log the", " the table report how", " how the skill"]);
    check(11, 0, &[text]);
    let none = encoder.chunks("", 6, 0);
    assert!(none.len() == 1 && none[0].is_empty(), "{none:?}");
}
