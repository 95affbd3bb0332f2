//! The Agent Trajectory Interchange Format, versions 1.0 to 1.8, converted to the version that is
//! written here.
//!
//! Fields that this version lacks are dropped: images and sounds (their kind is named), token
//! numbers, log probabilities.

use serde_json::{Map, Value, json};

use super::builder::Builder;
use super::marks::{Mark, Need};
use super::reader::{Decoder, Reader, Shape};
use crate::{Source, Trajectory};

/// `trajectory.json`.
pub(crate) struct Document;

impl Reader for Document {
    fn name(&self) -> &'static str {
        "atif"
    }

    fn marks(&self) -> &'static [Mark] {
        &[&[Need::Begins("/schema_version", "ATIF-v1."), Need::List("/steps")]]
    }

    fn shape(&self) -> Shape {
        Shape::Document
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(TrajectoryDecoder)
    }
}

struct TrajectoryDecoder;

impl Decoder for TrajectoryDecoder {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        let value: Value = serde_json::from_slice(json)?;
        let trajectory = adapt(value)?;
        for step in &trajectory.steps {
            out.time(step.timestamp.as_deref());
        }
        if let Some(sums) = &trajectory.final_metrics {
            out.head.final_metrics = Some(sums.clone());
            out.head.is_partial = sums.least_cost().is_some();
            out.mark_gap(&sums.gap());
        }
        let before = trajectory.steps.iter().take_while(|step| step.source != Source::Agent);
        let has_prompt = before.into_iter().any(|step| step.source == Source::System);
        out.head.hidden.listing = !has_prompt && trajectory.agent.tool_definitions.is_empty();
        out.head.hidden.failures = !shows_failures(&trajectory, 0);
        out.adopt(trajectory);
        Ok(())
    }
}

/// Whether any result says if its call failed, for which the format has no field of its own.
fn shows_failures(trajectory: &Trajectory, depth: usize) -> bool {
    let mut results =
        trajectory.steps.iter().flat_map(|step| &step.observation).flat_map(|given| &given.results);
    let mut inner = trajectory.subagent_trajectories.iter();
    results.any(|result| result.failed().is_some())
        || (depth < DEPTH && inner.any(|one| shows_failures(one, depth + 1)))
}

/// The trajectory in a document; `None` if it has none.
pub fn parse(bytes: &[u8]) -> Option<Trajectory> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    if !Document.claims(&value) {
        return None;
    }
    adapt(value).ok()
}

fn adapt(mut value: Value) -> Result<Trajectory, serde_json::Error> {
    normalise(&mut value, 0);
    serde_json::from_value(value)
}

/// Sub-agents of sub-agents are followed so far.
const DEPTH: usize = 16;

fn normalise(value: &mut Value, depth: usize) {
    let Some(map) = value.as_object_mut() else { return };
    map.insert("schema_version".to_owned(), Trajectory::SCHEMA.into());
    drop_nulls(map);
    let agent = map.entry("agent").or_insert_with(|| json!({}));
    if let Some(agent) = agent.as_object_mut() {
        drop_nulls(agent);
        for key in ["name", "version"] {
            if !agent.get(key).is_some_and(Value::is_string) {
                agent.insert(key.to_owned(), "unknown".into());
            }
        }
    }
    let steps = map.get_mut("steps").and_then(Value::as_array_mut);
    let mut count = 0;
    for step in steps.into_iter().flatten().filter_map(Value::as_object_mut) {
        count += 1;
        drop_nulls(step);
        step.insert("step_id".to_owned(), count.into());
        flatten(step.entry("message").or_insert(Value::Null));
        for call in list(step, "tool_calls") {
            drop_nulls(call);
        }
        if let Some(observation) = step.get_mut("observation").and_then(Value::as_object_mut) {
            observation.entry("results").or_insert_with(|| json!([]));
            for result in list(observation, "results") {
                drop_nulls(result);
                if let Some(content) = result.get_mut("content") {
                    flatten(content);
                }
                for one in list(result, "subagent_trajectory_ref") {
                    drop_nulls(one);
                }
            }
        }
        if let Some(metrics) = step.get_mut("metrics").and_then(Value::as_object_mut) {
            drop_nulls(metrics);
        }
    }
    if let Some(sums) = map.get_mut("final_metrics").and_then(Value::as_object_mut) {
        drop_nulls(sums);
        if !sums.get("total_steps").is_some_and(Value::is_u64) {
            sums.insert("total_steps".to_owned(), count.into());
        }
    }
    let inner = map.get_mut("subagent_trajectories").and_then(Value::as_array_mut);
    if depth >= DEPTH {
        map.remove("subagent_trajectories");
    } else {
        inner.into_iter().flatten().for_each(|one| normalise(one, depth + 1));
    }
}

/// The objects in a list.
fn list<'v>(map: &'v mut Map<String, Value>, key: &str) -> impl Iterator<Item = &'v mut Map<String, Value>> {
    map.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Some writers put `null` where others leave a key out.
fn drop_nulls(map: &mut Map<String, Value>) {
    map.retain(|_, value| !value.is_null());
}

/// Joins text parts; without text the content is absent.
fn flatten(content: &mut Value) {
    *content = Value::String(super::text::text_of(content).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atif_versions_are_read_and_other_documents_rejected() {
        let check = |value: Value, expected: Option<(usize, &str)>| {
            let found = parse(value.to_string().as_bytes());
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
        ] {
            check(none, None);
        }
        assert!(parse(b"\xff").is_none());
        assert!(parse("[".repeat(100_000).as_bytes()).is_none());
    }
}
