//! Near-duplicates of a complete corpus, by MinHash and locality-sensitive hashing, with the recall
//! measured on a sample.
//!
//! Two bodies are near if the Jaccard similarity of their sets of word 3-grams reaches a threshold,
//! as in [`assay_retrieval::shingle_similarity`]. Comparing all pairs takes a second for a thousand
//! records and weeks for a million. MinHash (Broder 1997, "On the resemblance and containment of
//! documents") and banding (Leskovec, Rajaraman & Ullman, "Mining of Massive Datasets", section
//! 3.4) produce candidates, and only those are compared exactly. So no reported pair is a false
//! positive, and missed pairs are counted: a sample of the records is compared with every other
//! one.

use std::collections::{BTreeMap, BTreeSet};

use assay_retrieval::words;
use rayon::prelude::*;
use serde::Serialize;

use assay_skill::corpus::input::{BadLine, Input, InputError};
use assay_skill::corpus::normal;

/// Words in a row that are compared.
const SHINGLE: usize = 3;
/// Bands, and rows in each. Two texts of similarity s share a band with probability 1 − (1 −
/// s^6)^21: .998 at .8, .28 at .5.
const BANDS: usize = 21;
const ROWS: usize = 6;
/// Members of a bucket above which only its first is compared with the rest.
const CROWD: usize = 2000;

/// The result.
#[derive(Debug, Serialize)]
pub struct Near {
    /// Records read.
    pub records: usize,
    /// Records with a body that no earlier one has to the letter; only these are compared.
    pub distinct: usize,
    /// Lines without a record.
    pub bad_lines: usize,
    /// The similarity from which two are near.
    pub threshold: f64,
    /// Pairs that shared a band and were compared.
    pub candidates: usize,
    /// Buckets with more than 2,000 members, in which not every pair was compared.
    pub crowded_buckets: usize,
    /// Near pairs, each once, by their places.
    #[serde(skip)]
    pub pairs: Vec<Pair>,
    /// How many near pairs there are.
    pub near_pairs: usize,
    /// Groups that near pairs join together.
    pub clusters: usize,
    /// Records in such groups.
    pub clustered: usize,
    /// The largest group.
    pub largest_cluster: usize,
    /// The result of exact comparison.
    pub recall: Recall,
}

/// Exact comparison of a sample with every record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recall {
    /// Records of the sample, evenly spread over the input.
    pub sample: usize,
    /// Near pairs that have one of the sample in them.
    pub exact: usize,
    /// Of them, found by hashing too.
    #[serde(rename = "found")]
    pub found_pairs: usize,
    /// `found / exact`; `None` if there is nothing to find.
    pub recall: Option<f64>,
    /// What banding leads to expect for these pairs: the mean of 1 − (1 − s^6)^21.
    pub expected: Option<f64>,
}

/// Two records that resemble each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// One.
    pub a: String,
    /// The other.
    pub b: String,
    /// The Jaccard similarity of their word 3-grams.
    pub similarity: f64,
}

struct Document {
    id: String,
    /// Hashes of its word 3-grams, sorted, each once.
    grams: Vec<u32>,
    signature: Vec<u32>,
}

/// Finds the near-duplicates of a corpus. `sample` records are compared exactly with all others to
/// measure the recall.
pub fn near(
    input: &mut Input,
    threshold: f64,
    sample: usize,
    bad: &mut dyn FnMut(&BadLine),
) -> Result<Near, InputError> {
    let (mut records, mut bad_lines, mut seen, mut documents) = (0, 0, BTreeSet::new(), Vec::new());
    while let Some(batch) = input.batch(|record| {
        let (_, body) = normal::split(&record.skill_md);
        let grams = grams(body);
        let signature = signature(&grams);
        (normal::hash(body), Document { id: record.key(), grams, signature })
    })? {
        for line in batch {
            match line {
                Ok((hash, document)) => {
                    records += 1;
                    if !document.grams.is_empty() && seen.insert(hash) {
                        documents.push(document);
                    }
                }
                Err(line) => {
                    bad_lines += 1;
                    bad(&line);
                }
            }
        }
    }
    let (candidates, crowded_buckets) = candidates(&documents);
    let close: Vec<(u64, f64)> = candidates
        .par_iter()
        .filter_map(|&pair| {
            let (a, b) = split(pair);
            let similarity = jaccard(&documents[a].grams, &documents[b].grams, threshold)?;
            Some((pair, similarity))
        })
        .collect();
    let recall = recall(&documents, &close, threshold, sample);
    let (clusters, clustered, largest_cluster) = clusters(documents.len(), &close);
    let pairs = close.iter().map(|&(pair, similarity)| {
        let (a, b) = split(pair);
        Pair { a: documents[a].id.clone(), b: documents[b].id.clone(), similarity }
    });
    Ok(Near {
        records,
        distinct: documents.len(),
        bad_lines,
        threshold,
        candidates: candidates.len(),
        crowded_buckets,
        pairs: pairs.collect(),
        near_pairs: close.len(),
        clusters,
        clustered,
        largest_cluster,
        recall,
    })
}

