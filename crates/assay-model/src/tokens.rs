//! Counting tokens without a provider.

/// Counts the tokens of a text in the `cl100k_base` vocabulary.
///
/// A proxy: no current model of Anthropic or Google uses that vocabulary, and newer ones of OpenAI do not either. What was
/// processed is what a provider's [`Usage`](crate::Usage) says; this serves forecasts, context windows and scripts.
pub fn tokens(text: &str) -> usize {
    bpe_openai::cl100k_base().count(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_as_the_published_tokenizer_does() {
        for (text, expected) in [("", 0), ("hello world", 2), ("tiktoken is great!", 6)] {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }
}
