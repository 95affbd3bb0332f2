//! Links that an agent leaves, and what it does so that its own trial is not counted: in both sandboxes.

use serde_json::{Value, json};

use crate::docker::{FIXED, in_docker};
use crate::fixture::{Design, Fixture, attempt, needs_bubblewrap};

/// Compares with what is in `/tests`, and writes its log into the work folder.
const VERIFIER: &str = "cd /app\ncmp -s answer.txt /tests/expected && reward 1 || reward 0\n";

/// The same, with a log that may be a link.
const LOGS_AT_WORK: &str = "cd /app\ncat answer.txt > build.log\nreward 0\n";

/// Links, and what comes of them. Nothing here does the work.
const LINKS: [(&str, &str, &str, &str); 16] = [
    ("plain", VERIFIER, "ln -s /tests/expected answer.txt", "a link into /tests"),
    ("up-tmp", VERIFIER, "ln -s /tmp up; ln -s up/../tests/expected answer.txt", "a link into /tests"),
    ("up-usr", VERIFIER, "ln -s /usr up; ln -s up/../tests/expected answer.txt", "a link into /tests"),
    ("image", VERIFIER, "ln -s /bin/../../tests/expected answer.txt", "a link into /tests"),
    (
        "chain",
        VERIFIER,
        "ln -s / a; ln -s a b; ln -s b/tests c; ln -s c/expected answer.txt",
        "a link into /tests",
    ),
    (
        "folder",
        VERIFIER,
        "mkdir real; ln -s /usr/bin real/up; ln -s real in; ln -s in/up/../../tests/expected answer.txt",
        "a link into /tests",
    ),
    ("self", VERIFIER, "ln -s /proc/self/root/tests/expected answer.txt", "a link into /proc"),
    ("later", VERIFIER, "ln -s not-yet/../../tests/expected answer.txt", "a link into /tests"),
    ("through", VERIFIER, "ln -s /tests/../tests/expected answer.txt", "a link into /tests"),
    (
        "logs",
        VERIFIER,
        "ln -s /tmp up; ln -s up/../logs/verifier/reward.txt answer.txt",
        "a link into /logs/verifier",
    ),
    (
        "writes",
        LOGS_AT_WORK,
        "ln -s /tmp up; ln -s up/../logs/verifier/reward.json build.log; echo '{\"reward\": 1}' > answer.txt",
        "a link into /logs/verifier",
    ),
    ("leaves", VERIFIER, "ln -s /etc/passwd answer.txt", "a link that leaves the work folder"),
    // These lead nowhere else.
    (
        "inside",
        VERIFIER,
        "mkdir d; echo x > d/f; ln -s d/f answer.txt; ln -s /app/d/f e; ln -s ../app/d g",
        "",
    ),
    ("dangling", VERIFIER, "ln -s nothing answer.txt; ln -s loop loop", ""),
    ("log-folder", VERIFIER, "ln -s /tests /logs/artifacts/x; ln -s /tests/expected /logs/agent/y", ""),
    ("long", VERIFIER, "ln -s /app/$(printf 'a%.0s' {1..250}) answer.txt; touch $'\\xff'", ""),
];

fn check_links(design: impl Fn(Design) -> Design, dockerfile: Option<&str>) {
    let task = |lab: Fixture, (name, verifier, ..): &(&str, &str, &str, &str)| {
        lab.task(name, |task| {
            let task = task.test_sh(verifier).file("tests/expected", "right\n");
            match dockerfile {
                Some(dockerfile) => task.dockerfile(dockerfile),
                None => task,
            }
        })
    };
    let rule = |(name, _, run, _): &(&str, &str, &str, &str)| json!({ "task": name, "turn": 0, "run": run });
    let rules: Vec<Value> = LINKS.iter().map(rule).collect();
    let lab = LINKS.iter().fold(Fixture::new(), task).script(&rules).experiment(design);
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["infrastructure"]), (0, &json!(0)), "{document:#}");
    for (name, _, _, fault) in LINKS {
        let record = lab.record(name);
        let outcome = if fault.is_empty() { "failed" } else { "tampered" };
        assert_eq!(record["outcome"], outcome, "{name}: {record:#}");
        let reason = record["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(fault), "{name}: {reason}");
    }
}

#[test]
fn links_are_followed_as_the_kernel_does() {
    needs_bubblewrap!();
    check_links(|e| e, None);
}

