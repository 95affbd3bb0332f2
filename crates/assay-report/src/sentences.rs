//! Sentences that every renderer shares. Names in them are cleaned and not escaped.

use assay_analysis::{
    AgentKey, Arm, Comparison, End, FUTILITY, OutcomeTasks, Progress, Reason, RepliedModel, Report, Rounds,
    Treatment, VerdictKind,
};

use crate::text::{clean, count, counted, level, percent, points, points_between, pp};

/// Why losses make a comparison inconclusive, and what to do.
const LOST: &str = "Infrastructure errors could change the verdict, or their share differs by more than 5 pp between the \
                    conditions: run the experiment again to retry the trials with such errors.";

/// The same for trials that were executed by another program.
const LOST_ELSEWHERE: &str = "Infrastructure errors could change the verdict, or their share differs by more than 5 pp \
                              between the conditions: only the program that executed the trials can retry those with such \
                              errors.";

fn loss_advice(comparison: &Comparison) -> &'static str {
    if comparison.imported { LOST_ELSEWHERE } else { LOST }
}

/// Explains a comparison in one to three sentences.
pub(crate) fn sentence(comparison: &Comparison, margin: f64) -> String {
    if let Some(progress) = comparison.interim {
        return interim(comparison, progress);
    }
    let tasks = comparison.tasks;
    let Some((lift, family)) = comparison.lift.zip(comparison.family) else {
        let few = match comparison.clusters {
            Some(_) if tasks != 1 => format!("{} have", units(comparison)),
            _ => counted(tasks, "task has", "tasks have"),
        };
        let lost = match comparison.reason {
            Some(Reason::Losses) => format!(" {}", loss_advice(comparison)),
            Some(Reason::NotDelivered) => format!(" {}", not_delivered(comparison)),
            _ => String::new(),
        };
        if let Some(rounds) = comparison.sequential.filter(|rounds| rounds.round == 0).and(rounds(comparison))
        {
            return rounds;
        }
        let least = if comparison.clusters.is_some() { "5 effective clusters are" } else { "5 are" };
        return format!("No CI: {few} results in both conditions, and at least {least} needed.{lost}");
    };
    let lost = comparison.loss_bounds.map_or(String::new(), |[low, high]| {
        let left_out = match comparison.tasks_lost {
            0 => String::new(),
            1 => " The lift leaves out 1 task without a valid trial under one of the conditions, and these bounds count it.".to_owned(),
            tasks => format!(
                " The lift leaves out {tasks} tasks without a valid trial under one of the conditions, and these bounds count them."
            ),
        };
        let decided = comparison.verdict.is_some_and(|kind| kind != VerdictKind::Inconclusive);
        let tipping = match comparison.delta_star {
            Some(shift) => format!(" The verdict changes from {:.0} pp on (δ*).", 100.0 * shift),
            None if decided => " No such difference changes the verdict.".to_owned(),
            None => String::new(),
        };
        format!(
            " If the trials with infrastructure errors had passed at a rate up to 25 pp higher than the valid trials in one condition and up to 25 pp lower in the other, the lift would be {} to {} pp.{tipping}{left_out}",
            points(low),
            points(high)
        )
    });
    let unbiased = comparison
        .lift_unbiased
        .map_or(String::new(), |unbiased| format!(" Median-unbiased lift: {}.", pp(unbiased)));
    let between = format!(
        "{} ({}, {} {}), {}.{}{unbiased}{lost}",
        pp(lift),
        points_between(Some([family.low, family.high])),
        level(family.level),
        interval_name(comparison),
        units(comparison),
        rounds(comparison).map_or(String::new(), |rounds| format!(" {rounds}"))
    );
    let margin = 100.0 * margin;
    match (comparison.verdict, comparison.reason) {
        (Some(VerdictKind::Negligible), _) => {
            let direction = comparison
                .direction
                .map_or(String::new(), |sign| format!(" The remaining difference is {}.", sign.word()));
            format!("{between} Within the equivalence margin of ±{margin:.0} pp.{direction}")
        }
        (Some(VerdictKind::Inconclusive), Some(Reason::Judge)) => {
            format!("{between} Blocked: the judge gave wrong answers to planted items, so no verdict counts.")
        }
        (Some(VerdictKind::Inconclusive), Some(Reason::NotDelivered)) => {
            format!("{between} {}", not_delivered(comparison))
        }
        (Some(VerdictKind::Inconclusive), Some(Reason::Losses)) => {
            format!("{between} {}", loss_advice(comparison))
        }
        (Some(VerdictKind::Inconclusive), Some(Reason::Design)) => {
            format!(
                "{between} This design had too little power to detect an effect.{}",
                needed(comparison, margin)
            )
        }
        (Some(VerdictKind::Inconclusive), Some(Reason::Noise) | None) => format!(
            "{between} The data show neither an effect nor its absence (±{margin:.0} pp).{}",
            needed(comparison, margin)
        ),
        (Some(VerdictKind::Helps | VerdictKind::Harms) | None, _) => between,
    }
}

