//! How text of an agent reached its trace.

/// How a passage reached the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// Text to the user.
    Said,
    /// Reasoning.
    Thought,
    /// An argument of a tool that changes files.
    Wrote,
    /// An argument of any other tool.
    Ran,
    /// Output of a script of the agent.
    Printed,
}

impl Manner {
    /// In the words of a report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Said => "said",
            Self::Thought => "thought",
            Self::Wrote => "wrote",
            Self::Ran => "ran",
            Self::Printed => "printed",
        }
    }
}

/// Whether a tool of this name changes files.
pub(crate) fn writes(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    ["write", "edit", "replace", "patch", "create"].iter().any(|verb| tool.contains(verb))
        && !tool.contains("todo")
}
