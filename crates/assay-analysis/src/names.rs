//! Whether the responding model is the requested one, by their names.

/// Whether a provider's name for the responding model can be a name of the requested model.
///
/// Providers return more or less specific names than requested. These differences are ignored:
///
/// - upper case, and `.`, `:`, `@` or `_` where the other has `-`;
/// - the part before the last `/`: `models/gemini-2.5-pro`, `openai/gpt-x`, a folder; and `.gguf`
///   at the end;
/// - a release at the end of one name alone: `-2026-01-01`, `-20260101`, `-260101`, `-01-01`,
///   `-01-2026`, `-0101`, `-2601`, `-001`, or `latest`. Two different releases are two models;
/// - if the requested name ends in `latest`, further words.
///
/// Everything else is a mismatch: `gpt-x` and `gpt-x-mini`, `opus-4` and `opus-4-1`, a `-preview`,
/// a deployment's name of its own. An empty name never counts as a mismatch.
pub(crate) fn is_same_model(requested: &str, replied: &str) -> bool {
    let (requested, replied) = (words(requested), words(replied));
    if requested.is_empty() || replied.is_empty() || requested == replied {
        return true;
    }
    let ((name, release), (other, other_release)) = (split(&requested), split(&replied));
    if release == ["latest"] && follows(name, &replied) {
        return true;
    }
    let says = |release: &[String]| !release.is_empty() && release != ["latest"];
    name == other && !(says(release) && says(other_release) && release.concat() != other_release.concat())
}

/// The words of a name.
fn words(name: &str) -> Vec<String> {
    let name = name.trim().to_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".gguf").unwrap_or(name);
    let words = name.split(['-', '.', ':', '@', '_', ' ']).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// A name without its release, and the release.
fn split(words: &[String]) -> (&[String], &[String]) {
    let longest = 3.min(words.len().saturating_sub(1));
    let at = (1..=longest).rev().map(|count| words.len() - count).find(|at| is_release(&words[*at..]));
    words.split_at(at.unwrap_or(words.len()))
}

/// Whether words at the end of a name only give the date of the model.
fn is_release(words: &[String]) -> bool {
    let number = |word: &str, digits: usize| {
        let is_number = word.len() == digits && word.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| word.parse::<u32>().ok()).flatten()
    };
    let year = |word: &str| number(word, 4).is_some_and(|year| (2020..2100).contains(&year));
    let short_year = |word: &str| number(word, 2).is_some_and(|year| (20..100).contains(&year));
    let month = |word: &str| number(word, 2).is_some_and(|month| (1..=12).contains(&month));
    let day = |word: &str| number(word, 2).is_some_and(|day| (1..=31).contains(&day));
    match words {
        [one] if one == "latest" => true,
        [one] if !one.bytes().all(|byte| byte.is_ascii_digit()) => false,
        [one] => match one.len() {
            8 => year(&one[..4]) && month(&one[4..6]) && day(&one[6..]),
            6 => short_year(&one[..2]) && month(&one[2..4]) && day(&one[4..]),
            4 => month(&one[..2]) && day(&one[2..]) || short_year(&one[..2]) && month(&one[2..]),
            3 => one.starts_with('0'),
            _ => false,
        },
        [one, two] => month(one) && (day(two) || year(two)),
        [one, two, three] => year(one) && month(two) && day(three),
        _ => false,
    }
}

/// Whether words occur in others in this order.
fn follows(words: &[String], others: &[String]) -> bool {
    let mut others = others.iter();
    words.iter().all(|word| others.any(|other| other == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names_are_matched() {
        let check = |requested: &str, replied: &str, expected: bool| {
            assert_eq!(is_same_model(requested, replied), expected, "{requested:?} {replied:?}");
        };
        for (requested, replied) in [
            ("gpt-x", "gpt-x"),
            ("gpt-x", "GPT-X"),
            ("gpt-x", ""),
            ("gpt-x", "gpt-x-2026-01-01"),
            ("gpt-x-2026-01-01", "gpt-x"),
            ("gpt-x", "openai/gpt-x-2026-01-01"),
            ("openai/gpt-x", "gpt-x"),
            ("gpt-4", "gpt-4-0613"),
            ("gemini-2.5-pro", "models/gemini-2.5-pro"),
            ("gemini-1.5-pro", "gemini-1.5-pro-002"),
            ("gemini-2.5-flash-preview", "gemini-2.5-flash-preview-09-2025"),
            ("gemini-2.5-pro-preview", "gemini-2.5-pro-preview-05-06"),
            ("gemini-flash-latest", "gemini-2.5-flash-preview-09-2025"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
            ("claude-3.5-sonnet", "claude-3-5-sonnet-20241022"),
            ("claude-opus-4-1", "claude-opus-4-1@20250805"),
            ("deepseek-r1", "deepseek-r1-0528"),
            ("mistral-large", "mistral-large-2411"),
            ("seed-1-6", "seed-1-6-250615"),
            ("llama3", "llama3:latest"),
            ("qwen2.5-7b-instruct", "/models/Qwen2.5-7B-Instruct.gguf"),
            ("gpt-x-2026-01-01", "gpt-x-20260101"),
        ] {
            check(requested, replied, true);
        }
        for (requested, replied) in [
            ("gpt-x", "gpt-x-mini"),
            ("gpt-x", "gpt-y"),
            ("gpt-x", "gpt-x-2026-01-01-mini"),
            ("gpt-x-2026-01-01", "gpt-x-2025-06-01"),
            ("gpt-4", "gpt-4-32k"),
            ("gpt-4", "gpt-4.1"),
            ("gpt-4", "gpt-4o"),
            ("gpt-4-latest", "gpt-4o"),
            ("claude-opus-4", "claude-opus-4-1"),
            ("claude-opus-4", "claude-opus-4-1-20250805"),
            ("claude-opus-4-latest", "claude-sonnet-4"),
            ("gemini-2.5-pro", "gemini-2.5-pro-preview-05-06"),
            ("llama3:8b", "llama3:70b"),
            ("llama3", "llama3:70b"),
            ("model", "model-9999"),
            ("production", "gpt-x"),
        ] {
            check(requested, replied, false);
        }
    }
}
