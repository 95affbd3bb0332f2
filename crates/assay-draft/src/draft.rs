//! A draft: the stages in their order, each from the files of the one before.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_diagnostic::clean;
use assay_fs::{Caps, copy_tree};
use assay_skill::Package;
use assay_store::ConditionRole;
use assay_task::COUNTERFACTUAL_TABLE;
use serde_json::Value;

use crate::author::DraftAuthor;
use crate::directives::{
    DIRECTIVES_FILE, DraftDirective, DraftDirectives, MeasurableDirectives, list_directives,
    record_infeasible,
};
use crate::error::{DraftError, Existing, InputFault, SkillFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::evidence::{EvidenceModels, read_evidence};
use crate::experiment;
use crate::first_message::Redact;
use crate::folder::{DraftFolder, DraftState, HEADROOM_FILE, make_folder, read_headroom};
use crate::forecast::{DraftForecast, forecast_draft};
use crate::host::DraftHost;
use crate::ideas::Idea;
use crate::input_files::{copy_inputs, list_inputs};
use crate::intents::{DraftIntents, read_intents};
use crate::pilot::{ATTEMPTS_FILE, PilotModel, PilotRecord, PilotStage};
use crate::probe::{apply_probe, probe_directives};
use crate::prompts::versions;
use crate::refill::{MOST_REFILLS, refill_ideas};
use crate::solvers::{SolverOptions, check_payment, check_solver, has_solver, run_solvers};
use crate::sources::Intent;
use crate::stages::DraftStage;
use crate::subject::{
    DraftSubject, describe_packages, describe_subject, digest_of, folders_of, names_of, open_skill,
};
use crate::tasks::{propose_ideas, write_tasks};
use crate::trials::sum_trial_costs;
use crate::validation::{settle_faulty, validate_tasks};

/// Tasks to accept, if nothing else is said: with a difference of 0.17 to 0.20 and a standard deviation of 0.19 between tasks,
/// ten have a power of 71% to 84% (paired t test, two-sided, 5%; 20,000 simulated suites).
const TASKS: usize = 10;

/// What a draft is made of, and how far it goes.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Clone, Copy)]
pub struct DraftOptions<'a> {
    /// The skills.
    pub skills: &'a [PathBuf],
    /// The folder of the draft; `draft-NAME` without one.
    pub out: Option<&'a Path>,
    /// The model that writes, as `provider:model`; without one, that of the draft in the folder.
    pub model: Option<&'a str>,
    /// Tasks that are to be accepted.
    pub tasks: Option<usize>,
    /// Tasks that are to be accepted besides those of the draft that continues.
    pub add: Option<usize>,
    /// What people asked for.
    pub intents: &'a [PathBuf],
    /// A folder with files that tasks may be given.
    pub inputs: Option<&'a Path>,
    /// Whether the experiment has the condition `counterfactual`.
    pub counterfactual: bool,
    /// Whether ideas are made from name and description of the skill only. With `resume`, the draft in the folder decides.
    pub blind_ideas: bool,
    /// The last stage to execute.
    pub stop_after: DraftStage,
    /// Whether the draft in the folder continues.
    pub resume: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Whether tasks are drafted even if there is nothing to measure.
    pub force: bool,
}

/// A draft whose model is not open yet.
#[derive(Debug)]
pub struct OpenDraft<'a> {
    options: DraftOptions<'a>,
    folder: DraftFolder,
    state: DraftState,
    lock: Option<File>,
    packages: Vec<Package>,
    needs: Value,
    intents: Vec<Intent>,
}

