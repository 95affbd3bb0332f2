//! `assay gate`: do changed skills meet a policy?

mod attainable;
mod checks;
mod cost;
mod decisions;
mod explain;
mod guards;
mod looks;
mod measure;
mod measured;
mod new_skill;
mod output;
mod rows;
mod scope;

use std::path::Path;

use assay_gate::{Policy, ScoreGroups, SelfCheck, SkillHistory};
use assay_store::Store;
use assay_trial::{MachineContext, Permissions};

use self::attainable::{Planned, check_attainable};
use self::cost::Forecast;
use self::decisions::decide_skills;
use self::looks::Looks;
use self::measure::{Gate, PlannedSkill, Unmeasured, Versions};
use self::measured::{Gated, LookLevel};
use self::output::{Document, LedgerSummary, Word};
use self::rows::row;
use self::scope::Scope;
use crate::args::gate::GateArgs;
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;
use crate::{machine, record_keys};

pub(crate) fn run(args: &GateArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let ran = gate(args, settings, ui);
    if let Err(failure) = &ran {
        // The error itself is what counts.
        output::write_failure(failure, args).unwrap_or_else(|other| {
            ui.fail(&other);
        });
    }
    ran
}

fn gate(args: &GateArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    if args.max_usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
        return Err(Failure::bad_input("`--max-usd` must be an amount of at least 0"));
    }
    if args.self_check {
        return check_gate(args, settings, ui);
    }
    // A mistake is reported where it is, whatever the target has.
    if is_regular(&args.policy) {
        Policy::load(&args.policy)?;
    }
    let scope = Scope::of(args, settings)?;
    let mut document = describe(args, &scope);
    let Some(policy) = &scope.policy else {
        // The target has no policy: nothing is decided, and nothing is executed.
        return finish(document, args, &scope, ui);
    };
    let mut gated: Vec<Gated> = scope
        .subjects
        .iter()
        .map(|subject| Gated {
            row: row(subject, scope.terms.skills.get(&subject.skill), policy),
            measured: None,
            look: None,
            is_known: subject.is_known,
        })
        .collect();
    if let Some(skill) = &args.explain {
        return explain::run(args, &scope, policy, &gated, skill, ui);
    }
    new_skill::check_tasks(args, &scope, &mut gated, ui)?;
    decide(args, &scope, policy, (&mut document, &mut gated), ui)?;
    document.skills = gated.into_iter().map(|gated| gated.row).collect();
    document.verdict = document.skills.iter().map(|row| row.verdict).max().unwrap_or(Word::Nothing);
    finish(document, args, &scope, ui)
}

/// Prints how often the gate decides where nothing changed.
fn check_gate(args: &GateArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let policy = Policy::load(&args.policy)?;
    let groups = match &args.table {
        Some(table) => ScoreGroups::of_table(table, args.arms.column(), &args.range)?,
        None => ScoreGroups::of_store(&machine::read_store(&settings.store)?)?,
    };
    let checked = SelfCheck::of(&groups, policy.error_budget)?;
    if ui.json() {
        ui.document(&checked)?;
    } else {
        ui.out(&checked.to_text())?;
    }
    Ok(Status::Done)
}

/// Whether a path is that of a file, and no link is on the way: a pull request can lay one to any file of the machine.
fn is_regular(path: &Path) -> bool {
    let here = std::env::current_dir().and_then(std::fs::canonicalize).unwrap_or_default();
    std::fs::canonicalize(path).is_ok_and(|real| real.is_file() && real == here.join(path))
}

/// The document before any decision.
fn describe(args: &GateArgs, scope: &Scope) -> Document {
    let mut document = Document {
        schema: "assay.gate/2",
        policy: args.policy.display().to_string(),
        policy_hash: scope.terms.hash.clone(),
        commit: None,
        changed_since: args.changed_since.clone(),
        verdict: Word::Nothing,
        skills: Vec::new(),
        rules_changed: Vec::new(),
        untrusted: Vec::new(),
        weakened: Vec::new(),
        ledger: LedgerSummary::default(),
        forecast: None,
        view_url: args.view_url.clone(),
        notes: scope.notes.clone(),
    };
    if let Some(evaluation) = &scope.evaluation {
        document.commit = Some(evaluation.head().to_owned());
        document.rules_changed.clone_from(&evaluation.rules_changed);
        document.untrusted.clone_from(&evaluation.untrusted);
        document.weakened.clone_from(&evaluation.weakened);
    }
    document
}

