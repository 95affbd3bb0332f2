//! `claude plugin eval`, the real client, against assay: what graders decide on the traces that it kept, its numbers and flags,
//! and cases that are made of tasks.

mod cases;
mod client;
mod export;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_model::{ChatRequest, Message, Script, ScriptContext};
use assay_task::plugin_eval::{
    EvalArm, EvalArms, EvalCase, EvalSuite, Evidence, FileState, GraderCheck, GraderTarget, MockReply,
    RunGrades, VOTES, case_scores, grade_run, target_text,
};
use serde_json::{Value, json};

use self::cases::{CaseRow, PLUGIN, table, write_plugin, write_script};
use self::client::{ClientRun, SCRIPT, essence, evaluate};
use crate::agents;
use crate::fixture::{Fixture, Running, attempt, needs_bubblewrap, read_json};

/// What grants the tools of the table's cases, and runs their scaffold scripts.
const GRANTS: [&str; 3] = ["--scaffold", "--allow-tools", "Write"];

/// Writes a plugin with some cases, and the script that plays them.
fn suite(rows: &[CaseRow]) -> Fixture {
    let lab = agents::lab();
    write_plugin(&lab);
    for row in rows {
        row.write(&lab);
    }
    write_script(&lab, rows, &format!("{PLUGIN}:greet"), SCRIPT);
    lab
}

/// Judges, played by the script that played those of the client.
struct Judges {
    script: Script,
    played: BTreeMap<usize, u32>,
}

impl Judges {
    fn new(lab: &Fixture) -> Self {
        Self { script: Script::open(SCRIPT, lab.folder()).unwrap(), played: BTreeMap::new() }
    }

    fn ask_votes(&mut self, text: &str) -> Vec<String> {
        let request =
            ChatRequest { messages: vec![Message::User { text: text.to_owned() }], ..ChatRequest::default() };
        let mut replies = Vec::new();
        for _ in 0..VOTES {
            let played = |line: usize| self.played.get(&line).copied().unwrap_or(0);
            let turn = self.script.next_turn(&ScriptContext::default(), &request, &played).unwrap();
            *self.played.entry(turn.line).or_default() += 1;
            replies.push(turn.say);
        }
        replies
    }
}

/// The evidence of a run that the client kept: its messages and files, the calls that mocks answered, and the votes.
fn evidence(case: &EvalCase, row: &CaseRow, run: &ClientRun, judges: &mut Judges) -> Evidence {
    let mut evidence = Evidence::of_client_trace(&run.trace);
    let scaffolded = row.scaffolded();
    evidence.created = run
        .files
        .keys()
        .filter(|name| !scaffolded.contains(&name.as_str()))
        .cloned()
        .collect::<BTreeSet<_>>();
    for (name, bytes) in &run.files {
        let text = String::from_utf8_lossy(bytes).into_owned();
        evidence.files.insert(name.clone(), FileState::Text(text));
    }
    answer_mocks(case, run.arm, &mut evidence);
    for grader in &case.graders {
        let asked = match &grader.check {
            GraderCheck::Llm { criteria, focus } => match target_text(focus, &evidence) {
                Ok(text) if text.is_empty() && *focus == GraderTarget::Files => {
                    format!("{criteria}\n(no file changes)")
                }
                Ok(text) => format!("{criteria}\n{text}"),
                Err(_) => continue,
            },
            GraderCheck::Baseline { criteria, reference } => {
                format!("{criteria}\n{reference}\n{}", evidence.trace.join("\n"))
            }
            _ => continue,
        };
        evidence.votes.insert(grader.name.clone(), judges.ask_votes(&asked));
    }
    evidence
}

/// Answers the calls of a trace once more, with assay's mocks.
fn answer_mocks(case: &EvalCase, arm: &str, evidence: &mut Evidence) {
    let active: Vec<_> = case
        .mocks
        .iter()
        .filter(|server| arm == "with" || !server.public_name.starts_with("plugin_"))
        .collect();
    if active.is_empty() {
        return;
    }
    let mut calls = Vec::new();
    for call in &evidence.calls {
        let tools = active.iter().flat_map(|server| server.tools.iter().map(move |tool| (server, tool)));
        let named = tools.into_iter().find(|(server, tool)| server.public_tool(tool) == call.tool);
        let Some((server, tool)) = named else { continue };
        match server.answer(tool, &call.input) {
            MockReply::Text { text, error } => {
                let mut entry = json!({ "tool": call.tool, "input": call.input, "output": text });
                if error {
                    entry["isError"] = json!(true);
                }
                calls.push(entry.to_string());
            }
            MockReply::Abort(why) | MockReply::Unknown(why) => evidence.aborted = Some(why),
        }
    }
    evidence.mock_calls = Some(calls);
}

