use assay_analysis::{Direction, Reason, VerdictKind};
use assay_stats::PairedTask;

use crate::suite::{Rows, Suite, close};

const SIX: Rows<'static> = &[
    ("a", &["FFF", "PPP", "PPP"]),
    ("b", &["FFF", "PPP", "PPP"]),
    ("c", &["FFF", "PPP", "PPP"]),
    ("d", &["FFF", "PPP", "PPP"]),
    ("e", &["FFF", "PPP", "PPP"]),
    ("f", &["FFF", "PPP", "FFF"]),
];

fn scores(word: &str) -> Vec<f64> {
    word.chars().map(|letter| f64::from(u8::from(letter == 'P'))).collect()
}

fn pairs(rows: Rows<'_>, arm: usize) -> Vec<PairedTask> {
    rows.iter()
        .map(|(_, words)| PairedTask { arm: scores(words[arm]), base: scores(words[0]), cluster: None })
        .collect()
}

#[test]
fn verdict_uses_the_family_interval() {
    let rows: Rows<'_> = &[
        ("a", &["FFP", "PPP"]),
        ("b", &["FFF", "PPP"]),
        ("c", &["PFP", "PPP"]),
        ("d", &["PFF", "PFP"]),
        ("e", &["FFF", "FPF"]),
    ];
    let check = |agents: usize| {
        let mut suite = Suite::new(&["none", "curated"], rows);
        for other in 1..agents {
            suite = suite.agent(&format!("openai:{other}"), rows);
        }
        let report = suite.report();
        assert_eq!(report.comparisons.len(), agents);
        let expected = assay_stats::verdict(&pairs(rows, 1), agents, 0.1, None);
        let interval = expected.interval.unwrap();
        for comparison in &report.comparisons {
            let family = comparison.family.unwrap();
            close(family.level, 1.0 - 0.05 / agents as f64);
            assert_eq!((family.low, family.high), (interval.low, interval.high), "{agents} agents");
            assert_eq!(comparison.mde, assay_stats::mde(&pairs(rows, 1), agents));
            // a 2/3, b 1, c 1/3, d 1/3, e 1/3.
            close(comparison.lift, 8.0 / 15.0);
            // The possible gain: 1 − 4/15.
            close(comparison.normalized_change, (8.0 / 15.0) / (11.0 / 15.0));
            let plain = assay_stats::lift(&pairs(rows, 1), 0.95).unwrap().interval.unwrap();
            assert_eq!(comparison.ci95, Some([plain.low, plain.high]));
            assert_eq!(comparison.better_equal_worse, [5, 0, 0]);
        }
    };
    check(1);
    check(2);
    check(5);
}

#[test]
fn p_values_are_exact_and_adjusted_over_the_whole_family() {
    let report = Suite::new(&["none", "curated", "placebo"], SIX).report();
    let [curated, placebo] = &report.comparisons[..] else { panic!("two comparisons") };
    // Of 2^6 sign patterns, two are as extreme as six gains; of six with a zero, four.
    close(curated.p, 2.0 / 64.0);
    close(placebo.p, 4.0 / 64.0);
    close(curated.p_adjusted, 2.0 * 2.0 / 64.0);
    close(placebo.p_adjusted, 4.0 / 64.0);
    assert_eq!(curated.better_equal_worse, [6, 0, 0]);
    assert_eq!(placebo.better_equal_worse, [5, 1, 0]);
    assert_eq!(curated.p_wilcoxon, assay_stats::wilcoxon(&[1.0; 6]));
}

#[test]
fn equal_shares_of_unequal_numbers_are_equal() {
    let compared = Suite::new(&["none", "curated"], &[("a", &["PFF", "PPFFFF"])]).compared();
    assert_eq!(compared.better_equal_worse, [0, 1, 0]);
}

