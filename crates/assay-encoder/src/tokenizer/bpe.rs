//! Byte-pair encoding over bytes (Sennrich, Haddow, Birch 2016; Radford et al. 2019): of a word's
//! neighbouring pieces the pair that was learnt first is joined, again and again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};

use super::kind;
use crate::error::TokenizerError;

/// How GPT-2 cuts a text into words: what `ByteLevel` does by itself.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// The end of such patterns, which looks ahead: blanks before a word leave the last one to it.
const BLANKS: &str = r"\s+(?!\S)|\s+";

#[derive(Deserialize)]
struct Model {
    vocab: HashMap<String, u32>,
    merges: Vec<Value>,
    #[serde(default)]
    ignore_merges: bool,
    #[serde(default)]
    byte_fallback: bool,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
}

pub(super) struct Bpe {
    /// The id of each byte by itself.
    bytes: Vec<u32>,
    /// Rank and result of a pair.
    merges: HashMap<(u32, u32), (u32, u32)>,
    /// Words that are tokens themselves, if the file gives them priority.
    whole: HashMap<Vec<u8>, u32>,
    words: Regex,
    nfc: bool,
    largest: u32,
    /// Bytes of the longest token.
    longest: usize,
}

impl Bpe {
    pub(super) fn new(
        model: Value,
        normalizer: Option<&Value>,
        pre: Option<&Value>,
    ) -> Result<Self, TokenizerError> {
        let nfc = match kind(normalizer) {
            "none" => false,
            "NFC" => true,
            other => return Err(TokenizerError::Normalizer(other.to_owned())),
        };
        let words = word_pattern(pre)?;
        let model =
            Model::deserialize(model).map_err(|source| TokenizerError::Part { part: "model", source })?;
        if model.byte_fallback
            || model.continuing_subword_prefix.is_some_and(|prefix| !prefix.is_empty())
            || model.end_of_word_suffix.is_some_and(|suffix| !suffix.is_empty())
        {
            return Err(TokenizerError::NotOverBytes);
        }
        let letters = byte_letters();
        let mut bytes = Vec::new();
        for letter in letters {
            let id = model.vocab.get(letter.encode_utf8(&mut [0; 4]) as &str);
            bytes.push(*id.ok_or(TokenizerError::NoLetter(letter))?);
        }
        let mut merges = HashMap::with_capacity(model.merges.len());
        for (rank, merge) in model.merges.iter().enumerate() {
            let pair = match merge {
                Value::String(pair) => pair.split_once(' '),
                Value::Array(pair) => {
                    pair.first().and_then(Value::as_str).zip(pair.get(1).and_then(Value::as_str))
                }
                _ => None,
            };
            let found = pair.and_then(|(a, b)| {
                let joined = model.vocab.get(&format!("{a}{b}"))?;
                Some(((*model.vocab.get(a)?, *model.vocab.get(b)?), *joined))
            });
            let (Some((pair, joined)), Ok(rank)) = (found, u32::try_from(rank)) else {
                return Err(TokenizerError::Merge { number: rank + 1, merge: merge.clone() });
            };
            merges.entry(pair).or_insert((rank, joined));
        }
        let largest = model.vocab.values().copied().max().unwrap_or(0);
        let longest = model.vocab.keys().map(|token| token.chars().count()).max().unwrap_or(1);
        let mut whole = HashMap::new();
        if model.ignore_merges {
            let back: HashMap<char, u8> = letters.into_iter().zip(0..=255).collect();
            for (token, id) in model.vocab.into_iter().collect::<std::collections::BTreeMap<_, _>>() {
                if let Some(bytes) = token.chars().map(|c| back.get(&c).copied()).collect() {
                    whole.insert(bytes, id);
                }
            }
        }
        Ok(Self { bytes, merges, whole, words, nfc, largest, longest })
    }

    pub(super) fn largest(&self) -> u32 {
        self.largest
    }

    /// Appends the tokens of a text until there are `most`, and at most a word's more.
    pub(super) fn encode(&self, text: &str, most: usize, ids: &mut Vec<u32>) {
        let composed: String;
        let text = if self.nfc && is_nfc_quick(text.chars()) != IsNormalized::Yes {
            composed = text.nfc().collect();
            &composed
        } else {
            text
        };
        let mut at = 0;
        while at < text.len() && ids.len() < most {
            let Some(found) = self.words.find_at(text, at) else {
                self.word(&text[at..], most, ids);
                return;
            };
            if found.start() > at {
                self.word(&text[at..found.start()], most, ids);
            }
            let (mut end, mut found) = (found.end(), found.as_str());
            let last = found.chars().next_back().map_or(0, char::len_utf8);
            if end < text.len() && found.len() > last && self.is_blanks(text, at, found) {
                (end, found) = (end - last, &found[..found.len() - last]);
            }
            self.word(found, most, ids);
            at = end;
        }
    }

