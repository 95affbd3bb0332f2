//! Statistics of a corpus: SkillsBench's figures of the ecosystem, and the rubric's distribution.
//!
//! Sizes are of the `SKILL.md` alone, in bytes and in cl100k tokens. Files are counted if the
//! records list them, as those of `assay lab corpus build` do; otherwise there are no figures about
//! files.

use std::collections::BTreeMap;

use assay_skill::tokens;
use assay_stats::sample_quantile;
use serde::Serialize;
use statrs::function::erf::erf;

use crate::quality::{self, CRITERIA, DIMENSIONS};
use assay_skill::corpus::Record;
use assay_skill::corpus::input::{BadLine, Input, InputError};
use assay_skill::corpus::normal;

/// Figures of a corpus.
#[derive(Debug, Serialize)]
pub struct Stats {
    /// Records counted.
    pub records: usize,
    /// Lines without a record.
    pub bad_lines: usize,
    /// Sizes of the documents in bytes.
    pub bytes: Sizes,
    /// Sizes of the documents in cl100k tokens.
    pub tokens: Sizes,
    /// Documents by length.
    pub length_classes: Vec<Share>,
    /// Documents that have something.
    pub structure: Vec<Share>,
    /// Files of a package; `None` if no record lists its files.
    pub files: Option<Files>,
    /// The rubric.
    pub quality: Quality,
}

/// A distribution of positive numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sizes {
    /// How many numbers.
    pub count: usize,
    /// Minimum.
    pub min: f64,
    /// First quartile (Hyndman & Fan 1996, type 7, like the other quantiles).
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// The third quartile.
    pub q3: f64,
    /// From the first quartile to the third.
    pub iqr: f64,
    /// Maximum.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The fit of a log-normal distribution; `None` under two different numbers.
    pub log_normal: Option<LogNormal>,
    /// How many numbers are in each of the bins: from `2^(k/2)`, to less than `2^((k+1)/2)`.
    pub histogram: Vec<Bin>,
}

/// A log-normal distribution fitted by maximum likelihood, to the numbers above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LogNormal {
    /// The mean of the natural logarithms.
    pub mu: f64,
    /// Their standard deviation, with n below the line.
    pub sigma: f64,
    /// The largest distance between the fitted and the observed cumulative shares
    /// (Kolmogorov–Smirnov). 0 is a perfect fit.
    pub distance: f64,
}

/// A bin of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// Its lower end.
    pub from: f64,
    /// Its upper end.
    pub to: f64,
    /// Numbers in it.
    pub count: usize,
    /// Numbers that the fit expects in it.
    pub expected: Option<f64>,
}

/// A part of the records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// The common property.
    pub name: String,
    /// How many.
    pub count: usize,
    /// Of all.
    pub share: f64,
}

/// Files of packages.
#[derive(Debug, Serialize)]
pub struct Files {
    /// Records that name their files.
    pub packages: usize,
    /// Files of a package.
    pub per_package: Sizes,
    /// Bytes of a package.
    pub bytes_per_package: Sizes,
    /// Files by their ending, most first; `share` is of all files.
    pub types: Vec<Share>,
}

/// The rubric over a corpus.
#[derive(Debug, Serialize)]
pub struct Quality {
    /// The mean of 0 to 12.
    pub mean: f64,
    /// The standard deviation, with n − 1 below the line.
    pub sd: f64,
    /// How many records have 0, 1, … 12 points.
    pub histogram: Vec<usize>,
    /// The mean of 0 to 3 in each dimension.
    pub dimensions: BTreeMap<&'static str, f64>,
    /// The share of records that have each point.
    pub criteria: Vec<Share>,
}

/// Names of the length classes and the tokens below which each ends. SkillsBench has four classes
/// by judgement; these bounds are assay's own: what a listing shows at once, what the format's
/// guide calls short, and the guide's limit of 5,000 tokens for a body.
pub const LENGTH_CLASSES: [(&str, usize); 4] =
    [("compact", 500), ("standard", 1500), ("detailed", 5000), ("comprehensive", usize::MAX)];

