//! `assay lab route bench` against a server that speaks OpenAI's chat completions, and without one.

use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::server::{Answer, Request, Server};

const PROMPTS: &str = r#"{"prompt_id":"p1","prompt":"make a pivot table","expected_primary_skill":"sheets","rejected_skills":["logs"]}
{"prompt_id":"p2","prompt":"audit the log of last night","expected_primary_skill":"logs","acceptable_secondary_skills":["sheets"]}
{"prompt_id":"p3","prompt":"translate a poem","expected_primary_skill":null}
{"prompt_id":"p4","prompt":"export the sheet","expected_primary_skill":"nowhere"}
"#;

fn lab() -> Fixture {
    Fixture::new()
        .skill("sheets", "Makes pivot tables and exports from sheets.", "# Sheets")
        .skill("logs", "Audits logs.", "# Logs")
        .skill("mail", "Writes letters.", "# Mail")
        .file("prompts.jsonl", PROMPTS)
}

fn bench(lab: &Fixture, more: &[&str]) -> Vec<String> {
    let base =
        ["--format", "json", "lab", "route", "bench", "--prompts", "prompts.jsonl", "--library", "skills"];
    let _ = lab;
    base.iter().chain(more).map(|arg| (*arg).to_owned()).collect()
}

fn ran(lab: &Fixture, more: &[&str]) -> crate::fixture::Ran {
    let args = bench(lab, more);
    lab.assay(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn mean(router: &Value, share: &str) -> f64 {
    router[share]["mean"].as_f64().unwrap_or(f64::NAN)
}

/// Chooses by what the request says, whatever the order.
fn choose(_: usize, asked: &Request) -> Answer {
    let text = asked.body["messages"][0]["content"].as_str().unwrap_or_default();
    let request = text.split("<request>").nth(1).unwrap_or_default();
    Answer::done(match request {
        request if request.contains("pivot") => r#"{"ranking":["sheets","mail"],"confidence":0.9}"#,
        request if request.contains("audit") => r#"{"ranking":["sheets"]}"#,
        _ => r#"{"ranking":[]}"#,
    })
}

#[test]
fn a_model_is_asked_once_for_each_question() {
    let server = Server::start(choose);
    let lab = lab().env("OPENAI_API_KEY", "sk-loopback-0123456789");
    let url = server.url();
    let model = [
        "--model",
        "openai:test-1",
        "--base-url",
        url.as_str(),
        "--repetitions",
        "2",
        "--price",
        "1,10",
        "--no-cap",
    ];
    let first = ran(&lab, &model).ok();
    assert!(first.stderr.contains("prompts.jsonl:4: error: `p4` expects `nowhere`"), "{}", first.stderr);
    let found = first.json();
    assert_eq!((&found["schema"], &found["prompts"]), (&json!("assay.route/1"), &json!(3)));
    assert_eq!(found["measures_a_model"], true);
    let router = &found["routers"][0];
    assert_eq!(router["statuses"], json!({ "finished": 6 }));
    assert!((mean(router, "top1") - 0.5).abs() < 1e-12, "{router:#}");
    assert!((mean(router, "top1_acceptable") - 1.0).abs() < 1e-12);
    assert!((mean(router, "abstention") - 1.0).abs() < 1e-12);
    assert!((mean(router, "order_stability") - 1.0).abs() < 1e-12);
    assert_eq!(router["failures"][0]["prompt"], "p2");
    assert!(router["cost_usd"].as_f64().is_some_and(|usd| usd > 0.0), "{router:#}");
    let lexical: Vec<&str> = found["routers"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .filter_map(|router| router["router"].as_str())
        .collect();
    assert_eq!(lexical.len(), 5);
    assert!(lexical.contains(&router["lift"]["router"].as_str().unwrap()));
    assert_eq!(server.requests().len(), 6);

    let again = ran(&lab, &model).ok().json();
    assert_eq!(again, found, "nothing has changed, so nothing was asked and nothing else was found");
    assert_eq!(server.requests().len(), 6);
    let lab = lab.skill("mail", "Writes letters and poems.", "# Mail");
    assert_eq!(ran(&lab, &model).ok().json()["prompts"], 3);
    assert_eq!(server.requests().len(), 12, "every question showed the description that changed");
    let history = std::fs::read_to_string(lab.path(".assay/routes/history.jsonl")).unwrap();
    assert_eq!(history.lines().count(), 3);
}

#[test]
fn an_absent_model_is_no_wrong_answer() {
    let server = Server::start(|_, _| Answer::of(401, json!({ "error": { "message": "who are you?" } })));
    let url = server.url();
    let lab = lab();
    let lost = ran(&lab, &["--model", "openai:test-1", "--base-url", &url, "--repetitions", "1"]).ended(3);
    let found = lost.json();
    let router = &found["routers"][0];
    assert_eq!((&router["statuses"], &router["top1"]), (&json!({ "error": 3 }), &Value::Null));
    assert!(
        lost.stderr.contains("3 questions without an answer") && lost.stderr.contains("who are you?"),
        "{}",
        lost.stderr
    );
}

#[test]
fn what_it_would_take_is_said_without_a_key() {
    let lab = lab();
    let forecast = ran(&lab, &["--model", "anthropic:any", "--dry-run", "--price", "3,15"]).ok().json();
    assert_eq!(forecast["models"][0]["questions"], 9);
    assert!(forecast["models"][0]["usd"].as_f64().is_some_and(|usd| usd > 0.0));
    let text = forecast["first"]["text"].as_str().unwrap();
    assert!(text.contains("make a pivot table") && text.contains("Audits logs."), "{text}");
    let check = |more: &[&str], expected: &str| {
        let refused = ran(&lab, more).ended(2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    };
    check(&["--model", "anthropic:any"], "this run has no cap");
    check(&["--model", "openai:any", "--max-usd", "1"], "--max-usd needs --price");
    check(&["--template", "prompts.jsonl"], "the template has no placeholder {{SKILL_BLOCK}}");
}

#[test]
fn words_are_counted_without_a_model() {
    let lab = lab();
    let found = ran(&lab, &[]).ok().json();
    assert_eq!((&found["measures_a_model"], found["routers"].as_array().unwrap().len()), (&json!(false), 5));
    let text = lab
        .assay(&["lab", "route", "bench", "--prompts", "prompts.jsonl", "--library", "skills"])
        .ok()
        .stdout;
    insta::assert_snapshot!(text);
    assert!(Path::new(&lab.path(".assay/routes/history.jsonl")).exists());
}

#[test]
fn an_unknown_key_in_the_prompt_file_is_refused_with_its_line() {
    let lab = lab().file(
        "typo.jsonl",
        "{\"prompt_id\":\"p1\",\"prompt\":\"x\",\"expected_primary_skill\":\"logs\"}\n\n{\"prompt_id\":\"p2\",\"prompt\":\"y\",\"expected_primary_skil\":\"logs\"}\n",
    );
    let refused =
        lab.assay(&["lab", "route", "bench", "--prompts", "typo.jsonl", "--library", "skills"]).ended(2);
    for told in [
        "typo.jsonl:3: error: unknown key `expected_primary_skil`; did you mean `expected_primary_skill`?",
        "supported keys: prompt_id, prompt, expected_primary_skill, acceptable_secondary_skills, rejected_skills, off_topic, reason",
    ] {
        assert!(refused.stderr.contains(told), "{told:?} is not in {}", refused.stderr);
    }
    assert_eq!(refused.stdout, "");
}

#[test]
fn front_matter_of_skills_that_are_used_is_not_linted() {
    // The folder's name is not the skill's: an error to `assay lint`, and the skill is offered all the same.
    let lab = lab().file(
        "skills/odd/SKILL.md",
        "---\nname: Odd Name\ndescription: Odd: unquoted\nextra: 1\n---\n# Odd\n",
    );
    let ran = lab.assay(&["lab", "route", "bench", "--prompts", "prompts.jsonl", "--library", "skills"]).ok();
    assert!(!ran.stderr.contains("SKILL.md"), "{}", ran.stderr);
    let verbose = lab
        .assay(&["--verbose", "lab", "route", "bench", "--prompts", "prompts.jsonl", "--library", "skills"])
        .ok();
    assert!(verbose.stderr.contains("odd/SKILL.md"), "{}", verbose.stderr);
    // A folder that is missing costs skills, and is told.
    let lost =
        lab.assay(&["lab", "route", "bench", "--prompts", "prompts.jsonl", "--library", "skills", "nowhere"]);
    assert!(lost.stderr.contains("nowhere"), "{}", lost.stderr);
}

#[test]
fn the_skill_for_one_request_is_shown() {
    let lab = lab();
    let found = lab.assay(&["route", "export a pivot table", "--library", "skills"]).ok();
    assert_eq!(found.stdout, "chosen     sheets\nrouter     bm25-description, 3 skills\n");
    let document = lab.assay(&["route", "audits", "--library", "skills", "--format", "json"]).ok().json();
    assert_eq!((&document["schema"], &document["choice"]), (&json!("assay.route-request/1"), &json!("logs")));
    assert_eq!(
        (&document["skills"], &document["answers"], &document["measures_a_model"]),
        (&json!(3), &json!(1), &json!(false))
    );
    let none = lab.assay(&["route", "zebra", "--library", "skills"]).ok();
    assert!(none.stdout.starts_with("chosen     no skill\n"), "{}", none.stdout);
    assert!(
        lab.assay(&["route", " ", "--library", "skills"]).ended(2).stderr.contains("the request is empty")
    );
    lab.assay(&["route", "export", "--library", "nowhere"]).ended(2);
}

#[test]
fn a_model_chooses_for_one_request_in_several_orders() {
    let server = Server::start(choose);
    let lab = lab().env("OPENAI_API_KEY", "sk-loopback-0123456789");
    let url = server.url();
    let ask = |more: &[&str]| {
        let args = [
            "route",
            "make a pivot table",
            "--library",
            "skills",
            "--model",
            "openai:test-1",
            "--base-url",
            &url,
        ];
        lab.assay(&[&args[..], more].concat())
    };
    let found = ask(&["--price", "1,10"]).ok();
    assert!(
        found.stdout.starts_with(
            "chosen     sheets in 3 of 3 orders\nrunner-up  mail: first in 0 and second in 3 of 3 orders\n\
             router     openai:test-1, 3 skills\ncost       $"
        ),
        "{}",
        found.stdout
    );
    // The answers are kept.
    let document = ask(&["--format", "json"]).ok().json();
    assert_eq!(server.requests().len(), 3);
    assert_eq!((&document["choice_count"], &document["unanswered"]), (&json!(3), &json!(0)));
    assert_eq!(document["runner_up"], json!({ "skill": "mail", "first": 0, "second": 3 }));
    assert!(ask(&["--max-usd", "1"]).ended(2).stderr.contains("--max-usd needs --price"));
}
