//! The requests of a table of items.

use std::collections::BTreeMap;

use assay_syntax::reply::ReplyError;

use super::item_rows::ItemRow;
use super::panel::{Batch, Prompt};
use crate::ask::{Case, Request, Ruling};
use crate::planted::{Planted, how_many, is_missed, planted};
use crate::rubric::Item;

/// Most items of one request. A judge that has many to answer skips some.
const MOST_ITEMS: usize = 20;

/// The items of one request.
#[derive(Debug)]
pub(super) struct ItemGroup {
    instruction: String,
    material: Vec<(String, String)>,
    /// The items in the order in which they are asked, with the number of the row; `None` for a planted one.
    items: Vec<(Item, Option<usize>)>,
    planted: Option<Planted>,
}

impl Batch<ItemGroup> {
    /// Rows of equal material are one request.
    pub(super) fn of_items(rows: &[ItemRow]) -> Self {
        let mut places = BTreeMap::new();
        let mut groups: Vec<ItemGroup> = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let key = (row.instruction.as_str(), row.material.as_slice());
            let place =
                places.get(&key).copied().filter(|place: &usize| groups[*place].items.len() < MOST_ITEMS);
            let place = place.unwrap_or_else(|| {
                groups.push(ItemGroup {
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
fn plant(groups: &mut [ItemGroup], rows: usize) {
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

impl ItemGroup {
    fn case(&self) -> Case<'_> {
        Case {
            instruction: &self.instruction,
            context: "",
            items: self.items.iter().map(|(item, _)| item).collect(),
            material: self.material.clone(),
        }
    }
}

impl Prompt for ItemGroup {
    type Ruling = Ruling;

    fn request(&self) -> Request {
        self.case().request()
    }

    fn read_reply(&self, reply: &str) -> Result<Vec<Ruling>, ReplyError> {
        self.case().read(reply)
    }

    fn rows(&self) -> Vec<Option<usize>> {
        self.items.iter().map(|(_, row)| *row).collect()
    }

    fn is_missed(&self, rulings: &[Ruling]) -> Option<bool> {
        self.planted.as_ref().map(|planted| is_missed(planted, rulings))
    }
}
