//! The ledger: every look at a version of a skill, so that neither reruns nor edits until success go uncounted.
//!
//! It is a set of files, two for a look: `ID.opened.json` is written before the first trial, `ID.completed.json` after the
//! decision. Each is signed and never changed, so that sets can be merged in any order, and names the entries that were
//! the newest when its look was opened, so that a look that is gone can be noticed. Files that are torn, or not signed by a
//! known key, count for nothing.

mod anchor;
mod content;
mod entry;
mod git;
mod location;
mod numbers;

use std::collections::{BTreeMap, BTreeSet};

use assay_store::RecordKeys;

pub use anchor::{Anchor, KnownHeads};
pub use content::content;
pub use entry::{Completion, LedgerEntry, Opening, Reference};
pub use location::{GATE_REF, LedgerHome};
pub use numbers::{Numbers, level};

use git::Files;

/// Files that are named one by one in the notes.
const NAMED: usize = 3;

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// It cannot be read or written.
    #[error("cannot {what} the ledger {place}: {message}")]
    Access {
        /// `read` or `write`.
        what: &'static str,
        /// The folder or reference.
        place: String,
        /// Why.
        message: String,
    },
    /// Looks that once were in it are missing.
    #[error("the ledger {place} lacks the look {id}, which {known}: {hint}")]
    Incomplete {
        /// The folder or reference.
        place: String,
        /// One of them.
        id: String,
        /// Who knows of it.
        known: String,
        /// The way back.
        hint: String,
    },
}

/// A ledger, as it was read last.
#[derive(Debug)]
pub struct Ledger {
    home: LedgerHome,
    keys: RecordKeys,
    /// The looks: each comes after those that it saw.
    pub entries: Vec<LedgerEntry>,
    /// What was left out, and what is missing.
    pub notes: Vec<String>,
}

impl Ledger {
    /// Reads a ledger. One that is not there is empty.
    ///
    /// # Errors
    /// A folder that cannot be read, or a remote that cannot be reached.
    pub fn open(home: LedgerHome, keys: RecordKeys) -> Result<Self, LedgerError> {
        let files = home.read(&keys)?;
        let (entries, notes) = parse(&files, &keys, &home.describe());
        Ok(Self { home, keys, entries, notes })
    }

    /// Where it is.
    pub fn home(&self) -> &LedgerHome {
        &self.home
    }

    /// A look by its id.
    pub fn find(&self, id: &str) -> Option<&LedgerEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The numbers that the next look at a content gets, if no other process opens one meanwhile.
    pub fn numbers(&self, lineage: &str, content: &str, target: Option<&str>) -> Numbers {
        numbers::numbers(&self.entries, lineage, content, target)
    }

    /// The newest look at the same version, of the same plan and at the same target, that `holds` knows: it is the same look
    /// again, and not the next one.
    pub fn find_same(&self, opening: &Opening, holds: impl Fn(&str) -> bool) -> Option<&LedgerEntry> {
        self.entries.iter().rev().find(|entry| {
            let known = &entry.opening;
            (&known.lineage, &known.digest, &known.plan) == (&opening.lineage, &opening.digest, &opening.plan)
                && known.target_content == opening.target_content
                && holds(&entry.id)
        })
    }

    /// A new id, under which [`Ledger::open_look`] opens a look: what is kept under it elsewhere can be written before.
    pub fn new_id(opening: &Opening) -> String {
        entry::new_id(opening)
    }

    /// Opens a look. Its numbers are fixed where no other process can write: they are those of [`Ledger::numbers`] unless
    /// another look was opened since the ledger was read.
    ///
    /// # Errors
    /// The ledger cannot be written. No look was opened then, or it is found under its id by the next gate.
    pub fn open_look(&mut self, id: &str, opening: &Opening) -> Result<LedgerEntry, LedgerError> {
        let (home, keys) = (self.home.clone(), self.keys.clone());
        let place = home.describe();
        let (new, entries, notes) = home.update(&keys, &mut |files| {
            let (mut entries, notes) = parse(files, &keys, &place);
            if let Some(known) = entries.iter().find(|entry| entry.id == id) {
                // A push whose answer did not arrive.
                return Ok((Files::new(), (known.clone(), entries, notes)));
            }
            let numbers = numbers::numbers(
                &entries,
                &opening.lineage,
                &opening.content,
                opening.target_content.as_deref(),
            );
            let new = LedgerEntry {
                id: id.to_owned(),
                opening: opening.clone(),
                numbers,
                level: level(opening.error_budget, numbers.version, numbers.look),
                seen: heads(&entries),
                completion: None,
            };
            let bytes = entry::write(&new, false, &keys).map_err(|error| unwritten(&place, &error))?;
            entries.push(new.clone());
            Ok((Files::from([(entry::file_name(id, false), bytes)]), (new, entries, notes)))
        })?;
        (self.entries, self.notes) = (entries, notes);
        Ok(new)
    }

