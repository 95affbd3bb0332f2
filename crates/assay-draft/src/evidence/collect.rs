//! How evidence on the items of a task is made.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assay_fs::{Caps, copy_tree};
use assay_judge::Request;
use assay_syntax::parts::{Part, delimited};
use assay_task::Task;
use serde_json::json;

use super::fairness::read_fairness;
use super::work::{read_script, request_with, request_without, show_task};
use super::{GradedMutant, GradedWork, TaskEvidence};
use crate::author::DraftAuthor;
use crate::error::{DraftError, ErrorCause};
use crate::event::{DraftEvent, DraftEvents};
use crate::host::DraftHost;
use crate::items::{MUTANTS_FILE, TaskItems, TaskMutants};
use crate::prompts::{FAIRNESS, FAIRNESS_SYSTEM, Prompt, SkillText, WITH, WITHOUT};
use crate::proposal::{TaskFile, read_task};

/// Replies that do the work without the skill.
pub(crate) const BLIND_REPLIES: usize = 3;

/// Most characters of what work and checks printed that are kept.
const OUTPUT_CHARS: usize = 2_000;

/// Seconds that a script of a reply may run. Tasks are small, and a script that waits for something would take the ten
/// minutes of an agent.
const SCRIPT_SECONDS: f64 = 60.0;

/// The models that give evidence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvidenceModels<'a> {
    /// The author.
    pub(crate) author: &'a DraftAuthor,
    /// Another model, which does the work with the skill and reads the items.
    pub(crate) solver: Option<&'a DraftAuthor>,
    /// The model whose agent is to be measured.
    pub(crate) measured: Option<&'a DraftAuthor>,
}

impl<'a> EvidenceModels<'a> {
    /// The models that do the work without the skill, in turn: the measured one first.
    fn list_blind(&self) -> Vec<&'a DraftAuthor> {
        let all = [self.measured, self.solver, Some(self.author)];
        let mut models: Vec<&DraftAuthor> = Vec::new();
        for model in all.into_iter().flatten() {
            if !models.iter().any(|other| other.name() == model.name()) {
                models.push(model);
            }
        }
        models
    }
}

/// What evidence is made of.
pub(crate) struct EvidenceTask<'a> {
    /// The name of the task.
    pub(crate) name: &'a str,
    /// Its folder.
    pub(crate) root: &'a Path,
    /// Its items.
    pub(crate) items: &'a TaskItems,
    /// The skill.
    pub(crate) skill: &'a SkillText,
    /// A folder for copies.
    pub(crate) work: &'a Path,
}

/// Makes evidence on a task.
pub(crate) struct EvidenceCollector<'a, 'b> {
    pub(crate) task: EvidenceTask<'a>,
    pub(crate) models: EvidenceModels<'a>,
    pub(crate) host: &'b mut dyn DraftHost,
    pub(crate) events: &'a dyn DraftEvents,
}

impl EvidenceCollector<'_, '_> {
    /// Grades the mutants and the work with the skill: what a wrong check fails by.
    ///
    /// # Errors
    /// A model gives no reply, or nothing can be executed.
    pub(crate) fn collect_with_skill(&mut self, digest: &str) -> Result<TaskEvidence, DraftError> {
        let mut evidence = TaskEvidence {
            schema: TaskEvidence::SCHEMA.to_owned(),
            digest: digest.to_owned(),
            ..TaskEvidence::default()
        };
        let solution = self.read_solution()?;
        for mutant in TaskMutants::read_from(self.task.root)?.mutants {
            let Ok(script) = mutant.apply_to(&solution) else { continue };
            self.report(&format!("a solution that ignores {}", mutant.item));
            let (met, _) = self.grade(&script, true)?;
            evidence.mutants.push(GradedMutant { item: mutant.item, met });
        }
        if let Some(solver) = self.models.solver {
            self.report(&format!("the work with the skill, by {}", solver.name()));
            let request = request_with(&read_task(self.task.root), self.task.skill);
            match self.do_work(solver, WITH, &request)? {
                Ok(work) => evidence.with_skill.push(work),
                Err(fault) => evidence.missing.push(format!("with the skill, {}: {fault}", solver.name())),
            }
        }
        Ok(evidence)
    }

    /// Adds the work without the skill, and what a reader says of the items.
    ///
    /// # Errors
    /// A model gives no reply, or nothing can be executed.
    pub(crate) fn collect_blind(&mut self, evidence: &mut TaskEvidence) -> Result<(), DraftError> {
        let files = read_task(self.task.root);
        let models = self.models.list_blind();
        for number in 1..=BLIND_REPLIES {
            let model = models[(number - 1) % models.len()];
            self.report(&format!(
                "the work without the skill, {number} of {BLIND_REPLIES}, by {}",
                model.name()
            ));
            match self.do_work(model, WITHOUT, &request_without(&files, number))? {
                Ok(work) => evidence.blind.push(work),
                Err(fault) => evidence.missing.push(format!("without the skill, {}: {fault}", model.name())),
            }
        }
        let Some(reader) = self.models.solver else { return Ok(()) };
        self.report(&format!("the items are read for fairness by {}", reader.name()));
        let answer = reader.answer_request(FAIRNESS, &self.request_fairness(&files), &|reply| {
            read_fairness(reply, self.task.items).map_err(|error| error.to_string())
        })?;
        match answer {
            Ok(answers) => {
                evidence.reader = Some(reader.name().to_owned());
                evidence.fairness = answers;
            }
            Err(fault) => evidence.missing.push(format!("the reader {}: {fault}", reader.name())),
        }
        Ok(())
    }

