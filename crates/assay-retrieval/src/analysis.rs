//! Splits text into the words of an index.
//!
//! The default is that of bm25s 0.3 with English stop words: the text in lower case, the pattern
//! `\\b\\w\\w+\\b`, without Lucene's 33 stop words. `\\w` is Python's: letters, numbers and `_`,
//! without combining marks.

use serde::{Deserialize, Serialize};

/// English stop words as Lucene has them, sorted.
pub const STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
    "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "will", "with",
];

/// How words are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stemmer {
    /// Words unchanged.
    None,
    /// Endings of English cut off, by a short list of our own.
    English,
}

/// Calls `word` with every word of a text, in order. The text is in lower case already.
pub fn each_word(lower: &str, mut word: impl FnMut(&str)) {
    let bytes = lower.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begin = at;
        let mut characters = 0;
        while let Some(width) = word_character(lower, bytes, at) {
            at += width;
            characters += 1;
        }
        if characters > 1 {
            word(&lower[begin..at]);
        }
        // The character that ended the word is not part of it.
        at += bytes.get(at).map_or(1, |byte| width(*byte));
    }
}

/// How many bytes a character has, by its first.
fn width(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// How many bytes the character at a place has, if it is one of a word.
#[inline]
fn word_character(text: &str, bytes: &[u8], at: usize) -> Option<usize> {
    let byte = *bytes.get(at)?;
    if byte.is_ascii() {
        return (byte.is_ascii_alphanumeric() || byte == b'_').then_some(1);
    }
    text[at..].chars().next().filter(|c| is_word(*c)).map(char::len_utf8)
}

/// A text in lower case. ASCII, the common case, needs no Unicode tables.
pub(crate) fn lower_case<'a>(text: &str, into: &'a mut String) -> &'a str {
    into.clear();
    if text.is_ascii() {
        into.push_str(text);
        into.make_ascii_lowercase();
    } else {
        into.push_str(&text.to_lowercase());
    }
    into
}

/// Python's `\\w` beyond ASCII: `str.isalnum`.
fn is_word(c: char) -> bool {
    c.is_numeric()
        || (c.is_alphabetic() && !unicode_normalization::char::is_combining_mark(c) && !is_enclosed(c))
}

/// Circled and squared letters: symbols in Unicode that are alphabetic nevertheless.
fn is_enclosed(c: char) -> bool {
    matches!(c, '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f149}' | '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}')
}

/// Scripts whose words are not separated by blanks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WritingSystem {
    Han,
    Hiragana,
    Katakana,
    Hangul,
    /// With blanks between words.
    Other,
}

impl WritingSystem {
    /// By Unicode's blocks.
    fn of(c: char) -> Self {
        match c {
            '\u{3005}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{2fa1f}' => Self::Han,
            '\u{3041}'..='\u{309f}' => Self::Hiragana,
            '\u{30a0}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => Self::Katakana,
            '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7a3}' => Self::Hangul,
            _ => Self::Other,
        }
    }
}

/// Characters of Chinese that stand for relations, persons and courtesy, by its grammar: pairs with
/// them say nothing. In Japanese such words are written in Hiragana.
const PARTICLES: &str = "的了我你您他她它们是在把被请這这那哪个個吗嗎呢吧啊和与與或及帮幫给給让讓一";

/// The pairs of neighbors in a word of such scripts, and its parts in others.
fn each_pair(word: &str, found: &mut impl FnMut(&str)) {
    let characters: Vec<(usize, char)> = word.char_indices().collect();
    let end = |at: usize| characters.get(at).map_or(word.len(), |(place, _)| *place);
    let mut at = 0;
    while at < characters.len() {
        let script = WritingSystem::of(characters[at].1);
        let length = characters[at..].iter().take_while(|(_, c)| WritingSystem::of(*c) == script).count();
        match script {
            WritingSystem::Other if length > 1 => found(&word[end(at)..end(at + length)]),
            WritingSystem::Other | WritingSystem::Hiragana => {}
            WritingSystem::Han | WritingSystem::Katakana | WritingSystem::Hangul => {
                for pair in at..(at + length).saturating_sub(1) {
                    let text = &word[end(pair)..end(pair + 2)];
                    if !text.contains(|c| PARTICLES.contains(c)) {
                        found(text);
                    }
                }
            }
        }
        at += length;
    }
}

/// Whether a word is a stop word.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

