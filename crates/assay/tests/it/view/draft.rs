//! The pages of a draft, and the decisions that they take.

use serde_json::json;

use super::Viewer;
use super::review::post;
use crate::fixture::{Fixture, read_json};

const HOSTILE: &str = "</td><script>window.stolen=1</script>";

/// A draft with everything that a stage may have written.
pub(super) fn lab() -> Fixture {
    let digest = "ab".repeat(32);
    let reply = json!({"schema": "assay.draft-reply/1", "model": "openai:m", "prompt": "ideas", "version": "v1", "system": "s",
        "request": HOSTILE, "reply": "{}", "usage": {"input": 12, "output": 3}, "replies": 1});
    Fixture::new()
        .file("draft/draft.json", json!({"schema": "assay.draft/1", "skill": "ledger", "model": "openai:m", "stage": "experiment", "prompts": {"ideas": "v1"}}).to_string())
        .file("draft/needs.json", json!({"verdict": "double", "needs": {"multi_turn": [{"line": 10, "text": HOSTILE, "by": "question"}]}, "unmet": [{"category": "multi_turn", "name": null, "double": "scripted_user", "rules_out": true}]}).to_string())
        .file("draft/directives.json", json!({"files": [{"file": "references/a.md", "lines": 9, "read_to": 0}], "directives": [{"id": "d01", "file": "SKILL.md", "lines": "12", "text": HOSTILE, "class": "convention", "answer": "EUR", "default": "USD", "known": 1}], "dismissed": [{"file": "SKILL.md", "lines": "3", "quote": "Welcome.", "reason": "filler"}]}).to_string())
        .file("draft/probe.json", json!({"model": "openai:small", "reader": "openai:m", "directives": {"d01": {"question": "Which currency?", "replies": ["dollars", null], "matches": [false, null], "verdict": "unclear"}}}).to_string())
        .file("draft/ideas.json", json!({"ideas": [{"name": "sums", "title": HOSTILE, "summary": "Adds.", "checks": ["a", "b"], "intents": ["intent-1"]}, {"name": "other", "summary": "Else."}], "unused": [{"id": "intent-2", "reason": "no test"}]}).to_string())
        .file("draft/intents.json", json!({"intents": [{"id": "intent-1", "source": "a.md", "text": "Add."}, {"id": "intent-2", "source": "b.md", "text": HOSTILE}]}).to_string())
        .file("draft/tasks/sums/instruction.md", format!("Add it up. {HOSTILE}\n"))
        .file("draft/tasks/sums/tests/test.sh", "exit 0\n")
        .file("draft/tasks/sums/tests/items.json", json!({"items": [{"id": "d01", "set": "if", "class": "knowledge", "file": "SKILL.md", "line": 7, "text": HOSTILE, "canary": true}]}).to_string())
        .file("draft/evidence/sums.json", json!({"blind": [{"met": {"d01": true}}, {"met": {"d01": false}}], "with_skill": [{"met": {"d01": true}}], "dropped": [{"id": "d02", "reason": "unfair: d02: a matter of taste"}], "missing": []}).to_string())
        .file("draft/infeasible/other/instruction.md", "Else.\n")
        .file("draft/proposals/sums.json", json!({"repairs": 1}).to_string())
        .file("draft/validation.json", json!({"tasks": {"sums": {"digest": "d", "repairs": 1, "warnings": [{"code": "few-tests", "message": HOSTILE}]}}}).to_string())
        .file("draft/infeasible.json", json!({"tasks": {"other": {"reason": "oracle-fails: x", "faults": [{"code": "oracle-fails", "message": "x"}], "repairs": 2}}}).to_string())
        .file("draft/solvers.json", json!({"model": "openai:other", "tasks": {"sums": {"solved": true, "attempts": [{"condition": "none", "outcome": "failed"}, {"condition": "curated", "outcome": "passed"}]}}}).to_string())
        .file("draft/attempts.json", json!({"model": "openai:small", "tasks": {"sums": [{"without": {"outcome": "failed", "met": {"d01": false, "gc-sum": true}}, "with": {"outcome": "passed", "met": {"d01": true}}, "faults": [{"code": "too-few-items", "message": HOSTILE}]}]}}).to_string())
        .file("draft/headroom.json", json!({"run": "ledger-pilot", "removed_share": 0.5, "tasks": {"sums": {"trials": 3, "passed": 1, "removed": false}, "gone": {"trials": 3, "passed": 3, "removed": true}}}).to_string())
        .file("draft/experiment.toml", "schema = \"assay.experiment/1\"\n")
        .file("draft/reviews/sums.md", "# sums\n")
        .file("draft/requests.jsonl", json!({"schema": "assay.request/1", "query": HOSTILE, "gold_names": ["ledger"], "source": "draft"}).to_string())
        .file(&format!("draft/replies/{digest}.json"), reply.to_string())
}

pub(super) fn start(lab: &Fixture) -> Viewer {
    Viewer::with(lab, &["view", "--draft", "draft", "--port", "0", "--quiet"])
}