#[test]
fn each_verdict_can_occur() {
    let check = |words: [&str; 2], margin: f64, expected: (Option<VerdictKind>, Option<Reason>)| {
        let suite = Suite::uniform(&["none", "curated"], &words).plan(|run| run.margin = margin);
        let compared = suite.compared();
        assert_eq!((compared.verdict, compared.reason), expected, "{words:?} within ±{margin}");
        compared
    };
    check(["FFFFF", "PPPPP"], 0.1, (Some(VerdictKind::Helps), None));
    check(["PPPPP", "FFFFF"], 0.1, (Some(VerdictKind::Harms), None));
    let equal = check(["PPFFF", "PPFFF"], 0.3, (Some(VerdictKind::Negligible), None));
    assert_eq!(equal.direction, None);
    // Clearly above 0, and clearly below the margin.
    let small = check(["PPPPPFFFFF", "PPPPPPPFFF"], 0.4, (Some(VerdictKind::Negligible), None));
    assert_eq!(small.direction, Some(Direction::Positive));
    check(["PPFFF", "PPFFF"], 0.01, (Some(VerdictKind::Inconclusive), Some(Reason::Noise)));
    let four = Suite::new(
        &["none", "curated"],
        &[("a", &["F", "P"]), ("b", &["F", "P"]), ("c", &["F", "P"]), ("d", &["F", "P"])],
    );
    let compared = four.compared();
    assert_eq!((compared.verdict, compared.reason), (Some(VerdictKind::Inconclusive), Some(Reason::Design)));
    assert_eq!((compared.ci95, compared.family), (None, None));
    assert!(compared.tasks_needed.is_some_and(|needed| needed > 4));
}

#[test]
fn relevant_or_uneven_losses_are_inconclusive() {
    let check = |words: [&str; 2], expected: (Option<VerdictKind>, Option<Reason>)| {
        let compared = Suite::uniform(&["none", "curated"], &words).compared();
        assert_eq!((compared.verdict, compared.reason), expected, "{words:?}");
    };
    check(["FFFFF", "PPPPi"], (Some(VerdictKind::Inconclusive), Some(Reason::Losses)));
    check(["FFFFi", "PPPPP"], (Some(VerdictKind::Inconclusive), Some(Reason::Losses)));
    // As many on both sides, and too few to matter.
    check(["FFFFi", "PPPPi"], (Some(VerdictKind::Helps), None));
    // What was not executed is not lost: there is no verdict yet.
    check(["FFFF.", "PPPP."], (None, None));
    // As many on both sides, and enough to turn a small lift around if they had scored a quarter
    // less than the others in one arm and a quarter more in the other; a large one stays.
    check(["PPFFFiiiii", "PPPFFiiiii"], (Some(VerdictKind::Inconclusive), Some(Reason::Losses)));
    check(["Fiiii", "Piiii"], (Some(VerdictKind::Helps), None));
    // Two fifths of one arm are gone; but the rest shows neither an effect nor its absence, as all
    // would have.
    let names: Vec<String> = (0..20).map(|n| format!("t{n:02}")).collect();
    let words: [&[&str]; 2] = [&["FFFFF", "PPPii"], &["PPPPP", "FFFii"]];
    let rows: Vec<(&str, &[&str])> =
        names.iter().zip(words.into_iter().cycle()).map(|(n, w)| (n.as_str(), w)).collect();
    let noisy = Suite::new(&["none", "curated"], &rows).compared();
    assert_eq!((noisy.verdict, noisy.reason), (Some(VerdictKind::Inconclusive), Some(Reason::Noise)));
    assert!(noisy.tasks_needed.is_some());
    let bounds = Suite::uniform(&["none", "curated"], &["PPFFFiiiii", "PPPFFiiiii"]).compared().loss_bounds;
    close(bounds.map(|[low, _]| low), -0.05);
    close(bounds.map(|[_, high]| high), 0.45);
    assert_eq!(Suite::uniform(&["none", "curated"], &["F", "P"]).compared().loss_bounds, None);
    // A task of which nothing is left is counted in the bounds alone.
    let conditions = ["none", "curated"];
    let lost = Suite::new(&conditions, &[("a", &["FF", "PP"]), ("b", &["FF", "ii"])]).compared();
    assert_eq!((lost.tasks, lost.tasks_lost), (1, 1));
    let none = Suite::new(&conditions, &[("a", &["FF", "PP"]), ("b", &["FF", "Pi"])]).compared();
    assert_eq!((none.tasks, none.tasks_lost), (2, 0));
}

