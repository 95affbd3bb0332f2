//! A plan as data: the run's folder in the store.

use std::collections::BTreeMap;

use assay_skill::{Digest, Package};
use assay_store::{
    PlannedAgent, PlannedProvision, PlannedSkill, PlannedTask, RunFolder, SkillRef, Store, StoreError,
};

use crate::plan::Plan;

impl Plan {
    /// Writes the plan, under the experiment's name if that name is free or has the same plan, else
    /// under the name with the first free number.
    pub fn begin_run(&self, store: &Store) -> Result<RunFolder, StoreError> {
        let provided = self.trials.values().flat_map(|trial| &trial.provision.skills);
        let provided: BTreeMap<Digest, &SkillRef> = provided.map(|skill| (skill.digest, skill)).collect();
        for skill in provided.values().filter_map(|skill| self.package(skill)) {
            store.write_skill(&skill.digest.hex(), skill.document.as_bytes())?;
        }
        let source = ("experiment.toml", self.experiment.source.as_bytes());
        let labeled = self.tasks.iter().map(|task| (task.name.clone(), task.labeled_digest.to_string()));
        let folder =
            store.begin_run_of(self.run_folder(), &self.experiment.name, source, &labeled.collect())?;
        if !self.experiment.source.is_empty() {
            store.save_experiment_path(&folder.run, &self.experiment.path)?;
        }
        Ok(folder)
    }

    /// A skill that a trial names.
    fn package(&self, skill: &SkillRef) -> Option<&Package> {
        self.packages.get(&(skill.digest, skill.directory.clone()))
    }

    /// The parts of the plan that a report needs.
    pub fn run_folder(&self) -> RunFolder {
        let mut folder = RunFolder {
            schema: RunFolder::SCHEMA.to_owned(),
            run: self.experiment.name.clone(),
            plan: String::new(),
            extends: None,
            relabels: None,
            margin: self.experiment.margin,
            primary: self.experiment.primary.clone(),
            seed: self.experiment.seed,
            repetitions: self.experiment.repetitions,
            conditions: self.experiment.conditions.clone(),
            disclosure: self.experiment.disclosure.word().to_owned(),
            agents: self
                .agents
                .iter()
                .map(|entry| PlannedAgent {
                    label: entry.label.clone(),
                    arm: (entry.arm != entry.label.name).then(|| entry.arm.clone()),
                    placement: entry.placement,
                    measures_a_model: entry.agent.measures_a_model(),
                    server: entry.server.clone(),
                    list_price: entry.spec.list_price.clone(),
                })
                .collect(),
            tasks: tasks(self),
            cells: self.cells.clone(),
            excluded: self.excluded.clone(),
            skills: self
                .library
                .packages
                .iter()
                .chain(self.tasks.iter().flat_map(|task| &task.skills))
                .map(|skill| (skill.name.clone(), skill.digest.to_string()))
                .collect(),
            equal_conditions: self.equal_conditions(),
            provisions: provisions(self),
            warnings: self.warnings().map(str::to_owned).collect(),
            settings: self.experiment.settings.clone(),
            outcome: Some(self.experiment.outcome),
            selected_by: self.experiment.selected_by.clone(),
            metrics: self.experiment.metrics.clone(),
            stopping: self.stopping(),
            judge: self
                .experiment
                .judge
                .clone()
                .filter(|_| self.tasks.iter().any(|task| task.graded_by.has_rubric())),
            reused: self.reused.clone(),
            imported: None,
            imported_from: None,
            reused_imports: (self.reused_imports > 0).then_some(self.reused_imports),
        };
        folder.set_looks(assay_stats::sequential::looks_of);
        folder.seal();
        folder
    }
}

/// The tasks of a plan, in order of name.
fn tasks(plan: &Plan) -> Vec<PlannedTask> {
    let text = |task: &assay_task::Task, key: &str| {
        task.config.metadata.get(key).and_then(|value| value.as_str()).map(str::to_owned)
    };
    plan.tasks
        .iter()
        .map(|task| PlannedTask {
            name: task.name.clone(),
            digest: task.digest.to_string(),
            cluster: task.cluster.clone(),
            difficulty: text(task, "difficulty"),
            category: text(task, "category"),
            negative_control: task.negative_control,
            second_stage: plan.second_stage.contains(&task.name),
            curated: plan.curated.get(&task.name).cloned().unwrap_or_default(),
        })
        .collect()
}

fn provisions(plan: &Plan) -> Vec<PlannedProvision> {
    let mut first = BTreeMap::new();
    for cell in &plan.cells {
        first.entry((&cell.task, &cell.condition)).or_insert(&cell.trial);
    }
    let mut tokens: BTreeMap<String, usize> = BTreeMap::new();
    let mut planned = |skill: &SkillRef| {
        let digest = skill.digest.to_string();
        let count = || plan.package(skill).map_or(0, |skill| assay_skill::tokens(&skill.body));
        let body_tokens = *tokens.entry(digest.clone()).or_insert_with(count);
        PlannedSkill { name: skill.name.clone(), digest, body_tokens }
    };
    first
        .into_iter()
        .filter_map(|((task, condition), trial)| {
            let skills = &plan.trials.get(trial)?.provision.skills;
            let skills = skills.iter().map(&mut planned).collect();
            let (task, condition) = (task.clone(), condition.clone());
            Some(PlannedProvision { task, condition, skills, known: None })
        })
        .collect()
}

#[cfg(test)]
mod tests;
