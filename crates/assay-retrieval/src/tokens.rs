//! From text to words.

/// Lower-cased runs of letters, digits and `_`, of at least two characters: the pattern `\b\w\w+\b`
/// that scikit-learn and bm25s use, without stemming and without a stop list.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c.to_ascii_lowercase());
        } else if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    words.push(word);
    words.retain(|word| word.chars().nth(1).is_some());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_two_or_more() {
        let check = |text: &str, expected: &[&str]| assert_eq!(words(text), expected, "{text}");
        check("", &[]);
        check("a I x", &[]);
        check("Export the LEDGER, v2.", &["export", "the", "ledger", "v2"]);
        check("snake_case kebab-case", &["snake_case", "kebab", "case"]);
        check("Größe 技能", &["größe", "技能"]);
    }
}
