//! `assay gate`: do changed skills meet a policy?

mod base;
mod checks;
mod guards;
mod measure;
mod output;
mod self_check;

use std::path::Path;

use assay_gate::{
    Claim, Ledger, LedgerEntry, LedgerError, Missing, Policy, Requirement, SkillEntry, SkillTerms, Terms,
    best_case, decide, level_of_look, weakened,
};
use assay_report::{counted, pp, shell_word};
use assay_stats::{mcnemar, p_above};
use assay_trial::MachineContext;

use self::base::Base;
use self::checks::CheckChanges;
use self::measure::{Gate, Measured, Unmeasured};
use self::output::{Document, SkillRow, Word};
use crate::args::gate::GateArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// The format of the ledger's lines.
const LEDGER: &str = "assay.gate-ledger/1";

/// A skill with what was measured.
struct Gated {
    row: SkillRow,
    measured: Option<Measured>,
}

pub(crate) fn run(args: &GateArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if args.max_usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
        return Err(Failure::bad_input("`--max-usd` must be an amount of at least 0"));
    }
    let policy = Policy::load(&args.policy)?;
    if args.self_check {
        return self_check::run(args, &policy, settings, ui);
    }
    let terms = Terms::of(&policy);
    let base = args.changed_since.as_deref().map(|revision| Base::checkout(&policy, revision)).transpose()?;
    let before = base.as_ref().and_then(Base::terms);
    let weaker = before.as_ref().map_or(Vec::new(), |before| {
        weakened(before, &terms, |skill| policy.directory.join(skill).join("SKILL.md").is_file())
    });
    let mut document = Document {
        schema: "assay.gate/1",
        policy: args.policy.display().to_string(),
        policy_hash: terms.hash.clone(),
        commit: base::commit(&policy.directory),
        changed_since: args.changed_since.clone(),
        verdict: Word::Pass,
        weakened: weaker,
        skills: Vec::new(),
        notes: Vec::new(),
    };
    if base.is_some() && before.is_none() {
        document.notes.push("The base revision has no policy to compare with.".to_owned());
    }
    let mut gated: Vec<Gated> = terms
        .skills
        .iter()
        .map(|(name, of)| Gated { row: row(name, of, base.as_ref(), &policy), measured: None })
        .collect();
    if !document.weakened.is_empty() {
        // No trial of a policy that demands less.
        document.verdict = Word::Fail;
        document.skills = gated.into_iter().map(|gated| gated.row).collect();
        return finish(&document, args, ui);
    }
    let (mut ledger, missing) = open_ledger(args, &policy);
    document.notes.extend(missing.note);
    if let Some(reason) = missing.blocked {
        document.verdict = Word::Blocked;
        document.notes.push(reason);
        document.skills = gated.into_iter().map(|gated| gated.row).collect();
        return finish(&document, args, ui);
    }
    let is_open = |gated: &Gated| gated.row.changed && gated.row.verdict == Word::Blocked;
    let open: Vec<(&String, &SkillTerms)> = gated
        .iter()
        .filter(|gated| is_open(gated))
        .filter_map(|gated| terms.skills.get_key_value(&gated.row.skill))
        .collect();
    check_feasible(&policy, &open)?;
    if !open.is_empty() {
        let store = machine::open_store(&settings.store)?;
        let cancel = machine::interrupted()?;
        assay_trial::clean_up(&store);
        machine::remove_stale_containers(&store);
        let sandboxes = machine::sandboxes_for(settings)?;
        let permissions = args.permissions.permissions();
        let here = MachineContext { permissions, ..machine::context(&sandboxes, None) };
        let mut gate = Gate {
            args,
            settings,
            store: &store,
            machine: &here,
            cancel: &cancel,
            reuse: policy.reuse,
            budget: args.max_usd,
            policy_hash: &terms.hash,
            ui,
        };
        for gated in gated.iter_mut().filter(|gated| is_open(gated)) {
            let of = &terms.skills[&gated.row.skill];
            ui.note(&format!("{}: {}", gated.row.skill, of.rule.require.word()));
            // The version at the base, if the skill was there.
            let commit = base.as_ref().filter(|base| base.digest(&gated.row.skill).is_some());
            match gate.measure(&gated.row.skill, of, commit.map(|base| base.commit.as_str())) {
                Ok(measured) => gated.measured = Some(measured),
                Err(Unmeasured::Blocked(reason)) => gated.row.reason = reason,
                Err(Unmeasured::Failed(failure)) => return Err(failure),
            }
        }
    }
    decide_skills(&policy, &terms, &mut gated, ledger.as_ref());
    if let Some(ledger) = &mut ledger {
        record(ledger, &document, &gated, &terms)?;
    }
    document.skills = gated.into_iter().map(|gated| gated.row).collect();
    document.verdict = document.skills.iter().map(|row| row.verdict).max().unwrap_or(Word::Pass);
    if matches!(document.verdict, Word::Unchanged | Word::Warn) {
        document.verdict = Word::Pass;
    }
    finish(&document, args, ui)
}

