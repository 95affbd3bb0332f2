//! Notes on conditions that were measured at different times.

use assay_analysis::{RunComparison, compare_gathered};
use assay_store::Record;

use crate::sentences::sentences;
use crate::suite::{Suite, close};

/// Each record on a separate day for each condition, one minute after another.
fn on_days(suite: Suite, day: impl Fn(&Record) -> u32) -> Suite {
    suite.each(|record| {
        let minute = record.task[1..].parse::<u32>().unwrap();
        let day = day(record);
        record.started_at = Some(format!("2026-01-{day:02}T10:{minute:02}:00Z"));
        record.finished_at = Some(format!("2026-01-{day:02}T10:{minute:02}:50.5Z"));
    })
}

#[test]
fn conditions_of_different_days_are_compared_with_a_warning() {
    let suite = || Suite::uniform(&["none", "curated"], &["PF", "PP"]);
    let check = |day: &dyn Fn(&Record) -> u32, overlap: f64, warned: bool| {
        let report = on_days(suite(), day).report();
        close(report.comparisons[0].time_overlap, overlap);
        let notes = sentences(&report.notes);
        let note = notes.iter().find(|note| note.contains("measured at different times"));
        assert_eq!(note.is_some(), warned, "{notes:?}");
        note.cloned()
    };
    // A tenth of the trials is outside of a period by definition.
    check(&|_| 5, 0.9, false);
    let note = check(&|record| if record.condition == "none" { 5 } else { 25 }, 0.0, true).unwrap();
    assert!(
        note.starts_with(
            "`curated` and `none` were measured at different times (2026-01-25 10:00 to 2026-01-25 10:19 and \
             2026-01-05 10:00 to 2026-01-05 10:19 UTC, overlap 0%)."
        ),
        "{note}"
    );
    // A run that was resumed: four fifths of the skill's trials and more came later; then one in
    // twenty.
    let number = |record: &Record| record.task[1..].parse::<u32>().unwrap();
    check(&|r| if r.condition == "none" || number(r) < 5 { 5 } else { 25 }, 0.2, true);
    check(&|r| if r.condition == "none" || number(r) > 0 { 5 } else { 25 }, 0.9, false);
    // Without times there is no note.
    let unknown = suite().each(|record| record.started_at = None).report();
    assert_eq!(unknown.comparisons[0].time_overlap, None);
    let notes = sentences(&unknown.notes);
    assert!(!notes.iter().any(|note| note.contains("different times")), "{notes:?}");
}

/// Two harnesses of one model have the same name: seconds between their trials do not make a second
/// note of the same words.
#[test]
fn equal_notes_are_listed_once() {
    let names: Vec<String> = (0..20).map(|n| format!("t{n:02}")).collect();
    let rows: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &["PF", "PP"][..])).collect();
    let notes = |start: &str| {
        let suite = Suite::new(&["none", "curated"], &rows)
            .agent("openai:one", &rows)
            .plan(|run| run.agents[1].label.name = "other".to_owned());
        let of_other: Vec<_> =
            suite.run.cells.iter().filter(|cell| cell.agent == 1).map(|cell| cell.trial.clone()).collect();
        let suite = on_days(suite, |record| if record.condition == "none" { 5 } else { 25 }).each(|record| {
            if of_other.contains(&record.trial) {
                record.started_at = record.started_at.take().map(|time| time.replace("T10:00:00Z", start));
            }
        });
        let notes = sentences(&suite.report().notes);
        notes.iter().filter(|note| note.contains("measured at different times")).count()
    };
    assert_eq!(notes("T10:00:07Z"), 1);
    assert_eq!(notes("T09:59:00Z"), 2);
}

#[test]
fn two_runs_of_different_days_are_compared_with_a_warning() {
    let run = |name: &str, day: u32| on_days(Suite::uniform(&["none"], &["PF"]), move |_| day).named(name);
    let against = |first: &Suite, second: &Suite| -> RunComparison {
        compare_gathered(&first.run, &first.gathered(), &second.run, &second.gathered())
    };
    let found = against(&run("before", 5), &run("after", 25));
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    assert!(
        assay_report::note(&found.notes[0])
            .starts_with("`none` and `before` were measured at different times"),
        "{found:?}"
    );
    assert_eq!(against(&run("before", 5), &run("after", 5)).notes, []);
}
