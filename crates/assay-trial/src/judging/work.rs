//! A rubric decided by the files of an attempt.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_agent::{RequestShare, RequestTurn, RunBudget};
use assay_fs::{Caps, Digest, FileKind, Manifest};
use assay_gateway::Budget;
use assay_judge::planted::{EVERY, Planted, is_missed, planted};
use assay_judge::{Aggregation, Case, Item, Kind, Request, Rubric, Ruling, Unverifiable, Verdict, majority};
use assay_model::{ModelError, Price, ScriptContext, Usage};
use assay_sandbox::Sandbox;
use assay_store::{Cause, JudgeMode, JudgedItem, Judgement, SetScore};
use serde::Serialize;
use serde_json::json;

use super::agent::{self, NoAnswer};
use super::ask::{AskError, JudgeQuestion, REPLY_TOKENS, TRIES, ask_judge};
use super::inputs::{self, FOLDER, JUDGEMENT, LIST, Texts, WORK};
use super::panel::{OpenedJudge, Panel};
use super::replies::{Replies, StoredReply};
use super::work_list::{WorkFile, WorkList};
use crate::run::budget::PricedBudget;

/// Most items of one request. A judge that has many to answer skips some.
const MOST_ITEMS: usize = 20;

/// Until a request that waits for a share of the run's budget asks again.
const TURN: Duration = Duration::from_millis(50);

/// The set with the score of the task's own tests.
const TESTS: &str = "tests";

/// What is kept of a work folder.
pub(crate) const KEPT: Caps =
    Caps { entries: 5_000, file_bytes: 16 << 20, total_bytes: 64 << 20, depth: 32, links: false };

/// The folder of an attempt for the copy of its work folder.
pub(crate) fn work_folder(attempt: &Path) -> PathBuf {
    attempt.join(FOLDER).join(WORK)
}

/// Lists the copy of a work folder, beside it. `changed` are relative paths.
///
/// # Errors
/// The copy cannot be read, or the list not be written.
pub(crate) fn write_list(
    attempt: &Path,
    changed: &[PathBuf],
    left_out: impl Iterator<Item = String>,
) -> io::Result<()> {
    let folder = attempt.join(FOLDER);
    let manifest = Manifest::scan(&folder.join(WORK), &KEPT).map_err(io::Error::other)?;
    let files = manifest.entries.iter().filter(|(_, entry)| entry.kind == FileKind::File);
    let list = WorkList {
        files: files
            .map(|(path, entry)| WorkFile {
                path: assay_diagnostic::escape_path(path),
                size: entry.size,
                changed: changed.contains(path),
            })
            .collect(),
        left_out: left_out.collect(),
    };
    fs::write(folder.join(LIST), serde_json::to_vec_pretty(&list)?)
}

/// Why a rubric is not decided.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// No answer of a judge.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// No answer of a judge that is an agent.
    #[error("the judge {judge} gives no answer: {reason}")]
    Agent {
        /// `provider:model`.
        judge: String,
        /// Why.
        reason: NoAnswer,
    },
    /// The run's budget is spent.
    #[error("{0}")]
    Budget(String),
    /// The judged files cannot be read, or the judgement not be written.
    #[error("cannot read or write what is judged: {0}")]
    Files(#[from] io::Error),
    /// Everything was left out, so that there is no score.
    #[error("every item of the rubric was left out, so there is no score")]
    NoScore,
    /// It was interrupted.
    #[error("interrupted")]
    Cancelled,
}

impl JudgeError {
    /// The cause in records.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Self::Budget(_) => Cause::Budget,
            Self::Files(_) => Cause::Harness,
            _ => Cause::Judge,
        }
    }
}

