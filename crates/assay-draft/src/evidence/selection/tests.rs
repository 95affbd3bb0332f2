//! Items against what was seen of them. `1` is met, `0` is missed, in the order of the items.

use super::*;

/// A task with a goal and items of directives, each by its class.
fn items_of(classes: &str) -> TaskItems {
    let item = |id: &str, set: ItemSet, class: Option<DirectiveClass>| TaskItem {
        id: id.to_owned(),
        set,
        text: format!("text of {id}"),
        file: class.map(|_| "SKILL.md".to_owned()),
        line: class.map(|_| 7),
        lines: None,
        quote: None,
        class,
        answer: None,
        default: None,
        marks: Vec::new(),
        readable: false,
        canary: false,
        replaced: false,
    };
    let class = |sign: char| match sign {
        'k' => DirectiveClass::Knowledge,
        'c' => DirectiveClass::Convention,
        _ => DirectiveClass::Reminder,
    };
    let ifs = classes.chars().enumerate();
    let ifs = ifs.map(|(at, sign)| item(&format!("d{}", at + 1), ItemSet::If, Some(class(sign))));
    TaskItems::new([item("gc-sum", ItemSet::Gc, None)].into_iter().chain(ifs).collect())
}

fn met_of(items: &TaskItems, signs: &str) -> BTreeMap<String, bool> {
    assert_eq!(items.items.len(), signs.len(), "{signs}");
    items.items.iter().zip(signs.chars()).map(|(item, sign)| (item.id.clone(), sign == '1')).collect()
}

/// What is seen of a task.
#[derive(Default)]
struct Seen {
    classes: &'static str,
    blind: &'static [&'static str],
    with_skill: &'static [&'static str],
    mutants: &'static [(&'static str, &'static str)],
    fairness: Vec<FairnessAnswer>,
    judged: usize,
}

fn check(seen: &Seen, can_repair: bool, dropped: &[&str], faults: &[&str]) {
    let items = items_of(seen.classes);
    let work = |signs: &&str| GradedWork {
        model: "openai:other".to_owned(),
        met: met_of(&items, signs),
        output: String::new(),
    };
    let mutants: Vec<GradedMutant> = seen
        .mutants
        .iter()
        .map(|(item, signs)| GradedMutant { item: (*item).to_owned(), met: met_of(&items, signs) })
        .collect();
    let found = decide_items(
        &ItemEvidence {
            items: &items,
            blind: &seen.blind.iter().map(work).collect::<Vec<_>>(),
            with_skill: &seen.with_skill.iter().map(work).collect::<Vec<_>>(),
            mutants: &mutants,
            fairness: &seen.fairness,
            judged: seen.judged,
        },
        can_repair,
    );
    let short: Vec<String> = found
        .dropped
        .iter()
        .map(|one| format!("{} {}", one.id, one.reason.split(':').next().unwrap()))
        .collect();
    assert_eq!(short, dropped, "{found:#?}");
    let short: Vec<String> = found
        .faults
        .iter()
        .map(|fault| {
            let id = fault.message.split([':', ' ']).next().unwrap();
            format!("{} {}", fault.code, if fault.code == "too-few-items" { "" } else { id })
        })
        .map(|text| text.trim_end().to_owned())
        .collect();
    assert_eq!(short, faults, "{found:#?}");
}

#[test]
fn goals_hold_in_all_work() {
    let with = |blind, with_skill| Seen { classes: "kccc", blind, with_skill, ..Seen::default() };
    check(&with(&["10000", "10000", "10000"], &["11111"]), true, &[], &[]);
    check(&with(&["10000", "00000", "10000"], &["11111"]), true, &[], &["goal-missed gc-sum"]);
    check(&with(&["10000", "10000", "10000"], &["01111"]), true, &[], &["goal-missed gc-sum"]);
    // Nothing is left out for it, and no repair makes it pass.
    check(&with(&["00000", "10000", "10000"], &["11111"]), false, &[], &["goal-missed gc-sum"]);
}

#[test]
fn what_is_known_without_the_skill_is_left_out() {
    let with = |classes, blind| Seen { classes, blind, with_skill: &["111111"], ..Seen::default() };
    // One of three knows the first item, two the second.
    let blind: &[&str] = &["111000", "101000", "100000"];
    check(&with("kcccc", blind), true, &["d2 known-without-skill"], &[]);
    check(
        &with("kcccc", &["110000", "110000", "100000"]),
        true,
        &["d1 known-without-skill"],
        &["known-without-skill d1", "too-few-items"],
    );
    // A control is known by design.
    check(&with("kcccr", &["100001", "100001", "100001"]), true, &[], &[]);
    // Of two replies both have to miss it, of one that one.
    check(
        &with("kcccc", &["110000", "100000"]),
        true,
        &["d1 known-without-skill"],
        &["known-without-skill d1", "too-few-items"],
    );
    check(&with("kkccc", &["101000"]), true, &["d2 known-without-skill"], &[]);
    check(&with("kkccc", &[]), true, &[], &[]);
}