/// The hashes of a text's word 3-grams, sorted, each once. A text of fewer words is one gram. Of
/// 1,000 grams of one text and 1,000 of another, less than one in 4,000 such pairs shares a hash by
/// chance.
pub(crate) fn grams(text: &str) -> Vec<u32> {
    let hashes: Vec<u64> = words(text).iter().map(|word| fnv(word.as_bytes())).collect();
    if hashes.is_empty() {
        return Vec::new();
    }
    let mut grams: Vec<u32> = hashes
        .windows(SHINGLE.min(hashes.len()))
        .map(|window| {
            let mixed = window.iter().fold(0, |state: u64, hash| mix(state.rotate_left(23) ^ hash));
            top(mixed)
        })
        .collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// FNV-1a, 64 bits (Fowler, Noll & Vo).
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn top(x: u64) -> u32 {
    (x >> 32) as u32
}

/// The smallest value of each of 126 hash functions over the grams: multiply-shift (Dietzfelbinger
/// et al. 1997) over the mixed gram.
fn signature(grams: &[u32]) -> Vec<u32> {
    let multipliers: Vec<u64> =
        (1..=(BANDS * ROWS) as u64).map(|n| mix(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1).collect();
    let mut least = vec![u32::MAX; BANDS * ROWS];
    for &gram in grams {
        let mixed = mix(u64::from(gram));
        for (slot, multiplier) in least.iter_mut().zip(&multipliers) {
            *slot = (*slot).min(top(mixed.wrapping_mul(*multiplier)));
        }
    }
    least
}

fn join(a: u32, b: u32) -> u64 {
    (u64::from(a.min(b)) << 32) | u64::from(a.max(b))
}

fn split(pair: u64) -> (usize, usize) {
    ((pair >> 32) as usize, (pair & 0xffff_ffff) as usize)
}

/// Pairs that share a band, each once, and how many buckets were too crowded to compare every pair.
fn candidates(documents: &[Document]) -> (Vec<u64>, usize) {
    let (mut all, mut crowded) = (Vec::new(), 0);
    for band in 0..BANDS {
        let mut keys: Vec<(u64, u32)> = (0_u32..)
            .zip(documents)
            .map(|(index, document)| {
                let rows = &document.signature[band * ROWS..(band + 1) * ROWS];
                (rows.iter().fold(band as u64, |state, row| mix(state ^ u64::from(*row))), index)
            })
            .collect();
        keys.sort_unstable();
        for bucket in keys.chunk_by(|a, b| a.0 == b.0) {
            let crowd = bucket.len() > CROWD;
            crowded += usize::from(crowd);
            for (place, a) in bucket.iter().enumerate().take(if crowd { 1 } else { bucket.len() }) {
                all.extend(bucket[place + 1..].iter().map(|b| join(a.1, b.1)));
            }
        }
        all.sort_unstable();
        all.dedup();
    }
    (all, crowded)
}

/// The share of grams that two sorted lists have in common; `None` below the threshold.
pub(crate) fn jaccard(a: &[u32], b: &[u32], threshold: f64) -> Option<f64> {
    let (small, large) = (a.len().min(b.len()) as f64, a.len().max(b.len()) as f64);
    if small < threshold * large {
        return None;
    }
    let (mut i, mut j, mut shared) = (0, 0, 0_usize);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, shared) = (i + 1, j + 1, shared + 1),
        }
    }
    let similarity = shared as f64 / (a.len() + b.len() - shared) as f64;
    (similarity >= threshold).then_some(similarity)
}

