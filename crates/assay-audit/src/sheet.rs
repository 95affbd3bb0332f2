//! Findings for people to label, and what their labels agree on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::csv;

/// A finding that may be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The version of the sheet, which says what `fields` there are.
    pub schema: &'static str,
    /// Which kind of finding it is drawn among; not shown to raters.
    pub stratum: String,
    /// Its unique origin; not shown to raters.
    pub key: Value,
    /// What raters see, by name; all findings of a sheet have the same names.
    pub fields: Vec<(&'static str, String)>,
}

/// A finding that was drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its number, from the seed and where it is from. It gives away neither arm nor mode.
    pub item: String,
    /// What raters see.
    pub finding: Finding,
}

/// Draws `size` findings, as evenly from all strata as they allow. Order of drawing and of the
/// sheet come from BLAKE3 of the seed and where a finding is from, so that neither hangs on the
/// order of `findings`.
pub fn draw_items(findings: Vec<Finding>, size: usize, seed: u64) -> Vec<Item> {
    let mut strata: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for finding in findings {
        let digest = blake3::hash(format!("{seed}\n{}\n{}", finding.stratum, finding.key).as_bytes());
        // A letter first, or a spreadsheet takes some of them for numbers.
        let item = format!("f{}", &digest.to_hex()[..15]);
        let stratum = strata.entry(finding.stratum.clone()).or_default();
        stratum.push(Item { item, finding });
    }
    for items in strata.values_mut() {
        // From the end they are taken.
        items.sort_by(|a, b| b.item.cmp(&a.item));
    }
    let mut drawn = Vec::new();
    while drawn.len() < size && strata.values().any(|items| !items.is_empty()) {
        for items in strata.values_mut() {
            if drawn.len() < size {
                drawn.extend(items.pop());
            }
        }
    }
    drawn.sort_by(|a, b| a.item.cmp(&b.item));
    drawn
}

/// Columns that raters fill in.
const BLANK: [&str; 3] = ["label_1", "label_2", "note"];

/// A sheet as comma-separated values, with blank columns for two raters and a note.
pub fn to_csv(items: &[Item]) -> String {
    let names = items.first().map_or(&[][..], |item| &item.finding.fields).iter().map(|(name, _)| *name);
    let head: Vec<&str> = ["item"].into_iter().chain(names).chain(BLANK).collect();
    let mut rows = vec![head];
    for item in items {
        let values = item.finding.fields.iter().map(|(_, value)| value.as_str());
        rows.push([item.item.as_str()].into_iter().chain(values).chain(BLANK.map(|_| "")).collect());
    }
    csv::write_rows(&rows)
}

/// A sheet as JSON Lines, with blank labels.
pub fn to_json_lines(items: &[Item]) -> String {
    let line = |item: &Item| {
        let finding = &item.finding;
        let mut object = Map::new();
        let head = [("schema", finding.schema), ("kind", "item"), ("item", item.item.as_str())];
        let values = finding.fields.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in head.into_iter().chain(values).chain(BLANK.map(|name| (name, ""))) {
            object.insert(name.to_owned(), Value::String(value.to_owned()));
        }
        Value::Object(object).to_string() + "\n"
    };
    items.iter().map(line).collect()
}

/// Labels of several raters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// The raters, by file and column.
    pub raters: Vec<String>,
    /// The labels there are, in the order of their names.
    pub categories: Vec<String>,
    /// Per item, in the order of their names, each rater's category.
    pub items: Vec<Vec<Option<usize>>>,
}

/// Why a sheet cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SheetError {
    /// A sheet without items.
    #[error("{name} has no row with a value in the column `item`")]
    NoItems {
        /// Which.
        name: String,
    },
    /// A sheet without labels.
    #[error("{name} has no column whose name begins with label")]
    NoLabels {
        /// Which.
        name: String,
    },
    /// One item twice.
    #[error("{name}: duplicate item {item}")]
    Twice {
        /// Which.
        name: String,
        /// What.
        item: String,
    },
    /// Not a line of JSON.
    #[error("{name}:{line}: not a JSON object")]
    Json {
        /// Which.
        name: String,
        /// From 1.
        line: usize,
    },
}