/// What surrounds a judgement.
#[derive(Clone, Copy)]
pub struct JudgeContext<'a> {
    /// The run's budget, which judges are charged to.
    pub budget: &'a Budget,
    /// Set from outside to stop soon.
    pub cancel: &'a AtomicBool,
    /// A folder for judges that are agents.
    pub scratch: &'a Path,
    /// The place in the experiment, for scripted models.
    pub script: &'a ScriptContext,
    /// The id of the work, which decides where items are planted.
    pub trial: &'a str,
    /// The folder of the work's judgements, where replies are stored as they come.
    pub judgements: &'a Path,
}

/// A decided rubric.
#[derive(Debug, Clone, PartialEq)]
pub struct Graded {
    /// Verdicts and scores, for the record.
    pub judgement: Judgement,
}

/// One request with its answers.
#[derive(Debug, Serialize)]
struct Exchange {
    system: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    planted: Option<PlantedItem>,
    replies: Vec<Reply>,
}

#[derive(Debug, Serialize)]
struct PlantedItem {
    id: String,
    text: String,
    expected: Verdict,
}

/// One answer.
#[derive(Debug, Serialize)]
struct Reply {
    judge: String,
    repeat: u32,
    text: String,
    replied_model: Option<String>,
    usage: Option<Usage>,
    rulings: Vec<Ruling>,
}

/// What judges have used so far.
#[derive(Debug, Default)]
struct Account {
    requests: u32,
    /// `None` once a count is unknown.
    usage: Usage,
    is_counted: bool,
    /// In USD; `None` once a price is unknown.
    usd: Option<f64>,
    models: Vec<String>,
}

/// Decides a rubric by the files of an attempt, and writes `judgement.json` among them. `tests` is the reward of
/// the task's own tests, if it has any.
///
/// # Errors
/// A judge without an answer, a spent budget, or files that cannot be read or written.
pub fn judge_work(
    attempt: &Path,
    instruction: &str,
    rubric: &Rubric,
    tests: Option<f64>,
    panel: &Panel,
    context: &JudgeContext<'_>,
) -> Result<Graded, JudgeError> {
    let texts = inputs::read(attempt, &panel.spec.material, &rubric.to_json())?;
    let mut verdicts: BTreeMap<String, (Ruling, f64)> = BTreeMap::new();
    for item in rubric.leaves() {
        if let Some(check) = &item.check {
            let verdict = if check.is_met(&texts.answer) { Verdict::Met } else { Verdict::NotMet };
            let ruling = Ruling {
                item: item.id.clone(),
                verdict,
                undecided: None,
                part: None,
                quote: None,
                reason: String::new(),
            };
            verdicts.insert(item.id.clone(), (ruling, 1.0));
        }
    }
    let asked: Vec<&Item> = rubric.leaves().filter(|item| item.check.is_none()).collect();
    let mut account = Account { is_counted: true, usd: Some(0.0), ..Account::default() };
    let (mut planted, mut missed) = (0, 0);
    let mut exchanges = Vec::new();
    let evidence = if panel.spec.mode == JudgeMode::Agent { &texts.readable } else { &texts.shown };
    // A script cannot read what is planted.
    let plants = if panel.measures_models() { plants(context.trial, asked.len()) } else { 0 };
    for (number, chunk) in asked.chunks(MOST_ITEMS).enumerate() {
        let plant = (number < plants).then(|| plant(evidence, context.trial, number)).flatten();
        let mut items = chunk.to_vec();
        if let Some(Planted { item, .. }) = &plant {
            let at = usize::from(item.id.bytes().last().unwrap_or_default()) % (items.len() + 1);
            items.insert(at, item);
        }
        let case = Case {
            instruction,
            context: rubric.context.as_deref().unwrap_or_default(),
            items,
            material: evidence.clone(),
        };
        let request = match panel.spec.mode {
            JudgeMode::Call => case.request(),
            JudgeMode::Agent => case.request_for_agent(),
        };
        let mut exchange = Exchange {
            system: request.system.clone(),
            text: request.text.clone(),
            planted: plant.as_ref().map(|Planted { item, expected }| PlantedItem {
                id: item.id.clone(),
                text: item.text.clone(),
                expected: *expected,
            }),
            replies: Vec::new(),
        };
        for judge in &panel.judges {
            for repeat in 1..=panel.spec.repeats {
                let place = AnswerPlace { attempt, texts: &texts, number, repeat };
                let reply = answer(judge, &case, &request, &place, panel, context, &mut account)?;
                if let Some(planted_item) = &plant {
                    planted += 1;
                    missed += u32::from(is_missed(planted_item, &reply.rulings));
                }
                exchange.replies.push(reply);
            }
        }
        for item in chunk {
            let own = |reply: &Reply| reply.rulings.iter().find(|ruling| ruling.item == item.id).cloned();
            let rulings: Vec<Ruling> = exchange.replies.iter().filter_map(own).collect();
            if let Some(decided) = majority(&rulings) {
                verdicts.insert(item.id.clone(), decided);
            }
        }
        exchanges.push(exchange);
    }
    let (overall, sets, items) = score(rubric, &verdicts, tests).ok_or(JudgeError::NoScore)?;
    let judgement = Judgement {
        judges: panel.judges.iter().map(|judge| judge.entry.model.clone()).collect(),
        mode: panel.spec.mode.word().to_owned(),
        overall,
        sets,
        items,
        planted,
        missed,
        requests: account.requests,
        usage: account.is_counted.then_some(account.usage),
        cost_usd: account.usd,
        replied_models: account.models,
    };
    let document = json!({ "schema": "assay.judgement/1", "judgement": judgement, "exchanges": exchanges });
    fs::write(attempt.join(JUDGEMENT), document.to_string())?;
    Ok(Graded { judgement })
}

