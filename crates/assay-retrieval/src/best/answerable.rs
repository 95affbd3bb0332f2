//! Whether any skill of a library serves a request.
//!
//! The candidates' probabilities add up to one even if none of them is suitable, so the best of a
//! hundred can get nearly all of it. This check comes first: a logistic model over the content
//! words ([`crate::background`]) that the best candidates share with the request, counted by
//! themselves and against the complete request. Words that occur in no skill count in the latter.
//! The larger the library, the more a request has to share with a skill, since more skills share
//! something by chance.

use super::candidate::{Candidate, NAMED, NEIGHBOURS};

/// How many signals there are.
pub const SIGNALS: usize = 10;

/// The signals of a request and a library, in the order of [`SIGNAL_NAMES`].
pub type Signals = [f64; SIGNALS];

/// Names of the signals.
pub const SIGNAL_NAMES: [&str; SIGNALS] = [
    "constant",
    "share_described",
    "share_anywhere",
    "ln_described",
    "ln_anywhere",
    "log_share",
    "ln_skills",
    "name_named",
    "bigrams",
    "ln_asked",
];

/// Weights of the signals: `assay lab search train --off-topic`, docs/lab/RETRIEVAL.md.
pub(super) const ABSTENTION: Signals =
    [-2.4978, 0.6094, 1.6225, 3.2351, 3.1755, 1.1052, -0.2804, 1.4978, 2.2260, -2.3843];

/// Candidates considered; the right one is seldom further down.
const FIRST: usize = 5;

/// The least log share of the probability that counts.
const LEAST_SHARE: f64 = -6.0;

/// The probability from which a request is answered.
pub(super) const ANSWERED: f64 = 0.5;

/// The signals of a request; `shares` are the candidates' log shares of the probability. `None`
/// without candidates.
pub(super) fn signals(candidates: &[Candidate], shares: &[f64], documents: usize) -> Option<Signals> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    let key = |place: usize| (candidates[place].declined, shares[place], candidates[place].number);
    order.sort_by(|one, other| {
        let ((no, share, number), (other_no, other_share, other_number)) = (key(*one), key(*other));
        no.cmp(&other_no).then(other_share.total_cmp(&share)).then(number.cmp(&other_number))
    });
    order.truncate(FIRST);
    let first = *order.first()?;
    let most = |value: fn(&Candidate) -> f64| {
        order.iter().map(|place| value(&candidates[*place])).fold(0.0, f64::max)
    };
    let requested = candidates[first].coverage.requested;
    let (described, anywhere) = (most(|own| own.coverage.described), most(|own| own.coverage.anywhere));
    let share = |part: f64| if requested > 0.0 { part / requested } else { 0.0 };
    Some([
        1.0,
        share(described),
        share(anywhere),
        described.ln_1p(),
        anywhere.ln_1p(),
        shares[first].max(LEAST_SHARE),
        (documents.max(1) as f64).ln(),
        most(|own| own.features[NAMED]),
        most(|own| own.features[NEIGHBOURS]),
        requested.ln_1p(),
    ])
}

/// How likely it is that a skill serves the request.
pub(super) fn answerable(signals: Option<Signals>, weights: &Signals) -> f64 {
    let odds = |signals: Signals| signals.iter().zip(weights).map(|(one, other)| one * other).sum::<f64>();
    signals.map_or(0.0, |signals| 1.0 / (1.0 + (-odds(signals)).exp()))
}
