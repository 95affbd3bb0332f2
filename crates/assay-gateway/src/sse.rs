//! Server-sent events in a stream of bytes.

/// Maximum length of an event. Codex's last one contains the whole reply.
const LONGEST: usize = 16 << 20;

/// Splits a stream into events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// Whether the current event is too long.
    skipping: bool,
}

impl Events {
    /// Reads bytes, and passes on the data of every event that they complete. Events that are too
    /// long are skipped.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut event: impl FnMut(&[u8])) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + self.data.len() + part.len() > LONGEST {
                self.skipping = true;
                self.line.clear();
                self.data.clear();
            }
            if self.skipping && !part.ends_with(b"\n") {
                continue;
            }
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line(&mut event);
            }
        }
    }

    fn end_line(&mut self, event: &mut impl FnMut(&[u8])) {
        while matches!(self.line.last(), Some(b'\n' | b'\r')) {
            self.line.pop();
        }
        if self.line.is_empty() {
            if self.has_data && !self.skipping {
                event(&self.data);
            }
            self.data.clear();
            (self.has_data, self.skipping) = (false, false);
        } else if let Some(value) = self.line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.has_data = true;
        }
        self.line.clear();
    }

    /// Ends the stream: some servers leave out the last empty line.
    pub(crate) fn end(&mut self, mut event: impl FnMut(&[u8])) {
        self.end_line(&mut event);
        self.end_line(&mut event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_split_at_any_byte() {
        let check = |stream: &str, expected: &[&str]| {
            for size in [1, 2, 3, 7, 1_000] {
                let (mut events, mut found) = (Events::default(), Vec::new());
                let mut keep = |data: &[u8]| found.push(String::from_utf8_lossy(data).into_owned());
                stream.as_bytes().chunks(size).for_each(|part| events.feed(part, &mut keep));
                events.end(&mut keep);
                assert_eq!(found, expected, "{stream:?} in pieces of {size}");
            }
        };
        check("", &[]);
        check("data: 1\n\n", &["1"]);
        check("event: x\r\ndata: {\"a\":1}\r\n\r\ndata:2\r\n\r\n", &["{\"a\":1}", "2"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check(": ping\n\nid: 3\n\ndata: last", &["last"]);
    }

    #[test]
    fn overlong_event_is_skipped() {
        let (mut events, mut found) = (Events::default(), 0);
        events.feed(b"data: ", |_| found += 1);
        for _ in 0..20 {
            events.feed(&vec![b'x'; 1 << 20], |_| found += 1);
        }
        assert!(events.line.len() + events.data.len() <= LONGEST);
        events.feed(b"\n\ndata: 1\n\n", |_| found += 1);
        assert_eq!(found, 1);
    }
}
