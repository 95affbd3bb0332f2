//! Requirements beside the lift: cost, findings of the linter and of the scanner, and the rank in search.

#[cfg(test)]
mod tests;

use assay_analysis::{GuardWord, Report};
use assay_lint::{Options, Severity};
use assay_report::counted;
use assay_retrieval::{Bm25, Parameters};
use assay_skill::Library;

use crate::measured::COST;
use crate::terms::SkillTerms;

/// The guards of a skill that do not hold, and those that could not be decided, in sentence fragments.
pub(crate) fn violated_guards(terms: &SkillTerms, report: Option<&Report>) -> Vec<String> {
    let guards = &terms.rule.guards;
    let mut found = Vec::new();
    for (severity, only_safety, what) in [(&guards.lint, false, "lint"), (&guards.scanner, true, "scanner")] {
        if let Some(severity) = severity {
            let findings = findings(terms, severity, only_safety);
            if !findings.is_empty() {
                let count = counted(findings.len(), "finding", "findings");
                found.push(format!("{what}: {count} ({})", findings.join(", ")));
            }
        }
    }
    if let Some(most) = guards.discovery_rank {
        match discovery_rank(terms) {
            Some(rank) if rank <= most as f64 => {}
            Some(rank) => {
                found.push(format!("discovery: median rank {rank} of its tasks, at most {most} allowed"));
            }
            None => found.push("discovery: the skill is not in the library of the experiment".to_owned()),
        }
    }
    if let (Some(ratio), Some(report)) = (guards.cost_ratio, report) {
        for metric in report.metrics.iter().filter(|metric| metric.metric.name == COST) {
            if metric.guard_verdict != Some(GuardWord::Held) {
                let shown = metric.effect.map_or("unknown".to_owned(), |effect| format!("{effect:.2} times"));
                let word = metric.guard_verdict.map_or("not measured", GuardWord::word);
                found.push(format!("cost: {shown} the baseline's, at most {ratio} allowed ({word})"));
            }
        }
    }
    found
}

/// Errors of the linter and of the scanner, and what else of the guards needs no trial.
pub(crate) fn violated_without_trials(terms: &SkillTerms) -> Vec<String> {
    let mut found = Vec::new();
    for (only_safety, what) in [(false, "lint"), (true, "scanner")] {
        let least = if only_safety { &terms.rule.guards.scanner } else { &terms.rule.guards.lint };
        let findings = findings(terms, least.as_deref().unwrap_or("error"), only_safety);
        if !findings.is_empty() {
            let count = counted(findings.len(), "finding", "findings");
            found.push(format!("{what}: {count} ({})", findings.join(", ")));
        }
    }
    found
}

/// The codes of findings of at least a severity, each once.
fn findings(terms: &SkillTerms, severity: &str, only_safety: bool) -> Vec<String> {
    let least = if severity == "warning" { Severity::Warning } else { Severity::Error };
    let outcome = assay_lint::lint(std::slice::from_ref(&terms.folder), &Options::default());
    let mut codes: Vec<String> = outcome
        .skills
        .iter()
        .flat_map(|skill| &skill.diagnostics)
        .filter(|found| found.severity >= least)
        .filter(|found| !only_safety || assay_safety::RULES.iter().any(|rule| rule.code == found.code))
        .map(|found| found.code.to_owned())
        .collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// The median over the skill's tasks of its rank by BM25, with the task's instruction as the query, among the names and
/// descriptions of the experiment's library. A skill that shares no word with a query has the last rank.
fn discovery_rank(terms: &SkillTerms) -> Option<f64> {
    let (experiment, package) = (terms.experiment.as_ref()?, terms.package.as_ref()?);
    let roots: Vec<_> = experiment
        .library
        .iter()
        .flat_map(|pattern| assay_task::folders(pattern, &experiment.directory))
        .collect();
    let library = Library::load(&roots);
    let own = library.packages.iter().position(|known| known.digest == package.digest)?;
    let texts: Vec<String> =
        library.packages.iter().map(|skill| format!("{} {}", skill.name, skill.description)).collect();
    let index = Bm25::new(texts.iter().map(String::as_str), Parameters::default());
    let mut ranks: Vec<usize> = terms
        .tasks
        .values()
        .map(|task| {
            let ranked = index.rank(&task.instruction);
            1 + ranked.iter().position(|(found, _)| *found == own).unwrap_or(texts.len() - 1)
        })
        .collect();
    ranks.sort_unstable();
    let middle = ranks.len().checked_sub(1)?;
    Some((ranks[middle / 2] + ranks[middle.div_ceil(2)]) as f64 / 2.0)
}
