//! Phases of a run (M2).

use super::log::{Event, Kind};
use super::python;

/// What an agent is at. The names are the released program's; `planning` is in it too, and cannot
/// be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PhaseKind {
    /// From the first event on: everything up to the first write after a read.
    Orientation,
    /// Writing, before anything is tested.
    Implementation,
    /// From a command with the looks of a test or a build on.
    Validation,
    /// From the first other command after that one on.
    Debugging,
    /// From the first write after a validation to the end.
    Finalization,
}

impl PhaseKind {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Orientation => "orientation",
            Self::Implementation => "implementation",
            Self::Validation => "validation",
            Self::Debugging => "debugging",
            Self::Finalization => "finalization",
        }
    }
}

/// A stretch of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// What the agent is at.
    pub kind: PhaseKind,
    /// Its first event, from 0.
    pub first: usize,
    /// Its last event, inclusive.
    pub last: usize,
}

/// What makes a command a test or a build, anywhere in its first 200 characters: `latest` will do.
/// The released list also has longer words that contain these (pytest, unittest, npm test, cargo
/// test, go test).
const TESTS: [&str; 10] =
    ["test", "npm run", "build", "make", "gradle", "maven", "jest", "mocha", "jasmine", "rspec"];

/// The phases of a run. None where nothing was read: only a read ends the state before the first
/// phase.
///
/// The first phase begins at event 0, whatever preceded the first read. Outcomes are not looked at.
pub(super) fn phases(events: &[Event]) -> Vec<Phase> {
    let mut phases = Vec::new();
    let mut state: Option<PhaseKind> = None;
    let mut first = 0;
    for (at, event) in events.iter().enumerate() {
        let next = step(state, event);
        if next != state {
            if let Some(kind) = state {
                // A transition out of a phase comes after at least one event of it.
                phases.push(Phase { kind, first, last: at.saturating_sub(1) });
                first = at;
            }
            state = next;
        }
    }
    if let Some(kind) = state {
        phases.push(Phase { kind, first, last: events.len().saturating_sub(1) });
    }
    phases
}

fn step(state: Option<PhaseKind>, event: &Event) -> Option<PhaseKind> {
    use PhaseKind::{Debugging, Finalization, Implementation, Orientation, Validation};
    let next = match (state, event.kind) {
        (None, Kind::Read) => Orientation,
        (Some(Orientation | Debugging), Kind::Write) => Implementation,
        (Some(Implementation), Kind::Execute) if is_test(&event.target) => Validation,
        (Some(Validation), Kind::Execute) if !is_test(&event.target) => Debugging,
        (Some(Validation), Kind::Write) => Finalization,
        _ => return state,
    };
    Some(next)
}

fn is_test(command: &str) -> bool {
    let command = python::lower(command);
    TESTS.iter().any(|word| command.contains(word))
}