/// What can be said of a comparison before its run is complete.
fn interim(comparison: &Comparison, progress: Progress) -> String {
    let units = units(comparison);
    let figures = so_far(comparison);
    match comparison.sequential {
        Some(rounds) if rounds.left_open().is_some() => {
            format!("{}; so far {figures}. {units}. {}", no_verdict(progress), goes_on(rounds))
        }
        Some(Rounds { round: 0, rounds, .. }) => {
            format!("{}; no round of {rounds} has been looked at.", no_verdict(progress))
        }
        // The looks of a sequential rule have levels of their own.
        Some(Rounds { round, rounds, .. }) => {
            format!(
                "{}; not decided after round {round} of {rounds}; so far {figures}. {units}.",
                no_verdict(progress)
            )
        }
        None => format!("{}; so far {figures}, {EARLY}. {units}.", no_verdict(progress)),
    }
}

/// What an interval of a run is not that has no verdict yet.
const EARLY: &str = "not adjusted for looking early";

fn no_verdict(progress: Progress) -> String {
    let planned = counted(progress.planned, "trial", "trials");
    format!("No verdict yet: {} of {planned}", count(progress.trials as f64))
}

/// The lift and its interval, as far as they are known.
fn so_far(comparison: &Comparison) -> String {
    comparison.lift.zip(comparison.family).map_or_else(
        || comparison.lift.map_or_else(|| "no result".to_owned(), |lift| format!("{} (no CI)", pp(lift))),
        |(lift, family)| {
            format!(
                "{} ({}, {} {})",
                pp(lift),
                points_between(Some([family.low, family.high])),
                level(family.level),
                interval_name(comparison)
            )
        },
    )
}

/// Why a treatment that was not there gives no verdict.
fn not_delivered(comparison: &Comparison) -> String {
    let what = match comparison.role.treatment() {
        Treatment::WrittenSkills => "the agent wrote a skill",
        Treatment::Text => "the text was in a prompt that a model read",
        Treatment::Nothing | Treatment::Skills | Treatment::Library | Treatment::Unknown => {
            "the skills were in the sandbox and announced"
        }
    };
    let share = comparison.delivered.unwrap_or_default();
    format!(
        "Not delivered: {what} in {:.0}% of the condition's trials only, so there is no verdict.",
        100.0 * share
    )
}

/// What the interval of a comparison is.
pub(crate) fn interval_name(comparison: &Comparison) -> &'static str {
    match comparison.sequential.map(|rounds| rounds.ended) {
        Some(Some(End::SecondStage)) => "two-stage CI",
        Some(_) => "repeated CI",
        None => "CI",
    }
}

/// The tasks after the rounds, of a comparison that the rounds left open.
fn goes_on(rounds: Rounds) -> String {
    let more = rounds.more_tasks.map_or(0, |more| more.planned);
    let more = counted(more as usize, "more task", "more tasks");
    format!("Not decided {}: it goes on with {more}, as planned.", after_rounds(rounds, rounds.left_open()))
}

/// When the rounds ended, and why if it was before the last.
fn after_rounds(Rounds { round, rounds, .. }: Rounds, why: Option<End>) -> String {
    match why {
        Some(End::Futility) if round < rounds => {
            format!("after round {round} of {rounds} (a verdict in the remaining ones was improbable)")
        }
        _ => format!("after {}", counted(round as usize, "round", "rounds")),
    }
}

/// The round at which a comparison stopped, and why, if it is decided round by round.
fn rounds(comparison: &Comparison) -> Option<String> {
    let found = comparison.sequential?;
    let Rounds { round, rounds, ended, .. } = found;
    let spared = found.more_tasks.filter(|_| ended == Some(End::Verdict)).map_or(String::new(), |more| {
        let tasks = counted(more.planned as usize, "task", "tasks");
        format!(" The {tasks} after the rounds were not needed.")
    });
    Some(match ended {
        Some(End::SecondStage) => {
            let more = found.more_tasks.map_or(0, |more| more.planned);
            let more = counted(more as usize, "more task", "more tasks");
            format!(
                "Left open {}, then decided with {more}, as planned.",
                after_rounds(found, found.left_open())
            )
        }
        Some(End::Closed) if found.left_open().is_some() => {
            format!(
                "Closed before the tasks after the rounds were complete; left open {}.",
                after_rounds(found, found.left_open())
            )
        }
        None if found.left_open().is_some() => {
            format!("{} Run the experiment again to continue.", goes_on(found))
        }
        Some(End::Verdict) if round < rounds => format!("Stopped after round {round} of {rounds}.{spared}"),
        Some(End::Futility) => format!(
            "Stopped after round {round} of {rounds}: a verdict in the remaining rounds had a probability below {:.0}%.",
            100.0 * FUTILITY
        ),
        Some(End::Verdict | End::LastRound) => format!("Decided after the last of {rounds} rounds.{spared}"),
        Some(End::Closed) if round == 0 => format!("Closed before a round of {rounds} was complete."),
        Some(End::Closed) => format!("Closed after round {round} of {rounds}, before the rule had ended."),
        None if round == 0 => format!("No round of {rounds} has been looked at."),
        None => format!("Not decided after round {round} of {rounds}: run the experiment again to continue."),
    })
}

