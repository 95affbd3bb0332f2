//! One trial as data.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use assay_fs::Digest;
use assay_trace::Disclosure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::identity::{TrialId, canonical};
use crate::record::AgentLabel;
use crate::spec::agent::AgentSpec;
use crate::spec::judge::JudgeSpec;
use crate::spec::network::NetworkPolicy;
use crate::spec::sandbox::{SandboxChoice, SandboxLimits};

/// Changes whenever execution changes in a way that makes old results incomparable with new ones.
pub const PROTOCOL: &str = "assay.trial/3";

/// The version before: without the server of the model, and with labels of tasks. Execution is the same, so
/// results that were recorded under it still count where their id can be computed.
pub const EARLIER_PROTOCOL: &str = "assay.trial/2";

/// One trial: everything needed to execute it, by content or by reference and digest. It contains
/// no secret: variables of the environment are named, and keys are read where it is executed.
///
/// Folders are paths at planning time. They are hints; digests decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// `assay.trial-spec/1`.
    pub schema: String,
    /// The hash of `specification`.
    pub id: TrialId,
    /// Everything that can change its outcome, which is hashed.
    pub specification: Value,
    /// The task.
    pub task: TaskRef,
    /// The agent.
    pub agent: AgentLabel,
    /// The agent's table in the experiment.
    #[serde(with = "shared")]
    pub options: Arc<AgentSpec>,
    /// The base folder of relative paths of scripted models.
    #[serde(with = "shared")]
    pub scripts: Arc<PathBuf>,
    /// The condition under which it was first planned.
    pub condition: String,
    /// The condition that it is, where its name is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// The skills of the agent.
    #[serde(with = "shared")]
    pub provision: Arc<ProvisionSpec>,
    /// Skills of the experiment that were not provided, for the search for contamination.
    #[serde(with = "shared")]
    pub absent: Arc<Vec<SkillRef>>,
    /// How the skills are disclosed.
    pub disclosure: Disclosure,
    /// The sandbox, never `auto`.
    #[serde(with = "shared")]
    pub sandbox: Arc<SandboxChoice>,
    /// Its resource limits.
    pub limits: SandboxLimits,
    /// What the task requests and the planning machine cannot provide.
    #[serde(with = "shared")]
    pub warnings: Arc<Vec<String>>,
    /// The agent's network policy.
    pub network: NetworkPolicy,
    /// The verifier's network policy.
    pub verifier_network: NetworkPolicy,
    /// Seconds of the agent's own time.
    pub agent_seconds: f64,
    /// From 1.
    pub repetition: u32,
    /// The experiment's seed.
    pub seed: u64,
    /// Variables of the host that `${VAR}` in the task may name.
    #[serde(with = "shared")]
    pub allow_env: Arc<Vec<String>>,
    /// The judges, if the task has a rubric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeSpec>,
}

impl TrialSpec {
    /// The format.
    pub const SCHEMA: &str = "assay.trial-spec/1";

    /// The specification as written to a file: with a digest over all of it, next to the id, which
    /// covers only what can change an outcome.
    ///
    /// # Errors
    /// Never, for specifications of a plan.
    pub fn document(&self) -> Result<Value, serde_json::Error> {
        let mut document = serde_json::to_value(self)?;
        document["digest"] = Value::String(seal(&document));
        Ok(document)
    }

    /// Reads a specification, and checks its digest and its id.
    ///
    /// # Errors
    /// A file that cannot be read, and one that was edited.
    pub fn load(path: &Path) -> Result<Self, SpecError> {
        let bytes = assay_fs::read_file(path, assay_fs::DOCUMENT_CAP)
            .map_err(|source| SpecError::Read { path: path.to_owned(), source })?;
        let value = serde_json::from_slice(&bytes)
            .map_err(|source| SpecError::Json { path: path.to_owned(), source })?;
        Self::of_document(value, path)
    }

