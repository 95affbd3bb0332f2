//! What an audit says about single runs, as claims that a reader can check without it.

use assay_trace::{Step, Trajectory};
use serde_json::{Value, json};

use super::findings::attributed;
use super::task::{RunAudit, TaskAudit, TaskRuns};
use super::{Finding, Pattern};
use crate::adherence::{Assessment, Left, Location, Status};
use crate::directive::{Directive, Modality};
use crate::sheet;

/// Lines before and after a line that are shown with it.
const AROUND: usize = 8;

/// Longest line that is shown, in characters.
const LINE_CAP: usize = 400;

/// Longest text of a task that is shown, in characters.
const TASK_CAP: usize = 6_000;

/// Acts that are shown of a run, where a claim is about all of it.
const ACTS: usize = 40;

/// The findings that are attributed to the skill, for people to judge: in runs that read the skill,
/// the directives that they followed and that count for their score, those that they violated, and
/// the patterns. Raters see the instruction and what the run did, each with the lines around it, and
/// the task; they do not see condition, score or outcome.
pub fn claims(task: &TaskRuns<'_>, audit: &TaskAudit) -> Vec<sheet::Finding> {
    let mut made = Vec::new();
    for (at, run) in audit.runs.iter().enumerate().filter(|(_, run)| run.with && run.exposure.opened) {
        if run.original != at {
            continue;
        }
        for (directive, assessment) in audit.directives.iter().zip(&run.adherence.assessments) {
            if let Some(place) = &assessment.place
                && is_attributed(run, assessment, place)
            {
                let claim = of_directive(directive, assessment.status);
                let shown = Shown {
                    stratum: claim,
                    document: document(task, &directive.file, directive.line),
                    instruction: instruction(directive),
                    claim,
                    evidence: place.text.clone(),
                    around: around_place(&task.runs[at].trajectory, &task.runs[at].left, place),
                };
                let key = json!({
                    "line": directive.line, "file": directive.file, "subject": directive.subject,
                    "status": assessment.status, "step": place.step,
                });
                made.push(shown.finding(task, run, &key));
            }
        }
    }
    for (at, finding) in attributed(audit) {
        made.push(of_pattern(task, &audit.runs[at], at, &finding));
    }
    made
}

/// Whether the status may come from the skill: it was read before.
fn is_attributed(run: &RunAudit, assessment: &Assessment, place: &Location) -> bool {
    let counts = match assessment.status {
        Status::Followed => assessment.weight > 0.0,
        Status::Violated => true,
        Status::NotApplicable | Status::Unknown => false,
    };
    counts && (place.step == 0 || run.opened_at.is_none_or(|opened| place.step > opened))
}

fn of_directive(directive: &Directive, status: Status) -> &'static str {
    match (status, directive.modality) {
        (Status::Followed, Modality::Required) => "The agent did what this instruction demands.",
        (Status::Followed, Modality::Forbidden) => {
            "The agent did what this instruction demands in place of what it forbids."
        }
        (_, Modality::Required) => "The agent did something else in place of what this instruction demands.",
        (_, Modality::Forbidden) => "The agent did what this instruction forbids.",
    }
}

fn instruction(directive: &Directive) -> String {
    match &directive.condition {
        Some(condition) => format!("{} (applies: {condition})", directive.subject),
        None => directive.subject.clone(),
    }
}

fn of_pattern(task: &TaskRuns<'_>, run: &RunAudit, at: usize, finding: &Finding) -> sheet::Finding {
    let claim = match finding.pattern {
        Pattern::ProceduralScaffolding => "The agent went through steps of the document in its order.",
        Pattern::EdgeCasePrompting => "The agent guarded against a case because the document names it.",
        Pattern::RedundantExploration => {
            "The agent searched in vain for a file because the document names it."
        }
        Pattern::SurfaceAnchoring => {
            "The agent took over a name, path or version from an example of the document that its own task does \
             not call for."
        }
        Pattern::ConceptBleed => "The agent wrote a file that only the document calls for, not the task.",
        Pattern::PrematureClosure => "The agent ended without a check after it had applied the document.",
        Pattern::SkillInertia => "The agent used nothing of the document.",
    };
    let place = Location {
        step: finding.step,
        manner: crate::evidence::Manner::Ran,
        file: None,
        text: finding.trace_text.clone(),
    };
    let shown = Shown {
        stratum: finding.pattern.name(),
        document: document(task, &finding.skill_file, finding.skill_line),
        instruction: if finding.subject.is_empty() {
            finding.skill_text.clone()
        } else {
            finding.subject.clone()
        },
        claim,
        evidence: finding.trace_text.clone(),
        around: around_place(&task.runs[at].trajectory, &task.runs[at].left, &place),
    };
    let key = json!({"pattern": finding.pattern.name(), "line": finding.skill_line, "step": finding.step});
    shown.finding(task, run, &key)
}

/// What raters see of a finding.
struct Shown<'a> {
    stratum: &'a str,
    document: String,
    instruction: String,
    claim: &'a str,
    evidence: String,
    around: String,
}

impl Shown<'_> {
    fn finding(self, task: &TaskRuns<'_>, run: &RunAudit, key: &Value) -> sheet::Finding {
        sheet::Finding {
            schema: "assay.audit-sheet/2",
            stratum: self.stratum.to_owned(),
            key: json!({"task": task.task, "trace": run.trace, "arm": run.arm, "finding": key}),
            fields: vec![
                ("task", task.task.clone()),
                ("task_text", capped(&task.prompt, TASK_CAP)),
                ("document", self.document),
                ("instruction", self.instruction),
                ("claim", self.claim.to_owned()),
                ("evidence", self.evidence),
                ("run", self.around),
            ],
        }
    }
}

