//! What a gate needs of the program around it, and what it reports to it.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_diagnostic::Diagnostic;
use assay_store::{RecordKeys, Store};
use assay_trial::{CliAgentContext, Experiment, Plan, Sandboxes};

use crate::cost::CostForecast;

/// Why the program around a gate could not do its part.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct HostError(Box<dyn Error + Send + Sync>);

impl HostError {
    /// An error of the program.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// The error as the program gave it.
    pub fn into_source(self) -> Box<dyn Error + Send + Sync> {
        self.0
    }
}

/// The program around a gate: its environment, its keys, its store and its sandboxes.
pub trait GateHost {
    /// Looks up an environment variable.
    fn env(&self) -> &(dyn Fn(&str) -> Option<String> + Sync);

    /// The folder for what is remembered of this user.
    fn state_folder(&self) -> Option<PathBuf>;

    /// The keys that sign what this process records. They may be created at the first need.
    ///
    /// # Errors
    /// A key that cannot be used.
    fn load_keys(&self) -> Result<RecordKeys, HostError>;

    /// Whether the environment has a key, rather than this user's state folder.
    ///
    /// # Errors
    /// A key that cannot be used.
    fn has_given_key(&self) -> Result<bool, HostError>;

    /// Why this process does not sign records, if it does not.
    fn explain_unsigned(&self) -> Option<String>;

    /// Gives each agent and judge without a price the one that holds today.
    ///
    /// # Errors
    /// The prices cannot be read.
    fn fill_prices(&self, experiment: &mut Experiment) -> Result<(), HostError>;

    /// Opens a store for trials whose records this process signs.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open_store(&self, path: &Path) -> Result<Store, HostError>;

    /// Removes containers of dead processes.
    fn remove_stale_containers(&self, store: &Store);

    /// A flag that is set when the process is to end.
    ///
    /// # Errors
    /// The process cannot listen for signals.
    fn watch_signals(&self) -> Result<Arc<AtomicBool>, HostError>;

    /// The sandboxes of this machine.
    ///
    /// # Errors
    /// The store that they belong to cannot be opened.
    fn open_sandboxes(&self) -> Result<Sandboxes, HostError>;

    /// Where CLI agents are installed.
    fn cli_agents(&self) -> Option<CliAgentContext>;

    /// Tests the agents of the trials that a plan has to execute.
    ///
    /// # Errors
    /// Why an agent would fail.
    fn check_agents(&self, plan: &Plan, store: &Store) -> Result<(), HostError>;

    /// Executes the checks of tasks in sandboxes that isolate them, with a store for what they record. A summary, and a line for
    /// each error.
    ///
    /// # Errors
    /// The checks cannot be executed.
    fn check_tasks(
        &self,
        folders: &[PathBuf],
        experiment: Option<&Experiment>,
        store: &Path,
    ) -> Result<Vec<String>, HostError>;
}

/// What happens in a gate.
#[derive(Debug)]
#[non_exhaustive]
pub enum GateEvent<'a> {
    /// What the claim of a skill can show.
    Power {
        /// The skill.
        skill: &'a str,
        /// The power in words.
        note: &'a str,
    },
    /// What the trials may cost.
    Forecast(&'a CostForecast),
    /// A remark about a plan.
    PlanDiagnostic(&'a Diagnostic),
    /// The trials of a skill are executed or read.
    SkillBegan {
        /// The skill.
        skill: &'a str,
        /// What it must show.
        claim: &'static str,
    },
    /// A run begins.
    RunBegan,
    /// Something happened in the run.
    Trial(&'a assay_trial::Event<'a>),
    /// The run ended.
    RunEnded,
    /// A skill takes another round.
    Undecided {
        /// The skill.
        skill: &'a str,
        /// The repetitions so far.
        repetitions: u32,
    },
}

/// Hears what happens in a gate.
pub trait GateEvents {
    /// Handles an event. It must return soon.
    fn handle_event(&self, event: &GateEvent<'_>);
}

impl<F: Fn(&GateEvent<'_>)> GateEvents for F {
    fn handle_event(&self, event: &GateEvent<'_>) {
        self(event);
    }
}
