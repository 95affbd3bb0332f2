//! A trial: outcome, verifier, steps, changes, exposure, directives and outputs.

use std::collections::BTreeMap;

use askama::Template;
use assay_audit::adherence::Status;
use assay_audit::behaviour::actions;
use assay_audit::calibrated::{TaskRuns, audit_own};
use assay_audit::directive::Modality;
use assay_audit::evidence::SkillText;
use assay_diagnostic::{chain, group_digits};
use assay_report::{clean, counted, percent, seconds, usd};
use assay_store::{Evidence, PlannedSkill, Record, TrialId};
use assay_trace::{Source, Step, Trajectory};
use serde_json::Value;

use super::files::image_type;
use super::layout::Layout;
use super::trials::{agent, outcome_text, page_links, pairs};
use crate::attempt::{Attempt, AttemptFile};
use crate::data::{RunData, TrialRow};
use crate::error::PageError;
use crate::site::Site;
use crate::text::{Passage, line};
use crate::urls;

/// Steps on a page.
const STEPS: usize = 100;

/// Lines of changes on a page.
const DIFF_LINES: usize = 2_000;

/// Checks of the verifier on a page.
const CHECKS: usize = 1_000;

/// Failed checks that are unfolded.
const UNFOLDED: usize = 20;

/// Outputs that are shown; all are listed as files.
const OUTPUTS: usize = 20;

/// Rows and columns of a table among the outputs.
const TABLE: (usize, usize) = (50, 20);

/// Skills of which directives are shown.
const SKILLS: usize = 8;

