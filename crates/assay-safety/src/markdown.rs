//! Splits a Markdown page into visible text, invisible text, and code.

use std::ops::Range;

use assay_syntax::markdown::language;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::mapped::Mapped;
use super::needles::{self, Hits};

/// The kind of a piece of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Running text, list items, headings and cells of tables.
    Text,
    /// A block quote.
    Quote,
    /// Titles of links and alternative texts of images.
    Aside,
    /// A comment, or an element that is not shown.
    Hidden,
    /// Values of the front matter.
    Matter,
    /// Code between back-ticks.
    Code,
    /// A fenced or indented block of code.
    Block,
}

/// A piece of a page.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    pub(crate) text: Mapped,
    /// The language a block names, in lower case; empty without one.
    pub(crate) language: String,
    /// Headings above it and the paragraph before it.
    pub(crate) context: String,
    /// Whether it contains a trigger word for commands or calls.
    pub(crate) coded: bool,
}

/// Splits a page into pieces, without those in which no rule has a candidate. `matter` is the range
/// of the front matter.
pub(crate) fn pieces(text: &str, matter: Range<usize>, body: usize) -> Vec<Piece> {
    cut(text, matter, body, false)
}

fn cut(text: &str, matter: Range<usize>, body: usize, all: bool) -> Vec<Piece> {
    let mut cutter = Cutter {
        all,
        base: body,
        pieces: Vec::new(),
        headings: Vec::new(),
        before: String::new(),
        above: None,
        current: None,
        quotes: 0,
        heading: None,
        image: 0,
        html: None,
        hidden: false,
    };
    if !matter.is_empty() {
        cutter.add(Kind::Matter, Mapped::verbatim(&text[matter.clone()], matter.start), String::new());
    }
    let source = &text[body..];
    for (event, range) in
        Parser::new_ext(source, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).into_offset_iter()
    {
        cutter.add_event(event, range, source);
    }
    cutter.flush();
    cutter.close_html();
    // Definitions of links are not events. A line of the form `[//]: # (…)` is the known way to
    // write a comment.
    for (at, line) in lines(source) {
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix('[')
            && let Some((label, target)) = rest.split_once("]:")
            && !label.contains(['[', ']'])
            && (label == "//"
                || label.eq_ignore_ascii_case("comment")
                || target.trim_start().starts_with('#')
                || target.contains(['"', '(']))
        {
            let start = body + at + (line.len() - trimmed.len());
            cutter.add(Kind::Hidden, Mapped::verbatim(trimmed, start), String::new());
        }
    }
    cutter.pieces
}

/// Lines with where they begin.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let from = *at;
        *at += line.len();
        Some((from, line.trim_end_matches(['\n', '\r'])))
    })
}

struct Cutter {
    /// Whether pieces are kept in which no rule has a candidate.
    all: bool,
    base: usize,
    pieces: Vec<Piece>,
    headings: Vec<(HeadingLevel, String)>,
    before: String,
    /// The text above a table's row, while in one.
    above: Option<String>,
    current: Option<(Kind, Mapped, String)>,
    quotes: usize,
    heading: Option<HeadingLevel>,
    image: usize,
    html: Option<Mapped>,
    /// Inside an element that is not shown.
    hidden: bool,
}

impl Cutter {
    fn context(&self) -> String {
        let mut context: String = self.headings.iter().map(|(_, text)| format!("{text} / ")).collect();
        context.push_str(&self.before);
        context
    }

    fn add(&mut self, kind: Kind, text: Mapped, language: String) {
        // Most pieces contain no trigger word.
        let bytes = text.text.as_bytes();
        let hits = needles::hits(bytes, |hits| hits.has(Hits::CODE));
        let asks = hits.has(Hits::PROSE)
            || hits.has(Hits::CODE)
            || kind == Kind::Hidden
            || !text.text.is_ascii()
            || needles::spread(bytes);
        if (asks || self.all) && !text.text.trim().is_empty() {
            let context = self.context();
            self.pieces.push(Piece { kind, text, language, context, coded: hits.has(Hits::CODE) });
        }
    }

    fn flush(&mut self) {
        let Some((kind, text, language)) = self.current.take() else { return };
        let remembered = if kind == Kind::Block { String::new() } else { tail(&text.text, 300) };
        self.add(kind, text, language);
        if remembered.is_empty() {
            return;
        }
        // The cells of a row are context for each other, and the text above the table for all of
        // them.
        if self.above.is_some() {
            self.before.push_str(" | ");
            self.before.push_str(&remembered);
        } else {
            self.before = remembered;
        }
    }

