//! What the results of a gate's skills show.

use assay_analysis::{Evidence, Report};
use assay_report::{counted, points, pp};
use assay_stats::{Interval, SessionDrift, mcnemar};

use crate::checks::CheckChanges;
use crate::decide::{Claim, Decision, Outcome};
use crate::document::{GateVerdict, SkillRow};
use crate::guards::violated_guards;
use crate::measured::{CONDITION, Gated, LookLevel, Measured};
use crate::policy::{OnUndecided, Policy};
use crate::rounds::{Round, decide_rounds};
use crate::terms::{SkillTerms, Terms};

/// A claim with the number of its skill; its results are `None` where trials are missing.
struct Tested<'a> {
    skill: usize,
    results: Option<(&'a Measured, &'a Evidence)>,
    look: LookLevel,
}

/// The claims of all skills whose looks are opened.
fn claims<'a>(terms: &Terms, gated: &'a [Gated]) -> (Vec<(Claim, Option<Round>)>, Vec<Tested<'a>>) {
    let (mut claims, mut tested) = (Vec::new(), Vec::new());
    for (skill, gated) in gated.iter().enumerate() {
        let Some((look, of)) = gated.look.zip(terms.skills.get(&gated.row.skill)) else { continue };
        let Some(measured) = &gated.measured else {
            // It has its share of a budget that others share with it.
            claims.push((claim_of(&gated.row.skill, of, look), None));
            tested.push(Tested { skill, results: None, look });
            continue;
        };
        for evidence in &measured.evidence {
            let claim = Claim {
                tasks: evidence.tasks.clone(),
                reference: measured.against_reference(&evidence.who),
                reference_level: measured.reference_level(),
                drift: measured.drift.map_or(SessionDrift::NONE, |drift| drift.between),
                ..claim_of(&gated.row.skill, of, look)
            };
            claims.push((claim, measured.round.clone()));
            tested.push(Tested { skill, results: Some((measured, evidence)), look });
        }
    }
    (claims, tested)
}

/// The claim about a skill without any result.
pub(crate) fn claim_of(skill: &str, of: &SkillTerms, look: LookLevel) -> Claim {
    Claim {
        skill: skill.to_owned(),
        require: of.rule.require,
        margin: of.rule.margin,
        tasks: Vec::new(),
        reference: None,
        reference_level: look.reference_level,
        level: look.level,
        drift: SessionDrift::NONE,
    }
}

/// The numbers of the skills with results that need another round.
pub(crate) fn find_undecided(policy: &Policy, terms: &Terms, gated: &[Gated]) -> Vec<usize> {
    let (claims, tested) = claims(terms, gated);
    let decisions = decide_rounds(&claims, policy.budget_scope);
    let outcomes = |skill: usize| {
        let own = tested.iter().zip(&decisions).filter(move |(tested, _)| tested.skill == skill);
        own.map(|(_, decision)| decision.outcome).collect::<Vec<_>>()
    };
    let is_open = |skill: &usize| {
        let found = outcomes(*skill);
        // One agent that refutes the claim decides it.
        !found.contains(&Outcome::Fail) && found.contains(&Outcome::Undecided)
    };
    (0..gated.len())
        .filter(|skill| gated.get(*skill).is_some_and(|gated| gated.measured.is_some()))
        .filter(is_open)
        .collect()
}