impl<'a> OpenDraft<'a> {
    /// Reads the skills and the state of a draft. Nothing is written yet.
    ///
    /// # Errors
    /// A skill cannot be used, or the folder cannot.
    pub fn open(
        options: DraftOptions<'a>,
        has_program: &dyn Fn(&str) -> bool,
        redact: Redact<'_>,
        events: &dyn DraftEvents,
    ) -> Result<Self, DraftError> {
        let skills = options.skills.iter();
        let packages = skills.map(|skill| open_skill(skill, events)).collect::<Result<Vec<_>, _>>()?;
        check_different(&packages)?;
        let suffix = if options.blind_ideas { "-blind-ideas" } else { "" };
        let default = || PathBuf::from(format!("draft-{}{suffix}", folders_of(&packages)));
        let folder = DraftFolder::at_path(options.out.map_or_else(default, Path::to_path_buf));
        let state = open_state(&options, &folder, &packages, events)?;
        // A new folder is made by one command only.
        let lock = if options.resume && !options.dry_run { Some(folder.lock_folder()?) } else { None };
        let needs = describe_packages(&packages, has_program)?;
        let intents = match folder.read_json::<DraftIntents>("intents.json")? {
            Some(intents) => intents.intents,
            None if options.intents.is_empty() => Vec::new(),
            None => read_intents(options.intents, redact, events)?.intents,
        };
        Ok(Self { options, folder, state, lock, packages, needs, intents })
    }

    /// The model that writes, as `provider:model`.
    pub fn model_name(&self) -> &str {
        &self.state.model
    }

    /// The folder of the replies.
    pub fn replies(&self) -> PathBuf {
        self.folder.path_of("replies")
    }

    /// Refuses a solver that is the model that writes.
    ///
    /// # Errors
    /// It is.
    pub fn check_solver(&self, solver: Option<&str>) -> Result<(), DraftError> {
        Ok(check_solver(solver, &self.state.model)?)
    }

    /// Makes the folder of a new draft, and describes its skills for the model.
    ///
    /// # Errors
    /// The model needs a cap, the skills cannot be evaluated, or the folder cannot be written.
    pub fn begin(self, author: DraftAuthor, events: &dyn DraftEvents) -> Result<Draft<'a>, DraftError> {
        let Self { options, folder, state, mut lock, packages, needs: needs_now, intents } = self;
        if !options.dry_run {
            if !options.resume {
                if options.stop_after > DraftStage::Needs {
                    author.check_cap()?;
                }
                begin(&options, &folder, &state, &packages, &intents, events)?;
                if state.tasks < TASKS {
                    events.handle_event(&DraftEvent::FewTasks(state.tasks));
                }
                lock = Some(folder.lock_folder()?);
            }
            if folder.path_of("needs.json").symlink_metadata().is_err() {
                folder.write_json("needs.json", &needs_now)?;
            }
        }
        author.set_trial_cost(sum_trial_costs(&folder)?);
        let needs = folder.read_json("needs.json")?.unwrap_or(needs_now);
        refuse_discarded(&needs, &folder)?;
        let inputs = match options.inputs {
            Some(inputs) if options.dry_run => list_inputs(inputs),
            _ => list_inputs(&folder.path_of("inputs")),
        };
        let mut subject = describe_subject(packages, &needs, intents, inputs);
        subject.is_blind = state.blind_ideas;
        subject.text.directives = list_usable(DraftDirectives::read_from(&folder)?);
        let helpers = DraftHelpers::default();
        Ok(Draft { options, folder, state, _lock: lock, subject, author, helpers, is_worthless: false })
    }
}

/// A draft, whose stages can be executed.
#[derive(Debug)]
pub struct Draft<'a> {
    options: DraftOptions<'a>,
    folder: DraftFolder,
    state: DraftState,
    _lock: Option<File>,
    subject: DraftSubject,
    author: DraftAuthor,
    helpers: DraftHelpers,
    is_worthless: bool,
}

/// Other models than the author's, opened by [`DraftAuthor::open_helper`].
#[derive(Debug, Default)]
pub struct DraftHelpers {
    /// Does the work with the skill, and reads the items for fairness.
    pub solver: Option<DraftAuthor>,
    /// The model whose agent is to be measured; does the work without the skill.
    pub measured: Option<DraftAuthor>,
    /// The same model, as an agent attempts the tasks with it.
    pub pilot: Option<PilotModel>,
}

/// How the stages of a draft ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StagesEnd {
    /// Whether there is something to measure, as far as it is known.
    pub has_tasks: bool,
    /// Whether the experiment was reached.
    pub is_complete: bool,
}