/// How many of a trial's requests get a planted item, so that over many trials it is one item for each
/// [`EVERY`] items.
fn plants(trial: &str, items: usize) -> usize {
    let digest = Digest::of(format!("planted {trial}").as_bytes());
    let [a, b, ..] = *digest.as_bytes();
    let drawn = (usize::from(a) << 8 | usize::from(b)) % EVERY;
    items / EVERY + usize::from(drawn < items % EVERY)
}

fn plant(material: &[(String, String)], trial: &str, number: usize) -> Option<Planted> {
    let digest = Digest::of(format!("{trial} {number}").as_bytes());
    let seed = digest.as_bytes().iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte));
    planted(material, seed)
}

/// Where an answer belongs.
struct AnswerPlace<'a> {
    attempt: &'a Path,
    texts: &'a Texts,
    /// The request.
    number: usize,
    repeat: u32,
}

/// One answer of a judge.
fn answer(
    judge: &OpenedJudge,
    case: &Case<'_>,
    request: &Request,
    place: &AnswerPlace<'_>,
    panel: &Panel,
    context: &JudgeContext<'_>,
    account: &mut Account,
) -> Result<Reply, JudgeError> {
    let budget = PricedBudget { budget: context.budget, price: judge.entry.price };
    let name = judge.entry.model.as_str();
    let stored = Replies::open(context.judgements, judge, request, place.texts, &panel.spec, place.repeat);
    let of = |reply: &StoredReply, rulings: Vec<Ruling>| Reply {
        judge: name.to_owned(),
        repeat: place.repeat,
        text: reply.text.clone(),
        replied_model: reply.replied_model.clone(),
        usage: reply.usage,
        rulings,
    };
    // What came in an earlier attempt was paid then, and is part of what the judgement cost.
    let earlier = stored.read();
    for reply in &earlier {
        account.add(reply.requests, reply.usage, judge.entry.price, reply.replied_model.as_ref());
    }
    if let Some(answered) = earlier.iter().find_map(|reply| Some(of(reply, case.read(&reply.text).ok()?))) {
        return Ok(answered);
    }
    if let Some(reason) = budget.exhausted() {
        return Err(JudgeError::Budget(reason));
    }
    let script = ScriptContext { repetition: place.repeat, ..context.script.clone() };
    if let Some(sandbox) = &panel.sandbox {
        let place =
            AgentPlace { sandbox: &**sandbox, budget: &budget, script: &script, stored: &stored, place };
        let (reply, rulings) = answer_of_agent(judge, case, request, &place, panel, context, account)?;
        return Ok(of(&reply, rulings));
    }
    let question = JudgeQuestion {
        name,
        model: &*judge.model,
        request,
        patience: assay_diagnostic::duration_of_seconds(panel.spec.timeout),
        context: &script,
        cancel: context.cancel,
    };
    let mut share = await_turn(&budget, request, context)?;
    let mut unwritten = None;
    let mut on_reply = |reply: &assay_model::ChatReply| {
        let reported = reply.usage.filter(|usage| usage.total() > 0);
        let usage = reported.unwrap_or_else(|| estimate_usage(request, reply));
        budget.charge(&usage, &if reported.is_some() { Usage::default() } else { usage });
        if let Some(share) = &mut share {
            share.set_used(&usage);
        }
        account.add(1, reply.usage, judge.entry.price, reply.model.as_ref());
        unwritten = unwritten.take().or(stored.add(&StoredReply::of(reply)).err());
    };
    let asked =
        ask_judge(&question, &|text| case.read(text).map_err(|error| error.to_string()), &mut on_reply);
    if let Some(error) = unwritten {
        return Err(JudgeError::Files(error));
    }
    match asked {
        Ok((rulings, reply)) => Ok(of(&StoredReply::of(&reply), rulings)),
        Err(AskError::NoReply { source: ModelError::Cancelled, .. }) => Err(JudgeError::Cancelled),
        Err(error) => Err(error.into()),
    }
}

