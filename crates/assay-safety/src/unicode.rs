//! Invisible and look-alike characters.
//!
//! Honest uses pass: joiners between emoji and in the scripts that need them (Arabic, Persian,
//! Indic scripts), direction marks next to right-to-left letters, the tags of the flags of England,
//! Scotland and Wales, a byte-order mark at the start. Sources: Unicode Standard 16.0 §9.2 and
//! §23.2; UAX #9 (bidirectional controls); UTS #51 §1.4.6 (emoji tag sequences) and §1.4.8
//! (joiners); UTS #39 §4 (confusables) and §5.1 (mixed scripts).

use std::ops::Range;

use super::rule::Rule;
use super::rule::declare_rules;

declare_rules! {
    HIDDEN_BIDI = "hidden-bidi", HiddenText, Error, "Bidirectional control characters change how text is displayed.";
    HIDDEN_ZERO_WIDTH = "hidden-zero-width", HiddenText, Warning, "Zero-width characters inside words.";
    HIDDEN_TAGS = "hidden-tags", HiddenText, Error, "Tag characters contain invisible text.";
    HIDDEN_SELECTORS = "hidden-selectors", HiddenText, Error, "A sequence of variation selectors contains hidden bytes.";
    HIDDEN_MIXED_SCRIPT = "hidden-mixed-script", HiddenText, Warning, "Latin words contain look-alike letters of another script.";
}

/// A match: the rule, the range, the message, and the hidden text, if any.
pub(crate) struct Hidden {
    pub(crate) rule: &'static Rule,
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) spelled: Option<String>,
}

/// Whether a character is invisible: it is omitted when text is read.
pub(crate) fn invisible(c: char) -> bool {
    zero_width(c)
        || bidi(c)
        || tag(c)
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0100}'..='\u{e01ef}' | '\u{3164}' | '\u{115f}' | '\u{1160}' | '\u{ffa0}')
}

fn zero_width(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

fn bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Letters written from right to left.
fn right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Scripts in which joiners and non-joiners are part of spelling, and in which the zero-width space
/// parts words (Thai, Lao, Khmer, Myanmar, Chinese, Japanese, Korean).
fn joins(c: char) -> bool {
    right_to_left(c)
        || matches!(c, '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1cd0}'..='\u{1cff}' | '\u{3000}'..='\u{9fff}' | '\u{a8e0}'..='\u{a8ff}'
            | '\u{ac00}'..='\u{d7af}' | '\u{ff00}'..='\u{ff60}')
}

fn emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}' | '\u{20e3}' | '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}')
}

/// The ASCII letter that a character looks like, from the look-alikes of UTS #39 for a single
/// letter: Cyrillic, Greek, Armenian, full-width forms, mathematical alphabets, small capitals and
/// the letter-like symbols.
pub(crate) fn imitates(c: char) -> Option<char> {
    const PAIRS: &[(&str, &str)] = &[
        ("аеорсухіѕјԁһӏԛԝвкмнтгьпзАВЕКМНОРСТУХЅІЈԌԚԜӀ", "aeopcyxisjdhlqwbkmhtrbn3ABEKMHOPCTYXSIJGQWI"),
        ("αοινρυκτχγωεΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ", "aoivpuktxyweABEZHIKMNOPTYXcj"),
        ("օսհոցլɑɡɩıȷᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢꜱℓ", "ouhnglagiijabcdeghijklmnoprtuvwyzsl"),
    ];
    let code = u32::from(c);
    match code {
        0xff01..=0xff5e => return char::from_u32(code - 0xff01 + 0x21),
        0x1d400..=0x1d6a3 => {
            let letter = u8::try_from((code - 0x1d400) % 52).ok()?;
            return Some(char::from(if letter < 26 { b'A' + letter } else { b'a' + letter - 26 }));
        }
        0x24b6..=0x24cf => return char::from_u32(code - 0x24b6 + u32::from('A')),
        0x24d0..=0x24e9 => return char::from_u32(code - 0x24d0 + u32::from('a')),
        0x2018 | 0x2019 | 0x2bc => return Some('\''),
        0x201c | 0x201d => return Some('"'),
        0x2010..=0x2015 => return Some('-'),
        // Fast path: most decorative characters are here, and look-alikes are not.
        0x80..=0x130 | 0x2114..=0xa730 | 0xa732.. => return None,
        _ => {}
    }
    PAIRS.iter().find_map(|(from, to)| {
        let at = from.chars().position(|letter| letter == c)?;
        to.chars().nth(at)
    })
}

