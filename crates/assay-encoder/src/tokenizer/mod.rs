//! Converts text to token ids according to a `tokenizer.json` of Hugging Face's `tokenizers`.
//!
//! Two families are supported: WordPiece over BERT's normalizer and pre-tokenizer, and byte-level
//! BPE. A text is tokenized no further than the requested tokens.

mod bpe;
mod classes;
mod wordpiece;

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, TokenizerError};
use crate::folder::Folder;
use crate::packed::Sequence;

const FILE: &str = "tokenizer.json";

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    post_processor: Option<Value>,
    model: Value,
}

/// A token that is found in the text before anything else is done to it.
#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the format's own switches")]
struct Added {
    id: u32,
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    normalized: bool,
}

enum Model {
    WordPiece(wordpiece::WordPiece),
    Bpe(bpe::Bpe),
}

/// Special tokens around a text, or around two.
#[derive(Clone)]
enum Part {
    Special(u32),
    First,
    Second,
}

pub(crate) struct Tokenizer {
    added: Vec<Added>,
    finder: Option<AhoCorasick>,
    model: Model,
    single: Vec<Part>,
    pair: Option<Vec<Part>>,
}

impl Tokenizer {
    /// Reads `tokenizer.json`. All its ids have to be below `vocabulary`.
    pub(crate) fn open(folder: &mut Folder, vocabulary: usize) -> Result<Self, Error> {
        let file: File = folder.required(FILE)?;
        let path = folder.path(FILE);
        let tokenizer = Self::new(file).map_err(|problem| Error::setting(&path, problem.to_string()))?;
        let parts = tokenizer.single.iter().chain(tokenizer.pair.iter().flatten());
        let specials = parts.filter_map(|part| if let Part::Special(id) = part { Some(*id) } else { None });
        let model = match &tokenizer.model {
            Model::WordPiece(model) => model.largest(),
            Model::Bpe(model) => model.largest(),
        };
        let largest = specials.chain(tokenizer.added.iter().map(|added| added.id)).fold(model, u32::max);
        if largest as usize >= vocabulary {
            let problem = format!(
                "has the id {largest}, but the weights have {vocabulary} rows: it belongs to another model"
            );
            return Err(Error::setting(&path, problem));
        }
        Ok(tokenizer)
    }

    fn new(file: File) -> Result<Self, TokenizerError> {
        let File { added_tokens: added, normalizer, pre_tokenizer, post_processor, model } = file;
        let model = match model.get("type").and_then(Value::as_str) {
            Some("WordPiece") => Model::WordPiece(wordpiece::WordPiece::new(
                model,
                normalizer.as_ref(),
                pre_tokenizer.as_ref(),
            )?),
            Some("BPE") => Model::Bpe(bpe::Bpe::new(model, normalizer.as_ref(), pre_tokenizer.as_ref())?),
            other => {
                return Err(TokenizerError::Model(other.unwrap_or("not named").to_owned()));
            }
        };
        if let Some(token) = added.iter().find(|token| token.content.is_empty()) {
            return Err(TokenizerError::EmptyToken(token.id));
        }
        let normalizes =
            matches!(model, Model::WordPiece(_)) || normalizer.is_some_and(|value| !value.is_null());
        if let Some(token) = added.iter().find(|token| token.normalized && normalizes) {
            return Err(TokenizerError::NormalizedToken(token.content.clone()));
        }
        let finder = (!added.is_empty())
            .then(|| {
                let words = added.iter().map(|token| &token.content);
                AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(words)
            })
            .transpose()?;
        let (single, pair) = templates(post_processor.as_ref())?;
        Ok(Self { added, finder, model, single, pair })
    }

    /// The tokens of a text by itself, at most `most`.
    pub(crate) fn tokens(&self, text: &str, most: usize) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut last = 0;
        for (span, id) in self.added_in(text) {
            if ids.len() >= most {
                break;
            }
            self.plain(&text[last..span.start], most, &mut ids);
            ids.push(id);
            last = span.end;
        }
        self.plain(&text[last..], most, &mut ids);
        ids.truncate(most);
        ids
    }

    /// The same, with added tokens in the text read as plain characters.
    pub(crate) fn plain_tokens(&self, text: &str, most: usize) -> Vec<u32> {
        let mut ids = Vec::new();
        self.plain(text, most, &mut ids);
        ids.truncate(most);
        ids
    }

    fn plain(&self, text: &str, most: usize, ids: &mut Vec<u32>) {
        if text.is_empty() || ids.len() >= most {
            return;
        }
        match &self.model {
            Model::WordPiece(model) => model.encode(text, most, ids),
            Model::Bpe(model) => model.encode(text, most, ids),
        }
    }

    /// Added tokens in a text, as `tokenizers` finds them: the leftmost, and of these the longest.
    fn added_in<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (Range<usize>, u32)> + 'a {
        let mut end = 0;
        self.finder.iter().flat_map(move |finder| finder.find_iter(text)).filter_map(move |found| {
            let token = &self.added[found.pattern().as_usize()];
            let (mut start, mut stop) = (found.start(), found.end());
            let word = |c: char| c.is_alphanumeric() || c == '_';
            if token.single_word
                && (text[..start].chars().next_back().is_some_and(word)
                    || text[stop..].chars().next().is_some_and(word))
            {
                return None;
            }
            if token.lstrip {
                start = text[..start].trim_end().len().max(end);
            }
            if token.rstrip {
                stop = text.len() - text[stop..].trim_start().len();
            }
            // A token whose blanks were taken by the one before it.
            let start = start.max(end);
            (stop > end).then(|| {
                end = stop;
                (start..stop, token.id)
            })
        })
    }

    /// The number of special tokens around a text.
    pub(crate) fn around_one(&self) -> usize {
        self.single.iter().filter(|part| matches!(part, Part::Special(_))).count()
    }

    /// A text as the network reads it, cut after `most` tokens, those around it counted.
    pub(crate) fn one(&self, text: &str, most: usize) -> Sequence {
        let tokens = self.tokens(text, most.saturating_sub(self.around_one()));
        let mut sequence = compose(&self.single, &tokens, &[]);
        sequence.ids.truncate(most);
        sequence
    }

    /// Two texts as the network's input: the longer one is cut first, as in `tokenizers`'
    /// `longest_first`. `None` if the file has no template for two.
    pub(crate) fn two(&self, first: &str, second: &str, most: usize) -> Option<Sequence> {
        let parts = self.pair.as_ref()?;
        let around = parts.iter().filter(|part| matches!(part, Part::Special(_))).count();
        let room = most.saturating_sub(around);
        let (mut first, mut second) = (self.tokens(first, room), self.tokens(second, room));
        let (a, b) = longest_first(first.len(), second.len(), room);
        first.truncate(a);
        second.truncate(b);
        Some(compose(parts, &first, &second))
    }

    /// The one id of a word, if it is a token.
    pub(crate) fn id(&self, word: &str) -> Option<u32> {
        match self.tokens(word, 2).as_slice() {
            [id] => Some(*id),
            _ => None,
        }
    }
}