/// Estimates the tokens of a request from its characters.
fn estimate_input(request: &Request) -> u64 {
    let length = request.system.chars().count() + request.text.chars().count();
    assay_model::estimate(u64::try_from(length).unwrap_or(u64::MAX))
}

/// Estimates the usage of a reply without usage data.
fn estimate_usage(request: &Request, reply: &assay_model::ChatReply) -> Usage {
    let length = u64::try_from(reply.text.chars().count()).unwrap_or(u64::MAX);
    Usage { input: estimate_input(request), output: assay_model::estimate(length), ..Usage::default() }
}

/// Waits until a request fits into the run's budget beside those of other trials.
fn await_turn<'a>(
    budget: &'a PricedBudget<'_>,
    request: &Request,
    context: &JudgeContext<'_>,
) -> Result<Option<Box<dyn RequestShare + 'a>>, JudgeError> {
    loop {
        match budget.reserve(estimate_input(request), Some(REPLY_TOKENS.into())) {
            RequestTurn::Granted(share) => return Ok(share),
            RequestTurn::Exhausted(reason) => return Err(JudgeError::Budget(reason)),
            RequestTurn::Deferred => std::thread::sleep(TURN),
        }
        if context.cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(JudgeError::Cancelled);
        }
    }
}

/// Where a judge that is an agent works, and where its replies are stored.
struct AgentPlace<'a> {
    sandbox: &'a dyn Sandbox,
    budget: &'a PricedBudget<'a>,
    script: &'a ScriptContext,
    stored: &'a Replies,
    place: &'a AnswerPlace<'a>,
}

