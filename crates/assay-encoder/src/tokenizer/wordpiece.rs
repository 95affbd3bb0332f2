//! WordPiece (Schuster, Nakajima 2012) as BERT uses it: words are cut into the longest pieces of a
//! vocabulary.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use super::classes::{is_ideograph, is_mark, is_punctuation, is_removed};
use super::kind;
use crate::error::TokenizerError;

#[derive(Deserialize)]
struct Model {
    vocab: HashMap<String, u32>,
    unk_token: String,
    #[serde(default = "hashes")]
    continuing_subword_prefix: String,
    #[serde(default = "hundred")]
    max_input_chars_per_word: usize,
}

fn hashes() -> String {
    "##".to_owned()
}

fn hundred() -> usize {
    100
}

#[derive(Deserialize)]
#[serde(default)]
struct Normalizer {
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
}

impl Default for Normalizer {
    fn default() -> Self {
        Self { clean_text: true, handle_chinese_chars: true, strip_accents: None, lowercase: true }
    }
}

pub(super) struct WordPiece {
    /// Pieces that begin a word, and pieces that continue one.
    first: HashMap<Box<str>, u32>,
    next: HashMap<Box<str>, u32>,
    /// Bytes of the longest piece.
    longest: usize,
    unknown: u32,
    most_chars: usize,
    normalizer: Normalizer,
}

impl WordPiece {
    pub(super) fn new(
        model: Value,
        normalizer: Option<&Value>,
        pre: Option<&Value>,
    ) -> Result<Self, TokenizerError> {
        if kind(normalizer) != "BertNormalizer" || kind(pre) != "BertPreTokenizer" {
            return Err(TokenizerError::WordPiece {
                normalizer: kind(normalizer).to_owned(),
                pre: kind(pre).to_owned(),
            });
        }
        let normalizer = normalizer.map(Normalizer::deserialize).transpose();
        let normalizer = normalizer.map_err(|source| TokenizerError::Part { part: "normalizer", source })?;
        let model =
            Model::deserialize(model).map_err(|source| TokenizerError::Part { part: "model", source })?;
        let Some(&unknown) = model.vocab.get(&model.unk_token) else {
            return Err(TokenizerError::NoUnknown(model.unk_token));
        };
        let mut next = HashMap::new();
        let mut longest = 0;
        for (piece, &id) in model.vocab.iter().collect::<std::collections::BTreeMap<_, _>>() {
            longest = longest.max(piece.len());
            if let Some(rest) = piece.strip_prefix(&model.continuing_subword_prefix) {
                next.insert(rest.into(), id);
            }
        }
        let first = model.vocab.into_iter().map(|(piece, id)| (piece.into_boxed_str(), id)).collect();
        let most_chars = model.max_input_chars_per_word;
        Ok(Self { first, next, longest, unknown, most_chars, normalizer: normalizer.unwrap_or_default() })
    }

    pub(super) fn largest(&self) -> u32 {
        self.first.values().copied().max().unwrap_or(0)
    }

    /// Appends the tokens of a text until there are `most`, and at most a word's more.
    pub(super) fn encode(&self, text: &str, most: usize, ids: &mut Vec<u32>) {
        let Normalizer { clean_text, handle_chinese_chars, strip_accents, lowercase } = self.normalizer;
        let strip = strip_accents.unwrap_or(lowercase);
        // A blank resets the normalization, so that words can be processed separately.
        let ends = |c: char| c.is_whitespace() && !(clean_text && is_removed(c));
        let mut word = String::new();
        for run in text.split(ends) {
            if ids.len() >= most {
                return;
            }
            if run.is_ascii() {
                for byte in run.bytes().filter(|&byte| !(clean_text && is_removed(byte.into()))) {
                    self.push(
                        if lowercase { byte.to_ascii_lowercase() } else { byte }.into(),
                        &mut word,
                        ids,
                    );
                }
            } else {
                let kept = run.chars().filter(|&c| !(clean_text && is_removed(c)));
                let spaced = kept.flat_map(|c| {
                    let alone = handle_chinese_chars && is_ideograph(c);
                    [alone.then_some(' '), Some(c), alone.then_some(' ')].into_iter().flatten()
                });
                let mut push = |c: char| {
                    if lowercase {
                        c.to_lowercase().for_each(|c| self.push(c, &mut word, ids));
                    } else {
                        self.push(c, &mut word, ids);
                    }
                };
                if strip {
                    spaced.nfd().filter(|&c| !is_mark(c)).for_each(&mut push);
                } else {
                    spaced.for_each(&mut push);
                }
            }
            self.finish(&mut word, ids);
        }
    }

    /// Adds a normalized character to the word, or ends the word before it.
    fn push(&self, c: char, word: &mut String, ids: &mut Vec<u32>) {
        if c.is_whitespace() {
            self.finish(word, ids);
        } else if is_punctuation(c) {
            self.finish(word, ids);
            word.push(c);
            self.finish(word, ids);
        } else {
            word.push(c);
        }
    }

    /// Splits the word into pieces. One that cannot be split, or is too long, is unknown as a
    /// whole.
    fn finish(&self, word: &mut String, ids: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let before = ids.len();
        let mut rest = word.as_str();
        let mut pieces = &self.first;
        if word.len() > self.most_chars && word.chars().count() > self.most_chars {
            rest = "";
            ids.push(self.unknown);
        }
        while !rest.is_empty() {
            let mut end = rest.floor_char_boundary(self.longest);
            let found = loop {
                if end == 0 {
                    break None;
                }
                if let Some(&id) = pieces.get(&rest[..end]) {
                    break Some(id);
                }
                end = rest.floor_char_boundary(end - 1);
            };
            let Some(id) = found else {
                ids.truncate(before);
                ids.push(self.unknown);
                break;
            };
            ids.push(id);
            rest = &rest[end..];
            pieces = &self.next;
        }
        word.clear();
    }
}