/// More comparisons than this are counted by verdict in an answer.
const SENTENCE: usize = 3;

/// The answer of a report in one sentence: the primary comparison if there is one, else each, and of many
/// how many have which verdict.
pub fn answer(report: &Report) -> String {
    let primary: Vec<&Comparison> = report.comparisons.iter().filter(|found| found.primary).collect();
    let chosen = if primary.is_empty() { report.comparisons.iter().collect() } else { primary };
    if report.interim && chosen.iter().all(|found| found.verdict.is_none()) {
        return interim_answer(report.progress, &chosen);
    }
    if chosen.len() > SENTENCE {
        let of = |kind| chosen.iter().filter(|found| found.verdict == Some(kind)).count();
        let open = chosen.iter().filter(|found| found.verdict.is_none()).count();
        let open = if open == 0 { String::new() } else { format!(", no verdict yet {open}") };
        let [helps, harms, negligible, inconclusive] =
            [VerdictKind::Helps, VerdictKind::Harms, VerdictKind::Negligible, VerdictKind::Inconclusive]
                .map(of);
        return format!(
            "Verdicts of {} comparisons: helps {helps}, harms {harms}, negligible {negligible}, inconclusive {inconclusive}{open}.",
            chosen.len()
        );
    }
    let several = chosen.iter().any(|found| found.who != chosen[0].who);
    let parts: Vec<String> = chosen
        .iter()
        .map(|comparison| {
            let who =
                if several { format!(" with {}", clean(comparison.who.short())) } else { String::new() };
            let figures = comparison.lift.zip(comparison.family).map_or_else(
                || format!("no CI, {}", units(comparison)),
                |(lift, family)| {
                    let between = points_between(Some([family.low, family.high]));
                    let name = interval_name(comparison);
                    format!("{}, {} {name} {between}, {}", pp(lift), level(family.level), units(comparison))
                },
            );
            let condition = clean(&comparison.condition);
            match comparison.verdict {
                Some(VerdictKind::Helps) => format!("`{condition}` helps{who} ({figures})"),
                Some(VerdictKind::Harms) => format!("`{condition}` harms{who} ({figures})"),
                Some(VerdictKind::Negligible) => {
                    format!("`{condition}` has a negligible effect{who} ({figures})")
                }
                None => format!("no verdict yet on `{condition}`{who} ({figures})"),
                Some(VerdictKind::Inconclusive) => {
                    format!("the effect of `{condition}`{who} is inconclusive ({figures})")
                }
            }
        })
        .collect();
    let text = match parts.as_slice() {
        [] => "No comparison: the run has a single condition".to_owned(),
        parts => parts.join("; "),
    };
    // The first word begins the sentence.
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |c| c.to_uppercase().to_string());
    format!("{first}{}.", letters.as_str())
}

/// The answer of a run that is not complete and has no verdict at all.
fn interim_answer(progress: Progress, chosen: &[&Comparison]) -> String {
    let several = chosen.iter().any(|found| found.who != chosen[0].who);
    let parts: Vec<String> = chosen
        .iter()
        .filter(|found| found.lift.is_some())
        .map(|found| {
            let who = if several { format!(" with {}", clean(found.who.short())) } else { String::new() };
            format!("`{}`{who} {}", clean(&found.condition), so_far(found))
        })
        .collect();
    if parts.is_empty() || parts.len() > SENTENCE {
        return format!("{}.", no_verdict(progress));
    }
    let early = if chosen.iter().all(|found| found.sequential.is_some()) {
        String::new()
    } else {
        format!(", {EARLY}")
    };
    format!("{}; so far {}{early}.", no_verdict(progress), parts.join("; "))
}

/// A comparison's condition and verdict with its explanation, in one line without color.
pub fn verdict_line(comparison: &Comparison, margin: f64) -> String {
    let sentence = sentence(comparison, margin);
    format!("{}: {}. {sentence}", clean(&comparison.condition), comparison.word())
}