/// A case's numbers and flags as assay computes them, in the form of the client's result.
fn graded(case: &EvalCase, row: &CaseRow, runs: &[&ClientRun], arms: EvalArms, judges: &mut Judges) -> Value {
    let mut grades: BTreeMap<&str, Vec<RunGrades>> = BTreeMap::new();
    for run in runs {
        let arm = if run.arm == "with" { EvalArm::With } else { EvalArm::Without };
        let evidence = evidence(case, row, run, judges);
        grades.entry(run.arm).or_default().push(grade_run(case, &evidence, arms, arm));
    }
    let none = Vec::new();
    let scores =
        case_scores(grades.get("with").unwrap_or(&none), grades.get("without").unwrap_or(&none)).unwrap();
    let run = |run: &RunGrades| {
        let grader = |grader: &assay_task::plugin_eval::GraderResult| {
            json!({
                "name": grader.name, "passed": grader.passed, "weight": grader.weight, "withOnly": grader.with_only,
                "scored": grader.scored, "judgeVotes": grader.votes,
            })
        };
        let graders: Vec<Value> = run.graders.iter().map(grader).collect();
        json!({ "score": run.score, "passed": run.passed, "graders": graders })
    };
    let mut both = json!({});
    for (arm, runs) in &grades {
        both[*arm] = runs.iter().map(run).collect();
    }
    essence(&json!({
        "arms": both,
        "aggregates": {
            "score": scores.score, "passRate": scores.pass_rate, "scoreWithout": scores.score_without,
            "passRateWithout": scores.pass_rate_without, "delta": scores.delta,
        },
    }))
}

/// How much was compared.
#[derive(Default)]
struct Compared {
    cases: usize,
    /// Cases that assay refuses with a reason: a grader of them can never pass, or has no meaning here.
    refused: usize,
    runs: usize,
    graders: usize,
    passed: usize,
    /// What the graders of each case decided, by name.
    outcomes: BTreeMap<String, BTreeMap<String, BTreeSet<bool>>>,
    differences: Vec<String>,
}

/// Puts the answers that a model gave in a server's place where the client replays them from, and assay reads them.
fn adopt_recordings(lab: &Fixture) {
    let below = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    for result in below(&lab.path(&format!("{PLUGIN}/evals/results"))) {
        for file in below(&result.join("mock-recordings/tracker")) {
            let name = file.file_name().unwrap().to_str().unwrap();
            let text = fs::read(&file).unwrap();
            lab.write(&format!("{PLUGIN}/evals/mock-agent/mocks/.replay/tracker/{name}"), text);
        }
    }
}

/// Compares each case of a result with what assay decides on the traces of its runs.
fn compare(
    lab: &Fixture,
    rows: &[CaseRow],
    options: &[&str],
    arms: EvalArms,
    compared: &mut Compared,
) -> Value {
    let client = evaluate(lab, options);
    adopt_recordings(lab);
    let suite = EvalSuite::load(&lab.path(PLUGIN)).unwrap();
    let mut judges = Judges::new(lab);
    for theirs in client.result["cases"].as_array().unwrap() {
        let name = theirs["name"].as_str().unwrap();
        let row = rows.iter().find(|row| row.case == name).unwrap();
        let case = suite.cases.iter().find(|case| case.name == name);
        let Some(case) = case else {
            let refused = row.refused.as_ref().unwrap_or_else(|| panic!("{name}: {:#?}", suite.diagnostics));
            let folder = lab.path(&format!("{PLUGIN}/evals/{name}"));
            let mut found = suite.diagnostics.iter().filter(|found| found.file.starts_with(&folder));
            assert!(found.any(|found| found.message.contains(refused)), "{name}: {:#?}", suite.diagnostics);
            compared.refused += 1;
            continue;
        };
        assert_eq!(row.refused, None, "{name} is read");
        let runs: Vec<&ClientRun> = client.runs.iter().filter(|run| run.case == name).collect();
        let ours = graded(case, row, &runs, arms, &mut judges);
        let theirs = essence(theirs);
        compared.cases += 1;
        compared.runs += runs.len();
        let graders = runs.iter().flat_map(|run| run.result["graders"].as_array().unwrap());
        let outcomes = compared.outcomes.entry(name.to_owned()).or_default();
        for grader in graders {
            let passed = grader["passed"].as_bool().unwrap();
            compared.graders += 1;
            compared.passed += usize::from(passed);
            outcomes.entry(grader["name"].as_str().unwrap().to_owned()).or_default().insert(passed);
        }
        if ours != theirs {
            let traces: Vec<&str> = runs.iter().map(|run| run.trace.as_str()).collect();
            compared.differences.push(format!(
                "{name}\nassay:  {ours}\nclient: {theirs}\n{}",
                traces.join("\n").chars().take(6_000).collect::<String>()
            ));
        }
    }
    client.result
}

