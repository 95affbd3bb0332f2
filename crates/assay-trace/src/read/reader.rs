//! The traits that a format's reader implements.

use serde_json::Value;

use super::builder::Builder;
use super::marks::{Mark, is_marked};

/// What a file of a format is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A log of records, one a line.
    Lines,
    /// One JSON document.
    Document,
    /// An SQLite database.
    Database,
}

/// Reads one format.
pub trait Reader: Sync {
    /// The name it has on the command line and in JSON.
    fn name(&self) -> &'static str;

    /// What a file is recognized by: a record of its first lines, the complete document, or the
    /// tables of the database has all that one of these marks asks for.
    fn marks(&self) -> &'static [Mark];

    /// What a file of this format is.
    fn shape(&self) -> Shape {
        Shape::Lines
    }

    /// Whether a record is of this format: a line, or a complete document.
    fn claims(&self, record: &Value) -> bool {
        is_marked(self.marks(), record)
    }

    /// Whether a document can be read as this format if the caller names the format.
    fn accepts(&self, document: &Value) -> bool {
        self.claims(document)
    }

    /// What reads one session.
    #[expect(private_interfaces, reason = "readers are written here; others choose among them")]
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// Reads the records of one session, one after another.
pub(crate) trait Decoder {
    /// Reads a record, which may turn out not to be well-formed JSON. Problems go to the builder's
    /// notes.
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error>;

    /// After the last one.
    fn end(&mut self, _out: &mut Builder) {}
}

/// Decodes a format that is one JSON document with a function.
pub(crate) struct DocumentDecoder(pub(crate) fn(&Value, &mut Builder));

impl Decoder for DocumentDecoder {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        (self.0)(&serde_json::from_slice(json)?, out);
        Ok(())
    }
}
