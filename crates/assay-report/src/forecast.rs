//! Forecasts of `assay plan`, for a terminal.

use std::collections::BTreeSet;

use assay_analysis::{
    CostForecast, CostSource, DesignForecast, LimitForecast, OutcomeRule, PlanForecast, SecondStageForecast,
    StoppingForecast, VerdictChances,
};
use assay_diagnostic::group_digits;
use assay_store::{ExclusionGroup, Limit, LimitSource, TaskLimits};
use assay_trace::Placement;

use crate::notes::canary_sentence;
use crate::sentences::estimand_sentence;
use crate::text::{clean, counted, percent, seconds};

/// What missing trials may cost, in words. Judges are apart.
pub fn cost_words(cost: &CostForecast) -> String {
    if cost.trials == 0 {
        return "none (all trials are recorded)".to_owned();
    }
    if cost.free {
        return "none (no model is billed)".to_owned();
    }
    let sources: Vec<&str> = cost.from.iter().copied().filter_map(source_words).collect();
    let sources = if sources.is_empty() { String::new() } else { format!(" ({})", sources.join("; ")) };
    match (cost.range, cost.known) {
        (Some(range), _) => format!("{}{sources}", dollars(range)),
        (None, known) => {
            let known =
                known.map_or(String::new(), |known| format!("; the rest {}{sources}", dollars(known)));
            format!(
                "unknown for {}: no recorded trials like these, and no price or cap that bounds it{known}",
                clean(&cost.unknown.join(", "))
            )
        }
    }
}

/// A range in US dollars.
fn dollars([low, high]: [f64; 2]) -> String {
    let (low, high) = (format!("${low:.2}"), format!("${high:.2}"));
    if low == high { low } else { format!("{low} to {high}") }
}

fn source_words(source: CostSource) -> Option<&'static str> {
    match source {
        CostSource::Free => None,
        CostSource::Records => Some("95% range, from recorded trials"),
        CostSource::SimilarTrials => Some("95% range, from trials of the same agent and model in this store"),
        CostSource::Caps => Some("from 0 to price × caps, without recorded trials"),
    }
}

/// Who judges, and what that costs.
fn format_judge(forecast: &PlanForecast) -> String {
    let Some(judge) = &forecast.judge else { return String::new() };
    let cost = judge.cost_usd_each.map_or_else(|| "cost unknown".to_owned(), |usd| format!("${usd:.4}"));
    format!(
        "Judged by {} ({}): {} for a trial, {cost} each, not part of the estimated cost\n",
        clean(&judge.judges.join(", ")),
        judge.mode,
        counted(judge.requests_each, "request", "requests"),
    )
}