    fn push(&mut self, text: &str, at: usize) {
        let kind = if self.hidden {
            Kind::Hidden
        } else if self.image > 0 {
            Kind::Aside
        } else if self.quotes > 0 {
            Kind::Quote
        } else {
            Kind::Text
        };
        if self.current.as_ref().is_some_and(|(open, ..)| *open != kind && *open != Kind::Block) {
            self.flush();
        }
        let (_, mapped, _) = self.current.get_or_insert_with(|| (kind, Mapped::default(), String::new()));
        mapped.push(text, at);
    }

    fn close_html(&mut self) {
        if let Some(html) = self.html.take() {
            self.markup(&html);
        }
    }

    fn add_event(&mut self, event: Event<'_>, range: Range<usize>, source: &str) {
        let at = self.base + range.start;
        if !matches!(event, Event::Html(_) | Event::End(TagEnd::HtmlBlock)) {
            self.close_html();
        }
        match event {
            Event::Start(Tag::TableRow) => {
                self.flush();
                self.above = Some(self.before.clone());
            }
            Event::End(TagEnd::TableRow) => {
                self.flush();
                self.before = self.above.take().unwrap_or_default();
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                self.flush();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => language(&info),
                    CodeBlockKind::Indented => String::new(),
                };
                self.current = Some((Kind::Block, Mapped::default(), language));
            }
            Event::Start(Tag::Heading { level, .. }) => {
                self.flush();
                self.heading = Some(level);
            }
            Event::End(TagEnd::Heading(_)) => {
                let text = self.current.as_ref().map(|(_, text, _)| text.text.clone()).unwrap_or_default();
                self.flush();
                if let Some(level) = self.heading.take() {
                    self.headings.retain(|(above, _)| *above < level);
                    self.headings.push((level, tail(&text, 200)));
                    self.before.clear();
                }
            }
            Event::Start(Tag::BlockQuote(_)) => {
                self.flush();
                self.quotes += 1;
            }
            Event::End(TagEnd::BlockQuote(_)) => {
                self.flush();
                self.quotes = self.quotes.saturating_sub(1);
            }
            Event::Start(Tag::Link { title, .. }) => self.aside(&title, range, source),
            Event::Start(Tag::Image { title, .. }) => {
                self.aside(&title, range, source);
                self.flush();
                self.image += 1;
            }
            Event::End(TagEnd::Image) => {
                self.flush();
                self.image = self.image.saturating_sub(1);
            }
            Event::Start(Tag::Paragraph | Tag::Item | Tag::Table(_) | Tag::TableCell | Tag::List(_))
            | Event::End(
                TagEnd::Paragraph | TagEnd::Item | TagEnd::CodeBlock | TagEnd::TableCell | TagEnd::TableHead,
            ) => self.flush(),
            Event::Text(text) => {
                // A character reference is one character, which is not in the source.
                self.push(&text, at);
            }
            Event::Code(code) => {
                let inner = source[range.clone()].find(&*code).map_or(at, |offset| at + offset);
                let count = self.pieces.len();
                self.add(Kind::Code, Mapped::verbatim(&code, inner), String::new());
                if let Some(last) = self.pieces.get_mut(count)
                    && let Some((_, text, _)) = &self.current
                {
                    last.context.push(' ');
                    last.context.push_str(&tail(&text.text, 200));
                }
                self.push("`", at);
                self.push(&code, inner);
                self.push("`", inner + code.len());
            }
            Event::SoftBreak | Event::HardBreak => self.push(" ", at),
            Event::Html(html) => self.html.get_or_insert_default().push(&html, at),
            Event::End(TagEnd::HtmlBlock) => self.close_html(),
            Event::InlineHtml(html) => self.inline(&html, at),
            _ => {}
        }
    }

    fn aside(&mut self, title: &str, range: Range<usize>, source: &str) {
        if !title.is_empty() {
            let offset = source[range.clone()].find(title).unwrap_or(0);
            self.add(Kind::Aside, Mapped::verbatim(title, self.base + range.start + offset), String::new());
        }
    }

    fn inline(&mut self, html: &str, at: usize) {
        if let Some(inner) = html.strip_prefix("<!--") {
            self.add(Kind::Hidden, Mapped::verbatim(inner.trim_end_matches("-->"), at + 4), String::new());
        } else if html.starts_with("</") {
            if self.hidden {
                self.flush();
                self.hidden = false;
            }
            self.push(" ", at);
        } else if unseen(html) {
            self.flush();
            self.hidden = true;
        } else {
            // The tag itself is kept: some look like messages of the system.
            self.push(html, at);
        }
    }

    /// A block of HTML: comments are separated, and tags are kept, since some look like system
    /// messages.
    fn markup(&mut self, html: &Mapped) {
        let text = &html.text;
        let mut rest = 0;
        let hidden = unseen(text);
        while rest < text.len() {
            let open = text[rest..].find("<!--").map_or(text.len(), |at| rest + at);
            if open > rest {
                let mut piece = Mapped::default();
                piece.push(&text[rest..open], html.source(rest));
                self.add(if hidden { Kind::Hidden } else { Kind::Text }, piece, String::new());
            }
            if open == text.len() {
                break;
            }
            let close = text[open..].find("-->").map_or(text.len(), |at| open + at);
            let mut piece = Mapped::default();
            for (at, line) in lines(&text[open + 4..close.max(open + 4).min(text.len())]) {
                piece.push(line, html.source(open + 4 + at));
                piece.push("\n", html.source(open + 4 + at + line.len()));
            }
            self.add(Kind::Hidden, piece, String::new());
            rest = (close + 3).min(text.len());
        }
    }
}

