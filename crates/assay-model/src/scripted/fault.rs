//! Scripted faults.

/// A fault in place of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An error status, and the seconds to wait before a retry.
    Status {
        /// The HTTP status.
        status: u16,
        /// The header `retry-after`.
        retry_after: Option<u32>,
    },
    /// A reply that is interrupted.
    Break,
    /// No reply, and no end.
    Hang,
    /// A reply that is not JSON.
    NotJson,
}

impl Fault {
    /// Parses a fault by its name.
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
