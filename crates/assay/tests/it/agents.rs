//! Agents as their makers ship them, in trials of their own: the real command lines, and a script in the model's place.
//!
//! `assay agent install` brings them into the cache that `ASSAY_CACHE` names.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::{Fixture, attempt, needs_bubblewrap, read_json};
use crate::server::{Answer, Server};

pub(crate) const ALL: [&str; 6] =
    ["claude-code", "codex", "gemini-cli", "opencode", "qwen-code", "mini-swe-agent"];

/// What speaks to each, in a model's name.
fn provider(agent: &str) -> &'static str {
    match agent {
        "claude-code" => "anthropic",
        "gemini-cli" => "gemini",
        _ => "openai",
    }
}

/// The agents of a list that are installed here: one of them at least, and those that `ASSAY_REQUIRE_AGENTS` lists. Reports
/// the others.
pub(crate) fn installed(lab: &Fixture, wanted: &[&'static str]) -> Vec<&'static str> {
    let listed = lab.assay(&["agent", "list", "--format", "json"]).ok().json();
    let is_there = |name: &str| {
        let mut agents = listed["agents"].as_array().unwrap().iter();
        agents.any(|agent| agent["name"] == name && !agent["folder"].is_null())
    };
    let (there, missing): (Vec<&str>, Vec<&str>) = wanted.iter().partition(|name| is_there(name));
    let required = std::env::var("ASSAY_REQUIRE_AGENTS").unwrap_or_default();
    for name in missing {
        assert!(!required.split_whitespace().any(|one| one == name), "{name} is required and not installed");
        assay_test::report_skip(&format!("{name} is not installed: `assay agent install {name}`"));
    }
    assert!(!there.is_empty(), "none of these agents is installed: {}", wanted.join(", "));
    there
}

/// A fixture with the cache of this machine.
pub(crate) fn lab() -> Fixture {
    let home = std::env::var("HOME").unwrap_or_default();
    let cache = std::env::var("ASSAY_CACHE").unwrap_or_else(|_| format!("{home}/.cache/assay"));
    Fixture::new().env("ASSAY_CACHE", &cache)
}

/// One task that only those can do who have read the skill.
pub(crate) fn words(lab: Fixture) -> Fixture {
    let body = "# The agreed word\n\nEvery report of this house ends with one word, and this page says which.\n\
                The agreed word is right, in small letters and without a stop.\nWrite it into answer.txt and write nothing else into it.";
    lab.task("t1", |task| task)
        .skill(
            "agreed-word",
            "Says which word a report of this house ends with. Use it for any report.",
            body,
        )
        .script(&[
            json!({ "tools": false, "say": "A report" }),
            json!({ "turn": 0, "seen": "agreed-word", "say": "I read the skill.", "skill": "agreed-word" }),
            json!({ "turn": 0, "run": "ls" }),
            json!({ "turn": 1, "seen": "The agreed word is right", "run": "echo right > answer.txt" }),
        ])
}

pub(crate) fn experiment(lab: &Fixture, sandbox: &str, agents: &[&str], model: &str) {
    let tables: String = agents
        .iter()
        .map(|name| format!("[[agents]]\nname = \"{name}\"\nmodel = \"{model}\"\ntimeout = 240\n"))
        .collect();
    lab.write(
        "experiment.toml",
        format!(
            "schema = \"assay.experiment/1\"\nname = \"lab\"\nsuite = [\"tasks/*\"]\nlibrary = [\"skills/*\"]\n\
             conditions = [\"none\", \"curated\"]\nrepetitions = 1\nconcurrency = 2\nsandbox = {sandbox}\n{tables}\
             [tasks.\"t1\"]\ncurated = [\"agreed-word\"]\n"
        ),
    );
}

/// Records of agents that went through the gateway, each with its trial's folder.
pub(crate) fn records(lab: &Fixture) -> Vec<Value> {
    let record = |folder: PathBuf| {
        let mut record = read_json(&folder.join("record.json"))?;
        record["folder"] = json!(folder);
        Some(record)
    };
    lab.trials().into_iter().filter_map(record).filter(|record| !record["metered"].is_null()).collect()
}

/// Runs the agents, and holds what they leave against what they must leave.
fn see(agents: &[&'static str], sandbox: &str) {
    let lab = words(lab());
    let there = installed(&lab, agents);
    experiment(&lab, sandbox, &there, "scripted:turns.jsonl");
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["executed"]), (0, &json!(2 * there.len())), "{document:#}");
    assert_eq!(document["report"]["measures_a_model"], false);
    let records = records(&lab);
    for name in &there {
        let of = |condition: &str| {
            let is = |record: &&Value| record["agent"]["name"] == **name && record["condition"] == condition;
            records.iter().find(is).unwrap_or_else(|| panic!("{name}, {condition}: {records:#?}"))
        };
        let (without, with) = (of("none"), of("curated"));
        assert_eq!((&without["outcome"], &with["outcome"]), (&json!("failed"), &json!("passed")), "{name}");
        let seen = &with["exposure"][0];
        for stage in ["advertised", "opened"] {
            assert!(seen[stage].is_u64(), "{name}: {stage}: {seen:#}");
        }
        assert_eq!(seen["body_lines"], seen["body_lines_delivered"], "{name}");
        for record in [without, with] {
            let ledger = read_json(&attempt(record, "gateway.json")).unwrap();
            assert_eq!(ledger["refused"], json!([]), "{name}");
            let metered = &record["metered"];
            let tokens = |key: &str| metered[key].as_u64();
            // OpenCode asks for a title, and does not print that it did.
            let beside = tokens("side_request_tokens").unwrap_or(0);
            assert_eq!(beside > 0, *name == "opencode", "{name}: {metered}");
            assert_eq!(
                tokens("transcript_tokens").map(|own| own + beside),
                tokens("tokens"),
                "{name}: {metered}"
            );
            // What an agent keeps for itself is nothing that it did.
            assert_eq!(record["outside"], Value::Null, "{name}");
            let trajectory = read_json(&attempt(record, "trajectory.json")).unwrap();
            let calls = |step: &&Value| step["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
            let steps = trajectory["steps"].as_array().unwrap();
            let told = ledger["exchanges"].as_array().unwrap().iter();
            let called =
                told.filter(|one| one["calls"].as_array().is_some_and(|calls| !calls.is_empty())).count();
            assert_eq!(steps.iter().filter(calls).count(), called, "{name}: {trajectory:#}");
            let first = steps.iter().find(|step| step["source"] == "user").unwrap();
            assert!(first["message"].as_str().unwrap().contains("End the report"), "{name}: {trajectory:#}");
        }
    }
    // From what was kept, in another store: the same without a provider.
    let ran = lab.assay(&[
        "run",
        "experiment.toml",
        "--no-checks",
        "--store",
        "again",
        "--replay",
        ".assay",
        "--format",
        "json",
    ]);
    let again = ran.json();
    assert_eq!((ran.code, &again["infrastructure"]), (0, &json!(0)), "{}", ran.stderr);
    let arms = |document: &Value| {
        let arms = document["report"]["arms"].as_array().unwrap().clone();
        arms.iter()
            .map(|arm| ["pass_rate", "tokens", "exposure"].map(|key| arm[key].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(arms(&document), arms(&again));
    let notes = again["report"]["notes"].to_string();
    assert!(notes.contains("replayed from cassettes"), "{notes}");
    let notes = document["report"]["notes"].to_string();
    assert!(
        notes.contains("The gateway and the transcripts count the same tokens in every trial of"),
        "{notes}"
    );
    assert_eq!(
        notes.contains("opencode: the transcript omits requests outside the task"),
        there.contains(&"opencode"),
        "{notes}"
    );
}

#[test]
#[ignore = "needs agents"]
fn they_find_skills_in_bubblewrap() {
    needs_bubblewrap!();
    see(&ALL, "\"bubblewrap\"");
}

#[test]
#[ignore = "needs agents and Docker"]
fn they_find_skills_in_docker() {
    see(&["claude-code", "codex"], "{ kind = \"docker\", images = { \"*\" = \"base:bookworm\" } }");
}

/// An image's user with a home, and one without: skills and state are in that home, and the proxy is reachable.
#[test]
#[ignore = "needs agents and Docker"]
fn they_work_for_other_users_in_docker() {
    let lab = words(lab());
    let there = installed(&lab, &["claude-code", "codex"]);
    let owned = |uid: &str| {
        format!(
            "[ \"$(stat -c %u /app/answer.txt)\" = {uid} ] && [ \"$(cat /app/answer.txt)\" = right ] && reward 1 || reward 0\n"
        )
    };
    let with_home = "FROM base:bookworm\nRUN echo worker:x:1000:1000::/home/worker:/bin/sh >> /etc/passwd; mkdir -p /app /home/worker; \
                     chown 1000 /app /home/worker\nWORKDIR /app\nUSER worker\n";
    let lab = lab.task("t1", |task| task.dockerfile(with_home).test_sh(&owned("1000"))).task("t2", |task| {
        task.dockerfile("FROM base:bookworm\nRUN mkdir /app && chown 1234 /app\nWORKDIR /app\n")
            .toml("[agent]\nuser = 1234\n")
            .test_sh(&owned("1234"))
    });
    experiment(
        &lab,
        "{ kind = \"docker\", images = { \"*\" = \"base:bookworm\" } }",
        &there,
        "scripted:turns.jsonl",
    );
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", format!("{text}[tasks.\"t2\"]\ncurated = [\"agreed-word\"]\n"));
    let (document, code) = lab.run(&["--no-checks", "--only", "condition=curated"]);
    assert_eq!((code, &document["executed"]), (0, &json!(2 * there.len())), "{document:#}");
    for record in records(&lab) {
        assert_eq!((&record["outcome"], &record["outside"]), (&json!("passed"), &Value::Null), "{record:#}");
        assert!(record["exposure"][0]["opened"].is_u64(), "{record:#}");
    }
}

/// The parts of a request that its protocol has for the system.
fn systems_text(body: &Value) -> String {
    let is_system = |item: &&Value| matches!(item["role"].as_str(), Some("system" | "developer"));
    let of = |list: &str| {
        let items = body[list].as_array().into_iter().flatten().filter(is_system);
        items.map(|item| item["content"].to_string()).collect::<String>()
    };
    [body["system"].to_string(), body["systemInstruction"].to_string(), of("input"), of("messages")].concat()
}

/// Told of skills in the system's text, every agent tells its model the same words, and nothing of them twice. What stands
/// there is no template, however much it looks like one.
#[test]
#[ignore = "needs agents"]
fn skills_can_stand_in_the_systems_text() {
    needs_bubblewrap!();
    let server = Server::start(|_, _| Answer::of(401, json!({ "error": { "message": "no such key" } })));
    let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];
    let mut lab = keys.into_iter().fold(words(lab()), |lab, key| lab.env(key, "k"));
    let there = installed(&lab, &ALL);
    let body = "# The word\n\nThe agreed word of {{ 7 * 7 }} houses is {% raw %} right {{ cwd }}, and $HOME is no variable.\nIt is \"quoted\" and \\n no line ends there.";
    lab = lab.skill("agreed-word", "Says which word ${HOME} {{ task }} ends with.", body);
    let spoken = |text: &str| serde_json::to_string(text).unwrap().trim_matches('"').to_owned();
    for name in there {
        for disclosure in ["offered", "eager"] {
            experiment(&lab, "\"bubblewrap\"", &[name], &format!("{}:test-1", provider(name)));
            let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
            let served = format!("timeout = 240\nplacement = \"system\"\nbase_url = \"{}\"\n", server.url());
            let told = format!("repetitions = 1\ndisclosure = \"{disclosure}\"\n");
            lab.write(
                "experiment.toml",
                text.replace("timeout = 240\n", &served).replace("repetitions = 1\n", &told),
            );
            let before = server.requests().len();
            let (document, code) = lab.run(&["--no-checks", "--no-preflight", "--only", "condition=curated"]);
            assert_eq!((code, &document["infrastructure"]), (3, &json!(1)), "{name}: {document:#}");
            let asked = server.requests().split_off(before);
            // OpenCode asks for a title beside the work.
            let asked = asked.iter().find(|one| !one.body["tools"].is_null()).unwrap();
            let (whole, system) = (asked.body.to_string(), systems_text(&asked.body));
            let listed = spoken(
                "- agreed-word: Says which word ${HOME} {{ task }} ends with. (file: /skills/agreed-word/SKILL.md)",
            );
            assert_eq!(
                (whole.matches(&listed).count(), system.matches(&listed).count()),
                (1, 1),
                "{name}: {system}"
            );
            assert_eq!(whole.matches("Says which word").count(), 1, "{name}: {whole}");
            let lines = usize::from(disclosure == "eager");
            assert_eq!(system.matches(&spoken(body)).count(), lines, "{name}, {disclosure}: {system}");
            assert_eq!(document["report"]["arms"][0]["placement"], "system");
        }
    }
}

/// What an agent takes by itself is told before it is killed for it.
#[test]
#[ignore = "needs agents"]
fn too_little_memory_is_reported() {
    needs_bubblewrap!();
    let lab = words(lab());
    installed(&lab, &["codex"]);
    experiment(&lab, "\"bubblewrap\"", &["codex"], "scripted:turns.jsonl");
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    let with = |megabytes: u32| {
        lab.write(
            "experiment.toml",
            text.replace("repetitions = 1\n", &format!("repetitions = 1\nmemory_mb = {megabytes}\n")),
        );
        lab.assay(&["run", "experiment.toml", "--no-checks", "--only", "condition=none"]).stderr
    };
    let told = with(64);
    assert!(told.contains("codex alone uses up to 83 MB, but one task allows only 64 MB"), "{told}");
    let told = with(512);
    assert!(!told.contains("codex alone uses"), "{told}");
}

/// One agent with its own folder and with the system's text: two arms with names and trials of their own.
#[test]
#[ignore = "needs agents"]
fn placements_are_arms() {
    needs_bubblewrap!();
    let lab = words(lab());
    installed(&lab, &["codex"]);
    experiment(&lab, "\"bubblewrap\"", &["codex", "codex"], "scripted:turns.jsonl");
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write(
        "experiment.toml",
        text.replacen("timeout = 240\n", "timeout = 240\nplacement = \"system\"\n", 1),
    );
    let (document, code) = lab.run(&[]);
    assert_eq!((code, &document["executed"]), (0, &json!(4)), "{document:#}");
    let arms = document["report"]["arms"].as_array().unwrap();
    let seen: Vec<Value> = arms
        .iter()
        .map(|arm| json!([arm["agent"], arm["condition"], arm["pass_rate"], arm["exposure"]["opened"]]))
        .collect();
    let expected = ["codex (system)", "codex (native)"]
        .map(|name| [json!([name, "none", 0.0, 0.0]), json!([name, "curated", 1.0, 1.0])]);
    assert_eq!(seen, expected.concat());
    let text = lab.assay(&["report", "lab"]).ok().stdout;
    assert!(text.contains("codex (system): skills were listed in the system prompt"), "{text}");
    let text = lab.assay(&["plan", "experiment.toml"]).stdout;
    assert!(text.contains("skills in the system prompt, curated: 1 trial, 1 cached"), "{text}");
    // How an agent announces its own skills folder cannot be changed.
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write(
        "experiment.toml",
        text.replace("repetitions = 1\n", "repetitions = 1\ndisclosure = \"eager\"\n"),
    );
    let ran = lab.assay(&["plan", "experiment.toml"]).ended(2);
    assert!(ran.stderr.contains("needs `placement = \"system\"`"), "{}", ran.stderr);
}

/// One table of agents and one of models, in the example as it stands.
#[test]
#[ignore = "needs all agents"]
fn agents_and_models_multiply() {
    needs_bubblewrap!();
    let lab = lab();
    let three = ["codex", "qwen-code", "opencode"];
    installed(&lab, &three);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let matrix = examples.join("matrix.toml").canonicalize().unwrap();
    let matrix = matrix.to_str().unwrap();
    let plan = lab.assay(&["plan", matrix, "--format", "json"]).json();
    let arms = plan["arms"].as_array().unwrap();
    assert_eq!((&plan["trials"], arms.len()), (&json!(28), 14), "{plan:#}");
    for name in &three[1..] {
        let models: Vec<&str> = arms
            .iter()
            .filter(|arm| arm["agent"] == **name)
            .map(|arm| arm["model"].as_str().unwrap())
            .collect();
        let expected = ["scripted:agents.jsonl", "scripted:careless.jsonl"].map(|model| [model; 2]).concat();
        assert_eq!(models, expected, "{name}");
    }
    // One agent of it is run, with each model and placement.
    let run = [
        "run",
        matrix,
        "--no-checks",
        "--only",
        "agent=codex",
        "--only",
        "task=log-sessions",
        "--format",
        "json",
    ];
    let ran = lab.assay(&run);
    let document = ran.json();
    assert_eq!((ran.code, &document["executed"]), (0, &json!(6)), "{}", ran.stderr);
    let opened: Vec<Value> = document["report"]["arms"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|arm| arm["condition"] == "curated" && arm["trials"] != 0)
        .map(|arm| json!([arm["agent"], arm["model"], arm["pass_rate"], arm["exposure"]["opened"]]))
        .collect();
    let (diligent, careless) = ("scripted:agents.jsonl", "scripted:careless.jsonl");
    let expected = [
        json!(["codex (native)", diligent, 1.0, 1.0]),
        json!(["codex", careless, 0.0, 0.0]),
        json!(["codex (system)", diligent, 1.0, 1.0]),
    ];
    assert_eq!(opened, expected, "{:#}", document["report"]["arms"]);
    let label = &read_json(&lab.path(".assay/runs/matrix/plan.json")).unwrap()["agents"][0]["label"];
    assert!(label["version"].as_str().is_some_and(|version| version.starts_with("0.")), "{label}");
}

/// A provider that refuses the key makes no result, and the key stays outside.
#[test]
#[ignore = "needs agents"]
fn a_refused_key_is_infrastructure() {
    needs_bubblewrap!();
    let secret = "sk-do-not-keep-me-77aa01c3";
    let server = Server::start(|_, _| Answer::of(401, json!({ "error": { "message": "no such key" } })));
    let lab = words(lab()).env("OPENAI_API_KEY", secret);
    installed(&lab, &["codex"]);
    experiment(&lab, "\"bubblewrap\"", &["codex"], "openai:test-1");
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    let served = format!("timeout = 240\nbase_url = \"{}\"\n", server.url());
    lab.write("experiment.toml", text.replace("timeout = 240\n", &served));
    let (document, code) = lab.run(&["--no-checks", "--only", "condition=curated"]);
    assert_eq!((code, &document["infrastructure"]), (3, &json!(1)), "{document:#}");
    let record = &records(&lab)[0];
    assert_eq!(record["cause"], "model_provider", "{record:#}");
    assert_eq!(server.requests()[0].authorization, Some(format!("Bearer {secret}")));
    assert_eq!(server.requests()[0].body["model"], "test-1");
    for file in files(&lab.path(".assay")) {
        let bytes = fs::read(&file).unwrap();
        let holds = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!holds, "{} holds the key", file.display());
    }
}

/// The proxy enforces caps, and the work done until then is graded.
#[test]
#[ignore = "needs agents"]
fn a_cap_on_tokens_stops_an_agent() {
    needs_bubblewrap!();
    let lab = words(lab());
    installed(&lab, &["codex"]);
    experiment(&lab, "\"bubblewrap\"", &["codex"], "scripted:turns.jsonl");
    let text = fs::read_to_string(lab.path("experiment.toml")).unwrap();
    lab.write("experiment.toml", text.replace("timeout = 240\n", "timeout = 240\nmax_tokens = 100\n"));
    let (document, code) = lab.run(&["--no-checks", "--only", "condition=curated"]);
    assert_eq!((code, &document["executed"]), (0, &json!(1)), "{document:#}");
    let record = &records(&lab)[0];
    assert_eq!((&record["outcome"], &record["ended"]["kind"]), (&json!("failed"), &json!("token_limit")));
    let ledger = read_json(&attempt(record, "gateway.json")).unwrap();
    assert_eq!((&ledger["capped"]["of"], &ledger["capped"]["scope"]), (&json!("tokens"), &json!("trial")));
}

/// Eight broken set-ups of agents, and the failed check of each.
#[test]
#[ignore = "needs all agents"]
fn broken_set_ups_are_told_apart() {
    needs_bubblewrap!();
    let lab = lab();
    let claude = "node_modules/@anthropic-ai/claude-code-linux-x64/claude";
    let check = |agent: &'static str, broken: &dyn Fn(&Path), what: &str, says: &str| {
        installed(&lab, &[agent]);
        let cache = lab.path(&format!("cache-{what}"));
        copy(&lab, agent, &cache);
        broken(&cache);
        let broken = Fixture::new().env("ASSAY_CACHE", cache.to_str().unwrap());
        let found = broken.assay(&["agent", "doctor", agent, "--format", "json"]).ended(1).json();
        let failed = found["agents"][0]["checks"].as_array().unwrap().iter();
        let failed: Vec<_> = failed.filter(|check| check["passed"] == false).collect();
        assert_eq!(failed[0]["what"], what, "{found:#}");
        assert!(failed[0]["text"].as_str().unwrap().contains(says), "{found:#}");
        if what == "listed" && says == "skills are disabled" {
            // A run does not begin with an agent that is blind.
            let blind = words(Fixture::new().env("ASSAY_CACHE", cache.to_str().unwrap()));
            experiment(&blind, "\"bubblewrap\"", &[agent], "scripted:turns.jsonl");
            let ran = blind.assay(&["run", "experiment.toml"]).ended(3);
            assert!(
                ran.stderr.contains("claude-code failed the agent check in bubblewrap"),
                "{}",
                ran.stderr
            );
        }
        fs::remove_dir_all(cache).unwrap();
    };
    // What stands between assay and the agent, and goes wrong in one way each.
    let wrapped = |script: &'static str| {
        move |cache: &Path| {
            let program = find(cache, claude);
            fs::rename(&program, program.with_extension("real")).unwrap();
            let text = format!("#!/bin/bash\nreal=/opt/assay/agent/{claude}.real\n{script}\n");
            fs::write(&program, text).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
    };
    check(
        "claude-code",
        &|cache| fs::remove_file(find(cache, claude)).unwrap(),
        "installed",
        "assay agent install",
    );
    check("claude-code", &wrapped("HOME=/tmp/elsewhere exec \"$real\" \"$@\""), "listed", "another folder");
    check(
        "claude-code",
        &wrapped("CLAUDE_CONFIG_DIR=/tmp/own exec \"$real\" \"$@\""),
        "listed",
        "another folder",
    );
    check(
        "claude-code",
        &wrapped("exec \"$real\" \"$@\" --disable-slash-commands"),
        "listed",
        "skills are disabled",
    );
    check("claude-code", &wrapped("exec \"$real\" \"$@\" > /dev/null"), "transcript", "output is missing");
    check("claude-code", &wrapped("ANTHROPIC_API_KEY=other exec \"$real\" \"$@\""), "model", "status 401");
    let plain = "args=(); for arg; do case $arg in --output-format|--verbose) ;; stream-json) ;; *) args+=(\"$arg\");; esac; done\n\
                 exec \"$real\" \"${args[@]}\"";
    check("claude-code", &wrapped(plain), "transcript", "not in the format");
    let no_rg =
        |cache: &Path| fs::remove_file(find(cache, "node_modules/@vscode/ripgrep-linux-x64/bin/rg")).unwrap();
    check("opencode", &no_rg, "opened", "ripgrep");
}

/// An installation in a cache of its own; big files are linked where that can be done.
fn copy(lab: &Fixture, agent: &str, cache: &Path) {
    let listed = lab.assay(&["agent", "list", "--format", "json"]).ok().json();
    let agents = listed["agents"].as_array().unwrap();
    let own = agents.iter().find(|own| own["name"] == agent).unwrap();
    let from = PathBuf::from(own["folder"].as_str().unwrap());
    let to = cache.join("agents").join(agent).join(own["version"].as_str().unwrap());
    for file in files(&from) {
        let target = to.join(file.strip_prefix(&from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        if fs::hard_link(&file, &target).is_err() {
            fs::copy(&file, &target).unwrap();
        }
    }
}

fn find(cache: &Path, end: &str) -> PathBuf {
    files(cache).into_iter().find(|file| file.ends_with(end)).unwrap()
}

/// All regular files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

/// Agents call a tool of the task's MCP server, which is a service; with the skill both know what to make of its answer.
/// Qwen Code can call it, too, but lists such tools on request only.
#[test]
#[ignore = "needs agents and Docker"]
fn they_use_mcp_servers_in_docker() {
    let lab = lab();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    assert!(
        Command::new("cp").arg("-r").arg(examples.join("mcp")).arg(lab.folder()).status().unwrap().success()
    );
    let there = installed(&lab, &["claude-code", "codex", "gemini-cli", "opencode"]);
    let text = fs::read_to_string(lab.path("mcp/experiment.toml")).unwrap();
    let named = text.replace("\"claude-code\", \"codex\"", &format!("\"{}\"", there.join("\", \"")));
    lab.write("mcp/experiment.toml", &named);
    let ran =
        lab.start(&["run", "mcp/experiment.toml", "--format", "json"]).wait_for(Duration::from_mins(10));
    let document = ran.ok().json();
    let counts = (&document["executed"], &document["infrastructure"]);
    assert_eq!(counts, (&json!(2 * there.len()), &json!(0)), "{document:#}");
    for record in records(&lab) {
        let expected = if record["condition"] == "curated" { "passed" } else { "failed" };
        assert_eq!(record["outcome"], expected, "{record:#}");
        let trajectory = fs::read_to_string(attempt(&record, "trajectory.json")).unwrap();
        assert!(trajectory.contains("lantern: 18.50 EUR"), "{record:#}");
    }
    // An agent without MCP excludes the task for all.
    lab.write("mcp/experiment.toml", text.replace("\"codex\"]\nmodels", "\"loop\"]\nmodels"));
    let ran = lab.assay(&["run", "mcp/experiment.toml"]).ended(3);
    assert!(ran.stderr.contains("cannot be given to the agent `loop`"), "{ran:?}");
}

/// Each example's file can be planned, with the trials that its comments promise.
#[test]
#[ignore = "needs all agents"]
fn the_examples_of_agents_can_be_planned() {
    needs_bubblewrap!();
    let lab = lab();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let two = ["claude-code", "codex"];
    for (file, agents, trials) in
        [("agents.toml", &ALL[..], 24), ("agents-docker.toml", &two, 8), ("claude-code.toml", &two[..1], 4)]
    {
        assert_eq!(installed(&lab, agents).len(), agents.len());
        let file = examples.join(file).canonicalize().unwrap();
        let plan = lab.assay(&["plan", file.to_str().unwrap(), "--format", "json"]).json();
        assert_eq!(plan["trials"], trials, "{}: {plan:#}", file.display());
    }
}
