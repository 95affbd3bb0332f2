//! The rows of skills before any trial, and after all of them.

use assay_report::shell_word;

use crate::checks::CheckChanges;
use crate::document::{GateDocument, GateVerdict, SkillRow};
use crate::evaluation::{Change, Subject};
use crate::guards::violated_without_trials;
use crate::measured::{Gated, OPEN};
use crate::policy::{Missing, Policy};
use crate::terms::{SkillTerms, Terms};

/// The row of a skill before any trial: blocked until it is measured, if it changed.
pub(crate) fn first_row(subject: &Subject, terms: Option<&SkillTerms>, policy: &Policy) -> SkillRow {
    let (verdict, warn, reason) = first_word(subject, terms, policy);
    SkillRow {
        skill: subject.skill.clone(),
        lineage: subject.lineage.clone(),
        change: subject.change,
        from: subject.from.clone(),
        changed: subject.is_changed(),
        verdict,
        warn,
        reason,
        trials_executed: 0,
        trials_reused: 0,
        require: terms.filter(|_| subject.is_changed()).map(|terms| terms.rule.require.word()),
        run: None,
        lift: None,
        interval: None,
        bound: None,
        version: None,
        look: None,
        decision: None,
        reference_version: None,
        power_equal: None,
        tasks: terms.map(|terms| terms.tasks.len()),
        cost_usd: None,
        checks: CheckChanges::default(),
        keys: None,
        notes: Vec::new(),
    }
}

/// What is said of a skill before any trial, and whether it leaves the exit status as it is.
fn first_word(subject: &Subject, terms: Option<&SkillTerms>, policy: &Policy) -> (GateVerdict, bool, String) {
    let missing = |missing: Missing, reason: String| match missing {
        Missing::Warn => (GateVerdict::Undecided, true, reason),
        Missing::Fail => (GateVerdict::Fail, false, reason),
    };
    if let Some(problem) = &subject.problem {
        return (GateVerdict::Blocked, false, problem.clone());
    }
    if subject.change == Change::Removed {
        return (GateVerdict::Nothing, false, "removed".to_owned());
    }
    if !subject.is_covered {
        return missing(
            policy.without_experiment,
            "not measured: no rule of the policy covers it".to_owned(),
        );
    }
    if subject.is_same {
        let reason = match &subject.from {
            Some(from) => format!("the same as {from} at the base revision"),
            None => "same as at the base revision".to_owned(),
        };
        return (GateVerdict::Nothing, false, reason);
    }
    if let Some(own) = &subject.untrusted {
        let findings = violated_without_trials(own);
        let findings = if findings.is_empty() { String::new() } else { format!("; {}", findings.join("; ")) };
        let reason = format!(
            "tasks not yet trusted: the pull request's rules demand {}; a maintainer applies them with --trust-changes \
             SHA{findings}",
            own.describe_demand()
        );
        if !findings.is_empty() {
            return (GateVerdict::Fail, false, reason);
        }
        return (GateVerdict::Undecided, policy.new_skill == Missing::Warn, reason);
    }
    let Some(terms) = terms.filter(|terms| terms.package.is_some()) else {
        return (
            GateVerdict::Fail,
            false,
            format!("its SKILL.md cannot be read: `assay lint {}` says why", shell_word(&subject.skill)),
        );
    };
    if terms.experiment.is_none() || terms.tasks.is_empty() {
        let why = terms.problem.clone().unwrap_or_else(|| "the policy names no experiment for it".to_owned());
        return missing(policy.without_experiment, format!("not measured: {why}"));
    }
    (GateVerdict::Blocked, false, OPEN.to_owned())
}

/// The reason of a skill whose look is opened, and nothing else was to be done.
const OPENED: &str = "the look is opened; no trial was executed";

/// Says that the look at a skill is opened.
pub(crate) fn note_opened(row: &mut SkillRow) {
    row.verdict = GateVerdict::Undecided;
    row.warn = true;
    OPENED.clone_into(&mut row.reason);
}

/// Whether that is said of a skill.
pub(crate) fn is_opened(row: &SkillRow) -> bool {
    row.verdict == GateVerdict::Undecided && row.reason == OPENED
}

/// Notes what can be said of open skills without a trial: findings of the linter and of the scanner, and what the trials would
/// be.
pub(crate) fn check_without_trials(gated: &mut [Gated], terms: &Terms) {
    for gated in gated.iter_mut().filter(|gated| gated.is_open()) {
        let Some(of) = terms.skills.get(&gated.row.skill) else { continue };
        gated.row.notes.extend(violated_without_trials(of));
        let trials = assay_report::counted(of.planned_trials(), "trial", "trials");
        gated.row.notes.push(format!("{trials} each time: without a key no recorded trial is reused"));
    }
}

/// Blocks what would pass by rules that the pull request weakens: the next one would be judged by the weaker rules. What does
/// not pass stays as it is.
pub(crate) fn block_weakened(document: &mut GateDocument, head: &str) {
    if document.weakened.is_empty() {
        return;
    }
    let reason =
        "the pull request weakens the rules: a maintainer applies the change with --trust-changes SHA";
    for row in document.skills.iter_mut().filter(|row| row.verdict == GateVerdict::Pass) {
        row.verdict = GateVerdict::Blocked;
        row.reason = format!("{reason}; {}", row.reason);
    }
    let worst = document.skills.iter().filter(|row| !row.warn).map(|row| row.verdict).max();
    if worst.is_none_or(GateVerdict::is_green) {
        document.verdict = GateVerdict::Blocked;
    } else {
        document.verdict =
            document.skills.iter().map(|row| row.verdict).max().unwrap_or(GateVerdict::Blocked);
    }
    document.notes.push(format!("{head}: {reason}: {}", document.weakened.join("; ")));
}