#[derive(Template)]
#[template(path = "trial.html")]
struct TrialPage {
    page: Layout,
    short: String,
    summary: String,
    reason: String,
    parts: Vec<(String, String)>,
    facts: Vec<(&'static str, String)>,
    pairs: Vec<(String, String)>,
    attempts: Vec<(String, Option<String>)>,
    check_summary: String,
    checks: Vec<Check>,
    verifier: Vec<(&'static str, Passage)>,
    prompt: Passage,
    trajectory_note: String,
    pages: Vec<(String, Option<String>)>,
    phases: Vec<Phase>,
    diff: Vec<(&'static str, String)>,
    diff_more: usize,
    exposures: Vec<SkillPart>,
    outputs: Vec<Output>,
    files: Vec<(String, Option<String>, String)>,
}

struct Check {
    anchor: String,
    name: String,
    /// Set, class and place of the directive that it tests; empty if the verifier names no set.
    label: String,
    status: &'static str,
    open: bool,
    message: Passage,
    trace: Passage,
}

struct Phase {
    title: String,
    steps: Vec<Shown>,
}

struct Shown {
    number: usize,
    source: &'static str,
    title: String,
    tags: Vec<&'static str>,
    reasoning: Passage,
    message: Passage,
    calls: Vec<Call>,
}

struct Call {
    name: String,
    arguments: Passage,
    output: Passage,
}

struct SkillPart {
    anchor: String,
    name: String,
    href: String,
    summary: String,
    lines: Vec<SkillLine>,
    delivered: usize,
    lines_total: usize,
    directive_summary: String,
    directives: Vec<DirectiveLine>,
}

struct SkillLine {
    state: &'static str,
    mark: &'static str,
    text: String,
}

struct DirectiveLine {
    line: String,
    subject: String,
    text: String,
    delivered: String,
    status: &'static str,
    class: &'static str,
    step: Option<(String, String)>,
    evidence: String,
}

struct Output {
    name: String,
    size: String,
    image: Option<String>,
    table: Vec<Vec<String>>,
    text: Passage,
}

pub(super) fn page(
    site: &Site,
    data: &RunData,
    trial: &TrialId,
    attempt: Option<u32>,
    number: usize,
) -> Result<String, PageError> {
    let row = data.row(trial).ok_or_else(|| PageError::NotFound("no such trial".to_owned()))?;
    let cell = data.cell_of(row);
    let run = &data.plan.run;
    let record = site.store.record(trial)?;
    let all = Attempt::numbers(&site.store, trial);
    let latest = record.as_ref().map_or(all.last().copied().unwrap_or(1), |record| record.attempt);
    let chosen = attempt.unwrap_or(latest);
    if attempt.is_some_and(|attempt| !all.contains(&attempt)) {
        return Err(PageError::NotFound(format!("the trial has no attempt {chosen}")));
    }
    let is_latest = chosen == latest;
    let files = Attempt::new(&site.store, trial, chosen);
    let address = match attempt {
        Some(attempt) => format!("{}attempts/{attempt}/", urls::trial(run, trial)),
        None => urls::trial(run, trial),
    };
    let (trajectory, trajectory_note) = match files.trajectory() {
        Ok(Some(trajectory)) => (Some(trajectory), String::new()),
        Ok(None) => (None, "No trajectory is stored for this trial.".to_owned()),
        Err(error) => (None, format!("The trajectory cannot be read: {}", clean(&chain(&error)))),
    };
    let total = trajectory.as_ref().map_or(0, |trajectory| trajectory.steps.len());
    let pages = total.div_ceil(STEPS).max(1);
    if !(1..=pages).contains(&number) {
        return Err(PageError::NotFound(format!("the trajectory has {}", counted(pages, "page", "pages"))));
    }
    let page_href = |page: usize| match page {
        1 => format!("{address}#steps"),
        page => format!("{address}page/{page}/#steps"),
    };
    let (checks, check_summary) = record.as_ref().filter(|_| is_latest).map(checks).unwrap_or_default();
    let (diff, diff_more) = diff(&files);
    let list = files.files();
    let prefix = format!("{}attempts/{chosen}/", urls::trial(run, trial));
    let mut part = TrialPage {
        page: Layout::in_run(site, run, trial.short())
            .below(&format!("{}, {}", clean(&cell.task), clean(&cell.condition)), urls::cell(run, row.cell)),
        short: trial.short().to_owned(),
        summary: summary(data, row),
        reason: record.as_ref().and_then(|record| record.reason.as_deref()).map(clean).unwrap_or_default(),
        parts: Vec::new(),
        facts: facts(data, row, record.as_ref()),
        pairs: other_conditions(data, row),
        attempts: attempts(&all, chosen, latest, &urls::trial(run, trial)),
        check_summary,
        checks,
        verifier: verifier(&files),
        prompt: trajectory.as_ref().map(prompt).unwrap_or_default(),
        trajectory_note,
        pages: page_links(number, pages, page_href),
        phases: trajectory.as_ref().map(|trajectory| phases(trajectory, number)).unwrap_or_default(),
        diff,
        diff_more,
        exposures: record
            .as_ref()
            .map(|record| exposures(site, data, row, record, trajectory.as_ref(), &files, &address))
            .unwrap_or_default(),
        outputs: outputs(&files, &list, &prefix),
        files: list.iter().enumerate().map(|(at, file)| download(at, file, &prefix)).collect(),
    };
    part.parts = part.anchors();
    Ok(part.render()?)
}

impl TrialPage {
    /// The parts that the page has.
    fn anchors(&self) -> Vec<(String, String)> {
        let has = [
            ("Facts", "facts", true),
            ("Verifier", "verifier", !self.checks.is_empty() || !self.verifier.is_empty()),
            ("Prompt", "prompt", !self.prompt.is_empty()),
            ("Trajectory", "steps", true),
            ("Changes", "changes", !self.diff.is_empty()),
        ];
        let mut parts: Vec<(String, String)> = has
            .into_iter()
            .filter(|(_, _, has)| *has)
            .map(|(name, anchor, _)| (name.to_owned(), anchor.to_owned()))
            .collect();
        parts.extend(
            self.exposures.iter().map(|skill| (format!("Skill {}", skill.name), skill.anchor.clone())),
        );
        let rest =
            [("Outputs", "outputs", !self.outputs.is_empty()), ("Files", "files", !self.files.is_empty())];
        let rest = rest.into_iter().filter(|(_, _, has)| *has);
        parts.extend(rest.map(|(name, anchor, _)| (name.to_owned(), anchor.to_owned())));
        parts
    }
}

/// The address of a step relative to its trial's page, by its place in the trajectory.
pub(super) fn step_address(at: usize, step: usize) -> String {
    match at / STEPS {
        0 => format!("#step-{step}"),
        page => format!("page/{}/#step-{step}", page + 1),
    }
}

fn summary(data: &RunData, row: &TrialRow) -> String {
    let cell = data.cell_of(row);
    format!(
        "{}: {}, {}, repetition {}",
        outcome_text(row),
        clean(&cell.task),
        clean(&cell.condition),
        row.repetition
    )
}

fn facts(data: &RunData, row: &TrialRow, record: Option<&Record>) -> Vec<(&'static str, String)> {
    let cell = data.cell_of(row);
    let mut facts =
        vec![("trial", row.trial.to_string()), ("agent", agent(cell)), ("outcome", outcome_text(row))];
    let Some(record) = record else { return facts };
    if !record.agent.version.is_empty() {
        facts.push(("agent version", clean(&record.agent.version)));
    }
    let score = row.result.as_ref().and_then(|result| result.score);
    facts.extend(score.map(|score| ("score", percent(score))));
    let rewards: Vec<String> =
        record.rewards.iter().map(|(name, value)| format!("{} {value}", clean(name))).collect();
    if !rewards.is_empty() {
        facts.push(("rewards", rewards.join(", ")));
    }
    let numbers: Vec<String> =
        record.numbers.iter().map(|(name, value)| format!("{} {value}", clean(name))).collect();
    if !numbers.is_empty() {
        facts.push(("metrics", numbers.join(", ")));
    }
    if let Some(usage) = record.usage {
        let (read, written) = (group_digits(usage.input), group_digits(usage.output));
        let text = if record.cache_unknown {
            format!("{read} read, of them unknown from a cache, {written} written")
        } else {
            let (cached, kept) = (group_digits(usage.cache_read), group_digits(usage.cache_write));
            format!("{read} read, {cached} read from a cache, {kept} written to a cache, {written} written")
        };
        facts.push(("tokens", text));
    }
    facts.push(("cost", record.cost_usd.map_or_else(|| "unknown".to_owned(), usd)));
    facts.push(("time", time(&record.seconds)));
    facts.push(("turns", record.turns.map_or_else(unknown, |turns| turns.to_string())));
    let steps: Vec<String> = record
        .steps
        .iter()
        .map(|step| {
            let outcome = step
                .outcome
                .map_or_else(|| "not reached".to_owned(), |outcome| outcome.word().replace('_', " "));
            let score = step.score.map_or_else(String::new, |score| format!(", {}", percent(score)));
            format!("{}: {outcome}{score}", clean(&step.name))
        })
        .collect();
    if !steps.is_empty() {
        facts.push(("steps of the task", steps.join("; ")));
    }
    facts.push(("started", record.started_at.as_deref().map_or_else(unknown, clean)));
    let replied: Vec<String> = record
        .replied_models
        .iter()
        .map(|(model, replies)| format!("{} ({})", clean(model), counted(*replies, "reply", "replies")))
        .collect();
    if !replied.is_empty() {
        facts.push(("responding model", replied.join(", ")));
    }
    if let Some(ended) = record.ended.as_ref().and_then(|ended| serde_json::to_value(ended).ok()) {
        let kind = ended.get("kind").and_then(Value::as_str).unwrap_or_default().replace('_', " ");
        facts.push(("the agent ended", clean(&kind)));
    }
    for (name, list) in [
        ("tampered", &record.tampered),
        ("contaminated", &record.contaminated),
        ("outside the work folder", &record.outside),
        ("warnings", &record.warnings),
    ] {
        if !list.is_empty() {
            facts.push((name, line(&list.join("; "), 2_000)));
        }
    }
    facts.push(("evidence", evidence(record.evidence.as_ref())));
    facts
}

/// Whether everything that the trial left was kept.
fn evidence(evidence: Option<&Evidence>) -> String {
    let Some(evidence) = evidence else { return unknown() };
    if evidence.count() == 0 {
        return "complete".to_owned();
    }
    let lost = evidence.lost.iter().map(|lost| format!("{} ({})", lost.path, lost.reason));
    let more = (evidence.more > 0).then(|| format!("and {} more", evidence.more));
    let lost: Vec<String> = lost.chain(more).collect();
    format!("not kept: {}", line(&lost.join("; "), 2_000))
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// The duration of a trial with its phases, as far as they are known.
fn time(spent: &assay_store::Seconds) -> String {
    let Some(total) = spent.total else { return unknown() };
    let phases = [("preparation", spent.prepare), ("agent", spent.agent), ("verifier", spent.verify)];
    let known: Vec<String> = phases
        .into_iter()
        .filter_map(|(phase, time)| time.map(|time| format!("{} {phase}", seconds(time))))
        .collect();
    let total = format!("{} in total", seconds(total));
    if known.is_empty() { total } else { format!("{total}: {}", known.join(", ")) }
}

fn other_conditions(data: &RunData, row: &TrialRow) -> Vec<(String, String)> {
    let cell = data.cell_of(row);
    let conditions = data.plan.conditions.iter().filter(|condition| **condition != cell.condition);
    let others: Vec<_> = conditions.filter_map(|condition| data.sibling(cell, condition)).collect();
    pairs(data, row, &others)
}

fn attempts(all: &[u32], chosen: u32, latest: u32, trial: &str) -> Vec<(String, Option<String>)> {
    all.iter()
        .map(|number| {
            let href =
                if *number == latest { trial.to_owned() } else { format!("{trial}attempts/{number}/") };
            (number.to_string(), (*number != chosen).then_some(href))
        })
        .collect()
}

/// The checks of the verifier, failed ones first and unfolded.
fn checks(record: &Record) -> (Vec<Check>, String) {
    let mut checks: Vec<Check> = record
        .checks()
        .into_iter()
        .take(CHECKS)
        .map(|check| Check {
            anchor: urls::check_anchor(&check.name),
            name: line(&check.name, 500),
            label: check.label.as_ref().map_or_else(String::new, |label| line(&label.describe_label(), 200)),
            status: match check.status.as_str() {
                "passed" => "passed",
                "failed" => "failed",
                "skipped" => "skipped",
                _ => "other",
            },
            open: false,
            message: Passage::new(&check.message),
            trace: Passage::new(&check.trace),
        })
        .collect();
    checks.sort_by_key(|check| check.status != "failed");
    let failed = checks.iter().filter(|check| check.status == "failed").count();
    for check in checks.iter_mut().take(failed.min(UNFOLDED)) {
        check.open = true;
    }
    let passed = checks.iter().filter(|check| check.status == "passed").count();
    // Anchors are unique on a page.
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for check in &mut checks {
        let count = seen.entry(check.anchor.clone()).or_default();
        *count += 1;
        if *count > 1 {
            check.anchor = format!("{}-{count}", check.anchor);
        }
    }
    let summary =
        format!("{passed} passed and {failed} failed of {}.", counted(checks.len(), "check", "checks"));
    (checks, summary)
}

fn verifier(files: &Attempt) -> Vec<(&'static str, Passage)> {
    let outputs = [
        ("Output of the verifier", "verifier/test-stdout.txt"),
        ("Errors of the verifier", "verifier/test-stderr.txt"),
    ];
    outputs
        .into_iter()
        .filter_map(|(name, path)| Some((name, Passage::new(&files.text(path)?.0))))
        .filter(|(_, passage)| !passage.is_empty())
        .collect()
}

/// What the user says first.
fn prompt(trajectory: &Trajectory) -> Passage {
    let first = trajectory.steps.iter().find(|step| step.source == Source::User);
    first.map(|step| Passage::new(&step.message)).unwrap_or_default()
}

/// The steps of a page, folded by phase.
fn phases(trajectory: &Trajectory, page: usize) -> Vec<Phase> {
    let mut named: BTreeMap<usize, &'static str> = BTreeMap::new();
    let mut tags: BTreeMap<usize, Vec<&'static str>> = BTreeMap::new();
    for action in actions(trajectory) {
        named.entry(action.step).or_insert(action.phase.name());
        let tags = tags.entry(action.step).or_default();
        for (is, tag) in [(action.failed, "failed"), (action.check, "check")] {
            if is && !tags.contains(&tag) {
                tags.push(tag);
            }
        }
    }
    let mut phases: Vec<(&'static str, Vec<Shown>)> = Vec::new();
    let mut current = "beginning";
    for (at, step) in trajectory.steps.iter().enumerate() {
        current = named.get(&step.step_id).copied().unwrap_or(current);
        if at / STEPS + 1 != page {
            continue;
        }
        let shown = show(step, tags.remove(&step.step_id).unwrap_or_default());
        match phases.last_mut() {
            Some((phase, steps)) if *phase == current => steps.push(shown),
            _ => phases.push((current, vec![shown])),
        }
    }
    phases
        .into_iter()
        .map(|(phase, steps)| {
            let calls: usize = steps.iter().map(|step| step.calls.len()).sum();
            let (first, last) =
                (steps.first().map_or(0, |step| step.number), steps.last().map_or(0, |step| step.number));
            let title =
                format!("{phase}: steps {first} to {last}, {}", counted(calls, "tool call", "tool calls"));
            Phase { title, steps }
        })
        .collect()
}

fn show(step: &Step, mut tags: Vec<&'static str>) -> Shown {
    let source = match step.source {
        Source::System => "system",
        Source::User => "user",
        Source::Agent => "agent",
    };
    let results: Vec<_> = step.observation.iter().flat_map(|observation| &observation.results).collect();
    let mut rest: Vec<bool> = vec![true; results.len()];
    let mut calls: Vec<Call> = step
        .tool_calls
        .iter()
        .enumerate()
        .map(|(at, call)| {
            let own = results.iter().position(|result| {
                result.source_call_id.as_deref() == Some(call.tool_call_id.as_str())
                    && !call.tool_call_id.is_empty()
            });
            // Results without an id are in the order of the calls.
            let found = own.or((at < results.len() && results[at].source_call_id.is_none()).then_some(at));
            let output = found.map_or("", |found| {
                rest[found] = false;
                results[found].content.as_deref().unwrap_or_default()
            });
            Call {
                name: line(&call.function_name, 200),
                arguments: Passage::new(&arguments(&call.arguments)),
                output: Passage::new(output),
            }
        })
        .collect();
    calls.extend(results.iter().zip(rest).filter(|(_, rest)| *rest).map(|(result, _)| Call {
        name: "result".to_owned(),
        arguments: Passage::default(),
        output: Passage::new(result.content.as_deref().unwrap_or_default()),
    }));
    if step.is_injected() {
        tags.push("added by the harness");
    }
    let tokens = step.metrics.as_ref().and_then(|metrics| metrics.completion_tokens);
    let tokens = tokens.map_or(String::new(), |tokens| format!(", {} tokens written", group_digits(tokens)));
    Shown {
        number: step.step_id,
        source,
        title: format!("{source}{tokens}"),
        tags,
        reasoning: Passage::new(step.reasoning_content.as_deref().unwrap_or_default()),
        message: Passage::new(&step.message),
        calls,
    }
}

/// Arguments as a person reads them: a command by itself, others by name.
fn arguments(value: &Value) -> String {
    let Value::Object(fields) = value else { return value.to_string() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match fields.iter().collect::<Vec<_>>().as_slice() {
        [(name, value)] if name.as_str() == "command" => format!("$ {}", text(value)),
        fields => {
            let field = |(name, value): &(&String, &Value)| format!("{name}: {}", text(value));
            fields.iter().map(field).collect::<Vec<_>>().join("\n")
        }
    }
}

fn diff(files: &Attempt) -> (Vec<(&'static str, String)>, usize) {
    let Some((text, _)) = files.text("workspace.diff") else { return (Vec::new(), 0) };
    let class = |line: &str| match line {
        line if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") => "file",
        line if line.starts_with("@@") => "hunk",
        line if line.starts_with('+') => "added",
        line if line.starts_with('-') => "removed",
        _ => "same",
    };
    let shown = text.lines().take(DIFF_LINES).map(|item| (class(item), Passage::up_to(item, 2_000).text));
    (shown.collect(), text.lines().count().saturating_sub(DIFF_LINES))
}

/// How far each provided skill got, its lines, and the status of its directives.
fn exposures(
    site: &Site,
    data: &RunData,
    row: &TrialRow,
    record: &Record,
    trajectory: Option<&Trajectory>,
    files: &Attempt,
    address: &str,
) -> Vec<SkillPart> {
    let cell = data.cell_of(row);
    let provided = data
        .plan
        .provisions
        .iter()
        .find(|provision| provision.task == cell.task && provision.condition == cell.condition);
    let skills = provided.map_or(&[][..], |provision| provision.skills.as_slice());
    skills
        .iter()
        .enumerate()
        .map(|(at, skill)| {
            let mut part = SkillPart {
                anchor: format!("skill-{at}"),
                name: clean(&skill.name),
                href: urls::skill(&data.plan.run, &skill.digest),
                summary: stages(record, &skill.name),
                lines: Vec::new(),
                delivered: 0,
                lines_total: 0,
                directive_summary: String::new(),
                directives: Vec::new(),
            };
            if at < SKILLS
                && let Ok(document) = site.store.skill(&skill.digest)
                && let Some(text) = site.skill_text(data, skill)
            {
                if let Some(trajectory) = trajectory {
                    part.add_lines(&String::from_utf8_lossy(&document), trajectory);
                }
                part.add_directives(site, data, row, record, skill, &text, files, address);
            }
            part
        })
        .collect()
}

/// The stages that a skill reached.
fn stages(record: &Record, name: &str) -> String {
    let Some(skills) = &record.exposure else {
        return "Unknown: nobody observed what this trial's agent was sent.".to_owned();
    };
    let Some(exposure) = skills.iter().find(|exposure| exposure.skill == name) else {
        return "No exposure is recorded.".to_owned();
    };
    let at = |step: Option<usize>| step.map_or_else(|| "never".to_owned(), |step| format!("in step {step}"));
    let executed = exposure
        .executed
        .as_ref()
        .map_or_else(|| "never".to_owned(), |run| format!("in step {} ({})", run.step, clean(&run.file)));
    format!(
        "Advertised {}, mentioned {}, opened {}, executed {executed}.",
        at(exposure.advertised),
        at(exposure.mentioned),
        at(exposure.opened)
    )
}

impl SkillPart {
    /// Marks the lines that were in a message to the model or in a result of its tools.
    fn add_lines(&mut self, document: &str, trajectory: &Trajectory) {
        let mut sent: std::collections::HashSet<&str> = std::collections::HashSet::new();
        for step in &trajectory.steps {
            if step.source != Source::Agent {
                sent.extend(step.message.lines().map(str::trim));
            }
            for result in step.observation.iter().flat_map(|observation| &observation.results) {
                for line in result.content.as_deref().unwrap_or_default().lines() {
                    let line = line.trim();
                    sent.insert(line);
                    // Tools that read files may number the lines.
                    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
                    if rest.len() < line.len() {
                        sent.insert(rest.trim_start_matches(['→', ':', '|', '\t']).trim());
                    }
                }
            }
        }
        for text in document.lines() {
            let trimmed = text.trim();
            let (state, mark) = if trimmed.is_empty() {
                ("blank", "")
            } else if sent.contains(trimmed) {
                self.delivered += 1;
                ("delivered", "delivered")
            } else {
                ("absent", "not delivered")
            };
            self.lines_total += usize::from(!trimmed.is_empty());
            self.lines.push(SkillLine { state, mark, text: Passage::up_to(text, 1_000).text });
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what identifies a trial and a skill")]
    fn add_directives(
        &mut self,
        site: &Site,
        data: &RunData,
        row: &TrialRow,
        record: &Record,
        skill: &PlannedSkill,
        text: &SkillText,
        files: &Attempt,
        address: &str,
    ) {
        let cell = data.cell_of(row);
        let Ok(Some(trajectory)) = files.trajectory() else { return };
        let places: BTreeMap<usize, usize> =
            trajectory.steps.iter().enumerate().map(|(at, step)| (step.step_id, at)).collect();
        let run = assay_analysis::audited::read_trial(
            &site.store,
            record.clone(),
            &cell.condition,
            &skill.name,
            &mut (),
        );
        let Some(run) = run else { return };
        let task = TaskRuns {
            task: cell.task.clone(),
            skill_name: skill.name.clone(),
            prompt: prompt(&trajectory).text,
            skill: text,
            runs: vec![assay_audit::calibrated::Run { with: true, ..run }],
            baseline: None,
        };
        let found = audit_own(&task, &site.known_skills(data));
        let Some(adherence) = found.runs.first().map(|run| &run.adherence) else { return };
        let counts = adherence.counts();
        self.directive_summary = format!(
            "{} followed and {} violated of {} that can be checked; of {} the trial does not show it.",
            counts.followed,
            counts.violated,
            counted(counts.total, "directive", "directives"),
            counts.unknown
        );
        let step_link = |step: usize| {
            let at = places.get(&step).copied()?;
            Some((format!("step {step}"), format!("{address}{}", step_address(at, step))))
        };
        self.directives = found
            .directives
            .iter()
            .zip(&adherence.assessments)
            .zip(&adherence.deliveries)
            .map(|((directive, assessment), delivery)| DirectiveLine {
                line: match directive.file.as_str() {
                    "" | "SKILL.md" => directive.line.to_string(),
                    file => format!("{}:{}", clean(file), directive.line),
                },
                subject: line(&directive.subject, 200),
                text: line(&directive.text, 400),
                delivered: delivery
                    .as_ref()
                    .map_or_else(|| "no".to_owned(), |found| format!("step {}", found.step)),
                status: match assessment.status {
                    Status::Followed => "followed",
                    Status::Violated => "violated",
                    Status::NotApplicable => "not applicable",
                    Status::Unknown if directive.modality == Modality::Forbidden => "no violation seen",
                    Status::Unknown => "cannot tell",
                },
                class: match assessment.status {
                    Status::Followed => "followed",
                    Status::Violated => "violated",
                    Status::NotApplicable | Status::Unknown => "unknown",
                },
                step: assessment.place.as_ref().and_then(|place| step_link(place.step)),
                evidence: assessment.place.as_ref().map(|place| line(&place.text, 300)).unwrap_or_default(),
            })
            .collect();
        // What was followed or violated comes first.
        self.directives.sort_by_key(|row| match row.class {
            "violated" => 0,
            "followed" => 1,
            _ => 2,
        });
    }
}

/// What the agent left in `/logs/artifacts`, as text, images and tables.
fn outputs(files: &Attempt, list: &[AttemptFile], prefix: &str) -> Vec<Output> {
    let is_output = |file: &AttemptFile| file.path.starts_with("artifacts");
    list.iter()
        .enumerate()
        .filter(|(_, file)| is_output(file))
        .take(OUTPUTS)
        .filter_map(|(at, file)| {
            let bytes = files.bytes(&file.path)?;
            let name = file.path.strip_prefix("artifacts").unwrap_or(&file.path).display().to_string();
            let image = image_type(&bytes).map(|_| format!("{prefix}images/{at}"));
            let text = image.is_none().then(|| String::from_utf8(bytes).ok()).flatten();
            let text = text.filter(|text| !text.contains('\0')).unwrap_or_default();
            let table = table(&file.path, &text);
            Some(Output {
                name: clean(&name),
                size: size(file.bytes),
                image,
                table,
                text: Passage::new(&text),
            })
        })
        .collect()
}

/// The first rows of a CSV or TSV file.
fn table(path: &std::path::Path, text: &str) -> Vec<Vec<String>> {
    let separator = match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => b',',
        Some("tsv") => b'\t',
        _ => return Vec::new(),
    };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .from_reader(text.as_bytes());
    let rows = reader.records().map_while(Result::ok).take(TABLE.0);
    rows.map(|row| row.iter().take(TABLE.1).map(|cell| line(cell, 200)).collect()).collect()
}

fn download(at: usize, file: &AttemptFile, prefix: &str) -> (String, Option<String>, String) {
    let name = clean(&file.path.display().to_string());
    (name, Some(format!("{prefix}files/{at}")), size(file.bytes))
}

/// A size in bytes, for people.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes < 10_000 => counted(bytes, "byte", "bytes"),
        bytes if bytes < 10_000_000 => format!("{} kB", bytes / 1_000),
        bytes => format!("{} MB", bytes / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn tables_are_read_as_spreadsheets_write_them() {
        let check = |name: &str, text: &str, expected: &[&[&str]]| {
            assert_eq!(table(Path::new(name), text), expected, "{name}: {text:?}");
        };
        check("a.csv", "a,b\n1,\"x, y\"\n", &[&["a", "b"], &["1", "x, y"]]);
        check("a.csv", "a\n\"say \"\"x\"\"\"\n", &[&["a"], &["say \"x\""]]);
        check("a.tsv", "a\tb,c\n1\t2\t3\n", &[&["a", "b,c"], &["1", "2", "3"]]);
        check("a.txt", "a,b\n", &[]);
        check("a.csv", "", &[]);
    }
}