/// Structural elements of a document.
const STRUCTURE: [&str; 9] = [
    "front matter",
    "headings",
    "numbered steps",
    "bullets",
    "tables",
    "fenced code",
    "relative links",
    "external links",
    "mentions scripts/, references/ or assets/",
];

/// The facts about a record that are kept until the end.
struct Facts {
    bytes: usize,
    tokens: usize,
    structure: u16,
    /// Bit n: the rubric's point n was awarded.
    points: u16,
    files: Option<Vec<(String, u64)>>,
}

/// Counts a corpus.
pub fn stats(input: &mut Input, bad: &mut dyn FnMut(&BadLine)) -> Result<Stats, InputError> {
    let (mut facts, mut bad_lines) = (Vec::new(), 0);
    while let Some(batch) = input.batch(|record| Facts::of(&record))? {
        for line in batch {
            match line {
                Ok(found) => facts.push(found),
                Err(line) => {
                    bad_lines += 1;
                    bad(&line);
                }
            }
        }
    }
    Ok(Stats {
        records: facts.len(),
        bad_lines,
        bytes: Sizes::of(facts.iter().map(|fact| fact.bytes as f64).collect()),
        tokens: Sizes::of(facts.iter().map(|fact| fact.tokens as f64).collect()),
        length_classes: length_classes(&facts),
        structure: bits(&STRUCTURE, facts.iter().map(|fact| fact.structure)),
        files: files(&facts),
        quality: quality(&facts),
    })
}

impl Facts {
    fn of(record: &Record) -> Self {
        let (front, body) = normal::split(&record.skill_md);
        let outline = quality::outline(body);
        let points = quality::points(&record.description, &outline);
        let external = |target: &str| target.contains("://") || target.starts_with("mailto:");
        let (outside, inside): (Vec<_>, Vec<_>) =
            outline.links.iter().map(|link| link.target.as_str()).partition(|target| external(target));
        let has = [
            front.is_some(),
            !outline.headings.is_empty(),
            outline.numbered > 0,
            outline.bullets > 0,
            outline.tables > 0,
            outline.code.iter().any(|code| code.fenced),
            inside.iter().any(|target| !target.starts_with('#')),
            !outside.is_empty(),
            ["scripts/", "references/", "assets/"].iter().any(|folder| body.contains(folder)),
        ];
        Self {
            bytes: record.skill_md.len(),
            tokens: tokens(&record.skill_md),
            structure: pack(has.into_iter()),
            points: pack(points.iter().map(|point| point.given)),
            files: record
                .files
                .as_ref()
                .map(|files| files.iter().map(|file| (ending(&file.path), file.size)).collect()),
        }
    }
}

/// Answers as bits, the first lowest.
fn pack(answers: impl Iterator<Item = bool>) -> u16 {
    answers.enumerate().fold(0, |bits, (place, yes)| bits | (u16::from(yes) << place))
}

/// A file's extension in lower case; `none` without one.
fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ending.len() <= 12 => ending.to_lowercase(),
        _ => "none".to_owned(),
    }
}

fn share(name: impl Into<String>, count: usize, all: usize) -> Share {
    Share { name: name.into(), count, share: if all == 0 { 0.0 } else { count as f64 / all as f64 } }
}

fn bits(names: &[&str], records: impl Iterator<Item = u16>) -> Vec<Share> {
    let mut counts = vec![0; names.len()];
    let mut all = 0;
    for bits in records {
        all += 1;
        for (place, count) in counts.iter_mut().enumerate() {
            *count += usize::from(bits >> place & 1);
        }
    }
    names.iter().zip(counts).map(|(name, count)| share(*name, count, all)).collect()
}

