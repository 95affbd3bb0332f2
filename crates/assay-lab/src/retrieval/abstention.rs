//! Off-topic rejection: whether `best` declines requests that no skill of a library serves, and
//! answers the others.
//!
//! What a library can answer depends on its size, so requests are run against many libraries: the
//! skills of every repository with 14 to 170 skills, parts of larger repositories, and all skills
//! together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_diagnostic::group_digits;
use assay_retrieval::analysis::Stemmer;
use assay_retrieval::best::{Best, Ranked, SIGNALS, Signals};
use assay_retrieval::queries::Query;
use assay_retrieval::{Document, Index, LineError, ordered};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::train::solve;

/// Skills of the smallest library, and of the largest that is one repository's.
const SIZES: (usize, usize) = (14, 170);

/// The size classes of the figures, by the most skills of a library.
const BANDS: [(usize, &str); 4] =
    [(20, "14 to 20"), (109, "21 to 109"), (SIZES.1, "110 to 170"), (usize::MAX, "all")];

/// Hits among which a request's skill has to be for the request to count as one that should be
/// answered.
const FIRST: usize = 5;

/// A request that no skill serves.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct OffTopic {
    /// The request.
    pub query: String,
    /// What kind of request it is.
    #[serde(default)]
    pub kind: String,
}

/// Reads one line: `query`, and `kind` for the parts of the report.
pub fn read_off_topic(line: &str) -> Result<OffTopic, LineError> {
    Ok(serde_json::from_str(line)?)
}

/// `assay.search-abstention/2`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Abstention {
    /// The name of the document's format.
    pub schema: &'static str,
    /// By size of library.
    pub sizes: Vec<SizeBand>,
    /// Off-topic requests by their kind, over all libraries.
    pub kinds: BTreeMap<String, Share>,
    /// On-topic requests by repository, over all libraries.
    pub repositories: BTreeMap<String, Share>,
}

/// Libraries of about one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SizeBand {
    /// Skills of a library.
    pub skills: &'static str,
    /// Libraries.
    pub libraries: usize,
    /// Off-topic requests that were declined.
    pub declined: Share,
    /// Requests with their skill among the first five that were answered.
    pub answered: Share,
    /// Of all requests for a skill of the library that were answered, those whose first hit is
    /// right.
    pub first_right: Share,
    /// Mean confidence of these first hits: calibrated if it is the share that is right.
    pub confidence: f64,
}

/// A share as two counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Correct cases.
    pub right: usize,
    /// All cases.
    pub of: usize,
}

impl Share {
    fn count(&mut self, right: bool) {
        self.right += usize::from(right);
        self.of += 1;
    }
}

/// The result of one request in one library.
struct QueryOutcome<'a> {
    band: usize,
    ranked: Ranked,
    /// The query, if it should be answered.
    query: Option<&'a Query>,
    /// `None`: a query.
    off_topic: Option<&'a OffTopic>,
    /// Whether the first hit serves the query.
    is_right: bool,
}

/// The libraries that requests are run against.
fn libraries(documents: Vec<Document>, queries: &[Query]) -> Vec<Vec<Document>> {
    let documents = ordered(documents);
    let gold: BTreeSet<&str> =
        queries.iter().flat_map(|query| query.gold.iter().map(String::as_str)).collect();
    let mut repositories: BTreeMap<&str, Vec<&Document>> = BTreeMap::new();
    for document in &documents {
        repositories.entry(&document.repo).or_default().push(document);
    }
    let mut libraries: Vec<Vec<Document>> = Vec::new();
    for (_, own) in repositories {
        let parts = own.len().div_ceil(SIZES.1);
        let of_part = own.len().div_ceil(parts);
        for part in own.chunks(of_part).filter(|part| part.len() >= SIZES.0) {
            // For a repository in parts, those without a request add no information.
            if parts == 1 || part.iter().any(|own| gold.contains(own.id.as_str())) {
                libraries.push(part.iter().map(|own| (*own).clone()).collect());
            }
        }
    }
    libraries.push(documents);
    libraries
}

fn size_band(skills: usize) -> usize {
    BANDS.iter().position(|(most, _)| skills <= *most).unwrap_or(BANDS.len() - 1)
}