impl Draft<'_> {
    /// Its folder.
    pub fn folder(&self) -> &DraftFolder {
        &self.folder
    }

    /// The model that writes.
    pub fn author(&self) -> &DraftAuthor {
        &self.author
    }

    /// Has other models work on the tasks.
    pub fn add_helpers(&mut self, helpers: DraftHelpers) {
        self.helpers = helpers;
    }

    /// The last stage that is complete.
    pub fn last_stage(&self) -> Option<DraftStage> {
        self.state.stage
    }

    /// Whether the model that is to be measured has attempted the tasks.
    pub fn is_piloted(&self) -> bool {
        self.folder.path_of(ATTEMPTS_FILE).is_file()
    }

    /// Whether the draft ended because too few directives can show what the skill is worth.
    pub fn has_nothing_to_measure(&self) -> bool {
        self.is_worthless
    }

    /// The name of its runs.
    pub fn run_name(&self) -> String {
        let name = name_run(&folders_of(&self.subject.packages));
        // Its results are not of the same tasks, so they are reported apart.
        if self.state.blind_ideas { format!("{name}-blind-ideas") } else { name }
    }

    /// Finds what remains to be asked, and what it costs at most.
    ///
    /// # Errors
    /// A file of the draft cannot be read.
    pub fn forecast_requests(&self) -> Result<DraftForecast, DraftError> {
        forecast_draft(&self.folder, &self.subject, &self.author, self.state.tasks, self.options.stop_after)
    }

    /// Records what the draft cost so far, after a command that may have failed.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn save_cost(&mut self) -> Result<(), DraftError> {
        let cost = self.author.sum_cost();
        if cost.is_none() || self.state.cost_usd == cost {
            return Ok(());
        }
        self.state.cost_usd = cost;
        self.folder.write_json("draft.json", &self.state)
    }

    /// Records that a stage is complete. Returns whether it is the last one to execute.
    fn complete(&mut self, stage: DraftStage) -> Result<bool, DraftError> {
        self.state.stage = self.state.stage.max(Some(stage));
        self.folder.write_json("draft.json", &self.state).map(|()| self.options.stop_after <= stage)
    }

    /// Executes the stages that remain.
    ///
    /// # Errors
    /// A stage cannot do its work. Those before it are complete, and their files stay.
    pub fn run_stages(
        &mut self,
        solver: &SolverOptions<'_>,
        cancel: &Arc<AtomicBool>,
        host: &mut dyn DraftHost,
        events: &dyn DraftEvents,
    ) -> Result<StagesEnd, DraftError> {
        let stopped = |has_tasks| Ok(StagesEnd { has_tasks, is_complete: false });
        if self.complete(DraftStage::Needs)? {
            return stopped(true);
        }
        if let Some(end) = self.read_directives(events)? {
            return Ok(end);
        }
        let ideas = propose_ideas(&self.folder, &self.subject, &self.author, self.state.tasks, events)?;
        if self.complete(DraftStage::Ideas)? {
            return stopped(true);
        }
        let mut ideas = ideas;
        loop {
            write_tasks(&self.folder, &self.subject, &self.author, &ideas, events)?;
            if self.complete(DraftStage::Tasks)? {
                return stopped(!self.folder.list_tasks().is_empty());
            }
            self.validate(solver, host, events)?;
            if !self.complete(DraftStage::Validation)? && self.try_tasks(solver, cancel, host, events)? {
                continue;
            }
            match self.refill(events)? {
                Some(more) => ideas = more,
                None => break,
            }
        }
        let names = self.folder.list_tasks();
        if names.is_empty() {
            return stopped(false);
        }
        let is_rubric = |name: &String| self.folder.task_folder(name).join("tests/rubric.json").is_file();
        let has_rubrics = names.iter().any(is_rubric);
        let name = self.run_name();
        let agent = self.helpers.pilot.as_ref().map(PilotModel::to_agent);
        self.write_new("pilot.toml", &experiment::pilot(&name, has_rubrics, agent))?;
        if self.options.stop_after < DraftStage::Experiment {
            return stopped(true);
        }
        if !has_solver(solver, &self.folder)? {
            events.handle_event(&DraftEvent::NoSolver);
        }
        self.write_experiment(&name, has_rubrics, &names, events)?;
        let tasks: Vec<PathBuf> = names.iter().map(|name| self.folder.task_folder(name)).collect();
        let reviews = self.folder.path_of("reviews");
        host.write_reviews(&tasks, &self.subject.packages, &reviews).map_err(DraftError::Host)?;
        self.complete(DraftStage::Experiment)?;
        let has = |name: &str| self.folder.path_of(name).symlink_metadata().is_ok();
        if !has(HEADROOM_FILE) && !has(ATTEMPTS_FILE) {
            events.handle_event(&DraftEvent::NoHeadroom);
        }
        Ok(StagesEnd { has_tasks: true, is_complete: true })
    }

    /// Lists the directives of the skill, and asks the model that is to be measured about them. Returns the end of the stages if
    /// one of these two is the last, or there is nothing to measure.
    fn read_directives(&mut self, events: &dyn DraftEvents) -> Result<Option<StagesEnd>, DraftError> {
        let stopped = |has_tasks| Ok(Some(StagesEnd { has_tasks, is_complete: false }));
        let has = |name: &str| self.folder.path_of(name).symlink_metadata().is_ok();
        // A draft of an earlier version, whose tasks are of ideas without directives.
        if has("ideas.json") && !has(DIRECTIVES_FILE) {
            return Ok(None);
        }
        let list = list_directives(&self.folder, &self.subject.packages, &self.author, events)?;
        record_infeasible(&self.folder, &list.directives)?;
        if self.complete(DraftStage::Directives)? {
            return stopped(true);
        }
        let measured = self.helpers.measured.as_ref();
        let probe = probe_directives(&self.folder, &list.directives, measured, &self.author, events)?;
        let mut directives = match &probe {
            Some(probe) => apply_probe(&list.directives, probe),
            None => list.directives,
        };
        let is_last = self.complete(DraftStage::Probe)?;
        if let Some(reason) = MeasurableDirectives::count_in(&directives).explain_shortfall() {
            let is_forced = self.options.force;
            events.handle_event(&DraftEvent::NothingToMeasure { reason: &reason, is_forced });
            if !is_forced {
                self.is_worthless = true;
                return stopped(false);
            }
        }
        if is_last {
            return stopped(true);
        }
        directives.retain(|directive| directive.is_measurable() || directive.is_control());
        self.subject.text.directives = directives;
        Ok(None)
    }

    /// Checks the tasks, and has others work on them.
    fn validate(
        &self,
        solver: &SolverOptions<'_>,
        host: &mut dyn DraftHost,
        events: &dyn DraftEvents,
    ) -> Result<(), DraftError> {
        self.folder.apply_rejections()?;
        let models = self.models();
        if let Some(model) = models.solver {
            check_payment(solver, model.name(), host)?;
        }
        validate_tasks(&self.folder, &self.subject, models, host, events)
    }

    fn models(&self) -> EvidenceModels<'_> {
        EvidenceModels {
            author: &self.author,
            solver: self.helpers.solver.as_ref(),
            measured: self.helpers.measured.as_ref(),
        }
    }

    /// Has the solver and the model that is to be measured attempt the tasks. Returns whether one was repaired, which has to be
    /// validated again.
    fn try_tasks(
        &mut self,
        solver: &SolverOptions<'_>,
        cancel: &Arc<AtomicBool>,
        host: &mut dyn DraftHost,
        events: &dyn DraftEvents,
    ) -> Result<bool, DraftError> {
        run_solvers(solver, &self.folder, &self.author, cancel, host, events)?;
        if self.complete(DraftStage::Solvers)? {
            return Ok(false);
        }
        let Some(model) = self.helpers.pilot.as_ref() else { return Ok(false) };
        let stage = PilotStage {
            model,
            options: solver,
            folder: &self.folder,
            author: &self.author,
            cancel,
            host,
            events,
        };
        let faulty = stage.attempt_tasks()?;
        let is_repaired = settle_faulty(&self.folder, &self.subject, self.models(), host, events, faulty)?;
        if !is_repaired {
            self.complete(DraftStage::Pilot)?;
        }
        Ok(is_repaired)
    }

    /// Asks for ideas in the place of tasks that fell. Returns all ideas; `None` if none is missing, or there is no other.
    fn refill(&mut self, events: &dyn DraftEvents) -> Result<Option<Vec<Idea>>, DraftError> {
        let accepted = self.folder.list_tasks().len();
        let missing = self.state.tasks.saturating_sub(accepted);
        if accepted > self.state.most_accepted {
            (self.state.most_accepted, self.state.refills) = (accepted, 0);
        }
        // An earlier version's draft has no directives to choose from.
        if missing == 0 || self.state.refills >= MOST_REFILLS || self.subject.text.directives.is_empty() {
            return Ok(None);
        }
        let more = refill_ideas(&self.folder, &self.subject, &self.author, missing, events)?;
        self.state.refills = if more.is_some() { self.state.refills + 1 } else { MOST_REFILLS };
        self.folder.write_json("draft.json", &self.state)?;
        Ok(more)
    }

    /// Writes the experiment, unless there is one.
    fn write_experiment(
        &self,
        name: &str,
        has_rubrics: bool,
        tasks: &[String],
        events: &dyn DraftEvents,
    ) -> Result<(), DraftError> {
        let has_table = |task: &String| self.folder.task_folder(task).join(COUNTERFACTUAL_TABLE).is_file();
        let has_copies = self.options.counterfactual && tasks.iter().any(has_table);
        let path = self.folder.path_of("experiment.toml");
        if self.options.counterfactual && !has_copies {
            events.handle_event(&DraftEvent::NoCounterfactual(
                "no task has words or numbers that can be replaced",
            ));
        } else if has_copies
            && fs::read_to_string(&path)
                .is_ok_and(|text| !text.contains(ConditionRole::Counterfactual.name()))
        {
            events.handle_event(&DraftEvent::NoCounterfactual(
                "experiment.toml exists: add it to its `conditions`",
            ));
        }
        let mut selected_by = BTreeSet::new();
        for task in tasks {
            let evidence = read_evidence(&self.folder, task)?.unwrap_or_default();
            selected_by.extend(evidence.blind.into_iter().map(|work| self.name_for_experiment(work.model)));
        }
        selected_by.extend(PilotRecord::read_from(&self.folder)?.map(|record| record.model));
        selected_by.extend(read_headroom(&self.folder)?.into_iter().flat_map(|record| record.models));
        let agent = self.helpers.pilot.as_ref().map(PilotModel::to_agent);
        let text = experiment::experiment(name, has_rubrics, has_copies, &selected_by, agent);
        self.write_new("experiment.toml", &text)
    }

    /// A model as the experiment names it: a script is relative to the folder of the draft there.
    fn name_for_experiment(&self, model: String) -> String {
        match (&self.helpers.measured, &self.helpers.pilot) {
            (Some(measured), Some(pilot)) if measured.name() == model => pilot.model.clone(),
            _ => model,
        }
    }

    /// Writes a file that does not exist: one that was edited stays.
    fn write_new(&self, name: &str, text: &str) -> Result<(), DraftError> {
        if self.folder.path_of(name).symlink_metadata().is_ok() {
            return Ok(());
        }
        self.folder.write_text(name, text)
    }

    /// Those of the files that still have the model that they were written with.
    pub(crate) fn files_without_model(&self, names: &[&str]) -> Vec<PathBuf> {
        let paths = names.iter().map(|name| self.folder.path_of(name));
        paths
            .filter(|path| {
                let text = fs::read_to_string(path).unwrap_or_default();
                experiment::needs_model(&text)
            })
            .collect()
    }
}