/// The least difference among lost trials that changes the verdict of the others.
#[test]
fn the_shift_that_tips_a_verdict_is_reported() {
    let shift = |words: [&str; 2]| Suite::uniform(&["none", "curated"], &words).compared().delta_star;
    // Nothing was lost; nothing is decided; nothing changes what is.
    assert_eq!(shift(["FFFFF", "PPPPP"]), None);
    assert_eq!(shift(["FFPPi", "FPFPi"]), None);
    assert_eq!(shift(["FFFFFFFFFi", "PPPPPPPPPi"]), None);
    // Half of the trials of each arm are lost: with a lift of 0.2, `d` less and more among them take 2·d/2 from it.
    let small = shift(["PPFFFiiiii", "PPPFFiiiii"]).unwrap();
    assert!((0.05..0.25).contains(&small), "{small}");
    let large = shift(["PFFFFiiiii", "PPPPFiiiii"]).unwrap();
    assert!(large > small + 0.2, "{small} {large}");
    // The same with looks after rounds.
    let looks = Suite::uniform(&["none", "curated"], &["PPFFFiiiii", "PPPFFiiiii"])
        .plan(|run| run.stopping = Some(assay_store::Stopping::new(10)));
    let found = looks.compared();
    assert_eq!(found.delta_star.is_some(), found.lift.unwrap() != 0.0, "{found:?}");
}

#[test]
fn unplanned_task_is_not_a_loss() {
    // Twelve of twenty tasks have no placebo. Without them, curated is compared on eight, and
    // nothing is lost.
    let names: Vec<String> = (0..20).map(|n| format!("t{n:02}")).collect();
    let rows: Vec<(&str, &[&str])> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let words: &[&str] = if n < 8 { &["FFFFF", "PPPPP", "FFFFF"] } else { &["PPPPP", "FFFFF", ""] };
            (name.as_str(), words)
        })
        .collect();
    let compared = Suite::new(&["none", "curated", "placebo"], &rows).compared();
    assert_eq!((compared.tasks, compared.verdict, compared.reason), (8, Some(VerdictKind::Helps), None));
    close(compared.lift, 1.0);
}

#[test]
fn tasks_of_one_cluster_are_one_unit() {
    let twenty = || Suite::uniform(&["none", "curated"], &["FFF", "PPP"]);
    let alone = twenty().compared();
    // Five clusters of four: as wide as five units are.
    let clustered = twenty().plan(|run| {
        for (n, task) in run.tasks.iter_mut().enumerate() {
            task.cluster = Some(format!("repo {}", n % 5));
        }
    });
    let width = |interval: Option<[f64; 2]>| interval.map(|[low, high]| high - low).unwrap();
    let found = clustered.compared();
    assert!(width(found.ci95) > width(alone.ci95));
    assert_eq!((found.clusters, found.effective_clusters), (Some(5), Some(5.0)));
    assert_eq!((alone.clusters, alone.effective_clusters), (None, None));
    // Four clusters are too few, whatever the number of tasks.
    let few = twenty().plan(|run| {
        for (n, task) in run.tasks.iter_mut().enumerate() {
            task.cluster = Some(format!("repo {}", n % 4));
        }
    });
    let few = few.compared();
    assert_eq!((few.tasks, few.ci95, few.verdict), (20, None, Some(VerdictKind::Inconclusive)));
    // Seven clusters, one of them with 14 of the 20 tasks, weigh as 20²/(14² + 6) = 1.98 of one
    // size.
    let giant =
        twenty().plan(|run| run.tasks[..14].iter_mut().for_each(|task| task.cluster = Some("one".into())));
    let giant = giant.compared();
    assert_eq!(
        (giant.clusters, giant.ci95, giant.verdict, giant.reason),
        (Some(7), None, Some(VerdictKind::Inconclusive), Some(Reason::Design))
    );
    assert!((giant.effective_clusters.unwrap() - 400.0 / 202.0).abs() < 1e-12);
    // One task that names a cluster does not put all others into one cluster, whatever its name.
    let one = twenty().plan(|run| run.tasks[0].cluster = Some("t01".into()));
    assert_eq!(one.compared().ci95, alone.ci95);
}

