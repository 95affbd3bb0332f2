//! Counts of packages with findings, by rule.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::diagnostic::Severity;
use crate::outcome::Outcome;
use crate::rules::rules;
use crate::safety;

/// Packages by the most severe finding of one rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Hits {
    /// With an error.
    pub errors: usize,
    /// With a warning and no error.
    pub warnings: usize,
    /// With findings of severity `info` only.
    pub notes: usize,
}

impl Hits {
    fn add(&mut self, worst: Severity) {
        *match worst {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Info => &mut self.notes,
        } += 1;
    }

    /// Packages with any finding.
    pub fn any(&self) -> usize {
        self.errors + self.warnings + self.notes
    }
}

/// Counts of findings over many packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// The schema of this document.
    pub schema: &'static str,
    /// Packages checked.
    pub skills: usize,
    /// Packages by their most severe finding of a safety rule.
    pub safety: Hits,
    /// Packages by their most severe finding of another rule.
    pub form: Hits,
    /// All rules, including those without findings.
    pub rules: BTreeMap<&'static str, Hits>,
}

impl Stats {
    /// Counts an outcome.
    pub fn of(outcome: &Outcome) -> Self {
        let mut stats = Self {
            schema: "assay.lint-stats/1",
            skills: outcome.skills.len(),
            safety: Hits::default(),
            form: Hits::default(),
            rules: rules().iter().map(|rule| (rule.code, Hits::default())).collect(),
        };
        for skill in &outcome.skills {
            let mut worst_by_code: BTreeMap<&'static str, Severity> = BTreeMap::new();
            for found in &skill.diagnostics {
                let worst = worst_by_code.entry(found.code).or_insert(found.severity);
                *worst = (*worst).max(found.severity);
            }
            let of_safety = |code: &str| safety::owns(code);
            let worst = |safety: bool| {
                worst_by_code
                    .iter()
                    .filter(|(code, _)| of_safety(code) == safety)
                    .map(|(_, worst)| *worst)
                    .max()
            };
            if let Some(worst) = worst(true) {
                stats.safety.add(worst);
            }
            if let Some(worst) = worst(false) {
                stats.form.add(worst);
            }
            for (code, worst) in worst_by_code {
                stats.rules.entry(code).or_default().add(worst);
            }
        }
        // A finding on a whole library or plugin counts once.
        for found in &outcome.diagnostics {
            stats.rules.entry(found.code).or_default().add(found.severity);
        }
        stats
    }

    /// A Markdown table, in columns for a terminal as well.
    pub fn table(&self) -> String {
        let share = |count: usize| 100.0 * count as f64 / self.skills.max(1) as f64;
        let mut text = format!(
            "{} packages\n\n| {:<26} | {:>8} | {:>7} | {:>7} | {:>8} | {:>7} |\n|{:-<28}|{}\n",
            self.skills,
            "rule",
            "packages",
            "share",
            "error",
            "warning",
            "info",
            "",
            "---------:|--------:|--------:|---------:|--------:|",
        );
        let mut row = |name: &str, hits: &Hits| {
            let _ = writeln!(
                text,
                "| {name:<26} | {:>8} | {:>6.2}% | {:>7} | {:>8} | {:>7} |",
                hits.any(),
                share(hits.any()),
                hits.errors,
                hits.warnings,
                hits.notes
            );
        };
        row("any form rule", &self.form);
        row("any safety rule", &self.safety);
        for (code, hits) in &self.rules {
            row(&format!("`{code}`"), hits);
        }
        text
    }
}
