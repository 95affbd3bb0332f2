//! The calibrated auditor on the traces of the release.

use std::path::Path;

use assay_audit::calibrated::{Run, TaskAudit, TaskRuns, audit};
use assay_audit::evidence::SkillText;
use assay_audit::layout;

use crate::shared::shared;

/// Every task of a corpus, audited.
fn audited(root: &Path) -> Vec<TaskAudit> {
    let layout = layout::find(root).unwrap();
    assert_eq!(layout.remarks, []);
    let read = |path: &Option<std::path::PathBuf>| std::fs::read(path.as_ref().unwrap()).unwrap();
    let library: Vec<SkillText> =
        layout.tasks.iter().map(|task| SkillText::parse(&read(&task.skill))).collect();
    let tasks = layout.tasks.iter().zip(&library).map(|(files, skill)| {
        let run = |file: &layout::TraceFile| {
            let transcript = assay_trace::read::read(&file.path, None).unwrap();
            Run {
                trace: file.id.clone(),
                arm: file.arm.clone(),
                with: file.with,
                tokens: transcript.tally.usage.total(),
                trajectory: transcript.trajectory,
            }
        };
        let task = TaskRuns {
            task: files.task.clone(),
            prompt: String::from_utf8(read(&files.prompt)).unwrap(),
            skill,
            runs: files.traces.iter().map(run).collect(),
            baseline: files.baseline,
        };
        audit(&task, &library)
    });
    tasks.collect()
}

#[test]
fn look() {
    let Some(root) = shared("cta") else { return };
    for task in audited(&root) {
        for run in &task.runs {
            println!(
                "{} {:?} {:.1} {:.1} {:.2} max {:.2}",
                run.trace,
                run.exposure.opened,
                run.adoption.evidence,
                run.adoption.floor,
                run.adoption.score,
                run.placebo.iter().copied().fold(0.0, f64::max)
            );
        }
    }
}