/// Each case of the table comes out as in the real client: scores, Δ, flags and votes. The client's own result is the
/// expectation, and assay's is computed from the traces, files and judges' replies of the same runs.
#[test]
#[ignore = "needs agents"]
fn graders_decide_as_the_real_client() {
    let rows: Vec<CaseRow> = table().into_iter().filter(|row| row.runs.is_none()).collect();
    let mut compared = Compared::default();
    let mut version = Value::Null;
    for part in rows.chunks(13) {
        let lab = suite(part);
        let options = [&GRANTS[..], &["--runs", "1"]].concat();
        let result = compare(&lab, part, &options, EvalArms::WithAndWithout, &mut compared);
        assert_eq!(result["cases"].as_array().unwrap().len(), part.len());
        version = result["claudeVersion"].clone();
    }
    let Compared { cases, refused, runs, graders, passed, outcomes, differences } = compared;
    for row in rows.iter().filter(|row| row.refused.is_none()) {
        let constant = outcomes[&row.case].iter().filter(|(_, seen)| seen.len() < 2).collect::<Vec<_>>();
        assert_eq!(
            constant.is_empty(),
            row.constant.is_none(),
            "{}: graders with one outcome: {constant:?}",
            row.case
        );
    }
    println!(
        "Claude Code {version}: {cases} cases, {runs} runs, {graders} decisions of graders ({passed} passed), {} cases differ; \
         {refused} further cases are refused here",
        differences.len()
    );
    assert!(cases >= 30 && passed > 40 && graders - passed > 40, "{cases} {passed} {graders}");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// One arm, numbers of runs, and a case that cannot be read: what is compared is what the client compares.
#[test]
#[ignore = "needs agents"]
fn arms_runs_and_unreadable_cases_are_those_of_the_client() {
    let wanted = ["several-runs", "weights", "with-only-implied"];
    let rows: Vec<CaseRow> = table().into_iter().filter(|row| wanted.contains(&row.case.as_str())).collect();
    let lab = suite(&rows);
    lab.write(&format!("{PLUGIN}/evals/broken/prompt.md"), "---\nmax_turn: 3\n---\n\nGreet Ada.\n");
    lab.write(&format!("{PLUGIN}/evals/broken/graders/g1.md"), "---\ntype: regex\npattern: Moin\n---\n");
    let suite = EvalSuite::load(&lab.path(PLUGIN)).unwrap();
    assert_eq!(suite.unread, [lab.path(&format!("{PLUGIN}/evals/broken"))]);

    let mut compared = Compared::default();
    let names = |result: &Value| -> Vec<String> {
        result["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|case| case["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let arms = |result: &Value, arm: &str| -> Vec<usize> {
        let cases = result["cases"].as_array().unwrap().iter();
        cases.map(|case| case["arms"][arm].as_array().map_or(0, Vec::len)).collect()
    };
    // The case is missing, and the result is not partial.
    let own = compare(&lab, &rows, &[], EvalArms::WithAndWithout, &mut compared);
    assert_eq!((names(&own), &own["partial"]), (wanted.map(str::to_owned).to_vec(), &json!(false)));
    let runs: Vec<usize> = suite.cases.iter().map(|case| case.runs as usize).collect();
    assert_eq!((arms(&own, "with"), arms(&own, "without")), (runs.clone(), runs.clone()));
    let warnings = || -> BTreeSet<String> {
        let appraised = lab.assay(&["appraise", "out.json", "--format", "json"]).ok().json();
        let warnings = appraised["warnings"].as_array().unwrap().iter();
        warnings.map(|warning| warning["code"].as_str().unwrap().to_owned()).collect()
    };
    assert!(warnings().contains("missing-cases") && !warnings().contains("partial"), "{:?}", warnings());
    // `runsPerCase` says what the case does, and not what ran.
    let fewer = compare(&lab, &rows, &["--runs", "1"], EvalArms::WithAndWithout, &mut compared);
    assert_eq!(arms(&fewer, "with"), vec![1; runs.len()]);
    assert_eq!(fewer["cases"][0]["runsPerCase"], json!(runs[0]));
    let single =
        compare(&lab, &rows, &["--runs", "1", "--ablation", "none"], EvalArms::WithOnly, &mut compared);
    assert_eq!(arms(&single, "without"), vec![0; runs.len()]);
    // The first run costs more than all may.
    let cut = evaluate(&lab, &["--max-cost-usd", "0.000001"]).result;
    assert_eq!((&cut["partial"], &cut["partialReason"]), (&json!(true), &json!("cost_ceiling")), "{cut:#}");
    assert!(warnings().contains("partial"), "{:?}", warnings());
    let Compared { cases, runs, graders, differences, .. } = compared;
    println!(
        "options: {cases} cases, {runs} runs, {graders} decisions of graders, {} cases differ",
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// Rows that are about the client's own limits, servers and runs, or whose replies depend on how often they were asked.
fn is_of_client_only(row: &CaseRow) -> bool {
    let own = ["judge-focus", "judge-votes", "mock-agent", "mock-standalone", "server-error", "turn-limit"];
    // In trials Claude Code offers neither Glob nor Grep: it searches by commands.
    let searches = row.calls("Glob") || row.calls("Grep");
    row.refused.is_some() || row.runs.is_some() || searches || own.contains(&row.case.as_str())
}

/// `assay run` with Claude Code on the suite as an experiment, under the conditions without and with the plugin's skill:
/// trials have the scores of the client's runs.
#[test]
#[ignore = "needs agents"]
fn runs_of_a_suite_score_as_the_real_client() {
    needs_bubblewrap!();
    let rows: Vec<CaseRow> = table().into_iter().filter(|row| !is_of_client_only(row)).collect();
    let lab = suite(&rows);
    let client = evaluate(&lab, &[&GRANTS[..], &["--runs", "1"]].concat());

    lab.assay(&["init", "experiment", "trials", "--from-plugin", PLUGIN]).ok();
    write_script(&lab, &rows, "greet", "trials/agent.jsonl");
    let judges: Vec<String> = rows.iter().flat_map(CaseRow::requests).map(ToString::to_string).collect();
    lab.write("trials/judge.jsonl", judges.join("\n"));
    let experiment = "schema = \"assay.experiment/1\"\nname = \"parity\"\nsuite = [\"tasks/*\"]\n\
        library = [\"skills/*\"]\nconditions = [\"none\", \"curated\"]\nrepetitions = 1\nconcurrency = 2\n\
        [sandbox]\nkind = \"bubblewrap\"\nroots = { \"debian:12-slim\" = \"host\" }\n\
        [[agents]]\nname = \"claude-code\"\nmodel = \"scripted:agent.jsonl\"\ntimeout = 240\n\
        [judge]\nmodels = [\"scripted:judge.jsonl\"]\n";
    lab.write("trials/experiment.toml", experiment);
    // An experiment reads no skill from outside of its folder.
    let skill = fs::read(lab.path(&format!("{PLUGIN}/skills/greet/SKILL.md"))).unwrap();
    lab.write("trials/skills/greet/SKILL.md", skill);
    let mut command = lab.command(&["run", "trials/experiment.toml", "--format", "json"]);
    let ran = Running::start(&mut command).wait_for(Duration::from_mins(15));
    assert_eq!(ran.code, 0, "{ran:#?}");
    let records = agents::records(&lab);
    assert_eq!(records.len(), client.runs.len(), "{}", ran.stderr);
    let mut differences = Vec::new();
    for run in &client.runs {
        let condition = if run.arm == "with" { "curated" } else { "none" };
        let is_it = |record: &&Value| record["task"] == run.case.as_str() && record["condition"] == condition;
        let record = records.iter().find(is_it).unwrap_or_else(|| panic!("{} {condition}", run.case));
        let own = record["judgement"]["overall"].as_f64().or(record["reward"].as_f64());
        let theirs = run.result["score"].as_f64().unwrap();
        if own.is_none_or(|own| (own - theirs).abs() > 1e-9) {
            let graders = read_json(&attempt(record, "graders.json")).unwrap_or_default();
            differences.push(format!("{} {condition}: {own:?}, client {theirs}: {graders}", run.case));
        }
    }
    println!(
        "assay run: {} cases, {} trials, of which {} have another score than the client's run",
        rows.len(),
        records.len(),
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