/// A forecast: arms, limits, cost, time, and what the design can show.
pub fn forecast_text(forecast: &PlanForecast) -> String {
    let design = &forecast.design;
    let trials = counted(forecast.trials, "trial", "trials");
    let mut text = format!("{}: {trials}, {} cached\n", clean(&forecast.run), group_digits(forecast.cached));
    for arm in &forecast.arms {
        let model = arm.model.as_deref().map_or(String::new(), |model| format!(" with {}", clean(model)));
        let server = arm.server.as_deref().map_or(String::new(), |server| format!(" at {}", clean(server)));
        let placed = match arm.placement {
            Some(Placement::System) => ", skills in the system prompt",
            _ => "",
        };
        let is_free = arm.cost_usd_missing.is_some_and(|range| range.from == CostSource::Free);
        let cost = match arm.cost_usd_each {
            _ if is_free => "no cost".to_owned(),
            Some(usd) => format!("${usd:.4} each"),
            None => arm.cost_usd_missing.map_or_else(
                || "cost unknown".to_owned(),
                |range| format!("cost {}", dollars([range.low, range.high])),
            ),
        };
        let time =
            arm.seconds_each.map_or_else(|| "time unknown".to_owned(), |s| format!("{} each", seconds(s)));
        text.push_str(&format!(
            "  {}{model}{server}{placed}, {}: {}, {} cached, {cost}, {time}\n",
            clean(&arm.agent),
            clean(&arm.condition),
            counted(arm.cells, "trial", "trials"),
            group_digits(arm.cached)
        ));
    }
    text.push_str(&format_limits(&forecast.limits));
    let cost = cost_words(&forecast.cost);
    let time = forecast.seconds.map_or_else(|| "unknown (no recorded trials)".to_owned(), seconds);
    text.push_str(&format!("Estimated cost: {cost}\nEstimated time: {time}\n"));
    text.push_str(&format_judge(forecast));

    let clusters = design.clusters.map_or(String::new(), |clusters| {
        format!(" in {} ({} effective)", counted(clusters, "cluster", "clusters"), design.units)
    });
    let primary =
        design.primary.as_ref().map_or(String::new(), |name| format!("primary (`{}`) ", clean(name)));
    text.push_str(&format!(
        "\nDesign: {}{clusters}, {}, {} {primary}{}, equivalence margin ±{:.0} pp\n",
        counted(design.tasks, "task", "tasks"),
        repetitions(design),
        design.family,
        if design.family == 1 { "comparison" } else { "comparisons" },
        100.0 * design.margin
    ));
    text.push_str(&format_baseline(forecast));
    text.push_str(&format_selection(forecast));
    match design.mde {
        Some(lift) => {
            text.push_str(&format!("  Minimum detectable effect (80% power): {:.0} pp\n", 100.0 * lift));
        }
        None => text.push_str(&format!(
            "  Minimum detectable effect (80% power): none with {}\n",
            if design.clusters.is_some() {
                counted(design.units, "effective cluster", "effective clusters")
            } else {
                counted(design.units, "task", "tasks")
            }
        )),
    }
    text.push_str(&format_power_range(forecast));
    match design.smallest_margin {
        Some(margin) => text.push_str(&format!(
            "  Smallest attainable equivalence margin (80% power): ±{:.0} pp\n",
            100.0 * margin
        )),
        None => text.push_str("  Smallest attainable equivalence margin (80% power): none\n"),
    }
    if let Some(nothing) = design.if_no_effect {
        text.push_str(&format!(
            "  Expected verdicts if the true effect is zero: {}\n",
            format_chances(nothing)
        ));
    }
    if let Some(split) = design.split {
        text.push_str(&format!(
            "  With {} of the baseline and {} of each other condition, the trials add {:.0}% less to standard errors ({} per task)\n",
            counted(split.base_repetitions, "repetition", "repetitions"),
            split.repetitions,
            100.0 * (1.0 - split.standard_error_ratio),
            counted(split.trials_per_task, "trial", "trials")
        ));
    }
    if let Some(stopping) = &design.stopping {
        text.push_str(&format_stopping(stopping));
    }
    text.push_str(&format_shapes(forecast));
    text.push_str(&format_requested(forecast));
    for reason in &forecast.impossible {
        text.push_str(&format!("\nImpossible: {reason}\n"));
    }
    for group in ExclusionGroup::all(&forecast.excluded) {
        let condition = group.condition.map_or(String::new(), |name| format!(", {}", clean(name)));
        let tasks = clean(&group.tasks_text());
        text.push_str(&format!("Excluded: {tasks}{condition}: {}\n", clean(group.reason)));
    }
    text
}

/// What the baseline knows of the skills, and by which baseline the tasks were selected.
fn format_selection(forecast: &PlanForecast) -> String {
    let mut text = String::new();
    for known in &forecast.canaries {
        let arm = format!("`{}` of {}", clean(&known.baseline), clean(known.who.short()));
        let sentence = canary_sentence(&arm, known.known, known.total);
        text.push_str(&format!("  {sentence} (from recorded trials)\n"));
    }
    if let Some(sentence) = estimand_sentence(&forecast.selected_by) {
        text.push_str(&format!("  {sentence}\n"));
    }
    text
}

/// The baseline: as a report of the recorded trials has it, and as the design assumes it.
fn format_baseline(forecast: &PlanForecast) -> String {
    let design = &forecast.design;
    let is_fractional = forecast.baselines.iter().any(|baseline| baseline.is_fractional);
    let is_score = is_fractional || forecast.outcome.rule == Some(OutcomeRule::Score);
    let what = if is_score { "score" } else { "pass rate" };
    let assumed = percent(design.baseline);
    if forecast.baselines.is_empty() {
        return format!("  Baseline {what}: {assumed} (assumed)\n");
    }
    let mut text = String::new();
    for baseline in &forecast.baselines {
        let of = if forecast.baselines.len() > 1 {
            format!(" of {}", clean(baseline.who.short()))
        } else {
            String::new()
        };
        text.push_str(&format!(
            "  Baseline {what}{of}: {} (from {})\n",
            percent(baseline.score),
            counted(baseline.trials, "recorded trial", "recorded trials")
        ));
    }
    let why = match design.baseline_from {
        "records" => "that of the recorded tasks and of one more at 50%",
        _ => "too few tasks have two recorded trials",
    };
    text.push_str(&format!("  Baseline {what} that the design assumes: {assumed} ({why})\n"));
    text
}

