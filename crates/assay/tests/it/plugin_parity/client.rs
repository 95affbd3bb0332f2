//! The real client: what it is told, and what it leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::cases::PLUGIN;
use crate::agents::installed;
use crate::fixture::{Fixture, Running, read_json};

/// The longest that a suite may take: a run of the client takes a second on a quiet machine.
const PATIENCE: Duration = Duration::from_mins(15);

/// The script of the model, in the fixture.
pub(super) const SCRIPT: &str = "client.jsonl";

/// A run that the client graded, with what it left.
pub(super) struct ClientRun {
    /// The name of its case.
    pub(super) case: String,
    /// `with` or `without`.
    pub(super) arm: &'static str,
    /// The client's entry for it.
    pub(super) result: Value,
    /// The messages of the agent, one a line.
    pub(super) trace: String,
    /// Files of its work folder.
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

/// What the client says of a suite.
pub(super) struct Evaluated {
    /// `aggregate-result.json`.
    pub(super) result: Value,
    /// Its runs, in the order in which they ran.
    pub(super) runs: Vec<ClientRun>,
    /// What it said on standard error.
    pub(super) stderr: String,
}

/// Runs `claude plugin eval` on the fixture's plugin, against the script.
pub(super) fn evaluate(lab: &Fixture, options: &[&str]) -> Evaluated {
    let program = program(lab);
    let arguments =
        ["gateway", "--provider", &format!("scripted:{SCRIPT}"), "--", &program.display().to_string()];
    // Without more than one run at a time the runs are kept in their order.
    let own =
        ["plugin", "eval", PLUGIN, "--trust-plugin", "--no-publish", "--keep-temp", "--json", "out.json"];
    let mut command = lab.command(&arguments);
    command.args(own).args(options);
    let temp = lab.path("temp");
    for stale in [temp.clone(), lab.path(&format!("{PLUGIN}/evals/results"))] {
        let _ = fs::remove_dir_all(stale);
    }
    let _ = fs::remove_file(lab.path("out.json"));
    fs::create_dir_all(&temp).unwrap();
    command.env("TMPDIR", &temp).env("IS_SANDBOX", "1").env("DISABLE_AUTOUPDATER", "1");
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    // Otherwise a model has to search for the tools of servers before it can call them.
    command.env("ENABLE_TOOL_SEARCH", "false");
    let ran = Running::start(&mut command).wait_for(PATIENCE);
    let result = read_json(&lab.path("out.json")).unwrap_or_else(|| panic!("no result: {ran:#?}"));
    let mut kept = kept(&ran.stderr, &temp).into_iter();
    let mut runs = Vec::new();
    for case in result["cases"].as_array().unwrap() {
        for arm in ["with", "without"] {
            for run in case["arms"][arm].as_array().into_iter().flatten() {
                let folder = kept.next().unwrap_or_else(|| panic!("a run was not kept: {}", ran.stderr));
                runs.push(ClientRun {
                    case: case["name"].as_str().unwrap().to_owned(),
                    arm,
                    result: run.clone(),
                    trace: fs::read_to_string(folder.join("out/trace.jsonl")).unwrap_or_default(),
                    files: read_files(&folder.join("home/cwd")),
                });
            }
        }
    }
    assert_eq!(kept.next(), None, "more runs were kept than scored: {}", ran.stderr);
    Evaluated { result, runs, stderr: ran.stderr }
}

/// The client that `assay agent install` brought.
fn program(lab: &Fixture) -> PathBuf {
    installed(lab, &["claude-code"]);
    let listed = lab.assay(&["agent", "list", "--format", "json"]).ok().json();
    let is_it = |agent: &&Value| agent["name"] == "claude-code";
    let agent = listed["agents"].as_array().unwrap().iter().find(is_it).unwrap();
    let folder = Path::new(agent["folder"].as_str().unwrap());
    folder.join("node_modules/@anthropic-ai/claude-code-linux-x64/claude")
}

/// The folders that the client kept, in the order of its messages.
fn kept(stderr: &str, temp: &Path) -> Vec<PathBuf> {
    let begin = format!("kept {}/", temp.display());
    let name = |line: &str| -> Option<PathBuf> {
        let (_, rest) = line.split_once(&begin)?;
        let end = rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '-').unwrap_or(rest.len());
        Some(temp.join(rest.get(..end)?))
    };
    stderr.lines().filter_map(name).collect()
}

fn read_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(&below).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, fs::read(&path).unwrap_or_default());
            }
        }
    }
    files
}

/// What of a case is compared: its scores, its Δ, and of each run in each arm its score and the graders with their flags.
/// Texts are left out: nothing says that two programs explain a decision in the same words.
pub(super) fn essence(case: &Value) -> Value {
    let run = |run: &Value| {
        let grader = |grader: &Value| {
            json!({
                "name": grader["name"], "passed": grader["passed"], "weight": grader["weight"].as_f64(),
                "withOnly": grader["withOnly"], "scored": grader["scored"], "votes": grader["judgeVotes"],
            })
        };
        let graders = run["graders"].as_array().unwrap().iter().map(grader).collect::<Vec<_>>();
        json!({ "score": run["score"].as_f64(), "passed": run["passed"], "graders": graders })
    };
    let arm = |arm: &str| case["arms"][arm].as_array().map(|runs| runs.iter().map(run).collect::<Vec<_>>());
    let aggregate = |key: &str| case["aggregates"][key].as_f64();
    json!({
        "with": arm("with"), "without": arm("without"), "score": aggregate("score"), "passRate": aggregate("passRate"),
        "scoreWithout": aggregate("scoreWithout"), "passRateWithout": aggregate("passRateWithout"),
        "delta": aggregate("delta"),
    })
}