/// The number of tasks, and of clusters: the units of the interval.
pub(crate) fn units(comparison: &Comparison) -> String {
    let tasks = counted(comparison.tasks, "task", "tasks");
    let Some(clusters) = comparison.clusters else { return tasks };
    let effective = comparison.effective_clusters.unwrap_or(clusters as f64);
    let weight = if (effective - clusters as f64).abs() < 0.05 {
        String::new()
    } else {
        format!(" ({effective:.1} effective)")
    };
    format!("{tasks} in {}{weight}", counted(clusters, "cluster", "clusters"))
}

/// The sample sizes needed to detect a lift of the observed size and one of the size of the margin;
/// `margin` is in percentage points.
fn needed(comparison: &Comparison, margin: f64) -> String {
    let about = |tasks: usize| format!("≈{}", counted(tasks, "task", "tasks"));
    let total = |tasks: usize| format!("{} in total", about(tasks));
    // With enough tasks already, only skew keeps the interval from excluding 0.
    let confirm = comparison.tasks_to_confirm.filter(|tasks| *tasks > comparison.tasks);
    match (confirm, comparison.tasks_needed) {
        (Some(confirm), Some(detect)) => format!(
            " {} would be needed to detect a lift of {}, and {} to detect a lift of ±{margin:.0} pp (80% power).",
            total(confirm),
            comparison.lift.map_or_else(String::new, pp),
            about(detect)
        ),
        (None, Some(detect)) => {
            format!(" {} would be needed to detect a lift of ±{margin:.0} pp (80% power).", total(detect))
        }
        (_, None) => String::new(),
    }
}

/// What the scores of a report are, in a few words.
pub(crate) fn outcome(report: &Report) -> String {
    let OutcomeTasks { score, pass } = report.outcome.tasks;
    match report.outcome.rule {
        None => "outcome: mean of the rewards (older plan)".to_owned(),
        Some(_) if report.outcome.is_pass() || !report.fractional_scores => "outcome: pass rate".to_owned(),
        Some(_) if pass == 0 => "outcome: score".to_owned(),
        Some(_) => format!(
            "outcome: score of {}, pass rate of {}",
            counted(score, "task", "tasks"),
            counted(pass, "task", "tasks")
        ),
    }
}

/// Trials without a score, and trials that count as failed whatever their reward.
pub(crate) fn lost(arms: &[&Arm], fractional: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for arm in arms.iter().filter(|arm| arm.infrastructure > 0) {
        let causes: Vec<String> = arm
            .infrastructure_causes
            .iter()
            .map(|(cause, n)| format!("{} {n}", clean(&cause.replace('_', " "))))
            .collect();
        // Imported tables do not state causes.
        let causes = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
        // Without a usable trial there is no rate to bound.
        let bounds = arm.bounds.map_or(String::new(), |[low, high]| {
            let rate = if fractional { "score" } else { "pass rate" };
            format!(
                "; the {rate} would be {} if all such trials had failed, and {} if all had passed",
                percent(low),
                percent(high)
            )
        });
        lines.push(format!(
            "{}: {} of {} ended with an infrastructure error{causes}{bounds}",
            clean(&arm.condition),
            arm.infrastructure,
            counted(arm.planned - arm.unfinished, "executed trial", "executed trials"),
        ));
    }
    for arm in arms.iter().filter(|arm| arm.tampered + arm.timed_out > 0) {
        lines.push(format!(
            "{}: {} tampered with, {} timed out; such trials count as failed",
            clean(&arm.condition),
            arm.tampered,
            arm.timed_out
        ));
    }
    lines
}

/// The models that replied to an agent, if its provider names them.
pub(crate) fn replied(report: &Report, who: &AgentKey) -> Option<String> {
    let own =
        |found: &&RepliedModel| found.agent == who.agent && Some(&found.requested) == who.model.as_ref();
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
    (!names.is_empty()).then(|| format!("responding model: {}", names.join(", ")))
}

/// Agent, model and sandbox.
pub(crate) fn who(key: &AgentKey) -> String {
    let model = key.model.as_ref().map_or(String::new(), |model| format!(" with {}", clean(model)));
    format!("{}{model} in {}", clean(&key.agent), clean(&key.sandbox))
}

/// Groups items by key, in order of first occurrence.
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

/// What a lift is a lift of, where attempts without the skill selected the tasks; `None` where nothing did.
pub(crate) fn estimand_sentence(selected_by: &[String]) -> Option<String> {
    let models: Vec<String> = selected_by.iter().map(|model| clean(model)).collect();
    (!models.is_empty()).then(|| {
        format!(
            "Estimand: the lift on tasks and items that {} failed without the skill when the suite was drafted, not on all work \
             to which the skill applies.",
            models.join(" and ")
        )
    })
}
