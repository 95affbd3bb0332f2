//! The items of a task, with what others met of them.

use assay_report::clean;
use serde_json::Value;

use super::section::{Cell, Section};
use crate::draft::Draft;

/// Most rows of a table.
const ROWS: usize = 200;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn entries<'v>(document: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    document[key].as_array().into_iter().flatten().take(ROWS)
}

/// How many of the works met an item, as `1 of 3`; empty without any.
fn count_met(evidence: &Value, works: &str, id: &str) -> String {
    let of = entries(evidence, works).count();
    let met = entries(evidence, works).filter(|work| work["met"][id] == true).count();
    if of == 0 { String::new() } else { format!("{met} of {of}") }
}

/// The section of a task's items; `None` if it has none.
pub(super) fn list_items(draft: &Draft, folder: &str, name: &str) -> Option<Section> {
    let items = draft.json(&format!("{folder}/{name}/tests/items.json"));
    let evidence = draft.json(&format!("evidence/{name}.json"));
    entries(&items, "items").next()?;
    let mut section = Section::new("items", "Items");
    section.heads = vec!["item", "set", "place", "shows", "answer", "without the skill", "with it", "note"];
    for item in entries(&items, "items") {
        let id = text(&item["id"]);
        let set = match text(&item["class"]) {
            "" => text(&item["set"]).to_owned(),
            class => format!("{}, {class}", text(&item["set"])),
        };
        let place = item["line"].as_u64().map(|line| format!("{}:{line}", text(&item["file"])));
        let note = if item["canary"] == true { "canary" } else { "" };
        let (without, with) = (count_met(&evidence, "blind", id), count_met(&evidence, "with_skill", id));
        let place = place.unwrap_or_default();
        let cells = [id, &set, &place, text(&item["text"]), text(&item["answer"]), &without, &with, note];
        section.rows.push(cells.map(Cell::new).into());
    }
    for dropped in entries(&evidence, "dropped") {
        let id = text(&dropped["id"]);
        let (without, with) = (count_met(&evidence, "blind", id), count_met(&evidence, "with_skill", id));
        let note = format!("left out: {}", text(&dropped["reason"]));
        section.rows.push([id, "", "", "", "", &without, &with, &note].map(Cell::new).into());
    }
    section.notes = entries(&evidence, "missing").map(|missing| clean(text(missing))).collect();
    Some(section)
}
