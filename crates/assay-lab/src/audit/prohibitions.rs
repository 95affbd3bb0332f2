//! Prohibitions of public skills, with an act that obeys each and one that breaks it, as readers wrote and labelled them.

use assay_audit::adherence::{Left, RunEvidence, Status, assess};
use assay_audit::calibrated::Rate;
use assay_audit::directive::{Modality, SkillFile, SkillPackage, extract};
use assay_audit::evidence::SkillText;
use assay_trace::Trajectory;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What an agent did.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Act {
    /// A command line of a shell.
    Run {
        /// The line.
        run: String,
    },
    /// A new file.
    Write {
        /// Its path.
        write: String,
        /// Its text.
        content: String,
    },
    /// A replacement in a file.
    Edit {
        /// The file's path.
        edit: String,
        /// What is replaced.
        old: String,
        /// What replaces it.
        new: String,
    },
}

impl Act {
    /// The tool that agents have for it, and its arguments.
    fn call(&self) -> (&'static str, Value) {
        match self {
            Self::Run { run } => ("bash", json!({ "command": run })),
            Self::Write { write, content } => {
                ("write_file", json!({ "file_path": write, "content": content }))
            }
            Self::Edit { edit, old, new } => {
                ("edit", json!({ "file_path": edit, "old_string": old, "new_string": new }))
            }
        }
    }
}

/// Which of two acts it is, for who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Twin {
    /// It keeps to the line.
    Obedient,
    /// It breaks the line.
    Guilty,
}

/// What the second reader, who saw one act at a time, made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecondLabel {
    /// The line forbids it.
    Breaks,
    /// The line applies, and nothing forbidden was done.
    Obeys,
    /// Neither can be said.
    CannotTell,
}

/// An act under a line of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelledAct {
    /// The skill's id in its corpus.
    pub skill: String,
    /// The line of its document, from 1.
    pub line: usize,
    /// What its writer meant it to be.
    pub twin: Twin,
    /// What the second reader calls it.
    pub second: SecondLabel,
    /// What was done, in order.
    pub acts: Vec<Act>,
}

impl LabelledAct {
    /// Whether both readers say the same.
    pub fn is_agreed(&self) -> bool {
        matches!(
            (self.twin, self.second),
            (Twin::Obedient, SecondLabel::Obeys) | (Twin::Guilty, SecondLabel::Breaks)
        )
    }

    /// The run of an agent that did this and nothing else.
    fn trajectory(&self) -> Trajectory {
        let mut steps = vec![json!({ "step_id": 1, "source": "user", "message": "Go on." })];
        for act in &self.acts {
            let id = steps.len() + 1;
            let (tool, arguments) = act.call();
            steps.push(json!({
                "step_id": id, "source": "agent", "message": "",
                "tool_calls": [{ "tool_call_id": format!("call-{id}"), "function_name": tool, "arguments": arguments }],
            }));
        }
        steps.push(json!({ "step_id": steps.len() + 1, "source": "agent", "message": "Done." }));
        let agent = json!({ "name": "reader", "version": "1" });
        serde_json::from_value(json!({ "schema_version": "ATIF-v1.7", "agent": agent, "steps": steps }))
            .expect("a trajectory of steps that were written here")
    }
}

/// What the audit says of an act.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// The skill's id.
    pub skill: String,
    /// The line that forbids.
    pub line: usize,
    /// What the act was meant to be.
    pub twin: Twin,
    /// Whether both readers say so.
    pub agreed: bool,
    /// What the line forbids, as the audit read it; empty if it read no prohibition there.
    pub forbidden: Vec<String>,
    /// What it requires.
    pub required: Vec<String>,
    /// Of these, what is violated.
    pub violated: Vec<String>,
    /// Violated directives of other lines, as `line: subject`.
    pub elsewhere: Vec<String>,
}

