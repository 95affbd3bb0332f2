//! Sentences of a text.

/// The sentences of a text: lines, parted after a full stop, an exclamation or a question mark that
/// a space follows.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let mut rest = line.trim();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let end = rest
                .match_indices(['.', '!', '?'])
                .map(|(at, _)| at + 1)
                .find(|end| rest[*end..].starts_with(char::is_whitespace))
                .unwrap_or(rest.len());
            let (sentence, left) = rest.split_at(end);
            rest = left.trim_start();
            Some(sentence)
        })
    })
}
