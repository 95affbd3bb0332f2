//! What an audit of a task depends on, as a digest: it names results that are kept.

use assay_fs::{Digest, Hasher};
use serde::Serialize;

use super::task::{Run, TaskRuns};
use crate::evidence::SkillText;

/// The version of the rules: a digest of the source of this crate and of those that it reads skills, commands and traces
/// with. Results of other rules are not used.
const RULES: &str = env!("ASSAY_AUDIT_RULES");

/// The digest of all that [`super::audit_own`] reads: the rules, the skill with its directives, the texts of the library
/// that are no evidence, the task's text, and each run with its steps, files, checks, outcome and exposure.
///
/// It follows from contents alone, so that a run cannot have the digest of another unless it is the same.
pub fn task_digest(task: &TaskRuns<'_>, library: &[SkillText]) -> Digest {
    let mut hasher = Parts(Hasher::new("assay.audit-results/1"));
    hasher.add(RULES.as_bytes());
    hasher.add(task.skill_name.as_bytes());
    hasher.add(task.prompt.as_bytes());
    hasher.add_skill(task.skill);
    // A probe has no other form that is complete.
    hasher.add(format!("{:?}", task.skill.directives).as_bytes());
    hasher.add_count(library.len());
    for skill in library {
        hasher.add(skill.name.as_bytes());
        hasher.add(skill.body.as_bytes());
    }
    hasher.add_count(task.runs.len());
    task.runs.iter().for_each(|run| hasher.add_run(run));
    hasher.0.finish()
}

/// Parts of a digest, each behind its length.
struct Parts(Hasher);

impl Parts {
    fn add(&mut self, bytes: &[u8]) {
        self.0.part(bytes);
    }

    fn add_count(&mut self, count: usize) {
        self.0.number(count as u64);
    }

    /// A value as JSON. What cannot be written as JSON gives a digest that nothing else has.
    fn add_json(&mut self, value: &impl Serialize) {
        match serde_json::to_vec(value) {
            Ok(bytes) => self.add(&bytes),
            Err(error) => self.add(error.to_string().as_bytes()),
        }
    }

    fn add_skill(&mut self, skill: &SkillText) {
        self.add(skill.name.as_bytes());
        self.add(skill.description.as_bytes());
        self.add(skill.body.as_bytes());
        self.add_count(skill.package.files.len());
        for file in &skill.package.files {
            self.add(file.path.as_bytes());
            self.add(file.text.as_bytes());
        }
    }

    fn add_run(&mut self, run: &Run) {
        self.add(run.arm.as_bytes());
        self.add_count(usize::from(run.with));
        self.add_json(&run.name);
        self.add_json(&run.trajectory);
        self.add_json(&run.known);
        self.add_json(&run.checks);
        self.add_json(&run.outcome);
        self.add_count(run.left.files.len());
        for (path, text) in &run.left.files {
            self.add(path.as_bytes());
            self.add(text.as_bytes());
        }
    }
}
