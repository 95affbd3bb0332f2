//! `assay draft requests`.

mod calls;
mod library;
mod output;
mod report;
mod rounds;
mod suite;
pub(super) mod traces;

use std::collections::BTreeMap;
use std::path::Path;

use assay_draft::requests::{Checks, Pool, Prompt, Review, ReviewPrompt};
use assay_judge::is_same_family;
use assay_report::counted;
use assay_table::read_all_documents;
use serde_json::{Value, json};

use crate::args::draft::{PoolName, RequestsArgs};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::ui::Ui;
use calls::Models;
use library::Library;
use output::{Files, Lines, write_lines};
use report::{Report, Sorted};
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
            let models = Models::open(args, model, settings, ui)?;
            warn_of_family(&models, ui);
            if args.dry_run {
                return command.forecast(&models, ui);
            }
            models.check_cap()?;
            match command.draft(&models, ui) {
                Err(_) if models.is_cancelled() => {
                    ui.note("interrupted: run the command again, which uses the replies so far");
                    return Ok(Status::Interrupted);
                }
                drafted => drafted?,
            }
        }
    };
    let Some(files) = files.filter(|_| !args.dry_run) else { return Ok(Status::Done) };
    command.finish(&drafted, &files, ui)
}

/// A model reviews its own family's requests more favourably.
fn warn_of_family(models: &Models, ui: &Ui) {
    let writer = models.writer.name();
    if let Some(own) = models.reviewers.iter().find(|own| is_same_family(own.name(), writer)) {
        ui.note(&format!(
            "warning: the reviewer {} is of the family of {writer}, which wrote the requests (--reviewer)",
            own.name()
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

    fn draft(&self, models: &Models, ui: &Ui) -> Result<Drafted, Failure> {
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
        let (calls, cached) = models.count_calls();
        Ok(Drafted { draws, calls, cached, cost_usd: models.cap.cost_usd() })
    }

    /// What the calls cost if each draw is accepted, and at most.
    fn forecast(&self, models: &Models, ui: &Ui) -> Result<Status, Failure> {
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
        let (usd, most_usd) = (models.cap.priced(usd), models.cap.priced(usd * f64::from(TRIED)));
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
    fn finish(&self, drafted: &Drafted, files: &Files, ui: &Ui) -> Result<Status, Failure> {
        let labels = self.args.labels.as_deref().map(read_labels).transpose()?.unwrap_or_default();
        let sorted = self.sort(&drafted.draws, &labels);
        let from_traces = &self.args.from_traces;
        let sessions =
            (!from_traces.is_empty()).then(|| traces::read_sessions(from_traces, self.library, ui));
        if let Some(folder) = &self.args.experiment {
            suite::write(folder, &sorted.requests, self.library)?;
        }
        write_lines(&files.requests, &sorted.requests)?;
        write_lines(&files.negatives, &sorted.negatives)?;
        write_lines(&files.sheet, &sorted.sheet)?;
        write_lines(&files.dropped, &sorted.dropped)?;
        if let Some(sessions) = &sessions {
            write_lines(&files.traces, &sessions.lines)?;
        }
        let has_model = self.args.model.is_some();
        Report {
            skills: self.places.len(),
            has_model,
            drafted,
            sorted: &sorted,
            sessions: sessions.as_ref(),
        }
        .print(ui)?;
        if !sorted.sheet.is_empty() {
            ui.note(&format!("next: `assay judge sheet {}`", files.sheet.display()));
        }
        let written = [sorted.requests.len(), sorted.negatives.len()];
        let is_short = self
            .kinds()
            .iter()
            .zip(written)
            .any(|((_, count), written)| usize::try_from(*count).unwrap_or(usize::MAX) > written);
        Ok(match sessions {
            Some(sessions) if sessions.unread > 0 => Status::BadInput,
            _ if is_short => Status::DidNotHold,
            _ => Status::Done,
        })
    }

    /// Sorts draws into the files, by their reviews and the labels of people.
    fn sort(&self, draws: &[(Drawn, Option<Prompt>)], labels: &BTreeMap<String, bool>) -> Sorted {
        let lines = Lines {
            library: self.library,
            model: self.args.model.as_deref().unwrap_or_default(),
            pool: self.pool,
            seed: self.args.seed,
        };
        let mut sorted = Sorted::default();
        for (drawn, prompt) in draws {
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
            if drawn.kind == Kind::Negative {
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
fn read_labels(path: &Path) -> Result<BTreeMap<String, bool>, Failure> {
    let documents =
        read_all_documents(path).map_err(|error| Failure::bad_input(assay_diagnostic::chain(&error)))?;
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