/// The directives that tasks may test: those that show what the skill adds, and controls.
fn list_usable(list: Option<DraftDirectives>) -> Vec<DraftDirective> {
    let all = list.map(|list| list.directives).unwrap_or_default().into_iter();
    all.filter(|directive| directive.is_measurable() || directive.is_control()).collect()
}

/// A name for a run.
fn name_run(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|sign| if sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.') { sign } else { '-' })
        .take(70)
        .collect();
    if name.starts_with(|sign: char| sign.is_ascii_alphanumeric()) { name } else { format!("skill{name}") }
}

/// The state of a new draft, or of the one in the folder.
fn open_state(
    options: &DraftOptions<'_>,
    folder: &DraftFolder,
    packages: &[Package],
    events: &dyn DraftEvents,
) -> Result<DraftState, DraftError> {
    let root = folder.root_path();
    if !options.resume {
        if root.symlink_metadata().is_ok() {
            return Err(InputFault::Exists { path: root.to_owned(), what: Existing::Draft }.into());
        }
        let model = options.model.unwrap_or_default().to_owned();
        let tasks = options.tasks.unwrap_or(TASKS);
        let mut state = DraftState::new(names_of(packages), digest_of(packages), model, tasks);
        state.blind_ideas = options.blind_ideas;
        return Ok(state);
    }
    let mut state = folder.read_state()?;
    if state.digest != digest_of(packages) {
        return Err(SkillFault::Other(root.to_owned()).into());
    }
    if let Some(model) = options.model.filter(|model| *model != state.model) {
        events.handle_event(&DraftEvent::OtherModel { model, before: &state.model });
        model.clone_into(&mut state.model);
    }
    if let Some(more) = options.add {
        state.tasks += more;
        state.refills = 0;
    }
    if state.prompts != versions() {
        events.handle_event(&DraftEvent::OtherPrompts);
        state.prompts = versions();
    }
    Ok(state)
}