/// A line of a file of the skill with the lines around it.
fn document(task: &TaskRuns<'_>, file: &str, line: usize) -> String {
    let found = task.skill.package.files.iter().find(|found| found.path == file);
    let Some(found) = found.filter(|_| line > 0) else { return capped(&task.skill.body, TASK_CAP) };
    let lines: Vec<&str> = found.text.lines().collect();
    format!("{file}\n{}", marked(&lines, line - 1))
}

/// The lines around one, which is marked.
fn marked(lines: &[&str], at: usize) -> String {
    let (low, high) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(lines.len()));
    let line = |place: usize| {
        let mark = if place == at { ">" } else { " " };
        format!("{mark} {:>4}  {}\n", place + 1, capped(lines[place], LINE_CAP))
    };
    (low.min(high)..high).map(line).collect()
}

/// The place in a run with the lines around it; the acts of the run where it cannot be found.
fn around_place(trajectory: &Trajectory, left: &Left, place: &Location) -> String {
    let needle = place.text.trim();
    let within = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        let exact = lines.iter().position(|line| line.trim() == needle);
        let at =
            exact.or_else(|| lines.iter().position(|line| !needle.is_empty() && line.contains(needle)))?;
        Some(marked(&lines, at))
    };
    if place.step == 0 {
        let same = |path: &str| place.file.as_deref().is_none_or(|file| file == path);
        let of_file = |(path, text): &(String, String)| Some(format!("file {path}\n{}", within(text)?));
        let found = left.files.iter().filter(|(path, _)| same(path)).find_map(of_file);
        return found.unwrap_or_else(|| acts(trajectory));
    }
    let Some(step) = trajectory.steps.iter().find(|step| step.step_id == place.step) else {
        return acts(trajectory);
    };
    texts(step)
        .into_iter()
        .find_map(|(name, text)| Some(format!("step {}, {name}\n{}", place.step, within(&text)?)))
        .unwrap_or_else(|| acts(trajectory))
}

/// The texts of a step, with what they are: what the agent did, what came back, and what it said.
fn texts(step: &Step) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for call in &step.tool_calls {
        let mut strings = Vec::new();
        collect(&call.arguments, &mut strings);
        found.extend(strings.into_iter().map(|text| (format!("call of {}", call.function_name), text)));
    }
    for result in step.observation.iter().flat_map(|observation| &observation.results) {
        found.extend(result.content.iter().map(|text| ("result".to_owned(), text.clone())));
    }
    found.push(("message".to_owned(), step.message.clone()));
    found
}

fn collect(value: &Value, strings: &mut Vec<String>) {
    match value {
        Value::String(text) => strings.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, strings)),
        Value::Object(object) => object.values().for_each(|value| collect(value, strings)),
        _ => {}
    }
}

/// What a run did, a line for each call.
fn acts(trajectory: &Trajectory) -> String {
    let calls = trajectory.steps.iter().flat_map(|step| step.tool_calls.iter().map(move |call| (step, call)));
    let lines: Vec<String> = calls
        .map(|(step, call)| {
            let mut strings = Vec::new();
            collect(&call.arguments, &mut strings);
            let text = strings.join(" ").replace('\n', " ⏎ ");
            format!("step {}, {}: {}\n", step.step_id, call.function_name, capped(&text, LINE_CAP))
        })
        .collect();
    let skipped = lines.len().saturating_sub(ACTS);
    let note = if skipped > 0 { format!("({skipped} earlier calls)\n") } else { String::new() };
    note + &lines[skipped..].concat()
}

fn capped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{} […]", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use assay_trace::{AgentInfo, Source, ToolCall};

    use super::*;
    use crate::evidence::Manner;

    fn place(step: usize, file: Option<&str>, text: &str) -> Location {
        Location { step, manner: Manner::Wrote, file: file.map(str::to_owned), text: text.to_owned() }
    }

    #[test]
    fn a_place_is_shown_with_the_lines_around_it() {
        let mut trajectory = Trajectory::new(AgentInfo::default());
        let step = trajectory.add_step(Source::Agent, "I write it.");
        step.tool_calls.push(ToolCall {
            tool_call_id: "1".to_owned(),
            function_name: "bash".to_owned(),
            arguments: json!({"command": "cat > a.py <<'E'\nimport os\n    code = 'KX-41'\nE"}),
            ..ToolCall::default()
        });
        let left = Left { files: vec![("out/b.csv".to_owned(), "id,net\n1,2\n".to_owned())] };
        let shown = around_place(&trajectory, &left, &place(1, None, "code = 'KX-41'"));
        assert_eq!(
            shown,
            "step 1, call of bash\n     1  cat > a.py <<'E'\n     2  import os\n>    3      code = 'KX-41'\n     4  E\n"
        );
        let shown = around_place(&trajectory, &left, &place(0, Some("out/b.csv"), "id,net"));
        assert_eq!(shown, "file out/b.csv\n>    1  id,net\n     2  1,2\n");
        let shown = around_place(&trajectory, &left, &place(7, None, "nowhere"));
        assert_eq!(shown, "step 1, bash: cat > a.py <<'E' ⏎ import os ⏎     code = 'KX-41' ⏎ E\n");
    }
}