#[test]
#[ignore = "needs Docker"]
fn links_are_followed_as_the_kernel_does_in_docker() {
    check_links(in_docker, Some(FIXED));
}

/// A verifier that ends without a reward where the answer is no file.
const NAIVE: &str = "cd /app || exit 1\n[ -e answer.txt ] || { reward 0; exit; }\nset -e\nfound=$(cat answer.txt)\n[ \"$found\" = right ] && reward 1 || reward 0\n";

/// What agents do so that their trial is not counted, and whether the verifier then gives no reward (if
/// that is the same in all sandboxes). They never do the work.
const DISCARDS: [(&str, &str, Option<bool>); 6] = [
    ("closed", "chmod 000 /app", Some(false)),
    (
        "closed-below",
        "mkdir -p a/b; touch a/b/c; chmod 000 a/b a; mkdir read-only; chmod 555 read-only /app",
        Some(false),
    ),
    ("folder", "mkdir answer.txt", Some(true)),
    ("unreadable", "mkdir -p answer.txt/x; chmod 000 answer.txt", Some(true)),
    ("large", "truncate -s 200G answer.txt", None),
    ("names", "touch $'\\xff' $'a\\nb'; mkdir answer.txt", Some(true)),
];

fn check_discards(design: impl Fn(Design) -> Design, dockerfile: Option<&str>) {
    let task = |lab: Fixture, name: &str| {
        lab.task(name, |task| {
            let hasty = "version = \"1.0\"\n[verifier]\ntimeout_sec = 10.0\n";
            let task = task.test_sh(NAIVE).toml(hasty);
            match dockerfile {
                Some(dockerfile) => task.dockerfile(dockerfile),
                None => task,
            }
        })
    };
    let rules: Vec<Value> =
        DISCARDS.iter().map(|(name, run, _)| json!({ "task": name, "turn": 0, "run": run })).collect();
    let lab = DISCARDS.iter().fold(Fixture::new(), |lab, (name, ..)| task(lab, name)).script(&rules);
    let lab = lab.experiment(design);
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["infrastructure"]), (0, &json!(0)), "{document:#}");
    for (name, _, breaks) in DISCARDS {
        let record = lab.record(name);
        assert_eq!(
            (&record["outcome"], &record["reward"]),
            (&json!("failed"), &json!(0.0)),
            "{name}: {record:#}"
        );
        let reason = record["reason"].as_str().unwrap_or_default();
        let is_blamed = reason.contains("although it grades a no-op");
        assert!(breaks.is_none_or(|breaks| breaks == is_blamed), "{name}: {record:#}");
    }
    // The evidence that the verifier can grade.
    let record = lab.record("folder");
    assert!(attempt(&record, "no-op/verifier/test-stdout.txt").exists(), "{record:#}");
}

#[test]
fn no_agent_discards_its_own_trial() {
    needs_bubblewrap!();
    check_discards(|e| e, None);
}

#[test]
#[ignore = "needs Docker"]
fn no_agent_discards_its_own_trial_in_docker() {
    check_discards(in_docker, Some(FIXED));
}

/// Each step has its reward for a file that the agent makes in the first one.
const STEPS: &str = "version = \"1.0\"\n[[steps]]\nname = \"make\"\n[[steps]]\nname = \"use\"\n";

/// What agents leave so that the next step cannot start from it, in addition to work that passes, and
/// what the reason says in bubblewrap and in Docker; nothing where the step starts.
const STEP_DISCARDS: [(&str, &str, Option<&str>, Option<&str>); 7] = [
    ("honest", "true", None, None),
    ("large", "truncate -s 300M big", Some("cannot keep /app/big"), None),
    // Bubblewrap's limit on storage does not let it come into being.
    ("sparse", "truncate -s 1T big || true", None, Some("larger than 8 GiB")),
    ("deep", "for n in {1..80}; do mkdir d; cd d; done", Some("cannot keep /app/d/d"), None),
    ("pipe", "mkfifo pipe", Some("neither file nor folder"), Some("neither file nor folder")),
    ("closed", "mkdir -p a/b; touch a/b/c; chmod 000 a/b a", None, None),
    ("in-the-way", "mkdir ready", Some("setup.sh"), Some("setup.sh")),
];