/// Runs every off-topic request against every library, and every query against the libraries that
/// contain a skill for it. Also counts the libraries of each band.
fn query_libraries<'a>(
    documents: Vec<Document>,
    queries: &'a [Query],
    off_topic: &'a [OffTopic],
) -> (Vec<QueryOutcome<'a>>, [usize; BANDS.len()]) {
    let (mut all, mut counts) = (Vec::new(), [0; BANDS.len()]);
    for library in libraries(documents, queries) {
        let band = size_band(library.len());
        counts[band] += 1;
        let documents = Arc::new(library);
        let index = Arc::new(Index::of(&documents, Stemmer::English));
        let best = Best::new("best", &index, Arc::clone(&documents));
        let ids: BTreeSet<&str> = documents.iter().map(|own| own.id.as_str()).collect();
        let nothing = off_topic.par_iter().map(|own| {
            let ranked = best.answer(&own.query, FIRST);
            QueryOutcome { band, ranked, query: None, off_topic: Some(own), is_right: false }
        });
        all.extend(nothing.collect::<Vec<_>>());
        let own = queries.par_iter().filter(|query| query.gold.iter().any(|id| ids.contains(id.as_str())));
        let own = own.map(|query| {
            let ranked = best.answer(&query.text, FIRST);
            let serves = |(number, _): &(u32, f32)| query.gold.contains(index.id(*number));
            let is_found = ranked.hits.iter().any(serves);
            let is_right = ranked.hits.first().is_some_and(serves);
            QueryOutcome { band, ranked, query: is_found.then_some(query), off_topic: None, is_right }
        });
        all.extend(own.collect::<Vec<_>>());
    }
    (all, counts)
}

/// How many off-topic requests are declined, and how many others answered.
pub fn abstention(documents: Vec<Document>, queries: &[Query], off_topic: &[OffTopic]) -> Abstention {
    let (outcomes, libraries) = query_libraries(documents, queries, off_topic);
    let (mut kinds, mut repositories) = (BTreeMap::new(), BTreeMap::new());
    let mut sizes: Vec<SizeBand> = BANDS
        .iter()
        .zip(libraries)
        .map(|((_, skills), libraries)| SizeBand {
            skills,
            libraries,
            declined: Share::default(),
            answered: Share::default(),
            first_right: Share::default(),
            confidence: 0.0,
        })
        .collect();
    for QueryOutcome { band, ranked, query, off_topic, is_right } in outcomes {
        let (is_answered, size) = (ranked.is_answered(), &mut sizes[band]);
        if let Some(off_topic) = off_topic {
            size.declined.count(!is_answered);
            kinds.entry(off_topic.kind.clone()).or_insert_with(Share::default).count(!is_answered);
        } else if let Some((_, confidence)) = ranked.hits.first().filter(|_| is_answered) {
            size.first_right.count(is_right);
            size.confidence += f64::from(*confidence);
        }
        if let Some(query) = query {
            size.answered.count(is_answered);
            repositories.entry(query.repository.clone()).or_insert_with(Share::default).count(is_answered);
        }
    }
    sizes.retain(|size| size.libraries > 0);
    for size in &mut sizes {
        size.confidence /= size.first_right.of.max(1) as f64;
    }
    Abstention { schema: "assay.search-abstention/2", sizes, kinds, repositories }
}

/// The table for people.
pub fn render_abstention(found: &Abstention) -> String {
    let share = |share: &Share| match share.of {
        0 => "no requests".to_owned(),
        of => format!(
            "{} of {} ({:.1}%)",
            group_digits(share.right),
            group_digits(of),
            100.0 * share.right as f64 / of as f64
        ),
    };
    let row = |cells: [&str; 6]| {
        let [one, two, three, four, five, six] = cells;
        let line = format!("{one:<19}  {two:>9}  {three:<22}  {four:<22}  {five:<22}  {six}");
        line.trim_end().to_owned() + "\n"
    };
    let mut text = row([
        "Skills in a library",
        "Libraries",
        "Off-topic rejection",
        "On topic, answered",
        "First hit right",
        "Mean confidence",
    ]);
    for size in &found.sizes {
        let confidence =
            if size.first_right.of > 0 { format!("{:.2}", size.confidence) } else { String::new() };
        let shares = [&size.declined, &size.answered, &size.first_right].map(share);
        let [declined, answered, right] = shares.each_ref().map(String::as_str);
        text.push_str(&row([
            size.skills,
            &size.libraries.to_string(),
            declined,
            answered,
            right,
            &confidence,
        ]));
    }
    for (title, shares) in
        [("Off-topic rejection", &found.kinds), ("On topic, answered", &found.repositories)]
    {
        text.push_str(&format!("\n{title}\n"));
        let widest = shares.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        for (name, own) in shares {
            text.push_str(&format!("  {name:<widest$}  {}\n", share(own)));
        }
    }
    text
}

/// Words that are left of a request, so that a model is fitted to short requests too.
const START: usize = 7;

/// Off-topic requests that are joined into one, so that the model is fitted to long ones too.
const JOINED: usize = 3;

