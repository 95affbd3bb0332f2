//! `assay gate`: do changed skills meet a policy?

mod base;
mod checks;
mod decisions;
mod guards;
mod looks;
mod measure;
mod output;
mod self_check;

use std::path::Path;

use assay_gate::{Missing, Policy, SkillTerms, Terms, weakened};
use assay_report::shell_word;
use assay_trial::MachineContext;

use self::base::Base;
use self::checks::CheckChanges;
use self::decisions::{check_feasible, decide_skills};
use self::looks::{open_ledger, record};
use self::measure::{Gate, Measured, Unmeasured};
use self::output::{Document, SkillRow, Word};
use crate::args::gate::GateArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

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