fn check_step_discards(design: impl Fn(Design) -> Design, dockerfile: Option<&str>, is_docker: bool) {
    let task = |lab: Fixture, name: &str| {
        lab.task(name, |task| {
            let task = task
                .toml(STEPS)
                .test_sh("[ -f work.txt ] && reward 1 || reward 0\n")
                .file("steps/make/instruction.md", "Make.\n")
                .file("steps/use/instruction.md", "Use.\n")
                .file("steps/use/workdir/setup.sh", "echo > ready\n");
            match dockerfile {
                Some(dockerfile) => task.dockerfile(dockerfile),
                None => task,
            }
        })
    };
    let rule = |(name, run, ..): &(&str, &str, Option<&str>, Option<&str>)| json!({ "task": name, "seen": "Make", "turn": 0, "run": format!("touch work.txt; {run}") });
    let rules: Vec<Value> = STEP_DISCARDS.iter().map(rule).collect();
    let lab = STEP_DISCARDS.iter().fold(Fixture::new(), |lab, (name, ..)| task(lab, name)).script(&rules);
    let lab = lab.experiment(design);
    let (document, code) = lab.run(&["--no-checks"]);
    assert_eq!((code, &document["infrastructure"]), (0, &json!(0)), "{document:#}");
    for (name, _, in_bubblewrap, in_docker) in STEP_DISCARDS {
        let record = lab.record(name);
        let Some(part) = (if is_docker { in_docker } else { in_bubblewrap }) else {
            assert_eq!(record["outcome"], "passed", "{name}: {record:#}");
            continue;
        };
        let reason = record["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(part), "{name}: {record:#}");
        if record["outcome"] == "tampered" {
            continue;
        }
        assert!(reason.contains("although a no-op can"), "{name}: {record:#}");
        let steps = record["steps"].as_array().unwrap();
        let steps: Vec<_> = steps.iter().map(|step| (&step["outcome"], &step["reward"])).collect();
        assert_eq!(steps, [(&json!("passed"), &json!(1.0)), (&json!("failed"), &json!(0.0))], "{record:#}");
        assert_eq!((&record["outcome"], &record["reward"]), (&json!("failed"), &json!(0.5)), "{name}");
    }
}

#[test]
fn no_agent_discards_its_own_trial_between_steps() {
    needs_bubblewrap!();
    check_step_discards(|e| e, None, false);
}

#[test]
#[ignore = "needs Docker"]
fn no_agent_discards_its_own_trial_between_steps_in_docker() {
    check_step_discards(in_docker, Some(FIXED), true);
}

/// A set-up that fails for everybody is no agent's failure.
#[test]
fn a_broken_step_blames_no_agent() {
    needs_bubblewrap!();
    let lab = Fixture::new()
        .task("broken", |task| {
            task.toml(STEPS)
                .test_sh("reward 1\n")
                .file("steps/make/instruction.md", "Make.\n")
                .file("steps/use/instruction.md", "Use.\n")
                .file("steps/use/workdir/setup.sh", "exit 3\n")
        })
        .script(&[json!({ "turn": 0, "run": "true" })])
        .experiment(|e| e);
    let (document, _) = lab.run(&["--no-checks"]);
    assert_eq!(document["infrastructure"], json!(1), "{document:#}");
    let record = lab.record("broken");
    let reason = record["reason"].as_str().unwrap();
    assert!(reason.contains("step `use`") && reason.contains("the no-op could not be graded"), "{reason}");
}

/// A verifier that ends without a reward for everybody is broken, and no agent's failure.
#[test]
fn a_broken_verifier_blames_no_agent() {
    needs_bubblewrap!();
    let lab = Fixture::new()
        .task("broken", |task| task.test_sh("exit 3\n"))
        .task("both", |task| task.test_sh("reward 0; echo '{\"reward\": 1}' > /logs/verifier/reward.json\n"))
        .script(&[json!({ "turn": 0, "run": "echo right > answer.txt" })])
        .experiment(|e| e);
    let (document, _) = lab.run(&["--no-checks"]);
    assert_eq!(document["infrastructure"], json!(2), "{document:#}");
    for (name, part) in
        [("broken", "wrote no reward"), ("both", "two reward files, reward.json and reward.txt")]
    {
        let record = lab.record(name);
        let reason = record["reason"].as_str().unwrap();
        assert!(reason.contains(part) && reason.contains("a no-op gets none either"), "{reason}");
    }
}