/// Refuses a skill that cannot be evaluated.
fn refuse_discarded(needs: &Value, folder: &DraftFolder) -> Result<(), SkillFault> {
    if needs["verdict"].as_str() != Some("discard") {
        return Ok(());
    }
    let unmet = needs["unmet"].as_array().into_iter().flatten();
    let categories: Vec<String> = unmet
        .filter(|unmet| unmet["rules_out"] == true && unmet["double"].is_null())
        .map(|unmet| clean(unmet["category"].as_str().unwrap_or_default()))
        .collect();
    Err(SkillFault::Discarded { categories, needs: folder.path_of("needs.json") })
}

/// Makes the folder, with copies of skills and inputs.
fn begin(
    options: &DraftOptions<'_>,
    folder: &DraftFolder,
    state: &DraftState,
    packages: &[Package],
    intents: &[Intent],
    events: &dyn DraftEvents,
) -> Result<(), DraftError> {
    make_root(folder.root_path())?;
    make_folder(&folder.path_of("skills"))?;
    for package in packages {
        let copy = folder.path_of("skills").join(&package.directory);
        let report = copy_tree(&package.root, &copy, &Caps::default())
            .map_err(|error| DraftError::io("copy the skill", error))?;
        for left_out in &report.left_out {
            events.handle_event(&DraftEvent::NotCopied(left_out));
        }
    }
    if let Some(inputs) = options.inputs {
        copy_inputs(inputs, &folder.path_of("inputs"))?;
    }
    if !intents.is_empty() {
        let schema = "assay.draft-intents/1".to_owned();
        folder.write_json("intents.json", &DraftIntents { schema, intents: intents.to_vec() })?;
    }
    folder.write_json("draft.json", state)
}

/// Makes the folder of a new draft. Of several commands that begin one, the first makes it.
fn make_root(root: &Path) -> Result<(), DraftError> {
    if let Some(parent) = root.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folder(parent)?;
    }
    fs::create_dir(root).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            InputFault::Exists { path: root.to_owned(), what: Existing::Draft }.into()
        }
        _ => DraftError::io(format!("create {}", root.display()), error),
    })
}

/// Refuses a skill that is named twice: copies of both could not lie side by side.
fn check_different(packages: &[Package]) -> Result<(), SkillFault> {
    for (at, package) in packages.iter().enumerate() {
        let is_same = |other: &Package| other.directory == package.directory || other.name == package.name;
        if packages[..at].iter().any(is_same) {
            return Err(SkillFault::Twice(package.directory.clone()));
        }
    }
    Ok(())
}