fn length_classes(facts: &[Facts]) -> Vec<Share> {
    let mut from = 0;
    LENGTH_CLASSES
        .iter()
        .map(|&(name, to)| {
            let count = facts.iter().filter(|fact| (from..to).contains(&fact.tokens)).count();
            from = to;
            share(name, count, facts.len())
        })
        .collect()
}

fn files(facts: &[Facts]) -> Option<Files> {
    let packages: Vec<&Vec<(String, u64)>> = facts.iter().filter_map(|fact| fact.files.as_ref()).collect();
    if packages.is_empty() {
        return None;
    }
    let mut types = BTreeMap::new();
    for (ending, _) in packages.iter().copied().flatten() {
        *types.entry(ending.clone()).or_insert(0) += 1;
    }
    let all = types.values().sum();
    let mut types: Vec<Share> = types.into_iter().map(|(name, count)| share(name, count, all)).collect();
    types.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    let bytes = |files: &[(String, u64)]| files.iter().map(|file| file.1 as f64).sum();
    Some(Files {
        packages: packages.len(),
        per_package: Sizes::of(packages.iter().map(|files| files.len() as f64).collect()),
        bytes_per_package: Sizes::of(packages.iter().map(|files| bytes(files)).collect()),
        types,
    })
}

fn quality(facts: &[Facts]) -> Quality {
    let mut histogram = vec![0; CRITERIA.len() + 1];
    for fact in facts {
        histogram[fact.points.count_ones() as usize] += 1;
    }
    let scores: Vec<f64> = facts.iter().map(|fact| f64::from(fact.points.count_ones())).collect();
    let (mean, sd) = mean_sd(&scores);
    let dimensions = DIMENSIONS.iter().enumerate().map(|(place, dimension)| {
        let points: Vec<f64> =
            facts.iter().map(|fact| f64::from((fact.points >> (3 * place) & 0b111).count_ones())).collect();
        (dimension.name(), mean_sd(&points).0)
    });
    Quality {
        mean,
        sd,
        histogram,
        dimensions: dimensions.collect(),
        criteria: bits(&CRITERIA, facts.iter().map(|fact| fact.points)),
    }
}

/// Mean and standard deviation; 0 if undefined.
fn mean_sd(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0);
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

impl Sizes {
    /// Describes numbers; those that are not finite or below 0 are omitted.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.retain(|value| value.is_finite() && *value >= 0.0);
        values.sort_by(f64::total_cmp);
        let quantile = |q| sample_quantile(&values, q).unwrap_or(0.0);
        let (q1, median, q3) = (quantile(0.25), quantile(0.5), quantile(0.75));
        let log_normal = LogNormal::fit_log_normal(&values);
        Self {
            count: values.len(),
            min: quantile(0.0),
            q1,
            median,
            q3,
            iqr: q3 - q1,
            max: quantile(1.0),
            mean: mean_sd(&values).0,
            histogram: histogram(&values, log_normal),
            log_normal,
        }
    }
}

impl LogNormal {
    /// Fits ascending numbers.
    fn fit_log_normal(ascending: &[f64]) -> Option<Self> {
        let logs: Vec<f64> = ascending.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
        let n = logs.len() as f64;
        let (mean, sd) = mean_sd(&logs);
        if logs.len() < 2 || sd <= 0.0 {
            return None;
        }
        let mut fit = Self { mu: mean, sigma: sd * ((n - 1.0) / n).sqrt(), distance: 0.0 };
        let steps = logs.iter().enumerate().map(|(place, log)| {
            let expected = fit.below_log(*log);
            (expected - place as f64 / n).abs().max(((place + 1) as f64 / n - expected).abs())
        });
        fit.distance = steps.fold(0.0, f64::max);
        Some(fit)
    }

    /// The share of the distribution below e^`log`.
    fn below_log(&self, log: f64) -> f64 {
        0.5 * (1.0 + erf((log - self.mu) / (self.sigma * std::f64::consts::SQRT_2)))
    }
}

