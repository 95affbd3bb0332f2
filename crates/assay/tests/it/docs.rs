//! What README.md and docs/ tell a reader to type is typed here. That every command also parses is tested beside the command line's
//! definitions.

mod architecture;
pub(crate) mod blocks;
mod guides;
mod links;

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::{Value, json};

use crate::agents;
use crate::fixture::{Fixture, build_laboratory, needs_bubblewrap};
use blocks::{Line, commands};

/// What becomes of a command of the documents.
enum How {
    /// It is run after these replacements, and ends with this status.
    Runs(&'static [(&'static str, &'static str)], i32),
    /// Another test runs it.
    Elsewhere(&'static str),
    /// No test runs it, for this reason.
    Not(&'static str),
}

use How::{Elsewhere, Not, Runs};

const KEY: &str = "needs a key, and costs money";
const NETWORK: &str = "fetches from the network; scripts/test and .ci/run do it";
const LONG: &str = "builds a release, or takes minutes";
const WHOLE: &str = "needs the corpus of 35,243 skills";

/// By the beginning of a command; the first that fits counts.
const ROWS: &[(&str, How)] = &[
    ("git clone", Not("clones this project")),
    ("scripts/quickstart", Not(LONG)),
    ("scripts/test", Not("runs this test")),
    ("scripts/cases", Not("needs the shared data, and minutes")),
    ("scripts/ecosystem", Not("needs the shared data; .ci/run does it")),
    (".ci/run", Not("runs this test")),
    ("scripts/fetch-minilm", Not(NETWORK)),
    ("assay run experiment.toml --executor workers", Elsewhere("worker")),
    ("assay run experiment.toml --executor slurm", Elsewhere("slurm")),
    ("assay worker", Elsewhere("worker")),
    ("assay lab scale", Runs(&[], 0)),
    ("assay lab replay", Elsewhere("replay")),
    ("assay lab simulate --grid few-tasks", Elsewhere("replay")),
    ("assay gateway serve", Elsewhere("limiter")),
    ("assay export k8s", Elsewhere("k8s")),
    ("kubectl", Not("needs a cluster")),
    ("assay view", Elsewhere("view")),
    ("assay gate", Elsewhere("gate")),
    ("assay init ci", Elsewhere("gate")),
    ("assay judge sheet", Elsewhere("view")),
    ("assay judge labels", Elsewhere("view")),
    ("assay judge", Elsewhere("judge")),
    ("assay lab judge", Elsewhere("judge")),
    ("assay draft needs", Elsewhere("draft")),
    ("assay draft directives", Elsewhere("draft")),
    ("assay draft run", Elsewhere("draft_run")),
    ("assay draft skill", Elsewhere("draft_skill")),
    ("assay task review", Elsewhere("task_review")),
    ("assay draft status", Elsewhere("draft_run")),
    ("assay draft headroom", Elsewhere("draft_run")),
    ("assay run draft-xlsx/pilot.toml", Elsewhere("draft_run")),
    ("assay lab simulate --grid admission", Runs(&[("--suites 1000", "--suites 10")], 0)),
    ("assay lab simulate --grid judges", Runs(&[("--suites 1000", "--suites 5")], 0)),
    ("assay lab simulate --grid graded", Runs(&[("--suites 1000", "--suites 5")], 0)),
    ("assay improve shrink", Elsewhere("improve_shrink")),
    ("assay lab simulate --grid null-drafts", Runs(&[("--suites 1000", "--suites 5")], 0)),
    ("assay draft requests", Elsewhere("draft_requests")),
    ("assay lab corpus build skills --out corpus.jsonl", Elsewhere("draft_requests")),
    ("assay lab search bench --corpus corpus.jsonl --queries requests.jsonl", Elsewhere("draft_requests")),
    ("assay lab route bench --prompts requests.jsonl", Elsewhere("draft_requests")),
    ("assay lab draft needs", Elsewhere("draft")),
    ("scripts/agent-cpu", Not(LONG)),
    ("scripts/retrieval-speed", Not(WHOLE)),
    ("ASSAY_FUZZ_SECONDS=60 cargo", Not(LONG)),
    ("cargo ", Not(LONG)),
    ("target/release/", Not(LONG)),
    ("OPENAI_API_KEY", Not(KEY)),
    ("assay plan examples/real-model.toml", Elsewhere("first_run")),
    ("ANTHROPIC_API_KEY", Not(KEY)),
    ("assay run examples/docker/experiment.toml", Elsewhere("docs::the_example_in_docker_runs")),
    ("assay run examples/services/experiment.toml", Elsewhere("docs::the_example_with_services_runs")),
    ("assay run examples/judged/experiment.toml", Elsewhere("judged::the_example_runs")),
    ("assay report judged --calibration", Elsewhere("judged::labels_correct_the_lift_of_a_report")),
    ("assay run examples/mcp/experiment.toml", Elsewhere("agents")),
    ("assay run examples/doubles/experiment.toml", Elsewhere("doubles")),
    ("assay run examples/doubles/docker.toml", Elsewhere("doubles")),
    ("assay agent install", Not(NETWORK)),
    ("assay agent list", Runs(&[], 0)),
    ("assay agent doctor", Elsewhere("agents")),
    ("assay run examples/agents.toml", Elsewhere("docs::the_example_with_real_agents_runs")),
    ("assay --store again run examples/agents.toml", Elsewhere("agents")),
    ("assay init experiment my-suite", Elsewhere("docs::guides")),
    ("assay init experiment tracker-evals", Elsewhere("plugin_eval")),
    ("assay run tracker-evals/experiment.toml", Elsewhere("plugin_eval")),
    ("assay appraise", Elsewhere("appraise")),
    ("assay report greetings", Elsewhere("appraise")),
    ("assay report three-skills-all", Elsewhere("docs::trials_on_drafted_tasks_have_the_documented_figures")),
    ("assay import results", Elsewhere("appraise")),
    (
        "examples/study/appraise-folder",
        Not("needs the shared data; appraise::the_study_is_what_its_script_writes runs it"),
    ),
    ("assay import run", Elsewhere("export_run")),
    ("assay export run", Elsewhere("export_run")),
    ("assay export plugin-eval", Elsewhere("plugin_parity::export")),
    ("assay import rubric", Elsewhere("rubrics")),
    ("assay judge check", Elsewhere("rubrics")),
    ("assay judge items", Elsewhere("judge_items")),
    ("assay judge pairs", Elsewhere("judge_pairs")),
    ("assay import table", Elsewhere("import_table")),
    ("assay export data my-suite", Elsewhere("import_table")),
    ("assay import jsonl-", Elsewhere("import_benchmark")),
    ("assay lab self-test", Elsewhere("lint")),
    ("assay lint examples/quickstart/skills", Runs(&[("examples/quickstart/skills", "skills")], 0)),
    (
        "assay search \"which hosts saw bursts of failed logins\" --library examples/quickstart/skills",
        Runs(&[("examples/quickstart/skills", "skills")], 0),
    ),
    ("assay lint --stats DIR", Runs(&[("DIR", "skills")], 0)),
    (
        "assay lab health [DIR]",
        Runs(
            &[
                ("[DIR]", "skills"),
                ("--history FILE", "--history h.jsonl"),
                (" [--check-urls]", ""),
                (" [--strict]", ""),
            ],
            0,
        ),
    ),
    ("assay lab corpus unpack corpus_raw.jsonl.zst --out DIR && cd DIR", Not(WHOLE)),
    ("assay lab corpus sample", Elsewhere("corpus")),
    ("assay lab taxonomy", Elsewhere("taxonomy")),
    (
        "assay lab search bench --corpus corpus.jsonl --queries queries.jsonl --categories",
        Elsewhere("taxonomy"),
    ),
    ("assay judge sheet topics.jsonl", Elsewhere("taxonomy")),
    ("assay judge labels topics", Elsewhere("judge")),
    ("assay lab corpus unpack", Runs(&[("DIR", "unpacked")], 0)),
    ("assay lint --stats --select safety", Not(WHOLE)),
    ("assay lab corpus funnel corpus_raw", Runs(&[], 0)),
    (
        "assay lab corpus funnel IN",
        Runs(
            &[
                ("IN", "corpus_raw.jsonl.zst"),
                ("--ledger FILE", "--ledger out"),
                ("--gold FILE", "--gold dev_queries.jsonl"),
            ],
            0,
        ),
    ),
    (
        "assay lab corpus near IN",
        Runs(&[("IN", "corpus_raw.jsonl.zst"), ("--out FILE", "--out near.jsonl")], 0),
    ),
    (
        "assay lab corpus stats IN",
        Runs(&[("IN", "corpus_raw.jsonl.zst"), ("--html FILE", "--html stats.html")], 0),
    ),
    ("assay search serve", Elsewhere("search_serve")),
    ("assay search index --library skills --out skills.index --retriever dense", Elsewhere("search_models")),
    (
        "assay search \"make a pivot table from this export\" --index skills.index --retriever dense",
        Elsewhere("search_models"),
    ),
    ("assay search index", Runs(&[], 0)),
    ("assay search \"make a pivot table from this export\" --library skills", Runs(&[], 0)),
    ("assay lab search bench … --retriever bm25 --retriever dense", Elsewhere("search_models")),
    (
        "assay lab search bench --corpus … --queries …",
        Runs(
            &[
                ("--corpus …", "--corpus corpus_raw.jsonl.zst"),
                ("--queries …", "--queries dev_queries.jsonl"),
                (" --against other.json", ""),
            ],
            0,
        ),
    ),
    (
        "assay lab search bench --corpus corpus_raw.jsonl.zst --queries reporting.jsonl",
        Runs(
            &[
                ("reporting.jsonl --abstention", "dev_queries.jsonl --abstention"),
                ("$D/off-topic-reporting.jsonl", "dev_negative_queries.jsonl"),
            ],
            0,
        ),
    ),
    ("assay lab search bench --corpus corpus_raw", Runs(&[], 0)),
    ("assay lab search erase", Elsewhere("search")),
    ("assay lab search train", Elsewhere("search")),
    ("assay lab route bench --prompts prompts.jsonl --library skills/ --model", Elsewhere("route")),
    ("assay lab route bench …", Elsewhere("route")),
    ("assay lab route bench", Runs(&[], 0)),
    ("assay trace show", Runs(&[], 0)),
    ("assay trace convert", Runs(&[], 0)),
    ("assay trace stats ~/.claude", Runs(&[], 0)),
    ("assay trace stats ~/.local/share/opencode/opencode.db", Runs(&[], 0)),
    ("assay trace stats logs/*.jsonl.zst", Runs(&[], 0)),
    ("assay audit corpus RUN", Elsewhere("audit_runs")),
    ("assay audit corpus DIR", Elsewhere("audit, audit_calibrated")),
    ("assay lab cta-2026 corpus", Elsewhere("audit")),
    (
        "assay lab cta-2026 pairs",
        Runs(
            &[
                ("A.jsonl", "session.jsonl"),
                ("B.jsonl", "logs/b.jsonl"),
                ("--skill SKILL.md", "--skill skills/mine/SKILL.md"),
                ("C.jsonl D.jsonl", "logs/a.jsonl logs/b.jsonl"),
            ],
            0,
        ),
    ),
    ("assay lab audit", Elsewhere("audit_figures")),
    ("assay lab cta-2026 sheet", Elsewhere("audit")),
    ("assay audit agreement", Elsewhere("audit")),
    (
        "assay audit show --with FILE",
        Runs(
            &[
                ("--with FILE", "--with session.jsonl"),
                ("--without FILE", "--without logs/b.jsonl"),
                ("SKILL.md", "skills/mine/SKILL.md"),
                ("TASK.md", "task.md"),
            ],
            0,
        ),
    ),
    ("assay audit show", Elsewhere("audit_runs")),
    ("assay lab bench", Not(LONG)),
];

fn row(line: &Line) -> Option<&'static How> {
    ROWS.iter().find(|(beginning, _)| line.text.starts_with(beginning)).map(|(_, how)| how)
}

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A shell in the fixture that finds this `assay`.
fn shell(lab: &Fixture, script: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    if script.contains("assay lab") {
        build_laboratory();
    }
    let mut command = Command::new("bash");
    command.args(["-ec", script]).current_dir(lab.folder()).env_clear().env("HOME", lab.path("home"));
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", program.display()));
    command.output().unwrap()
}

/// A fixture with the cache of agents, and a copy of `examples`: a run leaves its store beside it.
pub(crate) fn with_examples() -> Fixture {
    let lab = agents::lab();
    let from = project().join("examples");
    let copied = Command::new("cp").arg("-r").arg(from).arg(lab.path("examples")).status().unwrap();
    assert!(copied.success());
    lab
}

/// The files that the documents' commands name.
fn desk() -> Fixture {
    let record = |id: &str, name: &str, description: &str| {
        let text = format!(
            "---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n# {name}\n\nSteps of {name}.\n"
        );
        format!(
            "{}\n",
            json!({"id": id, "repo": "o/r", "path": format!("{name}/SKILL.md"), "name": name, "description": description, "license": "MIT", "skill_md": text})
        )
    };
    let corpus = record("s1", "pivot-tables", "Makes pivot tables from exports.")
        + &record("s2", "log-audit", "Audits logs of services.");
    let corpus = zstd::encode_all(corpus.as_bytes(), 1).unwrap();
    let queries = concat!(
        r#"{"qid":"q1","query":"make a pivot table","house":"a","source":"made","gold_ids":["s1"]}"#,
        "\n",
        r#"{"qid":"q2","query":"audit the log","house":"b","source":"made","gold_ids":["s2"]}"#,
        "\n"
    );
    let said = |session: &str, text: &str| {
        let line = json!({"type": "assistant", "isSidechain": false, "sessionId": session, "uuid": session, "timestamp": "2026-01-01T00:00:00Z",
            "message": {"id": session, "role": "assistant", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 4}, "content": [{"type": "text", "text": text}]}});
        format!("{line}\n")
    };
    let lab = Fixture::new()
        .skill(
            "mine",
            "Exports ledgers as tables and pivot tables. Use for exports.",
            "# Mine\n\nMake a pivot table from the export of a ledger.",
        )
        .skill("ledger", "Audits logs of services. Use for logs.", "# Ledger\n\nCount errors.")
        .file("corpus_raw.jsonl.zst", corpus)
        .file("dev_queries.jsonl", queries)
        .file("dev_negative_queries.jsonl", "{\"query\":\"write a poem\",\"not_ids\":[\"s2\"]}\n")
        .file(
            "prompts.jsonl",
            "{\"prompt_id\":\"p1\",\"prompt\":\"make a pivot table\",\"expected_primary_skill\":\"mine\"}\n",
        )
        .file("prices.toml", "[[price]]\nmodel = \"m\"\nfrom = \"2025-01-01\"\ninput = 3\noutput = 15\ncache_read = 0.3\ncache_write = 3.75\n")
        .file("task.md", "Export it.")
        .file("session.jsonl", said("s", "done"))
        .file("logs/a.jsonl", said("a", "one"))
        .file("home/.claude/projects/my-project/a.jsonl", said("a", "one"))
        .file("logs/b.jsonl", said("b", "two"));
    crate::trace::write_opencode_database(&lab.path("home/.local/share/opencode/opencode.db"));
    lab.write("logs/c.jsonl.zst", zstd::encode_all(said("c", "three").as_bytes(), 1).unwrap());
    lab
}

#[test]
fn trials_on_drafted_tasks_have_the_documented_figures() {
    let lab = agents::lab();
    let report = |name: &str| {
        let file = project().join(format!("examples/drafted/trials/{name}.tar.zst"));
        lab.assay(&["import", "run", file.to_str().unwrap()]).ok();
        lab.assay(&["report", name, "--format", "json"]).ok().json()
    };
    let percent = |value: &Value| format!("{:.0}", 100.0 * value.as_f64().unwrap());
    let all = report("three-skills-all");
    let rates: Vec<String> =
        all["arms"].as_array().unwrap().iter().map(|arm| percent(&arm["score"])).collect();
    assert_eq!(rates, ["0", "100"]);
    let [lift] = all["comparisons"].as_array().unwrap().as_slice() else { panic!("{all:#}") };
    assert_eq!((&lift["verdict"], percent(&lift["lift"])), (&json!("helps"), "100".to_owned()));
    assert_eq!(percent(&lift["ci95"][0]), "87");
    let text = lab.assay(&["report", "three-skills-all"]).ok().stdout;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for figures in [
        "IF, knowledge improves 34 11 6% 100%",
        "IF, convention improves 26 7 2% 100%",
        "IF, reminders (controls) improves 20 11 65% 100%",
        "58 11 100% 100%",
        "knows 1 of 20 canaries",
    ] {
        assert!(flat.contains(figures), "{figures}: {text}");
    }
    let copies = report("three-skills");
    let rate = |condition: &str| {
        let arms = copies["arms"].as_array().unwrap();
        percent(&arms.iter().find(|arm| arm["condition"] == condition).unwrap()["score"])
    };
    assert_eq!([rate("none"), rate("counterfactual")], ["0", "83"]);
}

#[test]
fn every_command_of_the_documents_runs_or_says_why_not() {
    let mut lines = commands(project());
    lines.retain(|line| !guides::TUTORIALS.contains(&line.document.as_str()));
    let unknown: Vec<&Line> = lines.iter().filter(|line| row(line).is_none()).collect();
    assert!(unknown.is_empty(), "a row in ROWS is missing for {unknown:#?}");
    let unused: Vec<&str> = ROWS
        .iter()
        .filter(|(beginning, _)| !lines.iter().any(|line| line.text.starts_with(beginning)))
        .map(|(beginning, _)| *beginning)
        .collect();
    assert_eq!(unused, [""; 0], "no document has these any more");
    let mut ran = 0;
    // A document's commands follow each other, and those of another begin anew.
    let (mut document, mut lab) = ("", desk());
    for line in &lines {
        if document != line.document {
            (document, lab) = (&line.document, desk());
        }
        let Some(Runs(replacements, status)) = row(line) else { continue };
        let text = replacements.iter().fold(line.text.clone(), |text, (from, to)| text.replace(from, to));
        // An option in brackets is one that may be left out: here none is. Of alternatives the first counts.
        let text: Vec<&str> = text.split(' ').map(|word| word.split('|').next().unwrap()).collect();
        let text = text.join(" ").replace(['[', ']'], "");
        let output = shell(&lab, &text);
        let told = format!("{}: {text}\n{}", line.document, String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(*status), "{told}");
        ran += 1;
    }
    assert!(ran > 15, "{ran}");
    let reasons = ROWS
        .iter()
        .filter_map(|(_, how)| if let Not(reason) | Elsewhere(reason) = how { Some(reason) } else { None });
    assert!(reasons.clone().all(|reason| !reason.is_empty()));
}

#[test]
#[ignore = "needs Docker"]
fn the_example_in_docker_runs() {
    let lab = with_examples();
    let document = lab.assay(&["run", "examples/docker/experiment.toml", "--format", "json"]).ok().json();
    assert_eq!((&document["executed"], &document["infrastructure"]), (&json!(6), &json!(0)), "{document:#}");
}

/// With the skill all pages are read, without it the first one.
#[test]
#[ignore = "needs Docker"]
fn the_example_with_services_runs() {
    let lab = with_examples();
    let document = lab.assay(&["run", "examples/services/experiment.toml", "--format", "json"]).ok().json();
    let counts = (&document["executed"], &document["infrastructure"]);
    assert_eq!(counts, (&json!(6), &json!(0)), "{document:#}");
    for arm in document["report"]["arms"].as_array().unwrap() {
        let expected = if arm["condition"] == "curated" { 1.0 } else { 0.0 };
        assert_eq!(arm["pass_rate"], json!(expected), "{arm:#}");
    }
}

/// Six agents, two tasks, with and without the skill: with it all pass, without it none.
#[test]
#[ignore = "needs all agents"]
fn the_example_with_real_agents_runs() {
    needs_bubblewrap!();
    let lab = with_examples();
    assert_eq!(agents::installed(&lab, &agents::ALL).len(), agents::ALL.len());
    // Starting real agents takes minutes on a busy machine.
    let ran =
        lab.start(&["run", "examples/agents.toml", "--format", "json"]).wait_for(Duration::from_mins(15));
    let document = ran.ok().json();
    let counts = (&document["executed"], &document["infrastructure"]);
    assert_eq!(counts, (&json!(24), &json!(0)), "{document:#}");
    for arm in document["report"]["arms"].as_array().unwrap() {
        let expected = if arm["condition"] == "curated" { 1.0 } else { 0.0 };
        assert_eq!(arm["pass_rate"], json!(expected), "{arm:#}");
    }
}

#[test]
fn the_table_of_the_scale_is_the_commands() {
    let printed = Fixture::new().assay(&["lab", "scale"]).ok().stdout;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = std::fs::read_to_string(root.join("docs/lab/scale.md")).unwrap();
    assert!(printed.lines().count() > 6, "{printed}");
    assert!(
        document.contains(&printed),
        "docs/lab/scale.md does not have what `assay lab scale` prints:\n{printed}"
    );
}
