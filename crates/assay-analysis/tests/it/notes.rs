use assay_trace::Exposure;

use crate::suite::Suite;

fn check(suite: &Suite, expected: &[&str]) {
    let notes = suite.report().notes;
    assert_eq!(notes.len(), expected.len(), "{notes:#?}");
    for (note, expected) in notes.iter().zip(expected) {
        assert!(note.contains(expected), "{note}\nlacks: {expected}");
    }
}

fn suite() -> Suite {
    Suite::new(&["none", "curated"], &[("a", &["PP", "PP"])])
}

#[test]
fn a_run_without_anything_to_note_has_no_notes() {
    check(&suite(), &[]);
}

#[test]
fn a_script_is_called_one() {
    let scripted = suite().plan(|run| {
        run.agents[0].measures_a_model = false;
        run.agents[0].label.model = Some("scripted:turns.jsonl".into());
    });
    check(&scripted, &["scripted:turns.jsonl plays what a file says"]);
    assert!(!scripted.report().measures_a_model);
    let both = suite().agent("openai:two", &[]).plan(|run| run.agents[0].measures_a_model = false);
    assert!(both.report().measures_a_model);
}

#[test]
fn equal_conditions_share_their_trials() {
    let equal =
        |tasks| suite().plan(|run| run.equal_conditions = vec![("none".into(), "curated".into(), tasks)]);
    check(&equal(3), &["`none` and `curated` provide the same on 3 tasks"]);
    check(&equal(1), &["provide the same on 1 task:"]);
}

#[test]
fn what_is_unfinished_or_unreadable_is_said() {
    let unfinished = Suite::new(&["none"], &[("a", &["P.?"])]);
    check(&unfinished, &["2 planned trials have no record yet", "1 record is not readable"]);
    check(&Suite::new(&["none"], &[("a", &["P."])]), &["1 planned trial has no record yet"]);
}

#[test]
fn a_placebo_that_nobody_opened_is_a_second_baseline() {
    let placebo = |opened: u32| {
        Suite::new(&["none", "placebo"], &[("a", &["PPPPPPPPPP", "PPPPPPPPPP"])]).each(move |record| {
            record.exposure = vec![Exposure {
                skill: "one".into(),
                offered: true,
                advertised: None,
                touched: None,
                opened: (record.repetition <= opened).then_some(3),
                executed: None,
                body_lines: 9,
                body_lines_delivered: 0,
            }];
        })
    };
    check(&placebo(0), &["`placebo` was opened in 0 % of its trials"]);
    check(&placebo(1), &[]);
    // Where several agents ran, it is said whose placebo that was.
    let two = placebo(0).agent("openai:two", &[]);
    check(&two, &["`placebo` by openai:one was opened"]);
    // A placebo of which nothing is known yet is not blamed.
    check(&Suite::new(&["none", "placebo"], &[("a", &["P", "i"])]), &[]);
}

#[test]
fn contamination_and_second_looks_are_said() {
    let contaminated = suite().each(|record| {
        if record.condition == "none" && record.repetition == 1 {
            record.contaminated = vec!["one in /app/x.md".into()];
        }
    });
    check(&contaminated, &["1 trial of `none` had a skill of the experiment"]);
    let extended = suite().plan(|run| run.extends = Some("test-1".into()));
    check(&extended, &["holds all trials of `test-1`"]);
    assert!(extended.report().extended_after_look);
}
