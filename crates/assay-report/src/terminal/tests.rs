use assay_analysis::explore::{Exploration, Repetitions, TestArm, TestChange, TestRow};
use assay_analysis::{
    AgentKey, Arm, Comparison, Direction, EstimatedShare, ExposureShares, FamilyInterval, Gathered,
    NegativeControls, Note, Reason, RepliedModel, TaskArm, TaskRow,
};
use assay_store::{ConditionRole, Exclusion, RunFolder};
use serde_json::json;

use super::*;

/// The findings of a run that has not begun, with one cell an arm: a base to build others on.
fn nothing() -> Report {
    found(None)
}

/// The same if both arms passed: the basis of a comparison.
fn begun() -> Report {
    found(Some(json!({
        "schema": "assay.record/3", "trial": "0".repeat(64), "task": "t",
        "agent": { "name": "loop", "version": "1", "model": "openai:one" }, "sandbox": "bubblewrap", "condition": "none",
        "repetition": 1, "outcome": "passed", "reward": 1.0, "turns": 2, "usage": null, "cost_usd": null,
        "seconds": { "prepare": 0.0, "agent": 1.0, "throttled": 0.0, "verify": 1.0, "total": 2.0 },
        "exposure": [], "measures_a_model": true, "attempt": 1,
        "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:02Z",
    })))
}

fn found(record: Option<serde_json::Value>) -> Report {
    let record: Option<assay_store::Record> = record.map(|record| serde_json::from_value(record).unwrap());
    let cell = |condition: &str| json!({ "task": "t", "agent": 0, "sandbox": "bubblewrap", "condition": condition, "repetition": 1, "trial": "0".repeat(64) });
    let run: RunFolder = serde_json::from_value(json!({
        "schema": "assay.plan/1", "run": "quickstart", "plan": "", "margin": 0.1, "seed": 1, "repetitions": 5,
        "conditions": ["none", "curated"], "disclosure": "offered",
        "agents": [{ "label": { "name": "loop", "version": "1", "model": "openai:one" }, "measures_a_model": true }],
        "tasks": [{ "name": "t", "digest": "" }], "cells": [cell("none"), cell("curated")],
        "excluded": [], "equal_conditions": [],
    }))
    .unwrap();
    let found =
        assay_analysis::analyze(&run, &Gathered::from_records(&run, &[], |_| Ok(record.clone())).unwrap());
    Report { notes: Vec::new(), ..found }
}

fn arm(condition: &str, pass_rate: f64) -> Arm {
    Arm {
        condition: condition.to_owned(),
        role: ConditionRole::of(condition),
        tasks: 12,
        trials: 60,
        planned: 60,
        pass_rate: Some(pass_rate),
        ci95: Some([pass_rate - 0.1, pass_rate + 0.1]),
        score: Some(pass_rate),
        score_ci95: Some([pass_rate - 0.1, pass_rate + 0.1]),
        bounds: Some([pass_rate, pass_rate]),
        tokens: Some(12_345.6),
        cost_usd: Some(0.0123),
        seconds: Some(75.0),
        unfinished: 0,
        ..nothing().arms.remove(0)
    }
}

fn offered(condition: &str, pass_rate: f64, opened: f64) -> Arm {
    let exposure = ExposureShares { offered: 1.0, advertised: 1.0, mentioned: 0.95, opened, executed: 0.0 };
    Arm { exposure: Some(exposure), ..arm(condition, pass_rate) }
}

fn comparison(condition: &str, verdict: VerdictKind, reason: Option<Reason>) -> Comparison {
    Comparison {
        condition: condition.to_owned(),
        role: ConditionRole::of(condition),
        tasks: 12,
        clusters: None,
        effective_clusters: None,
        lift: Some(0.483),
        pass_rate_lift: Some(0.483),
        ci95: Some([0.12, 0.8]),
        lift_unbiased: None,
        fixed_tasks_ci95: Some([0.29, 0.67]),
        family: Some(FamilyInterval { level: 0.975, low: 0.051, high: 0.85 }),
        normalized_change: Some(0.78),
        p: Some(0.0127),
        p_adjusted: Some(0.0254),
        p_wilcoxon: Some(0.000_2),
        primary: false,
        p_interval: Some(0.0127),
        p_interval_adjusted: Some(0.0254),
        loss_bounds: None,
        delta_star: None,
        run_to_run_noise: Some(0.15),
        mde: Some(0.49),
        verdict: Some(verdict),
        interim: None,
        reason,
        direction: None,
        tasks_needed: None,
        better_equal_worse: [10, 1, 1],
        ..begun().comparisons.remove(0)
    }
}