/// The script of a look-alike: of the three that are confused with Latin in practice.
fn foreign(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{531}'..='\u{58f}')
}

/// Scans a text. ASCII text is skipped in one pass.
pub(crate) fn scan(text: &str) -> Vec<Hidden> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut found = Vec::new();
    marks(text, &mut found);
    mixed(text, &mut found);
    found
}

fn marks(text: &str, found: &mut Vec<Hidden>) {
    let mut previous = None;
    let mut widths: Option<(Range<usize>, usize, String)> = None;
    let mut rest = text.char_indices().peekable();
    let mut bidis: Option<(Range<usize>, usize)> = None;
    while let Some((at, c)) = rest.next() {
        if c.is_ascii() {
            previous = Some(c);
            continue;
        }
        let end = at + c.len_utf8();
        if tag(c) {
            let (mut last, mut spelled, mut count) = (end, ascii_of(c).into_iter().collect::<String>(), 1);
            while let Some(&(next, c)) = rest.peek().filter(|(_, c)| tag(*c)) {
                (last, count) = (next + c.len_utf8(), count + 1);
                spelled.extend(ascii_of(c));
                rest.next();
            }
            // A black flag, a region's code of a few letters, and the end: a flag.
            if !(previous == Some('\u{1f3f4}') && count <= 7 && text[..last].ends_with('\u{e007f}')) {
                let message = format!("{count} invisible tag characters contain {:?}", excerpt(&spelled));
                found.push(Hidden { rule: &HIDDEN_TAGS, span: at..last, message, spelled: Some(spelled) });
            }
        } else if selector(c) {
            let (mut last, mut bytes) = (end, vec![byte_of(c)]);
            while let Some(&(next, c)) = rest.peek().filter(|(_, c)| selector(*c)) {
                last = next + c.len_utf8();
                bytes.push(byte_of(c));
                rest.next();
            }
            if bytes.len() >= 4 {
                let spelled = String::from_utf8_lossy(&bytes).into_owned();
                let message = format!(
                    "{} consecutive variation selectors contain {:?}",
                    bytes.len(),
                    excerpt(&spelled)
                );
                found.push(Hidden {
                    rule: &HIDDEN_SELECTORS,
                    span: at..last,
                    message,
                    spelled: Some(spelled),
                });
            }
        } else if zero_width(c) {
            let next = rest.peek().map(|&(_, c)| c);
            if at != 0 && !honest(c, previous, next) {
                let entry = widths.get_or_insert_with(|| (at..end, 0, String::new()));
                entry.1 += 1;
                if entry.2.len() < 40 {
                    entry.2.push_str(&format!("U+{:04X} ", u32::from(c)));
                }
            }
        } else if bidi(c) {
            // Overrides are never needed in prose; embeddings and isolates are where right-to-left
            // letters are near.
            let lower = floor(text, at.saturating_sub(200));
            let upper = floor(text, (at + 200).min(text.len()));
            let needed =
                !matches!(c, '\u{202d}' | '\u{202e}') && text[lower..upper].chars().any(right_to_left);
            if !needed {
                bidis.get_or_insert((at..end, 0)).1 += 1;
            }
        }
        if !zero_width(c) {
            previous = Some(c);
        }
    }
    if let Some((span, count, which)) = widths {
        let message = format!("{count} zero-width characters inside text, the first {}", which.trim());
        found.push(Hidden { rule: &HIDDEN_ZERO_WIDTH, span, message, spelled: None });
    }
    if let Some((span, count)) = bidis {
        let message = format!("{count} bidirectional control characters in left-to-right text");
        found.push(Hidden { rule: &HIDDEN_BIDI, span, message, spelled: None });
    }
}

/// Whether a zero-width character is legitimate: between emoji, or between letters of a joining
/// script. At the end of a word or line it is usually a copy-and-paste artefact that hides nothing.
fn honest(c: char, previous: Option<char>, next: Option<char>) -> bool {
    let (before, after) = (previous.unwrap_or(' '), next.unwrap_or(' '));
    if emoji(before) || emoji(after) || joins(before) || joins(after) {
        return true;
    }
    match c {
        // The word joiner and its invisible operators have no place in Markdown between Latin
        // letters.
        '\u{2061}'..='\u{2064}' => false,
        _ => {
            !(before.is_alphanumeric() && (after.is_alphanumeric() || zero_width(after)))
                && !zero_width(after)
        }
    }
}

