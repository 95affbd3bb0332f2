//! Transcripts as text: what was said and done, step by step.

use assay_trace::read::Transcript;
use assay_trace::{Source, Step, ToolCall, Trajectory};
use serde_json::Value;

use crate::text::{clean, clean_code, counted};
use crate::trace_stats::token_fields;

/// A transcript: its head, and its steps with at most `cap` characters of each text.
pub fn transcript_text(file: &str, transcript: &Transcript, cap: usize) -> String {
    let trajectory = &transcript.trajectory;
    let agent = &trajectory.agent;
    let model = agent.model_name.as_deref().map_or(String::new(), |model| format!(" with {}", clean(model)));
    let mut text = format!(
        "{}\n  {} {}{model}, format {}, {}\n  tokens: {}\n",
        clean(file),
        clean(&agent.name),
        clean(&agent.version),
        transcript.format,
        counted(trajectory.steps.len(), "step", "steps"),
        token_fields(&transcript.tally),
    );
    steps(trajectory, cap, &mut text);
    for one in &trajectory.subagent_trajectories {
        let name = one.trajectory_id.as_deref().unwrap_or("sub-agent");
        text.push_str(&format!("\n══ sub-agent {} ══\n", clean(name)));
        steps(one, cap, &mut text);
    }
    text
}

fn steps(trajectory: &Trajectory, cap: usize, text: &mut String) {
    for step in &trajectory.steps {
        let who = match step.source {
            Source::System => "system",
            Source::User if step.is_injected() => "user, by the harness",
            Source::User => "user",
            Source::Agent => "agent",
        };
        text.push_str(&format!("\n── {} {who} ──\n", step.step_id));
        if let Some(reasoning) = &step.reasoning_content {
            text.push_str(&format!("[reasoning]\n{}\n", format_text(reasoning, cap)));
        }
        if !step.message.is_empty() {
            text.push_str(&format!("{}\n", format_text(&step.message, cap)));
        }
        for call in &step.tool_calls {
            text.push_str(&format!(
                "$ {} {}\n",
                clean(&call.function_name),
                format_text(&command_text(call), cap)
            ));
            text.push_str(&answer(step, call, cap));
        }
        // Results whose calls are not in the step.
        for result in step.observation.iter().flat_map(|observation| &observation.results) {
            if result.source_call_id.is_none() {
                text.push_str(&format!(
                    "{}\n",
                    format_text(result.content.as_deref().unwrap_or_default(), cap)
                ));
            }
        }
    }
}

/// The command of a call that has one and little else, or all its arguments.
fn command_text(call: &ToolCall) -> String {
    match call.arguments.get("command").or(call.arguments.get("cmd")) {
        Some(Value::String(command)) => command.clone(),
        _ => call.arguments.to_string(),
    }
}

fn answer(step: &Step, call: &ToolCall, cap: usize) -> String {
    let Some(result) = step.result_of(&call.tool_call_id) else { return "[no result]\n".to_owned() };
    let failed = if result.failed() == Some(true) { "[failed]\n" } else { "" };
    let content = result.content.as_deref().unwrap_or_default();
    let content = if content.is_empty() { String::new() } else { format_text(content, cap) + "\n" };
    format!("{failed}{content}")
}

/// Untrusted text for a terminal: line breaks are kept, other control characters are escaped, and
/// long text is cut.
fn format_text(text: &str, cap: usize) -> String {
    let text = text.trim_end();
    let cut: String = text.chars().take(cap).collect();
    let more = text.chars().count().saturating_sub(cap);
    let mut lines: Vec<String> = cut.split('\n').map(clean_code).collect();
    if more > 0 {
        lines.push(format!("[… {more} characters more …]"));
    }
    lines.join("\n")
}
