//! Harbor's trajectories, ATIF 1.0 to 1.8, as the version that is shown here.

use assay_trace::Trajectory;
use serde_json::Value;

/// The trajectory in a file, in the fields that are known here; `None` where it is none.
///
/// What this version does not hold goes: images, sub-agents, log probabilities. Text in parts becomes one text.
pub(super) fn read(bytes: &[u8]) -> Option<Trajectory> {
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    if !value.get("schema_version")?.as_str()?.starts_with("ATIF-v1.") {
        return None;
    }
    let steps = value.get_mut("steps")?.as_array_mut()?;
    let count = steps.len();
    for step in steps {
        flatten(step.get_mut("message"));
        for key in ["tool_calls", "observation", "metrics", "extra"] {
            drop_null(step, key);
        }
        let results = step.pointer_mut("/observation/results").and_then(Value::as_array_mut);
        for result in results.into_iter().flatten() {
            flatten(result.get_mut("content"));
            drop_null(result, "extra");
        }
        if let Some(metrics) = step.get_mut("metrics") {
            drop_null(metrics, "extra");
        }
    }
    drop_null(&mut value, "extra");
    match value.get_mut("final_metrics") {
        Some(metrics) if metrics.is_object() => {
            if !metrics.get("total_steps").is_some_and(Value::is_u64) {
                metrics["total_steps"] = count.into();
            }
        }
        _ => drop_null(&mut value, "final_metrics"),
    }
    if value.pointer("/agent/version").is_none_or(Value::is_null) {
        value.get_mut("agent")?.as_object_mut()?.insert("version".to_owned(), "unknown".into());
    }
    serde_json::from_value(value).ok()
}

/// Text in parts becomes one; no text becomes none.
fn flatten(content: Option<&mut Value>) {
    let Some(content) = content else { return };
    if let Some(parts) = content.as_array() {
        let text = |part: &Value| match part.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => format!("[{}]", part.get("type").and_then(Value::as_str).unwrap_or("part")),
        };
        *content = Value::String(parts.iter().map(text).collect::<Vec<_>>().join("\n"));
    } else if content.is_null() {
        *content = Value::String(String::new());
    }
}

/// Some writers put `null` where others leave a key out.
fn drop_null(value: &mut Value, key: &str) {
    if value.get(key).is_some_and(Value::is_null)
        && let Some(map) = value.as_object_mut()
    {
        map.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_version_is_read_and_what_is_none_is_not() {
        let check = |value: Value, expected: Option<(usize, &str)>| {
            let found = read(value.to_string().as_bytes());
            let found =
                found.as_ref().map(|t| (t.turns(), t.steps.last().map_or("", |step| step.message.as_str())));
            assert_eq!(found, expected, "{value}");
        };
        let agent = json!({ "name": "gemini-cli", "version": "1", "tool_definitions": [] });
        check(
            json!({ "schema_version": "ATIF-v1.2", "agent": agent, "steps": [
                { "step_id": 1, "source": "user", "message": "do" },
                { "step_id": 2, "source": "agent", "message": "done", "tool_calls": null, "metrics": null,
                  "observation": { "results": [{ "source_call_id": null, "content": null }] } },
            ], "final_metrics": { "total_prompt_tokens": 4 } }),
            Some((1, "done")),
        );
        check(
            json!({ "schema_version": "ATIF-v1.8", "agent": { "name": "x" }, "unknown": 1, "steps": [
                { "step_id": 1, "source": "agent", "reasoning_effort": 3, "message": [
                    { "type": "text", "text": "a" }, { "type": "image", "source": {} } ],
                  "observation": { "results": [{ "content": [{ "type": "text", "text": "b" }] }] } },
            ], "final_metrics": null }),
            Some((1, "a\n[image]")),
        );
        for none in [
            json!({}),
            json!([]),
            json!({ "schema_version": "ATIF-v2.0", "agent": agent, "steps": [] }),
            json!({ "schema_version": "ATIF-v1.7", "agent": agent, "steps": {} }),
            json!({ "schema_version": "ATIF-v1.7", "steps": [] }),
        ] {
            check(none, None);
        }
        assert!(read(b"\xff").is_none());
        assert!(read("[".repeat(100_000).as_bytes()).is_none());
    }
}
