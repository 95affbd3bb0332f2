//! What `assay init` writes.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

/// Tasks that assay writes have one reward of the name `reward`, and a report of their checks.
#[test]
fn verifiers_of_written_tasks_write_the_reward_and_their_checks() {
    let check = |script: &str, result: Option<&str>, passed: bool, name: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("app")).unwrap();
        fs::create_dir(path("logs")).unwrap();
        if let Some(text) = result {
            fs::write(path("app/result.txt"), text).unwrap();
        }
        let place = |name: &str| path(name).display().to_string();
        let script = script.replace("/logs/verifier", &place("logs")).replace("/app", &place("app"));
        assert!(Command::new("bash").args(["-c", &script]).status().unwrap().success());
        let read = |name: &str| -> Value {
            serde_json::from_str(&fs::read_to_string(path("logs").join(name)).unwrap()).unwrap()
        };
        assert_eq!(read("reward.json"), json!({ "reward": u8::from(passed) }), "{result:?}");
        let status = if passed { "passed" } else { "failed" };
        let tests = json!([{ "name": name, "status": status }]);
        assert_eq!(read("ctrf.json")["results"]["tests"], tests, "{result:?}");
    };
    let skeleton = |result, passed| {
        check(
            include_str!("../../src/templates/test.sh"),
            result,
            passed,
            "result.txt has the expected result",
        );
    };
    skeleton(Some("the expected result\n"), true);
    skeleton(Some("another\n"), false);
    skeleton(None, false);
    let requests = include_str!("../../../assay-draft/templates/requests-test.sh");
    check(requests, Some("anything"), true, "there is a result");
    check(requests, Some(""), false, "there is a result");
    check(requests, None, false, "there is a result");
}
