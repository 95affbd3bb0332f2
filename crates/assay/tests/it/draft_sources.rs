//! `assay draft run` with several skills, with intents, with inputs and with generated files.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::draft_run::start_author;
use crate::fixture::{Fixture, needs_bubblewrap, read_json};
use crate::ledger::{self, file};
use crate::server::{Answer, Request};

fn lab() -> Fixture {
    let charts = "# Charts\n\nAmounts of charts are always in minor units of the currency of the shop.";
    let lab = Fixture::new().env("OPENAI_API_KEY", "k");
    lab.skill("ledger", "Exports ledgers.", ledger::BODY).skill("charts", "Draws charts.", charts)
}

fn text_of(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let user = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    user["content"].as_str().unwrap().to_owned()
}

const CHECK: &str = r#"import glob, os
from sets import check

def lines():
    return [line.rstrip("\n") for path in sorted(glob.glob("*.txt")) for line in open(path)]

@check("gc-sum")
def gc_sum():
    data = open(os.path.join(os.path.dirname(__file__), "data.bin"), "rb").read()
    assert any(line == str(sum(data)) for line in lines()), "the sum is a line"

@check("d01")
def if_d01():
    assert glob.glob("close-ledger.txt")

@check("d02")
def if_d02():
    assert lines()[0] == "LEDGER/4"

@check("d03")
def if_d03():
    assert any("dormant" in line for line in lines())

@check("d05")
def if_d05():
    assert lines()[-1] == "-- filed --"
"#;

const SUM: &str = "python3 -c 'print(sum(open(\"data.bin\", \"rb\").read()))'";

/// The items of the ledger's task that this one has as well.
fn items() -> Value {
    let mut items = ledger::items();
    items
        .as_array_mut()
        .unwrap()
        .retain(|item| ["d01", "d02", "d03", "d05"].iter().any(|id| item["id"] == *id));
    items[2]["mutant"] = json!([{"find": "sensor dormant", "replace": "sensor"}]);
    items.as_array_mut().unwrap().push(json!({"set": "gc", "id": "gc-sum", "text": "the sum is stated"}));
    items
}

/// The files of a task about the bytes of `data.bin`, which `data` provides.
fn files(data: &[Value]) -> Value {
    let solve = format!(
        "#!/bin/bash\nname=close-ledger.txt\n{{\necho \"LEDGER/4\"\necho \"sensor dormant\"\n{SUM}\necho \"-- filed --\"\n}} > \"$name\"\n"
    );
    let own = [
        file(
            "instruction.md",
            "The file /app/data.bin has raw readings of a sensor. Please add all of its bytes up and leave a text with the sum, as a whole number on a line of its own, at /app/NAME.txt, the way we usually file such sums.",
        ),
        file("tests/check.py", CHECK),
        file("solution/solve.sh", &solve),
    ];
    let all = [&own[..], data].concat();
    json!({ "files": all, "items": items() })
}

/// The work without the skill.
fn blind() -> Answer {
    Answer::done(&ledger::script(&format!("#!/bin/bash\n{SUM} > report.txt\n")))
}

fn ideas(more: &Value) -> String {
    let mut idea = ledger::idea("readings");
    for (key, value) in more["idea"].as_object().into_iter().flatten() {
        idea[key] = value.clone();
    }
    let mut reply = json!({"ideas": [idea]});
    if let Some(unused) = more.get("unused") {
        reply["unused"] = unused.clone();
    }
    reply.to_string()
}

/// Drafts with the directives of the ledger.
fn draft(lab: &Fixture, url: &str, skills: &[&str], more: &[&str]) -> crate::fixture::Ran {
    lab.assay(&args(url, &[skills, more, &["--stop-after", "needs"]].concat())).ok();
    lab.write("draft/directives.json", ledger::directives().to_string());
    let resume = ["--resume", "--base-url", url, "--out", "draft", "--format", "json"];
    lab.assay(&[&["draft", "run"], skills, &resume].concat())
}

fn args<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let own = [
        "draft",
        "run",
        "--base-url",
        url,
        "--out",
        "draft",
        "--model",
        "openai:gpt-5",
        "--tasks",
        "1",
        "--force",
    ];
    [&own[..], more, &["--format", "json"]].concat()
}

