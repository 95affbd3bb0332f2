//! Size limits.

use assay_diagnostic::group_digits;
use assay_skill::{FileKind, tokens, tokens_from};

use crate::client::Client::{Spec, Upload};
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::{Info, Warning};
use crate::rule::{Family, Findings, Rule, rule};
use crate::skill::Skill;

pub(super) struct Size;

const ADVICE: Severities = Severities::all(Info);

const RULES: &[Rule] = &[
    rule!(
        "body-lines",
        ADVICE.with(Warning, &[Spec]),
        [54, 127],
        "specification",
        "the document has 500 lines or more",
        "Move detail into references/, and say in SKILL.md when to read each file. `budgets.body-lines` sets the limit."
    ),
    rule!(
        "body-tokens",
        ADVICE.with(Warning, &[Spec]),
        [55, 146],
        "specification",
        "the body has 5,000 tokens or more (cl100k)",
        "Move detail into references/, and say in SKILL.md when to read each file. `budgets.body-tokens` sets the limit."
    ),
    rule!(
        "catalogue-tokens",
        ADVICE,
        [56],
        "specification",
        "name and description together have more than 200 tokens (about 100 recommended)",
        "Shorten the name and description: every session loads them. `budgets.catalogue-tokens` sets the limit."
    ),
    rule!(
        "reference-tokens",
        ADVICE,
        [51, 146],
        "specification; agnix",
        "a reference has more than 10,000 tokens",
        "Split the file by topic. `budgets.reference-tokens` sets the limit."
    ),
    rule!(
        "reference-contents",
        ADVICE,
        [82],
        "Anthropic's authoring guidance",
        "a reference of more than 100 lines without a table of contents",
        "Start the file with a table of contents. `budgets.reference-lines` sets the limit."
    ),
    rule!(
        "package-size",
        Severities::none().with(Warning, &[Upload]),
        [84],
        "agnix (not documented by the platform)",
        "the package is larger than 8 MiB",
        "Remove files that no agent reads."
    ),
];

/// The largest upload, in bytes.
const UPLOAD: u64 = 8 * 1024 * 1024;

impl Family for Size {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        let Some(package) = &skill.package else { return };
        let text = skill.text();
        let lines = text.lines().count();
        let budgets = skill.budgets;
        if lines >= budgets.body_lines {
            let at = text
                .lines()
                .take(budgets.body_lines - 1)
                .map(|line| line.len() + 1)
                .sum::<usize>()
                .min(text.len());
            findings
                .add(
                    "body-lines",
                    skill,
                    &(at..at),
                    format!(
                        "{} lines (fewer than {} recommended)",
                        group_digits(lines),
                        group_digits(budgets.body_lines)
                    ),
                )
                .hint("move detail into references/, and say in SKILL.md when to read it");
        }
        if let Some(count) = tokens_from(skill.body(), budgets.body_tokens) {
            let at = skill.body_start();
            let message = format!(
                "body: {} tokens (fewer than {} recommended)",
                group_digits(count),
                group_digits(budgets.body_tokens)
            );
            findings
                .add("body-tokens", skill, &(at..at), message)
                .hint("move detail into references/, and say in SKILL.md when to read it");
        }
        if package.name.len() + package.description.len() >= budgets.catalogue_tokens {
            let count = tokens(&package.name) + tokens(&package.description);
            if count > budgets.catalogue_tokens {
                findings
                    .add(
                        "catalogue-tokens",
                        skill,
                        &skill.place("description"),
                        format!(
                            "name + description: {} tokens, loaded in every session (about 100 recommended)",
                            group_digits(count)
                        ),
                    )
                    .hint("shorten the description: say what the skill does and when to use it");
            }
        }
        references(skill, findings);
        let size: u64 =
            package.files.iter().filter(|file| file.kind == FileKind::File).map(|file| file.size).sum();
        if size > UPLOAD {
            findings
                .add_at(
                    "package-size",
                    &skill.root,
                    None,
                    format!("package: {} bytes (upload limit {})", group_digits(size), group_digits(UPLOAD)),
                )
                .hint("remove files that no agent reads");
        }
    }
}

fn references(skill: &Skill, findings: &mut Findings) {
    if skill.entries().next().is_none() {
        return;
    }
    for file in skill.resources().iter().filter(|file| file.path.to_lowercase().ends_with(".md")) {
        if let Some(count) = tokens_from(&file.text, skill.budgets.reference_tokens + 1) {
            findings
                .add_in(
                    "reference-tokens",
                    skill,
                    file,
                    &(0..0),
                    format!(
                        "{} tokens (at most {} recommended)",
                        group_digits(count),
                        group_digits(skill.budgets.reference_tokens)
                    ),
                )
                .hint("split it by topic");
        }
        let lines = file.text.lines().count();
        let headings = file.text.lines().filter(|line| line.starts_with("## ")).count();
        let head = file.text.lines().take(30).collect::<Vec<_>>().join("\n").to_lowercase();
        let contents = head.contains("contents") || head.matches("](#").count() > 1 || head.contains("[toc]");
        if lines > skill.budgets.reference_lines && headings > 3 && !contents {
            findings
                .add_in(
                    "reference-contents",
                    skill,
                    file,
                    &(0..0),
                    format!("{} lines without a table of contents", group_digits(lines)),
                )
                .hint("start with a table of contents: an agent often reads only the beginning");
        }
    }
}
