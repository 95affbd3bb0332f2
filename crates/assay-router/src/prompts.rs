//! Requests with the skills that serve them.

/// One request and what would be a right answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Unique in its file.
    pub id: String,
    /// The request.
    pub text: String,
    /// The best skill for it; `None` if no skill is suitable.
    pub expected: Option<String>,
    /// Skills that serve it too.
    pub acceptable: Vec<String>,
    /// Skills that must not be chosen.
    pub rejected: Vec<String>,
}

impl Prompt {
    /// Whether the right answer is that no skill fits.
    pub fn is_off_topic(&self) -> bool {
        self.expected.is_none()
    }
}
