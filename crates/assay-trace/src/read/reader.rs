//! What a reader of a format implements.

use serde_json::Value;

use super::builder::Builder;

/// Reads one format.
pub trait Reader: Sync {
    /// The name it has on the command line and in JSON.
    fn name(&self) -> &'static str;

    /// Whether a record is of this format, and of no other: a line, or the whole of a document.
    fn claims(&self, record: &Value) -> bool;

    /// Whether a file is one JSON document; else it is a log of lines.
    fn is_document(&self) -> bool {
        false
    }

    /// Whether a document can be read as this format where the caller says that it is one.
    fn accepts(&self, document: &Value) -> bool {
        self.claims(document)
    }

    /// What reads one session.
    #[expect(private_interfaces, reason = "readers are written here; others choose among them")]
    fn decoder(&self) -> Box<dyn Decoder>;
}

/// Reads the records of one session, one after another.
pub(crate) trait Decoder {
    /// A record, which is well-formed JSON or is found not to be. Whatever is odd about it goes to the builder's notes.
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error>;

    /// After the last one.
    fn end(&mut self, _out: &mut Builder) {}
}

/// Decodes a format that is one JSON document, by a function that is given the document.
pub(crate) struct DocumentDecoder(pub(crate) fn(&Value, &mut Builder));

impl Decoder for DocumentDecoder {
    fn record(&mut self, json: &[u8], out: &mut Builder) -> Result<(), serde_json::Error> {
        (self.0)(&serde_json::from_slice(json)?, out);
        Ok(())
    }
}
