//! Formats that are recognized and not read: what they are, and what to do.

use serde_json::Value;

use super::marks::{Mark, Need, is_marked, is_table_marked};
use super::reader::Shape;

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

/// What a format is recognized by that no reader has.
struct KnownFormat {
    format: UnsupportedFormat,
    shape: Shape,
    marks: &'static [Mark],
}

/// What can be read of any agent's session.
const CONVERT: &str = "it has no reader yet; give it as an ATIF trajectory (--from atif) or as a list of messages (--from messages)";

const KNOWN: [KnownFormat; 8] = [
    KnownFormat {
        format: UnsupportedFormat { name: "the events of GitHub Copilot CLI", hint: CONVERT },
        shape: Shape::Lines,
        marks: &[
            &[
                Need::Word(
                    "/type",
                    &[
                        "session.start",
                        "user.message",
                        "assistant.message",
                        "assistant.turn_start",
                        "tool.execution_start",
                        "skill.invoked",
                    ],
                ),
                Need::Object("/data"),
            ],
            // Newer kinds of events. pi's entries have the same keys, and types without a dot.
            &[
                Need::Any(&[
                    Need::Begins("/type", "session."),
                    Need::Begins("/type", "assistant."),
                    Need::Begins("/type", "tool."),
                    Need::Begins("/type", "subagent."),
                ]),
                Need::Object("/data"),
                Need::Has("/id"),
                Need::Has("/parentId"),
            ],
        ],
    },
    KnownFormat {
        format: UnsupportedFormat { name: "a session of an old GitHub Copilot CLI", hint: CONVERT },
        shape: Shape::Document,
        marks: &[&[Need::Has("/sessionId"), Need::List("/chatMessages"), Need::List("/timeline")]],
    },
    KnownFormat {
        format: UnsupportedFormat { name: "the stream of Cursor's agent", hint: CONVERT },
        shape: Shape::Lines,
        marks: &[
            &[Need::Word("/type", &["tool_call"]), Need::Has("/tool_call"), Need::Has("/session_id")],
            // It resembles Claude Code's first record, names where the key is from, and names neither
            // tools nor itself.
            &[
                Need::Word("/type", &["system"]),
                Need::Word("/subtype", &["init"]),
                Need::Has("/apiKeySource"),
                Need::Has("/session_id"),
                Need::Lacks("/tools"),
                Need::Lacks("/uuid"),
            ],
        ],
    },
    KnownFormat {
        format: UnsupportedFormat { name: "a transcript of Cursor's agent", hint: CONVERT },
        shape: Shape::Lines,
        marks: &[&[
            Need::Word("/role", &["user", "assistant"]),
            Need::List("/message/content"),
            Need::Lacks("/type"),
            Need::Lacks("/sessionId"),
            Need::Lacks("/session_id"),
        ]],
    },
    KnownFormat {
        format: UnsupportedFormat { name: "a database of Cursor", hint: CONVERT },
        shape: Shape::Database,
        marks: &[&[Need::Table("cursorDiskKV")], &[Need::OnlyTables(&["blobs", "meta"])]],
    },
    KnownFormat {
        format: UnsupportedFormat { name: "a transcript of Antigravity", hint: CONVERT },
        shape: Shape::Lines,
        marks: &[
            &[
                Need::Number("/step_index"),
                Need::Word("/source", &["USER_EXPLICIT", "USER_IMPLICIT", "MODEL", "SYSTEM"]),
                Need::Text("/type"),
            ],
            &[Need::Word("/event", &["step_update"]), Need::Number("/step_update/step_index")],
        ],
    },
    KnownFormat {
        format: UnsupportedFormat {
            name: "a database of Antigravity",
            hint: "it has no reader yet; its steps are also in brain/ID/.system_generated/logs/transcript.jsonl: \
                   give them as an ATIF trajectory (--from atif) or as a list of messages (--from messages)",
        },
        shape: Shape::Database,
        marks: &[
            &[Need::Table("trajectory_metadata_blob")],
            &[Need::Table("trajectory_meta"), Need::Table("steps")],
        ],
    },
    KnownFormat {
        format: UnsupportedFormat { name: "the stream of Factory's Droid", hint: CONVERT },
        shape: Shape::Lines,
        // Its first record is that of an old Claude Code.
        marks: &[
            &[Need::Word("/type", &["completion"]), Need::Has("/finalText"), Need::Has("/session_id")],
            &[Need::Word("/type", &["tool_call"]), Need::Has("/toolName"), Need::Has("/session_id")],
        ],
    },
];

/// The format of what begins so, if it is known and not read. Databases are looked into elsewhere.
pub(super) fn unsupported_format(start: &[u8]) -> Option<UnsupportedFormat> {
    let lines = || start.split(|&byte| byte == b'\n');
    let is_one = lines().filter(|line| !line.trim_ascii().is_empty()).take(2).count() == 1;
    let records = lines().take(LINES).filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    for record in records {
        let found = KNOWN.iter().find(|known| {
            let fits = known.shape == Shape::Lines || (known.shape == Shape::Document && is_one);
            fits && is_marked(known.marks, &record)
        });
        if let Some(known) = found {
            return Some(known.format);
        }
    }
    None
}

/// The format of a document, if it is known and not read.
pub(super) fn unsupported_document(document: &Value) -> Option<UnsupportedFormat> {
    let mut known = KNOWN.iter().filter(|known| known.shape == Shape::Document);
    known.find(|known| is_marked(known.marks, document)).map(|known| known.format)
}

/// The format of a database with these tables, if it is known and not read.
pub(super) fn unsupported_database(tables: &[String]) -> Option<UnsupportedFormat> {
    let mut known = KNOWN.iter().filter(|known| known.shape == Shape::Database);
    known.find(|known| is_table_marked(known.marks, tables)).map(|known| known.format)
}
