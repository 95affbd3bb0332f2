//! The rows of a table, and the requests that they make.

use std::collections::BTreeMap;

use assay_judge::planted::{Planted, how_many, is_missed, planted};
use assay_judge::{Case, Item, Request, Ruling};
use assay_table::{TableReader, Value};

use super::panel::{Batch, Prompt};
use crate::args::judge::ItemsArgs;
use crate::failure::Failure;

/// Most items of one request. A judge that has many to answer skips some.
const MOST_ITEMS: usize = 20;

/// A row that is judged.
#[derive(Debug)]
pub(super) struct ItemRow {
    /// All columns, as read.
    pub(super) columns: Vec<(String, Value)>,
    pub(super) criterion: String,
    pub(super) material: Vec<(String, String)>,
    pub(super) instruction: String,
    pub(super) candidate: Option<String>,
}

/// Reads the table.
pub(super) fn read(args: &ItemsArgs) -> Result<Vec<ItemRow>, Failure> {
    let table = args.table.display();
    let bad = |error: &dyn std::fmt::Display| Failure::bad_input(error.to_string());
    let mut reader = TableReader::open(&args.table).map_err(|error| bad(&error))?;
    let mut rows = Vec::new();
    while let Some(row) = reader.next() {
        let row = row.map_err(|error| bad(&error))?;
        let columns: Vec<(String, Value)> = reader.columns().iter().cloned().zip(row.values).collect();
        let get = |name: &str| columns.iter().find(|(own, _)| own == name).and_then(|(_, value)| text(value));
        let needed = |name: &str| {
            get(name).ok_or_else(|| {
                let known: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                Failure::bad_input(format!("{table}:{}: no value in column `{name}`", row.line))
                    .hint(format!("the row has {}", known.join(", ")))
            })
        };
        let criterion = needed(&args.criterion)?;
        let material = args.material.iter().map(|name| Ok((name.clone(), needed(name)?)));
        let material = material.collect::<Result<Vec<_>, Failure>>()?;
        let instruction = match &args.instruction {
            Some(name) => needed(name)?,
            None => get("instruction").unwrap_or_default(),
        };
        let candidate = match &args.candidate {
            Some(name) => Some(needed(name)?),
            None => get("model"),
        };
        rows.push(ItemRow { columns, criterion, material, instruction, candidate });
    }
    if rows.is_empty() {
        return Err(Failure::bad_input(format!("{table} has no rows")));
    }
    Ok(rows)
}

pub(in crate::commands::judge) fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.clone(),
    };
    (!text.trim().is_empty()).then_some(text)
}

/// The items of one request.
#[derive(Debug)]
pub(in crate::commands::judge) struct Group {
    pub(super) instruction: String,
    pub(super) material: Vec<(String, String)>,
    /// The items in the order in which they are asked, with the number of the row; `None` for a planted one.
    pub(super) items: Vec<(Item, Option<usize>)>,
    pub(super) planted: Option<Planted>,
}

impl Batch<Group> {
    /// Rows of equal material are one request.
    pub(super) fn new(rows: &[ItemRow]) -> Self {
        let mut places = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let key = (row.instruction.as_str(), row.material.as_slice());
            let place =
                places.get(&key).copied().filter(|place: &usize| groups[*place].items.len() < MOST_ITEMS);
            let place = place.unwrap_or_else(|| {
                groups.push(Group {
                    instruction: row.instruction.clone(),
                    material: row.material.clone(),
                    items: Vec::new(),
                    planted: None,
                });
                groups.len() - 1
            });
            places.insert(key, place);
            let items = &mut groups[place].items;
            let id = format!("item-{}", items.len() + 1);
            items.push((Item::new(id, row.criterion.clone(), 1.0), Some(number)));
        }
        plant(&mut groups, rows.len());
        Self { groups, rows: rows.len() }
    }
}

/// Adds planted items to requests at equal distances, each at a place that its material decides.
fn plant(groups: &mut [Group], rows: usize) {
    let count = how_many(rows, groups.len());
    let length = groups.len();
    for number in 0..count {
        let group = &mut groups[number * length / count];
        if let Some(planted) = planted(&group.material, number as u64) {
            let at =
                usize::from(planted.item.id.bytes().last().unwrap_or_default()) % (group.items.len() + 1);
            group.items.insert(at, (planted.item.clone(), None));
            group.planted = Some(planted);
        }
    }
}

impl Group {
    fn case(&self) -> Case<'_> {
        Case {
            instruction: &self.instruction,
            context: "",
            items: self.items.iter().map(|(item, _)| item).collect(),
            material: self.material.clone(),
        }
    }
}

impl Prompt for Group {
    type Ruling = Ruling;

    fn request(&self) -> Request {
        self.case().request()
    }

    fn read(&self, reply: &str) -> Result<Vec<Ruling>, String> {
        self.case().read(reply).map_err(|error| error.to_string())
    }

    fn rows(&self) -> Vec<Option<usize>> {
        self.items.iter().map(|(_, row)| *row).collect()
    }

    fn is_missed(&self, rulings: &[Ruling]) -> Option<bool> {
        self.planted.as_ref().map(|planted| is_missed(planted, rulings))
    }
}
