//! Checks of drafted tasks, and their repair.

use std::fs;
use std::path::Path;

use assay_diagnostic::Severity;
use assay_fs::{Caps, FsError, copy_tree};
use assay_judge::is_same_family;
use assay_task::Task;
use assay_task::check::{self, Context, Finding};

use crate::author::DraftAuthor;
use crate::error::{DraftError, ErrorCause};
use crate::event::{DraftEvent, DraftEvents};
use crate::evidence::{
    EvidenceCollector, EvidenceModels, EvidenceTask, GradedWork, ItemEvidence, TaskEvidence, decide_items,
    read_evidence, write_evidence,
};
use crate::folder::{
    AcceptedTask, DraftFolder, PendingRepair, ProposalRecord, RejectedTask, folder_digest, make_folder,
};
use crate::host::{CheckedTask, DraftHost};
use crate::input_files::{GENERATOR, generate_files};
use crate::items::{ITEMS_FILE, MUTANTS_FILE, TaskItems, TaskMutants, read_judged};
use crate::pilot::FaultyTask;
use crate::prompts::{REPAIR, request_repair};
use crate::proposal::{apply, read_changes, read_task};
use crate::review::{Fault, Reference, review, review_items};
use crate::subject::DraftSubject;

/// Most repairs of a task.
pub(crate) const MOST_REPAIRS: usize = 2;

/// Oracle trials of a task.
pub const ORACLE_TRIALS: u32 = 3;

/// Most characters of a report that a model is shown.
const REPORT_CHARS: usize = 12_000;

/// What checks found.
struct CheckResults {
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
    /// What solution and verifier printed.
    output: String,
}

/// Validates the folders in `tasks/`, as they are now. Those that were accepted and have not changed are not checked again.
pub(crate) fn validate_tasks(
    folder: &DraftFolder,
    subject: &DraftSubject,
    models: EvidenceModels<'_>,
    host: &mut dyn DraftHost,
    events: &dyn DraftEvents,
) -> Result<(), DraftError> {
    let mut instructions: Vec<(String, String)> = Vec::new();
    let tasks = folder.list_tasks();
    let accepted = folder.read_validation()?.tasks;
    let is_open = |task: &String| {
        accepted.get(task).is_none_or(|accepted| accepted.digest != folder_digest(&folder.task_folder(task)))
    };
    if models.solver.is_none() && tasks.iter().any(is_open) {
        events.handle_event(&DraftEvent::NoSecondModel);
    }
    if let Some(other) = models.solver.map(DraftAuthor::name)
        && is_same_family(models.author.name(), other)
        && tasks.iter().any(is_open)
    {
        events.handle_event(&DraftEvent::SameFamily { author: models.author.name(), other });
    }
    let result = tasks.iter().try_for_each(|task| {
        let mut validator =
            Validator { folder, subject, models, host: &mut *host, others: &instructions, events };
        if validator.validate(task)? {
            let text =
                fs::read_to_string(folder.task_folder(task).join("instruction.md")).unwrap_or_default();
            instructions.push((task.clone(), text));
        }
        Ok(())
    });
    if !tasks.is_empty() {
        host.finish_checks();
    }
    let _ = assay_fs::remove_tree(&folder.path_of(WORK));
    result
}

/// Has the author repair the tasks that the pilot found faulty, or rejects them. Returns whether one was repaired, which has to be
/// validated again.
pub(crate) fn settle_faulty(
    folder: &DraftFolder,
    subject: &DraftSubject,
    models: EvidenceModels<'_>,
    host: &mut dyn DraftHost,
    events: &dyn DraftEvents,
    faulty: Vec<FaultyTask>,
) -> Result<bool, DraftError> {
    let validator = Validator { folder, subject, models, host, others: &[], events };
    let mut is_repaired = false;
    for FaultyTask { task, digest, faults, output } in faulty {
        let proposal = folder.read_proposal(&task)?;
        let checked = CheckResults { faults, warnings: Vec::new(), output };
        let pending = PendingRepair { report: report(&checked), faults: checked.faults, digest };
        is_repaired |= validator.repair_or_reject(&task, proposal, pending)?;
    }
    let _ = assay_fs::remove_tree(&folder.path_of(WORK));
    Ok(is_repaired)
}

/// Fewest replies that do the work without the skill: with one, its luck decides what is known.
const FEWEST_BLIND: usize = 2;