#[test]
fn the_primary_comparison_is_judged_apart_from_the_others() {
    let conditions = ["none", "curated", "placebo", "full"];
    let words: &[&str] = &["PFFFF", "PPPFF", "PFFFF", "PPFFF"];
    let names: Vec<String> = (0..12).map(|n| format!("t{n:02}")).collect();
    let rows: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), words)).collect();
    let suite = || Suite::new(&conditions, &rows);
    let levels = |suite: Suite| -> Vec<(bool, f64)> {
        let report = suite.report();
        report.comparisons.iter().map(|found| (found.primary, found.family.unwrap().level)).collect()
    };
    let third = 1.0 - 0.05 / 3.0;
    assert_eq!(levels(suite()), [(false, third), (false, third), (false, third)]);
    let named = || suite().plan(|run| run.primary = Some("curated".into()));
    assert_eq!(levels(named()), [(true, 0.95), (false, 0.975), (false, 0.975)]);
    // Of two agents each has a primary comparison, and these two share the error rate.
    let two = named().agent("openai:two", &rows);
    let of_one = [(true, 0.975), (false, 1.0 - 0.05 / 4.0), (false, 1.0 - 0.05 / 4.0)];
    assert_eq!(levels(two), [of_one, of_one].concat());
    // The printed p agrees with the verdict.
    for found in named().report().comparisons {
        let excludes = found.family.is_some_and(|family| family.low > 0.0 || family.high < 0.0);
        assert_eq!(found.p_interval_adjusted.unwrap() <= 0.05, excludes, "{}", found.condition);
        let times = if found.primary { 1.0 } else { 2.0 };
        close(found.p_interval_adjusted, (found.p_interval.unwrap() * times).min(1.0));
    }
}

#[test]
fn family_spans_agents_without_missing_arms() {
    let rows: Rows<'_> = &[("a", &["FF", "PP", ""]), ("b", &["FF", "PP", ""])];
    let full: Rows<'_> = &[("a", &["FF", "PP", "PF"]), ("b", &["FF", "PP", "FP"])];
    let report = Suite::new(&["none", "curated", "placebo"], rows).agent("openai:two", full).report();
    let who: Vec<(Option<&str>, &str)> = report
        .comparisons
        .iter()
        .map(|comparison| (comparison.who.model.as_deref(), comparison.condition.as_str()))
        .collect();
    assert_eq!(
        who,
        [(Some("openai:one"), "curated"), (Some("openai:two"), "curated"), (Some("openai:two"), "placebo")]
    );
    assert_eq!(report.arms.len(), 5);
}

#[test]
fn verdict_has_fixed_tasks_interval_and_task_numbers() {
    let rows: &[(&str, &[&str])] = &[
        ("a", &["FFPFF", "PPFPF"]),
        ("b", &["PPPPP", "PPPPP"]),
        ("c", &["FFFFF", "FFFFF"]),
        ("d", &["FPFPF", "PPPPF"]),
        ("e", &["FFFFF", "PPPPP"]),
        ("f", &["PPFPP", "FPPPP"]),
    ];
    let compared = Suite::new(&["none", "curated"], rows).compared();
    let scores = |word: &str| word.chars().map(|letter| f64::from(u8::from(letter == 'P'))).collect();
    let tasks: Vec<PairedTask> = rows
        .iter()
        .map(|(_, words)| PairedTask { arm: scores(words[1]), base: scores(words[0]), cluster: None })
        .collect();
    let these = assay_stats::within_tasks_interval(&tasks, 0.95).unwrap();
    assert_eq!(compared.fixed_tasks_ci95, Some([these.low, these.high]));
    assert_eq!((compared.verdict, compared.reason), (Some(VerdictKind::Inconclusive), Some(Reason::Noise)));
    assert_eq!(compared.tasks_needed, assay_stats::tasks_needed(&tasks, 1, 0.1));
    assert_eq!(compared.tasks_to_confirm, assay_stats::tasks_needed(&tasks, 1, compared.lift.unwrap()));
    let [confirm, detect] = [compared.tasks_to_confirm, compared.tasks_needed].map(Option::unwrap);
    assert!(6 < confirm && confirm < detect, "{confirm} {detect}");
    // Nothing to confirm after a verdict, or without a difference.
    let found = |words: &[&str]| Suite::uniform(&["none", "curated"], words).compared();
    assert_eq!(found(&["FFF", "PPP"]).tasks_to_confirm, None);
    let six: Vec<(&str, &[&str])> = rows.iter().map(|(task, _)| (*task, &["PF", "PF"][..])).collect();
    let equal = Suite::new(&["none", "curated"], &six).compared();
    assert_eq!((equal.tasks_to_confirm, equal.tasks_needed.is_some()), (None, true));
}

