//! Which rules of the list are in, and why the others are not.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_lint::Rule;

/// What the list is.
pub(crate) const ABOUT: &str = "The list of 157 rules at the end gathers what the specification, the reference validator, the platform, the \
agents' sources and documentation, and other lint tools say. Each of its numbers is covered by a rule, or left out with a reason.\n";

const OK: &str = "a thing that has to pass; the validators' vectors hold assay to it";
const DUTY: &str = "a duty of the client, which no package can break";
const JUDGE: &str = "needs judgement: no measure of it is right often enough";
const OTHER: &str = "asked for by one shop, for which there is no profile";
const PROFILE: &str = "no rule; the client's profile works so";

const IDLE: &str = "advice that finds nothing in 35,243 public skills (docs/LINT.md)";

/// Numbers of the list that no rule covers, and why.
pub(crate) const LEFT_OUT: &[(u16, &str)] = &[
    (12, OK),
    (34, OK),
    (42, IDLE),
    (44, JUDGE),
    (47, "folders of other names are allowed: nothing to fix"),
    (49, JUDGE),
    (50, JUDGE),
    (60, DUTY),
    (61, DUTY),
    (64, DUTY),
    (65, DUTY),
    (66, DUTY),
    (67, DUTY),
    (68, DUTY),
    (69, DUTY),
    (70, DUTY),
    (73, "how an evaluation is run, not what a package holds"),
    (74, "how an evaluation's results lie, which is outside a package"),
    (81, JUDGE),
    (98, "any text is a pattern of paths"),
    (108, PROFILE),
    (110, DUTY),
    (111, PROFILE),
    (119, "the products that may be named are not published"),
    (121, PROFILE),
    (124, OTHER),
    (125, OTHER),
    (126, OTHER),
    (143, IDLE),
    (149, JUDGE),
    (150, JUDGE),
];

/// The table of all numbers.
pub(crate) fn table(rules: &[&Rule]) -> String {
    let mut codes: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for rule in rules {
        for number in rule.numbers {
            codes.entry(*number).or_default().push(rule.code);
        }
    }
    let mut text = format!(
        "\n## The list of 157\n\n{} of its numbers are covered, {} are left out.\n\n| number | rules, or why there is none |\n|---|---|\n",
        codes.len(),
        157 - codes.len()
    );
    for number in 1..=157 {
        let cell = match codes.get(&number) {
            Some(codes) => {
                codes.iter().map(|code| format!("[`{code}`](#{code})")).collect::<Vec<_>>().join(", ")
            }
            None => LEFT_OUT.iter().find(|(own, _)| *own == number).map_or("", |(_, why)| *why).to_owned(),
        };
        writeln!(text, "| R{number:03} | {cell} |").expect("written");
    }
    text
}