/// Half-octave bins from the least number above 0 to the greatest.
fn histogram(ascending: &[f64], fit: Option<LogNormal>) -> Vec<Bin> {
    let positive = &ascending[ascending.partition_point(|value| *value <= 0.0)..];
    let (Some(first), Some(last)) = (positive.first(), positive.last()) else { return Vec::new() };
    let edge = |place: f64| (place / 2.0).exp2();
    let mut place = (2.0 * first.log2()).floor();
    let mut bins = Vec::new();
    // 2^63 bytes end it in any case.
    while edge(place) <= *last && bins.len() < 160 {
        let (from, to) = (edge(place), edge(place + 1.0));
        let count =
            positive.partition_point(|value| *value < to) - positive.partition_point(|value| *value < from);
        let expected =
            fit.map(|fit| (fit.below_log(to.ln()) - fit.below_log(from.ln())) * positive.len() as f64);
        bins.push(Bin { from, to, count, expected });
        place += 1.0;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_described() {
        let sizes = Sizes::of(vec![8.0, 1.0, 4.0, 2.0, f64::NAN, -1.0]);
        assert_eq!((sizes.count, sizes.min, sizes.max, sizes.mean), (4, 1.0, 8.0, 3.75));
        // Type 7: positions .75, 1.5 and 2.25 of 1, 2, 4, 8.
        assert_eq!((sizes.q1, sizes.median, sizes.q3, sizes.iqr), (1.75, 3.0, 5.0, 3.25));
        // Logarithms 0, 1, 2, 3 times ln 2: mean 1.5 ln 2, variance 1.25 (ln 2)².
        let fit = sizes.log_normal.unwrap();
        let ln2 = std::f64::consts::LN_2;
        assert!((fit.mu - 1.5 * ln2).abs() < 1e-12 && (fit.sigma - 1.25_f64.sqrt() * ln2).abs() < 1e-12);
        // Computed manually: Φ(−1.3416) = .08986 is .16014 from 1/4 and Φ(−.4472) = .32736 is
        // .17264 from 1/2, by symmetry the largest.
        assert!((fit.distance - 0.17264).abs() < 1e-4, "{}", fit.distance);
        let counts: Vec<usize> = sizes.histogram.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(Sizes::of(Vec::new()).log_normal, None);
        assert_eq!(Sizes::of(vec![0.0, 0.0]).histogram, Vec::new());
    }

    #[test]
    fn a_corpus_is_counted() {
        let long = "word ".repeat(600);
        let lines = [
            serde_json::json!({ "id": "a", "description": "Use when asked.", "skill_md": "---\nname: a\n---\n# A\n\n1. x\n\n[f](f.md) [g](https://g)\n" }),
            serde_json::json!({ "id": "b", "skill_md": long, "files": [{"path": "SKILL.md", "size": 10}, {"path": "scripts/run.PY", "size": 5}] }),
        ];
        let text = lines.map(|line| format!("{line}\n")).concat() + "junk\n";
        let raw = Box::new(std::io::Cursor::new(text.into_bytes()));
        let mut input = Input::of(std::path::Path::new("x"), raw).unwrap();
        let stats = stats(&mut input, &mut |_| {}).unwrap();
        assert_eq!((stats.records, stats.bad_lines), (2, 1));
        let count = |name: &str| stats.structure.iter().find(|share| share.name == name).unwrap().count;
        assert_eq!(STRUCTURE.map(count), [1, 1, 1, 0, 0, 0, 1, 1, 0]);
        let classes: Vec<usize> = stats.length_classes.iter().map(|share| share.count).collect();
        assert_eq!(classes, [1, 1, 0, 0]);
        let files = stats.files.unwrap();
        assert_eq!(
            (files.packages, files.per_package.median, files.bytes_per_package.median),
            (1, 2.0, 15.0)
        );
        assert_eq!(files.types.iter().map(|share| share.name.as_str()).collect::<Vec<_>>(), ["md", "py"]);
        assert_eq!(stats.quality.histogram.iter().sum::<usize>(), 2);
    }
}
