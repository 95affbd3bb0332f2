use super::*;

const INSTRUCTION: &str =
    "Write report.md.\nThe report lists each invoice with its date, its amount and its payer.\n";

fn findings(items: &[&str], skill: Option<&str>) -> Vec<String> {
    let items = items.iter().enumerate().map(|(at, text)| Item::new(at.to_string(), *text, 1.0)).collect();
    let skills: Vec<_> = skill.iter().map(|text| ("invoices".to_owned(), (*text).to_owned())).collect();
    let material = Context { instruction: INSTRUCTION, skills: &skills };
    let found = check(&Rubric::of_items("criteria", items), &material);
    found.into_iter().map(|found| format!("{} {}", found.item, found.defect.name())).collect()
}

#[test]
fn defects() {
    let check = |items: &[&str], expected: &[&str]| assert_eq!(findings(items, None), expected, "{items:?}");
    check(&["The report lists the date, amount and payer of each invoice"], &["0 in-task"]);
    check(&["report.md exists", "notes.md exists"], &["0 in-task"]);
    // Another value than the instruction states.
    check(&["The report lists the date, amount and payer of each invoice from 2021"], &[]);
    check(&["The amounts are sorted by payer and add up to the total"], &[]);
    check(&["No unrelated files are changed"], &["0 cannot-discriminate"]);
    check(&["The report is comprehensive and well structured"], &["0 cannot-discriminate"]);
    check(&["The invoice skill was invoked"], &["0 skill-words"]);
    check(
        &["Totals are rounded half to even in each row", "Totals in each row are rounded half to even"],
        &["1 duplicate"],
    );
    check(&["Requests without a token get status 401", "Requests without a token get status 403"], &[]);
}

#[test]
fn the_words_of_a_skill_are_found_with_it() {
    let items = ["The report has a section 'Golden Ledger Summary'"];
    assert_eq!(findings(&items, Some("End with a Golden Ledger Summary.")), ["0 skill-words"]);
    assert_eq!(findings(&items, Some("End with a summary.")), [""; 0]);
}

#[test]
fn sums_of_unequal_points() {
    let check = |points: &[f64], expected: usize| {
        let items = points.iter().enumerate().map(|(at, points)| Item::new(at.to_string(), "text", *points));
        let found = check(&Rubric::of_items("criteria", items.collect()), &Context::default());
        assert_eq!(found.iter().filter(|found| found.defect == Defect::Sum).count(), expected, "{points:?}");
    };
    check(&[60.0, 40.0], 0);
    check(&[60.0, 60.0], 0);
    check(&[70.0, 40.0], 1);
    check(&[0.25, 0.75], 0);
}
