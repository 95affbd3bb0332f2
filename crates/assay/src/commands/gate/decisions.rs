//! What the results of a gate's skills show, and what they could show.

use assay_gate::{
    Claim, Numbers, OnUndecided, Policy, Requirement, SkillTerms, Terms, best_case, decide, level_of_look,
};
use assay_report::{counted, pp};
use assay_stats::{mcnemar, p_above};

use super::checks::CheckChanges;
use super::measure::Measured;
use super::output::{SkillRow, Word};
use super::{Gated, guards, output};
use crate::failure::Failure;

/// Refuses requirements that no result can meet, with the arithmetic.
pub(super) fn check_feasible(policy: &Policy, open: &[(&String, &SkillTerms)]) -> Result<(), Failure> {
    let counted_looks = policy.ledger.is_some();
    let mut problems = Vec::new();
    let mut claims = Vec::new();
    for (name, terms) in open {
        let Some(experiment) = &terms.experiment else { continue };
        let (rule, tasks) = (&terms.rule, terms.tasks.len());
        let repetitions = experiment.repetitions as usize;
        let baseline = rule.expected_baseline.map_or(0.0, |[passed, all]| passed as f64 / all as f64);
        if let Some(limit) = rule.exact_p {
            let trials = (tasks * repetitions) as u64;
            let (passed, all) = rule.expected_baseline.map_or((0, trials), |[passed, all]| (passed, all));
            let failed = all - passed;
            let smallest = mcnemar(failed, 0);
            if smallest > limit {
                problems.push(format!(
                    "{name}: `exact_p` of {limit} is unattainable: the baseline passes {passed} of {all} trials, so only {} can differ in the skill's favor, and the smallest two-sided p of McNemar's test is 2 × ½^{failed} = {smallest:.4}",
                    counted(failed, "pair", "pairs")
                ));
            }
        }
        let claim = Claim {
            skill: (*name).clone(),
            require: rule.require,
            margin: rule.margin,
            tasks: best_case(rule.require, tasks, repetitions, baseline),
            look: 1,
            drift: 0.0,
        };
        let level = level_of_look(policy.error_budget, 1, counted_looks);
        match p_above(&claim.tasks, claim.bound(), 0.0) {
            None => problems.push(format!(
                "{name}: a confidence interval needs at least 5 tasks; the experiment has {tasks} for this skill"
            )),
            Some(p) if p > level => problems.push(format!(
                "{name}: `{}` is unattainable: the best possible result of {} with {} ({}) has p = {p:.4}, above the level {level:.4}",
                rule.require.word(),
                counted(tasks, "task", "tasks"),
                counted(repetitions, "repetition", "repetitions"),
                match rule.require {
                    Requirement::Helps => format!("a lift of {} over a baseline of {:.0}%", pp(1.0 - baseline), 100.0 * baseline),
                    Requirement::NotHarmful | Requirement::NonInferior => format!("no difference, margin {}", pp(rule.margin)),
                }
            )),
            Some(_) => claims.push(claim),
        }
    }
    if problems.is_empty() {
        let decisions = decide(&claims, policy.error_budget, counted_looks);
        for (claim, decision) in claims.iter().zip(decisions).filter(|(_, decision)| !decision.shown) {
            problems.push(format!(
                "{}: even the best possible results of all {} do not meet the shared error budget: p = {:.4}, above {:.4} (Holm)",
                claim.skill,
                counted(claims.len(), "skill", "skills"),
                decision.p.unwrap_or(1.0),
                decision.level
            ));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::bad_input(format!("the policy cannot be met by any result: {}", problems.join("; ")))
        .hint("no trial was run; add tasks or repetitions, or change what the policy requires"))
}

/// Decides on every skill that was measured: all claims share the error budget.
pub(super) fn decide_skills(
    policy: &Policy,
    terms: &Terms,
    gated: &mut [Gated],
    numbers: &dyn Fn(&str) -> Option<Numbers>,
) {
    let mut claims = Vec::new();
    let mut owners = Vec::new();
    for (number, gated) in gated.iter().enumerate() {
        let Some(measured) = &gated.measured else { continue };
        let of = &terms.skills[&gated.row.skill];
        for evidence in &measured.evidence {
            owners.push((number, evidence));
            claims.push(Claim {
                skill: gated.row.skill.clone(),
                require: of.rule.require,
                margin: of.rule.margin,
                tasks: evidence.tasks.clone(),
                look: numbers(&gated.row.skill).map_or(1, |numbers| numbers.look),
                drift: measured.drift.map_or(0.0, |drift| drift.sd),
            });
        }
    }
    let decisions = decide(&claims, policy.error_budget, true);
    let mut rows: Vec<(usize, SkillRow)> = Vec::new();
    for ((claim, decision), (number, evidence)) in claims.iter().zip(decisions).zip(&owners) {
        let old = &gated[*number];
        let Some(measured) = &old.measured else { continue };
        let of = &terms.skills[&claim.skill];
        let lift = assay_stats::lift(&claim.tasks, 0.95).map(|estimate| estimate.mean);
        let interval = assay_stats::interval_with_drift(&claim.tasks, decision.level, claim.drift)
            .map(|interval| [interval.low, interval.high]);
        let mut reason =
            output::reason(claim.require.word(), &decision, lift.zip(interval), claim.tasks.len());
        let mut shown = decision.shown;
        if measured.evidence.len() > 1 {
            reason = format!("{}: {reason}", evidence.who.short());
        }
        if let Some(limit) = of.rule.exact_p {
            let pairs = || claim.tasks.iter().flat_map(|task| task.arm.iter().zip(&task.base));
            let count = |holds: fn(f64, f64) -> bool| {
                pairs().filter(|(arm, base)| holds(**arm, **base)).count() as u64
            };
            let p = mcnemar(count(|arm, base| arm > base), count(|arm, base| arm < base));
            let worse = count(|arm, base| arm < base) >= count(|arm, base| arm > base);
            if p > limit || worse {
                shown = false;
                reason.push_str(&format!(
                    "; McNemar's exact p {p:.4}, at most {limit} in the skill's favor required"
                ));
            }
        }
        let violated = guards::violated(of, Some(&measured.report));
        if !violated.is_empty() {
            shown = false;
            reason.push_str(&format!("; guards: {}", violated.join("; ")));
        }
        let is_refuted = interval.is_some_and(|[_, high]| high <= claim.bound());
        let verdict = match shown {
            true => Word::Pass,
            false if is_refuted || !violated.is_empty() => Word::Fail,
            false => Word::Undecided,
        };
        if let Some((_, row)) = rows.iter_mut().find(|(known, _)| known == number) {
            // Every agent must show it.
            row.reason = format!("{}; {reason}", row.reason);
            row.verdict = row.verdict.max(verdict);
            continue;
        }
        let mut notes = Vec::new();
        if claim.look > 1 {
            notes.push(format!("look {} at this version: reruns share the error budget", claim.look));
        }
        if let Some(drift) = measured.drift {
            notes.push(format!(
                "baseline reused: a drift of {:.1} pp (sd) is part of the interval; the sentinel detects a drift of {} with 80% power and shows {}",
                100.0 * drift.sd,
                drift.detectable.map_or("no size".to_owned(), |drift| format!("{:.0} pp", 100.0 * drift)),
                drift.observed.map_or("none".to_owned(), pp)
            ));
        }
        let unproven = measured.report.origins.filter(|found| found.unsigned > 0 || found.imported > 0);
        notes.extend(unproven.map(assay_report::record_origins));
        rows.push((
            *number,
            SkillRow {
                verdict,
                warn: verdict == Word::Undecided && policy.on_undecided == OnUndecided::Warn,
                reason,
                trials_executed: measured.executed,
                trials_reused: measured.reused,
                run: Some(measured.run.clone()),
                lift,
                interval,
                look: Some(claim.look),
                decision: Some(decision),
                checks: CheckChanges::of(&measured.report),
                keys: measured.report.origins,
                bound: Some(claim.bound()),
                tasks: Some(claim.tasks.len()),
                cost_usd: Some(measured.spent_usd),
                notes,
                ..old.row.clone()
            },
        ));
    }
    for (number, row) in rows {
        gated[number].row = row;
    }
}

/// A hash of all results of a skill.
pub(super) fn measured_digest(measured: &Measured) -> String {
    let digests: Vec<&str> = measured.evidence.iter().map(|evidence| evidence.digest.as_str()).collect();
    format!("blake3:{}", blake3::hash(digests.join(" ").as_bytes()).to_hex())
}