/// How much the power depends on the baseline, which the recorded trials tell in an interval.
fn format_power_range(forecast: &PlanForecast) -> String {
    let design = &forecast.design;
    let Some(([low, high], [least, most])) = design.baseline_ci95.zip(design.power_range) else {
        return String::new();
    };
    let at = match forecast.requested.lift.filter(|_| forecast.requested.at_lift.is_some()) {
        Some(lift) => format!("for {:+.0} pp", 100.0 * lift),
        None => "for this effect".to_owned(),
    };
    format!(
        "  Power {at}: {} to {} with a baseline of {} to {} (95% CI of the recorded tasks)\n",
        percent(least),
        percent(most),
        percent(low),
        percent(high)
    )
}

/// The limits: one value for all tasks, or one for each group of tasks with the same value.
fn format_limits(limits: &[LimitForecast]) -> String {
    let time = group_limits(limits, |limits| limits.agent_seconds, |value| format!("{value} s"));
    let memory = group_limits(limits, |limits| limits.memory_bytes, |value| format!("{} MB", value >> 20));
    [("Agent time", time), ("Memory", memory)]
        .into_iter()
        .filter(|(_, groups)| !groups.is_empty())
        .map(|(what, groups)| format!("{what} limit: {}\n", groups.join("; ")))
        .collect()
}

/// Each distinct limit, with its tasks and agents unless it applies to all.
fn group_limits<T: Copy + PartialEq>(
    limits: &[LimitForecast],
    limit: impl Fn(&TaskLimits) -> Limit<T>,
    show: impl Fn(T) -> String,
) -> Vec<String> {
    // Agents that differ only in their model have the same name.
    let who = |of: &LimitForecast| {
        let model = of.model.as_deref().map_or(String::new(), |model| format!(" with {model}"));
        format!("{}{model}", of.agent)
    };
    let mut groups: Vec<(Limit<T>, BTreeSet<&str>, BTreeSet<String>)> = Vec::new();
    for of in limits {
        let found = limit(&of.limits);
        let at = groups.iter().position(|(known, ..)| *known == found).unwrap_or_else(|| {
            groups.push((found, BTreeSet::new(), BTreeSet::new()));
            groups.len() - 1
        });
        groups[at].1.insert(&of.limits.task);
        groups[at].2.insert(who(of));
    }
    let tasks: BTreeSet<&str> = limits.iter().map(|of| of.limits.task.as_str()).collect();
    let agents: BTreeSet<String> = limits.iter().map(who).collect();
    groups
        .iter()
        .map(|(limit, of, by)| {
            let mut text = show(limit.value);
            let source = match (limit.source, limit.overrides) {
                (LimitSource::Experiment, Some(task)) => {
                    format!("set by the experiment, overriding {} of the tasks", show(task))
                }
                (LimitSource::Experiment, None) => "set by the experiment".to_owned(),
                (LimitSource::Task, _) => "set by the tasks".to_owned(),
                (LimitSource::Default, _) => "default".to_owned(),
            };
            text.push_str(&format!(" ({source})"));
            if *by != agents {
                text.push_str(&format!(" for {}", list_names(&by.iter().map(String::as_str).collect())));
            }
            if *of != tasks {
                text.push_str(&format!(" on {}", list_names(of)));
            }
            text
        })
        .collect()
}

