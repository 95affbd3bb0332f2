//! Requests for a library: what they cost, the draws, and the files that are written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_diagnostic::counted;
use assay_table::read_all_documents;
use serde::Serialize;
use serde_json::{Value, json};

use super::calls::RequestModels;
use super::check::Checks;
use super::drafted::{DraftedRequests, SortedDraws};
use super::library::RequestLibrary;
use super::output::{RequestFiles, RequestLines, write_lines};
use super::pool::Pool;
use super::report::RequestReport;
use super::review::{Review, ReviewPrompt};
use super::rounds::{DrawResult, DrawRounds, RequestKind, TRIED};
use super::session_requests::read_sessions;
use super::suite::write_experiment;
use crate::error::{DraftError, InputFault};
use crate::event::{DraftEvent, DraftEvents};
use crate::first_message::Redact;

/// What the calls for requests cost, as a document of JSON.
#[derive(Debug, Serialize)]
pub struct RequestForecast {
    schema: &'static str,
    /// Skills of the pool.
    skills: usize,
    /// Calls if each draw is accepted, and what they cost.
    calls: u64,
    usd: Option<f64>,
    /// The most.
    max_calls: u64,
    max_usd: Option<f64>,
}

impl RequestForecast {
    /// The forecast for people.
    pub fn to_text(&self) -> String {
        let cost = |usd: Option<f64>| usd.map_or_else(String::new, |usd| format!(", ${usd:.2}"));
        let Self { skills, calls, max_calls, .. } = self;
        format!(
            "{}: {calls} calls{} if every request is accepted, at most {max_calls} calls{}\n",
            counted(skills, "skill", "skills"),
            cost(self.usd),
            cost(self.max_usd),
        )
    }
}

/// What is written, and from what besides draws.
#[derive(Debug)]
pub struct RequestOutput<'a> {
    /// The files.
    pub files: &'a RequestFiles,
    /// Labels of people for the sheet.
    pub labels: Option<&'a Path>,
    /// Recorded sessions.
    pub traces: &'a [PathBuf],
    /// The folder of an experiment.
    pub experiment: Option<&'a Path>,
}

/// Writes requests for the skills of a library.
#[derive(Debug)]
pub struct RequestWriter<'a> {
    library: &'a RequestLibrary,
    /// Places in the library of the skills that are drawn.
    places: Vec<usize>,
    pool: Option<Pool>,
    seed: u64,
    /// The kinds with the number of requests of each.
    kinds: [(RequestKind, u32); 2],
}

impl<'a> RequestWriter<'a> {
    /// A writer for the skills of a pool: so many requests for them, and so many that must not trigger them.
    ///
    /// # Errors
    /// The pool has no skill.
    pub fn new(
        library: &'a RequestLibrary,
        pool: Option<Pool>,
        seed: u64,
        count: u32,
        negatives: u32,
    ) -> Result<Self, DraftError> {
        let places = library.places_of(pool, seed);
        if places.is_empty() {
            return Err(InputFault::EmptyPool.into());
        }
        let kinds = [(RequestKind::Positive, count), (RequestKind::Negative, negatives)];
        Ok(Self { library, places, pool, seed, kinds })
    }

