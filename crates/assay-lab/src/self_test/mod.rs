//! The scanner's error rates: known payloads hidden in clean skills with many techniques, and
//! harmless look-alikes.
//!
//! Everything is drawn from a seed. A payload counts as missed if its planting raises nothing above
//! `info` that the skill did not raise before; for rules that are themselves no more than `info`,
//! their own finding counts. A look-alike is a false alarm if its planting raises anything above
//! `info`. Intervals are Clopper & Pearson's at .95; they describe draws from these payloads,
//! techniques and skills, and not future attacks.

mod benign;
mod draft;
mod own;
mod payloads;
#[path = "../../../assay-safety/src/samples.rs"]
mod samples;
mod techniques;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use assay_diagnostic::Severity;
use assay_stats::{Interval, clopper_pearson};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

pub(crate) use draft::{Host, hosts, hosts_at};

use assay_safety::{Bundle, Family, scan};
use draft::Draft;

/// The parameters of the draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    /// The seed.
    pub(crate) seed: u64,
    /// How often each payload is hidden with each technique, each time in a random skill.
    pub(crate) repetitions: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 1, repetitions: 2 }
    }
}

/// An error rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "fields are the keys of the document")]
pub(crate) struct Rate {
    /// The counted group: a family, a technique, a look-alike.
    pub(crate) name: String,
    /// The number of attacks or look-alikes.
    pub(crate) planted: u64,
    /// How many of them were missed, or flagged by mistake.
    pub(crate) wrong: u64,
    /// Of the detected ones, how many under their own family's name. 0 for look-alikes.
    pub(crate) named: u64,
    /// The error rate; `None` for zero attacks.
    pub(crate) rate: Option<f64>,
    /// Lower and upper end of its interval.
    pub(crate) interval: [f64; 2],
}

/// Error rates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Report {
    /// The schema of this document.
    pub(crate) schema: &'static str,
    /// The seed.
    pub(crate) seed: u64,
    /// The number of clean skills.
    pub(crate) hosts: usize,
    /// How many of these are flagged without an attack.
    pub(crate) clean: Rate,
    /// All misses.
    pub(crate) misses: Rate,
    /// False positives over all look-alikes.
    pub(crate) alarms: Rate,
    /// Misses by family of payload.
    pub(crate) misses_by_family: Vec<Rate>,
    /// False positives by the family that a look-alike resembles.
    pub(crate) alarms_by_family: Vec<Rate>,
    /// Misses by technique.
    pub(crate) misses_by_technique: Vec<Rate>,
    /// False positives by look-alike.
    pub(crate) alarms_by_look_alike: Vec<Rate>,
}

#[derive(Default)]
struct Tally(Vec<(String, u64, u64, u64)>);

impl Tally {
    fn count(&mut self, name: &str, wrong: bool, named: bool) {
        let at = self.0.iter().position(|row| row.0 == name).unwrap_or_else(|| {
            self.0.push((name.to_owned(), 0, 0, 0));
            self.0.len() - 1
        });
        let row = &mut self.0[at];
        (row.1, row.2, row.3) = (row.1 + 1, row.2 + u64::from(wrong), row.3 + u64::from(named));
    }

    fn rates(&self) -> Vec<Rate> {
        self.0.iter().map(|(name, planted, wrong, named)| rate(name, *planted, *wrong, *named)).collect()
    }

    fn whole(&self, name: &str) -> Rate {
        let sum = |part: fn(&(String, u64, u64, u64)) -> u64| self.0.iter().map(part).sum();
        rate(name, sum(|row| row.1), sum(|row| row.2), sum(|row| row.3))
    }
}

fn rate(name: &str, planted: u64, wrong: u64, named: u64) -> Rate {
    let Interval { low, high } = clopper_pearson(wrong, planted, 0.95);
    let rate = (planted > 0).then(|| wrong as f64 / planted as f64);
    Rate { name: name.to_owned(), planted, wrong, named, rate, interval: [low, high] }
}

