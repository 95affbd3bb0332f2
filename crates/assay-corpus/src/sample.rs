//! Stratified samples of a corpus.
//!
//! Strata are the product of the keys. The sample is allocated equally: one skill of each stratum, round after round, until
//! it is large enough or the strata are empty. Equal allocation gives rare kinds of skills as much weight as common ones,
//! so a mean over the sample does not estimate the mean of the corpus.
//!
//! Every order comes from BLAKE3 of the seed and an id, so that a sample depends neither on the order of the input nor on
//! the number of threads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rayon::prelude::*;
use serde::Serialize;

use crate::near::{grams, jaccard};
use crate::quality;
use assay_skill::corpus::Record;
use assay_skill::corpus::input::{BadLine, Input, InputError, parse};
use assay_skill::corpus::normal::{self, split};

/// Bodies with at least this Jaccard similarity of word 3-grams are near-identical: the default of
/// [`near`](crate::near::near).
const NEAR: f64 = 0.8;

/// What strata are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// Terciles of the points, of 12, of [`quality::points`].
    Quality,
    /// Terciles of the words of the body.
    Length,
    /// The category of the skill.
    Category,
}

/// What to draw.
#[derive(Debug, Clone)]
pub struct Options {
    /// Keys of the strata, each at most once.
    pub by: Vec<Key>,
    /// Skills to draw.
    pub size: usize,
    /// Seed of all orders.
    pub seed: u64,
    /// Categories by id; without them, the records' own.
    pub categories: Option<BTreeMap<String, String>>,
}

/// A stratum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stratum {
    /// The values of the keys, joined by ` / `.
    pub stratum: String,
    /// Skills that could be drawn, before those below were excluded.
    pub skills: usize,
    /// Skills in the sample.
    pub drawn: usize,
    /// Skills that were drawn, excluded, and replaced by the next.
    pub excluded: usize,
}

/// A skill of the sample.
#[derive(Debug)]
pub struct Drawn<T> {
    /// Its place in the order of the sample, from 1.
    pub number: usize,
    /// Its identifier: [`Record::key`].
    pub id: String,
    /// Its stratum.
    pub stratum: String,
    /// The record.
    pub record: Record,
    /// What the caller found out.
    pub data: T,
}

/// A sample.
#[derive(Debug)]
pub struct Sample<T> {
    /// Records read.
    pub records: usize,
    /// Invalid lines.
    pub bad_lines: usize,
    /// Upper bounds of the lower two terciles, inclusive, for each key that has terciles.
    pub terciles: BTreeMap<Key, [usize; 2]>,
    /// Why skills were excluded, and how many.
    pub excluded: BTreeMap<String, usize>,
    /// The keys that were used: those of the options, without a category that no skill has.
    pub by: Vec<Key>,
    /// The strata, sorted by name.
    pub strata: Vec<Stratum>,
    /// The sample, in a random order.
    pub skills: Vec<Drawn<T>>,
}

/// A record with what strata need.
struct Entry {
    id: String,
    order: [u8; 32],
    record: Record,
    body: [u8; 16],
    quality: usize,
    words: usize,
    category: Option<String>,
    /// Why it is left out before strata are made.
    excluded: Option<&'static str>,
}

