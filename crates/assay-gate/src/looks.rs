//! The looks of a gate: opened before the first trial of a skill, completed after the decision on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_store::{RecordKeys, RunFolder, Store, StoreError};
use serde_json::json;

use crate::document::{GateVerdict, LedgerSummary, SkillRow};
use crate::evaluation::{Evaluation, Subject};
use crate::ledger::{
    Anchor, Completion, GATE_REF, KnownHeads, Ledger, LedgerEntry, LedgerError, LedgerHome, Numbers, Opening,
    content,
};
use crate::measured::{Gated, Measured};
use crate::policy::{LedgerPlace, Policy};
use crate::terms::{SkillTerms, Terms};

/// The folder of a store with a file for each look whose trials it has.
const MARKERS: &str = "gate";

/// Why a look cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("no task of the target measures it, so its looks cannot be counted")]
    NoTask,
    #[error("cannot write {}: {source}", path.display())]
    Marker { path: PathBuf, source: std::io::Error },
    #[error("these are other results than those of the look before: they are the next look")]
    OtherResults,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The ledger of a gate, and the looks that it has.
pub(crate) struct Looks {
    ledger: Ledger,
    known: Option<KnownHeads>,
    error_budget: f64,
    policy_hash: String,
    target: String,
    head: String,
    trust: String,
    /// Lineage and content at the target, by the skills of the rows.
    skills: BTreeMap<String, (String, Option<String>)>,
    /// By the skills of the rows.
    opened: BTreeMap<String, Opened>,
}

/// A look of this gate.
struct Opened {
    entry: LedgerEntry,
    /// The runs of its rounds.
    runs: Vec<String>,
}

impl Looks {
    /// Reads the ledger of a policy. `directory` is the folder of the policy in the checkout, and `state` that for what is
    /// remembered of this user.
    ///
    /// # Errors
    /// Why the gate is blocked: a ledger that cannot be read, or that lacks looks which were there.
    pub(crate) fn read(
        (policy, terms): (&Policy, &Terms),
        (evaluation, subjects): (&Evaluation, &[Subject]),
        directory: &Path,
        state: Option<&Path>,
        keys: RecordKeys,
    ) -> Result<(Self, Vec<String>), LedgerError> {
        let default = LedgerPlace::GitRef(GATE_REF.to_owned());
        let (place, remote) = match &policy.ledger {
            Some(spec) => (&spec.place, spec.remote.as_deref()),
            None => (&default, None),
        };
        let (home, note) = LedgerHome::of(place, remote, directory, evaluation.top())?;
        let ledger = Ledger::open(home, keys)?;
        if let Some(anchor) = Anchor::of(evaluation.top(), &evaluation.target) {
            ledger.require(&anchor)?;
        }
        let known = state.map(|state| KnownHeads::at(&state.join("gate")));
        if let Some(known) = &known {
            known.check(&ledger)?;
            known.remember(&ledger);
        }
        let notes = note.into_iter().chain(ledger.notes.iter().cloned()).collect();
        let skills = subjects.iter().filter_map(|subject| {
            Some((subject.skill.clone(), (subject.lineage.clone()?, subject.target_content.clone())))
        });
        let looks = Self {
            ledger,
            known,
            error_budget: policy.error_budget,
            policy_hash: terms.hash.clone(),
            target: evaluation.target.clone(),
            head: evaluation.head().to_owned(),
            trust: if evaluation.is_trusted { evaluation.head() } else { "target" }.to_owned(),
            skills: skills.collect(),
            opened: BTreeMap::new(),
        };
        Ok((looks, notes))
    }

    /// Which look the trials of a plan are, if no other gate opens one first.
    pub(crate) fn numbers(
        &self,
        skill: &str,
        terms: &SkillTerms,
        plan: &RunFolder,
        store: &Store,
    ) -> Numbers {
        let first = Numbers { version: 1, look: 1 };
        let Some(opening) = self.opening(skill, terms, &plan.plan) else { return first };
        let target = opening.target_content.as_deref();
        self.find_same(&opening, plan, store).map_or_else(
            || self.ledger.numbers(&opening.lineage, &opening.content, target),
            |entry| entry.numbers,
        )
    }

    /// The numbers of a new look at a skill.
    pub(crate) fn new_numbers(&self, skill: &str, terms: &SkillTerms) -> Numbers {
        self.opening(skill, terms, "").map_or(Numbers { version: 1, look: 1 }, |opening| {
            self.ledger.numbers(&opening.lineage, &opening.content, opening.target_content.as_deref())
        })
    }

    /// The look of a plan whose trials this store has. One that was decided is the same look again as long as all of its results
    /// are there.
    fn find_same(&self, opening: &Opening, plan: &RunFolder, store: &Store) -> Option<&LedgerEntry> {
        let record = |cell: &assay_store::Cell| store.record(&cell.trial).ok().flatten();
        let is_recorded = || plan.cells.iter().all(|cell| record(cell).is_some());
        let same = self.ledger.find_same(opening, |id| holds(store, id));
        same.filter(|entry| entry.completion.is_none() || is_recorded())
    }

    /// The looks at a skill that the ledger has, whatever its content, in their order.
    pub(crate) fn entries(&self, skill: &str) -> Vec<&LedgerEntry> {
        let lineage = self.skills.get(skill).map(|(lineage, _)| lineage);
        self.ledger.entries.iter().filter(|entry| Some(&entry.opening.lineage) == lineage).collect()
    }

