use std::collections::HashMap;
use std::sync::Arc;

/// Numbers for texts, in the order in which they come.
#[derive(Default)]
pub(super) struct Vocabulary {
    ids: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Vocabulary {
    /// The number of a text, given now where it has none.
    pub(super) fn id(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        // Fewer than 2^32 words fit into memory.
        let id = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.ids.insert(text, id);
        id
    }

    /// The text of a number that was given here.
    pub(super) fn text(&self, id: u32) -> &str {
        self.texts.get(id as usize).map_or("", |text| text)
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }
}