/// BLAKE3 of the seed, the purpose and a text.
fn order(seed: u64, purpose: &str, text: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(purpose.as_bytes());
    hasher.update(&[0]);
    hasher.update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

/// A text of a line that [`Record`] does not have.
fn text_of(line: &serde_json::Value, key: &str) -> Option<String> {
    line.get(key)?.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

fn entry(line: &[u8], options: &Options) -> Result<Entry, String> {
    let record = parse(line).map_err(|error| error.to_string())?;
    let whole = serde_json::from_slice(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line));
    let whole: serde_json::Value = whole.unwrap_or_default();
    let id = record.key();
    let (_, body) = split(&record.skill_md);
    let stage = text_of(&whole, "filter_stage");
    let words = body.split_whitespace().count();
    let excluded = match stage.as_deref() {
        Some("kept") | None if words == 0 => Some("empty body"),
        Some("kept") | None => None,
        Some(_) => Some("removed by a funnel (filter_stage)"),
    };
    let is_left_out = excluded.is_some();
    let category = match &options.categories {
        Some(categories) => categories.get(&id).cloned(),
        None => text_of(&whole, "category"),
    };
    let points = || quality::points(&record.description, &quality::outline(body));
    let quality = if is_left_out { 0 } else { points().iter().filter(|point| point.given).count() };
    Ok(Entry {
        order: order(options.seed, "skill", &id),
        body: normal::hash(body),
        id,
        quality,
        words,
        category,
        excluded,
        record,
    })
}

/// What a caller keeps of a skill that is drawn; the inner error says why the skill is left out.
pub type Check<'a, T, E> = dyn FnMut(&Record) -> Result<Result<T, String>, E> + 'a;

/// Draws a sample. `bad` is called for invalid lines. `check` gets the skills that are drawn, one after another, and
/// returns what the caller keeps of them, or why they are left out; then the next skill of the stratum is drawn.
///
/// The corpus is held in memory.
///
/// # Errors
/// The corpus cannot be read, or `check` fails.
pub fn sample<T, E: From<InputError>>(
    input: &mut Input,
    options: &Options,
    bad: &mut dyn FnMut(&BadLine),
    check: &mut Check<'_, T, E>,
) -> Result<Sample<T>, E> {
    let mut entries = Vec::new();
    let mut bad_lines = 0;
    while let Some(lines) = input.lines()? {
        let read: Vec<_> =
            lines.into_par_iter().map(|(number, line)| (number, entry(&line, options))).collect();
        for (line, read) in read {
            match read {
                Ok(entry) => entries.push(entry),
                Err(message) => {
                    bad_lines += 1;
                    bad(&BadLine { line, message });
                }
            }
        }
    }
    let records = entries.len();
    let mut excluded = BTreeMap::new();
    let entries = eligible(entries, &mut excluded);
    let has_categories = entries.iter().any(|entry| entry.category.is_some());
    let by: Vec<Key> =
        options.by.iter().copied().filter(|key| *key != Key::Category || has_categories).collect();
    let terciles = terciles(&entries, &by);
    let mut strata: BTreeMap<String, (Stratum, VecDeque<Entry>)> = BTreeMap::new();
    for entry in entries {
        let name = name_of(&entry, &by, &terciles);
        let (stratum, skills) = strata.entry(name.clone()).or_insert_with(|| {
            (Stratum { stratum: name, skills: 0, drawn: 0, excluded: 0 }, VecDeque::new())
        });
        stratum.skills += 1;
        skills.push_back(entry);
    }
    let skills = draw_skills(&mut strata, options, &mut excluded, check)?;
    let strata = strata.into_values().map(|(stratum, _)| stratum).collect();
    Ok(Sample { records, bad_lines, terciles, excluded, by, strata, skills })
}

/// The skills that can be drawn, in the order of their hashes.
fn eligible(mut entries: Vec<Entry>, excluded: &mut BTreeMap<String, usize>) -> Vec<Entry> {
    entries.sort_by(|a, b| (a.order, &a.record.skill_md).cmp(&(b.order, &b.record.skill_md)));
    let (mut ids, mut bodies) = (BTreeSet::new(), BTreeSet::new());
    entries.retain(|entry| {
        let why = match entry.excluded {
            None if !ids.insert(entry.id.clone()) => Some("repeated id"),
            None if !bodies.insert(entry.body) => Some("copy of another body"),
            why => why,
        };
        if let Some(why) = why {
            *excluded.entry(why.to_owned()).or_default() += 1;
        }
        why.is_none()
    });
    entries
}

/// The upper bounds of the lower two terciles. Equal values are in the same one.
fn terciles(entries: &[Entry], by: &[Key]) -> BTreeMap<Key, [usize; 2]> {
    let keys = by.iter().filter(|key| **key != Key::Category);
    keys.map(|key| {
        let mut values: Vec<usize> = entries
            .iter()
            .map(|entry| if *key == Key::Quality { entry.quality } else { entry.words })
            .collect();
        values.sort_unstable();
        let bound = |third: usize| {
            let at = (values.len() * third).div_ceil(3).saturating_sub(1);
            values.get(at).copied().unwrap_or(0)
        };
        (*key, [bound(1), bound(2)])
    })
    .collect()
}

/// The name of a skill's stratum.
fn name_of(entry: &Entry, by: &[Key], terciles: &BTreeMap<Key, [usize; 2]>) -> String {
    let third = |key: Key, value: usize| {
        let [low, middle] = terciles.get(&key).copied().unwrap_or_default();
        usize::from(value > low) + usize::from(value > middle)
    };
    let parts: Vec<&str> = by
        .iter()
        .map(|key| match key {
            Key::Quality => {
                ["low quality", "medium quality", "high quality"][third(Key::Quality, entry.quality)]
            }
            Key::Length => ["short", "medium length", "long"][third(Key::Length, entry.words)],
            Key::Category => entry.category.as_deref().unwrap_or("no category"),
        })
        .collect();
    parts.join(" / ")
}

fn draw_skills<T, E>(
    strata: &mut BTreeMap<String, (Stratum, VecDeque<Entry>)>,
    options: &Options,
    excluded: &mut BTreeMap<String, usize>,
    check: &mut Check<'_, T, E>,
) -> Result<Vec<Drawn<T>>, E> {
    let mut names: Vec<String> = strata.keys().cloned().collect();
    names.sort_by_key(|name| order(options.seed, "stratum", name));
    let mut skills: Vec<Drawn<T>> = Vec::new();
    let mut known: Vec<Vec<u32>> = Vec::new();
    let mut is_empty = false;
    while skills.len() < options.size && !is_empty {
        is_empty = true;
        for name in &names {
            let Some((stratum, waiting)) = strata.get_mut(name) else { continue };
            while skills.len() < options.size {
                let Some(entry) = waiting.pop_front() else { break };
                let grams = grams(split(&entry.record.skill_md).1);
                let checked = if known.iter().any(|other| jaccard(other, &grams, NEAR).is_some()) {
                    Err("near-identical to a drawn skill".to_owned())
                } else {
                    check(&entry.record)?
                };
                match checked {
                    Ok(data) => {
                        is_empty = false;
                        stratum.drawn += 1;
                        known.push(grams);
                        let Entry { id, record, .. } = entry;
                        skills.push(Drawn { number: 0, id, stratum: name.clone(), record, data });
                        break;
                    }
                    Err(why) => {
                        stratum.excluded += 1;
                        *excluded.entry(why).or_default() += 1;
                    }
                }
            }
        }
    }
    skills.sort_by_key(|skill| order(options.seed, "sample", &skill.id));
    for (number, skill) in (1..).zip(&mut skills) {
        skill.number = number;
    }
    Ok(skills)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::path::Path;

    use super::*;

    /// Skills of three lengths, every third with a category.
    fn corpus(count: usize) -> Vec<String> {
        let line = |n: usize| {
            let words: Vec<String> = (0..10 * (n + 1)).map(|word| format!("w{n}x{word}")).collect();
            let mut record =
                serde_json::json!({"id": format!("s{n}"), "name": "s", "skill_md": words.join(" ")});
            if n.is_multiple_of(3) {
                record["category"] = "docs".into();
            }
            record.to_string()
        };
        (0..count).map(line).collect()
    }

    fn drawn(lines: &[String], by: &[Key], size: usize, refused: &str) -> Sample<()> {
        let text = lines.join("\n");
        let mut input = Input::of(Path::new("x"), Box::new(Cursor::new(text.into_bytes()))).unwrap();
        let options = Options { by: by.to_vec(), size, seed: 7, categories: None };
        let mut check = |record: &Record| {
            Ok::<_, InputError>(if record.id == refused { Err("refused".to_owned()) } else { Ok(()) })
        };
        sample(&mut input, &options, &mut |_| {}, &mut check).unwrap()
    }

    fn ids(sample: &Sample<()>) -> Vec<&str> {
        sample.skills.iter().map(|skill| skill.id.as_str()).collect()
    }

    #[test]
    fn strata_are_allocated_equally() {
        let check = |by: &[Key], size, expected: &[(&str, usize, usize)]| {
            let found = drawn(&corpus(12), by, size, "");
            let strata: Vec<_> = found
                .strata
                .iter()
                .map(|stratum| (stratum.stratum.as_str(), stratum.skills, stratum.drawn))
                .collect();
            assert_eq!(strata, expected);
        };
        check(&[Key::Length], 6, &[("long", 4, 2), ("medium length", 4, 2), ("short", 4, 2)]);
        check(&[Key::Length], 99, &[("long", 4, 4), ("medium length", 4, 4), ("short", 4, 4)]);
        check(&[Key::Category], 10, &[("docs", 4, 4), ("no category", 8, 6)]);
        check(&[], 2, &[("", 12, 2)]);
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order_of_the_input() {
        let lines = corpus(30);
        let turned: Vec<String> = lines.iter().rev().cloned().collect();
        let (one, other) = (drawn(&lines, &[Key::Length], 7, ""), drawn(&turned, &[Key::Length], 7, ""));
        assert_eq!(ids(&one), ids(&other));
        assert_eq!(one.skills.iter().map(|skill| skill.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn excluded_skills_are_replaced_and_counted() {
        let lines = corpus(12);
        let first = drawn(&lines, &[Key::Length], 3, "");
        let refused = ids(&first)[0].to_owned();
        let found = drawn(&lines, &[Key::Length], 3, &refused);
        assert_eq!((found.skills.len(), found.excluded.get("refused")), (3, Some(&1)));
        assert!(!ids(&found).contains(&refused.as_str()));
    }

    #[test]
    fn skills_that_cannot_be_drawn_are_counted() {
        let body: String = (0..100).map(|word| format!("w{word} ")).collect();
        let record = |id: &str, stage: &str, text: &str| {
            serde_json::json!({"id": id, "filter_stage": stage, "skill_md": text}).to_string()
        };
        let lines = [
            record("a", "kept", &body),
            record("a", "kept", "another"),
            record("b", "kept", &body.to_uppercase()),
            record("c", "4-content", "text"),
            record("d", "kept", "---\nname: d\n---\n"),
            record("e", "kept", &format!("{body} more")),
            "{".to_owned(),
        ];
        let found = drawn(&lines, &[Key::Length], 9, "");
        assert_eq!((found.records, found.bad_lines), (6, 1));
        let excluded: Vec<(&str, usize)> =
            found.excluded.iter().map(|(why, count)| (why.as_str(), *count)).collect();
        for expected in [("empty body", 1), ("removed by a funnel (filter_stage)", 1), ("repeated id", 1)] {
            assert!(excluded.contains(&expected), "{excluded:?}");
        }
        assert_eq!(found.skills.len() + excluded.iter().map(|(_, count)| count).sum::<usize>(), 6);
    }
}