/// Decides on every skill that was measured, each at the level of its look.
pub(crate) fn decide_skills(policy: &Policy, terms: &Terms, gated: &mut [Gated]) {
    let (claims, tested) = claims(terms, gated);
    let decisions = decide_rounds(&claims, policy.budget_scope);
    let mut rows: Vec<(usize, SkillRow)> = Vec::new();
    for (((claim, _), decision), Tested { skill: number, results, look }) in
        claims.iter().zip(decisions).zip(&tested)
    {
        let old = &gated[*number].row;
        let Some((measured, evidence)) = results else { continue };
        let (verdict, mut reason) = decide_skill(claim, &decision, &terms.skills[&claim.skill], measured);
        if measured.evidence.len() > 1 {
            reason = format!("{}: {reason}", evidence.who.short());
        }
        if let Some((_, row)) = rows.iter_mut().find(|(known, _)| known == number) {
            // Every agent must show it.
            row.reason = format!("{}; {reason}", row.reason);
            row.verdict = row.verdict.max(verdict);
            row.warn = row.verdict == GateVerdict::Undecided && policy.on_undecided == OnUndecided::Warn;
            continue;
        }
        let mut notes = old.notes.clone();
        notes.extend(notes_of(measured, *look));
        rows.push((
            *number,
            SkillRow {
                verdict,
                warn: verdict == GateVerdict::Undecided && policy.on_undecided == OnUndecided::Warn,
                reason,
                trials_executed: measured.executed,
                trials_reused: measured.reused,
                run: Some(measured.run.clone()),
                lift: assay_stats::lift(&claim.tasks, 0.95).map(|estimate| estimate.mean),
                interval: claim.interval_at(decision.level).map(|interval| [interval.low, interval.high]),
                version: Some(look.version),
                look: Some(look.look),
                bound: Some(claim.bound()),
                tasks: Some(claim.tasks.len()),
                decision: Some(decision),
                reference_version: measured.reference_record(),
                checks: CheckChanges::of(&measured.report, CONDITION.name()),
                keys: measured.report.origins,
                cost_usd: Some(measured.spent_usd),
                notes,
                ..old.clone()
            },
        ));
    }
    for (number, row) in rows {
        gated[number].row = row;
    }
}

/// The word and the reason of a decision, with the requirements beside the lift.
fn decide_skill(
    claim: &Claim,
    decision: &Decision,
    of: &SkillTerms,
    measured: &Measured,
) -> (GateVerdict, String) {
    let mut word = GateVerdict::from(decision.outcome);
    let mut reason = reason(claim, decision);
    if let Some(limit) = of.rule.exact_p {
        let pairs = || claim.tasks.iter().flat_map(|task| task.arm.iter().zip(&task.base));
        let count =
            |holds: fn(f64, f64) -> bool| pairs().filter(|(arm, base)| holds(**arm, **base)).count() as u64;
        let (better, worse) = (count(|arm, base| arm > base), count(|arm, base| arm < base));
        let p = mcnemar(better, worse);
        if p > limit || worse >= better {
            word = word.max(GateVerdict::Undecided);
            reason.push_str(&format!(
                "; McNemar's exact p {p:.4}, at most {limit} in the skill's favor required"
            ));
        }
    }
    for known in known_canaries(&measured.report) {
        reason.push_str(&format!("; {known}"));
    }
    let violated = violated_guards(of, Some(&measured.report));
    if !violated.is_empty() {
        word = GateVerdict::Fail;
        reason.push_str(&format!("; guards: {}", violated.join("; ")));
    }
    (word, reason)
}

/// What baselines know of the skill that nobody can guess. It decides nothing: a baseline that is not blind makes a lift
/// smaller.
fn known_canaries(report: &Report) -> Vec<String> {
    let canaries = report.item_sets.iter().flat_map(|sets| &sets.canaries).filter(|found| found.known > 0);
    canaries
        .map(|found| {
            format!(
                "the baseline knows {} of {}: not blind to this skill",
                found.known,
                counted(found.total, "canary", "canaries")
            )
        })
        .collect()
}

/// The reason of a decision on a claim.
fn reason(claim: &Claim, decision: &Decision) -> String {
    let (require, tasks) = (claim.require.word(), counted(claim.tasks.len(), "task", "tasks"));
    let Some(p) = decision.p else { return format!("{require} is not shown: no CI with {tasks}") };
    let interval = claim.interval_at(decision.level);
    let lift = assay_stats::lift(&claim.tasks, 0.95).map(|estimate| estimate.mean);
    let figures = lift.zip(interval).map_or(String::new(), |(lift, Interval { low, high })| {
        format!(": {} ({} to {})", pp(lift), points(low), points(high))
    });
    let short = |p: f64| if p < 0.0001 { "p < 0.0001".to_owned() } else { format!("p = {p:.4}") };
    let against = decision.reference.filter(|test| test.outcome != Outcome::Pass).map(|test| {
        format!(
            "; against the reference version: {}, {} (at most {:.4})",
            test.lift.map_or("no lift".to_owned(), pp),
            test.p.map_or("no p".to_owned(), short),
            test.level
        )
    });
    let needed = (decision.outcome == Outcome::Undecided)
        .then(|| tasks_needed(claim, decision, lift?, interval?))
        .flatten()
        .map(|needed| format!("; about {needed} tasks would show a lift of this size"));
    format!(
        "{require} {}{figures}, one-sided {} (at most {:.4}), {tasks}{}{}",
        match decision.outcome {
            Outcome::Pass => "is shown",
            Outcome::Undecided => "is not shown",
            Outcome::Fail => "is refuted",
        },
        short(p),
        decision.level,
        against.unwrap_or_default(),
        needed.unwrap_or_default()
    )
}