#[test]
fn a_task_needs_all_skills_serves_an_intent_and_has_an_input() {
    needs_bubblewrap!();
    let server = start_author(|_, request| {
        let text = text_of(request);
        if text.starts_with("Propose") {
            assert!(text.contains("needs all of them") && text.contains("--- skill charts "), "{text}");
            let intent = text.split("\n--- intent-1 ").nth(1).unwrap();
            let intent = intent.split_once('\n').unwrap().1;
            assert!(intent.starts_with("Sum the readings\n\nOf all sensors."), "{text}");
            assert!(
                text.contains("data.bin, 3 bytes, a binary file")
                    && text.contains("begins with: ")
                    && text.contains("\nhello"),
                "{text}"
            );
            let more = json!({"idea": {"intents": ["intent-1"]}, "unused": [{"id": "intent-2", "reason": "No test."}]});
            return Answer::done(&ideas(&more));
        }
        if text.starts_with("Do this work") {
            return blind();
        }
        assert!(text.contains("What the person asked for") && !text.contains("Make tea"), "{text}");
        let copies = [
            json!({"path": "environment/files/data.bin", "copy": "data.bin"}),
            json!({"path": "tests/data.bin", "copy": "data.bin"}),
        ];
        Answer::done(&files(&copies).to_string())
    });
    let issues = json!([
        {"number": 7, "title": "Sum the readings", "body": "Of all sensors.", "url": "https://example.org/7"},
        {"number": 8, "title": "Make tea", "body": ""},
    ]);
    let lab = lab()
        .file("issues.json", issues.to_string())
        .file("in/notes/a.txt", "hello\n")
        .file("in/data.bin", [1, 255, 4]);
    let url = server.url();
    let sources = ["--intents", "issues.json", "--inputs", "in"];
    let ran = draft(&lab, &url, &["skills/ledger", "skills/charts"], &sources).ok().json();
    assert_eq!(ran["tasks"][0]["state"], "accepted", "{ran:#}");
    let intents = read_json(&lab.path("draft/intents.json")).unwrap();
    assert_eq!(intents["intents"][0]["source"], "https://example.org/7");
    assert_eq!(intents["intents"][1]["source"], "issues.json#8");
    let ideas = read_json(&lab.path("draft/ideas.json")).unwrap();
    assert_eq!(ideas["unused"], json!([{"id": "intent-2", "reason": "No test."}]));
    let toml: toml::Table =
        fs::read_to_string(lab.path("draft/tasks/readings/task.toml")).unwrap().parse().unwrap();
    let skills: Vec<&str> = toml["metadata"]["required_skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(skills, ["ledger", "charts"]);
    assert_eq!(toml["metadata"]["draft"]["intents"].as_array().unwrap()[0].as_str(), Some("intent-1"));
    assert_eq!(fs::read(lab.path("draft/tasks/readings/environment/files/data.bin")).unwrap(), [1, 255, 4]);
    assert_eq!(read_json(&lab.path("draft/needs.json")).unwrap()["skill"], "ledger, charts");
    // Both skills are provided.
    let plan = lab.assay(&["plan", "draft/experiment.toml", "--format", "json"]);
    assert!(plan.code < 2, "{}", plan.stderr);
    // The draft goes on without its sources.
    fs::remove_dir_all(lab.path("in")).unwrap();
    let resume = [
        "draft",
        "run",
        "skills/ledger",
        "skills/charts",
        "--resume",
        "--base-url",
        &url,
        "--out",
        "draft",
        "--force",
    ];
    lab.assay(&resume).ok();
    assert_eq!(server.requests().len(), 5);
    let other = lab.assay(&["draft", "run", "skills/ledger", "--resume", "--out", "draft"]).ended(2);
    assert!(other.stderr.contains("not the one that draft was drafted for"), "{}", other.stderr);
}

#[test]
fn a_program_of_the_task_makes_its_files() {
    needs_bubblewrap!();
    let good = "import os, random\nrandom.seed(1)\ndata = random.randbytes(70000)\nfor folder in ('files', 'tests'):\n    os.mkdir(folder)\n    open(folder + '/data.bin', 'wb').write(data)\n";
    let unstable = good.replace("random.seed(1)\n", "");
    let server = start_author(move |_, request| {
        let text = text_of(request);
        if text.starts_with("Propose") {
            return Answer::done(&ideas(&json!({})));
        }
        if text.starts_with("Write the files") {
            return Answer::done(
                &files(&[file("tests/generate.py", "raise SystemExit('no seed')")]).to_string(),
            );
        }
        if text.starts_with("Do this work") {
            return blind();
        }
        if text.contains("generator-fails") {
            assert!(text.contains("ends with status 1: no seed"), "{text}");
            return Answer::done(&json!({"files": [file("tests/generate.py", &unstable)]}).to_string());
        }
        assert!(text.contains("generator-unstable") && text.contains("randbytes"), "{text}");
        Answer::done(&json!({"files": [file("tests/generate.py", good)]}).to_string())
    });
    let lab = lab();
    let url = server.url();
    let ran = draft(&lab, &url, &["skills/ledger"], &[]).ok().json();
    assert_eq!(
        (&ran["tasks"][0]["state"], &ran["tasks"][0]["repairs"]),
        (&json!("accepted"), &json!(2)),
        "{ran:#}"
    );
    assert_eq!(
        fs::metadata(lab.path("draft/tasks/readings/environment/files/data.bin")).unwrap().len(),
        70_000
    );
    let resume =
        ["draft", "run", "skills/ledger", "--resume", "--base-url", &url, "--out", "draft", "--force"];
    lab.assay(&resume).ok();
    assert_eq!(server.requests().len(), 7);
}

#[test]
fn generators_stay_in_their_folder() {
    needs_bubblewrap!();
    let check = |program: &str, expected: &str| {
        let program = program.to_owned();
        let server = start_author(move |_, request| {
            let text = text_of(request);
            if text.starts_with("Propose") && text.contains("it fell: ") {
                return Answer::done(r#"{"ideas": []}"#);
            }
            if text.starts_with("Propose") {
                return Answer::done(&ideas(&json!({})));
            }
            Answer::done(&files(&[file("tests/generate.py", &program)]).to_string())
        });
        let lab = lab();
        let url = server.url();
        let ran = draft(&lab, &url, &["skills/ledger"], &[]).ended(1).json();
        let reason = ran["tasks"][0]["reason"].as_str().unwrap();
        assert!(reason.contains(expected), "{reason}");
    };
    check(
        "import os\nos.mkdir('files')\nos.symlink('/etc/passwd', 'files/a')",
        "neither a file nor a folder",
    );
    check("open('a', 'w').write('x')", "files are below files/ or tests/");
    check("import os\nos.mkdir('tests')\nopen('tests/check.py', 'w').write('x')", "and not its own");
    check("pass", "writes 0 files");
    check("open('/generator/generate.py', 'w')", "ends with status 1");
}

#[test]
fn bad_sources_are_refused_before_anything_is_asked() {
    let lab = lab()
        .file("empty.json", "[]")
        .file("broken.json", "[\n{")
        .file("lines.jsonl", "{\"text\": \"a\"}\n{\"body\": \"b\"}\n")
        .file("binary.md", [0xff, 0xfe])
        .file("none/.keep", "");
    fs::create_dir(lab.path("linked")).unwrap();
    symlink("/etc/passwd", lab.path("linked/a")).unwrap();
    let check = |more: &[&str], expected: &str| {
        let ran = lab.assay(&args("http://127.0.0.1:9/v1", &[&["skills/ledger"], more].concat())).ended(2);
        assert!(ran.stderr.contains(expected), "{more:?}: {}", ran.stderr);
        let _ = fs::remove_dir_all(lab.path("draft"));
    };
    check(&["--intents", "absent.md"], "cannot read absent.md");
    check(&["--intents", "broken.json"], "broken.json:2");
    check(&["--intents", "empty.json"], "contains no intent");
    check(&["--intents", "lines.jsonl"], "lines.jsonl:2: no `text`");
    check(&["--intents", "binary.md"], "not a text in UTF-8");
    check(&["--intents", "absent"], "does not exist");
    check(&["--inputs", "linked"], "linked/a is a link");
    check(&["--inputs", "absent"], "absent");
    check(&["skills/ledger"], "two of the skills are called ledger");
}