#[test]
fn each_stage_has_a_page() {
    let lab = lab();
    let viewer = start(&lab);
    let reply = format!("/draft/replies/{}/", "ab".repeat(32));
    let check = |path: &str, parts: &[&str]| {
        let page = viewer.get(path);
        assert!(!page.contains("<script>window"), "{path}: {page}");
        for part in parts {
            assert!(page.contains(part), "{path}: {part}: {page}");
        }
    };
    check("/", &["href=\"/draft/\""]);
    check(
        "/draft/",
        &[
            "skill ledger · model openai:m · stage experiment",
            "2 ideas",
            "1 infeasible, 2 accepted",
            "1 solved by another model",
            "1 too easy",
            "oracle-fails: x",
        ],
    );
    check("/draft/needs/", &["Verdict: double", "multi_turn", "scripted_user", "window.stolen=1"]);
    check(
        "/draft/directives/",
        &[
            "SKILL.md:12",
            "EUR",
            "window.stolen=1",
            "Model: openai:small",
            "dollars (different)",
            "filler",
            "read to line 0 of 9",
        ],
    );
    check("/draft/ideas/", &["sums", "a; b", "no test", "name=\"decision\" value=\"rejected\""]);
    check("/draft/tasks/", &["href=\"/draft/tasks/sums/\"", "href=\"/draft/tasks/other/\""]);
    check(
        "/draft/tasks/sums/",
        &[
            "tests/test.sh",
            "Add it up.",
            "few-tests",
            "1 repair by the model",
            "# sums",
            "if, knowledge",
            "SKILL.md:7",
            "1 of 2",
            "1 of 1",
            "canary",
            "left out: unfair: d02: a matter of taste",
        ],
    );
    check("/draft/tasks/other/", &["The folder is infeasible/other.", "oracle-fails"]);
    check("/draft/validation/", &["Accepted, with warnings", "few-tests", "oracle-fails"]);
    check(
        "/draft/solvers/",
        &[
            "Model: openai:other",
            "none: failed, curated: passed",
            "Model: openai:small",
            "failed, misses d01",
        ],
    );
    check("/draft/headroom/", &["Run: ledger-pilot", "50% of the measured tasks were removed."]);
    check("/draft/experiment/", &["assay.experiment/1"]);
    check("/draft/requests/", &["requests.jsonl", "1 line"]);
    check("/draft/replies/", &["12 read, 3 written", &reply]);
    check(&reply, &["window.stolen=1"]);
    for path in ["/draft/tasks/none/", "/draft/tasks/..%2f..%2f/", "/draft/replies/none/", "/draft/none/"] {
        let (status, ..) = viewer.send(&format!("GET {path}"), "Host: localhost\r\n");
        assert_eq!(status, 404, "{path}");
    }
}

#[test]
fn decisions_need_the_token_and_are_written_to_the_draft() {
    let lab = lab();
    let viewer = start(&lab);
    let own = format!(
        "Host: {0}\r\nOrigin: http://{0}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        viewer.address
    );
    let with_token = format!("{own}Cookie: {}\r\n", viewer.cookie());
    let check = |path: &str, headers: &str, form: &str, expected: u16| {
        let (status, head, body) = post(&viewer, path, headers, form);
        assert_eq!(status, expected, "{path} {form}: {head} {body}");
    };
    check("/draft/tasks/sums/", &own, "decision=rejected", 403);
    check("/draft/tasks/sums/", &with_token, "decision=maybe", 400);
    check("/draft/tasks/none/", &with_token, "decision=rejected", 404);
    check("/draft/needs/x/", &with_token, "decision=rejected", 404);
    assert!(!lab.path("draft/approvals.json").exists());
    check("/draft/ideas/other/", &with_token, "decision=approved", 303);
    check("/draft/tasks/sums/", &with_token, "decision=rejected&comment=Too+%3Cb%3E+vague", 303);
    let approvals = read_json(&lab.path("draft/approvals.json")).unwrap();
    assert_eq!(approvals["tasks"]["sums"], json!({"decision": "rejected", "comment": "Too <b> vague"}));
    assert_eq!(approvals["ideas"]["other"]["decision"], "approved");
    let page = viewer.get("/draft/tasks/sums/");
    assert!(page.contains("rejected by a person: Too &#60;b&#62; vague"), "{page}");
    check("/draft/tasks/sums/", &with_token, "decision=open", 303);
    assert_eq!(read_json(&lab.path("draft/approvals.json")).unwrap()["tasks"], json!({}));
}

#[test]
fn a_draft_is_exported_without_forms() {
    let lab = lab();
    lab.assay(&["view", "--draft", "draft", "--export", "site"]).ok();
    let page = std::fs::read_to_string(lab.path("site/draft/tasks/sums/index.html")).unwrap();
    assert!(page.contains("Add it up.") && !page.contains("<form"), "{page}");
    let missing = lab.assay(&["view", "--draft", "none"]).ended(2);
    assert!(missing.stderr.contains("there is no draft at none"), "{}", missing.stderr);
}