/// Whether an element's style makes it invisible.
fn unseen(tag: &str) -> bool {
    let lower: String =
        tag.chars().take(4096).filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
    [
        "display:none",
        "visibility:hidden",
        "font-size:0",
        "opacity:0;",
        "opacity:0\"",
        "opacity:0'",
        "color:white",
        "color:#fff",
        "color:transparent",
        "left:-9999",
    ]
    .iter()
    .any(|style| lower.contains(style))
        || tag.starts_with('<')
            && tag
                .split(['>', '='])
                .next()
                .is_some_and(|head| head.split_whitespace().any(|word| word == "hidden"))
}

/// The end of a text, at most the given number of bytes.
pub(crate) fn tail(text: &str, most: usize) -> String {
    let mut at = text.len().saturating_sub(most);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    text[at..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(Kind, String)> {
        cut(text, 0..0, 0, true)
            .into_iter()
            .map(|piece| (piece.kind, piece.text.text.trim().to_owned()))
            .collect()
    }

    #[test]
    fn pages_are_cut_into_pieces() {
        let check = |text: &str, expected: &[(Kind, &str)]| {
            let expected: Vec<_> = expected.iter().map(|&(kind, text)| (kind, text.to_owned())).collect();
            assert_eq!(shown(text), expected, "{text:?}");
        };
        check("one\ntwo **th**ree", &[(Kind::Text, "one two three")]);
        check("> quoted", &[(Kind::Quote, "quoted")]);
        check("a <!-- b --> c", &[(Kind::Hidden, "b"), (Kind::Text, "a  c")]);
        check("<!--\nb\n-->\n\nc", &[(Kind::Hidden, "b"), (Kind::Text, "c")]);
        check("[x](y \"title\")", &[(Kind::Aside, "title"), (Kind::Text, "x")]);
        check("![alt](y.png)", &[(Kind::Aside, "alt")]);
        check("`code`", &[(Kind::Code, "code"), (Kind::Text, "`code`")]);
        check("```sh\nls\n```", &[(Kind::Block, "ls")]);
        check("<span style=\"display: none\">x</span> y", &[(Kind::Hidden, "x"), (Kind::Text, "y")]);
        check("[//]: # (note)", &[(Kind::Hidden, "[//]: # (note)")]);
        check("I&#103;nore", &[(Kind::Text, "Ignore")]);
        check(
            "| a | b |\n|---|---|\n| c | d |",
            &[(Kind::Text, "a"), (Kind::Text, "b"), (Kind::Text, "c"), (Kind::Text, "d")],
        );
    }

    #[test]
    fn pieces_map_back_to_the_page() {
        let text = "- item\n\n  ```sh\n  ls -l\n  pwd\n  ```\n";
        let piece =
            cut(text, 0..0, 0, true).into_iter().find(|piece| piece.kind == Kind::Block).expect("a block");
        let at = piece.text.text.find("pwd").expect("there");
        assert_eq!(&text[piece.text.span(at..at + 3)], "pwd");
        assert_eq!(piece.context, "item");
    }
}
