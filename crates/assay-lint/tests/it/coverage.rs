//! The coverage of the list of requirements.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_lint::Rule;

/// The description of the list.
pub(crate) const ABOUT: &str = "The list of 157 requirements at the end collects those of the specification, the \
reference\nvalidator, the platform, the agents' source code and documentation, and other lint tools. Each is\ncovered by a rule, \
or omitted with a reason.\n";

const OK: &str = "a permission rather than a requirement; tested with the validators' vectors";
const DUTY: &str = "a requirement on the client, not on the package";
const JUDGE: &str = "a matter of judgement: no measure is accurate enough";
const OTHER: &str = "a requirement of one vendor, without a profile";
const PROFILE: &str = "implemented in the client's profile, not as a rule";

const IDLE: &str = "advice without findings in 35,243 public skills (LINT.md)";

/// Numbers of the list that no rule covers, with the reason.
pub(crate) const LEFT_OUT: &[(u16, &str)] = &[
    (12, OK),
    (34, OK),
    (42, IDLE),
    (44, JUDGE),
    (47, "folders with other names are allowed: nothing to fix"),
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
    (73, "about running evaluations, not about packages"),
    (74, "about results of evaluations, which are outside of packages"),
    (81, JUDGE),
    (98, "every string is a valid path pattern"),
    (108, PROFILE),
    (110, DUTY),
    (111, PROFILE),
    (119, "the valid products are not published"),
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
        "\n## The list of 157\n\n{} requirements are covered, {} are omitted.\n\n| number | rules, or the reason for omitting it |\n|---|---|\n",
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