/// The answer of a judge that is an agent. One that cannot be read is asked for again, by another session.
fn answer_of_agent(
    judge: &OpenedJudge,
    case: &Case<'_>,
    request: &Request,
    here: &AgentPlace<'_>,
    panel: &Panel,
    context: &JudgeContext<'_>,
    account: &mut Account,
) -> Result<(StoredReply, Vec<Ruling>), JudgeError> {
    let AgentPlace { sandbox, budget, script, stored, place } = *here;
    let name = judge.entry.model.as_str();
    let mut fault = String::new();
    for number in 1..=TRIES {
        let scratch = context.scratch.join(format!("judge-{}-{}-{number}", place.number, place.repeat));
        let material = scratch.join("material");
        agent::lay_out(place.texts, &material)?;
        let session = agent::JudgeSandbox {
            sandbox,
            scratch: &scratch,
            max_turns: panel.spec.max_turns,
            timeout: panel.spec.timeout,
            budget,
            context: script,
            cancel: context.cancel,
        };
        let said = agent::run(judge, request, &material, &work_folder(place.attempt), &session);
        let _ = assay_fs::remove_tree(&scratch);
        if context.cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(JudgeError::Cancelled);
        }
        let said = said.map_err(|reason| JudgeError::Agent { judge: name.to_owned(), reason })?;
        account.add(said.requests, said.usage, judge.entry.price, said.models.first());
        let reply = StoredReply {
            text: said.text,
            replied_model: said.models.into_iter().next(),
            requests: said.requests,
            usage: said.usage,
            at: jiff::Timestamp::now().to_string(),
        };
        stored.add(&reply)?;
        match case.read(&reply.text) {
            Ok(rulings) => return Ok((reply, rulings)),
            Err(error) => fault = error.to_string(),
        }
        if let Some(reason) = budget.exhausted() {
            return Err(JudgeError::Budget(reason));
        }
    }
    Err(AskError::Unreadable { judge: name.to_owned(), fault }.into())
}

impl Account {
    fn add(&mut self, requests: u32, usage: Option<Usage>, price: Option<Price>, model: Option<&String>) {
        self.requests = self.requests.saturating_add(requests);
        match usage {
            Some(usage) => self.usage += usage,
            None => self.is_counted = false,
        }
        let cost = usage.zip(price).map(|(usage, price)| price.cost(&usage));
        self.usd = self.usd.zip(cost).map(|(sum, cost)| sum + cost);
        if let Some(model) = model.filter(|model| !self.models.contains(model)) {
            self.models.push(model.clone());
        }
    }
}

/// The scores of a rubric, and those of its items. `None` if every item was left out.
fn score(
    rubric: &Rubric,
    verdicts: &BTreeMap<String, (Ruling, f64)>,
    tests: Option<f64>,
) -> Option<(f64, Vec<SetScore>, Vec<JudgedItem>)> {
    let decided: BTreeMap<String, Verdict> = rubric
        .leaves()
        .map(|item| {
            (item.id.clone(), verdicts.get(&item.id).map_or(Verdict::CannotTell, |found| found.0.verdict))
        })
        .collect();
    // Verdicts were read for items of their kind.
    let scores = rubric.scores(&decided).ok()?;
    let weight =
        |set: &assay_judge::Set| set.weight.unwrap_or_else(|| set.items.iter().map(|item| item.points).sum());
    let mut sets: Vec<SetScore> = rubric
        .sets
        .iter()
        .zip(&scores.sets)
        .map(|(set, (name, score))| SetScore { name: name.clone(), score: *score, weight: weight(set) })
        .collect();
    let mut overall = scores.overall;
    if let Some(tests) = tests {
        let judged: f64 = sets.iter().filter(|set| set.score.is_some()).map(|set| set.weight).sum();
        // By default tests count as much as all that is judged.
        let weight = rubric.tests_weight.unwrap_or(judged);
        let tests = tests.clamp(0.0, 1.0);
        overall = match overall {
            Some(overall) if judged + weight > 0.0 => {
                Some((overall * judged + tests * weight) / (judged + weight))
            }
            _ => Some(tests),
        };
        sets.push(SetScore { name: TESTS.to_owned(), score: Some(tests), weight });
    }
    let mut items = Vec::new();
    for set in &rubric.sets {
        let is_plain = set.aggregation == Aggregation::Mean;
        let listed = Listed { set: &set.name, rubric, verdicts, scores: &scores.items };
        listed.add(&set.items, 1.0, is_plain, &mut items);
    }
    Some((overall?, sets, items))
}

