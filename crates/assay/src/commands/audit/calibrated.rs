//! The calibrated method.

use std::collections::BTreeSet;

use assay_analysis::audited::AuditPace;
use assay_audit::calibrated::{CorpusAudit, TaskAudit, TaskRuns, corpus_with, pairs};
use assay_audit::corpus::Corpus;
use assay_audit::evidence::SkillText;
use assay_judge::DirectiveJudgement;
use assay_report::audit_text;

use super::ask::AuditModels;
use super::input;
use super::notices::Notices;
use crate::args::audit::{CorpusArgs, PairsArgs};
use crate::failure::{Failure, Status};
use crate::ui::Ui;

/// Columns where the width of the terminal is not known.
const COLUMNS: usize = 80;

pub(super) fn of_corpus(
    args: &CorpusArgs,
    found: &Corpus,
    mut models: AuditModels<'_>,
    mut notices: Notices<'_>,
    ui: &Ui,
) -> Result<Status, Failure> {
    let mut judge = models.judge.take();
    let names: BTreeSet<&str> = found.groups.iter().map(|group| group.task.as_str()).collect();
    let (total, mut done, mut pace) = (names.len(), 0, AuditPace::default());
    let prepare = |skill: &mut SkillText| models.add_to(skill);
    let each = |task: &TaskRuns<'_>, audited: &TaskAudit| {
        if let Some(judge) = &mut judge {
            judge.add_task(task, audited);
        }
        done += 1;
        pace.describe_progress("tasks audited", done, total).iter().for_each(|line| ui.note(line));
    };
    let audit = corpus_with(&args.dir, found, |notice| notices.report(&notice), prepare, each)?;
    models.judge = judge;
    print(&audit, models.finish()?.as_ref(), args.details, ui)?;
    Ok(notices.status(args.strict))
}

pub(super) fn of_pairs(args: &PairsArgs, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let (skill, prompt) = (input::skill(&args.skill)?, input::prompt(args.task.as_deref())?);
    let mut runs =
        vec![input::run(&args.with, true, &mut notices)?, input::run(&args.without, false, &mut notices)?];
    let mut library = vec![skill.clone()];
    for path in &args.null {
        // A skill is Markdown; everything else is one more run without it.
        if path.extension().is_some_and(|end| end == "md") {
            library.push(input::skill(path)?);
        } else {
            runs.push(input::run(path, false, &mut notices)?);
        }
    }
    let name = input::task_name(&args.skill, &skill);
    let task = TaskRuns { task: name.clone(), skill_name: name, prompt, skill: &skill, runs, baseline: None };
    print(&pairs(&task, &library), None, true, ui)?;
    Ok(notices.status(args.strict))
}

pub(super) fn print(
    audit: &CorpusAudit,
    judged: Option<&DirectiveJudgement>,
    details: bool,
    ui: &Ui,
) -> Result<(), Failure> {
    if ui.json() {
        let mut failed = Ok(());
        audit.lines(judged.map(DirectiveJudgement::to_lines).unwrap_or_default(), |line| {
            if failed.is_ok() {
                failed = ui.raw(&format!("{line}\n"));
            }
        });
        return failed;
    }
    ui.out(&audit_text(audit, details, ui.columns().unwrap_or(COLUMNS)))?;
    judged.map_or(Ok(()), |judged| ui.out(&judged.to_text(details)))
}
