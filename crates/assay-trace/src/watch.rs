//! Detects one skill in texts as they are sent, for callers that have requests and no trajectory.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::exposure::{distinctive_lines, enough, strip_line_number};
use crate::reference::Reference;

/// Follows one skill through texts. The facts are those of [`Exposure`](crate::Exposure).
#[derive(Debug, Clone)]
pub struct Watch {
    name: String,
    description: String,
    /// The body's distinctive lines, and whether each was delivered.
    lines: BTreeMap<String, bool>,
    delivered: usize,
}

impl Watch {
    /// Before the first text.
    pub fn new(name: &str, description: &str, body: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.trim().to_owned(),
            lines: distinctive_lines(body).into_iter().map(|line| (line.to_owned(), false)).collect(),
            delivered: 0,
        }
    }

    /// The skill's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a text advertises the skill to the model: its entry in a listing, its description,
    /// or a path in it. `by_harness` means that no person wrote the text.
    pub fn is_advertised(&self, text: &str, by_harness: bool) -> bool {
        self.reference().is_listed(text, by_harness)
    }

    /// Whether a tool that is offered to the model lists the skill, in its description or as a
    /// choice of its schema.
    pub fn is_advertised_by_tool(&self, tool: &str, description: &str, schema: &Value) -> bool {
        self.reference().is_listed_by_tool(tool, description, schema)
    }

    fn reference(&self) -> Reference<'_> {
        Reference::anywhere(&self.name, &self.description)
    }

    /// Reads a text that was sent to the model.
    pub fn deliver(&mut self, text: &str) {
        if self.delivered == self.lines.len() {
            return;
        }
        for line in text.lines() {
            if let Some(seen) = self.lines.get_mut(strip_line_number(line.trim()))
                && !*seen
            {
                *seen = true;
                self.delivered += 1;
            }
        }
    }

    /// Whether enough of the body was delivered for the skill to count as opened.
    pub fn is_opened(&self) -> bool {
        !self.lines.is_empty() && self.delivered >= enough(self.lines.len())
    }

    /// Distinct distinctive lines of the body, and how many of them were delivered.
    pub fn lines(&self) -> (usize, usize) {
        (self.lines.len(), self.delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carries;

    #[test]
    fn watch_agrees_with_carries() {
        let line = |n: usize| format!("This line number {n} of the body is long enough to be distinctive.");
        let body: String = (0..8).map(|n| line(n) + "\n").collect();
        let check = |texts: &[String], advertised: bool, delivered: usize| {
            let mut watch = Watch::new("ledger-export", "Exports a ledger.", &body);
            for text in texts {
                watch.deliver(text);
            }
            assert_eq!(watch.lines(), (8, delivered), "{texts:?}");
            assert_eq!(watch.is_opened(), carries(&texts.join("\n"), &body), "{texts:?}");
            assert_eq!(texts.iter().any(|text| watch.is_advertised(text, true)), advertised, "{texts:?}");
        };
        check(&[], false, 0);
        check(&["- ledger-export: …".to_owned()], true, 0);
        check(&["my-ledger-exports".to_owned(), "Exports a ledger.".to_owned()], true, 0);
        check(&[line(1), line(1), line(2), format!("  3\t{}", line(3))], false, 3);
        check(&[(0..4).map(|n| line(n) + "\n").collect()], false, 4);
        assert!(!Watch::new("x", "", "").is_opened());
    }
}
