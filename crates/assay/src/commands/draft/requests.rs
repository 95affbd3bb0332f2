//! `assay draft requests`.

mod calls;
mod library;
mod output;
mod rounds;
mod suite;
mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_draft::requests::{Checks, Pool, Prompt, Review, ReviewPrompt};
use assay_judge::is_same_family;
use assay_report::counted;
use assay_table::read_documents;
use serde_json::{Value, json};

use crate::args::draft::{PoolName, RequestsArgs};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;
use calls::Models;
use library::Library;
use output::{Files, Lines, write_lines};
use rounds::{DrawResult, Drawn, Kind, Rounds, TRIED};

pub(super) fn run(args: &RequestsArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let files = args.out.as_deref().map(Files::beside);
    if let Some(files) = files.as_ref().filter(|_| !args.dry_run) {
        files.check_absent()?;
        args.experiment.as_deref().map_or(Ok(()), suite::check_absent)?;
    }
    let pool = args.pool.map(|name| match name {
        PoolName::Training => Pool::Training,
        PoolName::Evaluation => Pool::Evaluation,
    });
    let library = Library::read(&args.library, ui)?;
    let places = library.places(pool, args.seed);
    if places.is_empty() {
        return Err(
            Failure::bad_input("the pool has no skills").hint("choose another --seed, or omit --pool")
        );
    }
    let command = Command { args, library: &library, places: &places, pool };
    let drafted = match &args.model {
        None => Drafted::default(),
        Some(model) => {
            let models = Models::open(args, model, settings)?;
            warn_of_family(&models, ui);
            if args.dry_run {
                return command.forecast(&models, ui);
            }
            models.check_cap()?;
            match command.draft(&models, ui) {
                Err(_) if models.is_cancelled() => return Ok(Status::Interrupted),
                drafted => drafted?,
            }
        }
    };
    let Some(files) = files.filter(|_| !args.dry_run) else { return Ok(Status::Done) };
    command.finish(drafted, &files, ui)
}

/// A model reviews its own family's requests more favourably.
fn warn_of_family(models: &Models<'_>, ui: &Ui) {
    let writer = &models.writer.spec;
    if let Some(own) = models.reviewers.iter().find(|own| is_same_family(&own.spec, writer)) {
        ui.note(&format!(
            "warning: the reviewer {} is of the family of {writer}, which wrote the requests (--reviewer)",
            own.spec
        ));
    }
}

/// The draws of a command, and what the calls cost.
#[derive(Default)]
struct Drafted {
    draws: Vec<(Drawn, Option<Prompt>)>,
    calls: usize,
    cached: usize,
    cost_usd: Option<f64>,
}

struct Command<'a> {
    args: &'a RequestsArgs,
    library: &'a Library,
    places: &'a [usize],
    pool: Option<Pool>,
}