/// How long two sequences may be that have to fit `room` together.
fn longest_first(first: usize, second: usize, room: usize) -> (usize, usize) {
    if first + second <= room {
        return (first, second);
    }
    let short = first.min(second);
    let long = if short > room { short } else { short.max(room - short) };
    let (short, long) = if short + long > room { (room / 2, room / 2 + room % 2) } else { (short, long) };
    if first > second { (long, short) } else { (short, long) }
}

fn compose(parts: &[Part], first: &[u32], second: &[u32]) -> Sequence {
    let mut sequence = Sequence::default();
    let mut seconds = None;
    for part in parts {
        match part {
            Part::Special(id) => sequence.ids.push(*id),
            Part::First => sequence.ids.extend(first),
            Part::Second => {
                seconds.get_or_insert(sequence.ids.len());
                sequence.ids.extend(second);
            }
        }
    }
    sequence.second = seconds.unwrap_or(sequence.ids.len());
    sequence
}

/// The templates of one text and of two.
fn templates(processor: Option<&Value>) -> Result<(Vec<Part>, Option<Vec<Part>>), TokenizerError> {
    let Some(processor) = processor.filter(|value| !value.is_null()) else {
        return Ok((vec![Part::First], None));
    };
    match processor["type"].as_str() {
        Some("ByteLevel") => Ok((vec![Part::First], None)),
        Some("Sequence") => {
            let mut found = (vec![Part::First], None);
            for one in processor["processors"].as_array().into_iter().flatten() {
                if one["type"] != "ByteLevel" {
                    found = templates(Some(one))?;
                }
            }
            Ok(found)
        }
        Some("BertProcessing") => {
            let id = |name: &str| {
                let id = processor[name][1].as_u64().and_then(|id| u32::try_from(id).ok());
                id.ok_or_else(|| TokenizerError::NoId(name.to_owned()))
            };
            let (cls, sep) = (Part::Special(id("cls")?), Part::Special(id("sep")?));
            let pair = vec![cls.clone(), Part::First, sep.clone(), Part::Second, sep.clone()];
            Ok((vec![cls, Part::First, sep], Some(pair)))
        }
        Some("TemplateProcessing") => {
            let read = |name: &str| -> Result<Vec<Part>, TokenizerError> {
                let mut parts = Vec::new();
                for piece in processor[name].as_array().into_iter().flatten() {
                    if let Some(sequence) = piece["Sequence"]["id"].as_str() {
                        parts.push(if sequence == "B" { Part::Second } else { Part::First });
                        continue;
                    }
                    let token = piece["SpecialToken"]["id"].as_str().unwrap_or_default();
                    let ids = processor["special_tokens"][token]["ids"].as_array();
                    let ids: Option<Vec<u32>> =
                        ids.map(|ids| ids.iter().filter_map(|id| u32::try_from(id.as_u64()?).ok()).collect());
                    match ids {
                        Some(ids) if !ids.is_empty() => parts.extend(ids.into_iter().map(Part::Special)),
                        _ => {
                            return Err(TokenizerError::SpecialToken(token.to_owned()));
                        }
                    }
                }
                Ok(parts)
            };
            let (single, pair) = (read("single")?, read("pair")?);
            if !single.iter().any(|part| matches!(part, Part::First)) {
                return Err(TokenizerError::NoText);
            }
            let both = pair.iter().any(|part| matches!(part, Part::Second));
            Ok((single, both.then_some(pair)))
        }
        other => Err(TokenizerError::PostProcessor(other.unwrap_or("not named").to_owned())),
    }
}

/// The name of a part of the file, for messages.
fn kind(value: Option<&Value>) -> &str {
    value.and_then(|value| value["type"].as_str()).unwrap_or("none")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_two_is_cut_first() {
        let check = |first, second, room, expected| {
            assert_eq!(longest_first(first, second, room), expected, "{first} and {second} in {room}");
        };
        check(3, 4, 7, (3, 4));
        check(3, 40, 10, (3, 7));
        check(40, 3, 10, (7, 3));
        check(40, 30, 11, (6, 5));
        check(30, 40, 11, (5, 6));
        check(9, 9, 0, (0, 0));
    }
}
