//! `assay judge check`: defects of rubrics.

use std::collections::BTreeMap;
use std::path::Path;

use assay_judge::{Context, Defect, Finding, Refused, Scenario, check, find};
use assay_skill::{DOCUMENT_CAP, Package};
use serde::Serialize;
use serde_json::json;

use crate::args::judge::CheckArgs;
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// A rubric that was checked.
#[derive(Debug, Serialize)]
struct Checked {
    path: String,
    items: usize,
    findings: Vec<Finding>,
}

pub(super) fn run(args: &CheckArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut given = Vec::new();
    for folder in &args.skill {
        let Some(package) = Package::load(folder).package else {
            return Err(Failure::bad_input(format!("{} is not a skill", folder.display())));
        };
        given.push((package.name.clone(), package.body.clone()));
    }
    let mut checked = Vec::new();
    let mut unreadable: Vec<Refused> = Vec::new();
    for path in &args.paths {
        let found = find(path)
            .map_err(|error| Failure::bad_input(format!("cannot read {}: {error}", path.display())))?;
        for scenario in &found.scenarios {
            checked.push(findings(path, scenario, &given));
        }
        unreadable.extend(
            found
                .refused
                .into_iter()
                .map(|one| Refused { path: path.join(&one.path).display().to_string(), reason: one.reason }),
        );
    }
    if checked.is_empty() && unreadable.is_empty() {
        return Err(
            Failure::bad_input("no rubric found").hint("`assay import rubric --help` lists the formats")
        );
    }
    let mut counts: BTreeMap<Defect, usize> = BTreeMap::new();
    for finding in checked.iter().flat_map(|one| &one.findings) {
        *counts.entry(finding.defect).or_default() += 1;
    }
    if ui.json() {
        let unreadable: Vec<_> =
            unreadable.iter().map(|one| json!({"path": one.path, "reason": one.reason})).collect();
        let counts: BTreeMap<&str, usize> =
            counts.iter().map(|(defect, count)| (defect.name(), *count)).collect();
        ui.document(&json!({
            "schema": "assay.judge-check/1", "rubrics": checked, "counts": counts, "unreadable": unreadable,
        }))?;
    } else {
        ui.out(&text(&checked, &unreadable, &counts))?;
    }
    Ok(if counts.is_empty() && unreadable.is_empty() { Status::Done } else { Status::DidNotHold })
}

fn findings(root: &Path, scenario: &Scenario, given: &[(String, String)]) -> Checked {
    let skills = if given.is_empty() { beside(root, scenario) } else { given.to_vec() };
    let instruction = scenario.instruction.as_deref().unwrap_or_default();
    Checked {
        path: root.join(&scenario.path).display().to_string(),
        items: scenario.rubric.leaves().count(),
        findings: check(&scenario.rubric, &Context { instruction, skills: &skills }),
    }
}

/// The skills beside a scenario: names of their folders, and texts.
fn beside(root: &Path, scenario: &Scenario) -> Vec<(String, String)> {
    let read = |file: &std::path::PathBuf| {
        let content = assay_fs::read_within(root, file, DOCUMENT_CAP).ok()?;
        let folder = root.join(file).parent()?.file_name()?.to_string_lossy().into_owned();
        Some((folder, assay_skill::decode(&content.bytes).text))
    };
    scenario.skills.iter().filter_map(read).collect()
}

fn text(checked: &[Checked], unreadable: &[Refused], counts: &BTreeMap<Defect, usize>) -> String {
    let mut text = String::new();
    for one in checked.iter().filter(|one| !one.findings.is_empty()) {
        text.push_str(&format!("{}\n", one.path));
        for finding in &one.findings {
            text.push_str(&format!("  {:19}  {}: {}", finding.defect.name(), finding.item, finding.message));
            match (&finding.evidence, finding.defect) {
                (Some(evidence), Defect::InTask | Defect::SkillWords) => {
                    text.push_str(&format!(": {:?}\n", assay_diagnostic::clean_start(evidence, 100)));
                }
                _ => text.push('\n'),
            }
        }
    }
    for one in unreadable {
        text.push_str(&format!("cannot be read: {}: {}\n", one.path, one.reason));
    }
    let items: usize = checked.iter().map(|one| one.items).sum();
    let total: usize = counts.values().sum();
    let by: Vec<String> = counts.iter().map(|(defect, count)| format!("{} {count}", defect.name())).collect();
    let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    text.push_str(&format!(
        "{}, {}, {}{by}\n",
        assay_report::counted(checked.len(), "rubric", "rubrics"),
        assay_report::counted(items, "item", "items"),
        assay_report::counted(total, "finding", "findings"),
    ));
    text
}