fn ascii_of(c: char) -> Option<char> {
    char::from_u32(u32::from(c).wrapping_sub(0xe0000)).filter(|c| c.is_ascii() && !c.is_ascii_control())
}

/// The byte that a variation selector encodes: 0 to 15, then 16 to 255.
fn byte_of(c: char) -> u8 {
    let code = u32::from(c);
    let byte = if code >= 0xe0100 { code - 0xe0100 + 16 } else { code - 0xfe00 };
    u8::try_from(byte).unwrap_or(0)
}

/// Words of Latin letters and look-alikes. Ordinary Greek letters (`μm`, `Δx`) are excluded: a word
/// needs at least two Latin letters, and every other letter must imitate a Latin one.
fn mixed(text: &str, found: &mut Vec<Hidden>) {
    let mut first: Option<(Range<usize>, String)> = None;
    let mut count = 0;
    let mut start = None;
    let (mut latin, mut foreigners, mut disguised) = (0, 0, true);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if c.is_alphabetic() {
            start.get_or_insert(at);
            if foreign(c) {
                foreigners += 1;
                disguised &= imitates(c).is_some();
            } else if c.is_ascii() {
                latin += 1;
            } else {
                disguised &= !('\u{100}'..'\u{250}').contains(&c) && !joins(c);
            }
            continue;
        }
        if let Some(from) = start.take()
            && foreigners > 0
            && latin >= 2
            && disguised
            && !(foreigners == 1 && (text[from..at].starts_with(greek) || symbol(&text[from..at])))
        {
            count += 1;
            first.get_or_insert((from..at, text[from..at].to_owned()));
        }
        (latin, foreigners, disguised) = (0, 0, true);
    }
    if let Some((span, word)) = first {
        let message = format!("{count} words mix Latin letters with look-alikes, the first {word:?}");
        found.push(Hidden { rule: &HIDDEN_MIXED_SCRIPT, span, message, spelled: None });
    }
}

fn greek(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{3ff}')
}

/// The next character boundary at or before an offset.
pub(crate) fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// At most 60 characters.
pub(crate) fn excerpt(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    if short.len() < text.len() { short + "…" } else { short }
}

/// Whether a small Greek letter is next to a capital or a digit, as in the names of proteins and
/// units.
fn symbol(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    chars.iter().enumerate().any(|(at, &c)| {
        let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten().filter_map(|at| chars.get(at));
        ('α'..='ω').contains(&c) && beside.copied().any(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<&'static str> {
        scan(text).iter().map(|hidden| hidden.rule.code).collect()
    }

    #[test]
    fn hidden_characters_are_found() {
        let check = |text: &str, expected: &[&str]| assert_eq!(codes(text), expected, "{text:?}");
        check("pass\u{202e}drow", &["hidden-bidi"]);
        check("ig\u{200b}nore", &["hidden-zero-width"]);
        check("x \u{200b}\u{200c}\u{200b}\u{200b} y", &["hidden-zero-width"]);
        check("ign\u{43e}re this", &["hidden-mixed-script"]);
        check("ok\u{fe01}\u{e0110}\u{e0120}\u{e0121}", &["hidden-selectors"]);
        let tags: String = "run it".bytes().filter_map(|b| char::from_u32(0xe0000 + u32::from(b))).collect();
        check(&format!("a{tags}"), &["hidden-tags"]);
        assert_eq!(scan(&tags)[0].spelled.as_deref(), Some("run it"));
    }

    #[test]
    fn honest_uses_pass() {
        let check = |text: &str| assert_eq!(codes(text), [""; 0], "{text:?}");
        check("plain");
        check("\u{feff}# Title");
        check("👩\u{200d}💻 and 🏳\u{fe0f}\u{200d}🌈 and ❤\u{fe0f}");
        check("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}");
        check("می\u{200c}خواهم");
        check("क्\u{200d}ष");
        check("\u{2067}שלום\u{2069} means peace");
        check("Привет мир, 5 μm, Δx, λ-calculus, Straße");
        check("end of a copied line\u{200b}\nnext");
    }
}
