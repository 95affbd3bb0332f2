//! The paper's tables: divergences by kind and phase, patterns by kind, patterns by how well a task
//! goes without the skill.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::report::{DivergenceCounts, PairLine, SipCounts};
use super::sips::Sip;
use assay_audit::Mode;

/// How often a task is solved without the skill, by the release's cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bucket {
    /// At least .90.
    Ceiling,
    /// From .50 on.
    Mid,
    /// Less.
    Floor,
    /// Not known.
    Unknown,
}

impl Bucket {
    fn of(rate: Option<f64>) -> Self {
        match rate {
            Some(rate) if rate >= 0.90 => Self::Ceiling,
            Some(rate) if rate >= 0.50 => Self::Mid,
            Some(_) => Self::Floor,
            None => Self::Unknown,
        }
    }

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ceiling => "ceiling",
            Self::Mid => "mid",
            Self::Floor => "floor",
            Self::Unknown => "unknown",
        }
    }
}

/// Published pass rates without the skill, by task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PassRates(BTreeMap<String, f64>);

impl PassRates {
    /// Of a `task_metadata.json`: an object of tasks with `baseline_pass_rate`. What is not there
    /// is not known.
    pub fn read(text: &str) -> Self {
        let tasks = serde_json::from_str::<BTreeMap<String, Value>>(text).unwrap_or_default();
        let rate = |task: Value| task.get("baseline_pass_rate").and_then(Value::as_f64);
        Self(tasks.into_iter().filter_map(|(name, task)| Some((name, rate(task)?))).collect())
    }
}

/// Counts of the pairs of an arm in one mode, or of a bucket of its treatment pairs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Row {
    /// How many tasks. They are the unit: pairs of one task share their traces.
    pub tasks: usize,
    /// How many pairs.
    pub pairs: usize,
    /// Sums over the pairs.
    pub divergences: DivergenceCounts,
    /// Sums over the pairs.
    pub sips: SipCounts,
    #[serde(skip)]
    names: BTreeSet<String>,
}

impl Row {
    fn add(&mut self, line: &PairLine) {
        let sum = |into: &mut BTreeMap<&'static str, usize>, from: &BTreeMap<&'static str, usize>| {
            for (name, count) in from {
                *into.entry(name).or_default() += count;
            }
        };
        if self.names.insert(line.task.clone()) {
            self.tasks += 1;
        }
        self.pairs += 1;
        self.divergences.total += line.divergences.total;
        sum(&mut self.divergences.by_type, &line.divergences.by_type);
        sum(&mut self.divergences.by_phase, &line.divergences.by_phase);
        self.sips.total += line.sips.total;
        sum(&mut self.sips.by_type, &line.sips.by_type);
    }

    /// How many patterns of one kind.
    pub fn sip(&self, sip: Sip) -> usize {
        self.sips.by_type.get(sip.name()).copied().unwrap_or(0)
    }

    /// The share of destructive patterns among all.
    pub fn destructive(&self) -> Option<f64> {
        let destructive: usize =
            Sip::ALL.iter().filter(|sip| sip.category() == "destructive").map(|&sip| self.sip(sip)).sum();
        (self.sips.total > 0).then(|| destructive as f64 / self.sips.total as f64)
    }
}

/// The tables, by arm.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tables {
    /// By arm and mode.
    pub modes: BTreeMap<(String, Mode), Row>,
    /// Treatment pairs, by arm and bucket.
    pub buckets: BTreeMap<(String, Bucket), Row>,
}

impl Tables {
    /// Counts a pair.
    pub fn add(&mut self, line: &PairLine, rates: &PassRates) {
        self.modes.entry((line.arm.clone(), line.mode)).or_default().add(line);
        if line.mode == Mode::Treatment {
            let bucket = Bucket::of(rates.0.get(&line.task).copied());
            self.buckets.entry((line.arm.clone(), bucket)).or_default().add(line);
        }
    }
}
