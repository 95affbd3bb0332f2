//! Positions of the keys of agents, for errors at their own line.

use std::ops::Range;

/// Where the keys of the `[[agents]]` tables are.
pub(super) struct AgentKeyPlaces(Vec<(String, Range<usize>)>);

impl AgentKeyPlaces {
    pub(super) fn read(source: &str) -> Self {
        let mut found = Vec::new();
        if let Ok(document) = toml::de::DeTable::parse(source) {
            let tables = document.get_ref().get("agents").and_then(|agents| agents.get_ref().as_array());
            for table in tables.into_iter().flatten().filter_map(|table| table.get_ref().as_table()) {
                found.extend(table.keys().map(|key| (key.get_ref().to_string(), key.span())));
            }
        }
        Self(found)
    }

    /// The key of the table at a place, else the table.
    pub(super) fn place(&self, table: &Range<usize>, name: &str) -> Range<usize> {
        let of_table = self.0.iter().filter(|(_, at)| table.contains(&at.start));
        let mut named = of_table.filter(|(key, _)| key == name || *key == format!("{name}s"));
        named.next().map_or_else(|| table.clone(), |(_, at)| at.clone())
    }
}
