//! Which directives reached the agent.

use assay_trace::{Source, Trajectory};
use serde::Serialize;

use crate::directive::Directive;

/// The minimum length, in characters, of the beginning of a cut line that identifies the line; for
/// shorter lines, half of the line.
const BEGINNING: usize = 24;

/// How a directive's line reached the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Delivery {
    /// ATIF's `step_id` of the tool result or message; the first with all of the line, else the
    /// first with its beginning or end.
    pub step: usize,
    /// Whether the whole line came. If not, the output was cut within it.
    pub whole: bool,
}

/// Whether each directive's line was in a tool result or in a message to the agent, in their order.
/// What the agent wrote is no delivery.
pub fn deliveries(directives: &[Directive], trajectory: &Trajectory) -> Vec<Option<Delivery>> {
    let mut texts: Vec<(usize, &str)> = Vec::new();
    for step in &trajectory.steps {
        if step.source != Source::Agent {
            texts.push((step.step_id, &step.message));
        }
        for result in step.observation.iter().flat_map(|observation| &observation.results) {
            texts.extend(result.content.as_deref().map(|content| (step.step_id, content)));
        }
    }
    let mut found: Vec<Option<Delivery>> = Vec::with_capacity(directives.len());
    for (at, directive) in directives.iter().enumerate() {
        // Directives of one line are delivered together.
        let known = directives[..at]
            .iter()
            .position(|other| (other.file == directive.file) && other.line == directive.line);
        let delivery = known.map_or_else(|| delivery(&directive.text, &texts), |other| found[other]);
        found.push(delivery);
    }
    found
}

fn delivery(line: &str, texts: &[(usize, &str)]) -> Option<Delivery> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let holds =
        |text: &&(usize, &str)| text.1.match_indices(line).any(|(at, _)| stands_alone(text.1, at, line));
    if let Some((step, _)) = texts.iter().find(holds) {
        return Some(Delivery { step: *step, whole: true });
    }
    let needed = BEGINNING.min(line.chars().count().div_ceil(2));
    let begins = |text: &str| {
        let head: String = line.chars().take(needed).collect();
        text.lines().any(|other| after_number(other).trim().starts_with(&head))
    };
    let ends = |text: &str| {
        let skipped = line.chars().count() - needed;
        let tail: String = line.chars().skip(skipped).collect();
        text.lines().any(|other| other.trim().ends_with(&tail))
    };
    let cut = texts.iter().find(|(_, text)| begins(text) || ends(text));
    cut.map(|(step, _)| Delivery { step: *step, whole: false })
}

/// Whether a short line is a line there too: `name` is part of many.
fn stands_alone(text: &str, at: usize, line: &str) -> bool {
    if line.chars().count() >= BEGINNING {
        return true;
    }
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    after_number(&text[start..end]).trim() == line
}

/// A line without the number that viewers of files put before it.
fn after_number(line: &str) -> &str {
    let trimmed = line.trim_start();
    let rest = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.chars().next() {
        Some(mark @ ('\t' | '→' | '|')) if rest.len() < trimmed.len() => &rest[mark.len_utf8()..],
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::adherence::tests::text_directive;

    #[test]
    fn a_line_is_delivered_whole_cut_or_not_at_all() {
        let check = |result: &str, expected: Option<(usize, bool)>| {
            let trajectory = serde_json::from_value(json!({
                "schema_version": "ATIF-v1.7",
                "agent": {"name": "t", "version": "1"},
                "steps": [
                    {"step_id": 1, "source": "user", "message": "Fire the pots."},
                    {
                        "step_id": 2, "source": "agent", "message": "Glaze firings end with the code KX-41.",
                        "tool_calls": [{"tool_call_id": "1", "function_name": "bash", "arguments": {"command": "x"}}],
                        "observation": {"results": [{"source_call_id": "1", "content": result}]},
                    },
                ],
            }))
            .unwrap();
            let mut directive = text_directive("KX-41");
            directive.text = "- Glaze firings end with the code `KX-41`, and no other.".to_owned();
            let found = deliveries(&[directive], &trajectory)[0].map(|found| (found.step, found.whole));
            assert_eq!(found, expected, "{result}");
        };
        check("a\n- Glaze firings end with the code `KX-41`, and no other.\nb", Some((2, true)));
        check("     7→- Glaze firings end with the code `KX-41`, and no other.", Some((2, true)));
        check("a\n- Glaze firings end with the co", Some((2, false)));
        check("a\n- Glaze firings end with the co[output cut: 120 lines]", Some((2, false)));
        check("[output cut] the code `KX-41`, and no other.\nb", Some((2, false)));
        check("- Glaze firings", None);
        check("The code is KX-41.", None);
    }
}
