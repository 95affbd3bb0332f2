//! Closing a run that is not complete.

use assay_store::{Closing, ClosingVerdict, RunFolder, Selection, Store, StoreError};

use crate::gather::Gathered;
use crate::progress::Progress;
use crate::report::analyze;

/// What came of closing a run.
#[derive(Debug, Clone, PartialEq)]
pub enum CloseOutcome {
    /// It is closed now.
    Closed(Closing),
    /// It was closed before, with the trials that it still has.
    AlreadyClosed(Closing),
    /// It was closed before and then continued: a run is closed once.
    Continued(Closing),
    /// Every planned trial is done: there is nothing to close.
    Complete(Progress),
    /// No trial has a result.
    Empty(Progress),
}

/// Closes a run that is not complete: its comparisons are judged by the trials that it has, once. `at` is the present
/// time, RFC 3339.
///
/// # Errors
/// Records that cannot be read, or the closing cannot be written.
pub fn close(store: &Store, run: &RunFolder, at: &str) -> Result<CloseOutcome, StoreError> {
    let gathered = Gathered::read(store, run, &Selection::default())?;
    let progress = gathered.progress();
    if gathered.is_complete(run) {
        return Ok(CloseOutcome::Complete(progress));
    }
    if let Some(known) = gathered.closing.clone() {
        return Ok(known_outcome(known, &gathered));
    }
    if gathered.valid_trials() == 0 {
        return Ok(CloseOutcome::Empty(progress));
    }
    let share = progress.share();
    let mut closing = Closing {
        schema: Closing::SCHEMA.to_owned(),
        at: at.to_owned(),
        trials: progress.trials,
        valid: gathered.valid_trials(),
        planned: progress.planned,
        share,
        level: run
            .stopping
            .map_or_else(|| assay_stats::closing_level(1, share), |_| assay_stats::closing_level(1, 1.0)),
        verdicts: Vec::new(),
    };
    let gathered = gathered.closed(run, Some(closing.clone()));
    let comparisons = analyze(run, &gathered).comparisons;
    closing.verdicts = comparisons
        .into_iter()
        .map(|found| ClosingVerdict {
            verdict: found.word().to_owned(),
            lift: found.lift,
            condition: found.condition,
            agent: found.who.agent,
            model: found.who.model,
            sandbox: found.who.sandbox,
        })
        .collect();
    if store.save_closing(&run.run, &closing)? {
        return Ok(CloseOutcome::Closed(closing));
    }
    // Another process closed it at this moment.
    let known = store.closing(&run.run)?.unwrap_or(closing);
    Ok(known_outcome(known, &gathered))
}

fn known_outcome(known: Closing, gathered: &Gathered) -> CloseOutcome {
    let is_same = (known.trials, known.valid) == (gathered.progress().trials, gathered.valid_trials());
    if is_same { CloseOutcome::AlreadyClosed(known) } else { CloseOutcome::Continued(known) }
}
