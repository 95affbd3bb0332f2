//! A key that a provider echoes in a stream, also in parts.
//!
//! Each event is read as JSON. A text that ends with the beginning of the key may be continued in a later event, so the
//! event is held back until that is known. Then the parts of the key are removed from all events that have one.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use assay_model::wire::Secret;
use serde_json::Value;

/// In place of the key.
const MASKED: &str = "[key]";

/// Fewest bytes of a key. Shorter ones are words for local servers, which a model may well write.
const SHORTEST: usize = 16;

/// Most events that are held back for a text that is not continued.
const PATIENCE: usize = 8;

/// Most bytes that are held back.
const LONGEST: usize = 1 << 20;

/// Fields that name something in every event, and are never continued.
const NAMES: [&str; 7] = ["id", "item_id", "model", "object", "role", "system_fingerprint", "type"];

/// A stream without a key, if there is one to mask.
pub(crate) struct Masked<'a>(Option<KeyMask<'a>>);

impl<'a> Masked<'a> {
    pub(crate) fn of(key: Option<&'a Secret>) -> Self {
        Self(key.and_then(KeyMask::new))
    }

    /// Takes bytes of the stream, and returns those that can be sent; none if it has to be known how it goes on.
    pub(crate) fn feed<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        self.0.as_mut().map_or(Cow::Borrowed(bytes), |mask| Cow::Owned(mask.feed(bytes)))
    }

    /// Returns all that is left.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        self.0.as_mut().map(KeyMask::end).unwrap_or_default()
    }
}

/// Masks a key in a stream of server-sent events.
struct KeyMask<'a> {
    key: &'a str,
    /// The bytes of an event that is not complete.
    open: Vec<u8>,
    held: VecDeque<Held>,
    /// The number of the first event in `held`.
    first: usize,
    /// By place of a text: what may be the beginning of the key.
    begun: BTreeMap<String, Begun>,
}

/// An event that is held back.
struct Held {
    raw: Vec<u8>,
    /// What it has become, if a part of the key was removed.
    masked: Option<Value>,
    document: Value,
}

/// The end of a text, which is the beginning of the key, over several events.
struct Begun {
    /// Events and how many bytes at the end of their text belong to it.
    parts: Vec<(usize, usize)>,
    /// Events since the last part.
    waited: usize,
}

impl Begun {
    fn length(&self) -> usize {
        self.parts.iter().map(|(_, length)| length).sum()
    }
}

impl<'a> KeyMask<'a> {
    /// `None` for a key that is only a word.
    fn new(key: &'a Secret) -> Option<Self> {
        let key = key.expose();
        let (open, held, begun) = (Vec::new(), VecDeque::new(), BTreeMap::new());
        (key.len() >= SHORTEST).then_some(Self { key, open, held, first: 0, begun })
    }

