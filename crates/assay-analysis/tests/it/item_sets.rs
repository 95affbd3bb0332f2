//! Two sets of checks, with figures computed by hand.

use assay_analysis::item_sets::{ItemScore, ItemSets, SetMeasureName};
use assay_analysis::{CheckClass, CheckSet, Note, Report};
use assay_store::{Outcome, Record};
use assay_usage::Usage;
use serde_json::{Value, json};

use crate::suite::{Rows, Suite, close};

/// Six tasks, twice each: with the skill all pass, but `f`, whose knowledge it does not bring.
const SIX: Rows<'static> = &[
    ("a", &["FF", "PP"]),
    ("b", &["FF", "PP"]),
    ("c", &["FF", "PP"]),
    ("d", &["FF", "PP"]),
    ("e", &["FF", "PP"]),
    ("f", &["FF", "FF"]),
];

/// A test of a CTRF report, with its label.
fn test(name: &str, status: &str, extra: Value) -> Value {
    let mut test = json!({ "name": name, "status": status, "message": format!("{name} {status}") });
    test["extra"] = extra;
    test
}

fn of_class(class: &str, item: &str) -> Value {
    json!({ "set": "if", "item": item, "class": class, "file": "SKILL.md", "line": 4, "answer": format!("the {item}") })
}

fn word(passed: bool) -> &'static str {
    if passed { "passed" } else { "failed" }
}

/// Two items of knowledge and one of convention that the skill brings, a reminder that all meet, and two demands of the
/// instruction, of which the second trial with the skill misses one in task `a`.
fn report_checks(record: &mut Record) {
    let has_skill = record.condition == "curated";
    let knows = has_skill && record.task != "f";
    let loses = has_skill && record.task == "a" && record.repetition == 2;
    record.ctrf = Some(json!({ "tests": [
        test("k1", word(knows), of_class("knowledge", "d1")),
        test("k2", word(knows), of_class("knowledge", "d2")),
        test("c1", word(has_skill), of_class("convention", "d3")),
        test("r1", "passed", of_class("reminder", "d4")),
        test("g1", "passed", json!({ "set": "gc" })),
        test("g2", word(!loses), json!({ "set": "gc" })),
    ] }));
}

fn sets(report: &Report) -> &ItemSets {
    report.item_sets.as_ref().unwrap()
}

fn score(report: &Report, set: CheckSet, class: Option<CheckClass>) -> &ItemScore {
    sets(report).scores.iter().find(|row| (row.set, row.class) == (set, class)).unwrap()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
}

#[test]
fn knowledge_is_judged_over_items_clustered_by_task() {
    let report = Suite::new(&["none", "curated"], SIX).each(report_checks).report();
    let row = score(&report, CheckSet::If, Some(CheckClass::Knowledge));
    assert_eq!((row.items, row.tasks, row.missing), (12, 6, [0, 0]));
    // Ten of twelve items.
    close(row.without, 0.0);
    close(row.with, 10.0 / 12.0);
    close(row.difference, 10.0 / 12.0);
    // Clusters of two items: means 1, 1, 1, 1, 1, 0. s² = (5/36 + 25/36)/5 = 1/6; v₀ of a cluster's mean is ¼(½ + ½)/2 = 1/8 and
    // s̃² = (5/6 + 2/8)/7 = .1548 with 9.8 degrees of freedom, so that s decides: t(5) = 2.570582, h = t·s/√6 = .428430.
    // m₃ = (5/216 − 125/216)/6 = −.0925926, k = m₃/(12·s²·6)·(1 + 2t²) = −.0077160·14.215784 = −.109690.
    let [low, high] = row.ci95.unwrap();
    near(low, 0.833_333 - 0.428_430 - 0.109_690);
    near(high, 1.0);
    let family = row.family.unwrap();
    assert!((family.low - low).abs() < 1e-9 && (family.level - 0.95).abs() < 1e-9, "{family:?}");
    assert_eq!(row.verdict.map(assay_analysis::MetricWord::word), Some("improves"));
    assert_eq!((row.guard, row.reason), (None, None));
    assert_eq!(row.lower_on, Vec::<String>::new());
    // Convention is a row of its own: all twelve trials meet it, and no figure of knowledge contains it.
    let convention = score(&report, CheckSet::If, Some(CheckClass::Convention));
    assert_eq!((convention.items, convention.without, convention.with), (6, 0.0, 1.0));
    let reminder = score(&report, CheckSet::If, Some(CheckClass::Reminder));
    assert_eq!((reminder.items, reminder.difference), (6, 0.0));
}

