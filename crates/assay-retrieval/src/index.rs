//! An inverted index over the fields of skills.
//!
//! Every word has the documents that contain it, with its count in each field. A retriever weighs
//! them once, into one number for each word and document, and a query adds such numbers up (the
//! eager scoring of bm25s).

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use rayon::prelude::*;

use crate::analysis::{Stemmer, is_stop_word, lower_case};
use crate::corpus::Document;

/// The fields of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The name.
    Name,
    /// The description.
    Description,
    /// Headings of the body.
    Headings,
    /// The body without its headings and its front matter.
    Body,
    /// The complete SKILL.md, front matter included.
    Document,
}

/// How many fields there are.
pub const FIELDS: usize = 5;

/// How often a word occurs in each field of a document.
pub type Counts = [u16; FIELDS];

/// Words in each field of a document.
pub type Lengths = [u32; FIELDS];

/// The index.
#[derive(Debug)]
pub struct Index {
    stemmer: Stemmer,
    ids: Vec<String>,
    words: HashMap<String, u32, RandomState>,
    /// The start of a word's entries, by its number; one more at the end.
    starts: Vec<usize>,
    documents: Vec<u32>,
    counts: Vec<Counts>,
    lengths: Vec<Lengths>,
}

/// The words of some documents, before they are merged.
#[derive(Default)]
struct PartialIndex {
    /// In order of their first occurrence, which is that of their numbers.
    words: Vec<String>,
    /// Document, word of this part, counts.
    entries: Vec<(u32, u32, Counts)>,
    lengths: Vec<Lengths>,
}

/// Parts to index for each thread, so that none waits long for another.
const PARTS: usize = 4;

impl Index {
    /// Indexes documents. Their order matters only for equal scores, where the smaller id comes
    /// first: they are sorted by id, and of several with one id the first is kept.
    pub fn build(documents: Vec<Document>, stemmer: Stemmer) -> Self {
        Self::of(&ordered(documents), stemmer)
    }

    /// Indexes documents that are in order of their ids, each once.
    pub fn of(documents: &[Document], stemmer: Stemmer) -> Self {
        let chunk = documents.len().div_ceil(PARTS * rayon::current_num_threads()).max(1);
        let parts: Vec<PartialIndex> = documents
            .par_chunks(chunk)
            .enumerate()
            .map(|(number, own)| Reader::new(stemmer).read(number * chunk, own))
            .collect();
        let mut index = Self {
            stemmer,
            ids: documents.iter().map(|document| document.id.clone()).collect(),
            words: HashMap::default(),
            starts: Vec::new(),
            documents: Vec::new(),
            counts: Vec::new(),
            lengths: Vec::new(),
        };
        index.merge_parts(parts);
        index
    }

    /// An index of some words of a larger one, with the documents that contain them and their
    /// counts. It scores queries of these words like the whole index; it does not know the
    /// documents' ids.
    pub(crate) fn restricted_to(
        stemmer: Stemmer,
        lengths: Vec<Lengths>,
        words: Vec<(String, Vec<(u32, Counts)>)>,
    ) -> Self {
        let mut index = Self {
            stemmer,
            ids: Vec::new(),
            words: HashMap::default(),
            starts: vec![0],
            documents: Vec::new(),
            counts: Vec::new(),
            lengths,
        };
        for (number, (word, entries)) in (0_u32..).zip(words) {
            index.words.insert(word, number);
            for (document, counts) in entries {
                index.documents.push(document);
                index.counts.push(counts);
            }
            index.starts.push(index.documents.len());
        }
        index
    }

