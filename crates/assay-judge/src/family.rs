//! Families of models: those that one vendor trained.
//!
//! A judge favours results of its own family (dotnet/skills#986; Panickssery et al., arXiv 2404.13076), so it must
//! not judge them.

/// Words in the names of models, by family. The first that occurs decides.
const FAMILIES: [(&str, &[&str]); 16] = [
    ("nvidia", &["nemotron"]),
    ("deepseek", &["deepseek"]),
    ("anthropic", &["claude", "opus", "sonnet", "haiku"]),
    ("openai", &["gpt", "chatgpt", "codex", "davinci", "o1", "o3", "o4"]),
    ("google", &["gemini", "gemma", "palm"]),
    ("meta", &["llama"]),
    ("alibaba", &["qwen", "qwq"]),
    ("mistral", &["mistral", "mixtral", "ministral", "codestral", "devstral", "magistral", "pixtral"]),
    ("moonshot", &["kimi", "moonshot"]),
    ("zhipu", &["glm", "chatglm"]),
    ("xai", &["grok"]),
    ("minimax", &["minimax"]),
    ("cohere", &["command", "aya"]),
    ("amazon", &["nova", "titan"]),
    ("microsoft", &["phi"]),
    ("ibm", &["granite"]),
];

/// The family of a model by its name, with or without provider; `None` if the name is unknown.
pub fn family(model: &str) -> Option<&'static str> {
    let lower = model.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_named = |name: &str| {
        words.iter().any(|word| {
            // `qwen3`, `gpt4o`: a name with its version.
            word.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
        })
    };
    FAMILIES.iter().find(|(_, names)| names.iter().any(|name| is_named(name))).map(|(family, _)| *family)
}

/// Whether two models are of one family: by the table, or if unknown, by equal names.
pub fn is_same_family(one: &str, other: &str) -> bool {
    let name = |model: &str| model.rsplit([':', '/']).next().unwrap_or_default().to_lowercase();
    match (family(one), family(other)) {
        (Some(one), Some(other)) => one == other,
        _ => name(one) == name(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families() {
        let check = |model: &str, expected: Option<&str>| assert_eq!(family(model), expected, "{model}");
        check("anthropic:claude-opus-5", Some("anthropic"));
        check("openrouter:openai/gpt-5.2-codex", Some("openai"));
        check("openai:o3-mini", Some("openai"));
        check("local:qwen3-32b", Some("alibaba"));
        check("vertex:gemini-3-pro", Some("google"));
        check("deepseek-r1-distill-llama-70b", Some("deepseek"));
        check("scripted:turns.jsonl", None);
        check("graphite-1", None);
        assert!(is_same_family("openai:gpt-5", "azure:gpt-4o"));
        assert!(!is_same_family("openai:gpt-5", "anthropic:claude"));
        assert!(is_same_family("local:mine", "other:MINE"));
        assert!(!is_same_family("local:mine", "local:yours"));
    }
}
