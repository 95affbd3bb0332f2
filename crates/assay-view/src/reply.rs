//! What a server or an export gets for an address.

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content: Content,
}

/// What a reply contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A page.
    Html(String),
    /// A style or the script of the pages.
    Static(&'static str, String),
    /// A file of an attempt, to be saved under this name.
    Attachment(String, Vec<u8>),
    /// An image of an attempt, with its type.
    Image(&'static str, Vec<u8>),
    /// Another address.
    Redirect(String),
}

impl Reply {
    pub(crate) fn ok(content: Content) -> Self {
        Self { status: 200, content }
    }
}