    /// Takes bytes of a stream, and returns those that can be sent.
    fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.open.extend_from_slice(part);
            let is_end = [&b"\n\n"[..], b"\n\r\n"].iter().any(|end| self.open.ends_with(end))
                || matches!(&self.open[..], b"\n" | b"\r\n");
            if is_end {
                let event = std::mem::take(&mut self.open);
                self.take_event(event);
            }
        }
        let is_too_much =
            self.open.len() + self.held.iter().map(|held| held.raw.len()).sum::<usize>() > LONGEST;
        if is_too_much { self.end() } else { self.ready() }
    }

    /// Returns all that is left.
    fn end(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.open);
        if !rest.is_empty() {
            self.take_event(rest);
        }
        self.begun.clear();
        self.ready()
    }

    /// Takes a complete event.
    fn take_event(&mut self, raw: Vec<u8>) {
        let raw = self.plain(raw);
        let document = document(&raw).unwrap_or_default();
        let number = self.first + self.held.len();
        let mut texts = BTreeMap::new();
        collect(&document, &place(&document), &mut texts);
        self.held.push_back(Held { raw, masked: None, document });
        for begun in self.begun.values_mut() {
            begun.waited += 1;
        }
        for (place, text) in texts {
            self.follow(number, place, &text);
        }
        self.begun.retain(|_, begun| begun.waited < PATIENCE);
    }

    /// An event without the whole key.
    fn plain(&self, raw: Vec<u8>) -> Vec<u8> {
        match std::str::from_utf8(&raw) {
            Ok(text) if text.contains(self.key) => text.replace(self.key, MASKED).into_bytes(),
            _ => raw,
        }
    }

    /// Continues the text at a place with that of an event.
    fn follow(&mut self, number: usize, place: String, text: &str) {
        let begun = self.begun.remove(&place).unwrap_or(Begun { parts: Vec::new(), waited: 0 });
        let length = begun.length();
        let joined = format!("{}{text}", self.key.get(..length).unwrap_or_default());
        if let Some(at) = joined.find(self.key) {
            self.remove(&begun, &place, number, at);
            return self.follow_on(number, place, &joined, at + self.key.len(), Vec::new());
        }
        let parts = begun.parts;
        self.follow_on(number, place, &joined, 0, parts);
    }

    /// Notes whether a text ends with the beginning of the key.
    fn follow_on(
        &mut self,
        number: usize,
        place: String,
        joined: &str,
        from: usize,
        mut parts: Vec<(usize, usize)>,
    ) {
        let rest = joined.get(from..).unwrap_or_default();
        let ends = (1..self.key.len().min(rest.len() + 1)).rev();
        let Some(length) = ends
            .into_iter()
            .find(|length| self.key.get(..*length).is_some_and(|beginning| rest.ends_with(beginning)))
        else {
            return;
        };
        // The last bytes are those of the newest parts.
        parts.push((number, joined.len() - parts.iter().map(|(_, length)| length).sum::<usize>()));
        let mut left = length;
        let mut kept = Vec::new();
        for (event, bytes) in parts.into_iter().rev() {
            let own = bytes.min(left);
            if own > 0 {
                kept.insert(0, (event, own));
            }
            left -= own;
        }
        self.begun.insert(place, Begun { parts: kept, waited: 0 });
    }

    /// Removes the key, whose first byte is the one at `at` of what had begun, from all events that have a part of it.
    fn remove(&mut self, begun: &Begun, place: &str, number: usize, at: usize) {
        let mut passed = 0;
        let mut is_first = true;
        for (event, length) in &begun.parts {
            let skipped = at.saturating_sub(passed).min(*length);
            passed += length;
            if skipped == *length {
                continue;
            }
            let mark = if std::mem::take(&mut is_first) { MASKED } else { "" };
            self.edit(*event, place, |text| {
                let kept = text.len() - (length - skipped);
                format!("{}{mark}", text.get(..kept).unwrap_or_default())
            });
        }
        let left = at + self.key.len() - begun.length();
        let mark = if is_first { MASKED } else { "" };
        self.edit(number, place, |text| format!("{mark}{}", text.get(left..).unwrap_or_default()));
    }

    fn edit(&mut self, number: usize, wanted: &str, change: impl Fn(&str) -> String) {
        let held = number.checked_sub(self.first).and_then(|at| self.held.get_mut(at));
        let Some(held) = held else { return };
        let mut document = held.masked.take().unwrap_or_else(|| held.document.clone());
        let beginning = place(&held.document);
        edit(&mut document, &beginning, wanted, &change);
        held.masked = Some(document);
    }

    /// The events before the first one that may have a part of the key.
    fn ready(&mut self) -> Vec<u8> {
        let waiting =
            self.begun.values().filter_map(|begun| begun.parts.first()).map(|(event, _)| *event).min();
        let mut bytes = Vec::new();
        while waiting.is_none_or(|event| self.first < event) {
            let Some(held) = self.held.pop_front() else { break };
            self.first += 1;
            match held.masked {
                None => bytes.extend_from_slice(&held.raw),
                Some(document) => bytes.extend_from_slice(&with_data(&held.raw, &document)),
            }
        }
        bytes
    }
}

/// The document of an event's lines `data:`.
fn document(raw: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(raw).ok()?;
    let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data:")).collect();
    serde_json::from_str(&data.join("\n")).ok()
}