impl Stemmer {
    /// Calls `word` with every word of a text, in order. With stems, texts of scripts without blanks
    /// between words are divided into pairs of neighbors, as Lucene's CJK analyzer does, so that a
    /// request and a skill of one language meet. The text is in lower case already.
    pub fn each_word(self, lower: &str, mut word: impl FnMut(&str)) {
        each_word(lower, |found| match self {
            Self::English if !found.is_ascii() => each_pair(found, &mut word),
            _ => word(found),
        });
    }

    /// The stem of a word, if it is not the word itself.
    pub fn stem(self, word: &str) -> &str {
        match self {
            Self::None => word,
            Self::English => english(word),
        }
    }
}

/// Without a plural's `s`, in the spirit of the S stemmer (Harman 1991, "How effective is
/// suffixing?").
fn singular(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() >= 3 && !stem.ends_with(['s', 'u', 'i']) => stem,
        _ => word,
    }
}

/// Endings, the longest first; at least four letters have to remain.
const ENDINGS: [&str; 18] = [
    "ization", "ation", "ating", "ement", "ator", "ated", "ness", "ment", "able", "ate", "ing", "ion", "ive",
    "ed", "er", "ly", "al", "e",
];

fn english(word: &str) -> &str {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let word = singular(word);
    // `queries` and `query` meet, as `quer`.
    let stem = word.strip_suffix("ie").or_else(|| word.strip_suffix('y'));
    if let Some(stem) = stem.filter(|stem| stem.len() >= 3 && !stem.ends_with(['a', 'e', 'i', 'o', 'u', 'l']))
    {
        return stem;
    }
    for ending in ENDINGS {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 4
        {
            let bytes = stem.as_bytes();
            // `planning` and `plan` meet, `call` and `calling` too.
            let doubled = bytes[bytes.len() - 1] == bytes[bytes.len() - 2]
                && !stem.ends_with(['l', 's', 'z', 'e', 'o']);
            return if doubled { &stem[..stem.len() - 1] } else { stem };
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_python() {
        let check = |text: &str, expected: &[&str]| {
            let mut words = Vec::new();
            each_word(&text.to_lowercase(), |word| words.push(word.to_owned()));
            assert_eq!(words, expected, "{text}");
        };
        // Python 3.11: re.findall(r"(?u)\b\w\w+\b", text.lower())
        check("Export the LEDGER, v2.", &["export", "the", "ledger", "v2"]);
        check("snake_case kebab-case a I x_", &["snake_case", "kebab", "case", "x_"]);
        check("Größe 技能 naïve İzmir", &["größe", "技能", "naïve", "zmir"]);
        check("कमल ½kg ⓐⓑ Ⅷb", &["कमल", "½kg", "ⅷb"]);
        check("क्षेत्र", &[]);
        check("", &[]);
    }

    #[test]
    fn scripts_without_blanks_are_divided_into_pairs() {
        let check = |stemmer: Stemmer, text: &str, expected: &[&str]| {
            let mut words = Vec::new();
            stemmer.each_word(&text.to_lowercase(), |word| words.push(word.to_owned()));
            assert_eq!(words, expected, "{text}");
        };
        let pairs = |text: &str, expected: &[&str]| check(Stemmer::English, text, expected);
        pairs("翻译合同", &["翻译", "译合", "合同"]);
        pairs("请把PDF合同翻译", &["pdf", "合同", "同翻", "翻译"]);
        pairs("会議の議事録を", &["会議", "議事", "事録"]);
        pairs("データ分析", &["デー", "ータ", "分析"]);
        pairs("보고서 작성", &["보고", "고서", "작성"]);
        pairs("naïve größe", &["naïve", "größe"]);
        pairs("猫", &[]);
        // The baseline keeps the words of the published one.
        check(Stemmer::None, "翻译合同", &["翻译合同"]);
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the") && !is_stop_word("ledger"));
    }

    #[test]
    fn words_of_one_stem_match() {
        let check = |words: &[&str], stem: &str| {
            for word in words {
                assert_eq!(Stemmer::English.stem(word), stem, "{word}");
            }
        };
        check(&["generate", "generates", "generated", "generating", "generator", "generation"], "gener");
        check(&["plans", "plan"], "plan");
        check(&["deploy", "deploys", "deployed", "deploying", "deployment"], "deploy");
        check(&["class", "classes"], "class");
        check(&["query", "queries"], "quer");
        check(&["status"], "status");
        check(&["技能"], "技能");
    }
}
