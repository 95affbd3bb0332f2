use assay_store::{Estimated, Evidence, LostEvidence, Metered};
use assay_trace::Exposure;
use assay_usage::Usage;

use crate::sentences::Sentences as _;
use crate::suite::{Suite, close};

fn check(suite: &Suite, expected: &[&str]) {
    let notes = suite.notes();
    assert_eq!(notes.len(), expected.len(), "{notes:#?}");
    for (note, expected) in notes.iter().zip(expected) {
        assert!(note.contains(expected), "{note}\nlacks: {expected}");
    }
}

fn suite() -> Suite {
    Suite::new(&["none", "curated"], &[("a", &["PP", "PP"])])
}

#[test]
fn plain_run_has_no_notes() {
    check(&suite(), &[]);
}

#[test]
fn script_runs_are_noted() {
    let scripted = suite().plan(|run| {
        run.agents[0].measures_a_model = false;
        run.agents[0].label.model = Some("scripted:turns.jsonl".into());
    });
    check(&scripted, &["scripted:turns.jsonl takes its replies from a script"]);
    assert!(!scripted.report().measures_a_model);
    let both = suite().agent("openai:two", &[]).plan(|run| run.agents[0].measures_a_model = false);
    assert!(both.report().measures_a_model);
}

#[test]
fn equal_conditions_share_their_trials() {
    let equal =
        |tasks| suite().plan(|run| run.equal_conditions = vec![("none".into(), "curated".into(), tasks)]);
    check(&equal(3), &["`none` and `curated` provide the same skills on 3 tasks"]);
    check(&equal(1), &["provide the same skills on 1 task "]);
}

#[test]
fn trials_without_a_readable_record_are_not_executed() {
    let unfinished = Suite::new(&["none"], &[("a", &["P.?"])]);
    check(
        &unfinished,
        &[
            "2 of 3 planned trials were not executed",
            "1 record cannot be read; its trial counts as not executed",
        ],
    );
    check(&Suite::new(&["none"], &[("a", &["P."])]), &["1 of 2 planned trials was not executed"]);
}

#[test]
fn unopened_placebo_is_noted_as_a_second_baseline() {
    let placebo = |opened: u32| {
        Suite::new(&["none", "placebo"], &[("a", &["PPPPPPPPPP", "PPPPPPPPPP"])]).each(move |record| {
            record.exposure = Some(vec![Exposure {
                skill: "one".into(),
                offered: true,
                advertised: None,
                mentioned: None,
                opened: (record.repetition <= opened).then_some(3),
                executed: None,
                body_lines: 9,
                body_lines_delivered: 0,
            }]);
        })
    };
    check(&placebo(0), &["`placebo` was opened in only 0% of its trials"]);
    check(&placebo(1), &[]);
    // With several agents, the note names the placebo's agent.
    let two = placebo(0).agent("openai:two", &[]);
    check(&two, &["`placebo` by openai:one was opened"]);
    // A placebo of which nothing is known yet is not blamed.
    check(
        &Suite::new(&["none", "placebo"], &[("a", &["P", "i"])]),
        &["`placebo` has no usable trials: of 1 trial, 1 ended with an infrastructure error"],
    );
}

#[test]
fn contamination_and_extended_runs_are_noted() {
    let contaminated = suite().each(|record| {
        if record.condition == "none" && record.repetition == 1 {
            record.contaminated = vec!["one in /app/x.md".into()];
        }
    });
    check(&contaminated, &["Contamination: 1 trial of `none` had a skill of the experiment"]);
    let lost = suite().each(|record| {
        let lost = LostEvidence { path: "agent/log.txt".into(), reason: "larger than 16777216 bytes".into() };
        let is_first = record.condition == "none" && record.repetition == 1;
        record.evidence = Some(Evidence { lost: is_first.then_some(lost).into_iter().collect(), more: 0 });
    });
    check(&lost, &["Evidence: of 1 trial of `none` logs, artifacts or other files could not be kept"]);
    let extended = suite().plan(|run| run.extends = Some("test-1".into()));
    check(&extended, &["contains all trials of `test-1`"]);
    assert!(extended.report().extended_after_look);
    let relabeled = suite().plan(|run| run.relabels = Some("test-1".into()));
    check(&relabeled, &["has the trials of `test-1` with other labels of tasks"]);
    assert_eq!(relabeled.report().relabels.as_deref(), Some("test-1"));
}

/// Estimates are marked in figures and in words, and not compared with transcripts.
#[test]
fn estimated_tokens_are_marked() {
    let usage = |input, output| Usage { input, output, cache_read: 0, cache_write: 0, ..Usage::default() };
    let estimated = suite().each(move |record| {
        record.usage = Some(usage(900, 100));
        record.cost_usd = Some(0.5);
        let mut metered = Metered {
            requests: 1,
            tokens: 1000,
            estimated_tokens: 0,
            transcript_tokens: Some(1000),
            side_request_tokens: 0,
            replayed: false,
        };
        if record.condition == "curated" && record.repetition == 1 {
            record.estimated = Some(Estimated { requests: 1, usage: usage(400, 100), cost_usd: Some(0.2) });
            metered.estimated_tokens = 500;
            metered.transcript_tokens = Some(500);
        }
        record.metered = Some(metered);
    });
    check(
        &estimated,
        &[
            "The gateway and the transcripts count the same tokens in every trial of loop",
            "loop with openai:one: in 1 of 4 trials, the provider's usage is missing or impossible for some replies. The tokens \
             and cost of these replies are estimated from characters (12% of all tokens; marked ≈). Caps in USD count the estimate of a \
             complete reply without a usage; caps in tokens count no estimate.",
        ],
    );
    let arms = estimated.report().arms;
    assert_eq!(arms[0].estimated, None);
    let share = arms[1].estimated.unwrap();
    assert_eq!(share.trials, 1);
    close(share.share, 0.25);
    let json = serde_json::to_value(&arms[1]).unwrap();
    assert_eq!(json["estimated"], serde_json::json!({ "trials": 1, "share": 0.25 }));
}