/// Of the squared weights, where all requests together weigh [`WEIGHT`].
const RIDGE: f64 = 1.0;

/// What all requests weigh together.
const WEIGHT: f64 = 1000.0;

/// Steps of Newton's method; it ends after about ten.
const STEPS: usize = 50;

/// Fits the weights of the signals that a request has an answer. Both kinds of request have equal
/// weight, and within a kind so has every size of library.
pub fn fit_abstention(documents: Vec<Document>, queries: &[Query], off_topic: &[OffTopic]) -> Signals {
    let start = |query: &Query| {
        let text: Vec<&str> = query.text.split_whitespace().take(START).collect();
        Query { text: text.join(" "), source: "start".to_owned(), ..query.clone() }
    };
    let short = queries.iter().filter(|query| query.text.split_whitespace().count() > START).map(start);
    let queries: Vec<Query> = queries.iter().cloned().chain(short).collect();
    let join = |part: &[OffTopic]| {
        let texts: Vec<&str> = part.iter().map(|own| own.query.as_str()).collect();
        OffTopic { query: texts.join(". "), kind: "joined".to_owned() }
    };
    let off_topic: Vec<OffTopic> =
        off_topic.iter().cloned().chain(off_topic.chunks(JOINED).map(join)).collect();
    let (outcomes, _) = query_libraries(documents, &queries, &off_topic);
    let part = |outcome: &QueryOutcome<'_>| {
        let off = outcome.off_topic.map(|own| own.kind == "joined");
        (off.is_none(), off.unwrap_or(false), outcome.query.map(|own| own.source.clone()), outcome.band)
    };
    let mut parts: BTreeMap<_, usize> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.off_topic.is_some() || outcome.query.is_some()) {
        *parts.entry(part(outcome)).or_default() += 1;
    }
    let mut points: Vec<(Signals, f64, f64)> = Vec::new();
    // A request whose skill is not found does not show whether it should be answered.
    for outcome in outcomes.iter().filter(|outcome| outcome.off_topic.is_some() || outcome.query.is_some()) {
        let Some(signals) = outcome.ranked.signals else { continue };
        let weight = (parts[&part(outcome)] as f64).powf(-0.7);
        points.push((signals, f64::from(u8::from(outcome.query.is_some())), weight));
    }
    for kind in [0.0, 1.0] {
        let is_own = |point: &&mut (Signals, f64, f64)| (point.1 - kind).abs() < 0.5;
        let all: f64 = points.iter_mut().filter(is_own).map(|point| point.2).sum();
        points.iter_mut().filter(is_own).for_each(|point| point.2 *= WEIGHT / 2.0 / all);
    }
    let mut fitted: Signals = [0.0; SIGNALS];
    for _ in 0..STEPS {
        let mut gradient = fitted.map(|value| RIDGE * value);
        let mut hessian = [[0.0; SIGNALS]; SIGNALS];
        for (row, own) in hessian.iter_mut().enumerate() {
            own[row] = RIDGE;
        }
        for (signals, right, weight) in &points {
            let odds: f64 = signals.iter().zip(fitted).map(|(value, weight)| value * weight).sum();
            let likely = 1.0 / (1.0 + (-odds).exp());
            for row in 0..SIGNALS {
                gradient[row] += weight * (likely - right) * signals[row];
                for column in 0..SIGNALS {
                    hessian[row][column] += weight * likely * (1.0 - likely) * signals[row] * signals[column];
                }
            }
        }
        let step = solve(hessian, gradient);
        for (value, step) in fitted.iter_mut().zip(step) {
            *value -= step;
        }
        if step.iter().all(|step| step.abs() < 1e-9) {
            break;
        }
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: String, repo: &str) -> Document {
        Document { id, repo: repo.to_owned(), ..Document::default() }
    }

    #[test]
    fn libraries_are_repositories_their_parts_and_all_skills() {
        let mut documents = Vec::new();
        for (repo, skills) in [("tiny", 13), ("small", 14), ("middle", 170), ("large", 400)] {
            documents.extend((0..skills).map(|number| document(format!("{repo}{number:03}"), repo)));
        }
        let sizes = |gold: &[&str]| {
            let gold = gold.iter().map(|id| (*id).to_owned()).collect();
            let queries = [Query { gold, ..Query::default() }];
            libraries(documents.clone(), &queries).iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&[]), [170, 14, 597]);
        assert_eq!(sizes(&["large000", "large399"]), [134, 132, 170, 14, 597]);
        assert_eq!([14, 20, 21, 109, 110, 170, 171].map(size_band), [0, 0, 1, 1, 2, 2, 3]);
    }
}
