//! `assay lab route bench`: which skill is chosen for a request.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_ask::{AskCaps, AskEvents, CapReached, CostCap, ModelHandle};
use assay_model::{ChatModel, Price};
use assay_router::{
    Answers, Bench, Candidate, Forecast, Lexical, Prompt, Routed, Router, RunLimits, RunOutcome,
    Status as Ended, Template,
};
use serde_json::json;

use crate::args::route::{LabRouteArgs, LabRouteWhat, RouteBenchArgs};
use crate::routing::prompts::{KEYS, UNKNOWN_KEY, read_prompts};
use crate::routing::{Findings, findings, render};
use assay_cli::asking::progress as events;
use assay_cli::commands::route::{broken, candidates, open, template};
use assay_cli::config::Settings;
use assay_cli::failure::{Failure, Status};
use assay_cli::input;
use assay_cli::machine;
use assay_cli::ui::Ui;

pub(super) fn run(args: &LabRouteArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let LabRouteWhat::Bench(args) = &args.what;
    let skills = candidates(&args.library, ui)?;
    let prompts = prompts(args, &skills, ui)?;
    let set =
        BenchSetup { prompts, skills, template: template(&args.orders)?, cap: Arc::new(cap_of(args)?), args };
    let answers = Answers::new(settings.store.join("routes"));
    if args.dry_run {
        return dry_run(&set, &answers, ui);
    }
    // What a run lacks is said before keys are looked for.
    for spec in &args.models {
        let model = args.access.model.open_model_on_use("--model", spec)?;
        set.cap.check_model(&model).map_err(no_cap)?;
    }
    let models = args.models.iter().map(|spec| open(spec, &args.access)).collect::<Result<Vec<_>, _>>()?;
    let cancel = machine::interrupted()?;
    let caps = RunLimits { max_runs: args.max_runs, concurrency: usize::from(args.access.jobs) };
    let mut routers = Vec::new();
    let (mut left, mut errors) = (0, 0);
    for model in &models {
        let progress = |routed: &Routed| {
            ui.detail(&format!("{} {}: {:?}", routed.prompt, routed.repetition, routed.status));
        };
        let ran =
            set.bench(model, Some(events(ui))).run(&answers, &caps, &cancel, &progress).map_err(broken)?;
        report_outcome(model.name(), &ran, ui);
        left += ran.left;
        errors += ran.answers.iter().filter(|answer| !answer.status.is_result()).count();
        routers.push(model_router(model.name(), ran, set.cap.price()));
    }
    routers.extend(Lexical::ALL.map(|lexical| set.lexical_router(lexical)));
    let measures = models.iter().any(ModelHandle::measures_a_model);
    let found = findings(&set.prompts, &routers, set.skills.len(), args.orders.seed, measures);
    append_history(&found, args, settings)?;
    if ui.json() {
        ui.document(&found)?;
    } else {
        ui.out(&render(&found))?;
    }
    Ok(match (cancel.load(Ordering::Relaxed), errors + left) {
        (true, _) => Status::Interrupted,
        (false, 0) => Status::Done,
        _ => Status::Infrastructure,
    })
}

/// The inputs of the benchmark.
struct BenchSetup<'a> {
    prompts: Vec<Prompt>,
    skills: Vec<Candidate>,
    template: Template,
    cap: Arc<CostCap>,
    args: &'a RouteBenchArgs,
}

impl BenchSetup<'_> {
    fn bench<'b>(&'b self, model: &'b ModelHandle, events: Option<Arc<dyn AskEvents>>) -> Bench<'b> {
        Bench {
            prompts: &self.prompts,
            skills: &self.skills,
            template: &self.template,
            model,
            cap: self.cap.clone(),
            events,
            repetitions: self.args.orders.repetitions,
            seed: self.args.orders.seed,
        }
    }

    /// The answers of a lexical router, which are deterministic.
    fn lexical_router(&self, lexical: Lexical) -> Router {
        let requests: Vec<&str> = self.prompts.iter().map(|prompt| prompt.text.as_str()).collect();
        let answer = |(prompt, ranking): (&Prompt, Vec<String>)| Routed {
            prompt: prompt.id.clone(),
            repetition: 0,
            status: Ended::Finished,
            ranking,
            confidence: None,
            replies: Vec::new(),
            message: None,
            usage: None,
            seconds: 0.0,
        };
        let answers = self.prompts.iter().zip(lexical.rank(&requests, &self.skills)).map(answer).collect();
        Router { name: lexical.name().to_owned(), lexical: true, answers, cost_usd: None }
    }
}

fn prompts(args: &RouteBenchArgs, skills: &[Candidate], ui: &Ui) -> Result<Vec<Prompt>, Failure> {
    let text = input::text(&args.prompts)?;
    let names: BTreeSet<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    let (prompts, diagnostics) = read_prompts(&text, &args.prompts, &names);
    for diagnostic in &diagnostics {
        ui.note(&diagnostic.to_string());
    }
    if diagnostics.iter().any(|diagnostic| diagnostic.code == UNKNOWN_KEY) {
        let message = format!("{} has unknown keys", args.prompts.display());
        return Err(Failure::bad_input(message).hint(format!("supported keys: {}", KEYS.join(", "))));
    }
    if prompts.is_empty() {
        return Err(Failure::bad_input(format!("{} contains no usable query", args.prompts.display())));
    }
    Ok(prompts)
}

