//! Asks a judge about the directives of skills in runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_ask::{
    AskError, AskEvents, AskRules, Asker, CapReached, CostCap, FolderCache, ModelHandle, ModelQuestion,
    QuestionOf,
};
use assay_audit::adherence::Assessment;
use assay_audit::calibrated::{RunName, TaskAudit, TaskRuns};
use assay_audit::directive::Directive;
use assay_fs::Digest;
use assay_model::ScriptContext;
use serde_json::{Map, json};

use super::agreement::{DirectiveJudgement, DirectiveVerdict, JudgeCounts};
use super::request::{JudgeAnswer, RunText, SYSTEM};

/// Raised when requests change in more than their subject.
const PROTOCOL: u32 = 1;

/// Most directives of one request.
const TOGETHER: usize = 40;

/// Requests at the same time.
const CONCURRENCY: usize = 4;

/// After so many questions without a reply no more are sent.
const MOST_FAILURES: usize = 3;

/// A run that is judged.
struct JudgedRun {
    task: String,
    skill: String,
    name: RunName,
    trace: String,
    text: RunText,
    directives: Arc<Vec<Directive>>,
    /// What the rules say, in the order of the directives.
    rules: Vec<Assessment>,
}

/// Some directives of a run, in the order in which a request has them.
struct Batch {
    run: usize,
    directives: Vec<usize>,
    text: String,
}

/// What came of a question.
enum Reply {
    Answers { answers: Vec<JudgeAnswer>, is_cached: bool },
    Unreadable,
    Failed(AskError),
    Capped,
}

/// A model that decides which directives runs followed. It is asked when all runs are known, in random order.
pub struct DirectiveJudge {
    model: ModelHandle,
    asker: Asker<'static>,
    cap: Arc<CostCap>,
    seed: u64,
    runs: Vec<JudgedRun>,
}

impl std::fmt::Debug for DirectiveJudge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectiveJudge").field("model", &self.model).finish_non_exhaustive()
    }
}

impl DirectiveJudge {
    /// The model, with its replies in a folder. The orders of runs and directives follow from `seed`. No request is sent
    /// yet.
    pub fn new(model: ModelHandle, cap: Arc<CostCap>, replies: &Path, seed: u64) -> Self {
        let asker = Asker::new(Arc::new(FolderCache::new(replies)), cap.clone(), AskRules::default());
        Self { model, asker, cap, seed, runs: Vec::new() }
    }

    /// Reports what happens, and in each interval how long requests have been waiting.
    #[must_use]
    pub fn report_to(self, events: Arc<dyn AskEvents>, interval: Duration) -> Self {
        Self { asker: self.asker.report_to(events, interval), ..self }
    }

    /// Adds the runs of a task, of which an audit found this. Copies of a run are asked about once.
    pub fn add_task(&mut self, task: &TaskRuns<'_>, found: &TaskAudit) {
        if found.directives.is_empty() {
            return;
        }
        let directives = Arc::new(found.directives.clone());
        for (at, run) in found.runs.iter().enumerate().filter(|(at, run)| run.original == *at) {
            self.runs.push(JudgedRun {
                task: task.task.clone(),
                skill: task.skill_name.clone(),
                name: run.name.clone(),
                trace: run.trace.clone(),
                text: RunText::of(task, at),
                directives: Arc::clone(&directives),
                rules: run.adherence.assessments.clone(),
            });
        }
    }

    /// The requests in the order in which they are sent: a digest of the seed and the request decides.
    fn batches(&self) -> Vec<Batch> {
        let rank = |text: &str| *Digest::of(format!("{} {text}", self.seed).as_bytes()).as_bytes();
        let mut batches: Vec<([u8; 32], Batch)> = Vec::new();
        for (at, run) in self.runs.iter().enumerate() {
            let mut order: Vec<usize> = (0..run.directives.len()).collect();
            order.sort_by_key(|&one| rank(&format!("{one} {}", run.directives[one].text)));
            for chosen in order.chunks(TOGETHER) {
                let directives: Vec<&Directive> = chosen.iter().map(|&one| &run.directives[one]).collect();
                let text = run.text.request(&directives);
                batches.push((rank(&text), Batch { run: at, directives: chosen.to_vec(), text }));
            }
        }
        batches.sort_by_key(|batch| batch.0);
        batches.into_iter().map(|(_, batch)| batch).collect()
    }

    fn question(&self, batch: &Batch) -> ModelQuestion {
        let (model, run) = (&self.model, &self.runs[batch.run]);
        let mut labels = Map::new();
        labels.insert("judge".to_owned(), json!(model.name()));
        labels.insert("skill".to_owned(), json!(run.skill));
        labels.insert("task".to_owned(), json!(run.task));
        labels.insert("request".to_owned(), json!(batch.text));
        ModelQuestion {
            system: SYSTEM.to_owned(),
            identity: json!({
                "protocol": PROTOCOL, "model": model.name(), "script": model.identity(), "system": SYSTEM,
                "text": batch.text, "url": model.base_url(),
            }),
            text: batch.text.clone(),
            labels,
            script: ScriptContext { task: run.task.clone(), repetition: 1, ..ScriptContext::default() },
        }
    }

