//! What stands above the sections: the facts of a run, and where its figures come from, in a line each.

use std::collections::BTreeSet;

use assay_analysis::{AgentKey, Comparison, Provenance, Registration, Report};

use crate::labels::Labels;
use crate::text::{clean, count, counted};

pub(super) fn list_facts(report: &Report, labels: &Labels) -> String {
    let mut tasks: Vec<&str> = report.tasks.iter().map(|row| row.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let trials: usize = report.arms.iter().map(|arm| arm.trials).sum();
    let mut agents: Vec<&AgentKey> = report.arms.iter().map(|arm| &arm.who).collect();
    agents.dedup();
    // Several agents are named above their results.
    let mut facts = match agents.as_slice() {
        [agent] => labeled(agent),
        _ => Vec::new(),
    };
    let cells = report.tasks.iter().flat_map(|row| &row.arms);
    let repetitions: BTreeSet<usize> =
        cells.map(|arm| arm.trials + arm.infrastructure).filter(|executed| *executed > 0).collect();
    let baseline = report.comparisons.first().map(|comparison| clean(&comparison.baseline));
    let baseline = baseline.map_or_else(String::new, |name| format!(" (baseline: `{name}`)"));
    facts.extend([
        counted(tasks.len(), "task", "tasks"),
        if labels.several() {
            format!("{}{baseline}", counted(report.arms.len(), "arm", "arms"))
        } else {
            format!("{}{baseline}", counted(report.arms.len(), "condition", "conditions"))
        },
    ]);
    // Where all tasks have the same number.
    if let [repetitions] = repetitions.iter().copied().collect::<Vec<_>>()[..] {
        facts.push(counted(repetitions, "repetition", "repetitions"));
    }
    facts.push(counted(trials, "valid trial", "valid trials"));
    facts.extend(not_executed(report));
    facts.push(format!("equivalence margin ±{:.0} percentage points (pp)", 100.0 * report.margin));
    facts.extend(family(report));
    facts.extend(report.registration.as_ref().map(registration));
    facts.join(" · ")
}

/// When the plan was registered.
fn registration(found: &Registration) -> String {
    let (tag, at) = (clean(&found.tag), clean(&found.at));
    match found.before_trials {
        Some(true) => format!("plan registered before the trials (tag `{tag}`, {at})"),
        Some(false) => format!("plan registered after the first trial had started (tag `{tag}`, {at})"),
        None => format!("plan registered (tag `{tag}`, {at}; times of trials unknown)"),
    }
}

/// How much of the run was not executed.
fn not_executed(report: &Report) -> Option<String> {
    let controls = report.negative_controls.iter().flat_map(|controls| &controls.arms);
    let arms = || report.arms.iter().chain(controls.clone());
    let missing: usize = arms().map(|arm| arm.unfinished).sum();
    let planned: usize = arms().map(|arm| arm.planned).sum();
    (missing > 0)
        .then(|| format!("{} of {} not executed", count(missing as f64), counted(planned, "trial", "trials")))
}

/// Agent, model and sandbox, each with a label.
fn labeled(key: &AgentKey) -> Vec<String> {
    let model = key.model.as_ref().map(|model| format!("model: {}", clean(model)));
    let agent = format!("agent: {}", clean(&key.agent));
    let sandbox = format!("sandbox: {}", clean(&key.sandbox));
    [Some(agent), model, Some(sandbox)].into_iter().flatten().collect()
}

/// Which comparisons share an error rate of 5%.
fn family(report: &Report) -> Option<String> {
    let primary = report.comparisons.iter().filter(|comparison| comparison.primary).count();
    let others = report.comparisons.len() - primary;
    let level = |comparison: &Comparison| comparison.family.map_or(0.95, |family| family.level);
    let alone = report.comparisons.iter().all(|found| !found.primary || (level(found) - 0.95).abs() < 1e-9);
    match (&report.primary, primary, others) {
        (_, 0, 0 | 1) => None,
        (Some(name), 1, 0) => Some(format!("primary comparison: `{}` against the baseline", clean(name))),
        (Some(name), 1, others) if alone => Some(format!(
            "primary comparison: `{}` against the baseline, judged by its 95% CI · {}",
            clean(name),
            counted(others, "other comparison", "other comparisons, Bonferroni-adjusted")
        )),
        (Some(name), primary, others) if primary > 0 => Some(format!(
            "{} (`{}` against the baseline) and {}, Bonferroni-adjusted separately",
            counted(primary, "primary comparison", "primary comparisons"),
            clean(name),
            counted(others, "other", "others")
        )),
        _ => Some(format!("{}, Bonferroni-adjusted", counted(others, "comparison", "comparisons"))),
    }
}

/// Most skills named in the line at the top.
const SKILLS: usize = 3;

/// Model, agent, date and skills in one line.
pub(super) fn provenance_line(provenance: &Provenance) -> String {
    let agents = provenance.agents.iter().map(|agent| {
        let model = agent.model.as_ref().map_or(String::new(), |model| format!(" with {}", clean(model)));
        format!("{} {}{model}", clean(&agent.agent), clean(&agent.version))
    });
    let mut parts: Vec<String> = vec![agents.collect::<Vec<_>>().join(", ")];
    parts.extend(provenance.measured.as_ref().map(|[first, last]| {
        let day = |time: &str| time.chars().take(10).collect::<String>();
        let (first, last) = (day(first), day(last));
        if first == last {
            format!("measured on {first}")
        } else {
            format!("measured from {first} to {last}")
        }
    }));
    // A placebo has the name of the skill that it replaces.
    let measured: Vec<_> = provenance.skills.iter().filter(|skill| skill.measured).collect();
    let skills: Vec<String> = measured
        .iter()
        .take(SKILLS)
        .map(|skill| format!("{} ({})", clean(&skill.name), clean(&short_digest(&skill.digest))))
        .collect();
    if !skills.is_empty() {
        let rest = match measured.len() - skills.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        parts.push(format!("skills: {}{rest}", skills.join(", ")));
    }
    parts.extend(provenance.imported.as_ref().map(|program| format!("imported from {}", clean(program))));
    parts.push(format!("assay {}", provenance.assay_version));
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// The first characters of a digest.
fn short_digest(digest: &str) -> String {
    digest.rsplit(':').next().unwrap_or(digest).chars().take(8).collect()
}
