use super::*;

#[test]
fn the_self_test_is_drawn_from_its_seed() {
    let options = Options { seed: 7, repetitions: 1 };
    let report = run(&hosts(), options);
    println!("{}", table(&report));
    assert_eq!(report, run(&hosts(), options));
    // Plain text is found, and text that no scanner of this kind can read is missed: the report may
    // claim neither "all" nor "none".
    let row =
        |name: &str| report.misses_by_technique.iter().find(|rate| rate.name == name).expect("a technique");
    assert_eq!(row("block").wrong, 0);
    assert!(row("digits for letters").wrong > 0);
    assert_eq!(report.clean.wrong, 0);
    assert!(report.misses_by_technique.len() >= 20);
}