    /// The specification in a document of [`TrialSpec::document`]. `path` is for errors.
    ///
    /// # Errors
    /// As [`TrialSpec::load`].
    pub fn of_document(mut value: Value, path: &Path) -> Result<Self, SpecError> {
        let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default();
        if schema != Self::SCHEMA {
            return Err(SpecError::Schema { path: path.to_owned(), found: schema.to_owned() });
        }
        let digest = value.as_object_mut().and_then(|document| document.shift_remove("digest"));
        let is_sealed = digest.as_ref().and_then(Value::as_str) == Some(&seal(&value));
        let spec: Self = serde_json::from_value(value)
            .map_err(|source| SpecError::Json { path: path.to_owned(), source })?;
        if TrialId::of(&spec.specification) != spec.id {
            return Err(SpecError::Id { path: path.to_owned() });
        }
        // Folders are made under its name.
        let mut parts = Path::new(&spec.task.name).components();
        let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        if !is_sealed || !is_name {
            return Err(SpecError::Digest { path: path.to_owned() });
        }
        // Judges were a part of the trial then, and are not now.
        if spec.protocol() != PROTOCOL && (!spec.is_earlier() || spec.judge.is_some()) {
            let found = spec.protocol().to_owned();
            return Err(SpecError::Protocol { path: path.to_owned(), found });
        }
        Ok(spec)
    }

    fn protocol(&self) -> &str {
        self.specification.get("protocol").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it was planned under [`EARLIER_PROTOCOL`]. It is executed under the id that it had.
    pub fn is_earlier(&self) -> bool {
        self.protocol() == EARLIER_PROTOCOL
    }

    /// The kind of its sandbox.
    pub fn sandbox_kind(&self) -> &str {
        self.work().get("sandbox").and_then(Value::as_str).unwrap_or_default()
    }

    /// The specification of the agent's work: without the judges that decide on it.
    pub fn work(&self) -> &Value {
        work_of(&self.specification)
    }

    /// The id of the agent's work, if judges decide on it: trials with other judges share it.
    pub fn work_id(&self) -> Option<TrialId> {
        self.judge.as_ref().map(|_| TrialId::of(self.work()))
    }
}

/// Why a trial's specification cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The file is not there, or not readable.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not JSON, or a key is missing or of another type.
    #[error("{} is not a trial specification", path.display())]
    Json {
        /// Which.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// It is of another format.
    #[error("{} has the unsupported schema {found:?}: this version of assay reads {:?}", path.display(), TrialSpec::SCHEMA)]
    Schema {
        /// Which.
        path: PathBuf,
        /// The schema found.
        found: String,
    },
    /// It was planned by a version that executes trials differently.
    #[error("{} was planned for {found:?}; this version of assay executes {PROTOCOL:?}", path.display())]
    Protocol {
        /// Which.
        path: PathBuf,
        /// The schema found.
        found: String,
    },
    /// A part that is not in the id was edited.
    #[error("{}: digest mismatch: the document was edited", path.display())]
    Digest {
        /// Which.
        path: PathBuf,
    },
    /// It was edited.
    #[error("{}: id mismatch: `id` is not the hash of `specification`", path.display())]
    Id {
        /// Which.
        path: PathBuf,
    },
}

/// A digest over a document without one.
fn seal(document: &Value) -> String {
    format!("blake3:{}", blake3::hash(canonical(document).as_bytes()).to_hex())
}

/// The specification of the agent's work in that of a judged trial; any other specification itself.
pub fn work_of(specification: &Value) -> &Value {
    specification.get("work").filter(|work| work.is_object()).unwrap_or(specification)
}

/// A task, by reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRef {
    /// Its name.
    pub name: String,
    /// The digest of its folder.
    pub digest: Digest,
    /// The digest of its build context.
    pub environment: Digest,
    /// Its path at planning time.
    pub folder: PathBuf,
}

/// A skill, by reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillRef {
    /// Its name.
    pub name: String,
    /// The name of its folder, which it is mounted under.
    pub directory: String,
    /// The digest of its folder.
    pub digest: Digest,
    /// Its path at planning time.
    pub folder: PathBuf,
}

/// The skills of a trial, by reference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvisionSpec {
    /// Skills, in order.
    pub skills: Vec<SkillRef>,
    /// Text before the instruction; `{skills}` is replaced by the skills folder inside the sandbox.
    pub preface: String,
    /// Whether the agent itself writes skills, into an empty folder.
    pub writes_skills: bool,
}

/// Data shared by many trials of a plan is in memory once, and in every file.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<T: Serialize, S: Serializer>(
        value: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        T::serialize(value, serializer)
    }

    pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}
