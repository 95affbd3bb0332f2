//! What goes wrong by script.

/// What goes wrong in place of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An error's status, and the seconds after which to come back.
    Status {
        /// The HTTP status.
        status: u16,
        /// The header `retry-after`.
        retry_after: Option<u32>,
    },
    /// An answer that breaks off.
    Break,
    /// No answer, and no end.
    Hang,
    /// An answer that is no JSON.
    NotJson,
}

impl Fault {
    /// The fault of a name; `None` where there is none of it.
    pub(super) fn named(name: &str, retry_after: Option<u32>) -> Option<Self> {
        match name {
            "break" => Some(Self::Break),
            "hang" => Some(Self::Hang),
            "not-json" => Some(Self::NotJson),
            _ => match name.parse() {
                Ok(status @ 400..=599) => Some(Self::Status { status, retry_after }),
                _ => None,
            },
        }
    }
}