#[test]
fn goal_completion_is_a_guard() {
    let report = Suite::new(&["none", "curated"], SIX).each(report_checks).report();
    let row = score(&report, CheckSet::Gc, None);
    // Shares of two checks: 1 and ½ in task `a` with the skill, 1 elsewhere: −¼ on one of six tasks.
    close(row.without, 1.0);
    close(row.with, (0.75 + 5.0) / 6.0);
    close(row.difference, -0.25 / 6.0);
    assert_eq!((row.items, row.tasks, &row.lower_on), (12, 6, &vec!["a".to_owned()]));
    // Six tasks of two trials exclude no loss of 10 points: v₀ = ¼ is larger than what was seen.
    assert_eq!(row.guard.map(assay_analysis::GuardWord::word), Some("inconclusive"));
    // Every task loses all: violated, and a loss is shown.
    let lost = |record: &mut Record| {
        report_checks(record);
        let has_skill = record.condition == "curated";
        record.ctrf = Some(json!({ "tests": [
            test("k", word(has_skill), of_class("knowledge", "d1")),
            test("g", word(!has_skill), json!({ "set": "gc" })),
        ] }));
    };
    let report = Suite::new(&["none", "curated"], SIX).each(lost).report();
    let row = score(&report, CheckSet::Gc, None);
    assert_eq!((row.guard.map(assay_analysis::GuardWord::word), row.lower_on.len()), (Some("violated"), 6));
    assert_eq!(row.verdict.map(assay_analysis::MetricWord::word), Some("worsens"));
    // Twenty tasks of five trials without a loss exclude one of 10 points.
    let held = Suite::uniform(&["none", "curated"], &["FFFFF", "PPPPP"]).each(|record| {
        let has_skill = record.condition == "curated";
        record.ctrf = Some(json!({ "tests": [
            test("k", word(has_skill), of_class("knowledge", "d1")),
            test("g", "passed", json!({ "set": "gc" })),
        ] }));
    });
    let row = score(&held.report(), CheckSet::Gc, None).clone();
    assert_eq!((row.guard.map(assay_analysis::GuardWord::word), row.lower_on.len()), (Some("held"), 0));
}

#[test]
fn items_of_one_task_are_not_independent() {
    // 100 items of two tasks: two clusters, so that there is neither interval nor verdict.
    let rows: Rows<'_> = &[("a", &["FF", "PP"]), ("b", &["FF", "PP"])];
    let many = |record: &mut Record| {
        let met = word(record.condition == "curated");
        let tests = (0..50).map(|n| test(&format!("k{n}"), met, of_class("knowledge", &format!("d{n}"))));
        record.ctrf = Some(json!({ "tests": tests.collect::<Vec<_>>() }));
    };
    let report = Suite::new(&["none", "curated"], rows).each(many).report();
    let row = score(&report, CheckSet::If, Some(CheckClass::Knowledge));
    assert_eq!((row.items, row.difference, row.ci95, row.family), (100, 1.0, None, None));
    assert_eq!(row.verdict.map(assay_analysis::MetricWord::word), Some("inconclusive"));
    // Declared clusters join tasks.
    let joined = Suite::new(&["none", "curated"], SIX).each(report_checks).plan(|run| {
        run.tasks[..3].iter_mut().for_each(|task| task.cluster = Some("one".to_owned()));
    });
    // Sizes 3, 1, 1, 1 in units of two items: 36/12 = 3 effective clusters.
    assert_eq!(score(&joined.report(), CheckSet::If, Some(CheckClass::Knowledge)).ci95, None);
}