/// How many tasks would show a claim whose results stay as they are: the interval's length falls with their root. `None` for a
/// lift that does not meet the claim, and where the test against the reference version is what is missing.
fn tasks_needed(claim: &Claim, decision: &Decision, lift: f64, interval: Interval) -> Option<usize> {
    let distance = lift - claim.bound();
    if distance < 0.01 || decision.p.is_some_and(|p| p <= decision.level) {
        return None;
    }
    let needed = claim.tasks.len() as f64 * ((lift - interval.low) / distance).powi(2);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 10,000 times the tasks"
    )]
    Some(needed.ceil() as usize)
}

fn notes_of(measured: &Measured, look: LookLevel) -> Vec<String> {
    let mut notes = Vec::new();
    if look.version > 1 {
        notes.push(format!("version {} since the last merge: versions share the error budget", look.version));
    }
    if look.look > 1 {
        notes.push(format!("look {} at this version: reruns share the error budget", look.look));
    }
    if let Some(drift) = measured.drift {
        notes.push(format!(
            "baseline reused: a drift of {:.1} pp (sd) is part of the interval; the sentinel detects a drift of {} with 80% power and shows {}",
            100.0 * drift.between.sd,
            drift.detectable.map_or("no size".to_owned(), |drift| format!("{:.0} pp", 100.0 * drift)),
            drift.observed.map_or("no drift".to_owned(), pp)
        ));
    }
    let unproven = measured.report.origins.filter(|found| found.unsigned > 0 || found.imported > 0);
    notes.extend(unproven.map(assay_report::record_origins));
    notes
}

#[cfg(test)]
mod tests {
    use assay_analysis::{Gathered, analyze};
    use assay_store::{Record, RunFolder};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_baseline_that_knows_canaries_is_part_of_the_reason() {
        let reasons = |status: &str| {
            let cell = |condition: &str| {
                json!({ "task": "t", "agent": 0, "sandbox": "none", "condition": condition, "repetition": 1,
                    "trial": "0".repeat(64) })
            };
            let run: RunFolder = serde_json::from_value(json!({
                "schema": "assay.plan/1", "run": "r", "plan": "", "margin": 0.1, "seed": 1, "repetitions": 1,
                "conditions": ["none", "curated"], "disclosure": "offered",
                "agents": [{ "label": { "name": "loop", "version": "1", "model": null }, "measures_a_model": true }],
                "tasks": [{ "name": "t", "digest": "" }], "cells": [cell("none"), cell("curated")],
                "excluded": [], "equal_conditions": [],
            }))
            .unwrap();
            let test = |item: &str, status: &str| json!({ "name": item, "status": status, "extra": { "set": "if", "item": item, "canary": true } });
            let record: Record = serde_json::from_value(json!({
                "schema": "assay.record/3", "trial": "0".repeat(64), "task": "t",
                "agent": { "name": "loop", "version": "1", "model": null }, "sandbox": "none", "condition": "none",
                "repetition": 1, "outcome": "failed", "reward": 0.0, "turns": 2, "usage": null, "cost_usd": null,
                "seconds": { "prepare": 0.0, "agent": 1.0, "throttled": 0.0, "verify": 1.0, "total": 2.0 },
                "exposure": [], "measures_a_model": true, "attempt": 1, "started_at": null, "finished_at": null,
                "ctrf": { "tests": [test("d1", status), test("d2", "failed")] },
            }))
            .unwrap();
            let gathered = Gathered::from_records(&run, &[], |_| Ok(Some(record.clone()))).unwrap();
            known_canaries(&analyze(&run, &gathered))
        };
        assert_eq!(reasons("passed"), ["the baseline knows 1 of 2 canaries: not blind to this skill"]);
        assert_eq!(reasons("failed"), Vec::<String>::new());
    }
}
