//! A bar on a terminal, a plain line now and then elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use assay_store::{Outcome, Record};
use assay_trial::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::asking::describe_waiting_judges;
use crate::ui::Ui;

/// Between two plain lines.
const NOTE_INTERVAL: Duration = Duration::from_secs(10);

/// Most reasons for lost trials that are told on the way; `assay show` tells each trial's.
const MAX_ERRORS: usize = 10;

/// Tells how a run goes.
pub(crate) struct Progress<'a> {
    ui: &'a Ui,
    bar: Option<ProgressBar>,
    phase: &'static str,
    total: usize,
    done: usize,
    counts: BTreeMap<&'static str, usize>,
    errors: BTreeSet<String>,
    began: Instant,
    last_note: Instant,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(ui: &'a Ui) -> Self {
        let now = Instant::now();
        Self {
            ui,
            bar: None,
            phase: "",
            total: 0,
            done: 0,
            counts: BTreeMap::new(),
            errors: BTreeSet::new(),
            began: now,
            last_note: now,
        }
    }

    pub(crate) fn report(&mut self, event: &Event<'_>) {
        match event {
            Event::Begin { phase, total, cached } => self.begin(phase, *total, *cached),
            Event::End { record, .. } => {
                self.done += 1;
                *self.counts.entry(record.outcome.word()).or_default() += 1;
                self.report_error(record);
                self.update();
            }
            Event::Retry { record } => {
                let reason = record.reason.as_deref().unwrap_or("infrastructure error");
                self.line(&format!("{}: {reason}; retrying", record.task));
            }
            Event::JudgesWaiting { requests, oldest } => {
                self.line(&describe_waiting_judges(*requests, *oldest));
            }
            Event::JudgeRetried { judge, retry } => {
                self.report_once(&format!("the judge {judge} is asked again: {}", retry.message));
            }
            Event::Note(note) => self.line(note),
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn begin(&mut self, phase: &'static str, total: usize, cached: usize) {
        self.finish();
        self.phase = phase;
        self.total = total - cached;
        self.done = 0;
        self.counts.clear();
        self.began = Instant::now();
        self.last_note = self.began;
        if total > 0 {
            let what = if phase == "checks" { "task checks (oracle, no-op)" } else { "trials" };
            self.line(&format!("{what}: {total}, {cached} cached"));
        }
        if self.total > 0 && self.ui.draws() {
            let bar = ProgressBar::with_draw_target(Some(self.total as u64), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len}, {eta} left  {msg}");
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(phase);
            bar.enable_steady_tick(Duration::from_millis(500));
            self.bar = Some(bar);
        }
    }

    fn update(&mut self) {
        let counts: Vec<String> =
            self.counts.iter().map(|(word, n)| format!("{} {n}", word.replace('_', " "))).collect();
        let counts = counts.join(", ");
        if let Some(bar) = &self.bar {
            bar.set_position(self.done as u64);
            bar.set_message(counts);
        } else if self.ui.speaks() && self.last_note.elapsed() >= NOTE_INTERVAL {
            self.last_note = Instant::now();
            let left = self.began.elapsed().as_secs_f64() / self.done as f64
                * (self.total - self.done.min(self.total)) as f64;
            let left = assay_report::seconds(left);
            self.ui.note(&format!("{}: {} of {}, {left} left ({counts})", self.phase, self.done, self.total));
        }
    }

    /// Says why a trial was lost, once for each reason.
    fn report_error(&mut self, record: &Record) {
        let Some(reason) = record.reason.as_deref().filter(|_| record.outcome == Outcome::Infrastructure)
        else {
            return;
        };
        if self.errors.len() < MAX_ERRORS && self.errors.insert(reason.to_owned()) {
            self.line(&format!("{}: infrastructure error: {reason}", record.task));
        }
    }

    /// A line that is the same for many requests.
    fn report_once(&mut self, line: &str) {
        if self.errors.len() < MAX_ERRORS && self.errors.insert(line.to_owned()) {
            self.line(line);
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.ui.note(text)),
            None => self.ui.note(text),
        }
    }
}