/// The row of a skill before any trial: blocked until it is measured, if it changed.
fn row(name: &str, terms: &SkillTerms, base: Option<&Base>, policy: &Policy) -> SkillRow {
    let digest = terms.package.as_ref().map(|package| package.digest);
    let changed = base.is_none_or(|base| digest.is_none() || base.digest(name) != digest);
    let (verdict, reason) = if !changed {
        (Word::Unchanged, "same as at the base revision".to_owned())
    } else if terms.package.is_none() {
        (Word::Fail, format!("its SKILL.md cannot be read: `assay lint {}` says why", shell_word(name)))
    } else if terms.experiment.is_none() || terms.tasks.is_empty() {
        let why = terms.problem.clone().unwrap_or_else(|| "the policy names no experiment for it".to_owned());
        let verdict = if policy.without_experiment == Missing::Warn { Word::Warn } else { Word::Fail };
        (verdict, format!("not measured: {why}"))
    } else {
        (Word::Blocked, "not measured".to_owned())
    };
    SkillRow {
        skill: name.to_owned(),
        changed,
        verdict,
        reason,
        trials_executed: 0,
        trials_reused: 0,
        require: changed.then_some(terms.rule.require.word()),
        run: None,
        lift: None,
        interval: None,
        look: None,
        decision: None,
        checks: CheckChanges::default(),
        keys: None,
        notes: Vec::new(),
    }
}

/// What a ledger that cannot be read means.
#[derive(Default)]
struct MissingLedger {
    note: Option<String>,
    blocked: Option<String>,
}

fn open_ledger(args: &GateArgs, policy: &Policy) -> (Option<Ledger>, MissingLedger) {
    let Some(spec) = &policy.ledger else {
        let note = Some("The policy has no ledger: reruns are not counted.".to_owned());
        return (None, MissingLedger { note, blocked: None });
    };
    let blocked = |reason: String| (None, MissingLedger { note: None, blocked: Some(reason) });
    match Ledger::read(&spec.place, &policy.directory) {
        Ok(ledger) => (Some(ledger), MissingLedger::default()),
        Err(LedgerError::Missing(_)) if args.create_ledger || !spec.required => {
            (Some(Ledger::empty(&spec.place, &policy.directory)), MissingLedger::default())
        }
        Err(error @ LedgerError::Missing(_)) => blocked(format!(
            "{error}, so earlier looks at these skills are unknown: restore it, or begin a new one with --create-ledger"
        )),
        Err(error) => blocked(error.to_string()),
    }
}

