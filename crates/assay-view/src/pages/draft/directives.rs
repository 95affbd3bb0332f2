//! The page of directives: what the skill tells an agent, and what the measured model does without it.

use assay_report::{clean, counted};
use serde_json::Value;

use super::section::{Cell, Section};
use crate::draft::Draft;

/// Most rows of a table.
const ROWS: usize = 500;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The items of a list of a document.
fn items<'v>(document: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    document[key].as_array().into_iter().flatten().take(ROWS)
}

pub(super) fn list_directives(draft: &Draft) -> Vec<Section> {
    let (list, probe) = (draft.json("directives.json"), draft.json("probe.json"));
    let infeasible = draft.json("infeasible.json");
    let mut found = Section::new("directives", "What the skill tells an agent");
    found.heads =
        vec!["id", "place", "directive", "class", "with the skill", "without", "known of 10", "not testable"];
    for one in items(&list, "directives") {
        let id = text(&one["id"]);
        let place = format!("{}:{}", text(&one["file"]), text(&one["lines"]));
        let known = one["known"].as_u64().map_or_else(String::new, |known| known.to_string());
        let reason = text(&infeasible["directives"][id]);
        let cells = [
            id,
            &place,
            text(&one["text"]),
            text(&one["class"]),
            text(&one["answer"]),
            text(&one["default"]),
        ];
        let cells = cells.into_iter().chain([known.as_str(), reason]);
        found.rows.push(cells.map(Cell::new).collect());
    }
    let mut probed = Section::new("probe", "What the measured model does without the skill");
    if !probe.is_null() {
        let (model, reader) = (clean(text(&probe["model"])), clean(text(&probe["reader"])));
        probed.notes = vec![format!("Model: {model}; {reader} compared its replies with the answers.")];
    }
    probed.heads = vec!["id", "question", "replies", "verdict"];
    for (id, one) in probe["directives"].as_object().into_iter().flatten().take(ROWS) {
        let matches = one["matches"].as_array().cloned().unwrap_or_default();
        let replies: Vec<String> = items(one, "replies")
            .enumerate()
            .map(|(at, reply)| {
                let mark = match matches.get(at).and_then(Value::as_bool) {
                    Some(true) => "same",
                    Some(false) => "different",
                    None => "unknown",
                };
                format!("{} ({mark})", text(reply))
            })
            .collect();
        let cells = [id.as_str(), text(&one["question"]), &replies.join("; "), text(&one["verdict"])];
        probed.rows.push(cells.into_iter().map(Cell::new).collect());
    }
    let mut left_out = Section::new("left-out", "Left out");
    left_out.heads = vec!["what", "why"];
    for one in items(&list, "dismissed") {
        let what = format!("{}:{}: {}", text(&one["file"]), text(&one["lines"]), text(&one["quote"]));
        left_out.rows.push(vec![Cell::new(&what), Cell::new(text(&one["reason"]))]);
    }
    for one in items(&list, "rejected") {
        left_out.rows.push(vec![Cell::new(text(&one["text"])), Cell::new(text(&one["reason"]))]);
    }
    for file in items(&list, "files").filter(|file| file["read_to"].as_u64() < file["lines"].as_u64()) {
        let lines = usize::try_from(file["lines"].as_u64().unwrap_or_default()).unwrap_or(usize::MAX);
        let why = format!("read to line {} of {}", file["read_to"], counted(lines, "line", "lines"));
        left_out.rows.push(vec![Cell::new(text(&file["file"])), Cell::new(&why)]);
    }
    vec![found, probed, left_out]
}