/// Measures the open skills and decides on them.
fn decide(
    args: &GateArgs,
    scope: &Scope,
    policy: &Policy,
    (document, gated): (&mut Document, &mut [Gated]),
    ui: &Ui,
) -> Result<(), Failure> {
    let terms = &scope.terms;
    if !gated.iter().any(Gated::is_open) {
        return Ok(());
    }
    let block = |gated: &mut [Gated], reason: &str| {
        gated
            .iter_mut()
            .filter(|gated| gated.is_open())
            .for_each(|gated| reason.clone_into(&mut gated.row.reason));
    };
    let store = match scope.store() {
        Ok((store, note)) => {
            document.notes.extend(note);
            store
        }
        Err(reason) => {
            block(gated, &reason.to_string());
            return Ok(());
        }
    };
    if let Some(reason) = scope.missing_key()? {
        rows::check_statically(gated, terms);
        block(gated, &reason);
        return Ok(());
    }
    // Only a pull request has looks: without a target nothing is merged.
    let mut looks = None;
    if let Some(evaluation) = &scope.evaluation {
        // It is kept in the repository, not in the files that are evaluated.
        let home = args.policy.parent().filter(|folder| !folder.as_os_str().is_empty());
        let home = home.unwrap_or(Path::new("."));
        let keys = record_keys::load_signing()?;
        match Looks::read(policy, &terms.hash, evaluation, &scope.subjects, home, keys) {
            Ok((found, notes)) => {
                document.notes.extend(notes);
                looks = Some(found);
            }
            Err(reason) => {
                let reason = reason.to_string();
                block(gated, &reason);
                document.notes.push(reason);
                return Ok(());
            }
        }
    }
    let store = open_trials(scope, &store)?;
    let cancel = machine::interrupted()?;
    assay_trial::clean_up(&store);
    machine::remove_stale_containers(&store);
    let sandboxes = machine::sandboxes_for(&scope.settings)?;
    let here = MachineContext {
        permissions: permissions(args, scope, policy),
        ..machine::context(&sandboxes, None)
    };
    let mut gate = Gate {
        args,
        settings: &scope.settings,
        store: &store,
        looks,
        machine: &here,
        cancel: &cancel,
        reuse: policy.reuse,
        on_undecided: policy.on_undecided,
        budget: args.max_usd,
        policy_hash: &scope.terms.hash,
        ui,
    };
    document.forecast = Some(measure(scope, policy, &mut gate, gated)?);
    decide_skills(policy, terms, gated);
    if let Some(looks) = &mut gate.looks {
        looks.complete_all(gated, &store);
        document.ledger = looks.summary();
    }
    Ok(())
}

/// Plans the trials of the open skills, opens their looks, and executes or reads the trials.
fn measure(
    scope: &Scope,
    policy: &Policy,
    gate: &mut Gate<'_>,
    gated: &mut [Gated],
) -> Result<Forecast, Failure> {
    let mut planned = Vec::new();
    for (row, gated) in gated.iter().enumerate().filter(|(_, gated)| gated.is_open()) {
        let Some((name, of)) = scope.terms.skills.get_key_value(&gated.row.skill) else { continue };
        let versions = versions(scope, policy, gated, gate.looks.as_ref());
        planned.push(gate.prepare(row, (name, of), versions)?);
    }
    // What it can show, and what it may cost, come first: no look is opened for what is refused.
    let next = |skill: &PlannedSkill<'_>| LookLevel::of(gate.next_numbers(skill), policy.error_budget);
    let expected: Vec<LookLevel> = planned.iter().map(next).collect();
    forecast_power(policy, planned.iter().zip(&expected), gated, gate.ui)?;
    let mut forecast = Forecast::none(gate.budget);
    for skill in &planned {
        let all = if skill.rounds.len() > 1 { Some(gate.whole_plan(skill)?) } else { None };
        forecast.add(&skill.plan, all.as_ref().unwrap_or(&skill.plan), skill.rounds.len(), gate.store)?;
    }
    gate.ui.note(&forecast.words());
    for (skill, expected) in planned.iter().zip(expected) {
        let found = &mut gated[skill.row];
        match gate.open_look(skill) {
            Ok(numbers) => {
                let look = LookLevel::of(numbers, policy.error_budget);
                // Another gate opened a look meanwhile, so that this one has a stricter level.
                let refused = (look != expected)
                    .then(|| check_attainable(policy, &[planned_at(skill, look)]).err())
                    .flatten();
                match refused {
                    Some(failure) => {
                        found.row.reason = format!("another gate opened a look first: {failure}");
                    }
                    None => found.look = Some(look),
                }
            }
            Err(Unmeasured::Blocked(reason)) => found.row.reason = reason,
            Err(Unmeasured::Opened) => rows::opened(&mut found.row),
            Err(Unmeasured::Failed(failure)) => return Err(failure),
        }
    }
    gate.measure((policy, &scope.terms), &planned, gated)?;
    Ok(forecast)
}