/// What becomes of a task by the work of others.
enum Weighed {
    /// It stays, with this digest.
    Stays(String),
    /// It has to be repaired; the text is what work and checks printed.
    Faulty(Vec<Fault>, String),
}

fn see_items<'a>(items: &'a TaskItems, evidence: &'a TaskEvidence, judged: usize) -> ItemEvidence<'a> {
    ItemEvidence {
        items,
        blind: &evidence.blind,
        with_skill: &evidence.with_skill,
        mutants: &evidence.mutants,
        fairness: &evidence.fairness,
        judged,
    }
}

/// What work on a task printed, for its author.
fn describe_work(evidence: &TaskEvidence) -> String {
    let part = |(how, work): (&str, &GradedWork)| format!("The work {how} the skill:\n{}\n", work.output);
    let with = evidence.with_skill.iter().map(|work| ("with", work));
    let blind = evidence.blind.iter().map(|work| ("without", work));
    with.chain(blind.take(1)).map(part).collect()
}

/// The folder of copies, in the folder of the draft.
const WORK: &str = ".work";

struct Validator<'a> {
    folder: &'a DraftFolder,
    subject: &'a DraftSubject,
    models: EvidenceModels<'a>,
    host: &'a mut dyn DraftHost,
    /// The tasks that were accepted before, with their instructions.
    others: &'a [(String, String)],
    events: &'a dyn DraftEvents,
}