fn row(task: &str, arms: &[(&str, usize, Option<f64>)]) -> TaskRow {
    let arm = |(condition, passed, lift): &(&str, usize, Option<f64>)| TaskArm {
        condition: (*condition).to_owned(),
        trials: 5,
        passed: *passed,
        pass_rate: Some(*passed as f64 / 5.0),
        score: Some(*passed as f64 / 5.0),
        lift: *lift,
        infrastructure: 0,
    };
    TaskRow { task: task.to_owned(), arms: arms.iter().map(arm).collect(), ..nothing().tasks.remove(0) }
}

/// The other agent's key.
fn of_other() -> AgentKey {
    AgentKey { agent: "loop".into(), model: Some("gemini:two".into()), sandbox: "bubblewrap".into() }
}

/// A report with everything in it: two agents, losses, tampering, exclusions, unknown costs.
pub(crate) fn whole() -> Report {
    let lost = Arm {
        who: of_other(),
        trials: 51,
        infrastructure: 9,
        infrastructure_causes: [("model_provider".to_owned(), 7), ("verifier".to_owned(), 2)].into(),
        bounds: Some([0.4, 0.55]),
        tampered: 1,
        timed_out: 3,
        cost_usd: None,
        ..offered("curated", 0.47, 0.6)
    };
    let mut broken = row("log-audit", &[("none", 1, None), ("curated", 2, Some(0.2))]);
    broken.who = of_other();
    broken.arms[1].infrastructure = 4;
    let mut alone = row("migrate-money", &[("none", 2, None)]);
    alone.who = of_other();
    let none = Arm { who: of_other(), tokens: None, ..arm("none", 0.4) };
    Report {
        arms: vec![
            arm("none", 0.383),
            offered("curated", 0.867, 0.95),
            offered("placebo", 0.333, 0.93),
            none,
            lost,
        ],
        comparisons: vec![
            Comparison { tasks_needed: None, ..comparison("curated", VerdictKind::Helps, None) },
            Comparison {
                lift: Some(-0.05),
                ci95: Some([-0.18, 0.07]),
                family: Some(FamilyInterval { level: 0.983, low: -0.2, high: 0.09 }),
                normalized_change: None,
                tasks_needed: Some(35),
                better_equal_worse: [2, 6, 4],
                ..comparison("placebo", VerdictKind::Inconclusive, Some(Reason::Noise))
            },
            Comparison { who: of_other(), loss_bounds: Some([0.34, 0.56]), delta_star: Some(0.12), ..comparison("curated", VerdictKind::Inconclusive, Some(Reason::Losses)) },
        ],
        tasks: vec![
            row("config-drift", &[("none", 2, None), ("curated", 5, Some(0.6)), ("placebo", 1, Some(-0.2))]),
            row("log-audit", &[("none", 0, None), ("curated", 5, Some(1.0)), ("placebo", 0, Some(0.0))]),
            broken,
            alone,
        ],
        excluded: vec![
            Exclusion { task: "gpu-train".into(), condition: None, reason: "it needs a GPU".into() },
            Exclusion {
                task: "odd".into(),
                condition: Some("curated".into()),
                reason: "no curated skill: pair it in the experiment, `[tasks.\"odd\"] curated = [\"…\"]`, or name it in the task".into(),
            },
        ],
        notes: vec![Note::Extended { earlier: "quickstart".into() }],
        interim: false,
        exploration: Exploration {
            repetitions: vec![Repetitions { tasks: 0, ..begun().exploration.repetitions.remove(0) }],
            ..nothing().exploration
        },
        ..nothing()
    }
}

fn plain(report: &Report) -> String {
    Terminal.render(report, Style::default())
}

