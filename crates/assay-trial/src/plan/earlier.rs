//! Results that a plan finds under another identity than it would give its trials.
//!
//! Since `assay.trial/3` a trial's id contains the declared server of its model, and no label of its task. Results
//! of before are found by the id that they had, so that nothing is executed again. They do not say which server
//! they are of: the experiments that are kept with their runs do.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use assay_store::{Reuse, ReusedTrials, RunFolder, Store, TrialId, TrialSpec};
use serde_json::{Value, json};

use crate::run::trial::ResolvedTrial;

/// What `--same-server` says of results whose server nothing tells.
const UNKNOWN: &str = "unknown";

/// Most servers of earlier runs that are tried for results that could be reused.
const SERVERS_TRIED: usize = 8;

/// Finds results under other identities.
pub(crate) struct EarlierTrials<'a> {
    store: &'a Store,
    /// Servers whose results the user accepts.
    same: &'a [String],
    /// The experiment's name: its earlier runs show which other servers may have results.
    experiment: &'a str,
    /// Whether the store has no trial yet.
    is_fresh: bool,
    declared: OnceCell<BTreeMap<TrialId, Declared>>,
    others: OnceCell<BTreeSet<String>>,
    reused: BTreeMap<(Reuse, Option<String>), BTreeSet<TrialId>>,
    left: BTreeMap<String, BTreeSet<TrialId>>,
}

/// The servers that the experiments of a trial's runs declared.
#[derive(Debug, Clone, Default)]
struct Declared {
    agent: BTreeSet<String>,
    judges: BTreeSet<String>,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub(crate) struct FoundEarlier {
    /// What counts in the plan, and why.
    pub(crate) reused: Vec<ReusedTrials>,
    /// Trials that have a result of another server, by server.
    pub(crate) left: BTreeMap<String, usize>,
}

impl<'a> EarlierTrials<'a> {
    pub(crate) fn new(store: &'a Store, same: &'a [String], experiment: &'a str) -> Self {
        let trials = store.root().join("trials");
        let is_fresh = std::fs::read_dir(trials).map_or(true, |mut folder| folder.next().is_none());
        Self {
            store,
            same,
            experiment,
            is_fresh,
            declared: OnceCell::new(),
            others: OnceCell::new(),
            reused: BTreeMap::new(),
            left: BTreeMap::new(),
        }
    }

    /// The trial under the identity by which it has a result; under its own if it has none.
    pub(crate) fn find(&mut self, trial: TrialSpec, live: &ResolvedTrial) -> TrialSpec {
        let is_known = |id: &TrialId| self.store.trial_folder(id).join("record.json").exists();
        if self.is_fresh || is_known(&trial.id) {
            return trial;
        }
        for server in self.same {
            if let Some((id, specification)) = with_server(&trial, live, server)
                && self.counts(&id)
            {
                self.mark(Reuse::SameServer, Some(server.clone()), &id);
                return TrialSpec { id, specification, ..trial };
            }
        }
        if let Some(specification) = live.specify_earlier(&trial.specification) {
            let id = TrialId::of(&specification);
            if self.counts(&id) {
                match self.check_server(&id, live) {
                    Ok(server) => {
                        self.mark(Reuse::EarlierSchema, server, &id);
                        return TrialSpec { id, specification, ..trial };
                    }
                    Err(server) => _ = self.left.entry(server).or_default().insert(trial.id.clone()),
                }
                return trial;
            }
        }
        let other = self
            .others()
            .iter()
            .find(|server| with_server(&trial, live, server).is_some_and(|(id, _)| self.counts(&id)));
        if let Some(server) = other.cloned() {
            self.left.entry(server).or_default().insert(trial.id.clone());
        }
        trial
    }

    /// What was found for the trials of a plan.
    pub(crate) fn found(self, planned: &BTreeSet<&TrialId>) -> FoundEarlier {
        let reused = self.reused.into_iter().filter_map(|((why, server), trials)| {
            // Checks of tasks are no trials of the run.
            let trials: Vec<TrialId> = trials.into_iter().filter(|trial| planned.contains(trial)).collect();
            (!trials.is_empty()).then_some(ReusedTrials { why, server, trials })
        });
        let left = self.left.into_iter().map(|(server, trials)| (server, trials.len()));
        FoundEarlier { reused: reused.collect(), left: left.collect() }
    }

    fn mark(&mut self, why: Reuse, server: Option<String>, id: &TrialId) {
        self.reused.entry((why, server)).or_default().insert(id.clone());
    }

    fn counts(&self, id: &TrialId) -> bool {
        self.store.record(id).is_ok_and(|record| record.is_some_and(|record| record.outcome.counts()))
    }

    /// Whether an earlier result is of a server that counts, and of which one if it is another than the trial's.
    /// Else the server, or `unknown`.
    fn check_server(&self, id: &TrialId, live: &ResolvedTrial) -> Result<Option<String>, String> {
        let judges: BTreeSet<&String> = live.judge.iter().flat_map(|judge| judge.panel.servers()).collect();
        if live.server.is_none() && judges.is_empty() {
            return Ok(None);
        }
        let declared = self.declared.get_or_init(|| declared_servers(self.store)).get(id);
        let declared = declared.cloned().unwrap_or_default();
        self.check_declared(&declared.judges, &judges)?;
        self.check_declared(&declared.agent, &live.server.iter().collect())
    }