    /// Completes a look. One that was completed before keeps its decision.
    ///
    /// # Errors
    /// The ledger cannot be written: the look stays open, and the next gate goes on with it.
    pub fn complete(&mut self, look: &LedgerEntry, completion: &Completion) -> Result<(), LedgerError> {
        let (home, keys) = (self.home.clone(), self.keys.clone());
        let place = home.describe();
        let completed = LedgerEntry { completion: Some(completion.clone()), ..look.clone() };
        let (entries, notes) = home.update(&keys, &mut |files| {
            let bytes = entry::write(&completed, true, &keys).map_err(|error| unwritten(&place, &error))?;
            let new = Files::from([(entry::file_name(&look.id, true), bytes)]);
            let mut all = new.clone();
            all.extend(files.clone());
            Ok((new, parse(&all, &keys, &place)))
        })?;
        (self.entries, self.notes) = (entries, notes);
        Ok(())
    }

    /// The looks that no other look saw.
    pub fn heads(&self) -> Vec<String> {
        heads(&self.entries)
    }
}

fn unwritten(place: &str, error: &entry::UnwritableLook) -> LedgerError {
    LedgerError::Access { what: "write", place: place.to_owned(), message: error.to_string() }
}

/// The looks that no other look saw, sorted.
fn heads(entries: &[LedgerEntry]) -> Vec<String> {
    let seen: BTreeSet<&str> = entries.iter().flat_map(|entry| &entry.seen).map(String::as_str).collect();
    let heads = entries.iter().map(|entry| entry.id.as_str()).filter(|id| !seen.contains(id));
    heads.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The looks of files in an order in which each comes after those that it saw, and notes.
fn parse(files: &Files, keys: &RecordKeys, place: &str) -> (Vec<LedgerEntry>, Vec<String>) {
    let mut looks: BTreeMap<String, LedgerEntry> = BTreeMap::new();
    let mut ignored = Vec::new();
    for (name, bytes) in files {
        if let Some(what) = location::is_other_file(name) {
            if !what.is_empty() && !bytes.is_empty() {
                ignored.push(format!("{} ({what})", name.escape_debug()));
            }
            continue;
        }
        match entry::read(name, bytes, keys) {
            // A completed one has everything that an opened one has.
            Ok(entry) if entry.completion.is_some() || !looks.contains_key(&entry.id) => {
                looks.insert(entry.id.clone(), entry);
            }
            Ok(_) => {}
            Err(reason) => ignored.push(format!("{} ({reason})", name.escape_debug())),
        }
    }
    let entries = in_order(looks);
    let mut notes = Vec::new();
    if !ignored.is_empty() {
        let more = ignored.len().saturating_sub(NAMED);
        ignored.truncate(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        notes.push(format!("Ledger {place}: ignored {}{more}.", ignored.join(", ")));
    }
    let missing = numbers::missing(&entries, 0).len();
    if missing > 0 {
        let noun = if missing == 1 { "look is" } else { "looks are" };
        notes
            .push(format!("Ledger {place}: {missing} earlier {noun} missing and counted as other versions."));
    }
    (entries, notes)
}

/// Each look after those that it saw; otherwise by time, and by id (Kahn, Communications of the ACM 5, 1962, 558–562).
fn in_order(mut looks: BTreeMap<String, LedgerEntry>) -> Vec<LedgerEntry> {
    let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
    let mut seen_by: BTreeMap<&str, Vec<&LedgerEntry>> = BTreeMap::new();
    for look in looks.values() {
        let known: BTreeSet<&str> =
            look.seen.iter().map(String::as_str).filter(|id| looks.contains_key(*id)).collect();
        waiting.insert(&look.id, known.len());
        for id in known {
            seen_by.entry(id).or_default().push(look);
        }
    }
    let key = |look: &LedgerEntry| (look.opening.opened_at.clone(), look.id.clone());
    let first = looks.values().filter(|look| waiting.get(look.id.as_str()) == Some(&0));
    let mut ready: BTreeSet<(String, String)> = first.map(key).collect();
    let mut order = Vec::new();
    while let Some((_, id)) = ready.pop_first() {
        for look in seen_by.get(id.as_str()).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(look.id.as_str()) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(key(look));
                }
            }
        }
        order.push(id);
    }
    let mut entries: Vec<LedgerEntry> = order.iter().filter_map(|id| looks.remove(id)).collect();
    // No honest gate signs a cycle.
    entries.extend(looks.into_values());
    entries
}

#[cfg(test)]
pub(crate) use entry::tests as testing;
#[cfg(test)]
mod tests;
