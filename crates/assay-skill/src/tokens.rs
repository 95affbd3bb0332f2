//! Token counts.

/// Counts tokens of the `cl100k_base` vocabulary. Every model has its own tokeniser: this is a common measure, not a bill.
pub fn tokens(text: &str) -> usize {
    bpe_openai::cl100k_base().count(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_known_texts() {
        let check = |text, expected| assert_eq!(tokens(text), expected, "{text:?}");
        check("", 0);
        check("hello world", 2);
        // The worked example of the vocabulary's own documentation.
        check("tiktoken is great!", 6);
    }
}