#[test]
fn a_whole_report() {
    insta::assert_snapshot!(plain(&whole()), @r#"
    Run: quickstart · outcome: mean of the rewards (older plan)
    3 tasks · 5 arms (baseline: `none`) · 291 valid trials · equivalence margin ±10 percentage points
    (pp) · 3 comparisons, Bonferroni-adjusted
    ! This run contains all trials of `quickstart` and more. If the report of `quickstart` prompted the
      extension, the error rates are higher than stated (optional stopping).

    Verdicts
     loop with openai:one in bubblewrap
     helps         curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks.
     inconclusive  placebo against none: −5 pp (−20 to +9, 98.3% CI), 12 tasks. The data show neither an
                   effect nor its absence (±10 pp). ≈35 tasks in total would be needed to detect a lift
                   of ±10 pp (80% power).

     loop with gemini:two in bubblewrap
     inconclusive  curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks. If the trials with
                   infrastructure errors had passed at a rate up to 25 pp higher than the valid trials
                   in one condition and up to 25 pp lower in the other, the lift would be +34 to +56 pp.
                   The verdict changes from 12 pp on (δ*). Infrastructure errors could change the
                   verdict, or their share differs by more than 5 pp between the conditions: run the
                   experiment again to retry the trials with such errors.

     Comparisons with the baseline (lift, CIs, run-to-run noise and MDE in pp):
     agent       condition  lift      95% CI  fixed-tasks 95% CI  normalized change  p (CI)  adjusted p (CI)  run-to-run noise  MDE  tasks better/equal/worse
     openai:one  curated     +48  +12 to +80          +29 to +67              +0.78   0.013            0.025               ±15  ±49                    10/1/1
     openai:one  placebo      −5   −18 to +7          +29 to +67                  –   0.013            0.025               ±15  ±49                     2/6/4
     gemini:two  curated     +48  +12 to +80          +29 to +67              +0.78   0.013            0.025               ±15  ±49                    10/1/1

    Arms
     Results, with mean tokens, cost and time per valid trial:
     agent       condition  pass rate     95% CI  tasks  valid trials  infra errors   tokens     cost  time
     openai:one  none             38%  28 to 48%     12            60             0   12,346  $0.0123  75 s
     openai:one  curated          87%  77 to 97%     12            60             0   12,346  $0.0123  75 s
     openai:one  placebo          33%  23 to 43%     12            60             0   12,346  $0.0123  75 s
     gemini:two  none             40%  30 to 50%     12            60             0  unknown  $0.0123  75 s
     gemini:two  curated          47%  37 to 57%     12            51             9   12,346  unknown  75 s

     loop with gemini:two in bubblewrap
     curated: 9 of 60 executed trials ended with an infrastructure error (model provider 7, verifier
       2); the pass rate would be 40% if all such trials had failed, and 55% if all had passed
     curated: 1 tampered with, 3 timed out; such trials count as failed

     Skill exposure funnel (share of valid trials):
     agent       condition  offered  advertised  mentioned  opened  executed
     openai:one  curated       100%        100%        95%     95%        0%
     openai:one  placebo       100%        100%        95%     93%        0%
     gemini:two  curated       100%        100%        95%     60%        0%

    Agents
     Without and with skills (lift in pp; time, cost and tokens: means with skills):
     agent       condition  without  with  lift  minutes     cost  tokens in  tokens out
     openai:one  curated        38%   87%   +48      1.2  $0.0123    unknown     unknown
     openai:one  placebo        38%   33%    −5      1.2  $0.0123    unknown     unknown
     gemini:two  curated        40%   47%   +48      1.2  unknown    unknown     unknown

    Results by task
     For exploration only: a single task has too few trials for a verdict.

     openai:one: trials passed and, in brackets, the lift in pp:
     task          none     curated    placebo
     config-drift   2/5   5/5 (+60)  1/5 (−20)
     log-audit      0/5  5/5 (+100)   0/5 (+0)

     gemini:two: trials passed and, in brackets, the lift in pp:
     task           none                    curated
     log-audit       1/5  2/5 (+20), 4 infra errors
     migrate-money   2/5                          –

    Excluded
     task       condition  reason
     gpu-train  all        it needs a GPU
     odd        curated    no curated skill: pair it in the experiment, `[tasks."odd"] curated = ["…"]`, or name it in the task

    Next steps
     2 trials have no result: run the experiment again, which executes only these.

    Definitions of all terms and columns: `assay report quickstart --details` and docs/guide/reports.md
    "#);
}

/// Estimates and the model that replied are in every format.
#[test]
fn estimates_and_reply_models_are_shown() {
    let estimated = Some(EstimatedShare { trials: 3, share: 0.25 });
    let model = |replied: &str, matches| RepliedModel {
        agent: "loop".into(),
        requested: "openai:one".into(),
        replied: replied.into(),
        matches,
        trials: 60,
        replies: 300,
    };
    let report = Report {
        arms: vec![arm("none", 0.4), Arm { estimated, ..arm("curated", 0.6) }],
        replied_models: vec![model("one-2026-01-01", true), model("<other>", false)],
        model_mismatch: true,
        ..nothing()
    };
    for format in ["terminal", "markdown", "html"] {
        let text = crate::find_renderer(format).unwrap().render(&report, Style::default());
        for expected in [
            "≈12,346",
            "≈$0.0123",
            "responding model: one-2026-01-01 (60 trials)",
            "other",
            "not the requested model",
        ] {
            // Lines are broken, figures may have no-break spaces, and Markdown escapes.
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "");
            assert!(text.contains(expected), "{format} lacks {expected}: {text}");
        }
        assert_eq!(text.matches('≈').count(), 2, "{format}: {text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&crate::find_renderer("json").unwrap().render(&report, Style::default()))
            .unwrap();
    assert_eq!(
        (&json["model_mismatch"], &json["replied_models"][1]["matches"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(json["arms"][1]["estimated"], json!({ "trials": 3, "share": 0.25 }));
}

#[test]
fn a_run_without_results() {
    let empty = Report { arms: Vec::new(), comparisons: Vec::new(), tasks: Vec::new(), ..nothing() };
    insta::assert_snapshot!(plain(&empty), @r"
    Run: quickstart · outcome: mean of the rewards (older plan)
    0 tasks · 0 conditions · 0 valid trials · equivalence margin ±10 percentage points (pp)

    Conditions
     No results: none of the tasks could be run and graded on this machine.

    Next steps
     2 trials have no result: run the experiment again, which executes only these.
    ");
    insta::assert_snapshot!(plain(&nothing()), @r"
    Run: quickstart · outcome: mean of the rewards (older plan)
    agent: loop · model: openai:one · sandbox: bubblewrap · 1 task · 2 conditions · 0 valid trials · 2
    of 2 trials not executed · equivalence margin ±10 percentage points (pp)

    Conditions
     Results, with mean tokens, cost and time per valid trial:
     condition  pass rate  95% CI  tasks  valid trials  infra errors  tokens  cost  time
     none               –       –      0             0             0       –     –     –
     curated            –       –      0             0             0       –     –     –

    Results by task
     For exploration only: a single task has too few trials for a verdict.

     Trials passed and, in brackets, the lift in pp:
     task  none  curated
     t      0/0      0/0

    Next steps
     2 trials have no result: run the experiment again, which executes only these.
    ");
}

#[test]
fn run_of_controls_alone_states_that_it_has_no_other_results() {
    let controls =
        NegativeControls { arms: vec![arm("none", 0.4)], comparisons: Vec::new(), tasks: Vec::new() };
    let report = Report {
        arms: Vec::new(),
        comparisons: Vec::new(),
        tasks: Vec::new(),
        negative_controls: Some(controls),
        ..nothing()
    };
    for name in ["terminal", "markdown", "html"] {
        let page = crate::find_renderer(name).unwrap().render(&report, Style::default());
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("only the negative controls could be run"), "{name}: {page}");
    }
}

/// Tasks need not have the same conditions, or all of them.
#[test]
fn a_condition_that_any_task_has_is_a_column() {
    let tasks = vec![
        row("first", &[("none", 1, None), ("placebo", 2, Some(0.2))]),
        row("second", &[("none", 3, None), ("curated", 4, Some(0.2))]),
    ];
    let report = Report { tasks, ..nothing() };
    for name in ["terminal", "markdown", "html"] {
        let page = crate::find_renderer(name).unwrap().render(&report, Style::default());
        for cell in ["placebo", "2/5", "4/5"] {
            assert!(page.contains(cell), "{cell} in {name}: {page}");
        }
    }
    let page = plain(&report);
    let lines = page
        .lines()
        .filter(|line| ["task ", "first ", "second "].iter().any(|word| line.trim().starts_with(word)));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    task    none    placebo    curated
    first    1/5  2/5 (+20)          –
    second   3/5          –  4/5 (+20)
    ");
}

/// The verdict's lines alone.
fn verdict(comparison: Comparison) -> String {
    let report = Report { comparisons: vec![comparison], ..nothing() };
    let text = plain(&report);
    let lines =
        text.lines().skip_while(|line| *line != "Verdicts").skip(1).take_while(|line| !line.is_empty());
    lines.map(|line| format!("{}\n", line.trim_start())).collect()
}

#[test]
fn retrying_is_not_suggested_for_imported_trials() {
    let lost = |imported| Comparison {
        imported,
        ..comparison("curated", VerdictKind::Inconclusive, Some(Reason::Losses))
    };
    let told = |imported| verdict(lost(imported)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told(false).contains("run the experiment again"));
    let text = told(true);
    assert!(
        !text.contains("run the experiment again") && text.contains("only the program that executed"),
        "{text}"
    );
}

#[test]
fn each_verdict_in_words() {
    let needs =
        |comparison| Comparison { tasks_needed: Some(1_293), tasks_to_confirm: Some(18), ..comparison };
    let mut all = String::new();
    for comparison in [
        comparison("curated", VerdictKind::Helps, None),
        comparison("curated", VerdictKind::Harms, None),
        comparison("curated", VerdictKind::Negligible, None),
        Comparison {
            direction: Some(Direction::Negative),
            ..comparison("curated", VerdictKind::Negligible, None)
        },
        needs(comparison("curated", VerdictKind::Inconclusive, Some(Reason::Noise))),
        Comparison {
            tasks_to_confirm: None,
            ..needs(comparison("curated", VerdictKind::Inconclusive, Some(Reason::Design)))
        },
        comparison("curated", VerdictKind::Inconclusive, Some(Reason::Losses)),
        Comparison {
            family: None,
            tasks: 4,
            ..comparison("curated", VerdictKind::Inconclusive, Some(Reason::Design))
        },
        Comparison {
            lift: None,
            family: None,
            tasks: 0,
            ..comparison("curated", VerdictKind::Inconclusive, Some(Reason::Losses))
        },
        Comparison {
            family: None,
            tasks: 1,
            ..comparison("curated", VerdictKind::Inconclusive, Some(Reason::Design))
        },
        Comparison {
            clusters: Some(6),
            effective_clusters: Some(6.0),
            ..comparison("curated", VerdictKind::Helps, None)
        },
        Comparison {
            family: None,
            clusters: Some(10),
            effective_clusters: Some(1.7),
            ..comparison("curated", VerdictKind::Inconclusive, Some(Reason::Design))
        },
    ] {
        all.push_str(&verdict(comparison));
    }
    insta::assert_snapshot!(all, @r"
    helps  curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks.
    harms  curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks.
    negligible  curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks. Within the equivalence
    margin of ±10 pp.
    negligible  curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks. Within the equivalence
    margin of ±10 pp. The remaining difference is negative.
    inconclusive  curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks. The data show neither
    an effect nor its absence (±10 pp). ≈18 tasks in total would be needed to detect a
    lift of +48 pp, and ≈1,293 tasks to detect a lift of ±10 pp (80% power).
    inconclusive  curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks. This design had too
    little power to detect an effect. ≈1,293 tasks in total would be needed to detect a
    lift of ±10 pp (80% power).
    inconclusive  curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks. Infrastructure errors
    could change the verdict, or their share differs by more than 5 pp between the
    conditions: run the experiment again to retry the trials with such errors.
    inconclusive  curated against none: No CI: 4 tasks have results in both conditions, and at least 5
    are needed.
    inconclusive  curated against none: No CI: 0 tasks have results in both conditions, and at least 5
    are needed. Infrastructure errors could change the verdict, or their share differs by
    more than 5 pp between the conditions: run the experiment again to retry the trials
    with such errors.
    inconclusive  curated against none: No CI: 1 task has results in both conditions, and at least 5
    are needed.
    helps  curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks in 6 clusters.
    inconclusive  curated against none: No CI: 12 tasks in 10 clusters (1.7 effective) have results in
    both conditions, and at least 5 effective clusters are needed.
    ");
}

#[test]
fn fractional_rewards_show_scores_beside_pass_rates() {
    let mut report = whole();
    report.fractional_scores = true;
    report.arms.truncate(3);
    report.comparisons.truncate(2);
    report.tasks.truncate(2);
    report.excluded.clear();
    for arm in &mut report.arms {
        arm.score = arm.pass_rate.map(|rate| rate + 0.1);
    }
    report.arms[1].infrastructure = 2;
    report.comparisons[0].pass_rate_lift = Some(0.2);
    report.tasks[0].arms[0].score = Some(0.55);
    insta::assert_snapshot!(plain(&report), @r"
    Run: quickstart · outcome: mean of the rewards (older plan)
    agent: loop · model: openai:one · sandbox: bubblewrap · 2 tasks · 3 conditions (baseline: `none`) ·
    5 repetitions · 180 valid trials · equivalence margin ±10 percentage points (pp) · 2 comparisons,
    Bonferroni-adjusted
    ! This run contains all trials of `quickstart` and more. If the report of `quickstart` prompted the
      extension, the error rates are higher than stated (optional stopping).

    Verdicts
     helps         curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks.
     inconclusive  placebo against none: −5 pp (−20 to +9, 98.3% CI), 12 tasks. The data show neither an
                   effect nor its absence (±10 pp). ≈35 tasks in total would be needed to detect a lift
                   of ±10 pp (80% power).

     Comparisons with the baseline (lift, CIs, run-to-run noise and MDE in pp):
     condition  lift  pass rate lift      95% CI  fixed-tasks 95% CI  normalized change  p (CI)  adjusted p (CI)  run-to-run noise  MDE  tasks better/equal/worse
     curated     +48             +20  +12 to +80          +29 to +67              +0.78   0.013            0.025               ±15  ±49                    10/1/1
     placebo      −5             +48   −18 to +7          +29 to +67                  –   0.013            0.025               ±15  ±49                     2/6/4

    Conditions
     Results, with mean tokens, cost and time per valid trial:
     condition  score     95% CI  pass rate  tasks  valid trials  infra errors  tokens     cost  time
     none         48%  28 to 48%        38%     12            60             0  12,346  $0.0123  75 s
     curated      97%  77 to 97%        87%     12            60             2  12,346  $0.0123  75 s
     placebo      43%  23 to 43%        33%     12            60             0  12,346  $0.0123  75 s
     curated: 2 of 60 executed trials ended with an infrastructure error; the score would be 87% if
       all such trials had failed, and 87% if all had passed

     Skill exposure funnel (share of valid trials):
     condition  offered  advertised  mentioned  opened  executed
     curated       100%        100%        95%     95%        0%
     placebo       100%        100%        95%     93%        0%

    Results by task
     For exploration only: a single task has too few trials for a verdict.

     Mean score, trials passed and, in brackets, the lift in pp:
     task              none           curated         placebo
     config-drift  55%, 2/5   100%, 5/5 (+60)  20%, 1/5 (−20)
     log-audit      0%, 0/5  100%, 5/5 (+100)    0%, 0/5 (+0)

    Next steps
     2 trials have no result: run the experiment again, which executes only these.

    Definitions of all terms and columns: `assay report quickstart --details` and docs/guide/reports.md
    ");
    // The other renderers use the same names.
    for name in ["markdown", "html"] {
        let text = crate::find_renderer(name).unwrap().render(&report, Style::default());
        for expected in
            ["score", "pass rate lift", "Mean score, trials passed and, in brackets, the lift", "55%, 2/5"]
        {
            assert!(text.contains(expected), "{name}: {expected} is not in\n{text}");
        }
        let plain = crate::find_renderer(name).unwrap().render(&whole(), Style::default());
        assert!(!plain.contains("core"), "{name}:\n{plain}");
    }
}

#[test]
fn color_adds_only_color() {
    let colored = Terminal.render(&whole(), Style { color: true, ..Style::default() });
    insta::assert_snapshot!(colored.lines().take(9).collect::<Vec<_>>().join("\n").replace('\u{1b}', "ESC"), @r"
    ESC[1mRun: quickstart · outcome: mean of the rewards (older plan)ESC[0m
    3 tasks · 5 arms (baseline: `none`) · 291 valid trials · equivalence margin ±10 percentage points
    (pp) · 3 comparisons, Bonferroni-adjusted
    ! This run contains all trials of `quickstart` and more. If the report of `quickstart` prompted the
      extension, the error rates are higher than stated (optional stopping).

    ESC[1mVerdictsESC[0m
    ESC[1m loop with openai:one in bubblewrapESC[0m
     ESC[1;32mhelpsESC[0m         curated against none: +48 pp (+5 to +85, 97.5% CI), 12 tasks.
    ");
    // Without the sequences it is the same text.
    let mut bare = String::new();
    let mut parts = colored.split("\u{1b}[");
    bare.push_str(parts.next().unwrap());
    for part in parts {
        bare.push_str(part.split_once('m').unwrap().1);
    }
    assert_eq!(bare, plain(&whole()));
}

#[test]
fn hostile_names_stay_in_their_cell() {
    let evil = "\u{1b}[2J\u{202e}gpj.exe\n\u{7}\u{200b}x";
    let mut report = whole();
    report.run = evil.into();
    report.notes.push(Note::Planned(evil.into()));
    report.excluded[0].task = evil.into();
    report.excluded[0].reason = evil.into();
    report.tasks[0].task = evil.into();
    for arm in &mut report.arms {
        arm.who.model = Some(evil.into());
        arm.infrastructure_causes = [(evil.to_owned(), 1)].into();
    }
    let text = plain(&report);
    assert_eq!(text.lines().count(), text.split('\n').count() - 1);
    let hostile = |c: char| c != '\n' && (c.is_control() || evil.contains(c) && !c.is_ascii());
    let odd: Vec<char> = text.chars().filter(|&c| hostile(c)).collect();
    assert!(odd.is_empty(), "{odd:?} in\n{text}");
}

/// Text that is shown at 80 columns is shown at 200 too, and nothing is cut or wider than the
/// terminal.
#[test]
fn a_report_is_as_wide_as_its_terminal() {
    let words = |text: &str| {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort_unstable();
        words.dedup();
        words
    };
    let short = Terminal.render(&whole(), Style::default());
    // Only a report without its details points to them.
    let (short, _) = short.split_once("\nDefinitions of all terms").unwrap();
    let all = words(short);
    for width in [80, 100, 120, 160, 200] {
        let style = Style { width: Some(width), details: true, ..Style::default() };
        let text = Terminal.render(&whole(), style);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width && widest > width.min(120) / 2, "{widest} in {width}:\n{text}");
        let lacks: Vec<String> = all.iter().filter(|word| !words(&text).contains(word)).cloned().collect();
        assert_eq!(lacks, [""; 0], "{width}:\n{text}");
    }
    insta::assert_snapshot!(Terminal.render(&whole(), Style { width: Some(80), ..Style::default() }));
}

#[test]
fn nothing_exceeds_a_wide_terminal() {
    let long = "a-name-that-goes-on-and-on-".repeat(20);
    let conditions = [
        "none",
        "curated",
        "placebo",
        "negative",
        "full",
        "plus-related",
        "plus-unrelated",
        "self-generated",
    ];
    let figure = Arm {
        tokens: Some(123_456_789.0),
        cost_usd: Some(12_345.678_9),
        seconds: Some(3_599.0),
        planned: 99_999,
        ..offered("", 1.0, 1.0)
    };
    let arms = conditions.iter().map(|name| Arm { condition: (*name).into(), ..figure.clone() }).collect();
    let cells: Vec<_> = conditions.iter().map(|name| (*name, 5, Some(-1.0))).collect();
    let report = Report {
        arms,
        comparisons: conditions[1..]
            .iter()
            .map(|name| comparison(name, VerdictKind::Inconclusive, None))
            .collect(),
        tasks: vec![row(&long, &cells), row("t", &cells)],
        notes: vec![Note::Planned(long.clone()), Note::Planned(format!("{long} {long}"))],
        excluded: vec![Exclusion { task: long.clone(), condition: None, reason: long.repeat(5) }],
        ..nothing()
    };
    for most in [80, 100, 120, 160] {
        let text = Terminal.render(&report, Style { width: Some(most), details: true, ..Style::default() });
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= most && line == line.trim_end(), "{width} of {most}: {line:?}");
        }
    }
    // What is left out of a name is in its middle, and no more than the terminal requires.
    let wide = Terminal.render(&report, Style { width: Some(160), ..Style::default() });
    assert!(wide.contains("a-name-that-goes-on-and-on-a-name-that-goes-on-a…that-goes-on"), "{wide}");
    let narrow = Terminal.render(&report, Style { width: Some(80), ..Style::default() });
    assert!(narrow.contains("a-name-that-goes…goes-on-and-on"), "{narrow}");
}

#[test]
fn commands_with_a_store_wrap_like_all_words() {
    let store = Some("a/folder/with/a/rather-long-name");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    for width in [80, 100] {
        let style = Style { width: Some(width), ..Style::default() };
        let plain = words(&Terminal.render(&whole(), style));
        let text = Terminal.render(&whole(), Style { store, ..style });
        assert!(words(&text).contains("`assay --store a/folder/with"), "{text}");
        let long = text.lines().find(|line| line.chars().count() > width);
        assert_eq!((long, words(&text)), (None, words(&crate::with_store(&plain, store))));
    }
}

#[test]
fn sentences_wrap_between_words() {
    let check = |text: &str, width: usize, expected: &[&str]| assert_eq!(wrapped(text, width), expected);
    check("", 5, &[""]);
    check("a bc def", 5, &["a bc", "def"]);
    check("a bc  d", 6, &["a bc d"]);
    check("abcdefghij k", 4, &["abcd", "efgh", "ij k"]);
    check("x abcdefghij", 4, &["x", "abcd", "efgh", "ij"]);
    check("äöü äöü", 3, &["äöü", "äöü"]);
}

fn test_arm(condition: &str, passed: usize, lift: Option<f64>, change: Option<TestChange>) -> TestArm {
    TestArm { condition: condition.into(), passed, failed: 4 - passed, lift, change }
}

fn test_row(test: &str, arms: Vec<TestArm>) -> TestRow {
    let who = AgentKey { agent: "loop".into(), model: None, sandbox: "none".into() };
    TestRow { task: "ledger".into(), who, test: test.into(), first_failed: None, arms }
}

fn changed_checks(tests: Vec<TestRow>) -> String {
    let exploration = Exploration { tests, ..whole().exploration };
    let style = Style { tests: true, ..Style::default() };
    let text = Terminal.render(&Report { exploration, ..whole() }, style);
    let (_, section) =
        text.split_once("Checks whose result differs from the baseline\n").unwrap_or(("", &text));
    section.to_owned()
}

#[test]
fn changed_checks_are_in_order_of_size_with_those_of_controls_last_and_names_are_harmless() {
    let base = || test_arm("none", 1, None, None);
    let found = changed_checks(vec![
        test_row("kept", vec![base(), test_arm("curated", 1, Some(0.0), None)]),
        test_row("some", vec![base(), test_arm("curated", 3, Some(0.5), Some(TestChange::FailedToPassed))]),
        test_row(
            "all\u{1b}[31m",
            vec![base(), test_arm("curated", 4, Some(0.75), Some(TestChange::FailedToPassed))],
        ),
        test_row(
            "lost",
            vec![
                test_arm("none", 4, None, None),
                test_arm("placebo", 0, Some(-1.0), Some(TestChange::PassedToFailed)),
            ],
        ),
    ]);
    let order: Vec<usize> =
        [" all", " some ", " lost "].iter().map(|test| found.find(test).unwrap()).collect();
    assert!(order.is_sorted(), "{found}");
    assert!(!found.contains("kept") && !found.contains('\u{1b}'), "{found}");
    assert!(found.contains("passed → failed") && found.contains("4/4") && found.contains("0/4"), "{found}");
    assert!(changed_checks(vec![test_row("kept", vec![base()])]).contains("No check has a different result"));
    assert!(changed_checks(Vec::new()).contains("No verifier of this run reported its checks"));
    let many = (0..50).map(|n| {
        test_row(&n.to_string(), vec![base(), test_arm("c", 4, Some(0.75), Some(TestChange::FailedToPassed))])
    });
    let found = changed_checks(many.collect()).replace("\n ", " ");
    assert!(
        found.contains("or the reverse. Only 40 differences are shown, those of controls last"),
        "{found}"
    );
}

#[test]
fn terminal_details_are_shown_on_request() {
    insta::assert_snapshot!(Terminal.render(&whole(), Style { details: true, ..Style::default() }));
}