/// The key of a finding, to separate new ones from those of the clean skill.
type Seen = BTreeSet<(&'static str, String, String, bool)>;

fn findings(bundle: &Bundle) -> (Seen, Vec<(Family, bool)>) {
    let found = scan(bundle);
    let loud = |severity: Severity| severity > Severity::Info;
    let seen =
        found.iter().map(|f| (f.rule.code, f.path.clone(), f.message.clone(), loud(f.severity))).collect();
    let families = found
        .iter()
        .map(|f| {
            (
                f.rule.family,
                loud(f.severity) || f.rule.severity == Severity::Info && f.severity == Severity::Info,
            )
        })
        .collect();
    (seen, families)
}

/// The effect of an attack: whether there is any new finding above `info`, and one of its own
/// family.
fn raised(before: &Seen, draft: &Draft, family: Family) -> (bool, bool) {
    let (after, families) = findings(&draft.bundle());
    let loud = after.difference(before).any(|(.., loud)| *loud);
    let fresh: BTreeSet<_> = after.difference(before).map(|(code, ..)| *code).collect();
    let own = families.iter().any(|(there, counts)| *there == family && *counts)
        && assay_safety::RULES.iter().any(|rule| rule.family == family && fresh.contains(rule.code));
    (loud, own)
}

/// Measures the scanner on clean skills.
pub(crate) fn run(hosts: &[Host], options: Options) -> Report {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let (mut family_misses, mut technique_misses, mut family_alarms, mut look_alikes, mut clean) =
        (Tally::default(), Tally::default(), Tally::default(), Tally::default(), Tally::default());
    for family in Family::ALL {
        family_misses.0.push((family.name().to_owned(), 0, 0, 0));
        family_alarms.0.push((family.name().to_owned(), 0, 0, 0));
    }
    let before: Vec<(Draft, Seen)> = hosts
        .iter()
        .map(|host| {
            let draft = Draft::of(host);
            let (seen, _) = findings(&draft.bundle());
            clean.count("clean skills", seen.iter().any(|(.., loud)| *loud), false);
            (draft, seen)
        })
        .collect();
    let mut plant =
        |family: Family, name: &str, plant: &dyn Fn(&mut Draft, &mut ChaCha8Rng), harmful: bool| {
            for _ in 0..options.repetitions {
                let Some((draft, seen)) = techniques::pick(&before, &mut random) else { return };
                let mut draft = draft.clone();
                plant(&mut draft, &mut random);
                let (loud, own) = raised(seen, &draft, family);
                if harmful {
                    let found = loud || own;
                    family_misses.count(family.name(), !found, own);
                    technique_misses.count(name, !found, own);
                } else {
                    family_alarms.count(family.name(), loud, false);
                    look_alikes.count(name, loud, false);
                }
            }
        };
    for technique in techniques::TECHNIQUES {
        for payload in payloads::PAYLOADS.iter().filter(|payload| payload.form == technique.form) {
            plant(
                payload.family,
                technique.name,
                &|draft, random| (technique.plant)(draft, payload.text, random),
                true,
            );
        }
    }
    for (family, name, own) in own::OWN {
        plant(*family, name, own, true);
    }
    for like in benign::LOOK_ALIKES {
        plant(like.family, like.name, &like.plant, false);
    }
    Report {
        schema: "assay.lint-self-test/2",
        seed: options.seed,
        hosts: hosts.len(),
        clean: clean.whole("clean skills"),
        misses: family_misses.whole("all payloads"),
        alarms: family_alarms.whole("all look-alikes"),
        misses_by_family: family_misses.rates(),
        alarms_by_family: family_alarms.rates(),
        misses_by_technique: technique_misses.rates(),
        alarms_by_look_alike: look_alikes.rates(),
    }
}

/// The report as tables. It contains only text from this module, so it needs no escaping.
#[must_use]
pub(crate) fn table(report: &Report) -> String {
    let mut out = format!(
        "assay's safety rules, measured on {} clean skills, seed {}\nintervals: Clopper and Pearson, 95%, over these draws\n\n",
        report.hosts, report.seed
    );
    let cells = |rate: &Rate| {
        let share = rate
            .rate
            .map_or("      -".to_owned(), |share| format!("{:>7}", format!("{:.1}%", share * 100.0)));
        let ends = match rate.rate {
            Some(_) => format!("[{:5.1}, {:5.1}]", rate.interval[0] * 100.0, rate.interval[1] * 100.0),
            None => String::new(),
        };
        format!("{:>7} {:>6} {share} {ends:<15}", rate.planted, rate.wrong)
    };
    let _ = writeln!(
        out,
        "{:<16} {:>7} {:>6} {:>7} {:<15} {:>6}   {:>7} {:>7} {:>7}",
        "family", "planted", "missed", "rate", "", "named", "alike", "flagged", "rate"
    );
    let rows = report
        .misses_by_family
        .iter()
        .zip(&report.alarms_by_family)
        .chain([(&report.misses, &report.alarms)]);
    for (misses, alarms) in rows {
        let name = if std::ptr::eq(misses, &raw const report.misses) { "all" } else { &misses.name };
        let _ =
            writeln!(out, "{name:<16} {} {:>6}   {}", cells(misses), misses.named, cells(alarms).trim_end());
    }
    for (title, first, second, rates) in [
        ("technique", "planted", "missed", &report.misses_by_technique),
        ("look-alike", "planted", "flagged", &report.alarms_by_look_alike),
    ] {
        let _ = writeln!(out, "\n{title:<40} {first:>7} {second:>6} {:>7}", "rate");
        for rate in rates {
            let mark = if rate.wrong == rate.planted && title == "technique" { "  MISSED" } else { "" };
            let _ = writeln!(out, "{:<40} {}{mark}", rate.name, cells(rate).trim_end());
        }
    }
    let _ = writeln!(out, "\nclean skills flagged: {} of {}", report.clean.wrong, report.clean.planted);
    out
}

#[cfg(test)]
mod tests;