impl Command<'_> {
    fn rounds(&self, kind: Kind) -> Rounds<'_> {
        Rounds::new(kind, self.library, self.places, self.pool, self.args.seed)
    }

    /// The kinds with the number of requests of each.
    fn kinds(&self) -> [(Kind, u32); 2] {
        [(Kind::Positive, self.args.count.unwrap_or_default()), (Kind::Negative, self.args.negatives)]
    }

    fn draft(&self, models: &Models<'_>, ui: &Ui) -> Result<Drafted, Failure> {
        let mut checks = Checks::default();
        let mut draws = Vec::new();
        for (kind, count) in self.kinds() {
            let progress =
                |accepted: usize, of: u32| ui.detail(&format!("{}: {accepted} of {of}", kind.source()));
            let prompts = self.rounds(kind);
            let drawn = self.rounds(kind).run(count, models, &mut checks, &progress)?;
            draws.extend(drawn.into_iter().map(|drawn| {
                let prompt = prompts.prompt(&drawn);
                (drawn, prompt)
            }));
        }
        let spent = models.spent();
        Ok(Drafted { draws, calls: spent.calls, cached: spent.cached, cost_usd: models.cost_usd() })
    }

    /// What the calls cost if each draw is accepted, and at most.
    fn forecast(&self, models: &Models<'_>, ui: &Ui) -> Result<Status, Failure> {
        let (mut calls, mut usd) = (0_u64, 0.0);
        let skills = &self.library.skills;
        for (kind, count) in self.kinds() {
            let mut rounds = self.rounds(kind);
            for drawn in (0..count).map_while(|_| rounds.next_draw()).collect::<Vec<_>>() {
                let Some(prompt) = rounds.prompt(&drawn) else { continue };
                // The request is unknown: a description is about as long, and has similar neighbours.
                let request = &skills.get(drawn.gold[0]).description;
                let reviews = Review::ALL
                    .map(|review| ReviewPrompt::new(review, request, &drawn.gold, &drawn.forbidden, skills));
                calls += 4;
                usd += models.max_cost(&prompt)
                    + reviews.iter().map(|review| models.max_cost(&review.prompt)).sum::<f64>();
            }
        }
        let most_calls = calls * u64::from(TRIED);
        let (usd, most_usd) = (models.price.map(|_| usd), models.price.map(|_| usd * f64::from(TRIED)));
        if ui.json() {
            ui.document(&json!({
                "schema": "assay.requests-forecast/1", "skills": self.places.len(), "calls": calls, "usd": usd,
                "max_calls": most_calls, "max_usd": most_usd,
            }))?;
            return Ok(Status::Done);
        }
        let cost = |usd: Option<f64>| usd.map_or_else(String::new, |usd| format!(", ${usd:.2}"));
        ui.out(&format!(
            "{}: {calls} calls{} if every request is accepted, at most {most_calls} calls{}\n",
            counted(self.places.len(), "skill", "skills"),
            cost(usd),
            cost(most_usd),
        ))?;
        Ok(Status::Done)
    }

    /// Writes the files and prints the figures.
    fn finish(&self, mut drafted: Drafted, files: &Files, ui: &Ui) -> Result<Status, Failure> {
        let lines = Lines {
            library: self.library,
            model: self.args.model.as_deref().unwrap_or_default(),
            pool: self.pool,
            seed: self.args.seed,
        };
        let labels = self.args.labels.as_deref().map(read_labels).transpose()?.unwrap_or_default();
        let (mut requests, mut negatives, mut sheet, mut dropped) = (vec![], vec![], vec![], vec![]);
        let mut reasons: BTreeMap<&'static str, usize> = BTreeMap::new();
        let mut covered = BTreeSet::new();
        let mut by_people = 0;
        for (drawn, prompt) in &mut drafted.draws {
            let objection = match drawn.result {
                DrawResult::Person(review) => Some(review),
                _ => None,
            };
            let label = objection.and_then(|_| labels.get(&lines.id(drawn)).copied());
            let is_accepted = drawn.result == DrawResult::Accepted || label == Some(true);
            let prompt = prompt.as_ref();
            if is_accepted {
                let mut line = lines.request(drawn, prompt);
                line["approved_by"] = json!(if label.is_some() { "person" } else { "reviews" });
                by_people += usize::from(label.is_some());
                match drawn.kind {
                    Kind::Positive => {
                        covered.extend(drawn.gold.iter().copied());
                        requests.push(line);
                    }
                    Kind::Negative => negatives.push(line),
                }
                continue;
            }
            match (&drawn.result, objection) {
                (_, Some(objection)) if label.is_none() => sheet.push(lines.row(drawn, objection, prompt)),
                (DrawResult::Dropped(reason, _), _) => {
                    *reasons.entry(reason).or_default() += 1;
                    dropped.push(lines.dropped(drawn, prompt));
                }
                _ => {
                    *reasons.entry("person").or_default() += 1;
                    dropped.push(lines.dropped(drawn, prompt));
                }
            }
        }
        let sessions = (!self.args.from_traces.is_empty())
            .then(|| traces::read_sessions(&self.args.from_traces, self.library, ui));
        if let Some(folder) = &self.args.experiment {
            suite::write(folder, &requests, self.library)?;
        }
        write_lines(&files.requests, &requests)?;
        write_lines(&files.negatives, &negatives)?;
        write_lines(&files.sheet, &sheet)?;
        write_lines(&files.dropped, &dropped)?;
        if let Some(sessions) = &sessions {
            write_lines(&files.traces, &sessions.lines)?;
        }
        let missing = self
            .kinds()
            .iter()
            .zip([requests.len(), negatives.len()])
            .any(|((_, count), written)| usize::try_from(*count).unwrap_or(usize::MAX) > written);
        let unread = sessions.as_ref().map_or(0, |sessions| sessions.unread);
        if ui.json() {
            let sessions = sessions.as_ref().map(|sessions| {
                json!({
                    "requests": sessions.lines.len(), "labelled": sessions.labelled, "skipped": sessions.skipped,
                    "unread": sessions.unread,
                })
            });
            ui.document(&json!({
                "schema": "assay.requests/1", "skills": self.places.len(), "draws": drafted.draws.len(),
                "requests": requests.len(), "negatives": negatives.len(), "covered": covered.len(),
                "approved_by_people": by_people, "for_people": sheet.len(), "dropped": reasons, "sessions": sessions,
                "calls": drafted.calls, "cached": drafted.cached, "cost_usd": drafted.cost_usd,
            }))?;
        } else {
            let mut text = String::new();
            if self.args.model.is_some() {
                text.push_str(&format!(
                    "{}, {} from {}\n",
                    counted(requests.len(), "request", "requests"),
                    counted(negatives.len(), "negative", "negatives"),
                    counted(drafted.draws.len(), "draw", "draws"),
                ));
                text.push_str(&format!(
                    "skills with a request: {} of {}\nfor people to decide: {}\n",
                    covered.len(),
                    self.places.len(),
                    sheet.len()
                ));
                let reasons: Vec<String> =
                    reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
                let reasons =
                    if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
                text.push_str(&format!("dropped: {}{reasons}\n", dropped.len()));
                let cost = drafted.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
                text.push_str(&format!(
                    "{} ({} cached){cost}\n",
                    counted(drafted.calls, "model call", "model calls"),
                    drafted.cached
                ));
            }
            if let Some(sessions) = &sessions {
                text.push_str(&format!(
                    "{} of sessions, {} with a skill that was opened\n",
                    counted(sessions.lines.len(), "request", "requests"),
                    sessions.labelled
                ));
            }
            ui.out(&text)?;
        }
        if !sheet.is_empty() {
            ui.note(&format!("next: `assay judge sheet {}`", files.sheet.display()));
        }
        Ok(match () {
            () if unread > 0 => Status::BadInput,
            () if missing => Status::DidNotHold,
            () => Status::Done,
        })
    }
}

/// The final labels of a sheet, by item; items without a label are left out.
fn read_labels(path: &Path) -> Result<BTreeMap<String, bool>, Failure> {
    let documents =
        read_documents(path).map_err(|error| Failure::bad_input(assay_diagnostic::chain(&error)))?;
    let mut labels = BTreeMap::new();
    for document in documents {
        let bad = |what: &str| {
            Failure::bad_input(format!("{}:{}: {what}", path.display(), document.line))
                .hint("`assay judge labels` writes such a file")
        };
        let row: Value = document.value.map_err(|error| bad(&error))?;
        let item = row["item"].as_str().ok_or_else(|| bad("no `item`"))?;
        match &row["label"] {
            Value::Bool(label) => {
                labels.insert(item.to_owned(), *label);
            }
            Value::Null if row.get("label").is_some() => {}
            _ => return Err(bad("`label` is neither true, false nor null")),
        }
    }
    Ok(labels)
}
