//! What the text of an experiment names outside of itself.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A path that an experiment names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedPath {
    /// Its key.
    pub(super) key: &'static str,
    /// As the experiment writes it.
    pub(super) value: String,
    /// Where, in bytes of the source.
    pub(super) place: Range<usize>,
    /// Whether it is a pattern of folders.
    pub(super) is_pattern: bool,
}

/// What the text of an experiment names outside of itself. Empty for experiments that are made by the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Requests {
    pub(super) paths: Vec<NamedPath>,
    /// Where sandbox `none` is requested.
    pub(super) unsandboxed: Option<Range<usize>>,
}

impl Requests {
    /// The requests of a text that has been checked.
    pub(super) fn read(source: &str) -> Self {
        let mut found = Self::default();
        if let Ok(document) = DeTable::parse(source) {
            found.add(document.get_ref());
        }
        found
    }

    fn add(&mut self, table: &DeTable<'_>) {
        for key in ["suite", "library"] {
            for (value, place) in table.get(key).into_iter().flat_map(texts) {
                if !value.starts_with('!') {
                    self.paths.push(NamedPath { key, value, place, is_pattern: true });
                }
            }
        }
        let aliases = tables(table.get("condition")).filter_map(|condition| condition.get("is"));
        for (text, place) in table.get("conditions").into_iter().chain(aliases).flat_map(texts) {
            if let Some(folder) = folder_of(&text) {
                self.add_path("conditions", folder, place);
            }
        }
        for documents in tables(table.get("tasks")).filter_map(|task| task.get("documents")) {
            for (value, place) in texts(documents) {
                self.add_path("documents", value, place);
            }
        }
        let agents = table.get("agents").and_then(|agents| agents.get_ref().as_array());
        let agents = agents.into_iter().flatten().filter_map(|agent| agent.get_ref().as_table());
        let judge = table.get("judge").and_then(|judge| judge.get_ref().as_table());
        for (key, owner) in agents.map(|agent| ("model", agent)).chain(judge.map(|judge| ("judge", judge))) {
            let models = [owner.get("model"), owner.get("models")].into_iter().flatten();
            for (model, place) in models.flat_map(texts) {
                if let Some(script) = model.strip_prefix("scripted:") {
                    self.add_path(key, script.to_owned(), place);
                }
            }
        }
        for (value, place) in judge.and_then(|judge| judge.get("calibration")).into_iter().flat_map(texts) {
            self.add_path("calibration", value, place);
        }
        let Some(sandbox) = table.get("sandbox") else { return };
        let kind = sandbox.get_ref().as_table().map_or(Some(sandbox), |table| table.get("kind"));
        let kinds = kind.into_iter().flat_map(texts);
        self.unsandboxed = kinds.into_iter().find(|(kind, _)| kind == "none").map(|(_, place)| place);
        let roots = sandbox.get_ref().as_table().and_then(|table| table.get("roots"));
        let roots = roots.and_then(|roots| roots.get_ref().as_table()).into_iter().flat_map(DeTable::values);
        for (root, place) in roots.flat_map(texts).filter(|(root, _)| root != "host") {
            self.add_path("roots", root, place);
        }
    }

    fn add_path(&mut self, key: &'static str, value: String, place: Range<usize>) {
        self.paths.push(NamedPath { key, value, place, is_pattern: false });
    }

    /// Removes the paths of a key, which the caller replaced.
    pub(super) fn drop_key(&mut self, key: &str) {
        self.paths.retain(|path| path.key != key);
    }
}

/// A text, or the texts of a list, with their places.
fn texts(value: &Spanned<DeValue<'_>>) -> Vec<(String, Range<usize>)> {
    let text =
        |value: &Spanned<DeValue<'_>>| value.get_ref().as_str().map(|text| (text.to_owned(), value.span()));
    match value.get_ref().as_array() {
        Some(list) => list.iter().filter_map(text).collect(),
        None => text(value).into_iter().collect(),
    }
}

/// The tables of a table.
fn tables<'a, 'i>(value: Option<&'a Spanned<DeValue<'i>>>) -> impl Iterator<Item = &'a DeTable<'i>> {
    let table = value.and_then(|value| value.get_ref().as_table());
    table.into_iter().flat_map(DeTable::values).filter_map(|value| value.get_ref().as_table())
}

/// The folder that a condition reads.
fn folder_of(condition: &str) -> Option<String> {
    let (name, argument) = match condition.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (condition, None),
    };
    let default = match name {
        "documents" => "docs".to_owned(),
        "version" => return argument.map(str::to_owned),
        name => format!("generated/{}", name.strip_prefix("generated-from-")?),
    };
    Some(argument.map_or(default, str::to_owned))
}