    fn report(&self, what: &str) {
        self.events.handle_event(&DraftEvent::Working { task: self.task.name, what });
    }

    pub(super) fn read_solution(&self) -> Result<String, DraftError> {
        let path = self.task.root.join("solution/solve.sh");
        fs::read_to_string(&path).map_err(|error| DraftError::read(&path, error))
    }

    /// Asks for the work and grades it. The inner error says why no script can be read.
    fn do_work(
        &mut self,
        model: &DraftAuthor,
        prompt: Prompt,
        request: &Request,
    ) -> Result<Result<GradedWork, String>, DraftError> {
        let script = model.answer_request(prompt, request, &|reply| {
            read_script(reply).map_err(|error| error.to_string())
        })?;
        let script = match script {
            Ok(script) => script,
            Err(fault) => return Ok(Err(fault)),
        };
        let (met, output) = self.grade(&script, false)?;
        Ok(Ok(GradedWork { model: model.name().to_owned(), met, output }))
    }

    /// Grades a script in the place of the solution. Other files of the solution are there for a mutant only.
    fn grade(
        &mut self,
        script: &str,
        keeps_files: bool,
    ) -> Result<(BTreeMap<String, bool>, String), DraftError> {
        let copy = self.copy_with(script, keeps_files)?;
        self.grade_copy(&copy)
    }

    /// Grades the solution of a copy of the task: whether each item is met, and the end of what was printed.
    pub(super) fn grade_copy(&mut self, copy: &Path) -> Result<(BTreeMap<String, bool>, String), DraftError> {
        let failed = |reason: String| DraftError::Unchecked { task: self.task.name.to_owned(), reason };
        let task = Task::load(copy).map_err(|error| failed(assay_diagnostic::chain(&error)))?;
        let graded = self.host.grade_solution(&task).map_err(DraftError::Host)?;
        if let Some(reason) = graded.unchecked {
            return Err(failed(reason));
        }
        let met = self.task.items.items.iter().map(|item| {
            let passed = graded.passed.get(&item.id).copied().unwrap_or(false);
            (item.id.clone(), passed)
        });
        let skip = graded.output.chars().count().saturating_sub(OUTPUT_CHARS);
        Ok((met.collect(), graded.output.chars().skip(skip).collect()))
    }

    /// A copy of the task with a script in the place of its solution.
    pub(super) fn copy_with(&self, script: &str, keeps_files: bool) -> Result<PathBuf, DraftError> {
        let failed = |error: ErrorCause| DraftError::io(format!("copy the task {}", self.task.name), error);
        let copy = self.task.work.join("graded").join(self.task.name);
        if copy.is_dir() {
            assay_fs::remove_tree(&copy).map_err(|error| failed(error.into()))?;
        }
        crate::folder::make_folder(&self.task.work.join("graded"))?;
        copy_tree(self.task.root, &copy, &Caps::default()).map_err(|error| failed(error.into()))?;
        // The checks of an earlier copy of the skill are of other items.
        let earlier = copy.join("tests/counterfactual");
        if earlier.is_dir() {
            assay_fs::remove_tree(&earlier).map_err(|error| failed(error.into()))?;
        }
        let solution = copy.join("solution");
        if keeps_files {
            let own = copy.join(MUTANTS_FILE);
            if own.is_file() {
                fs::remove_file(own).map_err(|error| failed(error.into()))?;
            }
        } else {
            assay_fs::remove_tree(&solution).map_err(|error| failed(error.into()))?;
            crate::folder::make_folder(&solution)?;
        }
        fs::write(solution.join("solve.sh"), script).map_err(|error| failed(error.into()))?;
        limit_time(&copy.join("task.toml"))?;
        Ok(copy)
    }

    fn request_fairness(&self, files: &[TaskFile]) -> Request {
        let measuring = self.task.items.items.iter().filter(|item| item.is_measuring());
        let items: Vec<_> = measuring
            .map(|item| {
                json!({
                    "id": item.id, "text": item.text, "file": item.file, "lines": item.lines,
                    "quote": item.quote, "answer": item.answer,
                })
            })
            .collect();
        let items = serde_json::to_string_pretty(&items).unwrap_or_default();
        let checks = files.iter().filter(|file| file.path == "tests/check.py");
        let checks: Vec<Part> = checks.map(|file| (file.path.clone(), file.text.clone())).collect();
        let task = show_task(files);
        let first = self.task.items.items.iter().find(|item| item.is_measuring());
        let text = FAIRNESS.fill(&[
            ("id", first.map_or("id", |item| &item.id)),
            ("task", &task),
            ("items", &crate::prompts::data("ITEMS", &items, &[&task])),
            ("checks", &delimited("CHECKS", &checks, &[&task, &items])),
        ]);
        Request { system: FAIRNESS_SYSTEM.text.to_owned(), text }
    }
}

/// Lowers the time that the solution of a copy has.
fn limit_time(path: &Path) -> Result<(), DraftError> {
    let text = fs::read_to_string(path).map_err(|error| DraftError::read(path, error))?;
    let Ok(mut document) = text.parse::<toml::Table>() else { return Ok(()) };
    if let Some(agent) = document.get_mut("agent").and_then(toml::Value::as_table_mut) {
        let stated = agent.get("timeout_sec").and_then(toml::Value::as_float).unwrap_or(SCRIPT_SECONDS);
        agent.insert("timeout_sec".to_owned(), toml::Value::Float(stated.min(SCRIPT_SECONDS)));
    }
    fs::write(path, document.to_string())
        .map_err(|error| DraftError::io(format!("write {}", path.display()), error))
}
