//! What figures mean, in sentences that every renderer shares. Names in them are cleaned and not escaped.

use assay_analysis::{AgentKey, Arm, Comparison, Reason, RepliedModel, Report, VerdictKind};

use crate::text::{clean, counted, grouped, percent, points};

const LOST: &str = "Trials lost to infrastructure could change the verdict, or the arms lost unequal shares: run it again, the \
                    lost ones are tried anew.";

/// The same of trials that were executed elsewhere, and cannot be tried again here.
const LOST_ELSEWHERE: &str =
    "Too many trials were lost, or too unevenly: only new trials where they were executed can replace them.";

/// What losses ask for.
fn after_losses(comparison: &Comparison) -> &'static str {
    if comparison.imported { LOST_ELSEWHERE } else { LOST }
}

/// What a comparison means, in one or two sentences.
pub(crate) fn sentence(comparison: &Comparison, margin: f64) -> String {
    let tasks = comparison.tasks;
    let Some((lift, family)) = comparison.lift.zip(comparison.family) else {
        let few = match (tasks, comparison.clusters) {
            (1, _) => "1 task with results in both arms is".to_owned(),
            (_, None) => format!("{tasks} tasks with results in both arms are"),
            (_, Some(_)) => format!("{} with results in both arms are", units(comparison)),
        };
        let lost = if comparison.reason == Some(Reason::Losses) {
            format!(" {}", after_losses(comparison))
        } else {
            String::new()
        };
        let least = if comparison.clusters.is_some() { "5 effective clusters are" } else { "5 are" };
        return format!("{few} too few for an interval; {least} the least.{lost}");
    };
    let lost = comparison.loss_bounds.map_or(String::new(), |[low, high]| {
        format!(
            " With lost trials assumed ±25 points from the rate of their cell: {} to {}.",
            points(low),
            points(high)
        )
    });
    let between = format!(
        "{} points ({} to {} at {:.1} % confidence), {}.{lost}",
        points(lift),
        points(family.low),
        points(family.high),
        100.0 * family.level,
        units(comparison)
    );
    let margin = 100.0 * margin;
    match (comparison.verdict, comparison.reason) {
        (VerdictKind::Negligible, _) => {
            let direction = comparison
                .direction
                .map_or(String::new(), |sign| format!(" The remaining difference is {}.", sign.word()));
            format!("{between} That is within ±{margin:.0} points.{direction}")
        }
        (VerdictKind::Inconclusive, Some(Reason::Losses)) => {
            format!("{between} {}", after_losses(comparison))
        }
        (VerdictKind::Inconclusive, Some(Reason::Design)) => {
            format!(
                "{between} This design had too little power to detect an effect.{}",
                needed(comparison, margin)
            )
        }
        (VerdictKind::Inconclusive, Some(Reason::Noise) | None) => format!(
            "{between} Neither an effect nor its absence (±{margin:.0} points) is shown.{}",
            needed(comparison, margin)
        ),
        (VerdictKind::Helps | VerdictKind::Harms, _) => between,
    }
}

/// A comparison's verdict and what it means, in one line without colour.
pub fn verdict_line(comparison: &Comparison, margin: f64) -> String {
    let sentence = sentence(comparison, margin);
    let (condition, baseline) = (clean(&comparison.condition), clean(&comparison.baseline));
    format!("{condition} against {baseline}: {}. {sentence}", comparison.verdict.word())
}

/// How many tasks, and in how many clusters they come: the number that the interval rests on.
pub(crate) fn units(comparison: &Comparison) -> String {
    let tasks = format!("{} tasks", comparison.tasks);
    let Some(clusters) = comparison.clusters else { return tasks };
    let effective = comparison.effective_clusters.unwrap_or(clusters as f64);
    let weight = if (effective - clusters as f64).abs() < 0.05 {
        String::new()
    } else {
        format!(" ({effective:.1} effective)")
    };
    format!("{tasks} in {}{weight}", counted(clusters, "cluster", "clusters"))
}

/// The sample sizes needed to confirm this effect and to detect the margin; `margin` is in points.
fn needed(comparison: &Comparison, margin: f64) -> String {
    let about = |tasks: usize| format!("≈{}", grouped(tasks));
    // With enough tasks already, only skew keeps the interval from excluding 0.
    let confirm = comparison.tasks_to_confirm.filter(|tasks| *tasks > comparison.tasks);
    match (confirm, comparison.tasks_needed) {
        (Some(confirm), Some(detect)) => format!(
            " {} tasks to confirm an effect this large; {} to detect ±{margin:.0} points (80% power).",
            about(confirm),
            about(detect)
        ),
        (None, Some(detect)) => {
            format!(" {} tasks to detect ±{margin:.0} points (80% power).", about(detect))
        }
        (_, None) => String::new(),
    }
}

/// What has to be known of the trials that are no plain results.
pub(crate) fn lost(arms: &[&Arm], fractional: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for arm in arms.iter().filter(|arm| arm.infrastructure > 0) {
        let causes: Vec<String> = arm
            .infrastructure_causes
            .iter()
            .map(|(cause, n)| format!("{} {n}", clean(&cause.replace('_', " "))))
            .collect();
        // Without a usable trial there is no rate to bound.
        let bounds = arm.bounds.map_or(String::new(), |[low, high]| {
            let rate = if fractional { "score" } else { "pass rate" };
            format!("; {rate} {} if all had failed, {} if all had passed", percent(low), percent(high))
        });
        lines.push(format!(
            "{}: {} of {} trials lost to infrastructure ({}){bounds}",
            clean(&arm.condition),
            arm.infrastructure,
            arm.planned,
            causes.join(", ")
        ));
    }
    for arm in arms.iter().filter(|arm| arm.tampered + arm.timed_out > 0) {
        lines.push(format!(
            "{}: {} tampered, {} out of time; both count as not passed",
            clean(&arm.condition),
            arm.tampered,
            arm.timed_out
        ));
    }
    lines
}

/// Which models replied to an agent, where its provider says.
pub(crate) fn replied(report: &Report, who: &AgentKey) -> Option<String> {
    let own = |found: &&RepliedModel| found.agent == who.agent && Some(&found.asked) == who.model.as_ref();
    let names: Vec<String> = report
        .replied_models
        .iter()
        .filter(own)
        .map(|found| {
            let trials = counted(found.trials, "trial", "trials");
            let mark = if found.matches { "" } else { ", not the requested model" };
            format!("{} ({trials}{mark})", clean(&found.replied))
        })
        .collect();
    (!names.is_empty()).then(|| format!("model that replied: {}", names.join(", ")))
}

/// Whose results these are.
pub(crate) fn who(key: &AgentKey) -> String {
    let model = key.model.as_ref().map_or(String::new(), |model| format!(" with {}", clean(model)));
    format!("{}{model} in {}", clean(&key.agent), clean(&key.sandbox))
}

/// Things with the same key together, in order.
pub(crate) fn groups<'a, T, K: PartialEq>(items: &'a [T], key: impl Fn(&'a T) -> K) -> Vec<(K, Vec<&'a T>)> {
    let mut groups: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}
