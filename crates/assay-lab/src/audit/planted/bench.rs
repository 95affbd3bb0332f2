//! How many of the directives that were planted are found, and whether the run counts as adopting.

use assay_audit::adherence::{Adherence, Cohort, Known, RunEvidence, Status};
use assay_audit::calibrated::{Run, TaskAudit, TaskRuns};
use assay_audit::directive::{Directive, Kind, Modality};
use assay_audit::evidence::SkillText;
use serde::Serialize;

use super::{can_plant, draw_values, plant};

/// How many directives are planted in a run.
pub const DOSES: [usize; 4] = [1, 2, 3, 5];

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Nothing: the run as it is.
    Nothing,
    /// Directives of another skill.
    OtherSkill,
    /// Codes, columns, files and formats.
    Literals,
    /// Numbers that decide something.
    Thresholds,
    /// Files of the package to run.
    Scripts,
    /// Commands and their options.
    Commands,
    /// Two acts in a stated order.
    Orderings,
    /// What the skill forbids.
    Prohibitions,
    /// What it demands, of any kind.
    Mixed,
}

impl Group {
    /// All groups of planted directives of the right skill.
    pub const PLANTED: [Self; 7] = [
        Self::Literals,
        Self::Thresholds,
        Self::Scripts,
        Self::Commands,
        Self::Orderings,
        Self::Prohibitions,
        Self::Mixed,
    ];

    /// What it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::OtherSkill => "directives of another skill",
            Self::Literals => "literals",
            Self::Thresholds => "thresholds",
            Self::Scripts => "scripts",
            Self::Commands => "commands",
            Self::Orderings => "orderings",
            Self::Prohibitions => "prohibitions",
            Self::Mixed => "any kind",
        }
    }

    fn has(self, directive: &Directive) -> bool {
        let required = directive.modality == Modality::Required;
        match self {
            Self::Nothing => false,
            Self::Mixed | Self::OtherSkill => required,
            Self::Prohibitions => !required,
            Self::Literals => {
                let kinds = [Kind::Literal, Kind::Column, Kind::File, Kind::Format];
                required && kinds.contains(&directive.kind)
            }
            Self::Thresholds => required && directive.kind == Kind::Threshold,
            Self::Scripts => required && directive.kind == Kind::Script,
            Self::Commands => required && matches!(directive.kind, Kind::Command | Kind::Flag),
            Self::Orderings => required && directive.kind == Kind::Order,
        }
    }
}

/// One run with something planted in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlantedRun {
    /// What was planted.
    pub group: Group,
    /// How many directives.
    pub dose: usize,
    /// Of these, how many have the status that was planted. Of another skill's: directives of the
    /// right skill that are followed or violated in the run, and were not before.
    pub found: usize,
    /// Whether the run counts as adopting.
    pub adopted: bool,
}

/// Plants directives in the runs of a task without the skill, one run after another. Copies of a run, of which `audit` tells,
/// are left out.
///
/// The other controls are all that a run is compared with: of runs with the skill it is not known
/// what they follow. Only directives that the run shows nothing of, and that neither the task nor
/// its inputs name, are planted; of examples none. A skill with fewer of a group gives no run for
/// the larger doses.
pub fn planted_runs(task: &TaskRuns<'_>, library: &[SkillText], audit: &TaskAudit) -> Vec<PlantedRun> {
    let is_control = |at: &usize| !audit.runs[*at].with && audit.runs[*at].original == *at;
    let controls: Vec<usize> = (0..audit.runs.len()).filter(is_control).collect();
    if controls.is_empty() {
        return Vec::new();
    }
    let skills = || library.iter().chain([task.skill]);
    let all: Vec<RunEvidence> =
        task.runs.iter().map(|run| RunEvidence::new(&run.trajectory, &run.left, skills())).collect();
    let known = Known::new(&task.prompt, &all);
    let evidence: Vec<RunEvidence> = controls.iter().map(|&at| all[at].clone()).collect();
    let cohort = Cohort::new(task.skill, &evidence, &known);
    let mut found = Vec::new();
    for (place, (&at, before)) in controls.iter().zip(&cohort.adherences()).enumerate() {
        let bench = Bench { task, library, run: &task.runs[at], place, before, cohort: &cohort };
        found.push(PlantedRun { group: Group::Nothing, dose: 0, found: 0, adopted: before.adopted() });
        for (number, group) in (0_u64..).zip(Group::PLANTED) {
            let eligible = bench.eligible(group);
            for dose in DOSES.into_iter().filter(|dose| *dose <= eligible.len()) {
                // Another draw for every run, group and dose; the same in every execution.
                let seed = (at as u64) << 16 | number << 8 | dose as u64;
                found.push(bench.run(group, &draw_values(&eligible, dose, seed), seed));
            }
        }
        found.extend(bench.other_skill(at as u64));
    }
    found
}

struct Bench<'a> {
    task: &'a TaskRuns<'a>,
    library: &'a [SkillText],
    run: &'a Run,
    /// The run's place in the cohort.
    place: usize,
    before: &'a Adherence,
    cohort: &'a Cohort<'a>,
}

impl Bench<'_> {
    /// Directives of the group, as places, of which the run shows nothing.
    fn eligible(&self, group: Group) -> Vec<usize> {
        let shown =
            |at: usize| matches!(self.before.assessments[at].status, Status::Followed | Status::Violated);
        let directives = &self.task.skill.directives;
        let suits = |(at, directive): (usize, &Directive)| {
            let fits = group.has(directive)
                && !directive.example
                && !shown(at)
                && !self.task.prompt.contains(&directive.subject)
                && !self.cohort.knows(directive)
                && can_plant(directive);
            fits.then_some(at)
        };
        directives.iter().enumerate().filter_map(suits).collect()
    }

    fn run(&self, group: Group, chosen: &[usize], seed: u64) -> PlantedRun {
        let directives: Vec<&Directive> = chosen.iter().map(|&at| &self.task.skill.directives[at]).collect();
        let after = self.after(&directives, seed);
        let expected = if group == Group::Prohibitions { Status::Violated } else { Status::Followed };
        let found = chosen.iter().filter(|&&at| after.assessments[at].status == expected).count();
        PlantedRun { group, dose: chosen.len(), found, adopted: after.adopted() }
    }

    /// Three directives of another skill, if one has three.
    fn other_skill(&self, number: u64) -> Option<PlantedRun> {
        let others: Vec<&SkillText> =
            self.library.iter().filter(|other| other.body != self.task.skill.body).collect();
        let other = draw_values(&others, 1, number).pop()?;
        let suits = |directive: &&Directive| {
            Group::OtherSkill.has(directive) && !directive.example && can_plant(directive)
        };
        let directives: Vec<&Directive> = other.directives.iter().filter(suits).collect();
        let chosen = draw_values(&directives, 3, number);
        let after = (chosen.len() == 3).then(|| self.after(&chosen, number))?;
        let shows = |status: Status| matches!(status, Status::Followed | Status::Violated);
        let found = after
            .assessments
            .iter()
            .zip(&self.before.assessments)
            .filter(|(after, before)| shows(after.status) && !shows(before.status))
            .count();
        Some(PlantedRun { group: Group::OtherSkill, dose: 3, found, adopted: after.adopted() })
    }

    fn after(&self, directives: &[&Directive], seed: u64) -> Adherence {
        let (trajectory, left) = plant(&self.run.trajectory, &self.run.left, directives, seed);
        let material = RunEvidence::new(&trajectory, &left, self.library.iter().chain([self.task.skill]));
        self.cohort.replaced(self.place, &material)
    }
}