#[test]
fn trials_that_were_not_executed_are_not_lost() {
    let check = |words: [&str; 2], of_executed: [&str; 2]| {
        let (part, whole) = (Suite::uniform(&["none", "curated"], &words), of_executed);
        let (part, whole) = (part.report(), Suite::uniform(&["none", "curated"], &whole).report());
        let key = |report: &assay_analysis::Report| {
            let found = &report.comparisons[0];
            (found.lift, found.loss_bounds)
        };
        assert_eq!(key(&part), key(&whole), "{words:?}");
        assert!(part.comparisons[0].verdict.is_none() && whole.comparisons[0].verdict.is_some(), "{words:?}");
        assert_eq!(part.arms[1].infrastructure, whole.arms[1].infrastructure);
    };
    check(["FF", "PP...."], ["FF", "PP"]);
    check(["FF...", "PP"], ["FF", "PP"]);
    check(["FFFFFFFFF.", "PPPPPPPPi."], ["FFFFFFFFF", "PPPPPPPPi"]);
    // Neither do whole tasks.
    let mut rows: Vec<(String, [&str; 2])> = (0..20).map(|n| (format!("t{n:02}"), ["FFF", "PPP"])).collect();
    for (_, words) in &mut rows[8..] {
        words[1] = "...";
    }
    let rows: Vec<(&str, &[&str])> = rows.iter().map(|(name, words)| (name.as_str(), &words[..])).collect();
    let found = Suite::new(&["none", "curated"], &rows).compared();
    assert_eq!((found.verdict, found.tasks, found.loss_bounds), (None, 8, None));
}

/// A task of which nothing is left in an arm enters the bounds with the arm's rate, which is not its own: the bounds contain the
/// lift of the others all the same.
#[test]
fn loss_bounds_contain_the_lift() {
    let conditions = ["none", "curated"];
    // The lift of `a` is 0; `b` has never passed without the skill, and counts as if it always did with it.
    for (words, lift) in [
        (["PPPP", "PPPP", "FFFF", "iiii"], 0.0),
        (["FFFF", "PPPP", "PPPP", "iiii"], 1.0),
        (["PPPP", "FFFF", "iiii", "PPPP"], -1.0),
    ] {
        let found = Suite::new(&conditions, &[("a", &words[..2]), ("b", &words[2..])]).compared();
        close(found.lift, lift);
        let [low, high] = found.loss_bounds.unwrap();
        assert!(low <= lift && lift <= high && low < high, "{words:?}: {low} {high}");
    }
}

/// Two of ten tasks move from 0 to 1 in three trials each, and nothing varies by chance: s² = 10·(.2·.8)/9.
#[test]
fn the_spread_of_effects_is_reported() {
    let names: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    let rows: Vec<(&str, &[&str])> = names
        .iter()
        .enumerate()
        .map(|(n, name)| (name.as_str(), if n < 2 { &["FFF", "PPP"][..] } else { &["PPP", "PPP"] }))
        .collect();
    let suite = || Suite::new(&["none", "curated"], &rows);
    let found = suite().compared();
    close(found.tau, (1.6_f64 / 9.0).sqrt());
    close(found.moved, 0.2);
    let ([low, high], [least, most]) = (found.tau_ci95.unwrap(), found.prediction95.unwrap());
    assert!(low < 0.4 && high > 0.5 && least < 0.0 && most > 0.6, "{found:?}");
    let [from, to] = found.ci95.unwrap();
    assert!(least <= from && to <= most, "{found:?}");
    // Without repetitions, chance and effects look the same.
    let one: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &["F", "P"][..])).collect();
    let single = Suite::new(&["none", "curated"], &one).compared();
    assert_eq!((single.tau, single.tau_ci95, single.prediction95, single.moved), (None, None, None, None));
    // Equal lifts of trials that vary: less spread than chance alone makes.
    let equal = Suite::uniform(&["none", "curated"], &["PFF", "PPF"]).compared();
    assert_eq!((equal.tau, equal.tau_ci95, equal.prediction95.is_some()), (Some(0.0), None, true));
    // Intervals of one look are none of a comparison that is looked at after rounds.
    let looks = suite().plan(|run| run.stopping = Some(assay_store::Stopping::new(3))).compared();
    assert_eq!((looks.tau.is_some(), looks.tau_ci95, looks.prediction95), (true, None, None));
}