fn recall(documents: &[Document], close: &[(u64, f64)], threshold: f64, sample: usize) -> Recall {
    let sample = sample.min(documents.len());
    let chosen: BTreeSet<usize> = (0..sample).map(|n| n * documents.len() / sample).collect();
    let exact: BTreeMap<u64, f64> = chosen
        .par_iter()
        .flat_map_iter(|&a| {
            documents.iter().enumerate().filter(move |&(b, _)| b != a).filter_map(move |(b, other)| {
                let similarity = jaccard(&documents[a].grams, &other.grams, threshold)?;
                // Both are places in the same slice of less than 2^32 documents.
                Some((join(u32::try_from(a).ok()?, u32::try_from(b).ok()?), similarity))
            })
        })
        .collect();
    let found =
        exact.keys().filter(|pair| close.binary_search_by_key(pair, |found| &found.0).is_ok()).count();
    let banded = |similarity: f64| 1.0 - (1.0 - similarity.powi(6)).powi(21);
    let share = |part: f64| (!exact.is_empty()).then(|| part / exact.len() as f64);
    Recall {
        sample: chosen.len(),
        exact: exact.len(),
        found_pairs: found,
        recall: share(found as f64),
        expected: share(exact.values().map(|similarity| banded(*similarity)).sum()),
    }
}

/// How many groups the pairs make, how many records are in them, and how large the largest is.
fn clusters(count: usize, close: &[(u64, f64)]) -> (usize, usize, usize) {
    let mut parents: Vec<usize> = (0..count).collect();
    for &(pair, _) in close {
        let (a, b) = split(pair);
        let (a, b) = (root(&mut parents, a), root(&mut parents, b));
        parents[a.max(b)] = a.min(b);
    }
    let mut sizes = BTreeMap::new();
    for at in 0..count {
        *sizes.entry(root(&mut parents, at)).or_insert(0_usize) += 1;
    }
    let groups: Vec<usize> = sizes.into_values().filter(|size| *size > 1).collect();
    (groups.len(), groups.iter().sum(), groups.iter().copied().max().unwrap_or(0))
}

/// The group's representative; paths are halved on the way.
fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use assay_retrieval::shingle_similarity;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the independent implementation over sets of words.
        #[test]
        fn hashed_grams_preserve_similarity(a in "(ab|cd|ef|gh|ij| ){0,30}", b in "(ab |cd |ef |gh ){0,15}") {
            let (one, other) = (grams(&a), grams(&b));
            let found = if one.is_empty() || other.is_empty() { 0.0 } else { jaccard(&one, &other, 0.0).unwrap_or(0.0) };
            prop_assert!((found - shingle_similarity(&a, &b)).abs() < 1e-12);
        }
    }

    fn text(words: impl Iterator<Item = usize>) -> String {
        words.map(|n| format!("w{n} ")).collect()
    }

    #[test]
    fn signatures_estimate_the_similarity() {
        // 1,000 words, of which the first 800 are shared: 798 grams of 1,198.
        let one = grams(&text(0..1000));
        let other = grams(&text((0..800).chain(2000..2200)));
        let exact = jaccard(&one, &other, 0.0).unwrap();
        assert!((exact - 798.0 / 1198.0).abs() < 1e-12, "{exact}");
        let (a, b) = (signature(&one), signature(&other));
        let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count() as f64 / a.len() as f64;
        // Three standard errors of a share of 126.
        assert!((equal - exact).abs() < 3.0 * (exact * (1.0 - exact) / 126.0).sqrt(), "{equal} for {exact}");
    }

    #[test]
    fn near_records_are_found_and_clustered() {
        let bodies = [
            text(0..300),
            text((0..298).chain(900..902)),
            text(400..700),
            text((402..700).chain(800..802)),
            text((0..296).chain(900..904)),
            text(1000..1300),
            text(0..300).to_uppercase(),
        ];
        let lines: String = bodies
            .iter()
            .enumerate()
            .map(|(n, body)| format!("{}\n", serde_json::json!({ "id": n.to_string(), "skill_md": body })))
            .collect();
        let raw = Box::new(std::io::Cursor::new(lines.into_bytes()));
        let mut input = Input::of(std::path::Path::new("x"), raw).unwrap();
        let found = near(&mut input, 0.8, 100, &mut |_| {}).unwrap();
        assert_eq!((found.records, found.distinct), (7, 6));
        let mut pairs: Vec<_> = found.pairs.iter().map(|pair| format!("{}{}", pair.a, pair.b)).collect();
        pairs.sort();
        assert_eq!(pairs, ["01", "04", "14", "23"]);
        assert_eq!((found.clusters, found.clustered, found.largest_cluster), (2, 5, 3));
        assert_eq!((found.recall.sample, found.recall.exact, found.recall.recall), (6, 4, Some(1.0)));
    }
}
