//! `assay export k8s`. What the objects say is checked here; that they are valid, by scripts/validate-k8s.

use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Running, needs_bubblewrap};
use crate::suite;

fn items(lab: &Fixture, args: &[&str]) -> Vec<Value> {
    let base = ["export", "k8s", "experiment.toml", "--image", "example/assay:1", "--claim", "disk"];
    let list = lab.assay(&[base.as_slice(), args].concat()).ok().json();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&json!("v1"), &json!("List")));
    list["items"].as_array().unwrap().clone()
}

/// The object of a kind, with a suffix of its name.
fn object<'a>(items: &'a [Value], kind: &str, suffix: &str) -> &'a Value {
    let fits = |item: &&Value| {
        item["kind"] == kind && item["metadata"]["name"].as_str().is_some_and(|name| name.ends_with(suffix))
    };
    items.iter().find(fits).unwrap_or_else(|| panic!("no {kind} {suffix}"))
}

fn container(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]["containers"][0]
}

/// Kubernetes replaces `$(NAME)` in commands by variables, which may be keys.
#[test]
fn words_of_commands_are_literal() {
    let lab = suite::lab(1).experiment(|e| e);
    let args = ["--folder", "/shared/$(OPENAI_API_KEY)", "--", "--only", "task=$(HOME)"];
    let items = items(&lab, &args);
    let planner = json!(container(object(&items, "Job", "-run"))["command"]).to_string();
    assert!(
        planner.contains("/shared/$$(OPENAI_API_KEY)/.assay") && planner.contains("task=$$(HOME)"),
        "{planner}"
    );
}

#[test]
fn objects_share_a_volume_and_name_secrets() {
    let lab = suite::lab(1).env("OPENAI_API_KEY", "sk-not-to-be-exported").experiment(|e| e);
    let args = ["--secret", "keys", "--workers", "16", "--jobs", "2", "--namespace", "research", "--allow"];
    let more = ["10.1.2.0/24", "--requests-per-minute", "90", "--", "--max-usd", "5"];
    let items = items(&lab, &[args.as_slice(), &more].concat());
    let all = json!(items).to_string();
    assert!(!all.contains("sk-not-to-be-exported"));
    let worker = object(&items, "Job", "-worker");
    assert_eq!(
        (&worker["spec"]["completionMode"], &worker["spec"]["completions"]),
        (&json!("Indexed"), &json!(16))
    );
    assert_eq!(
        container(worker)["command"],
        json!([
            "assay",
            "--store",
            "/shared/.assay",
            "worker",
            "--run",
            "lab",
            "--jobs",
            "2",
            "--idle-exit",
            "600"
        ])
    );
    let keys = json!([{ "secretRef": { "name": "keys" } }]);
    let planner = object(&items, "Job", "-run");
    let gateway = object(&items, "Deployment", "-gateway");
    assert_eq!(
        [worker, planner, gateway].map(|object| &container(object)["envFrom"]),
        [&keys, &keys, &json!([])]
    );
    assert!(
        json!(container(planner)["command"])
            .to_string()
            .ends_with("\"--executor\",\"workers\",\"--max-usd\",\"5\"]")
    );
    for object in [worker, planner, gateway] {
        let pod = &object["spec"]["template"]["spec"];
        assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], "disk");
        assert_eq!(pod["containers"][0]["image"], "example/assay:1");
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(
            (&pod["securityContext"]["runAsNonRoot"], &pod["securityContext"]["seccompProfile"]["type"]),
            (&json!(true), &json!("RuntimeDefault"))
        );
        assert_eq!(pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"], false);
    }
    // The service leads to the gateway's pods, and its policy admits the others to its port.
    let service = object(&items, "Service", "-gateway");
    assert_eq!(service["spec"]["selector"], gateway["spec"]["template"]["metadata"]["labels"]);
    let policy = object(&items, "NetworkPolicy", "-gateway");
    let admitted = &policy["spec"]["ingress"][0];
    assert_eq!(
        admitted["from"][0]["podSelector"]["matchLabels"],
        worker["spec"]["template"]["metadata"]["labels"]
    );
    assert_eq!(admitted["ports"][0]["port"], container(gateway)["ports"][0]["containerPort"]);
    assert_eq!(policy["spec"]["egress"], json!([]));
    let policy = object(&items, "NetworkPolicy", "-worker");
    assert_eq!(policy["spec"]["ingress"], json!([]));
    let egress = policy["spec"]["egress"].as_array().unwrap();
    assert_eq!(egress.len(), 4);
    assert_eq!(egress[3]["to"][0]["ipBlock"]["cidr"], "10.1.2.0/24");
    assert!(items.iter().all(|item| item["metadata"]["namespace"] == "research"));
}

/// The containers' commands, as processes of this machine with the volume at the same path.
#[test]
fn commands_of_the_containers_execute_the_run() {
    needs_bubblewrap!();
    let lab =
        suite::lab(2).experiment(|e| suite::paired(e.conditions(&["none", "curated"]).repetitions(2), 2));
    let mount = lab.folder().to_str().unwrap().to_owned();
    let mut items = items(
        &lab,
        &["--mount", &mount, "--workers", "2", "--", "--max-tokens", "1000000", "--format", "json"],
    );
    // All are created at once: the first ones wait for the run.
    items.reverse();
    let start = |object: &Value| -> Running {
        let words: Vec<&str> = container(object)["command"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        let folder = container(object)["workingDir"].as_str().unwrap();
        // Ports are those of this machine here.
        let words: Vec<&str> = words[1..]
            .iter()
            .map(|word| if *word == "0.0.0.0:7400" { "127.0.0.1:0" } else { word })
            .collect();
        let words: Vec<&str> =
            words.into_iter().map(|word| if word == "600" { "20" } else { word }).collect();
        let mut command: Command = lab.command(&words);
        Running::start(command.current_dir(folder))
    };
    let workers = [0, 1].map(|_| start(object(&items, "Job", "-worker")));
    let gateway = start(object(&items, "Deployment", "-gateway"));
    let document = start(object(&items, "Job", "-run")).wait().ok().json();
    assert_eq!((&document["executed"], &document["checks_executed"]), (&document["planned"], &json!(4)));
    for worker in workers {
        worker.wait().ok();
    }
    gateway.signal(Signal::TERM);
    let told = gateway.wait().ok();
    assert!(told.stdout.contains("USD spent, 0 trials under way"), "{told:#?}");
}

#[test]
fn bad_input_of_the_export_is_reported() {
    let lab = suite::lab(1).experiment(|e| e);
    let check = |args: &[&str], expected: &str| {
        let base = ["export", "k8s", "--image", "i", "--claim", "c"];
        let ran = lab.assay(&[base.as_slice(), args].concat()).ended(2);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    };
    check(&["none.toml"], "none.toml");
    check(&["experiment.toml", "--mount", "shared"], "must be an absolute path");
    check(&["experiment.toml", "--folder", "/elsewhere"], "is not on the volume");
    check(&["experiment.toml", "--workers", "0"], "--workers");
}
