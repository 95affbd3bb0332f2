//! Size limits.

/// The size limits that rules check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// The document should have fewer lines.
    pub body_lines: usize,
    /// The body should have fewer tokens.
    pub body_tokens: usize,
    /// Name and description should have no more tokens.
    pub catalogue_tokens: usize,
    /// A reference should have no more tokens.
    pub reference_tokens: usize,
    /// A longer reference should start with a table of contents.
    pub reference_lines: usize,
    /// The model's context window in tokens, which listing budgets depend on; 0 if unknown.
    pub context_window: usize,
    /// Claude Code's listing budget in characters; 0: 1% of the context window.
    pub claude_listing: usize,
    /// Codex's listing budget in tokens; 0: 2% of the context window.
    pub codex_listing: usize,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            body_lines: 500,
            body_tokens: 5_000,
            catalogue_tokens: 200,
            reference_tokens: 10_000,
            reference_lines: 100,
            context_window: 200_000,
            claude_listing: 0,
            codex_listing: 0,
        }
    }
}

impl Budgets {
    /// The names that a configuration may use.
    pub const NAMES: [&str; 8] = [
        "body-lines",
        "body-tokens",
        "catalogue-tokens",
        "reference-tokens",
        "reference-lines",
        "context-window",
        "claude-listing",
        "codex-listing",
    ];

    /// Whether a budget may be 0, which means computed or unknown.
    pub fn may_be_zero(name: &str) -> bool {
        matches!(name, "context-window" | "claude-listing" | "codex-listing")
    }

    /// The smallest accepted context window in tokens, except for 0. Listing budgets make no sense
    /// below it.
    pub const LEAST_WINDOW: usize = 1_000;

    /// The budget with a name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut usize> {
        match name {
            "body-lines" => Some(&mut self.body_lines),
            "body-tokens" => Some(&mut self.body_tokens),
            "catalogue-tokens" => Some(&mut self.catalogue_tokens),
            "reference-tokens" => Some(&mut self.reference_tokens),
            "reference-lines" => Some(&mut self.reference_lines),
            "context-window" => Some(&mut self.context_window),
            "claude-listing" => Some(&mut self.claude_listing),
            "codex-listing" => Some(&mut self.codex_listing),
            _ => None,
        }
    }
}
