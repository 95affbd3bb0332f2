//! Sheets: the items that people label.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Columns that the page shows. It shows no other column.
const SHOWN: [&str; 6] = ["criterion", "instruction", "task", "context", "material", "materials"];

/// Columns that a table of labels has beside those of its sheet.
pub const COLUMNS_OF_LABELS: [&str; 3] = ["label", "decided", "annotators"];

/// Most items of a sheet.
const MOST: usize = 100_000;

/// What is wrong with the rows of a sheet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SheetError {
    /// A row that is no item.
    #[error("line {line}: {message}")]
    Row {
        /// From 1.
        line: u64,
        /// Why.
        message: String,
    },
    /// No rows.
    #[error("the sheet has no items")]
    Empty,
    /// Too many rows.
    #[error("the sheet has more than {MOST} items")]
    TooLong,
}

/// An item: a criterion, and texts of which it is true or not.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetItem {
    id: String,
    row: Map<String, Value>,
}

impl SheetItem {
    /// Its id, which is unique in the sheet. It may reveal where the item is from.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// All columns, those that the page hides included.
    pub fn row(&self) -> &Map<String, Value> {
        &self.row
    }

    /// What is true of the material or not.
    pub fn criterion(&self) -> &str {
        self.text("criterion").unwrap_or_default()
    }

    /// What helps to understand the material, with the name of each text.
    pub fn context(&self) -> Vec<(&'static str, &str)> {
        let columns = [("Instruction", "instruction"), ("Task", "task"), ("Context", "context")];
        columns.into_iter().filter_map(|(name, key)| Some((name, self.text(key)?))).collect()
    }

    /// The texts to judge, with the name of each.
    pub fn materials(&self) -> Vec<(&str, &str)> {
        let several = self.row.get("materials").and_then(Value::as_object);
        let several =
            several.into_iter().flatten().filter_map(|(name, text)| Some((name.as_str(), text.as_str()?)));
        self.text("material").map(|text| ("Material", text)).into_iter().chain(several).collect()
    }

    /// The group of items that are not independent, if it is known.
    pub fn cluster(&self) -> Option<String> {
        match self.row.get("cluster")? {
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.row.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }
}

/// Items under a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    name: String,
    items: Vec<SheetItem>,
    /// Places in `items`, in the order in which people see them.
    order: Vec<usize>,
}

impl Sheet {
    /// Checks rows, each with its line in the file that they are from.
    ///
    /// # Errors
    /// A row is no object, has no criterion or material, or repeats an id; there are no rows.
    pub fn new(name: &str, rows: Vec<(u64, Value)>) -> Result<Self, SheetError> {
        if rows.len() > MOST {
            return Err(SheetError::TooLong);
        }
        let mut lines = BTreeMap::<String, u64>::new();
        let mut items = Vec::with_capacity(rows.len());
        for (at, (line, row)) in rows.into_iter().enumerate() {
            let wrong = |message: String| SheetError::Row { line, message };
            let item = read_item(at + 1, row).map_err(wrong)?;
            if let Some(first) = lines.insert(item.id.clone(), line) {
                return Err(wrong(format!("the item {:?} is on line {first} too; ids are unique", item.id)));
            }
            items.push(item);
        }
        if items.is_empty() {
            return Err(SheetError::Empty);
        }
        // A shuffle that anybody can repeat: conditions that follow each other in the file do not on the page.
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_cached_key(|at| {
            *blake3::hash(format!("{name}\0{}", items[*at].id).as_bytes()).as_bytes()
        });
        Ok(Self { name: name.to_owned(), items, order })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The items in the order of the file.
    pub fn items(&self) -> &[SheetItem] {
        &self.items
    }

    /// The items in the order in which people see them.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &SheetItem> {
        self.order.iter().map(|at| &self.items[*at])
    }

    /// The columns that the page does not show.
    pub fn hidden(&self) -> BTreeSet<&str> {
        let columns = self.items.iter().flat_map(|item| item.row.keys());
        columns.map(String::as_str).filter(|column| !SHOWN.contains(column)).collect()
    }

    /// The sheet as its file has it.
    pub(super) fn lines(&self) -> String {
        self.items.iter().map(|item| format!("{}\n", Value::Object(item.row.clone()))).collect()
    }
}

/// An item, or what is wrong with its row. `number` is its id if it has none.
fn read_item(number: usize, row: Value) -> Result<SheetItem, String> {
    let Value::Object(mut row) = row else {
        return Err("not a JSON object".to_owned());
    };
    let id = match row.get("item") {
        None | Some(Value::Null) => number.to_string(),
        Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => return Err("`item` must be a text or a number".to_owned()),
    };
    row.insert("item".to_owned(), Value::String(id.clone()));
    for key in ["criterion", "instruction", "task", "context", "material"] {
        if row.get(key).is_some_and(|value| !value.is_string() && !value.is_null()) {
            return Err(format!("`{key}` must be a text"));
        }
    }
    if let Some(materials) = row.get("materials").filter(|value| !value.is_null()) {
        let texts = materials.as_object().map(|texts| texts.values().all(Value::is_string));
        if texts != Some(true) {
            return Err("`materials` must be an object whose values are texts".to_owned());
        }
    }
    if let Some(column) = COLUMNS_OF_LABELS.iter().find(|column| row.contains_key(**column)) {
        return Err(format!("`{column}` is a column that `assay judge labels` adds; rename it"));
    }
    let item = SheetItem { id, row };
    if item.criterion().is_empty() {
        return Err("no `criterion`: add the text that is true of the material or not".to_owned());
    }
    if item.materials().is_empty() {
        return Err("no material: add `material` (a text) or `materials` (texts by name)".to_owned());
    }
    Ok(item)
}