    fn merge_parts(&mut self, parts: Vec<PartialIndex>) {
        // Numbers of a part's words in the index, by their number in the part.
        let mut numbers: Vec<Vec<u32>> = Vec::with_capacity(parts.len());
        let mut parts = parts;
        for part in &mut parts {
            let number = |word: String| {
                let next = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
                *self.words.entry(word).or_insert(next)
            };
            numbers.push(std::mem::take(&mut part.words).into_iter().map(number).collect());
        }
        let mut ends = vec![0_usize; self.words.len() + 1];
        for (part, numbers) in parts.iter().zip(&numbers) {
            for (_, word, _) in &part.entries {
                ends[numbers[*word as usize] as usize + 1] += 1;
            }
        }
        for word in 1..ends.len() {
            ends[word] += ends[word - 1];
        }
        self.starts.clone_from(&ends);
        let entries = ends.last().copied().unwrap_or(0);
        self.documents = vec![0; entries];
        self.counts = vec![[0; FIELDS]; entries];
        // Parts come in order of documents, so every word's entries do too.
        for (part, numbers) in parts.into_iter().zip(numbers) {
            for (document, word, counts) in part.entries {
                let place = &mut ends[numbers[word as usize] as usize];
                self.documents[*place] = document;
                self.counts[*place] = counts;
                *place += 1;
            }
            self.lengths.extend(part.lengths);
        }
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether it has no documents.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// A document's id, by its number; empty if only the full index has it.
    pub fn id(&self, document: u32) -> &str {
        self.ids.get(document as usize).map_or("", String::as_str)
    }

    /// Every word with its number, in order of the words.
    pub(crate) fn vocabulary(&self) -> Vec<(&str, u32)> {
        let mut all: Vec<(&str, u32)> =
            self.words.iter().map(|(word, number)| (word.as_str(), *number)).collect();
        all.sort_unstable();
        all
    }

    /// The counts of entries.
    pub(crate) fn counts(&self, entries: Range<usize>) -> &[Counts] {
        &self.counts[entries]
    }

    /// The lengths of every document's fields.
    pub(crate) fn lengths(&self) -> &[Lengths] {
        &self.lengths
    }

    /// How often a word occurs in each field of a document.
    pub(crate) fn counts_in(&self, word: u32, document: u32) -> Option<&Counts> {
        let entries = self.entries(word);
        let at = self.documents[entries.clone()].binary_search(&document).ok()?;
        self.counts.get(entries.start + at)
    }

    /// The inverse document frequency of a word.
    pub(crate) fn idf(&self, word: u32) -> f64 {
        idf(self.len(), self.entries(word).len())
    }

    /// The numbers of a text's words, in order, with repetitions; unknown words are skipped.
    pub fn words_of(&self, text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        self.stemmer.each_word(&text.to_lowercase(), |word| {
            if !is_stop_word(word)
                && let Some(number) = self.words.get(self.stemmer.stem(word))
            {
                found.push(*number);
            }
        });
        found
    }

    /// The sum of the inverse document frequencies of a query's words, those in no document
    /// included.
    pub fn information(&self, text: &str, repeats: bool) -> f32 {
        let mut words: Vec<String> = Vec::new();
        self.stemmer.each_word(&text.to_lowercase(), |word| {
            if !is_stop_word(word) {
                words.push(self.stemmer.stem(word).to_owned());
            }
        });
        if !repeats {
            words.sort_unstable();
            words.dedup();
        }
        let holders = |word: &String| self.words.get(word).map_or(0, |number| self.entries(*number).len());
        #[expect(clippy::cast_possible_truncation, reason = "scores are in single precision")]
        let sum = words.iter().map(|word| idf(self.len(), holders(word))).sum::<f64>() as f32;
        sum
    }

    /// A word's entries.
    pub fn entries(&self, word: u32) -> Range<usize> {
        self.starts[word as usize]..self.starts[word as usize + 1]
    }

    /// The documents of entries.
    pub fn documents(&self, entries: Range<usize>) -> &[u32] {
        &self.documents[entries]
    }

    /// How the words are made.
    pub fn stemmer(&self) -> Stemmer {
        self.stemmer
    }

    /// Words of each field, in all documents.
    pub fn totals(&self) -> [f64; FIELDS] {
        let mut totals = [0.0; FIELDS];
        for lengths in &self.lengths {
            for (total, length) in totals.iter_mut().zip(lengths) {
                *total += f64::from(*length);
            }
        }
        totals
    }

    /// Mean length of each field, in words.
    pub fn mean_lengths(&self) -> [f64; FIELDS] {
        self.totals().map(|sum| if self.lengths.is_empty() { 0.0 } else { sum / self.lengths.len() as f64 })
    }

    /// The number of a word, as the index makes words.
    pub(crate) fn number(&self, stem: &str) -> Option<u32> {
        self.words.get(stem).copied()
    }

    /// For each word, in how many documents it counts.
    pub fn document_frequencies(&self, counts: impl Fn(&Counts) -> bool + Sync) -> Vec<u32> {
        (0..self.starts.len().saturating_sub(1))
            .into_par_iter()
            .map(|word| {
                let own = &self.counts[self.starts[word]..self.starts[word + 1]];
                u32::try_from(own.iter().filter(|own| counts(own)).count()).unwrap_or(u32::MAX)
            })
            .collect()
    }

    /// One number for each entry: `weigh(documents with the word, its counts in a document, the
    /// document's lengths)`.
    pub fn compute_weights(
        &self,
        holders: &[u32],
        weigh: impl Fn(usize, &Counts, &Lengths) -> f32 + Sync,
    ) -> Vec<f32> {
        let mut weights = vec![0.0; self.documents.len()];
        // Each word's entries are a separate slice.
        let mut slices: Vec<(usize, u32, &mut [f32])> = Vec::with_capacity(self.starts.len());
        let mut rest = weights.as_mut_slice();
        for (pair, holders) in self.starts.windows(2).zip(holders) {
            let (own, others) = rest.split_at_mut(pair[1] - pair[0]);
            slices.push((pair[0], *holders, own));
            rest = others;
        }
        slices.into_par_iter().with_min_len(1_024).for_each(|(start, holders, own)| {
            for (offset, weight) in own.iter_mut().enumerate() {
                let document = self.documents[start + offset] as usize;
                *weight = weigh(holders as usize, &self.counts[start + offset], &self.lengths[document]);
            }
        });
        weights
    }
}

/// Documents in order of their ids; of several with one id the first stays.
pub fn ordered(mut documents: Vec<Document>) -> Vec<Document> {
    documents.sort_by(|one, other| one.id.cmp(&other.id));
    documents.dedup_by(|later, first| later.id == first.id);
    documents
}

/// The inverse document frequency as Lucene has it: ln(1 + (N − df + ½)/(df + ½)).
pub(crate) fn idf(documents: usize, holders: usize) -> f64 {
    let (n, df) = (documents as f64, holders as f64);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// Reads documents one after another.
struct Reader {
    stemmer: Stemmer,
    /// Words with the numbers of their stems; [`STOP`] for stop words.
    known: HashMap<String, u32, RandomState>,
    stems: HashMap<String, u32, RandomState>,
    /// By word: its count in the current document.
    counts: Vec<Counts>,
    /// The words of the current document.
    held: Vec<u32>,
    part: PartialIndex,
}

/// The number of a stop word.
const STOP: u32 = u32::MAX;

impl Reader {
    fn new(stemmer: Stemmer) -> Self {
        let (known, stems) = (HashMap::default(), HashMap::default());
        Self { stemmer, known, stems, counts: Vec::new(), held: Vec::new(), part: PartialIndex::default() }
    }

    /// The words of documents, of which the first has this number.
    fn read(mut self, first: usize, documents: &[Document]) -> PartialIndex {
        let mut lower = String::new();
        for (offset, document) in documents.iter().enumerate() {
            let number = u32::try_from(first + offset).unwrap_or(u32::MAX);
            let mut lengths: Lengths = [0; FIELDS];
            for (field, text) in [(Field::Name, &document.name), (Field::Description, &document.description)]
            {
                self.count(lower_case(text, &mut lower), &[field], &mut lengths);
            }
            let (front, body) = front_matter(lower_case(&document.document, &mut lower));
            self.count(front, &[Field::Document], &mut lengths);
            for (is_heading, line) in lines(body) {
                let field = if is_heading { Field::Headings } else { Field::Body };
                self.count(line, &[field, Field::Document], &mut lengths);
            }
            for word in self.held.drain(..) {
                let counts = std::mem::take(&mut self.counts[word as usize]);
                self.part.entries.push((number, word, counts));
            }
            self.part.lengths.push(lengths);
        }
        self.part
    }

    fn count(&mut self, lower: &str, fields: &[Field], lengths: &mut Lengths) {
        let stemmer = self.stemmer;
        stemmer.each_word(lower, |word| {
            let number = match self.known.get(word) {
                Some(number) => *number,
                None => self.intern_word(word),
            };
            if number == STOP {
                return;
            }
            let counts = &mut self.counts[number as usize];
            if *counts == Counts::default() {
                self.held.push(number);
            }
            for field in fields {
                lengths[*field as usize] += 1;
                counts[*field as usize] = counts[*field as usize].saturating_add(1);
            }
        });
    }

    fn intern_word(&mut self, word: &str) -> u32 {
        let number = if is_stop_word(word) {
            STOP
        } else {
            let stem = self.stemmer.stem(word);
            self.stems.get(stem).copied().unwrap_or_else(|| {
                let next = u32::try_from(self.part.words.len()).unwrap_or(STOP - 1);
                self.stems.insert(stem.to_owned(), next);
                self.part.words.push(stem.to_owned());
                self.counts.push(Counts::default());
                next
            })
        };
        self.known.insert(word.to_owned(), number);
        number
    }
}

/// A document's front matter, and the rest.
fn front_matter(document: &str) -> (&str, &str) {
    let text = document.trim_start_matches('\u{feff}');
    let end = text.strip_prefix("---").and_then(|rest| rest.find("\n---")).map_or(0, |end| end + 7);
    text.split_at(end)
}

/// The lines of a body, and whether each is a heading. Inside a fence nothing is.
fn lines(body: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut fenced = false;
    body.lines().map(move |line| {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            fenced = !fenced;
        }
        (!fenced && start.starts_with('#'), line)
    })
}

/// Headings, and the rest without the front matter.
pub(crate) fn split(document: &str) -> (String, String) {
    let (mut headings, mut body) = (String::new(), String::new());
    for (is_heading, line) in lines(front_matter(document).1) {
        let into = if is_heading { &mut headings } else { &mut body };
        into.push_str(line);
        into.push('\n');
    }
    (headings, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: &str, document: &str) -> Document {
        Document {
            id: id.to_owned(),
            name: "Log audit".to_owned(),
            document: document.to_owned(),
            ..Document::default()
        }
    }

    #[test]
    fn fields_are_separated() {
        let text = "---\nname: x\n---\n# Audit logs\nRead the log.\n```\n# no heading\n```\n";
        let index = Index::build(vec![document("b", text), document("a", "")], Stemmer::None);
        assert_eq!((index.len(), index.id(0), index.id(1)), (2, "a", "b"));
        let check = |word: &str, document: u32, expected: Counts| {
            let [word] = index.words_of(word)[..] else { panic!("{word} is not there") };
            let entries = index.entries(word);
            let at = entries.clone().find(|at| index.documents[*at] == document).unwrap();
            assert_eq!(index.counts[at], expected, "{word}");
        };
        check("audit", 1, [1, 0, 1, 0, 1]);
        check("audit", 0, [1, 0, 0, 0, 0]);
        check("log", 1, [1, 0, 0, 1, 1]);
        check("heading", 1, [0, 0, 0, 1, 1]);
        assert!(index.words_of("the unknown").is_empty());
        assert_eq!(index.lengths[1], [2, 0, 2, 3, 6]);
    }

    #[test]
    fn chunks_do_not_appear_in_results() {
        let all: Vec<Document> =
            (0..600).map(|n| document(&format!("{n:04}"), &format!("word{} common", n % 7))).collect();
        let index = Index::build(all, Stemmer::None);
        let [common] = index.words_of("common")[..] else { panic!() };
        let documents = index.documents(index.entries(common));
        assert!(documents.len() == 600 && documents.is_sorted());
        let [third] = index.words_of("word3")[..] else { panic!() };
        assert!(index.documents(index.entries(third)).iter().all(|document| document % 7 == 3));
    }

    #[test]
    fn first_document_of_an_id_is_kept() {
        let index = Index::build(vec![document("a", "first"), document("a", "second")], Stemmer::None);
        assert_eq!(index.len(), 1);
        assert_eq!((index.words_of("first").len(), index.words_of("second").len()), (1, 0));
    }
}