#[test]
fn what_is_not_reported_is_not_met_unless_the_trial_passed() {
    // The trials with the skill, each with the status that its item has; `-`: the verifier does not report it.
    let check = |letters: &str, statuses: &[&str], with: f64, missing: usize| {
        let rows: Vec<(String, [String; 2])> =
            (0..6).map(|n| (format!("t{n}"), ["F".repeat(letters.len()), letters.to_owned()])).collect();
        let cells: Vec<(&str, [&str; 2])> =
            rows.iter().map(|(name, [base, arm])| (name.as_str(), [base.as_str(), arm.as_str()])).collect();
        let rows: Vec<(&str, &[&str])> = cells.iter().map(|(name, words)| (*name, &words[..])).collect();
        let report = Suite::new(&["none", "curated"], &rows)
            .each(|record| {
                let at = record.repetition as usize - 1;
                let status = if record.condition == "none" { "failed" } else { statuses[at] };
                record.ctrf = (status != "-")
                    .then(|| json!({ "tests": [test("k", status, of_class("knowledge", "d1"))] }));
            })
            .report();
        let row = score(&report, CheckSet::If, Some(CheckClass::Knowledge));
        assert_eq!((row.with, row.missing), (with, [0, missing]), "{letters} {statuses:?}");
    };
    check("PP", &["passed", "passed"], 1.0, 0);
    check("PF", &["passed", "failed"], 0.5, 0);
    // A verifier that ended early in a trial that failed; in six tasks.
    check("PF", &["passed", "-"], 0.5, 0);
    check("PP", &["passed", "-"], 1.0, 6);
    check("PF", &["passed", "skipped"], 1.0, 6);
    // Out of time, or tampered with: whatever the verifier found.
    check("PT", &["passed", "passed"], 0.5, 0);
    check("PX", &["passed", "passed"], 0.5, 0);
    // A trial without a result counts nowhere.
    check("Pi", &["passed", "passed"], 1.0, 0);
}

#[test]
fn several_checks_of_a_directive_are_one_item() {
    let report = Suite::new(&["none", "curated"], SIX)
        .each(|record| {
            let has_skill = record.condition == "curated";
            record.ctrf = Some(json!({ "tests": [
                test("name", word(has_skill), of_class("knowledge", "d1")),
                test("value", word(has_skill && record.repetition == 1), of_class("knowledge", "d1")),
                test("unnamed", word(has_skill), json!({ "set": "if" })),
                test("neither set", "passed", json!({ "set": "other" })),
            ] }));
        })
        .report();
    let row = score(&report, CheckSet::If, Some(CheckClass::Knowledge));
    assert_eq!((row.items, row.with), (6, 0.5));
    // Without a class it is in a row of its own.
    assert_eq!(score(&report, CheckSet::If, None).items, 6);
    assert_eq!(sets(&report).scores.len(), 2);
    let shown = &sets(&report).items[0];
    // One of two trials meets it: the one that does not is shown, with the check that failed.
    assert_eq!((shown.with.passed, shown.with.failed, shown.with.said.as_str()), (1, 1, "value failed"));
}