/// Refuses requirements that no result can meet, with the arithmetic.
fn check_feasible(policy: &Policy, open: &[(&String, &SkillTerms)]) -> Result<(), Failure> {
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
fn decide_skills(policy: &Policy, terms: &Terms, gated: &mut [Gated], ledger: Option<&Ledger>) {
    let mut claims = Vec::new();
    let mut owners = Vec::new();
    for (number, gated) in gated.iter().enumerate() {
        let Some(measured) = &gated.measured else { continue };
        let of = &terms.skills[&gated.row.skill];
        let digest = of.package.as_ref().map_or(String::new(), |package| package.digest.to_string());
        for evidence in &measured.evidence {
            owners.push((number, evidence));
            claims.push(Claim {
                skill: gated.row.skill.clone(),
                require: of.rule.require,
                margin: of.rule.margin,
                tasks: evidence.tasks.clone(),
                look: ledger.map_or(1, |ledger| {
                    ledger.look_number(&gated.row.skill, &digest, &measured_digest(measured))
                }),
                drift: measured.drift.map_or(0.0, |drift| drift.sd),
            });
        }
    }
    let decisions = decide(&claims, policy.error_budget, ledger.is_some());
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
        let verdict = if shown { Word::Pass } else { Word::Fail };
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
                skill: claim.skill.clone(),
                changed: true,
                verdict,
                reason,
                trials_executed: measured.executed,
                trials_reused: measured.reused,
                require: Some(claim.require.word()),
                run: Some(measured.run.clone()),
                lift,
                interval,
                look: Some(claim.look),
                decision: Some(decision),
                checks: CheckChanges::of(&measured.report),
                keys: measured.report.origins,
                notes,
            },
        ));
    }
    for (number, row) in rows {
        gated[number].row = row;
    }
}

/// A hash of all results of a skill.
fn measured_digest(measured: &Measured) -> String {
    let digests: Vec<&str> = measured.evidence.iter().map(|evidence| evidence.digest.as_str()).collect();
    format!("blake3:{}", blake3::hash(digests.join(" ").as_bytes()).to_hex())
}

/// Appends the looks of a gate to the ledger, unless it has them all.
fn record(ledger: &mut Ledger, document: &Document, gated: &[Gated], terms: &Terms) -> Result<(), Failure> {
    let mut skills = Vec::new();
    for Gated { row, measured } in gated {
        let (Some(measured), Some(look)) = (measured, row.look) else { continue };
        let package = terms.skills[&row.skill].package.as_ref();
        skills.push(SkillEntry {
            skill: row.skill.clone(),
            digest: package.map_or(String::new(), |package| package.digest.to_string()),
            evidence: measured_digest(measured),
            look,
            p: row.decision.and_then(|decision| decision.p),
            verdict: row.verdict.word().to_owned(),
        });
    }
    let known = |entry: &SkillEntry| {
        ledger.entries.iter().flat_map(|line| &line.skills).any(|known| {
            known.skill == entry.skill && known.digest == entry.digest && known.evidence == entry.evidence
        })
    };
    if skills.iter().all(known) {
        return Ok(());
    }
    let entry = LedgerEntry {
        schema: LEDGER.to_owned(),
        at: jiff::Timestamp::now().to_string(),
        commit: document.commit.clone(),
        policy_hash: document.policy_hash.clone(),
        skills,
        previous: String::new(),
    };
    ledger.append(entry).map_err(|error| Failure::infrastructure(error.to_string()))
}

/// Writes what was asked for, and the summary of a GitHub workflow step.
fn finish(document: &Document, args: &GateArgs, ui: &Ui) -> Result<Status, Failure> {
    if ui.json() {
        ui.document(document)?;
    } else {
        ui.out(&document.text())?;
    }
    if let Some(path) = &args.junit {
        let xml = document.junit().map_err(|error| Failure::infrastructure(error.to_string()))?;
        write(path, &xml, false)?;
    }
    if let Some(path) = &args.comment {
        write(path, &document.comment(), false)?;
    }
    if let Some(path) = machine::env("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
        write(Path::new(&path), &document.comment(), true)?;
    }
    Ok(match document.verdict {
        Word::Pass | Word::Unchanged | Word::Warn => Status::Done,
        Word::Fail => Status::DidNotHold,
        Word::Blocked => Status::Infrastructure,
    })
}

fn write(path: &Path, text: &str, append: bool) -> Result<(), Failure> {
    let written = std::fs::OpenOptions::new()
        .create(true)
        .write(true)
        .append(append)
        .truncate(!append)
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|error| Failure::infrastructure(format!("cannot write {}: {error}", path.display())))
}
