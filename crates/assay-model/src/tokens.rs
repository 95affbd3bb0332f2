//! Counting tokens without a provider.

use serde_json::Value;

use crate::Usage;

/// Average characters per token, for replies without a reported usage.
///
/// OpenAI's rule of thumb ("What are tokens and how to count them?", help.openai.com). See
/// [`estimate`].
pub const CHARS_PER_TOKEN: u64 = 4;

/// Maximum plausible tokens of one request and its reply: the largest context window of any
/// generally available model (Llama 4 Scout, April 2025).
pub const MOST_TOKENS: u64 = 10_000_000;

/// Counts the tokens of a text in the `cl100k_base` vocabulary.
///
/// A proxy: no current model of Anthropic or Google uses that vocabulary, nor do newer ones of
/// OpenAI. The actual count is a provider's [`Usage`](crate::Usage); this one is for forecasts,
/// context windows and scripts.
pub fn tokens(text: &str) -> usize {
    bpe_openai::cl100k_base().count(text)
}

/// Estimates the tokens of a number of characters, by [`CHARS_PER_TOKEN`], if no usage was
/// reported. Always marked as `estimated`; caps in tokens ignore it.
pub fn estimate(chars: u64) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN)
}

/// Characters of a JSON value that a model reads: its texts and the names of its fields, without
/// JSON's punctuation. Images and files in base64 count as nothing.
pub fn chars(value: &Value) -> u64 {
    let text = |text: &str| text.chars().count() as u64;
    match value {
        Value::String(data) if data.starts_with("data:") && data.contains(";base64,") => 0,
        Value::String(string) => text(string),
        Value::Array(items) => items.iter().map(chars).sum(),
        Value::Object(object) => {
            let is_file =
                ["media_type", "mimeType", "mime_type"].iter().any(|name| object.contains_key(*name));
            object
                .iter()
                .filter(|(name, _)| !(is_file && name.as_str() == "data"))
                .map(|(name, value)| text(name) + chars(value))
                .sum()
        }
        Value::Number(number) => text(&number.to_string()),
        Value::Bool(_) | Value::Null => 1,
    }
}

/// A provider's usage, if it is plausible: more than [`MOST_TOKENS`] is not.
pub(crate) fn plausible_usage(usage: Usage) -> Option<Usage> {
    let Usage { input, output, cache_read, cache_write, .. } = usage;
    let total = [output, cache_read, cache_write].into_iter().fold(input, u64::saturating_add);
    (total <= MOST_TOKENS).then(|| usage.of_request())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_as_the_published_tokenizer_does() {
        for (text, expected) in [("", 0), ("hello world", 2), ("tiktoken is great!", 6)] {
            assert_eq!(tokens(text), expected, "{text:?}");
        }
    }

    #[test]
    fn characters_are_counted_instead_of_bytes() {
        let check = |value: Value, expected: u64| assert_eq!(chars(&value), expected, "{value}");
        check(json!("日本語ü"), 4);
        check(json!({"role": "user", "content": "say \"hi\"\n"}), 4 + 4 + 7 + 9);
        check(json!([1.5, true, null, [], {}]), 3 + 1 + 1);
        check(json!({"url": "data:image/png;base64,AAAAAAAAAAAAAAAAAAAA"}), 3);
        check(json!({"media_type": "image/png", "data": "AAAAAAAAAAAAAAAA"}), 10 + 9);
        check(json!({"data": "words"}), 9);
        assert_eq!((estimate(0), estimate(1), estimate(4), estimate(5)), (0, 1, 1, 2));
    }

    #[test]
    fn usage_above_any_context_window_is_rejected() {
        let usage = |output| Usage { input: 4, output, cache_read: 6, cache_write: 0, ..Usage::default() };
        assert_eq!(plausible_usage(usage(MOST_TOKENS - 10)), Some(usage(MOST_TOKENS - 10)));
        for absurd in [MOST_TOKENS, 1_000_000_000_000, u64::MAX] {
            assert_eq!(plausible_usage(usage(absurd)), None, "{absurd}");
        }
    }
}
