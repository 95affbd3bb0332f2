//! A skeleton and its leaves as Markdown.

use super::leaf::Leaf;
use super::skeleton::{Block, Item, List};

/// Writes the blocks. The text ends with a line break unless it is empty.
pub(super) fn render(blocks: &[Block], leaves: &[Leaf]) -> String {
    let mut out = String::new();
    for line in lines(blocks, leaves, false, false) {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn lines(blocks: &[Block], leaves: &[Leaf], tight: bool, in_item: bool) -> Vec<String> {
    let mut out = Vec::new();
    // Two lists in a row are distinguished by their markers.
    let mut other_marker = false;
    for (at, block) in blocks.iter().enumerate() {
        let previous = at.checked_sub(1).map(|at| &blocks[at]);
        if previous.is_some() && !tight {
            out.push(String::new());
        }
        match block {
            Block::Text(leaf) => out.extend(leaves[*leaf].text().lines().map(str::to_owned)),
            Block::Heading(level, leaf) => {
                out.push(indent(&format!("{} ", "#".repeat(*level)), &leaves[*leaf].text()));
            }
            Block::Code(leaf, indented) => {
                let text = leaves[*leaf].text();
                // Indented code needs a blank line before it, and a list or other code before it
                // would take it in.
                let plain = *indented && !tight && !text.is_empty();
                let apart = match previous {
                    Some(Block::List(_) | Block::Code(_, true)) => false,
                    Some(_) => true,
                    None => !in_item,
                };
                if plain && apart {
                    out.extend(text.lines().map(|line| indent("    ", line)));
                } else {
                    out.push("```".to_owned());
                    out.extend(text.lines().map(str::to_owned));
                    out.push("```".to_owned());
                }
            }
            Block::Html(leaf) => out.push(format!("<!-- {} -->", leaves[*leaf].text())),
            // Under a tight line dashes would make a heading of it; after a star, stars would make
            // a rule of the item.
            Block::Rule => out.push(if in_item { "___" } else { "---" }.to_owned()),
            Block::Quote(blocks) => {
                let inner = lines(blocks, leaves, false, false);
                if inner.is_empty() {
                    out.push(">".to_owned());
                }
                out.extend(inner.iter().map(|line| indent("> ", line)));
            }
            Block::List(list) => {
                other_marker = matches!(previous, Some(Block::List(before)) if before.ordered == list.ordered)
                    && !other_marker;
                out.extend(list_lines(list, leaves, other_marker));
            }
            Block::Table(rows) => {
                for (number, row) in rows.iter().enumerate() {
                    let mut cells: Vec<_> = row.iter().map(|cell| leaves[*cell].text()).collect();
                    // Cells that a row lacks at its end are read as empty ones.
                    while number > 0 && cells.len() > 1 && cells.last().is_some_and(String::is_empty) {
                        cells.pop();
                    }
                    out.push(format!("| {} |", cells.join(" | ")));
                    if number == 0 {
                        out.push(format!("|{}", "---|".repeat(row.len())));
                    }
                }
            }
        }
    }
    out
}

fn list_lines(list: &List, leaves: &[Leaf], other_marker: bool) -> Vec<String> {
    let mut out = Vec::new();
    for (number, item) in list.items.iter().enumerate() {
        if number > 0 && list.loose {
            out.push(String::new());
        }
        let marker = match (list.ordered, other_marker) {
            (true, false) => format!("{}. ", number + 1),
            (true, true) => format!("{}) ", number + 1),
            (false, false) => "- ".to_owned(),
            (false, true) => "* ".to_owned(),
        };
        let inner = item_lines(item, leaves, !list.loose);
        let space = " ".repeat(marker.len());
        if inner.is_empty() {
            out.push(marker.trim_end().to_owned());
        }
        for (number, line) in inner.iter().enumerate() {
            out.push(indent(if number == 0 { &marker } else { &space }, line));
        }
    }
    out
}

fn item_lines(item: &Item, leaves: &[Leaf], tight: bool) -> Vec<String> {
    let mut inner = lines(&item.blocks, leaves, tight, true);
    if let (true, Some(Block::Text(_)), Some(line)) = (item.task, item.blocks.first(), inner.first_mut()) {
        line.insert_str(0, "[ ] ");
    }
    inner
}

fn indent(with: &str, line: &str) -> String {
    format!("{with}{line}").trim_end().to_owned()
}