/// The first few names, and how many more there are.
fn list_names(names: &BTreeSet<&str>) -> String {
    const SHOWN: usize = 8;
    let mut text = names.iter().take(SHOWN).map(|name| clean(name)).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// The same number of trials as other numbers of tasks and repetitions. With every column, a line has 80 characters.
fn format_shapes(forecast: &PlanForecast) -> String {
    let design = &forecast.design;
    if design.shapes.len() < 2 {
        return String::new();
    }
    let points = |figure: Option<f64>, sign: &str| {
        figure.map_or_else(|| "–".to_owned(), |figure| format!("{sign}{:.0}", 100.0 * figure))
    };
    let power = forecast.requested.lift.map(|lift| format!("power at {:+.0} pp", 100.0 * lift));
    let mut text =
        "\nSame number of trials, other numbers of tasks (independent) and repetitions\n".to_owned();
    text.push_str("  tasks  repetitions  MDE (pp)  smallest margin (pp)");
    text.push_str(&power.as_ref().map_or("\n".to_owned(), |power| format!("  {power}\n")));
    for shape in &design.shapes {
        let here = if shape.repetitions == design.repetitions as usize { "  this plan" } else { "" };
        let chance = power.as_ref().map_or(String::new(), |head| {
            let chance =
                shape.power.map_or_else(|| "–".to_owned(), |chance| format!("{:.0}%", 100.0 * chance));
            format!("  {chance:>width$}", width = head.chars().count())
        });
        text.push_str(&format!(
            "  {:>5}  {:>11}  {:>8}  {:>20}{chance}{here}\n",
            shape.tasks,
            shape.repetitions,
            points(shape.mde, "+"),
            points(shape.smallest_margin, "±"),
        ));
    }
    text
}

fn format_stopping(stopping: &StoppingForecast) -> String {
    let of = stopping.second_stage.as_ref().map_or(String::new(), |second| {
        let first = counted(second.first_tasks, "task", "tasks");
        format!(" of {first}, then with {}", counted(second.tasks.len(), "more task", "more tasks"))
    });
    let mut text = format!(
        "\nDecisions after each of at most {}{of}, {} at most (fixed design: {})\n",
        counted(stopping.rounds, "round", "rounds"),
        counted(stopping.most, "trial", "trials"),
        group_digits(stopping.fixed)
    );
    let power = stopping
        .power_at_mde
        .map_or(String::new(), |power| format!(", power {:.0}% (fixed design: 80%)", 100.0 * power));
    for (what, trials, more) in [
        ("if the true effect is zero", stopping.if_no_effect, ""),
        ("at the minimum detectable effect", stopping.at_mde, power.as_str()),
        ("at twice this effect", stopping.at_twice_mde, ""),
    ] {
        if let Some(trials) = trials {
            text.push_str(&format!("  Expected trials {what}: {trials:.0}{more}\n"));
        }
    }
    if let Some(second) = &stopping.second_stage {
        text.push_str(&format_second_stage(second));
    }
    text
}

fn format_second_stage(second: &SecondStageForecast) -> String {
    let names: Vec<String> = second.tasks.iter().map(|task| clean(task)).collect();
    let chance =
        |what: &str, chance: Option<f64>| chance.map(|chance| format!("{:.0}% {what}", 100.0 * chance));
    let chances = [
        chance("if the true effect is zero", second.if_no_effect),
        chance("at the minimum detectable effect", second.at_mde),
    ];
    let chances: Vec<String> = chances.into_iter().flatten().collect();
    let chances = if chances.is_empty() { String::new() } else { format!(": {}", chances.join(", ")) };
    format!(
        "  Tasks after the rounds (drawn by the seed): {}\n  Probability that they are needed{chances}\n",
        names.join(", ")
    )
}

fn format_requested(forecast: &PlanForecast) -> String {
    let requested = &forecast.requested;
    let tasks = |tasks: Option<usize>| {
        let Some(tasks) = tasks else { return "more tasks than can be simulated".to_owned() };
        let tasks = if forecast.design.clusters.is_some() {
            let tasks = counted(tasks, "independent task", "independent tasks");
            format!("{tasks} (clusters of equal size)")
        } else {
            counted(tasks, "task", "tasks")
        };
        let repetitions = counted(forecast.design.repetitions, "repetition", "repetitions");
        format!("{tasks}, with {repetitions} of each")
    };
    let mut text = String::new();
    if let Some(lift) = requested.lift {
        text.push_str(&format!("\nTo detect a lift of {:+.0} pp\n", 100.0 * lift));
        if let Some(chances) = requested.at_lift {
            text.push_str(&format!("  Expected verdicts of this design: {}\n", format_chances(chances)));
            let needed = tasks(requested.tasks_for_lift);
            let from = match (requested.tasks_for_lift_from, requested.tasks_for_lift) {
                ("records", Some(_)) => " (at the variance of the recorded trials)",
                _ => "",
            };
            text.push_str(&format!("  Needed for 80% power: {needed}{from}\n"));
        }
    }
    if let Some(margin) = requested.equivalence_margin {
        text.push_str(&format!(
            "\nTo show a negligible effect (equivalence margin ±{:.0} pp)\n",
            100.0 * margin
        ));
        text.push_str(&format!("  Needed for 80% power: {}\n", tasks(requested.tasks_for_margin)));
    }
    if let Some(p) = requested.p {
        text.push_str(&format!(
            "\nFor a Holm-adjusted p ≤ {p}\n  Smallest unadjusted p with these tasks: {:.2e}\n",
            requested.smallest_p
        ));
    }
    text
}

/// The repetitions of the baseline and of the other conditions, where they differ.
fn repetitions(design: &DesignForecast) -> String {
    let own = counted(design.repetitions, "repetition", "repetitions");
    if design.base_repetitions == design.repetitions {
        own
    } else {
        format!("{own} ({} of the baseline)", group_digits(design.base_repetitions))
    }
}

fn format_chances(chances: VerdictChances) -> String {
    format!(
        "helps {:.0}%, harms {:.0}%, negligible {:.0}%, inconclusive {:.0}%",
        100.0 * chances.helps,
        100.0 * chances.harms,
        100.0 * chances.negligible,
        100.0 * chances.inconclusive
    )
}
