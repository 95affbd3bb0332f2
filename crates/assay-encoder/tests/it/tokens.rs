//! Tokens against those of Hugging Face's `tokenizers`.

use assay_encoder::Encoder;

use crate::support::{REFERENCE, Recipe, Tokens, fnv, minilm};

fn check(encoder: &Encoder, expected: &[Tokens]) {
    for case in expected {
        assert_eq!(encoder.tokens(&case.text), case.ids, "{:?}", case.text);
    }
}

/// All code points between two letters: blanks, removed characters, words by themselves and changed
/// ones. The hashes are of 4,096 each.
fn check_all_characters(encoder: &Encoder, expected: &[String]) {
    for (block, expected) in expected.iter().enumerate() {
        let first = u32::try_from(block).unwrap() * 0x1000;
        let mut hash = fnv(0xcbf2_9ce4_8422_2325, b"");
        for c in (first..first + 0x1000).filter_map(char::from_u32) {
            for id in encoder.tokens(&format!("a{c}b")) {
                hash = fnv(hash, &id.to_le_bytes());
            }
        }
        assert_eq!(&format!("{hash:016x}"), expected, "from U+{first:04X} on");
    }
}

#[test]
#[ignore = "needs MiniLM"]
fn wordpiece_over_the_vocabulary_of_minilm() {
    let encoder = minilm();
    check(&encoder, &REFERENCE.minilm.tokens);
    check_all_characters(&encoder, &REFERENCE.minilm.sweep);
}

#[test]
fn wordpiece_over_a_small_vocabulary() {
    let folder = Recipe::bert().write();
    check(&Encoder::open(folder.path()).unwrap(), &REFERENCE.bert.tokens);
}

#[test]
fn byte_pairs_over_words_as_qwen_cuts_them() {
    let folder = Recipe::qwen3().write();
    let encoder = Encoder::open(folder.path()).unwrap();
    check(&encoder, &REFERENCE.qwen3.tokens);
    check_all_characters(&encoder, &REFERENCE.qwen3.sweep);
}

#[test]
fn very_long_word_takes_bounded_time() {
    let folder = Recipe::qwen3().write();
    let encoder = Encoder::open(folder.path()).unwrap();
    let text = "ab".repeat(1 << 20);
    let tokens = encoder.tokens(&text);
    assert!(tokens.len() > 1000 && tokens.len() < text.len(), "{}", tokens.len());
}
