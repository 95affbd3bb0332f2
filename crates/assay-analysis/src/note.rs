//! Notes on a report, as data. `assay-report` turns them into sentences.

use assay_store::{Closing, OutcomeRule, Reuse};

use crate::asked_question::AskedQuestion;
use crate::matching::MatchedCondition;
use crate::models::RepliedModel;
use crate::origins::RecordOrigins;
use crate::shared::SharedSkills;

/// An arm as a note names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmName {
    /// The condition.
    pub condition: String,
    /// The agent's model, or its harness without one; `None` if the run has one agent.
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

/// A note on a report.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// An arm has no usable trial, so it has no pass rate and no comparison.
    Unusable {
        /// The arm.
        arm: ArmName,
        /// Whether it is about the negative controls.
        on_controls: bool,
        /// Trials with a record.
        trials: usize,
        /// Trials that timed out before the model replied.
        timed_out: usize,
        /// Trials that ended without a reply of the model.
        silent: usize,
        /// Trials that ended with an infrastructure error.
        infrastructure: usize,
    },
    /// Verifiers write several rewards and none of the name `reward`.
    SeveralRewards {
        /// Their tasks.
        tasks: Vec<String>,
        /// The rule of the plan; `None` for a plan from before there was a choice.
        rule: Option<OutcomeRule>,
    },
    /// A model other than the requested one replied.
    OtherModelReplied(RepliedModel),
    /// Scripted agents or models.
    Scripted {
        /// Their names.
        names: Vec<String>,
    },
    /// A warning of the plan, as a sentence.
    Planned(String),
    /// The trials were executed by another program.
    Imported {
        /// Its name.
        origin: String,
    },
    /// Comparisons are decided after each complete round.
    Sequential {
        /// Rounds at most.
        rounds: u32,
        /// How many of them are looked at; all if `None`.
        looks: Option<u32>,
        /// Tasks that take part in no round, if there are any.
        more_tasks: Option<u32>,
    },
    /// Trials whose reward was read after the agent's deadline.
    Late {
        /// How many.
        trials: usize,
    },
    /// Trials whose reward is outside [0, 1] and was clamped.
    Clamped {
        /// How many.
        trials: usize,
        /// Their lowest reward.
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
    /// Conditions of two compared runs are the same by their roles, and have different names.
    ConditionsMatched {
        /// The first run.
        first: String,
        /// The second run.
        second: String,
        /// The conditions.
        pairs: Vec<MatchedCondition>,
    },
    /// Two compared runs have different settings.
    SettingDiffers {
        /// Which setting.
        setting: &'static str,
        /// Its value in the first run.
        first: String,
        /// Its value in the second.
        second: String,
        /// On how many tasks; `None` for a setting of the whole run.
        tasks: Option<usize>,
    },
    /// Agents whose skills are listed in the system prompt.
    PlacedInSystem {
        /// Their harnesses.
        agents: Vec<String>,
    },
    /// The prompt said that the skills were installed for the task.
    SkillsTold,
    /// The full text of the skills was in the context.
    SkillsEager,
    /// A condition with settings of its own.
    Condition {
        /// Its name.
        condition: String,
        /// The condition that it is.
        is: String,
        /// How its skills are disclosed, if otherwise than in the rest of the run.
        disclosure: Option<String>,
        /// Trials of each of its cells, if not as many as in the rest of the run.
        repetitions: Option<u32>,
    },
    /// Costs are computed with a price of a table.
    ListPrice {
        /// The model.
        model: String,
        /// The day from which the price holds.
        from: String,
    },
    /// How tokens were counted.
    Tokens(TokenNote),
    /// Trials that were replayed from cassettes.
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
    /// Trials that were planned and not executed.
    NotExecuted {
        /// How many.
        trials: usize,
        /// Of how many planned ones.
        planned: usize,
        /// Whether they are executed elsewhere.
        imported: bool,
    },
    /// Conditions of which it is unknown whether their treatments were there for the agents.
    DeliveryUnknown {
        /// Their names.
        conditions: Vec<String>,
    },
    /// A placebo that hardly any trial opened.
    UnreadPlacebo {
        /// The arm.
        arm: ArmName,
        /// The share of its trials that opened it.
        opened: f64,
    },
    /// Trials with a skill in the sandbox that was not provided.
    Contaminated {
        /// The arm.
        arm: ArmName,
        /// How many.
        trials: usize,
    },
    /// Conditions differ in how many of their trials were lost because they pass only with what the
    /// agent changed outside its work folders.
    EnvironmentDependent {
        /// The arm.
        arm: ArmName,
        /// Such trials.
        trials: usize,
        /// All that were executed.
        executed: usize,
    },
    /// Trials of which logs, artifacts or other evidence could not be kept.
    EvidenceLost {
        /// The arm.
        arm: ArmName,
        /// How many.
        trials: usize,
    },
    /// The baseline gives answers that nobody can guess.
    KnownCanaries {
        /// The baseline.
        arm: ArmName,
        /// Canaries that it knows, at least one.
        known: usize,
        /// Canaries that it was checked for.
        total: usize,
    },
    /// A placebo helps.
    PlaceboHelps {
        /// The arm.
        arm: ArmName,
        /// Its lift.
        lift: f64,
    },
    /// An unrelated skill helps.
    UnrelatedHelps {
        /// The arm.
        arm: ArmName,
        /// Its lift.
        lift: f64,
    },
    /// Results of the negative controls.
    Control(ControlNote),
    /// A gate opened a look at the run, and has not decided on it.
    OpenLook {
        /// The id of the look.
        look: String,
    },
    /// The run was closed with a part of its planned trials, and is judged by them.
    Closed {
        /// The closing.
        closing: Closing,
        /// Rounds at most, if the run is decided round by round.
        rounds: Option<u32>,
    },
    /// The run was closed with a part of its planned trials, and continued.
    ContinuedAfterClosing(Closing),
    /// Earlier runs with other trials asked the same question.
    EarlierRuns(AskedQuestion),
    /// Earlier runs had the same trials.
    Reanalysis(AskedQuestion),
    /// The run contains all trials of an earlier one.
    Extended {
        /// The earlier run.
        earlier: String,
    },
    /// The run has the trials and the analysis of an earlier one, and other labels of tasks.
    Relabeled {
        /// The earlier run.
        earlier: String,
    },
    /// Records without a signature by a known key, and imported ones.
    Origins(RecordOrigins),
    /// Records that do not match their signature.
    Changed {
        /// How many.
        records: usize,
    },
    /// Trials that were executed under another identity.
    Reused {
        /// Why they count.
        why: Reuse,
        /// Their server; `None` if it is that of their agent.
        server: Option<String>,
        /// How many.
        trials: usize,
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
        /// The agents for which this is true of every trial.
        agents: Vec<String>,
    },
    /// The gateway and the transcripts do not always count the same tokens.
    Differ {
        /// The agent.
        agent: String,
        /// Trials that both counted.
        trials: usize,
        /// Trials with the same count.
        equal: usize,
        /// Trials with less in the transcript.
        less: usize,
    },
    /// An agent's transcripts omit requests outside the task.
    Beside {
        /// The agent.
        agent: String,
        /// Their mean tokens per trial.
        tokens: u64,
    },
    /// Tokens that were estimated from characters.
    Estimated {
        /// The agent, with its model.
        agent: String,
        /// Trials of the agent.
        trials: usize,
        /// Trials with an estimate.
        estimates: usize,
        /// The share of its tokens that is an estimate.
        share: f64,
    },
}

/// Results of the negative controls.
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
    /// Arms with a negligible effect on the negative controls.
    Unchanged {
        /// The arms.
        arms: ArmNames,
        /// How many controls there are.
        tasks: usize,
        /// The equivalence margin.
        margin: f64,
    },
    /// Arms with too many infrastructure errors on the negative controls.
    Lost {
        /// The arms.
        arms: ArmNames,
        /// How many controls there are.
        tasks: usize,
    },
    /// Arms that are inconclusive on the negative controls.
    Unclear {
        /// The arms.
        arms: ArmNames,
        /// How many controls there are.
        tasks: usize,
        /// The equivalence margin.
        margin: f64,
        /// Tasks needed, if known.
        needed: Option<usize>,
    },
}