    /// Whether all declared servers are own ones, or accepted. Of those that are accepted, one is returned.
    fn check_declared(
        &self,
        servers: &BTreeSet<String>,
        own: &BTreeSet<&String>,
    ) -> Result<Option<String>, String> {
        if own.is_empty() {
            return Ok(None);
        }
        if servers.is_empty() {
            let is_accepted = self.same.iter().any(|server| server == UNKNOWN);
            return if is_accepted { Ok(Some(UNKNOWN.to_owned())) } else { Err(UNKNOWN.to_owned()) };
        }
        let other = servers.iter().find(|server| !own.contains(server) && !self.same.contains(server));
        match other {
            // A result that runs with several servers used is of the one that executed it, which nothing tells.
            Some(other) => Err(other.clone()),
            None => Ok(servers.iter().find(|server| !own.contains(server)).cloned()),
        }
    }

    /// The servers of earlier runs of the experiment.
    fn others(&self) -> &BTreeSet<String> {
        self.others.get_or_init(|| {
            let is_own = |name: &String| {
                name.strip_prefix(self.experiment).is_some_and(|rest| {
                    rest.is_empty()
                        || rest.strip_prefix('-').is_some_and(|number| number.parse::<u32>().is_ok())
                })
            };
            let runs = self.store.run_names().into_iter().filter(is_own);
            let agents = runs.filter_map(|name| self.store.run(&name).ok()).flat_map(|run| run.agents);
            agents.filter_map(|agent| agent.server).take(SERVERS_TRIED).collect()
        })
    }
}

/// The identity of a trial with another server; `None` if that is its own, or it has none.
fn with_server(trial: &TrialSpec, live: &ResolvedTrial, server: &str) -> Option<(TrialId, Value)> {
    live.server.as_ref().filter(|own| *own != server)?;
    let mut specification = trial.specification.clone();
    // A judged trial names the work that is judged.
    let work =
        if specification.get("work").is_some() { &mut specification["work"] } else { &mut specification };
    work["server"] = json!(server);
    Some((TrialId::of(&specification), specification))
}

/// The servers that experiments of before declared, by trial: what is kept beside their plans.
fn declared_servers(store: &Store) -> BTreeMap<TrialId, Declared> {
    let mut found: BTreeMap<TrialId, Declared> = BTreeMap::new();
    for name in store.run_names() {
        // Plans that name servers have trials that do so, too.
        let Some(run) = store.run(&name).ok().filter(|run| run.agents.iter().all(|one| one.server.is_none()))
        else {
            continue;
        };
        let text = std::fs::read_to_string(store.run_folder(&name).join("experiment.toml"));
        let file: toml::Table = toml::from_str(&text.unwrap_or_default()).unwrap_or_default();
        let (agents, judges) = (servers_of_agents(&run, &file), servers_of_judges(&file));
        for cell in &run.cells {
            let declared = found.entry(cell.trial.clone()).or_default();
            declared.agent.extend(agents.get(cell.agent).into_iter().flatten().cloned());
            declared.judges.extend(judges.iter().cloned());
        }
    }
    found
}

/// The servers that an experiment declares for its judges.
fn servers_of_judges(file: &toml::Table) -> BTreeSet<String> {
    let Some(table) = file.get("judge") else { return BTreeSet::new() };
    let address = table.get("base_url").and_then(toml::Value::as_str);
    let models = table.get("models").and_then(toml::Value::as_array).into_iter().flatten();
    let models = models.filter_map(toml::Value::as_str);
    models.filter_map(|model| assay_model::server(model, address, &|_| None).ok().flatten()).collect()
}

/// The servers that an experiment declares for each agent of its run. An address of the environment is
/// not known.
fn servers_of_agents(run: &RunFolder, file: &toml::Table) -> Vec<BTreeSet<String>> {
    let tables = file.get("agents").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let texts = |table: &toml::Value, one: &str, several: &str| -> Vec<String> {
        let single = table.get(one).and_then(toml::Value::as_str);
        let list = table.get(several).and_then(toml::Value::as_array).into_iter().flatten();
        single.into_iter().chain(list.filter_map(toml::Value::as_str)).map(str::to_owned).collect()
    };
    let of_agent = |name: &str, model: &str| -> BTreeSet<String> {
        let own = tables.iter().filter(|table| {
            let names = texts(table, "name", "names");
            let mut names = names.iter().map(|own| own.split('@').next().unwrap_or_default());
            names.any(|own| own == name) && texts(table, "model", "models").iter().any(|own| own == model)
        });
        own.filter_map(|table| {
            let address = table.get("base_url").and_then(toml::Value::as_str);
            assay_model::server(model, address, &|_| None).ok().flatten()
        })
        .collect()
    };
    let agents = run.agents.iter();
    agents
        .map(|agent| {
            agent.label.model.as_deref().map(|model| of_agent(&agent.label.name, model)).unwrap_or_default()
        })
        .collect()
}
