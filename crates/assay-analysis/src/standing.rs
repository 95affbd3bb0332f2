//! Whether a run's comparisons have verdicts.
//!
//! A run is complete when each planned trial is valid or finally lost, or when its sequential rule stopped it. A trial is
//! finally lost when its record is an infrastructure error that used up its retries: `run` writes the record of each
//! attempt with the retries that are left. Trials that a spent budget ended, or whose retries an interruption cut short, are
//! not lost: the next run executes them.
//! Trials that are missing from an import can never come, so that imported runs are complete as they are.

use assay_store::{Closing, RunFolder};

use crate::asked_question::AskedQuestion;
use crate::contrasts::Contrast;
use crate::gather::Gathered;
use crate::metrics::MetricComparison;
use crate::model::{Comparison, End};
use crate::progress::Progress;
use crate::table::Slot;

/// Whether a run's comparisons have verdicts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Standing {
    /// Each planned trial is done.
    Complete,
    /// There are no verdicts yet.
    Interim,
    /// The run was closed with a share of its planned trials, and is judged by them.
    Closed {
        /// The share.
        share: f64,
    },
}

impl Gathered {
    /// Attaches the question of the run.
    #[must_use]
    pub fn asking(self, question: Option<AskedQuestion>) -> Self {
        Self { question, ..self }
    }

    /// Whether a look at earlier results may have prompted this run to go on: it contains an earlier run, or went on
    /// after it was closed.
    pub(crate) fn is_extension(&self, run: &RunFolder) -> bool {
        let extends = self.question.as_ref().is_some_and(|question| !question.extends.is_empty());
        run.extends.is_some() || extends || self.is_continued()
    }

    /// Attaches the look of a gate that has not decided on the run: there is no verdict before the gate's.
    #[must_use]
    pub fn gated(self, open_look: Option<String>) -> Self {
        Self { open_look, ..self }
    }

    /// Attaches the closing of the run, if it was closed: its comparisons then have verdicts, unless it was continued.
    #[must_use]
    pub fn closed(mut self, run: &RunFolder, closing: Option<Closing>) -> Self {
        self.closing = closing;
        if let Standing::Closed { share } = self.standing(run) {
            for table in self.tables.iter_mut().chain(&mut self.controls) {
                // The looks of a sequential rule have levels of their own.
                table.closing = run.stopping.is_none().then_some(share);
                for look in table.looks.values_mut().filter(|look| look.ended.is_none()) {
                    look.ended = Some(End::Closed);
                }
            }
        }
        self
    }

    /// How many of the run's trials are done, whatever was selected.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Valid trials of the run, whatever was selected.
    pub fn valid_trials(&self) -> usize {
        self.valid
    }

    /// Whether the run has no verdicts yet.
    pub fn is_interim(&self, run: &RunFolder) -> bool {
        self.standing(run) == Standing::Interim
    }

    /// Whether every planned trial of the run is done.
    pub fn is_complete(&self, run: &RunFolder) -> bool {
        run.imported.is_some() || self.progress.trials >= self.progress.planned
    }

    /// Whether trials were added since the run was closed.
    pub fn is_continued(&self) -> bool {
        self.closing
            .as_ref()
            .is_some_and(|closing| (closing.trials, closing.valid) != (self.progress.trials, self.valid))
    }

    pub(crate) fn standing(&self, run: &RunFolder) -> Standing {
        match &self.closing {
            _ if self.open_look.is_some() => Standing::Interim,
            _ if self.is_complete(run) => Standing::Complete,
            Some(_) if !self.is_continued() => Standing::Closed { share: self.progress.share() },
            _ => Standing::Interim,
        }
    }

    /// Counts what is done, of all cells that are there.
    pub(crate) fn count_progress(&mut self) {
        let count = |of: fn(&Slot) -> usize| self.slots().map(of).sum();
        let [planned, pending, valid]: [usize; 3] = [
            count(|slot| slot.planned),
            count(Slot::pending),
            count(|slot| slot.results.iter().filter(|result| result.outcome.counts()).count()),
        ];
        self.progress = Progress { trials: planned - pending, planned };
        self.valid = valid;
    }
}

/// Takes away what a comparison of a run that is not complete does not have: its verdict, and everything that speaks of
/// one look at all trials. A comparison that its sequential rule stopped keeps both.
pub(crate) fn withhold(standing: Standing, progress: Progress, comparisons: &mut [Comparison]) {
    for comparison in comparisons {
        let is_open = match comparison.sequential {
            Some(rounds) => rounds.ended.is_none(),
            None => standing == Standing::Interim,
        };
        if !is_open {
            continue;
        }
        comparison.interim = Some(progress);
        comparison.verdict = None;
        comparison.reason = None;
        comparison.delta_star = None;
        comparison.direction = None;
        comparison.tasks_needed = None;
        comparison.tasks_to_confirm = None;
        comparison.p = None;
        comparison.p_adjusted = None;
        comparison.p_interval = None;
        comparison.p_interval_adjusted = None;
        comparison.p_wilcoxon = None;
    }
}

/// The same for contrasts and metrics, which have verdicts when the whole run has.
pub(crate) fn withhold_others(
    standing: Standing,
    contrasts: &mut [Contrast],
    metrics: &mut [MetricComparison],
) {
    if standing == Standing::Interim {
        for contrast in contrasts {
            contrast.verdict = None;
        }
        for metric in metrics {
            (metric.verdict, metric.guard_verdict) = (None, None);
        }
    }
}