/// The versions that a skill is compared with.
fn versions(scope: &Scope, policy: &Policy, gated: &Gated, looks: Option<&Looks>) -> Versions {
    let skill = &gated.row.skill;
    let Some(evaluation) = scope.evaluation.as_ref().filter(|_| gated.is_known) else {
        return Versions::default();
    };
    let subject = scope.subjects.iter().find(|subject| subject.skill == *skill);
    let reference = subject.and_then(|subject| {
        let history = SkillHistory {
            repository: evaluation.repository(),
            target: &evaluation.target,
            // The files that are evaluated are laid out as the repository.
            directory: policy.directory.strip_prefix(&evaluation.root).unwrap_or(Path::new("")),
            skill: subject.from.as_ref().unwrap_or(skill),
            content: subject.target_content.as_deref()?,
        };
        Some(history.reference(&looks.map_or(Vec::new(), |looks| looks.entries(skill))))
    });
    Versions { base: Some(evaluation.target.clone()), reference }
}

fn planned_at<'a>(skill: &PlannedSkill<'a>, look: LookLevel) -> Planned<'a> {
    Planned {
        skill: skill.name,
        terms: skill.terms,
        look,
        has_version: skill.versions.base.is_some(),
        has_reference: skill.has_reference(),
    }
}

/// What the claims of the open skills can show; refuses those that can show nothing.
fn forecast_power<'a>(
    policy: &Policy,
    planned: impl Iterator<Item = (&'a PlannedSkill<'a>, &'a LookLevel)>,
    gated: &mut [Gated],
    ui: &Ui,
) -> Result<(), Failure> {
    let planned: Vec<(usize, Planned<'_>)> =
        planned.map(|(skill, look)| (skill.row, planned_at(skill, *look))).collect();
    let claims: Vec<Planned<'_>> = planned.iter().map(|(_, planned)| *planned).collect();
    for ((row, planned), forecast) in planned.iter().zip(check_attainable(policy, &claims)?) {
        ui.note(&format!("{}: {}", planned.skill, forecast.note));
        gated[*row].row.power_equal = forecast.power_equal;
    }
    Ok(())
}

/// The store whose records may decide.
fn open_trials(scope: &Scope, path: &Path) -> Result<Store, Failure> {
    let store = machine::open_store(path)?;
    Ok(if scope.evaluation.is_some() { store.with_signed_records_only() } else { store })
}

/// What experiments may do. With a target only its policy lets them run outside a sandbox: a flag would hold for every pull
/// request.
fn permissions(args: &GateArgs, scope: &Scope, policy: &Policy) -> Permissions {
    let given = args.permissions.permissions();
    let unsandboxed = match scope.evaluation {
        Some(_) => policy.allow_unsandboxed,
        None => given.unsandboxed || policy.allow_unsandboxed,
    };
    Permissions { unsandboxed, ..given }
}

/// Writes what was asked for, and the summary of a GitHub workflow step.
fn finish(mut document: Document, args: &GateArgs, scope: &Scope, ui: &Ui) -> Result<Status, Failure> {
    if let Some(evaluation) = &scope.evaluation
        && !evaluation.is_trusted
        // The job that goes on with these looks decides.
        && !document.skills.iter().any(rows::is_opened)
    {
        rows::block_weakened(&mut document, evaluation.head());
    }
    if let Some(evaluation) = &scope.evaluation {
        let rows =
            document.skills.iter_mut().flat_map(|row| std::iter::once(&mut row.reason).chain(&mut row.notes));
        rows.for_each(|text| *text = evaluation.shorten(text));
    }
    let status = match document.skills.iter().filter(|row| !row.warn).map(|row| row.verdict).max() {
        _ if document.verdict == Word::Blocked => Status::Infrastructure,
        None | Some(Word::Nothing | Word::Pass) => Status::Done,
        Some(Word::Undecided) => Status::Undecided,
        Some(Word::Blocked) => Status::Infrastructure,
        Some(Word::Fail) => Status::DidNotHold,
    };
    let document = &document;
    if ui.json() {
        ui.document(document)?;
    } else {
        ui.out(&document.text())?;
    }
    output::write_decision(document, args)?;
    Ok(status)
}