/// The cap that all models of the command share.
fn cap_of(args: &RouteBenchArgs) -> Result<CostCap, Failure> {
    let is_capped = args.no_cap || args.max_runs.is_some() || args.models.is_empty();
    let required_by = (!is_capped).then_some("this run");
    args.access.model.cap_of(AskCaps { required_by, ..AskCaps::default() })
}

/// A paid model without a cap on its cost.
fn no_cap(reason: CapReached) -> Failure {
    Failure::from(reason).hint("--max-usd USD with --price, --max-runs N, or --no-cap")
}

/// The model of a dry run, which is never called.
struct NoModel(String);

impl ChatModel for NoModel {
    fn id(&self) -> &str {
        &self.0
    }

    fn chat(
        &self,
        _: &assay_model::ChatRequest,
        _: &assay_model::Call<'_>,
    ) -> Result<assay_model::ChatReply, assay_model::ModelError> {
        Err(assay_model::ModelError::Cancelled)
    }
}

fn dry_run(set: &BenchSetup<'_>, answers: &Answers, ui: &Ui) -> Result<Status, Failure> {
    let names =
        if set.args.models.is_empty() { vec!["no model".to_owned()] } else { set.args.models.clone() };
    let models: Vec<ModelHandle> =
        names.into_iter().map(|name| ModelHandle::of_model(Arc::new(NoModel(name)))).collect();
    let mut forecasts: Vec<(&str, Forecast)> = Vec::new();
    for model in &models {
        forecasts.push((model.name(), set.bench(model, None).forecast(answers).map_err(broken)?));
    }
    let first = models.first().and_then(|model| {
        let (prompt, text) = set.bench(model, None).first_question()?;
        Some(json!({ "prompt": prompt.id, "text": text }))
    });
    if ui.json() {
        let models: Vec<_> = forecasts
            .iter()
            .map(|(model, forecast)| {
                json!({ "model": model, "questions": forecast.questions, "answered": forecast.answered,
                        "input_tokens": forecast.tokens.input, "output_tokens": forecast.tokens.output, "usd": forecast.usd })
            })
            .collect();
        ui.document(&json!({ "schema": "assay.route-forecast/1", "models": models, "first": first }))?;
        return Ok(Status::Done);
    }
    let mut text = String::new();
    for (model, forecast) in forecasts {
        let usd = forecast.usd.map_or_else(|| "unknown (no --price)".to_owned(), |usd| format!("${usd:.4}"));
        text.push_str(&format!(
            "{model}: {} questions, {} cached; the rest: about {} input and {} output tokens; cost {usd}\n",
            forecast.questions, forecast.answered, forecast.tokens.input, forecast.tokens.output
        ));
    }
    if let Some(first) = first {
        let part = |key: &str| first[key].as_str().unwrap_or_default().to_owned();
        text.push_str(&format!("\nfirst question, for {}:\n\n{}", part("prompt"), part("text")));
    }
    let lines: Vec<String> = text.lines().map(assay_report::clean).collect();
    ui.out(&(lines.join("\n") + "\n"))?;
    Ok(Status::Done)
}

fn report_outcome(model: &str, ran: &RunOutcome, ui: &Ui) {
    let spent = ran.spent_usd.map_or(String::new(), |usd| format!(", ${usd:.4} spent"));
    let left = if ran.left > 0 {
        format!(", {} unfinished: run it again to continue", ran.left)
    } else {
        String::new()
    };
    ui.note(&format!("{model}: {} sent, {} cached{spent}{left}", ran.asked, ran.cached));
    let errors: Vec<&Routed> = ran.answers.iter().filter(|answer| !answer.status.is_result()).collect();
    if let Some(first) = errors.first() {
        let message = first.message.as_deref().unwrap_or("no reason given");
        ui.note(&format!(
            "{model}: {} questions without an answer, first {}: {message}",
            errors.len(),
            first.prompt
        ));
    }
}

fn model_router(name: &str, ran: RunOutcome, price: Option<Price>) -> Router {
    let cost = |answer: &Routed| Some(price?.cost(&answer.usage?));
    let cost_usd = ran.answers.iter().map(cost).sum::<Option<f64>>().filter(|_| price.is_some());
    Router { name: name.to_owned(), lexical: false, answers: ran.answers, cost_usd }
}

/// Appends a line for this run to the history.
fn append_history(found: &Findings, args: &RouteBenchArgs, settings: &Settings) -> Result<(), Failure> {
    let routers: Vec<_> = found
        .routers
        .iter()
        .map(|router| json!({ "router": router.router, "top1": router.top1, "overall": router.overall }))
        .collect();
    let line = json!({
        "schema": "assay.route-history/1", "time": jiff::Timestamp::now().to_string(),
        "prompts": args.prompts.display().to_string(), "digest": digest(&args.prompts), "seed": found.seed,
        "repetitions": args.orders.repetitions, "skills": found.skills, "routers": routers,
    });
    let path = settings.store.join("routes/history.jsonl");
    let written = std::fs::create_dir_all(settings.store.join("routes")).and_then(|()| {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path)?;
        file.write_all(format!("{line}\n").as_bytes())
    });
    written.map_err(|error| Failure::infrastructure(format!("cannot write {}: {error}", path.display())))
}

fn digest(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    Some(format!("blake3:{}", blake3::hash(&text).to_hex()))
}
