//! Formats that are recognized and not read: what they are, and what to do.

use serde_json::Value;

use super::text::word;

/// Most lines that are read to recognize one.
const LINES: usize = 50;

/// A format that no reader has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsupportedFormat {
    /// What it is.
    pub name: &'static str,
    /// What to do instead.
    pub hint: &'static str,
}

/// The format of what begins so, if it is known and not read.
pub(super) fn unsupported_format(start: &[u8]) -> Option<UnsupportedFormat> {
    // sqlite.org/fileformat.html, 1.3.
    if start.starts_with(b"SQLite format 3\0") {
        let hint = "export the session: `opencode export ID` for OpenCode";
        return Some(UnsupportedFormat { name: "an SQLite database, as OpenCode and Cursor keep", hint });
    }
    let lines = start.split(|&byte| byte == b'\n').take(LINES);
    lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()).find_map(|record| of_record(&record))
}

fn of_record(record: &Value) -> Option<UnsupportedFormat> {
    const COPILOT: [&str; 6] = [
        "session.start",
        "user.message",
        "assistant.message",
        "assistant.turn_start",
        "tool.execution_start",
        "skill.invoked",
    ];
    let has = |key: &str| record.get(key).is_some();
    match word(record, "type")? {
        kind if COPILOT.contains(&kind) && record.get("data").is_some_and(Value::is_object) => {
            let hint = "it has no reader yet";
            Some(UnsupportedFormat { name: "the events of GitHub Copilot CLI", hint })
        }
        "tool_call" if has("tool_call") && has("session_id") => Some(CURSOR),
        "system" if is_cursors(record) => Some(CURSOR),
        _ => None,
    }
}

const CURSOR: UnsupportedFormat =
    UnsupportedFormat { name: "the stream of Cursor's agent", hint: "it has no reader yet" };

/// Whether the first record of a stream is Cursor's, which resembles Claude Code's: it names where the
/// key is from, and neither tools nor itself.
pub(super) fn is_cursors(record: &Value) -> bool {
    let has = |key: &str| record.get(key).is_some();
    word(record, "subtype") == Some("init")
        && has("apiKeySource")
        && has("session_id")
        && !has("tools")
        && !has("uuid")
}