impl Validator<'_> {
    /// Checks a task and has the model repair it, until it is accepted or rejected. Returns whether it is accepted.
    fn validate(&mut self, task: &str) -> Result<bool, DraftError> {
        loop {
            let digest = folder_digest(&self.folder.task_folder(task));
            if self
                .folder
                .read_validation()?
                .tasks
                .get(task)
                .is_some_and(|accepted| accepted.digest == digest)
            {
                return Ok(true);
            }
            let fault = self.generate(task, &digest)?;
            let digest = folder_digest(&self.folder.task_folder(task));
            let proposal = self.folder.read_proposal(task)?;
            let pending = proposal.as_ref().and_then(|proposal| proposal.pending.clone());
            let repairs = proposal.as_ref().map_or(0, |proposal| proposal.repairs);
            let pending = if let Some(pending) = pending.filter(|pending| pending.digest == digest) {
                pending
            } else {
                let mut checked = match fault {
                    Some(fault) => {
                        CheckResults { faults: vec![fault], warnings: Vec::new(), output: String::new() }
                    }
                    None => self.check(task)?,
                };
                if checked.faults.is_empty() {
                    let can_repair = proposal.as_ref().is_some_and(|proposal| {
                        proposal.written.contains(&digest) && proposal.repairs < MOST_REPAIRS
                    });
                    match self.weigh_items(task, &digest, can_repair)? {
                        Weighed::Stays(digest) => {
                            self.accept(task, AcceptedTask { digest, repairs, warnings: checked.warnings })?;
                            return Ok(true);
                        }
                        Weighed::Faulty(faults, output) => {
                            (checked.faults, checked.output) = (faults, output);
                        }
                    }
                }
                PendingRepair { report: report(&checked), faults: checked.faults, digest }
            };
            if !self.repair_or_reject(task, proposal, pending)? {
                return Ok(false);
            }
        }
    }

    /// Has the model repair a task with faults, or rejects it. Returns whether it was repaired.
    fn repair_or_reject(
        &self,
        task: &str,
        proposal: Option<ProposalRecord>,
        pending: PendingRepair,
    ) -> Result<bool, DraftError> {
        let reason = match proposal {
            None => Some("no model wrote it, so none repairs it".to_owned()),
            Some(proposal) if !proposal.written.contains(&pending.digest) => {
                Some("it was edited, so no model repairs it".to_owned())
            }
            Some(proposal) if proposal.repairs >= MOST_REPAIRS => {
                Some(format!("still faulty after {MOST_REPAIRS} repairs"))
            }
            Some(proposal) => self.repair(proposal, &pending)?.err(),
        };
        let Some(reason) = reason else { return Ok(true) };
        self.reject(task, &reason, pending.faults)?;
        Ok(false)
    }

    /// Runs the task's generator, if it has one. Its files belong to what the model wrote.
    fn generate(&self, task: &str, digest: &str) -> Result<Option<Fault>, DraftError> {
        let place = self.folder.task_folder(task);
        if !place.join(GENERATOR).is_file() {
            return Ok(None);
        }
        let work = self.folder.path_of(WORK);
        make_folder(&work)?;
        let fault = generate_files(&*self.host.open_sandbox().map_err(DraftError::Host)?, &place, &work)?;
        let after = folder_digest(&place);
        if after != digest
            && let Some(mut proposal) = self.folder.read_proposal(task)?
            && proposal.written.iter().any(|written| written == digest)
        {
            proposal.written.push(after);
            self.folder.save_proposal(&proposal)?;
        }
        Ok(fault)
    }

    fn accept(&self, task: &str, accepted: AcceptedTask) -> Result<(), DraftError> {
        let mut validation = self.folder.read_validation()?;
        validation.tasks.insert(task.to_owned(), accepted);
        self.folder.write_json("validation.json", &validation)?;
        let mut infeasible = self.folder.read_infeasible()?;
        if infeasible.tasks.remove(task).is_some() {
            self.folder.write_json("infeasible.json", &infeasible)?;
        }
        self.events.handle_event(&DraftEvent::Accepted(task));
        Ok(())
    }

    fn reject(&self, task: &str, why: &str, faults: Vec<Fault>) -> Result<(), DraftError> {
        let first =
            faults.first().map_or(String::new(), |fault| format!("{}: {}; ", fault.code, fault.message));
        let reason = format!("{first}{why}");
        let repairs = self.folder.read_proposal(task)?.map_or(0, |proposal| proposal.repairs);
        self.events.handle_event(&DraftEvent::Rejected { task, reason: &reason });
        self.folder.reject_task(task, RejectedTask { reason, faults, repairs })
    }

    /// Asks the model for corrections, and applies them. The inner error says why there is none.
    fn repair(
        &self,
        mut proposal: ProposalRecord,
        pending: &PendingRepair,
    ) -> Result<Result<(), String>, DraftError> {
        let task = proposal.idea.name.clone();
        let place = self.folder.task_folder(&task);
        proposal.pending = Some(pending.clone());
        self.folder.save_proposal(&proposal)?;
        let mut files = read_task(&place);
        if place.join(GENERATOR).is_file() {
            // The model sees the program that makes them.
            files.retain(|file| !file.path.starts_with("environment/files/"));
        }
        let items = fs::read_to_string(place.join(ITEMS_FILE)).unwrap_or_default();
        let text = &self.subject.text;
        let request = request_repair(text, &proposal.idea, &files, &items, &pending.report);
        let changes = match self.models.author.answer_request(REPAIR, &request, &|reply| {
            read_changes(reply, &text.inputs, &text.directives).map_err(|error| error.to_string())
        })? {
            Ok(changes) => changes,
            Err(fault) => return Ok(Err(format!("the model's repair cannot be read: {fault}"))),
        };
        // The change is made in a copy and recorded before it takes the place of the task, so that a draft that is killed
        // does not mistake it for an edit.
        let copy = self.copy(&task)?;
        let failed = |error: ErrorCause| DraftError::io(format!("repair {}", place.display()), error);
        apply(&copy, &changes, &self.folder.path_of("inputs")).map_err(|error| failed(error.into()))?;
        proposal.written.push(folder_digest(&copy));
        proposal.repairs += 1;
        proposal.pending = None;
        self.folder.save_proposal(&proposal)?;
        assay_fs::remove_tree(&place).map_err(|error| failed(error.into()))?;
        fs::rename(&copy, &place).map_err(|error| failed(error.into()))?;
        let (repairs, most) = (proposal.repairs, MOST_REPAIRS);
        self.events.handle_event(&DraftEvent::Repaired { task: &task, repairs, most });
        Ok(Ok(()))
    }

    /// Has others work on a task, and leaves out the items that measure nothing.
    fn weigh_items(&mut self, task: &str, digest: &str, can_repair: bool) -> Result<Weighed, DraftError> {
        let root = self.folder.task_folder(task);
        let Some(items) = TaskItems::read_from(&root)? else {
            return Ok(Weighed::Stays(digest.to_owned()));
        };
        let work = self.folder.path_of(WORK);
        let judged = read_judged(&root, &items);
        let stored = read_evidence(self.folder, task)?.filter(|evidence| evidence.digest == digest);
        let mut collector = EvidenceCollector {
            task: EvidenceTask {
                name: task,
                root: &root,
                items: &items,
                skill: &self.subject.text,
                work: &work,
            },
            models: self.models,
            host: &mut *self.host,
            events: self.events,
        };
        let mut evidence = match stored {
            Some(evidence) => evidence,
            None => collector.collect_with_skill(digest)?,
        };
        // A wrong check is repaired before anybody is asked for more.
        let mut selection = decide_items(&see_items(&items, &evidence, judged), can_repair);
        if selection.faults.is_empty() && evidence.blind.is_empty() {
            collector.collect_blind(&mut evidence)?;
            selection = decide_items(&see_items(&items, &evidence, judged), can_repair);
        }
        if selection.faults.is_empty() && evidence.blind.len() < FEWEST_BLIND {
            let message = format!("fewer than {FEWEST_BLIND} replies did the work without the skill");
            selection.faults.push(Fault::new("no-blind-work", message));
        }
        write_evidence(self.folder, task, &evidence)?;
        if !selection.faults.is_empty() {
            return Ok(Weighed::Faulty(selection.faults, describe_work(&evidence)));
        }
        for dropped in &selection.dropped {
            let (item, reason) = (&dropped.id, &dropped.reason);
            self.events.handle_event(&DraftEvent::ItemDropped { task, item, reason });
        }
        evidence.dropped.extend(selection.dropped);
        let digest = self.drop_items(task, &items, &mut evidence)?;
        self.add_copy(task, digest, &mut evidence).map(Weighed::Stays)
    }

    /// Adds the checks for the skill with other names and numbers. Returns the digest of the task.
    fn add_copy(
        &mut self,
        task: &str,
        digest: String,
        evidence: &mut TaskEvidence,
    ) -> Result<String, DraftError> {
        let root = self.folder.task_folder(task);
        let Some(items) = TaskItems::read_from(&root)? else { return Ok(digest) };
        if evidence.counterfactual.is_some() {
            return Ok(digest);
        }
        let earlier = root.join("tests/counterfactual");
        if earlier.is_dir() {
            assay_fs::remove_tree(&earlier)
                .map_err(|error| DraftError::io(format!("remove {}", earlier.display()), error))?;
        }
        let work = self.folder.path_of(WORK);
        let task_of =
            EvidenceTask { name: task, root: &root, items: &items, skill: &self.subject.text, work: &work };
        let mut collector = EvidenceCollector {
            task: task_of,
            models: self.models,
            host: &mut *self.host,
            events: self.events,
        };
        match collector.write_counterfactual()? {
            Ok(copy) => evidence.counterfactual = Some(copy),
            Err(reason) => evidence.missing.push(format!("counterfactual copy: {reason}")),
        }
        self.record_change(task, evidence)
    }

    /// Writes the items of a task without those that were left out. Returns the digest of the task.
    fn drop_items(
        &self,
        task: &str,
        items: &TaskItems,
        evidence: &mut TaskEvidence,
    ) -> Result<String, DraftError> {
        if evidence.dropped.is_empty() {
            return Ok(evidence.digest.clone());
        }
        let root = self.folder.task_folder(task);
        let is_kept = |id: &String| !evidence.dropped.iter().any(|dropped| &dropped.id == id);
        let kept = items.items.iter().filter(|item| is_kept(&item.id)).cloned();
        let kept = TaskItems::new(kept.collect());
        let mutants = TaskMutants::read_from(&root)?.mutants.into_iter();
        let mutants = TaskMutants::new(mutants.filter(|mutant| is_kept(&mutant.item)).collect());
        for (name, text) in [(ITEMS_FILE, kept.to_json()), (MUTANTS_FILE, mutants.to_json())] {
            let path = root.join(name);
            fs::write(&path, text)
                .map_err(|error| DraftError::io(format!("write {}", path.display()), error))?;
        }
        self.record_change(task, evidence)
    }

    /// Records that a task is as assay changed it, so that nobody takes it for edited. Returns its digest.
    fn record_change(&self, task: &str, evidence: &mut TaskEvidence) -> Result<String, DraftError> {
        let digest = folder_digest(&self.folder.task_folder(task));
        if let Some(mut proposal) = self.folder.read_proposal(task)?
            && proposal.written.contains(&evidence.digest)
            && !proposal.written.contains(&digest)
        {
            proposal.written.push(digest.clone());
            self.folder.save_proposal(&proposal)?;
        }
        evidence.digest.clone_from(&digest);
        write_evidence(self.folder, task, evidence)?;
        Ok(digest)
    }

    /// A copy of a task.
    fn copy(&self, task: &str) -> Result<std::path::PathBuf, DraftError> {
        let failed = |error: FsError| DraftError::io(format!("copy the task {task}"), error);
        let work = self.folder.path_of(WORK);
        make_folder(&work)?;
        let copy = work.join(task);
        if copy.is_dir() {
            assay_fs::remove_tree(&copy).map_err(failed)?;
        }
        copy_tree(&self.folder.task_folder(task), &copy, &Caps::default()).map_err(failed)?;
        Ok(copy)
    }

    fn check(&mut self, name: &str) -> Result<CheckResults, DraftError> {
        let root = self.folder.task_folder(name);
        let task = match Task::load(&root) {
            Ok(task) => task,
            Err(error) => {
                let mut message = error.to_string();
                if let Some(cause) = std::error::Error::source(&error) {
                    message = format!("{message}: {cause}");
                }
                let message = relative(&message, &root);
                let faults = vec![Fault::new("task-unusable", message)];
                return Ok(CheckResults { faults, warnings: Vec::new(), output: String::new() });
            }
        };
        let context = Context {
            skills: self.subject.packages.iter().collect(),
            library: self.subject.packages.iter().collect(),
            cpus: std::thread::available_parallelism().ok().map(|count| count.get() as f64),
            memory_bytes: self.host.memory_bytes(),
            ..Context::default()
        };
        let mut findings = check::check(&task, &context);
        let output = self.execute(&task, &mut findings)?;
        let skills = self.subject.packages.iter();
        let skills: Vec<(&str, &str)> =
            skills.map(|skill| (skill.name.as_str(), skill.document.as_str())).collect();
        let reference = Reference { skills: &skills, examples: &self.subject.examples, others: self.others };
        let files = read_task(&root);
        let mut faults = review(&files, &reference);
        let items = TaskItems::read_from(&root)?;
        if let Some(items) = &items {
            let mutants = TaskMutants::read_from(&root)?;
            faults.extend(review_items(items, &mutants, &files, &self.subject.packages));
        }
        let mut warnings = Vec::new();
        for finding in findings.iter().filter(|finding| finding.severity != Severity::Info) {
            let hint = finding.hint.as_ref().map_or(String::new(), |hint| format!(" (hint: {hint})"));
            let fault = Fault::new(&*finding.code, relative(&format!("{}{hint}", finding.message), &root));
            if is_fault(finding, items.is_some()) { faults.push(fault) } else { warnings.push(fault) }
        }
        Ok(CheckResults { faults, warnings, output })
    }

    /// Runs solution and no-op check. Returns what they printed.
    fn execute(&mut self, task: &Task, findings: &mut Vec<Finding>) -> Result<String, DraftError> {
        self.events.handle_event(&DraftEvent::Checking { task: &task.name, oracle_trials: ORACLE_TRIALS });
        match self.host.check_task(task, findings).map_err(DraftError::Host)? {
            CheckedTask { unchecked: Some(reason), .. } => {
                Err(DraftError::Unchecked { task: task.name.clone(), reason })
            }
            CheckedTask { output, unchecked: None } => Ok(output),
        }
    }
}