#[test]
fn figures_without_and_with_by_hand() {
    let report = Suite::new(&["none", "curated"], SIX)
        .each(report_checks)
        .each(|record| {
            let has_skill = record.condition == "curated";
            let scale: u64 = if has_skill { 3 } else { 1 };
            record.usage =
                Some(Usage { input: 100 * scale, cache_read: 20, output: 10 * scale, ..Usage::default() });
            record.seconds.agent = Some(if has_skill { 90.0 } else { 60.0 });
            record.cost_usd = (has_skill || record.task != "b").then_some(0.25);
        })
        .report();
    let figures = &sets(&report).figures;
    assert_eq!(figures.len(), 7);
    let of = |task: Option<&str>, measure: SetMeasureName| {
        let found = figures.iter().find(|one| one.task.as_deref() == task).unwrap();
        let row = found.measures.iter().find(|row| row.measure == measure).unwrap();
        (row.without, row.with, row.difference)
    };
    assert_eq!(of(None, SetMeasureName::TokensIn), (Some(120.0), Some(320.0), Some(200.0)));
    assert_eq!(of(None, SetMeasureName::TokensOut), (Some(10.0), Some(30.0), Some(20.0)));
    assert_eq!(of(None, SetMeasureName::Minutes), (Some(1.0), Some(1.5), Some(0.5)));
    // The cost of a trial of `b` is unknown, and so is the mean.
    assert_eq!(of(None, SetMeasureName::CostUsd), (None, Some(0.25), None));
    assert_eq!(of(Some("a"), SetMeasureName::CostUsd), (Some(0.25), Some(0.25), Some(0.0)));
    assert_eq!(of(Some("a"), SetMeasureName::IfKnowledge), (Some(0.0), Some(1.0), Some(1.0)));
    assert_eq!(of(Some("f"), SetMeasureName::IfKnowledge), (Some(0.0), Some(0.0), Some(0.0)));
    assert_eq!(of(Some("a"), SetMeasureName::Gc), (Some(1.0), Some(0.75), Some(-0.25)));
    assert_eq!(of(None, SetMeasureName::IfConvention), (Some(0.0), Some(1.0), Some(1.0)));
    assert_eq!(of(None, SetMeasureName::IfReminder).2, Some(0.0));
    // Five of six tasks pass with the skill.
    close(of(None, SetMeasureName::Overall).2, 5.0 / 6.0);
    // The total of items is that of the comparison.
    assert_eq!(
        of(None, SetMeasureName::IfKnowledge).2,
        Some(score(&report, CheckSet::If, Some(CheckClass::Knowledge)).difference)
    );
}

#[test]
fn both_sides_of_an_item_have_a_trial_and_what_its_check_said() {
    let suite = Suite::new(&["none", "curated"], SIX).each(report_checks);
    let report = suite.report();
    let item = &sets(&report).items[0];
    assert_eq!((item.task.as_str(), item.item.as_str(), item.check.as_str()), ("a", "d1", "k1"));
    assert_eq!((item.place.as_deref(), item.answer.as_deref()), (Some("SKILL.md:4"), Some("the d1")));
    assert_eq!((item.without.said.as_str(), item.with.said.as_str()), ("k1 failed", "k1 passed"));
    assert_eq!((item.without.passed, item.without.failed, item.with.passed), (0, 2, 2));
    assert_eq!(item.gain, Some(1.0));
    let condition = |trial: Option<&assay_store::TrialId>| {
        let record = suite.records().find(|(id, _)| Some(*id) == trial).and_then(|(_, record)| record);
        record.map(|record| (record.task.clone(), record.condition.clone(), record.repetition))
    };
    assert_eq!(condition(item.without.trial.as_ref()), Some(("a".into(), "none".into(), 1)));
    assert_eq!(condition(item.with.trial.as_ref()), Some(("a".into(), "curated".into(), 1)));
    // Half of the trials with the skill miss `g2` in `a`: the one that misses it is shown.
    let goal = sets(&report).items.iter().find(|item| item.task == "a" && item.check == "g2").unwrap();
    assert_eq!((goal.set, goal.with.passed, goal.with.failed), (CheckSet::Gc, 1, 1));
    assert_eq!(condition(goal.with.trial.as_ref()), Some(("a".into(), "curated".into(), 2)));
    // By task, IF before GC.
    let order: Vec<&str> = sets(&report).items.iter().take(6).map(|item| item.check.as_str()).collect();
    assert_eq!(order, ["k1", "k2", "c1", "r1", "g1", "g2"]);
}

