//! Passages of a document.

use assay_skill::tokens;

/// Tokens of a passage, unless its section is shorter. Passages of about 100 words, as in Karpukhin
/// et al. 2020, "Dense Passage Retrieval", have between 100 and 200 tokens.
const PASSAGE_TOKENS: usize = 200;

/// Cuts a document into passages: paragraphs of one section, up to [`PASSAGE_TOKENS`] together.
/// Each passage begins with the heading of its section.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut passages = Vec::new();
    let mut heading = String::new();
    let mut body = String::new();
    let mut flush = |heading: &str, body: &mut String| {
        // A heading alone says nothing.
        if !body.trim().is_empty() {
            let separator = if heading.is_empty() { "" } else { "\n\n" };
            passages.push(format!("{heading}{separator}{}", body.trim_matches('\n')));
        }
        body.clear();
    };
    for block in blocks(text) {
        match block {
            Block::Heading(text) => {
                flush(&heading, &mut body);
                cut(&text, PASSAGE_TOKENS / 4).clone_into(&mut heading);
            }
            Block::Text(text) => {
                let room = PASSAGE_TOKENS.saturating_sub(tokens(&heading));
                for piece in pieces(&text, room) {
                    if !body.is_empty() && tokens(&body) + tokens(piece) > room {
                        flush(&heading, &mut body);
                    }
                    if !body.is_empty() {
                        body.push_str("\n\n");
                    }
                    body.push_str(piece);
                }
            }
        }
    }
    flush(&heading, &mut body);
    passages
}

/// The longest beginning of a text that ends with a word and has at most `budget` tokens.
pub(super) fn cut(text: &str, budget: usize) -> &str {
    if tokens(text) <= budget {
        return text;
    }
    let ends: Vec<usize> = text
        .char_indices()
        .filter(|&(at, char)| {
            char.is_whitespace() && text[..at].chars().next_back().is_some_and(|last| !last.is_whitespace())
        })
        .map(|(at, _)| at)
        .collect();
    // Further words add tokens but at the joints of pieces, where the count may fall by a few.
    let mut words = ends.partition_point(|&end| tokens(&text[..end]) <= budget);
    while words > 0 && tokens(&text[..ends[words - 1]]) > budget {
        words -= 1;
    }
    if words == 0 { "" } else { &text[..ends[words - 1]] }
}

/// A paragraph in pieces of at most `room` tokens: of whole lines if possible, else of whole words.
fn pieces(text: &str, room: usize) -> Vec<&str> {
    let mut rest = text;
    let mut found = Vec::new();
    while tokens(rest) > room {
        let words = cut(rest, room);
        let piece = match words.rfind('\n') {
            Some(end) if end > 0 => &words[..end],
            _ => words,
        };
        if piece.trim().is_empty() {
            // One word longer than a passage, such as embedded data.
            let start = rest.trim_start();
            let end = start.find(char::is_whitespace).unwrap_or(start.len());
            rest = start[end..].trim_start();
            continue;
        }
        found.push(piece);
        rest = rest[piece.len()..].trim_start_matches(['\n', ' ']);
    }
    if !rest.trim().is_empty() {
        found.push(rest);
    }
    found
}

#[derive(Debug, PartialEq, Eq)]
enum Block {
    Heading(String),
    Text(String),
}

/// Headings, and the text between blank lines. A fenced code block is one text.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut current: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    let flush = |current: &mut Vec<&str>, blocks: &mut Vec<Block>| {
        if !current.is_empty() {
            blocks.push(Block::Text(current.join("\n")));
            current.clear();
        }
    };
    for line in without_front_matter(text).lines().map(str::trim_end) {
        let start = line.trim_start();
        if let Some(open) = fence {
            current.push(line);
            if start.starts_with(open) {
                fence = None;
            }
        } else if let [title] = current[..]
            && is_underline(line, title)
        {
            // Markdown and reStructuredText, where a line of `~` may underline a title too.
            current.clear();
            blocks.push(Block::Heading(title.trim().to_owned()));
        } else if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark)) {
            current.push(line);
            fence = Some(mark);
        } else if start.is_empty() {
            flush(&mut current, &mut blocks);
        } else if is_heading(line) {
            flush(&mut current, &mut blocks);
            blocks.push(Block::Heading(line.to_owned()));
        } else {
            current.push(line);
        }
    }
    flush(&mut current, &mut blocks);
    blocks
}

/// Metadata of site generators, between two lines of `---`.
fn without_front_matter(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}');
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return text;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return &rest[at..];
        }
    }
    text
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let marks = line.len() - text.len();
    (1..=6).contains(&marks) && (text.is_empty() || text.starts_with(' '))
}

fn is_underline(line: &str, title: &str) -> bool {
    let Some(mark) = line.chars().next().filter(|mark| "=-~^\"'`*+#:.".contains(*mark)) else {
        return false;
    };
    let marks = line.chars().count();
    line.chars().all(|char| char == mark) && marks >= 3 && marks >= title.trim().chars().count()
        || marks >= 3 && "=-".contains(mark) && line.chars().all(|char| char == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_paragraphs_of_one_section() {
        let check = |text: &str, expected: &[&str]| assert_eq!(split(text), expected, "{text:?}");
        check("", &[]);
        check("# Only a heading\n", &[]);
        check("One.\n\nTwo.\n", &["One.\n\nTwo."]);
        check("# A\n\nOne.\n\n## B\nTwo.\n", &["# A\n\nOne.", "## B\n\nTwo."]);
        check("Title\n=====\n\nOne.\n\nPart\n~~~~\nTwo.\n", &["Title\n\nOne.", "Part\n\nTwo."]);
        check("---\ntitle: A\n---\nOne.\n", &["One."]);
        check("---\nNot closed.\n", &["---\nNot closed."]);
        check("# A\n\n```\n# no heading\n\nend\n```\n", &["# A\n\n```\n# no heading\n\nend\n```"]);
        check("#hashtag\n", &["#hashtag"]);
    }

    #[test]
    fn long_paragraphs_become_several_passages_with_their_heading() {
        let line = "the quick brown fox jumps over the lazy dog and runs away\n";
        let passages = split(&format!("# Foxes\n\n{}", line.repeat(60)));
        assert_eq!(passages.len(), 4, "{passages:?}");
        for passage in &passages {
            assert!(passage.starts_with("# Foxes\n\nthe quick") && passage.ends_with("runs away"));
            assert!(tokens(passage) <= PASSAGE_TOKENS + 2, "{}", tokens(passage));
        }
        let text: usize = passages.iter().map(|passage| passage.matches("quick").count()).sum();
        assert_eq!(text, 60);
    }

    #[test]
    fn a_word_longer_than_a_passage_is_left_out() {
        let passages = split(&format!("Before.\n\n{} after\n", "qx7".repeat(2000)));
        assert_eq!(passages, ["Before.\n\nafter"]);
    }

    proptest::proptest! {
        #[test]
        fn a_cut_text_is_a_beginning_within_the_budget(text in "[a-z é\n#.]{0,300}", budget in 0_usize..60) {
            let found = cut(&text, budget);
            proptest::prop_assert!(text.starts_with(found));
            proptest::prop_assert!(tokens(found) <= budget);
        }

        #[test]
        fn any_text_is_split(text in "(\\PC|\n|`|#|=|-| ){0,400}") {
            for passage in split(&text) {
                proptest::prop_assert!(!passage.trim().is_empty());
            }
        }
    }
}