/// The responding model is named, and a model other than the requested one is a warning.
#[test]
fn model_mismatch_is_a_warning() {
    let replied = |names: &'static [&'static str]| {
        suite().each(move |record| {
            record.replied_models = names.iter().map(|name| ((*name).to_owned(), 3)).collect();
        })
    };
    let well = replied(&["models/one", "one-2026-01-01"]);
    check(&well, &[]);
    let report = well.report();
    assert!(!report.model_mismatch);
    let found: Vec<_> =
        report.replied_models.iter().map(|row| (row.replied.as_str(), row.trials, row.replies)).collect();
    assert_eq!(found, [("models/one", 4, 12), ("one-2026-01-01", 4, 12)]);
    let other = replied(&["one", "one-mini"]);
    check(&other, &["Warning: loop requested openai:one, but one-mini replied in 4 trials."]);
    let report = other.report();
    assert!(report.model_mismatch);
    assert_eq!(report.replied_models.iter().map(|row| row.matches).collect::<Vec<_>>(), [true, false]);
    // A script has no model, whatever its name.
    let scripted = replied(&["m"]).plan(|run| run.agents[0].measures_a_model = false);
    assert!(!scripted.report().model_mismatch && scripted.report().replied_models.is_empty());
}

#[test]
fn condition_without_usable_trials_is_noted_first() {
    let silent = |row: &'static [&'static str]| {
        Suite::new(&["none", "curated"], &[("a", row)]).each(|record| {
            if record.outcome == assay_store::Outcome::TimedOut {
                record.turns = Some(0);
            }
        })
    };
    let dead = silent(&["PFP", "TTT"]).plan(|run| run.extends = Some("test-1".into()));
    check(
        &dead,
        &[
            "`curated` has no usable trials: of 3 trials, 3 timed out before the model replied. It has no pass rate",
            "contains all trials of `test-1`",
        ],
    );
    let report = dead.report();
    assert!(report.comparisons.is_empty(), "{:?}", report.comparisons);
    let rates: Vec<_> = report.arms.iter().map(|arm| (arm.pass_rate, arm.trials, arm.timed_out)).collect();
    assert_eq!(rates, [(Some(2.0 / 3.0), 3, 0), (None, 0, 3)]);
    assert_eq!((report.arms[1].ci95, report.arms[1].bounds), (None, None));
    // A broken trial counts the same way, and one trial with a reply is enough.
    check(
        &silent(&["iTi", "PPP"]),
        &["`none` has no usable trials: of 3 trials, 1 timed out before the model replied and 2 ended with"],
    );
    check(&silent(&["TFT", "PPP"]), &[]);
    assert_eq!(silent(&["TFT", "PPP"]).report().comparisons.len(), 1);
    // The replies of imported trials are unknown, and an agent without a model gets none.
    let imported = dead.plan(|run| (run.extends, run.imported) = (None, Some("harbor".into())));
    assert_eq!(imported.report().comparisons.len(), 1);
    let without = silent(&["PFP", "TTT"]).plan(|run| run.agents[0].label.model = None);
    assert_eq!(without.report().comparisons.len(), 1);
}

#[test]
fn imported_runs_and_late_rewards_are_noted() {
    let suite = Suite::new(&["none", "placebo"], &[("a", &["PT", "PP"])])
        .plan(|run| run.imported = Some("harbor".into()))
        .each(|record| {
            if record.repetition == 2 && record.condition == "none" {
                record.late = true;
            }
        });
    let notes = suite.notes();
    // There is no note about a placebo of which it is unknown whether it was opened.
    assert_eq!(notes.len(), 2, "{notes:#?}");
    assert!(notes[0].contains("executed by harbor and imported"), "{notes:#?}");
    assert!(notes[1].starts_with("1 trial was graded after the agent's deadline"), "{notes:#?}");
    // Trials that were lost elsewhere cannot be retried here.
    assert!(suite.report().comparisons.iter().all(|comparison| comparison.imported));
}

#[test]
fn capped_resources_are_noted() {
    let said = "1 task asks for more processors than this machine has";
    let suite = Suite::new(&["none", "curated"], &[("a", &["P", "P"])])
        .plan(|run| run.warnings = vec![said.to_owned()]);
    assert!(suite.notes().iter().any(|note| note == said));
}

#[test]
fn tasks_sharing_a_skill_without_a_cluster_are_noted() {
    let suite = |cluster: fn(usize) -> Option<String>| {
        Suite::uniform(&["none", "curated"], &["FFF", "PPP"]).plan(|run| {
            for (n, task) in run.tasks.iter_mut().enumerate() {
                task.curated = vec![format!("blake3:{}", n % 5)];
                task.cluster = cluster(n);
            }
        })
    };
    let note = |suite: Suite| suite.notes().into_iter().find(|note| note.contains("`cluster`"));
    let told = note(suite(|_| None)).unwrap();
    assert!(
        told.starts_with("5 skills belong to several tasks each (20 tasks in all), but tasks with the same"),
        "{told}"
    );
    assert_eq!(note(suite(|n| Some(format!("skill {}", n % 5)))), None);
}
