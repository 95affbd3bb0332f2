//! What a reader has to know beside the figures, as data. `assay-report` puts it into sentences.

use crate::models::RepliedModel;
use crate::shared::SharedSkills;

/// An arm as a note names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmName {
    /// The condition.
    pub condition: String,
    /// The agent's model, or its harness where it has none; `None` where the run has one agent.
    pub by: Option<String>,
}

/// Arms with the same outcome, among all that were compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmNames {
    /// The arms, at least one.
    pub arms: Vec<ArmName>,
    /// How many comparisons there are.
    pub of: usize,
}

/// One thing that a reader has to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// An arm ran without a usable trial, so it has no pass rate and no comparison.
    Unusable {
        /// The arm.
        arm: ArmName,
        /// Whether it is about the negative controls.
        on_controls: bool,
        /// Trials with a record.
        trials: usize,
        /// Of them, out of time before the model replied.
        timed_out: usize,
        /// Of them, ended without a reply of the model.
        silent: usize,
        /// Of them, ended with an infrastructure error.
        infrastructure: usize,
    },
    /// Another model replied than the one that was asked for.
    OtherModelReplied(RepliedModel),
    /// Agents or models that play a script.
    Scripted {
        /// Their names.
        names: Vec<String>,
    },
    /// A warning that the plan holds, as a sentence.
    Planned(String),
    /// The trials were executed by another program.
    Imported {
        /// Its name.
        origin: String,
    },
    /// Trials whose reward was read after the agent's deadline.
    Late {
        /// How many.
        trials: usize,
    },
    /// Trials whose reward lies outside [0, 1] and was clamped.
    Clamped {
        /// How many.
        trials: usize,
        /// The lowest reward of theirs.
        low: f64,
        /// The highest.
        high: f64,
    },
    /// Two conditions were measured at different times.
    DifferentTimes {
        /// The arm.
        arm: ArmName,
        /// The condition, or the run, that it is compared with.
        baseline: String,
        /// First start and last end of the baseline's trials, then of the arm's, in UTC.
        measured: [[String; 2]; 2],
        /// The smaller of the two shares of trials that ran within the period of the other.
        overlap: f64,
    },
    /// Agents that find skills in a text of the system.
    PlacedInSystem {
        /// Their harnesses.
        agents: Vec<String>,
    },
    /// The agents were told that the skills were installed for the task.
    SkillsTold,
    /// The bodies of the skills stood in the agents' context.
    SkillsEager,
    /// How tokens were counted.
    Tokens(TokenNote),
    /// Trials that were played from cassettes.
    Replayed {
        /// How many.
        trials: usize,
    },
    /// Two conditions that provide the same on some tasks.
    EqualConditions {
        /// The one.
        one: String,
        /// The other.
        other: String,
        /// On how many tasks.
        tasks: usize,
    },
    /// Tasks that share skills and declare no cluster.
    SharedSkills(SharedSkills),
    /// Trials that were planned and have no record yet.
    Unfinished {
        /// How many.
        trials: usize,
        /// Whether they are executed elsewhere.
        imported: bool,
    },
    /// A placebo that hardly any trial read.
    UnreadPlacebo {
        /// The arm.
        arm: ArmName,
        /// The share of its trials that read it.
        opened: f64,
    },
    /// Trials with a skill in the sandbox that was not provided.
    Contaminated {
        /// The arm.
        arm: ArmName,
        /// How many.
        trials: usize,
    },
    /// A text that teaches nothing helps.
    PlaceboHelps {
        /// The arm.
        arm: ArmName,
        /// Its lift.
        lift: f64,
    },
    /// A skill that is not about the task helps.
    UnrelatedHelps {
        /// The arm.
        arm: ArmName,
        /// Its lift.
        lift: f64,
    },
    /// What the negative controls show.
    Control(ControlNote),
    /// The run holds all trials of an earlier one.
    Extended {
        /// The earlier run.
        earlier: String,
    },
    /// Records that cannot be read.
    Unreadable {
        /// How many.
        records: usize,
    },
}

/// How the tokens of an agent were counted.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenNote {
    /// The gateway and the transcripts count the same tokens.
    Agree {
        /// The agents of which that holds for every trial.
        agents: Vec<String>,
    },
    /// The gateway and the transcripts do not always count the same tokens.
    Differ {
        /// The agent.
        agent: String,
        /// Trials that both counted.
        trials: usize,
        /// Of them, with the same count.
        equal: usize,
        /// Of them, with less in the transcript.
        less: usize,
    },
    /// An agent's transcripts leave out requests beside its work.
    Beside {
        /// The agent.
        agent: String,
        /// The tokens that they took, in the mean of its trials.
        tokens: u64,
    },
    /// Tokens that were estimated by characters.
    Estimated {
        /// The agent, with its model.
        agent: String,
        /// Trials of the agent.
        trials: usize,
        /// Of them, with an estimate.
        estimates: usize,
        /// The share of its tokens that is an estimate.
        share: f64,
    },
}

/// What the negative controls show.
#[derive(Debug, Clone, PartialEq)]
pub enum ControlNote {
    /// An arm helps on the negative controls.
    Helped {
        /// The arm.
        arm: ArmName,
        /// How many controls there are.
        tasks: usize,
        /// Its lift on them.
        lift: f64,
    },
    /// An arm harms on the negative controls.
    Harmed {
        /// The arm.
        arm: ArmName,
        /// How many controls there are.
        tasks: usize,
        /// Its lift on them.
        lift: f64,
    },
    /// Arms without an effect on the negative controls.
    Unchanged {
        /// The arms.
        arms: ArmNames,
        /// How many controls there are.
        tasks: usize,
        /// The margin of "no effect".
        margin: f64,
    },
    /// Arms that lost too many trials on the negative controls.
    Lost {
        /// The arms.
        arms: ArmNames,
        /// How many controls there are.
        tasks: usize,
    },
    /// Arms of which neither an effect on the negative controls nor its absence is shown.
    Unclear {
        /// The arms.
        arms: ArmNames,
        /// How many controls there are.
        tasks: usize,
        /// The margin of "no effect".
        margin: f64,
        /// Tasks that would be needed, where that is known.
        needed: Option<usize>,
    },
}