/// Warnings of `task check` that keep a task out, because they are rarely wrong: docs/TASKS.md has their precision.
const STRICT: [&str; 2] = ["few-tests", "answer-hard-coded"];

/// What an instruction may lack that says that there is a usual way, and not which.
const WITHHELD: [&str; 3] = ["instruction-constraints", "instruction-format", "instruction-success"];

/// Whether a finding of `task check` keeps a task out: errors, some warnings, and what the instruction gives away or lacks.
fn is_fault(finding: &Finding, has_items: bool) -> bool {
    if has_items && WITHHELD.contains(&finding.code.as_str()) {
        return false;
    }
    let of_instruction = finding.file.file_name().is_some_and(|name| name == "instruction.md");
    let code = finding.code.as_str();
    finding.severity == Severity::Error
        || STRICT.contains(&code)
        || of_instruction && (code.starts_with("leak-") || code.starts_with("instruction-"))
}

/// What a model is shown of faults: their messages, and the end of what was printed.
fn report(checked: &CheckResults) -> String {
    let mut text: String =
        checked.faults.iter().map(|fault| format!("- {}: {}\n", fault.code, fault.message)).collect();
    for warning in &checked.warnings {
        text.push_str(&format!("- warning, {}: {}\n", warning.code, warning.message));
    }
    text.push_str(&format!("\n{}", checked.output));
    text.chars().take(REPORT_CHARS).collect()
}

/// A message without the path of the task's folder.
fn relative(message: &str, root: &Path) -> String {
    message.replace(&format!("{}/", root.display()), "")
}