    /// Asks about all runs. Replies that cannot be read, questions above the cap and those without a reply leave their
    /// directives undecided, and are counted.
    ///
    /// # Errors
    /// The model cannot be used at all, is paid and has no cap, or replies cannot be stored. What came is kept.
    pub fn judge_runs(self) -> Result<DirectiveJudgement, AskError> {
        let batches = self.batches();
        let questions: Vec<QuestionOf<'_, Vec<JudgeAnswer>>> = batches
            .iter()
            .map(|batch| {
                let (text, count) = (&self.runs[batch.run].text, batch.directives.len());
                let read = move |reply: &str| text.read(reply, count).map_err(|error| error.to_string());
                QuestionOf { model: &self.model, question: self.question(batch), read: Box::new(read) }
            })
            .collect();
        let (failures, fatal) = (AtomicUsize::new(0), Mutex::new(None));
        let on_result = |_: usize, result: Result<assay_ask::Answer<Vec<JudgeAnswer>>, AskError>| match result
        {
            Ok(answer) => match answer.value {
                Ok(answers) => Some(Reply::Answers { answers, is_cached: answer.is_cached }),
                Err(_) => Some(Reply::Unreadable),
            },
            Err(AskError::Unreadable { .. }) => Some(Reply::Unreadable),
            Err(AskError::Capped(CapReached::Usd { .. } | CapReached::Questions { .. })) => {
                Some(Reply::Capped)
            }
            Err(error @ AskError::NoReply { .. }) => {
                let is_one_of_few = failures.fetch_add(1, Ordering::Relaxed) + 1 < MOST_FAILURES;
                is_one_of_few.then_some(Reply::Failed(error))
            }
            Err(error) => {
                fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            }
        };
        let replies = self.asker.answer_each(&questions, CONCURRENCY, &AtomicBool::new(false), &on_result)?;
        if let Some(error) = fatal.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        self.collect(&batches, replies)
    }

    fn collect(
        &self,
        batches: &[Batch],
        replies: Vec<Option<Reply>>,
    ) -> Result<DirectiveJudgement, AskError> {
        let mut counts = JudgeCounts { requests: batches.len(), ..JudgeCounts::default() };
        let (mut verdicts, mut failure) = (Vec::new(), None);
        for (batch, reply) in batches.iter().zip(replies) {
            match reply {
                Some(Reply::Answers { answers, is_cached }) => {
                    counts.answered += 1;
                    counts.cached += usize::from(is_cached);
                    let own = batch.directives.iter().zip(answers);
                    verdicts
                        .extend(own.map(|(&at, answer)| (batch.run, at, self.verdict(batch, at, answer))));
                    continue;
                }
                Some(Reply::Unreadable) => counts.unreadable += 1,
                Some(Reply::Capped) => counts.capped += 1,
                Some(Reply::Failed(error)) => {
                    counts.without_reply += 1;
                    failure.get_or_insert(error);
                }
                None => counts.without_reply += 1,
            }
            counts.unanswered += batch.directives.len();
        }
        if let Some(error) = failure.filter(|_| counts.answered == 0) {
            return Err(error);
        }
        verdicts.sort_by_key(|(run, at, _)| (*run, *at));
        Ok(DirectiveJudgement {
            model: self.model.name().to_owned(),
            seed: self.seed,
            runs: self.runs.len(),
            verdicts: verdicts.into_iter().map(|(_, _, verdict)| verdict).collect(),
            counts,
            cost_usd: self.cap.cost_usd(),
        })
    }

    fn verdict(&self, batch: &Batch, at: usize, answer: JudgeAnswer) -> DirectiveVerdict {
        let run = &self.runs[batch.run];
        let (directive, rules) = (&run.directives[at], run.rules.get(at));
        DirectiveVerdict {
            task: run.task.clone(),
            skill: run.skill.clone(),
            name: run.name.clone(),
            trace: run.trace.clone(),
            file: directive.file.clone(),
            line: directive.line,
            text: directive.text.clone(),
            subject: directive.subject.clone(),
            modality: directive.modality,
            rules: rules.map_or(assay_audit::adherence::Status::Unknown, |rules| rules.status),
            rules_location: rules.and_then(|rules| rules.place.clone()),
            judge: answer.status,
            undecided: answer.undecided,
            step: answer.step,
            quote: answer.quote,
            reason: answer.reason,
        }
    }
}
