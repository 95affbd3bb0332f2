//! Where a run's figures come from: agents, models, skills, dates, seed and versions.

use std::collections::{BTreeMap, BTreeSet};

use assay_store::{ConditionRole, PlannedProvision, RunFolder};
use serde::Serialize;

use crate::gather::Gathered;
use crate::models::RepliedModel;

/// What was measured, when, and by which version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The version of assay that computed the report.
    pub assay_version: String,
    /// The digest of the plan.
    pub plan: String,
    /// The seed of everything drawn at random.
    pub seed: u64,
    /// When the first trial started and the last one ended, RFC 3339; `null` if unknown.
    pub measured: Option<[String; 2]>,
    /// In the plan's order.
    pub agents: Vec<ProvenanceAgent>,
    /// Sandboxes of the planned trials.
    pub sandboxes: Vec<String>,
    /// Provided skills, in order of name and digest.
    pub skills: Vec<ProvidedSkill>,
    /// The program that executed imported trials.
    pub imported: Option<String>,
}

/// An agent of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProvenanceAgent {
    /// Its name in the report.
    pub agent: String,
    /// Its version.
    pub version: String,
    /// The requested model, `provider:model`.
    pub model: Option<String>,
    /// The declared server of the model: a name, or an address in its normal form; `null` for scripts, without a
    /// model, and if unknown.
    pub server: Option<String>,
    /// The models that replied, by the provider's own word.
    pub replied: Vec<String>,
}

/// A skill that a condition of a run provides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProvidedSkill {
    /// Its name.
    pub name: String,
    /// The digest of its package.
    pub digest: String,
    /// Tokens of its body, cl100k.
    pub body_tokens: usize,
    /// The conditions that provide it, in the plan's order.
    pub conditions: Vec<String>,
    /// Whether it is one of the skills that the run measures: a condition that is no placebo provides it.
    pub measured: bool,
    /// Tasks for which it is provided.
    pub tasks: usize,
}

/// Collects it from the plan and the records.
pub(crate) fn provenance(run: &RunFolder, gathered: &Gathered, replied: &[RepliedModel]) -> Provenance {
    let periods: Vec<[f64; 2]> =
        gathered.slots().flat_map(|slot| &slot.results).filter_map(|result| result.period).collect();
    let first = periods.iter().map(|[from, _]| *from).reduce(f64::min);
    let last = periods.iter().map(|[_, to]| *to).reduce(f64::max);
    let agents = run.agents.iter().map(|agent| {
        let model = &agent.label.model;
        let own =
            |found: &&RepliedModel| found.agent == agent.name() && Some(&found.requested) == model.as_ref();
        ProvenanceAgent {
            agent: agent.name().to_owned(),
            version: agent.label.version.clone(),
            model: model.clone(),
            server: agent.server.clone(),
            replied: replied.iter().filter(own).map(|found| found.replied.clone()).collect(),
        }
    });
    Provenance {
        assay_version: env!("CARGO_PKG_VERSION").to_owned(),
        plan: run.plan.clone(),
        seed: run.seed,
        measured: first.zip(last).and_then(|(first, last)| Some([time(first)?, time(last)?])),
        agents: agents.collect(),
        sandboxes: run
            .cells
            .iter()
            .map(|cell| cell.sandbox.as_str())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        skills: skills(run),
        imported: run.imported.clone(),
    }
}

fn skills(run: &RunFolder) -> Vec<ProvidedSkill> {
    let mut found: BTreeMap<(&str, &str), Vec<(&PlannedProvision, usize)>> = BTreeMap::new();
    for provision in &run.provisions {
        for skill in &provision.skills {
            found.entry((&skill.name, &skill.digest)).or_default().push((provision, skill.body_tokens));
        }
    }
    let skills = found.into_iter().map(|((name, digest), provisions)| {
        let tasks: BTreeSet<&str> = provisions.iter().map(|(provision, _)| provision.task.as_str()).collect();
        let conditions: BTreeSet<&str> =
            provisions.iter().map(|(provision, _)| provision.condition.as_str()).collect();
        let in_order = run.conditions.iter().filter(|condition| conditions.contains(condition.as_str()));
        ProvidedSkill {
            name: name.to_owned(),
            digest: digest.to_owned(),
            body_tokens: provisions.first().map_or(0, |(_, tokens)| *tokens),
            conditions: in_order.cloned().collect(),
            measured: conditions.iter().any(|name| run.role_of(name) != ConditionRole::Placebo),
            tasks: tasks.len(),
        }
    });
    skills.collect()
}

/// A time in seconds since 1970, rounded to the second.
fn time(seconds: f64) -> Option<String> {
    let time = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::try_from_secs_f64(seconds).ok()?;
    time.round(jiff::Unit::Second).ok().map(|time| time.to_string())
}