struct Listed<'a> {
    set: &'a str,
    rubric: &'a Rubric,
    verdicts: &'a BTreeMap<String, (Ruling, f64)>,
    scores: &'a BTreeMap<String, f64>,
}

impl Listed<'_> {
    /// Adds the leaves below some items, which decide `share` of their set's score together.
    fn add(&self, items: &[Item], share: f64, is_plain: bool, into: &mut Vec<JudgedItem>) {
        let points: f64 = items.iter().map(|item| item.points).sum();
        for item in items {
            let share = share * item.points / points;
            let is_plain = is_plain && item.prerequisites.is_empty();
            if item.items.is_empty() {
                into.push(self.item(item, share, is_plain));
            } else {
                self.add(&item.items, share, is_plain, into);
            }
        }
    }

    fn item(&self, item: &Item, share: f64, is_plain: bool) -> JudgedItem {
        let found = self.verdicts.get(&item.id);
        let verdict = match found.map(|found| found.0.verdict) {
            Some(Verdict::Met) => "met",
            Some(Verdict::NotMet) => "not-met",
            Some(Verdict::Points(_)) => "points",
            Some(Verdict::CannotTell) | None => "cannot-tell",
        };
        let ruling = found.map(|found| &found.0);
        JudgedItem {
            id: item.id.clone(),
            set: self.set.to_owned(),
            text: item.text.clone(),
            share,
            verdict: verdict.to_owned(),
            score: self.scores.get(&item.id).copied(),
            undecided: ruling.and_then(|ruling| ruling.undecided).map(|why| why.name().to_owned()),
            checked: item.check.is_some(),
            is_plain: is_plain
                && item.check.is_none()
                && item.kind == Kind::Binary
                && !item.negated
                && self.rubric.rule(item) == Unverifiable::NotMet,
            agreement: found.map_or(0.0, |found| found.1),
            quote: ruling.and_then(|ruling| ruling.quote.clone()),
            reason: ruling.map(|ruling| ruling.reason.clone()).unwrap_or_default(),
            class: item.class.map(|class| class.name().to_owned()),
            line: item.line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_item_in_twenty_is_planted() {
        let check = |items: usize| {
            let count: usize = (0..2000).map(|trial| plants(&trial.to_string(), items)).sum();
            let share = count as f64 / (2000.0 * items as f64);
            assert!((share - 0.05).abs() < 0.01, "{items} items: {share}");
        };
        [1, 7, 20, 33].into_iter().for_each(check);
    }

    fn ruling(item: &str, verdict: Verdict) -> (String, (Ruling, f64)) {
        let ruling = Ruling {
            item: item.to_owned(),
            verdict,
            undecided: None,
            part: None,
            quote: None,
            reason: String::new(),
        };
        (item.to_owned(), (ruling, 1.0))
    }

    #[test]
    fn tests_count_as_much_as_the_rubric_unless_it_says_otherwise() {
        let items = vec![Item::new("a", "first", 30.0), Item::new("b", "second", 70.0)];
        let mut rubric = Rubric::of_items("criteria", items);
        let verdicts = BTreeMap::from([ruling("a", Verdict::Met), ruling("b", Verdict::NotMet)]);
        let overall = |rubric: &Rubric, tests| score(rubric, &verdicts, tests).unwrap().0;
        let check = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        check(overall(&rubric, None), 0.3);
        check(overall(&rubric, Some(1.0)), 0.65);
        rubric.tests_weight = Some(300.0);
        check(overall(&rubric, Some(1.0)), 0.825);
        let (_, sets, items) = score(&rubric, &verdicts, Some(1.0)).unwrap();
        assert_eq!(sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>(), ["criteria", "tests"]);
        assert_eq!(items.iter().map(|item| item.share).collect::<Vec<_>>(), [0.3, 0.7]);
        assert!(items.iter().all(|item| item.is_plain));
    }
}
