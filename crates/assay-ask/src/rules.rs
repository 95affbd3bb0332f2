//! How a client asks: how long a reply may be, how often and how long it is asked for.

use std::time::Duration;

use assay_model::Usage;

/// Whether the replies of a question that cannot be read are its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadableReplies {
    /// They are: the fault is stored, and the question is not sent again.
    Keep,
    /// They are stored, and the next command sends the question again.
    AskAgain,
}

/// The rules of a client.
#[derive(Debug, Clone, Copy)]
pub struct AskRules {
    /// Most tokens of a reply.
    pub reply_tokens: u32,
    /// Most replies to a question: one that cannot be read is complained about.
    pub tries: u32,
    /// The longest wait for a reply, retries included.
    pub patience: Duration,
    /// What the model is told about a reply that cannot be read, from the fault.
    pub complaint: fn(&str) -> String,
    /// Whether unreadable replies are an answer.
    pub unreadable: UnreadableReplies,
}

impl Default for AskRules {
    /// Two tries for a JSON object of up to 16,000 tokens, ten minutes each.
    fn default() -> Self {
        Self {
            reply_tokens: 16_000,
            tries: 2,
            patience: Duration::from_mins(10),
            complaint: |fault| format!("{fault}. Reply with the JSON object only."),
            unreadable: UnreadableReplies::AskAgain,
        }
    }
}

/// The most tokens that a question of so many tokens may use: each try has the text and all replies before it.
pub fn max_usage(tokens: u64, rules: &AskRules) -> Usage {
    let (tries, output) = (u64::from(rules.tries), u64::from(rules.reply_tokens));
    let earlier = tries.saturating_sub(1).saturating_mul(output);
    Usage {
        input: tokens.saturating_mul(tries).saturating_add(earlier),
        output: tries.saturating_mul(output),
        ..Usage::default()
    }
}