/// Each task has three canaries: one that no trial gives, one that all have in common and the second trial of `a` gives, and
/// one of its own, which every trial of `b` gives.
fn report_canaries(record: &mut Record) {
    let canary = |item: &str, answer: &str| json!({ "set": "if", "item": item, "class": "knowledge", "answer": answer, "canary": true });
    let task = record.task.clone();
    record.ctrf = Some(json!({ "tests": [
        test("never", "failed", canary("d1", "zq-1")),
        test("shared", word(task == "a" && record.repetition == 2), canary("d2", "zq-2")),
        test("own", word(task == "b"), canary("d3", &format!("zq-{task}"))),
        test("plain", "passed", of_class("knowledge", "d4")),
    ] }));
}

#[test]
fn a_baseline_that_gives_canaries_is_not_blind() {
    let suite = || Suite::new(&["none", "curated"], SIX).each(report_canaries);
    let report = suite().report();
    let [found] = &sets(&report).canaries[..] else { panic!("{:?}", sets(&report).canaries) };
    // d1 and d2 once, d3 with six answers.
    assert_eq!((found.baseline.as_str(), found.known, found.total), ("none", 2, 8));
    let known: Vec<_> = found.items.iter().map(|one| (one.item.as_str(), one.task.as_str())).collect();
    assert_eq!(known, [("d2", "a"), ("d3", "b")]);
    assert_eq!(found.items[1].answer.as_deref(), Some("zq-b"));
    let noted = |report: &Report| {
        report.notes.iter().any(|note| matches!(note, Note::KnownCanaries { known: 2, total: 8, .. }))
    };
    assert!(noted(&report));
    // A baseline that has the skill knows it; a placebo does not have it.
    let with = |conditions: &[&str]| Suite::new(conditions, SIX).each(report_canaries).report();
    assert_eq!(sets(&with(&["curated", "version:v1"])).canaries, []);
    assert_eq!(sets(&with(&["placebo", "curated"])).canaries[0].known, 2);
    // A trial that was tampered with gives nothing away.
    let tampered = suite().each(|record| record.outcome = Outcome::Tampered).report();
    assert_eq!(tampered.item_sets.unwrap().canaries[0].known, 0);
}

#[test]
fn without_labels_a_report_is_as_before() {
    let plain = |record: &mut Record| {
        record.ctrf =
            Some(json!({ "tests": [{ "name": "k", "status": "passed", "extra": { "owner": "x" } }] }));
    };
    let report = Suite::new(&["none", "curated"], SIX).each(plain).report();
    assert_eq!(report.item_sets, None);
    assert_eq!(serde_json::to_value(&report).unwrap().get("item_sets"), None);
    // Goal completion alone is no second set.
    let goal = |record: &mut Record| {
        record.ctrf = Some(json!({ "tests": [test("g", "passed", json!({ "set": "gc" }))] }));
    };
    assert_eq!(Suite::new(&["none", "curated"], SIX).each(goal).report().item_sets, None);
}

#[test]
fn a_run_that_is_not_complete_has_no_verdict_on_items() {
    let rows: Rows<'_> = &[
        ("a", &["FF", "PP"]),
        ("b", &["FF", "PP"]),
        ("c", &["FF", "PP"]),
        ("d", &["FF", "PP"]),
        ("e", &["FF", "PP"]),
        ("f", &["FF", "F."]),
    ];
    let report = Suite::new(&["none", "curated"], rows).each(report_checks).report();
    for row in &sets(&report).scores {
        assert_eq!((row.verdict, row.guard, row.reason), (None, None, None), "{row:?}");
    }
    assert!(score(&report, CheckSet::If, Some(CheckClass::Knowledge)).ci95.is_some());
}
