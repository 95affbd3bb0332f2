//! Comparisons that are decided after each round of a run.

use serde_json::{Value, json};

use crate::fixture::needs_bubblewrap;
use crate::suite;

#[test]
fn a_run_stops_when_its_comparisons_are_decided() {
    needs_bubblewrap!();
    let lab = suite::lab(6).experiment(|e| {
        let design = suite::paired(e.conditions(&["none", "curated", "placebo"]).repetitions(5), 6);
        design.top("primary = \"curated\"").table("[stopping]\nmax_repetitions = 7\n")
    });
    let (document, code) = lab.run(&["--no-checks"]);
    let comparisons = &document["report"]["comparisons"];
    let stage = |number: usize| comparisons[number]["sequential"].clone();
    assert_eq!(code, 0, "{document}");
    assert_eq!(comparisons[0]["verdict"], json!("helps"));
    assert_eq!((&stage(0)["rounds"], &stage(0)["ended"]), (&json!(7), &json!("verdict")));
    // Both end early, so trials are saved; the placebo's end is its own.
    assert_eq!(stage(1)["ended"], json!("futility"));
    let [first, second] = [0, 1].map(|number| stage(number)["round"].as_u64().unwrap());
    let last = first.max(second);
    assert!(last < 5, "{first} {second}");
    let expected = 6 * (last + first + second);
    assert_eq!((&document["planned"], &document["executed"]), (&json!(expected), &json!(expected)));
    assert_eq!(lab.records().len() as u64, expected);

    // The order is random, and in the plan: round by round, tasks and conditions mixed.
    let plan = lab.path(".assay/runs/lab/plan.json");
    let plan: Value = serde_json::from_slice(&std::fs::read(plan).unwrap()).unwrap();
    let cells = plan["cells"].as_array().unwrap();
    assert!(cells.windows(2).all(|pair| pair[0]["repetition"].as_u64() <= pair[1]["repetition"].as_u64()));
    let round: Vec<String> = cells[..18].iter().map(|cell| cell["condition"].to_string()).collect();
    assert!(round.windows(3).any(|three| three[0] != three[1] && three[0] == three[2]), "{round:?}");
    // Six tasks are few: two looks.
    assert_eq!(plan["stopping"], json!({ "rounds": 7, "looks": 2 }));

    // A second run has nothing to do, and says the same.
    let (again, _) = lab.run(&["--no-checks"]);
    assert_eq!((&again["executed"], &again["report"]), (&json!(0), &document["report"]));
    let report = lab.assay(&["report", "lab"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains(&format!("Stopped after round {first} of 7.")), "{report}");
    assert!(report.contains("repeated CI"), "{report}");
    // Beside the lift, which is too far from zero; intervals of one look are left out, or say so.
    let lift = |key: &str| comparisons[0][key].as_f64().unwrap();
    assert!(lift("lift_unbiased") > 0.0 && lift("lift_unbiased") <= lift("lift"), "{}", comparisons[0]);
    assert_eq!(comparisons[0]["fixed_tasks_ci95"], json!(null));
    assert!(report.contains("Median-unbiased lift:") && report.contains("95% CI (one look)"), "{report}");
}

#[test]
fn a_decided_run_is_not_extended() {
    needs_bubblewrap!();
    let experiment = |tasks: usize, stopping: &str| {
        suite::lab(6).experiment(|e| {
            suite::paired(e.conditions(&["none", "curated"]).repetitions(5), tasks).table(stopping)
        })
    };
    let lab = experiment(6, "[stopping]\nmax_repetitions = 6\n");
    let text = |tasks: usize, stopping: &str| {
        std::fs::read_to_string(experiment(tasks, stopping).path("experiment.toml")).unwrap()
    };
    assert_eq!(lab.run(&["--no-checks"]).1, 0);
    let check = |text: String, refused: bool| {
        std::fs::write(lab.path("experiment.toml"), text).unwrap();
        let done = lab.assay(&["run", "experiment.toml", "--no-checks"]);
        assert_eq!(done.code == 2, refused, "{}{}", done.stdout, done.stderr);
        assert_eq!(done.stderr.contains("was decided after its rounds"), refused, "{}", done.stderr);
    };
    let plain = text(6, "[stopping]\nmax_repetitions = 6\n");
    // More rounds, a fixed design with more trials.
    check(text(6, "[stopping]\nmax_repetitions = 9\n"), true);
    check(text(6, "").replace("repetitions = 5", "repetitions = 9"), true);
    // The same plan is the same run.
    check(plain, false);
}

#[test]
fn an_interrupted_round_is_not_analysed() {
    needs_bubblewrap!();
    let lab = suite::lab(6).experiment(|e| {
        suite::paired(e.conditions(&["none", "curated"]).repetitions(5), 6).table("[stopping]\n")
    });
    let (part, _) = lab.run(&["--no-checks", "--max-trials", "11"]);
    let found = &part["report"]["comparisons"][0];
    assert_eq!((&found["sequential"]["round"], &found["verdict"]), (&json!(0), &json!(null)));
    assert_eq!(part["unfinished"], json!(1));
    let report = lab.assay(&["report", "lab"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("no round of 6 has been looked at"), "{report}");
    let (whole, _) = lab.run(&["--no-checks"]);
    assert_eq!(whole["report"]["comparisons"][0]["verdict"], json!("helps"));

    let only = lab.assay(&["run", "experiment.toml", "--only", "task=t1"]);
    assert_eq!(only.code, 2, "{}", only.stderr);
    assert!(only.stderr.contains("`--only` cannot be combined with `[stopping]`"), "{}", only.stderr);
}