    /// Whether the match from `at` on is blanks by the pattern's last part, and not by an earlier
    /// one.
    fn is_blanks(&self, text: &str, at: usize, found: &str) -> bool {
        found.chars().all(char::is_whitespace)
            && self.words.captures_at(text, at).is_some_and(|parts| parts.name(GROUP).is_some())
    }

    /// Joins the pieces of one word, lowest rank first and leftmost among equals, in O(n log n).
    fn word(&self, word: &str, most: usize, ids: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        // The requested tokens cannot reach further; some more, so that the cut has no effect.
        let room = most.saturating_sub(ids.len()).saturating_add(16).saturating_mul(self.longest);
        let word = &word.as_bytes()[..word.len().min(room)];
        if let Some(&id) = self.whole.get(word) {
            ids.push(id);
            return;
        }
        let mut pieces: Vec<Piece> = word
            .iter()
            .enumerate()
            .map(|(n, &byte)| Piece {
                id: self.bytes[usize::from(byte)],
                before: n.wrapping_sub(1),
                after: n + 1,
                live: true,
            })
            .collect();
        let end = pieces.len();
        let mut heap = BinaryHeap::new();
        let rank = |a: u32, b: u32| self.merges.get(&(a, b)).map(|&(rank, _)| rank);
        for n in 1..end {
            if let Some(rank) = rank(pieces[n - 1].id, pieces[n].id) {
                heap.push(Reverse((rank, n - 1)));
            }
        }
        while let Some(Reverse((expected, n))) = heap.pop() {
            let Piece { id, before, after, live } = pieces[n];
            if !live || after >= end {
                continue;
            }
            let Some(&(found, joined)) = self.merges.get(&(id, pieces[after].id)) else { continue };
            if found != expected {
                continue;
            }
            let next = pieces[after].after;
            pieces[after].live = false;
            pieces[n] = Piece { id: joined, before, after: next, live: true };
            if let Some(after) = pieces.get_mut(next) {
                after.before = n;
                if let Some(rank) = rank(joined, after.id) {
                    heap.push(Reverse((rank, n)));
                }
            }
            if let Some(before_piece) = pieces.get(before)
                && let Some(rank) = rank(before_piece.id, joined)
            {
                heap.push(Reverse((rank, before)));
            }
        }
        ids.extend(pieces.iter().filter(|piece| piece.live).map(|piece| piece.id));
    }
}

#[derive(Clone, Copy)]
struct Piece {
    id: u32,
    before: usize,
    after: usize,
    live: bool,
}

/// The name of the group of blanks at the end, which have yet to leave the last one to the word
/// after them.
const GROUP: &str = "blanks";

/// The pattern that words match.
fn word_pattern(pre: Option<&Value>) -> Result<Regex, TokenizerError> {
    let unknown = |what| Err(TokenizerError::PreTokenizer(what));
    let Some(pre) = pre.filter(|value| !value.is_null()) else { return unknown("is missing") };
    let parts = match pre["type"].as_str() {
        Some("Sequence") => pre["pretokenizers"].as_array().cloned().unwrap_or_default(),
        _ => vec![pre.clone()],
    };
    let (split, level) = match parts.as_slice() {
        [level] => (None, level),
        [split, level] => (Some(split), level),
        _ => return unknown("has an unsupported number of parts"),
    };
    if level["type"] != "ByteLevel" || level["add_prefix_space"] == true {
        return unknown("has no ByteLevel at its end, or one that adds blanks");
    }
    // Absent means true, as in `tokenizers`.
    let by_itself = level["use_regex"] != false;
    let pattern = match split {
        None if by_itself => GPT2,
        Some(split)
            if !by_itself
                && split["type"] == "Split"
                && split["behavior"] == "Isolated"
                && split["invert"] != true =>
        {
            match split["pattern"]["Regex"].as_str() {
                Some(pattern) => pattern,
                None => return unknown("does not split by a Regex"),
            }
        }
        _ => return unknown("has an unsupported split"),
    };
    let pattern = pattern
        .strip_suffix(BLANKS)
        .map_or_else(|| pattern.to_owned(), |head| format!(r"{head}(?<{GROUP}>\s+)"));
    let parsed = regex_syntax::parse(&pattern).map_err(|error| TokenizerError::Pattern(error.to_string()))?;
    if parsed.properties().minimum_len().is_none_or(|length| length == 0) {
        return Err(TokenizerError::EmptyPattern);
    }
    Regex::new(&pattern).map_err(|error| TokenizerError::Pattern(error.to_string()))
}

/// The letter for each byte: printable ones for themselves, the others from U+0100 on (GPT-2's
/// `bytes_to_unicode`).
fn byte_letters() -> [char; 256] {
    let mut others = '\u{100}'..;
    std::array::from_fn(|byte| {
        let byte = u8::try_from(byte).unwrap_or_default();
        match byte {
            b'!'..=b'~' | 0xa1..=0xac | 0xae.. => char::from(byte),
            _ => others.next().unwrap_or_default(),
        }
    })
}
