//! What the score owes to labels: nothing, so that their exchange is a test of it.

use assay_audit::calibrated::{CorpusAudit, Run, TaskRuns, audit, run_scores};
use assay_audit::directive::{Directive, Kind, Modality, Probe};
use assay_audit::evidence::SkillText;
use assay_trace::Trajectory;
use serde_json::json;

fn trajectory(text: &str) -> Trajectory {
    let call = json!({"tool_call_id": "c", "function_name": "Write",
        "arguments": {"file_path": "a.py", "content": text}});
    let steps = json!([
        {"step_id": 1, "source": "user", "message": "Fire the pots."},
        {"step_id": 2, "source": "agent", "message": "", "tool_calls": [call],
         "observation": {"results": [{"source_call_id": "c", "content": "ok"}]}},
        {"step_id": 3, "source": "agent", "message": "Done."},
    ]);
    let agent = json!({"name": "t", "version": "1"});
    serde_json::from_value(json!({"schema_version": "ATIF-v1.7", "agent": agent, "steps": steps}))
        .expect("a trajectory")
}

/// A skill that consists of limits, all of them round.
fn limits() -> SkillText {
    let mut skill = SkillText::parse(b"---\nname: kiln-firing\ndescription: Fires pots.\n---\n");
    let limit = |(line, (word, value)): (usize, (&str, &str))| Directive {
        kind: Kind::Threshold,
        modality: Modality::Required,
        file: "SKILL.md".to_owned(),
        line: line + 1,
        text: format!("At most {value} {word}."),
        subject: format!("{value} {word}"),
        example: false,
        condition: None,
        applies: None,
        probe: Probe::Number { value: value.to_owned(), near: vec![word.to_owned()] },
        instead: Vec::new(),
    };
    skill.directives = LIMITS.into_iter().enumerate().map(limit).collect();
    skill
}

const LIMITS: [(&str, &str); 6] =
    [("pots", "20"), ("minutes", "100"), ("shelves", "5"), ("glazes", "3"), ("cones", "6"), ("litres", "40")];

/// What a run writes that keeps the limits whose bit is set.
fn code(run: usize, kept: usize) -> String {
    let line = |(at, (word, value)): (usize, &(&str, &str))| {
        let value =
            if kept >> at & 1 == 1 { (*value).to_owned() } else { format!("{}", 711 + 37 * run + at) };
        format!("{word} = {value}\n\n\n\n\n")
    };
    LIMITS.iter().enumerate().map(line).collect()
}

/// An audit of six runs of one task, of which those of `with` had the skill.
fn audit_of(skill: &SkillText, kept: &[usize], with: &[bool]) -> CorpusAudit {
    let run = |(at, (kept, with)): (usize, (&usize, &bool))| {
        Run::new(&format!("{at}.jsonl"), "arm", *with, trajectory(&code(at, *kept)), 1)
    };
    let task = TaskRuns {
        task: "t".to_owned(),
        skill_name: "kiln-firing".to_owned(),
        prompt: "Fire the pots.".to_owned(),
        skill,
        runs: kept.iter().zip(with).enumerate().map(run).collect(),
        baseline: None,
    };
    CorpusAudit::new(vec![audit(&task, &[])])
}

/// All ways to give three of six runs the skill.
fn labels() -> Vec<Vec<bool>> {
    let bits = (0_u32..64).filter(|bits| bits.count_ones() == 3);
    bits.map(|bits| (0..6).map(|at| bits >> at & 1 == 1).collect()).collect()
}

#[test]
fn exchanged_labels_move_no_score_and_p_is_valid() {
    let skill = limits();
    // Limits that the runs keep, drawn by a multiplication without a rule.
    for seed in [3_usize, 17, 40] {
        let kept: Vec<usize> = (1..=6).map(|at| (seed * at * at + 29 * at) % 64).collect();
        let (mut scores, mut ps, mut won) = (Vec::new(), Vec::new(), 0.0);
        for with in labels() {
            let found = audit_of(&skill, &kept, &with);
            let of_runs: Vec<f64> = found.tasks[0].runs.iter().map(|run| run.adherence.score).collect();
            for (one, _) in of_runs.iter().zip(&with).filter(|(_, with)| **with) {
                for (other, _) in of_runs.iter().zip(&with).filter(|(_, with)| !**with) {
                    won += if one > other {
                        1.0
                    } else if one < other {
                        0.0
                    } else {
                        0.5
                    };
                }
            }
            scores.push(of_runs.iter().map(|score| score.to_bits()).collect::<Vec<_>>());
            ps.push(found.arms[0].adoption.as_ref().expect("a test").p);
        }
        scores.dedup();
        assert_eq!(scores.len(), 1, "{kept:?}");
        // 20 labellings of nine comparisons each: the area under the curve is one half.
        assert!((won / 180.0 - 0.5_f64).abs() < 1e-12, "{won}");
        for level in [0.05, 0.1, 0.25, 0.5] {
            let share = ps.iter().filter(|p| **p <= level + 1e-12).count() as f64 / ps.len() as f64;
            assert!(share <= level + 1e-12, "{share} at {level}: {kept:?}");
        }
    }
}

#[test]
fn limits_that_only_runs_with_the_skill_keep_are_told_from_chance() {
    let skill = limits();
    let with = [true, true, true, false, false, false];
    let found = audit_of(&skill, &[0b11_1111, 0b11_1011, 0b01_1111, 0, 0, 0], &with);
    let excess = found.arms[0].adoption.as_ref().expect("a test");
    assert!((excess.p - 0.05).abs() < 1e-12 && excess.excess > 0.1, "{excess:?}");
    let scores = run_scores(&found.tasks);
    assert_eq!(scores.len(), 3);
    assert!(scores.iter().all(|run| run.measured == 1 && run.controls == [0.0; 3]), "{scores:?}");
    // Where no run keeps one, none adopts anything.
    let found = audit_of(&skill, &[0; 6], &with);
    assert!(found.tasks[0].runs.iter().all(|run| run.adoption == Some(0.0) && run.adopted != Some(true)));
    assert!(run_scores(&found.tasks).iter().all(|run| run.score == Some(0.0) && run.measured == 1));
}