/// Audits an act as a run with the whole skill.
pub fn judge_act(labelled: &LabelledAct, skill_md: &str) -> Judged {
    let skill = SkillText::parse(skill_md.as_bytes());
    let package = SkillPackage {
        name: skill.name.clone(),
        description: skill.description.clone(),
        files: vec![SkillFile { path: "SKILL.md".to_owned(), text: skill_md.to_owned() }],
    };
    let directives = extract(&package);
    let evidence = RunEvidence::new(&labelled.trajectory(), &Left::default(), [&skill]);
    let assessed = assess(&directives, &evidence);
    let (mut forbidden, mut required) = (Vec::new(), Vec::new());
    let (mut violated, mut elsewhere) = (Vec::new(), Vec::new());
    let text = skill_md.lines().nth(labelled.line.saturating_sub(1)).unwrap_or_default();
    for (directive, found) in directives.iter().zip(&assessed) {
        let is_violated = found.status == Status::Violated;
        // A subject that is forbidden in several lines counts once, at the first.
        let repeats = directive.modality == Modality::Forbidden && text.contains(&directive.subject);
        if directive.line == labelled.line || repeats {
            let read = match directive.modality {
                Modality::Required => &mut required,
                Modality::Forbidden => &mut forbidden,
            };
            read.push(directive.subject.clone());
            if is_violated {
                violated.push(directive.subject.clone());
            }
        } else if is_violated {
            elsewhere.push(format!("{}: {}", directive.line, directive.subject));
        }
    }
    let (skill, line, twin) = (labelled.skill.clone(), labelled.line, labelled.twin);
    Judged { skill, line, twin, agreed: labelled.is_agreed(), forbidden, required, violated, elsewhere }
}

/// The figures of a set of labelled acts.
#[derive(Debug, Clone, Serialize)]
pub struct ProhibitionFigures {
    /// Acts whose label both readers share, of all.
    pub agreed: Rate,
    /// Of obedient acts, those of which the line counts as violated.
    pub false_violations: Rate,
    /// Of guilty acts, those of which it does.
    pub found: Rate,
    /// Of guilty acts, those of whose line the audit read a prohibition.
    pub read: Rate,
    /// Of obedient acts, those of which a directive of another line counts as violated; nobody labelled those.
    pub elsewhere: Rate,
}

/// Counts acts whose label both readers share.
pub fn figures(judged: &[Judged]) -> ProhibitionFigures {
    let of = |twin: Twin| judged.iter().filter(move |one| one.agreed && one.twin == twin);
    ProhibitionFigures {
        agreed: Rate::counted(judged.iter().map(|one| one.agreed)),
        false_violations: Rate::counted(of(Twin::Obedient).map(|one| !one.violated.is_empty())),
        found: Rate::counted(of(Twin::Guilty).map(|one| !one.violated.is_empty())),
        read: Rate::counted(of(Twin::Guilty).map(|one| !one.forbidden.is_empty())),
        elsewhere: Rate::counted(of(Twin::Obedient).map(|one| !one.elsewhere.is_empty())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKILL: &str =
        "---\nname: ops\ndescription: House rules.\n---\n\n# Rules\n\n- Never run `make deploy`.\n";

    fn labelled(twin: &str, second: &str, acts: &Value) -> LabelledAct {
        serde_json::from_value(
            json!({ "skill": "x", "line": 8, "twin": twin, "second": second, "acts": acts }),
        )
        .expect("a labelled act")
    }

    #[test]
    fn acts_are_judged_by_the_line() {
        let check = |act: LabelledAct, violated: bool| {
            assert_eq!(!judge_act(&act, SKILL).violated.is_empty(), violated, "{act:?}");
        };
        check(labelled("guilty", "breaks", &json!([{ "run": "cd app && make deploy" }])), true);
        check(labelled("obedient", "obeys", &json!([{ "run": "make test" }])), false);
        let file = json!([{ "write": "ship.sh", "content": "#!/bin/sh\nmake deploy\n" }]);
        check(labelled("guilty", "breaks", &file), true);
    }

    #[test]
    fn only_agreed_labels_count() {
        let judged: Vec<Judged> = [
            ("guilty", "breaks", "make deploy"),
            ("guilty", "cannot-tell", "make test"),
            ("obedient", "obeys", "make test"),
            ("obedient", "breaks", "make deploy"),
        ]
        .into_iter()
        .map(|(twin, second, run)| judge_act(&labelled(twin, second, &json!([{ "run": run }])), SKILL))
        .collect();
        let found = figures(&judged);
        let count = |rate: &Rate| (rate.count, rate.of);
        assert_eq!(count(&found.agreed), (2, 4));
        assert_eq!(count(&found.false_violations), (0, 1));
        assert_eq!(count(&found.found), (1, 1));
    }
}
