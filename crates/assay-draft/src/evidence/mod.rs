//! What shows that the items of a task measure what the skill adds, and nothing else.
//!
//! A solution by the author of a task is no evidence: it was written to fail. So others do the work. Requests that see
//! the instruction and the given files only do it without the skill: they reach the goal, and at least two of three miss
//! each item. Another model than the author's does it with the skill, and meets each item. Solutions that ignore one
//! directive each miss its item and few others. A reader says which items are unfair.
//!
//! [`decide_items`] is the rule, without any request. `evidence/NAME.json` records what it decided by.

mod collect;
mod copy;
mod fairness;
mod record;
mod selection;
mod summary;
mod work;

pub(crate) use collect::{BLIND_REPLIES, EvidenceCollector, EvidenceModels, EvidenceTask};
pub use fairness::FairnessAnswer;
pub use record::{CounterfactualCopy, DroppedItem, GradedMutant, GradedWork, TaskEvidence};
pub(crate) use record::{read_evidence, write_evidence};
pub use selection::{ItemEvidence, ItemSelection, decide_items};
pub(crate) use summary::summarize_items;
pub use summary::{ItemSummary, PilotShares, SetShares};