/// Reads labelled sheets: comma-separated values, or JSON Lines where the first character is a
/// brace. Each column whose name begins with `label`, and that is not blank throughout, is a rater.
/// Labels are compared without regard to case and to blanks around them; blank ones are ignored.
///
/// # Errors
/// Where a sheet has no items or no columns of labels, or an item twice.
pub fn labels(sheets: &[(String, String)]) -> Result<Labels, SheetError> {
    let mut raters = Vec::new();
    let mut found: BTreeMap<String, BTreeMap<usize, String>> = BTreeMap::new();
    for (name, text) in sheets {
        let rows = if text.trim_start().starts_with('{') { json_rows(name, text)? } else { csv_rows(text) };
        if rows.iter().all(|row| !row.contains_key("item")) {
            return Err(SheetError::NoItems { name: name.clone() });
        }
        let is_label = |column: &&String| column.starts_with("label");
        let columns: BTreeSet<&String> = rows.iter().flat_map(|row| row.keys().filter(is_label)).collect();
        if columns.is_empty() {
            return Err(SheetError::NoLabels { name: name.clone() });
        }
        let mut seen = BTreeSet::new();
        for item in rows.iter().filter_map(|row| row.get("item")) {
            if !seen.insert(item) {
                return Err(SheetError::Twice { name: name.clone(), item: item.clone() });
            }
        }
        for column in columns {
            let given: Vec<(&String, String)> = rows
                .iter()
                .filter_map(|row| Some((row.get("item")?, row.get(column)?.trim().to_lowercase())))
                .filter(|(_, label)| !label.is_empty())
                .collect();
            if given.is_empty() {
                continue;
            }
            for (item, label) in given {
                found.entry(item.clone()).or_default().insert(raters.len(), label);
            }
            raters.push(format!("{name} {column}"));
        }
    }
    let categories: BTreeSet<String> = found.values().flat_map(|item| item.values().cloned()).collect();
    let categories: Vec<String> = categories.into_iter().collect();
    let place = |label: &String| categories.binary_search(label).ok();
    let items = found
        .values()
        .map(|item| (0..raters.len()).map(|rater| item.get(&rater).and_then(place)).collect())
        .collect();
    Ok(Labels { raters, categories, items })
}

type Row = BTreeMap<String, String>;

fn csv_rows(text: &str) -> Vec<Row> {
    let mut rows = csv::read_rows(text).into_iter();
    let Some(head) = rows.next() else { return Vec::new() };
    rows.map(|row| head.iter().map(|name| name.trim().to_owned()).zip(row).collect()).collect()
}

fn json_rows(name: &str, text: &str) -> Result<Vec<Row>, SheetError> {
    let mut rows = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let Ok(Value::Object(object)) = serde_json::from_str(line) else {
            return Err(SheetError::Json { name: name.to_owned(), line: at + 1 });
        };
        let text = |value: Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        rows.push(object.into_iter().map(|(key, value)| (key, text(value))).collect());
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn finding(stratum: &str, number: usize) -> Finding {
        let fields = vec![("task", "t".to_owned()), ("claim", format!("=cmd {number}, \"x\""))];
        Finding { schema: "sheet/1", stratum: stratum.to_owned(), key: json!(number), fields }
    }

    #[test]
    fn strata_are_drawn_from_evenly_and_by_the_seed() {
        let findings: Vec<Finding> =
            (0..50).map(|n| finding("common", n)).chain((0..2).map(|n| finding("rare", n))).collect();
        let drawn = draw_items(findings.clone(), 10, 1);
        let rare = drawn.iter().filter(|item| item.finding.stratum == "rare").count();
        assert_eq!((drawn.len(), rare), (10, 2));
        let mut turned = findings.clone();
        turned.reverse();
        assert_eq!(draw_items(turned, 10, 1), drawn, "the order of the findings does not count");
        assert_ne!(draw_items(findings.clone(), 10, 2), drawn);
        assert_eq!(draw_items(findings, 1000, 1).len(), 52);
    }

    #[test]
    fn labels_are_read_from_either_form() {
        let items = draw_items((0..3).map(|n| finding("s", n)).collect(), 3, 1);
        let csv = to_csv(&items).replace(",,,\r\n", ",Yes, no ,\r\n");
        let json = to_json_lines(&items).replace("\"label_1\":\"\"", "\"label_1\":\"yes\"");
        let read = labels(&[("a.csv".to_owned(), csv), ("b.jsonl".to_owned(), json)]).expect("sheets");
        assert_eq!(read.raters, ["a.csv label_1", "a.csv label_2", "b.jsonl label_1"]);
        assert_eq!(read.categories, ["no", "yes"]);
        assert_eq!(read.items, vec![vec![Some(1), Some(0), Some(1)]; 3]);
    }

    #[test]
    fn what_is_no_sheet_is_refused() {
        let check = |text: &str, expected: &str| {
            let error = labels(&[("s".to_owned(), text.to_owned())]).expect_err("no sheet");
            assert_eq!(error.to_string(), expected, "{text}");
        };
        check("", "s has no row with a value in the column `item`");
        check("a,label\n1,2\n", "s has no row with a value in the column `item`");
        check("item,b\n1,2\n", "s has no column whose name begins with label");
        check("item,label\n1,x\n1,y\n", "s: duplicate item 1");
        check("{\"item\":1,\"label\":2}\nnot\n", "s:2: not a JSON object");
    }
}
