//! The judges of an experiment, opened.

use std::path::Path;
use std::sync::Arc;

use assay_ask::ModelHandle;
use assay_judge::{PROTOCOL, Rubric, is_same_family};
use assay_model::{ChatModel, ModelError, ModelOptions};
use assay_sandbox::Sandbox;
use assay_store::{JudgeMode, JudgeModel, JudgeSpec};
use serde_json::{Value, json};

use crate::run::context::MachineContext;

/// The judges of an experiment.
pub struct Panel {
    /// As the experiment has them.
    pub spec: JudgeSpec,
    /// One for each of its models.
    pub(crate) judges: Vec<OpenedJudge>,
    /// Where judges that are agents work.
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
}

/// A model that judges.
pub(crate) struct OpenedJudge {
    pub(crate) entry: JudgeModel,
    pub(crate) model: Arc<dyn ChatModel>,
    /// The same for questions. A run checks the connection before its first trial.
    pub(crate) handle: ModelHandle,
    /// Its server, as declared: a name, or an address in its normal form. `None` for scripts.
    pub(crate) server: Option<String>,
}

impl OpenedJudge {
    /// Everything about it that can change a verdict.
    pub(crate) fn identity(&self) -> Value {
        let mut identity = self.earlier_identity();
        if let Some(server) = &self.server {
            identity["server"] = json!(server);
        }
        identity
    }

    /// The same before servers were part of it.
    fn earlier_identity(&self) -> Value {
        let name = if self.model.measures_a_model() { self.model.id() } else { "scripted" };
        json!({ "model": name, "script": self.model.identity() })
    }
}

/// The judges of a trial, and what they judge by.
#[derive(Clone)]
pub struct TrialJudge {
    /// The judges.
    pub panel: Arc<Panel>,
    /// The task's rubric.
    pub rubric: Arc<Rubric>,
}

impl TrialJudge {
    /// Everything about judges and rubric that can change a verdict.
    pub fn identity(&self) -> Value {
        let mut identity = self.panel.identity();
        identity["rubric"] = json!(rubric_digest(&self.rubric));
        identity
    }
}

/// The digest of a rubric, as judgements are identified by it.
pub fn rubric_digest(rubric: &Rubric) -> String {
    blake3::hash(rubric.to_json().as_bytes()).to_hex().to_string()
}

/// Why judges cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PanelError {
    /// A model that cannot be opened.
    #[error("judge {judge:?}: {source}")]
    Model {
        /// `provider:model`.
        judge: String,
        /// Why.
        source: ModelError,
    },
    /// A judge of the candidate's family.
    #[error("the judge {judge} is of the family of {candidate}, which it would judge")]
    SameFamily {
        /// `provider:model`.
        judge: String,
        /// The model of an agent.
        candidate: String,
    },
    /// Judges that are agents need a sandbox.
    #[error("judges with `mode = \"agent\"` need bubblewrap: {0}")]
    NoSandbox(String),
}

impl Panel {
    /// Opens the judges. Relative paths of scripts start from `directory`.
    ///
    /// # Errors
    /// A model that cannot be opened, or no sandbox for judges that need one.
    pub fn open(
        spec: &JudgeSpec,
        directory: &Path,
        machine: &MachineContext<'_>,
    ) -> Result<Self, PanelError> {
        let open = |entry: &JudgeModel| {
            let options = ModelOptions {
                base_url: entry.base_url.clone(),
                api_key_env: entry.api_key_env.clone(),
                needs_key: !machine.dry,
                directory: directory.to_owned(),
                ..ModelOptions::default()
            };
            let model = assay_model::open(&entry.model, &options, &machine.env)
                .map_err(|source| PanelError::Model { judge: entry.model.clone(), source })?;
            let server = assay_model::server(&entry.model, entry.base_url.as_deref(), &machine.env)
                .map_err(|source| PanelError::Model { judge: entry.model.clone(), source })?
                .map(|address| entry.server.clone().unwrap_or(address));
            let handle = ModelHandle::of_model_named(entry.model.clone(), Arc::clone(&model));
            Ok(OpenedJudge { entry: entry.clone(), model, handle, server })
        };
        let judges = spec.models.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let sandbox: Option<Arc<dyn Sandbox>> = match (spec.mode, &machine.sandboxes.bubblewrap) {
            (JudgeMode::Call, _) => None,
            (JudgeMode::Agent, Ok(bubblewrap)) => Some(bubblewrap.clone()),
            (JudgeMode::Agent, Err(reason)) => return Err(PanelError::NoSandbox(reason.to_string())),
        };
        Ok(Self { spec: spec.clone(), judges, sandbox })
    }

    /// Refuses judges of the family of a candidate.
    ///
    /// # Errors
    /// The first judge and candidate of one family.
    pub fn check_family(spec: &JudgeSpec, candidates: &[&str]) -> Result<(), PanelError> {
        for judge in &spec.models {
            let own = candidates.iter().find(|candidate| is_same_family(&judge.model, candidate));
            if let Some(candidate) = own {
                return Err(PanelError::SameFamily {
                    judge: judge.model.clone(),
                    candidate: (*candidate).to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Whether no judge is a script.
    pub(crate) fn measures_models(&self) -> bool {
        self.judges.iter().all(|judge| judge.model.measures_a_model())
    }

    /// Everything about the judges that can change a verdict: no address but their declared servers', no key or
    /// price.
    pub fn identity(&self) -> Value {
        self.identity_of(OpenedJudge::identity)
    }

    /// What identified them before servers did, as part of a trial's identity.
    pub(crate) fn earlier_identity(&self) -> Value {
        self.identity_of(OpenedJudge::earlier_identity)
    }

    /// Their declared servers.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &String> {
        self.judges.iter().filter_map(|judge| judge.server.as_ref())
    }

    fn identity_of(&self, one: fn(&OpenedJudge) -> Value) -> Value {
        let JudgeSpec { mode, repeats, material, max_turns, pass, .. } = &self.spec;
        let models: Vec<Value> = self.judges.iter().map(one).collect();
        let mut identity = json!({
            "protocol": PROTOCOL, "models": models, "mode": mode, "repeats": repeats, "material": material,
        });
        if *mode == JudgeMode::Agent {
            identity["max_turns"] = json!(max_turns);
        }
        if *pass > 0 {
            identity["pass"] = json!(pass);
        }
        identity
    }
}
