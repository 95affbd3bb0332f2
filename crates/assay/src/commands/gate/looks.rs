//! The looks of a gate in its ledger.

use assay_gate::{Ledger, LedgerEntry, LedgerError, LedgerPlace, Policy, SkillEntry, Terms};

use super::Gated;
use super::decisions::measured_digest;
use super::output::{Document, LedgerSummary};
use crate::args::gate::GateArgs;
use crate::failure::Failure;

/// The format of the ledger's lines.
const LEDGER: &str = "assay.gate-ledger/1";

/// What a ledger that cannot be read means.
#[derive(Default)]
pub(super) struct MissingLedger {
    pub(super) note: Option<String>,
    pub(super) blocked: Option<String>,
}

pub(super) fn open_ledger(args: &GateArgs, policy: &Policy) -> (Option<Ledger>, MissingLedger) {
    let Some(spec) = &policy.ledger else {
        let note = Some("The policy has no ledger: reruns are not counted.".to_owned());
        return (None, MissingLedger { note, blocked: None });
    };
    let blocked = |reason: String| (None, MissingLedger { note: None, blocked: Some(reason) });
    match Ledger::read(&spec.place, &policy.directory) {
        Ok(ledger) => (Some(ledger), MissingLedger::default()),
        Err(LedgerError::Missing(_)) if args.create_ledger || !spec.required => {
            (Some(Ledger::empty(&spec.place, &policy.directory)), MissingLedger::default())
        }
        Err(error @ LedgerError::Missing(_)) => blocked(format!(
            "{error}, so earlier looks at these skills are unknown: restore it, or begin a new one with --create-ledger"
        )),
        Err(error) => blocked(error.to_string()),
    }
}

/// How many looks a ledger has, and where.
pub(super) fn summary(ledger: &Ledger, policy: &Policy) -> LedgerSummary {
    let place = policy.ledger.as_ref().map(|spec| match &spec.place {
        LedgerPlace::File(path) | LedgerPlace::Artifact(path) => path.display().to_string(),
        LedgerPlace::GitRef(name) => name.clone(),
    });
    LedgerSummary { looks: ledger.entries.iter().map(|line| line.skills.len()).sum(), place }
}

/// Appends the looks of a gate to the ledger, unless it has them all.
pub(super) fn record(
    ledger: &mut Ledger,
    document: &Document,
    gated: &[Gated],
    terms: &Terms,
) -> Result<(), Failure> {
    let mut skills = Vec::new();
    for Gated { row, measured, .. } in gated {
        let (Some(measured), Some(look)) = (measured, row.look) else { continue };
        let package = terms.skills[&row.skill].package.as_ref();
        skills.push(SkillEntry {
            skill: row.skill.clone(),
            digest: package.map_or(String::new(), |package| package.digest.to_string()),
            evidence: measured_digest(measured),
            look,
            p: row.decision.and_then(|decision| decision.p),
            verdict: row.verdict.word().to_owned(),
        });
    }
    let known = |entry: &SkillEntry| {
        ledger.entries.iter().flat_map(|line| &line.skills).any(|known| {
            known.skill == entry.skill && known.digest == entry.digest && known.evidence == entry.evidence
        })
    };
    if skills.iter().all(known) {
        return Ok(());
    }
    let entry = LedgerEntry {
        schema: LEDGER.to_owned(),
        at: jiff::Timestamp::now().to_string(),
        commit: document.commit.clone(),
        policy_hash: document.policy_hash.clone(),
        skills,
        previous: String::new(),
    };
    ledger.append(entry).map_err(|error| Failure::infrastructure(error.to_string()))
}