    /// Opens the look at a skill before its first trial, or goes on with the one whose trials this store has. Its numbers are
    /// fixed then, whatever other gates open.
    ///
    /// # Errors
    /// Why no trial may be executed: the ledger cannot be written.
    pub(crate) fn open(
        &mut self,
        skill: &str,
        terms: &SkillTerms,
        plan: &RunFolder,
        store: &Store,
    ) -> Result<Numbers, LookError> {
        let opening = self.opening(skill, terms, &plan.plan).ok_or(LookError::NoTask)?;
        let entry = match self.find_same(&opening, plan, store).cloned() {
            Some(entry) => entry,
            None => self.open_next(&opening, store)?,
        };
        let numbers = entry.numbers;
        self.opened.insert(skill.to_owned(), Opened { entry, runs: Vec::new() });
        Ok(numbers)
    }

    /// The look at a skill whose trials are executed in a run, which then has no verdict until the look is completed.
    pub(crate) fn of_run(&mut self, skill: &str, run: &str) -> Option<&str> {
        let opened = self.opened.get_mut(skill)?;
        if !opened.runs.iter().any(|known| known == run) {
            opened.runs.push(run.to_owned());
        }
        Some(&opened.entry.id)
    }

    fn open_next(&mut self, opening: &Opening, store: &Store) -> Result<LedgerEntry, LookError> {
        let id = Ledger::new_id(opening);
        // Before the look is opened: a gate that is killed in between goes on with the same look.
        let marker = marker(store, &id);
        let text = format!("{}\n", json!({ "look": id, "skill": opening.skill, "plan": opening.plan }));
        let written = match marker.parent() {
            Some(folder) => std::fs::create_dir_all(folder),
            None => Ok(()),
        };
        written
            .and_then(|()| assay_fs::replace_file(&marker, text.as_bytes()))
            .map_err(|source| LookError::Marker { path: marker, source })?;
        let entry = self.ledger.open_look(&id, opening)?;
        self.remember();
        Ok(entry)
    }

    /// Completes the looks at all skills that were decided on. A decision that cannot be written does not count: its look
    /// stays open, and the next gate goes on with it.
    pub(crate) fn complete_all(&mut self, gated: &mut [Gated], store: &Store) {
        for Gated { row, measured, .. } in gated {
            let Some(measured) = measured else { continue };
            if let Err(reason) = self.complete(row, measured, store) {
                row.reason =
                    format!("{reason}; run the gate again, no trial is executed twice ({})", row.reason);
                row.verdict = GateVerdict::Blocked;
            } else if let Some(trailer) = self.trailer(&row.skill) {
                row.notes.push(format!("for the message of the merge commit: {trailer}"));
            }
        }
    }

    fn complete(&mut self, row: &SkillRow, measured: &Measured, store: &Store) -> Result<(), LookError> {
        let Some(Opened { entry, runs }) = self.opened.get(&row.skill) else { return Ok(()) };
        let (entry, runs) = (entry.clone(), runs.clone());
        let evidence = measured.digest_results();
        match &entry.completion {
            Some(completion) if completion.evidence == evidence => return Ok(()),
            Some(_) => {
                // Decided at the level of the look that had other results.
                let opening = entry.opening.clone();
                let entry = self.open_next(&opening, store)?;
                self.opened.insert(row.skill.clone(), Opened { entry, runs });
                return Err(LookError::OtherResults);
            }
            None => {}
        }
        let decision = match row.verdict {
            GateVerdict::Pass => "pass",
            GateVerdict::Fail => "fail",
            GateVerdict::Undecided => "undecided",
            GateVerdict::Nothing | GateVerdict::Blocked => return Ok(()),
        };
        let completion = Completion {
            completed_at: jiff::Timestamp::now().to_string(),
            decision: decision.to_owned(),
            p: row.decision.and_then(|decision| decision.p),
            lift: row.lift,
            bound: row.interval.map(|[low, _]| low),
            upper: row.interval.map(|[_, high]| high),
            evidence,
            reference: measured.reference_record(),
            cost_usd: row.cost_usd,
        };
        self.ledger.complete(&entry, &completion)?;
        self.remember();
        let event = json!({ "event": "gate-completed", "look": entry.id, "at": completion.completed_at });
        for run in &runs {
            store.event(run, &event)?;
        }
        let completion = Some(completion);
        self.opened.insert(row.skill.clone(), Opened { entry: LedgerEntry { completion, ..entry }, runs });
        Ok(())
    }

    /// How many looks there are, and where.
    pub(crate) fn summary(&self) -> LedgerSummary {
        LedgerSummary { looks: self.ledger.entries.len(), place: Some(self.ledger.home().describe()) }
    }

    /// The line for the merge commit of a skill that passed.
    fn trailer(&self, skill: &str) -> Option<String> {
        let entry = &self.opened.get(skill)?.entry;
        entry.passed().then(|| Anchor::trailer(&entry.id))
    }

    fn opening(&self, skill: &str, terms: &SkillTerms, plan: &str) -> Option<Opening> {
        let (lineage, target_content) = self.skills.get(skill)?.clone();
        let package = terms.package.as_ref()?;
        Some(Opening {
            opened_at: jiff::Timestamp::now().to_string(),
            skill: skill.to_owned(),
            lineage,
            content: content(package),
            digest: package.digest.to_string(),
            target_content,
            target_commit: Some(self.target.clone()),
            head_commit: Some(self.head.clone()),
            policy_hash: self.policy_hash.clone(),
            error_budget: self.error_budget,
            plan: plan.to_owned(),
            trust: self.trust.clone(),
        })
    }

    fn remember(&self) {
        if let Some(known) = &self.known {
            known.remember(&self.ledger);
        }
    }
}

/// The file of a store that says that it has the trials of a look.
fn marker(store: &Store, id: &str) -> std::path::PathBuf {
    store.root().join(MARKERS).join(id)
}

fn holds(store: &Store, id: &str) -> bool {
    marker(store, id).is_file()
}
