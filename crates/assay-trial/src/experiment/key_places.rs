//! Positions of the keys of agents, for errors at their own line.

use std::ops::Range;

/// Where the keys of the `[[agents]]` tables are: each with the start of its table. The place of a
/// table is that of its header alone, so no key lies in it.
pub(super) struct AgentKeyPlaces(Vec<(usize, String, Range<usize>)>);

impl AgentKeyPlaces {
    pub(super) fn read(source: &str) -> Self {
        let mut found = Vec::new();
        if let Ok(document) = toml::de::DeTable::parse(source) {
            let tables = document.get_ref().get("agents").and_then(|agents| agents.get_ref().as_array());
            for spanned in tables.into_iter().flatten() {
                let start = spanned.span().start;
                let keys = spanned.get_ref().as_table().into_iter().flat_map(|table| table.keys());
                found.extend(keys.map(|key| (start, key.get_ref().to_string(), key.span())));
            }
        }
        Self(found)
    }

    /// The key of the table at a place, else the table.
    pub(super) fn place(&self, table: &Range<usize>, name: &str) -> Range<usize> {
        let of_table = self.0.iter().filter(|(start, ..)| *start == table.start);
        let mut named = of_table.filter(|(_, key, _)| key == name || *key == format!("{name}s"));
        named.next().map_or_else(|| table.clone(), |(.., at)| at.clone())
    }
}