/// An event with another document.
fn with_data(raw: &[u8], document: &Value) -> Vec<u8> {
    let text = String::from_utf8_lossy(raw);
    let others: String = text
        .lines()
        .filter(|line| !line.starts_with("data:") && !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    format!("{others}data: {document}\n\n").into_bytes()
}

/// The beginning of the places of an event's texts: texts of different parts of a reply do not continue each other.
fn place(document: &Value) -> String {
    let fields = ["type", "index", "output_index", "content_index", "item_id"];
    fields.map(|name| document.get(name).map(Value::to_string).unwrap_or_default()).join("/")
}

/// The texts of a document by their place.
fn collect(value: &Value, at: &str, into: &mut BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            into.insert(at.to_owned(), text.clone());
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(number, item)| collect(item, &format!("{at}/{number}"), into));
        }
        Value::Object(fields) => {
            let texts = fields.iter().filter(|(name, _)| !NAMES.contains(&name.as_str()));
            texts.for_each(|(name, value)| collect(value, &format!("{at}/{name}"), into));
        }
        _ => {}
    }
}

/// Changes the text at a place.
fn edit(value: &mut Value, at: &str, wanted: &str, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) if at == wanted => *text = change(text),
        Value::Array(items) => {
            for (number, item) in items.iter_mut().enumerate() {
                edit(item, &format!("{at}/{number}"), wanted, change);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                edit(value, &format!("{at}/{name}"), wanted, change);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-sk-0123456789abcdef";

    fn event(text: &str) -> String {
        let data = json!({"type": "content_block_delta", "index": 0, "delta": {"text": text}});
        format!("event: content_block_delta\ndata: {data}\n\n")
    }

    /// The texts of the events that are sent, for a stream in pieces of some size.
    fn sent(stream: &str, size: usize) -> (String, Vec<String>) {
        let key = Secret::new(KEY.to_owned());
        let mut mask = KeyMask::new(&key).unwrap();
        let mut bytes: Vec<u8> = stream.as_bytes().chunks(size).flat_map(|piece| mask.feed(piece)).collect();
        bytes.extend(mask.end());
        let text = String::from_utf8(bytes).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let texts = data.filter_map(|data| {
            let data: Value = serde_json::from_str(data).ok()?;
            Some(data["delta"]["text"].as_str()?.to_owned())
        });
        let texts = texts.collect();
        (text, texts)
    }

    #[test]
    fn a_key_is_masked_wherever_it_is_split() {
        let whole = format!("The key is {KEY}, I think: sk-sk-01.");
        for size in [1, 7, 10_000] {
            for length in 1..whole.len() {
                let pieces: Vec<&str> = whole
                    .as_bytes()
                    .chunks(length)
                    .map(|piece| std::str::from_utf8(piece).unwrap())
                    .collect();
                let stream: String = pieces.iter().map(|piece| event(piece)).collect();
                let (text, texts) = sent(&stream, size);
                assert_eq!(texts.concat(), "The key is [key], I think: sk-sk-01.", "{length}");
                assert_eq!(texts.len(), pieces.len(), "{length}");
                assert!(!text.contains("0123456789"), "{length}: {text}");
            }
        }
    }

    #[test]
    fn what_has_no_key_is_as_it_was() {
        for stream in [
            format!("{}{}: ping\n\n{}data: [DONE]\n\n", event("it is"), event(" sk-sk"), event("-skill.")),
            "data: {\"usage\": 1}\r\n\r\n: comment\n\ndata: not JSON sk-\n\ndata: cut o".to_owned(),
        ] {
            for size in [1, 5, 10_000] {
                assert_eq!(sent(&stream, size).0, stream);
            }
        }
        assert!(KeyMask::new(&Secret::new("ollama".to_owned())).is_none());
    }

    #[test]
    fn events_are_not_held_for_long() {
        let key = Secret::new(KEY.to_owned());
        let mut mask = KeyMask::new(&key).unwrap();
        let first = event("is");
        assert_eq!(mask.feed(first.as_bytes()), b"");
        let ping = "data: {\"type\": \"ping\"}\n\n";
        let sent: Vec<usize> = (0..PATIENCE).map(|_| mask.feed(ping.as_bytes()).len()).collect();
        assert_eq!(sent.iter().sum::<usize>(), first.len() + PATIENCE * ping.len());
        // An event whose text ends otherwise is sent at once.
        assert_eq!(mask.feed(event("it.").as_bytes()), event("it.").as_bytes());
    }
}
