//! Detects errors about a conversation that is longer than the model's context.

/// Whether an error's text means that the conversation is longer than the model's context. The
/// phrases are those of Anthropic, OpenAI, Gemini, Mistral, Moonshot, xAI, Z.ai, Qwen, Bedrock,
/// vLLM, SGLang, llama.cpp and LM Studio.
///
/// A request for a longer *reply* than the model allows is a configuration error, and does not
/// count.
pub fn exceeds_context(text: &str) -> bool {
    const CODES: [&str; 4] = [
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "model_max_prompt_tokens_exceeded",
    ];
    const PHRASES: [&str; 9] = [
        "prompt is too long",
        "prompt too long",
        "input is too long",
        "maximum context length",
        "maximum prompt length",
        "longer than the model's context length",
        "longer than the maximum model length",
        "range of input length should be",
        "when context the overflows",
    ];
    const BOUNDS: [&str; 8] = [
        "context window",
        "context length",
        "context limit",
        "context size",
        "model token limit",
        "maximum number of tokens allowed",
        "max length",
        "maximum input length",
    ];
    const REPLIES: [&str; 4] =
        ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens"];
    let text = text.to_ascii_lowercase();
    let asks_too_much = REPLIES.iter().any(|name| text.contains(name))
        && (text.contains("is too large") || text.contains("supported range"));
    // vLLM uses one sentence for a reply limit above the context and for a conversation that leaves
    // no room for the reply.
    let number_after = |words: &str| -> Option<u64> {
        let rest = text.split(words).nth(1)?.trim_start();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let would_fit_alone = number_after("is too large:")
        .zip(number_after("maximum context length is"))
        .is_some_and(|(reply, context)| reply < context);
    if asks_too_much && !would_fit_alone {
        return false;
    }
    let is_over = text.contains("exceed") || text.contains("too large for") || text.contains("longer than");
    CODES.iter().chain(&PHRASES).any(|words| text.contains(words))
        || (is_over && BOUNDS.iter().any(|words| text.contains(words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_errors_of_providers_are_recognized() {
        for text in [
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
            "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length",
            r#"{"error":{"message":"too many words","code":"context_length_exceeded"}}"#,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130512 tokens.",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            "Prompt contains 40123 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            "the request exceeds the available context size, try increasing it",
            "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
            "Range of input length should be [1, 30720]",
            "Prompt exceeds max length",
            "Input is too long for requested model.",
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 32768 \
             tokens and your request has 30000 input tokens",
        ] {
            assert!(exceeds_context(text), "{text}");
        }
        for text in [
            "max_tokens is too large: 1000000. This model supports at most 131072 completion tokens",
            "'max_tokens' or 'max_completion_tokens' is too large: 1000000. This model's maximum context length is 32768 \
             tokens and your request has 20 input tokens",
            "Unable to submit request because it has a maxOutputTokens value of 655360 but the supported range is from 1 \
             (inclusive) to 8193 (exclusive)",
            "You exceeded your current quota, please check your plan and billing details.",
            "Request too large for m on tokens per min (TPM): Limit 30000, Requested 40000.",
            "Rate limit exceeded",
            "the model m does not exist",
            "",
        ] {
            assert!(!exceeds_context(text), "{text}");
        }
    }
}