#[test]
fn a_wrong_check_is_repaired_and_at_last_left_out() {
    let seen =
        || Seen { classes: "kkccc", blind: &["100000"; 3], with_skill: &["101111"], ..Seen::default() };
    check(&seen(), true, &[], &["failed-with-skill d1"]);
    check(&seen(), false, &["d1 failed-with-skill"], &[]);
    // Too few stay: what was wrong is said.
    let few = Seen { classes: "kccc", blind: &["10000"; 3], with_skill: &["10111"], ..Seen::default() };
    check(&few, false, &["d1 failed-with-skill"], &["failed-with-skill d1", "too-few-items"]);
    // A control with a wrong check goes as well, and counts for nothing.
    let control =
        Seen { classes: "kcccr", blind: &["100000"; 3], with_skill: &["111110"], ..Seen::default() };
    check(&control, false, &["d5 failed-with-skill"], &[]);
}

#[test]
fn a_mutant_fails_its_item_and_few_others() {
    let with = |mutants| Seen {
        classes: "kkccccc",
        blind: &["10000000"; 3],
        with_skill: &["11111111"],
        mutants,
        ..Seen::default()
    };
    check(&with(&[("d1", "10111111"), ("d2", "11011111")]), true, &[], &[]);
    check(&with(&[("d1", "11111111")]), true, &[], &["mutant-passes d1"]);
    check(&with(&[("d1", "11111111")]), false, &["d1 mutant-passes"], &[]);
    // Two of six others are a third; three are more.
    check(&with(&[("d1", "10001111")]), true, &[], &[]);
    check(&with(&[("d1", "10000111")]), true, &[], &["one-name d2", "one-name d3", "one-name d4"]);
    check(&with(&[("d1", "10000111")]), false, &["d2 one-name", "d3 one-name", "d4 one-name"], &[]);
    check(
        &with(&[("d1", "10000011")]),
        false,
        &["d2 one-name", "d3 one-name", "d4 one-name", "d5 one-name"],
        &["one-name d2", "one-name d3", "one-name d4", "one-name d5", "too-few-items"],
    );
}

#[test]
fn what_a_reader_calls_unfair_is_left_out() {
    let fair = |id: &str| FairnessAnswer {
        id: id.to_owned(),
        demanded: true,
        other_way: false,
        given_away: false,
        same_as: String::new(),
        wrong: true,
        reason: String::new(),
    };
    let with = |fairness| Seen {
        classes: "kkcccc",
        blind: &["1000000"; 3],
        with_skill: &["1111111"],
        fairness,
        ..Seen::default()
    };
    check(&with(vec![fair("d1"), fair("d2")]), true, &[], &[]);
    for answer in [
        FairnessAnswer { demanded: false, ..fair("d2") },
        FairnessAnswer { other_way: true, ..fair("d2") },
        FairnessAnswer { given_away: true, ..fair("d2") },
        FairnessAnswer { wrong: false, ..fair("d2") },
        FairnessAnswer { same_as: "d1".to_owned(), ..fair("d2") },
    ] {
        check(&with(vec![fair("d1"), answer]), true, &["d2 unfair"], &[]);
    }
    // Of two items with one fact, one stays.
    let pair = vec![
        FairnessAnswer { same_as: "d2".to_owned(), ..fair("d1") },
        FairnessAnswer { same_as: "d1".to_owned(), ..fair("d2") },
    ];
    check(&with(pair), true, &["d2 unfair"], &[]);
    // An item that a reader objects to and that has a wrong check is repaired first.
    let seen = Seen { with_skill: &["1011111"], ..with(vec![FairnessAnswer { wrong: false, ..fair("d1") }]) };
    check(&seen, true, &[], &["failed-with-skill d1"]);
}

#[test]
fn a_task_needs_four_items_and_knowledge() {
    let with = |classes, signs: &'static str| Seen {
        classes,
        blind: match signs.len() {
            5 => &["10000", "10000", "10000"],
            _ => &["1000", "1000", "1000"],
        },
        ..Seen::default()
    };
    check(&with("kccc", "11111"), true, &[], &[]);
    check(&with("cccc", "11111"), true, &[], &["too-few-items"]);
    check(&with("kcc", "1111"), true, &[], &["too-few-items"]);
    check(&with("kccr", "11111"), true, &[], &["too-few-items"]);
    // What a judge decides counts, and knowledge has to be tested.
    check(&Seen { judged: 1, ..with("kcc", "1111") }, true, &[], &[]);
    check(&Seen { judged: 2, ..with("ccc", "1111") }, true, &[], &["too-few-items"]);
}
