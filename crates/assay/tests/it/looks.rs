//! Looks at a question: reports of runs that are not complete, closings, and several runs of one question.

use serde_json::{Value, json};

use crate::fixture::{Fixture, needs_bubblewrap};
use crate::suite;

/// Words of verdicts, which no form of the report of a run without verdicts may have in its findings.
const WORDS: [&str; 4] = ["helps", "harms", "negligible", "inconclusive"];

/// Six tasks, 24 trials, and a skill that always helps.
fn lab() -> Fixture {
    suite::lab(6).experiment(|e| suite::paired(e.conditions(&["none", "curated"]).repetitions(2), 6))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Changes the experiment.
fn edit(lab: &Fixture, from: &str, to: &str) {
    let path = lab.path("experiment.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    std::fs::write(&path, text.replace(from, to)).unwrap();
}

fn report(lab: &Fixture, run: &str) -> Value {
    lab.assay(&["report", run, "--format", "json"]).ok().json()
}

#[test]
fn a_run_that_is_not_complete_has_no_verdict_anywhere() {
    needs_bubblewrap!();
    let lab = lab();
    for part in [&["--max-trials", "15"][..], &["--only", "task=t1"]] {
        let (document, code) = lab.run(&[&["--no-checks"], part].concat());
        assert_eq!(code, 0);
        let report = &document["report"];
        assert_eq!((&report["interim"], &report["comparisons"][0]["verdict"]), (&json!(true), &Value::Null));
    }
    let (_, done) = (lab.records().len(), lab.records().len());
    let expected = format!("No verdict yet: {done} of 24 trials; so far +100 pp (");
    for form in ["terminal", "markdown", "html"] {
        let text = lab.assay(&["report", "lab", "--format", form]).ok().stdout;
        let text = one_line(&text.replace("\\+", "+"));
        assert!(
            text.contains(&expected) && text.contains("not adjusted for looking early"),
            "{form}: {text}"
        );
        let findings = text.split("<body>").last().unwrap().rsplit("How to read this report").last().unwrap();
        assert!(!WORDS.iter().any(|word| findings.contains(word)), "{form}: {text}");
    }
    let short = lab.assay(&["report", "lab", "--format", "markdown", "--short"]).ok().stdout;
    // A short report names the condition.
    let expected = expected.replace("so far", "so far `curated`");
    assert!(short.contains(&expected) && short.contains("not adjusted for looking early"), "{short}");
    assert!(!WORDS.iter().any(|word| short.contains(word)), "{short}");
    let found = report(&lab, "lab");
    let comparison = &found["comparisons"][0];
    for key in ["verdict", "reason", "p", "p_adjusted", "p_interval", "p_interval_adjusted", "p_wilcoxon"] {
        assert_eq!(comparison[key], Value::Null, "{key}");
    }
    assert!(comparison["lift"].is_number() && comparison["family"].is_object(), "{comparison}");
    assert_eq!(found["progress"], json!({ "trials": done, "planned": 24 }));
    let history = lab.assay(&["show", "--history", "--format", "json"]).ok().json();
    let last = history["lines"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["interim"], &last["verdicts"][0]["verdict"]), (&json!(true), &Value::Null));
    assert!(lab.assay(&["show", "--history"]).ok().stdout.contains("interim"));
    let compared = lab.assay(&["compare", "lab", "lab"]);
    assert!(!WORDS.iter().any(|word| compared.stdout.contains(word)), "{}", compared.stdout);
    // With all trials there is one.
    let (whole, _) = lab.run(&["--no-checks"]);
    assert_eq!(
        (&whole["report"]["interim"], &whole["report"]["extended_after_look"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(whole["report"]["comparisons"][0]["verdict"], json!("helps"));
}

#[test]
fn a_run_is_closed_once_and_what_follows_is_another_look() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks", "--only", "repetition=1"]);
    let closed = lab.assay(&["report", "lab", "--final", "--format", "json"]).ok();
    assert!(closed.stderr.contains("closed lab with 12 of 24 trials"), "{}", closed.stderr);
    let level = 0.05 * (2.0_f64.exp() - 1.0) / (4.0_f64.exp() - 1.0);
    let found = closed.json();
    let close =
        |found: &Value, expected: f64| assert!((found.as_f64().unwrap() - expected).abs() < 1e-12, "{found}");
    close(&found["final"]["level"], level);
    close(&found["final"]["share"], 0.5);
    close(&found["comparisons"][0]["family"]["level"], 1.0 - level);
    assert_eq!((&found["interim"], &found["comparisons"][0]["verdict"]), (&json!(false), &json!("helps")));
    // Later reports show the same, and another `--final` changes nothing.
    assert_eq!(report(&lab, "lab"), found);
    let again = lab.assay(&["report", "lab", "--final"]).ok();
    assert!(again.stderr.contains("--final changes nothing"), "{}", again.stderr);
    assert!(
        one_line(&again.stdout).contains("This run was closed with 12 of 24 trials on"),
        "{}",
        again.stdout
    );
    // It goes on.
    let (more, _) = lab.run(&["--no-checks", "--max-trials", "3"]);
    assert_eq!(
        (&more["report"]["interim"], &more["report"]["extended_after_look"]),
        (&json!(true), &json!(true))
    );
    let refused = lab.assay(&["report", "lab", "--final"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("a run is closed once"), "{}", refused.stderr);
    let (whole, _) = lab.run(&["--no-checks"]);
    assert_eq!(
        (&whole["report"]["interim"], &whole["report"]["extended_after_look"]),
        (&json!(false), &json!(true))
    );
    let text = one_line(&lab.assay(&["report", "lab"]).ok().stdout);
    assert!(text.contains("(`curated` helps) and then continued"), "{text}");
    // A complete run is left as it is.
    let lab = crate::looks::lab();
    lab.run(&["--no-checks"]);
    let complete = lab.assay(&["report", "lab", "--final"]).ok();
    assert!(complete.stderr.contains("lab is complete: --final changes nothing"), "{}", complete.stderr);
    assert!(!lab.path(".assay/runs/lab/final.json").exists());
}

#[test]
fn earlier_runs_of_a_question_are_listed() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    assert_eq!(report(&lab, "lab")["question"]["earlier"], json!([]));
    // Another seed and name, another version of the skill, and half of the tasks.
    edit(&lab, "name = \"lab\"", "name = \"s2\"\nseed = 22");
    lab.run(&["--no-checks"]);
    lab.write(
        "skills/reports/SKILL.md",
        format!("---\nname: reports\ndescription: Ends reports.\n---\n\n{}", suite::body("right")),
    );
    edit(&lab, "name = \"s2\"\nseed = 22", "name = \"s3\"\nseed = 33\nmargin = 0.2");
    lab.run(&["--no-checks"]);
    edit(&lab, "name = \"s3\"\nseed = 33", "name = \"s4\"\nseed = 44");
    let text = lab.assay(&["run", "experiment.toml", "--no-checks"]).ok().stdout;
    let text = one_line(&text);
    assert!(text.contains("Run 4 of this question; earlier: lab (helps), s2 (helps), s3 (helps)."), "{text}");
    assert!(text.contains("At most 1 − .95⁴ = 19% of such series have a false verdict"), "{text}");
    let found = report(&lab, "s4");
    assert_eq!(found["question"]["earlier"], json!(["lab", "s2", "s3"]));
    assert_eq!((&found["question"]["extends"], &found["extended_after_look"]), (&json!([]), &json!(true)));
    assert_eq!(found["question"]["id"], report(&lab, "lab")["question"]["id"]);
    // Later runs are not earlier ones, also after the store was copied.
    let plan = lab.path(".assay/runs/s4/plan.json");
    let old = std::fs::File::options().write(true).open(plan).unwrap();
    old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(report(&lab, "s2")["question"]["earlier"], json!(["lab"]));
    // Another condition is another question.
    edit(&lab, "conditions = [\"none\", \"curated\"]", "conditions = [\"none\", \"placebo\"]");
    edit(&lab, "name = \"s4\"\nseed = 44", "name = \"other\"\nseed = 55");
    lab.run(&["--no-checks"]);
    assert_eq!(report(&lab, "other")["question"]["earlier"], json!([]));
}

#[test]
fn the_same_trials_are_analyzed_again_and_more_trials_extend_a_run() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    let check = |run: &str, earlier: &Value, reanalyzes: &Value| {
        let found = report(&lab, run);
        assert_eq!(
            (&found["question"]["earlier"], &found["question"]["reanalyzes"]),
            (earlier, reanalyzes),
            "{run}"
        );
        assert_eq!(found["extended_after_look"], json!(*earlier != json!([])), "{run}");
    };
    // Another margin, and one more condition: the trials of the comparison are the same.
    edit(&lab, "repetitions = 2", "repetitions = 2\nmargin = 0.2");
    lab.run(&["--no-checks"]);
    check("lab-2", &json!([]), &json!(["lab"]));
    let text = one_line(&lab.assay(&["report", "lab-2"]).ok().stdout);
    assert!(text.contains("Re-analysis: the trials are those of lab (helps)."), "{text}");
    edit(&lab, "repetitions = 2\nmargin = 0.2", "repetitions = 2");
    edit(&lab, "\"curated\"]", "\"curated\", \"placebo\"]");
    lab.run(&["--no-checks"]);
    check("lab-3", &json!([]), &json!(["lab", "lab-2"]));
    // More repetitions.
    edit(&lab, ", \"placebo\"]", "]");
    edit(&lab, "repetitions = 2", "repetitions = 3");
    lab.run(&["--no-checks"]);
    check("lab-4", &json!(["lab", "lab-2", "lab-3"]), &json!([]));
    assert_eq!(report(&lab, "lab-4")["question"]["extends"], json!(["lab", "lab-2", "lab-3"]));
}

/// A rule that stopped, and a run without it on the same cells: the trials that the rule had left out are new.
#[test]
fn a_run_without_the_rule_extends_the_one_that_its_rule_stopped() {
    needs_bubblewrap!();
    let lab = suite::lab(6).experiment(|e| {
        let design = suite::paired(e.conditions(&["none", "curated"]).repetitions(5), 6);
        design.table("[stopping]\nmax_repetitions = 7\n")
    });
    let (first, _) = lab.run(&["--no-checks"]);
    assert!(first["report"]["comparisons"][0]["sequential"]["round"].as_u64().unwrap() < 7, "{first}");
    edit(&lab, "[stopping]\nmax_repetitions = 7\n", "");
    edit(&lab, "repetitions = 5", "repetitions = 7");
    lab.run(&["--no-checks"]);
    let found = report(&lab, "lab-2");
    assert_eq!(
        (&found["question"]["extends"], &found["extended_after_look"]),
        (&json!(["lab"]), &json!(true))
    );
    let text = one_line(&lab.assay(&["report", "lab-2"]).ok().stdout);
    assert!(text.contains("Run 2 of this question; earlier: lab (stopped, helps)."), "{text}");
    // And the rule on trials that are all there is another analysis of them.
    edit(&lab, "repetitions = 7", "repetitions = 6");
    lab.write(
        "experiment.toml",
        std::fs::read_to_string(lab.path("experiment.toml")).unwrap() + "[stopping]\nmax_repetitions = 7\n",
    );
    lab.run(&["--no-checks"]);
    let found = report(&lab, "lab-3");
    assert_eq!(found["question"]["reanalyzes"], json!(["lab", "lab-2"]), "{found}");
}

#[test]
fn conditions_with_the_same_trials_in_both_runs_get_no_verdict() {
    needs_bubblewrap!();
    let lab = lab();
    lab.run(&["--no-checks"]);
    edit(&lab, "\"curated\"]", "\"curated\", \"placebo\"]");
    lab.run(&["--no-checks"]);
    let compared = lab.assay(&["compare", "lab", "lab-2"]);
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    assert!(compared.stdout.contains("curated: its trials are the same in both runs"), "{}", compared.stdout);
    assert!(!WORDS.iter().any(|word| compared.stdout.contains(word)), "{}", compared.stdout);
}

/// The tag of a plan, and whether it is older than the trials.
#[test]
fn a_registered_plan_is_older_than_its_trials_or_not() {
    needs_bubblewrap!();
    let lab = lab();
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        let status =
            std::process::Command::new("git").current_dir(lab.folder()).args(identity).args(args).status();
        assert!(status.unwrap().success(), "git {args:?}");
    };
    let register = || lab.assay(&["plan", "experiment.toml", "--register"]);
    let refused = register().ended(2);
    assert!(
        one_line(&refused.stderr).contains("is not in a Git repository (hint: `git init`"),
        "{refused:?}"
    );
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "first"]);
    let first = one_line(&register().ok().stderr);
    assert!(first.contains("registered the plan in the tag assay-plan/"), "{first}");
    assert!(one_line(&register().ok().stderr).contains("the plan has been registered since"));
    let (ran, _) = lab.run(&["--no-checks"]);
    let registration = &ran["report"]["registration"];
    assert_eq!(registration["before_trials"], true, "{registration}");
    assert!(first.contains(registration["tag"].as_str().unwrap()), "{first} {registration}");
    let text = one_line(&lab.assay(&["report", "lab"]).ok().stdout);
    assert!(text.contains("plan registered before the trials (tag `assay-plan/"), "{text}");
    // Another plan over the same trials, registered after them.
    edit(&lab, "repetitions = 2", "repetitions = 2\nmargin = 0.2");
    let (other, _) = lab.run(&["--no-checks"]);
    assert_eq!((&other["executed"], &other["report"]["registration"]), (&json!(0), &Value::Null));
    register().ok();
    let name = other["run"].as_str().unwrap();
    assert_eq!(report(&lab, name)["registration"]["before_trials"], false);
    assert_eq!(report(&lab, "lab")["registration"]["before_trials"], true);
}