    fn rounds_of(&self, kind: RequestKind) -> DrawRounds<'_> {
        DrawRounds::new(kind, self.library, &self.places, self.pool, self.seed)
    }

    /// Draws skills, and has the models write and review requests for them.
    ///
    /// # Errors
    /// A model gives no reply, or a cap is reached. Replies so far are stored.
    pub fn draft_requests(
        &self,
        models: &RequestModels,
        events: &dyn DraftEvents,
    ) -> Result<DraftedRequests, DraftError> {
        let mut checks = Checks::default();
        let mut draws = Vec::new();
        for (kind, count) in self.kinds {
            let progress = |accepted: usize, of: u32| {
                events.handle_event(&DraftEvent::Requests { source: kind.source(), accepted, of });
            };
            let prompts = self.rounds_of(kind);
            let drawn = self.rounds_of(kind).run_rounds(count, models, &mut checks, &progress)?;
            draws.extend(drawn.into_iter().map(|drawn| {
                let prompt = prompts.prompt_of(&drawn);
                (drawn, prompt)
            }));
        }
        let (calls, cached) = models.count_calls();
        let model = models.writer_name().to_owned();
        Ok(DraftedRequests { model, draws, calls, cached, cost_usd: models.cap.cost_usd() })
    }

    /// Finds what the calls cost if each draw is accepted, and at most.
    pub fn forecast_calls(&self, models: &RequestModels) -> RequestForecast {
        let (mut calls, mut usd) = (0_u64, 0.0);
        let skills = &self.library.skills;
        for (kind, count) in self.kinds {
            let mut rounds = self.rounds_of(kind);
            for drawn in (0..count).map_while(|_| rounds.next_draw()).collect::<Vec<_>>() {
                let Some(prompt) = rounds.prompt_of(&drawn) else { continue };
                // The request is unknown: a description is about as long, and has similar neighbours.
                let request = &skills.get(drawn.gold[0]).description;
                let reviews = Review::ALL
                    .map(|review| ReviewPrompt::new(review, request, &drawn.gold, &drawn.forbidden, skills));
                calls += 4;
                usd += models.max_cost(&prompt)
                    + reviews.iter().map(|review| models.max_cost(&review.prompt)).sum::<f64>();
            }
        }
        RequestForecast {
            schema: "assay.requests-forecast/1",
            skills: self.places.len(),
            calls,
            usd: models.cap.priced(usd),
            max_calls: calls * u64::from(TRIED),
            max_usd: models.cap.priced(usd * f64::from(TRIED)),
        }
    }

    /// Writes the files, which must not exist. Without draws, only requests of sessions are written.
    ///
    /// # Errors
    /// A file exists or cannot be written, or labels cannot be read.
    pub fn write_files(
        &self,
        drafted: Option<&DraftedRequests>,
        output: &RequestOutput<'_>,
        redact: Redact<'_>,
        events: &dyn DraftEvents,
    ) -> Result<RequestReport, DraftError> {
        let labels = output.labels.map(read_labels).transpose()?.unwrap_or_default();
        let sorted = drafted.map(|drafted| self.sort_draws(drafted, &labels)).unwrap_or_default();
        let sessions =
            (!output.traces.is_empty()).then(|| read_sessions(output.traces, self.library, redact, events));
        let files = output.files;
        // Another command may have written them meanwhile.
        files.check_absent()?;
        if let Some(folder) = output.experiment {
            write_experiment(folder, &sorted.requests, self.library)?;
        }
        write_lines(&files.requests, &sorted.requests)?;
        write_lines(&files.negatives, &sorted.negatives)?;
        write_lines(&files.sheet, &sorted.sheet)?;
        write_lines(&files.dropped, &sorted.dropped)?;
        if let Some(sessions) = &sessions {
            write_lines(&files.traces, &sessions.lines)?;
        }
        let written = [sorted.requests.len(), sorted.negatives.len()];
        let is_short = self
            .kinds
            .iter()
            .zip(written)
            .any(|((_, count), written)| usize::try_from(*count).unwrap_or(usize::MAX) > written);
        let sheet = (!sorted.sheet.is_empty()).then(|| files.sheet.clone());
        Ok(RequestReport::new(self.places.len(), drafted, &sorted, sessions.as_ref(), is_short, sheet))
    }

    /// Sorts draws into the files, by their reviews and the labels of people.
    fn sort_draws(&self, drafted: &DraftedRequests, labels: &BTreeMap<String, bool>) -> SortedDraws {
        let lines =
            RequestLines { library: self.library, model: &drafted.model, pool: self.pool, seed: self.seed };
        let mut sorted = SortedDraws::default();
        for (drawn, prompt) in &drafted.draws {
            let prompt = prompt.as_ref();
            let approved_by = match &drawn.result {
                DrawResult::Accepted => "reviews",
                DrawResult::Dropped(reason, _) => {
                    *sorted.reasons.entry(reason).or_default() += 1;
                    sorted.dropped.push(lines.dropped(drawn, prompt));
                    continue;
                }
                DrawResult::Person(review) => match labels.get(&lines.id(drawn)) {
                    Some(true) => "person",
                    Some(false) => {
                        *sorted.reasons.entry("person").or_default() += 1;
                        sorted.dropped.push(lines.dropped(drawn, prompt));
                        continue;
                    }
                    None => {
                        sorted.sheet.push(lines.row(drawn, *review, prompt));
                        continue;
                    }
                },
            };
            let mut line = lines.request(drawn, prompt);
            line["approved_by"] = json!(approved_by);
            sorted.by_people += usize::from(approved_by == "person");
            if drawn.kind == RequestKind::Negative {
                sorted.negatives.push(line);
                continue;
            }
            sorted.covered.extend(drawn.gold.iter().copied());
            sorted.requests.push(line);
        }
        sorted
    }
}

/// The final labels of a sheet, by item; items without a label are left out.
fn read_labels(path: &Path) -> Result<BTreeMap<String, bool>, DraftError> {
    let mut labels = BTreeMap::new();
    for document in read_all_documents(path)? {
        let line = document.line;
        let bad = |what: &str| InputFault::Label { path: path.to_owned(), line, message: what.to_owned() };
        let row: Value = document.value.map_err(|error| bad(&error))?;
        let item = row["item"].as_str().ok_or_else(|| bad("no `item`"))?;
        match &row["label"] {
            Value::Bool(label) => {
                labels.insert(item.to_owned(), *label);
            }
            Value::Null if row.get("label").is_some() => {}
            _ => return Err(bad("`label` is neither true, false nor null").into()),
        }
    }
    Ok(labels)
}
