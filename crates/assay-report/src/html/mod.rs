//! A self-contained HTML file: no script, font, image or network access.
//!
//! Its policy forbids the browser to load anything. Every name and text is escaped.

use assay_analysis::{Report, VerdictKind};

use crate::doc::{Block, Cell, Document, Grid, Section, Span, Verdict, spans};
use crate::links::Links;
use crate::plot::{DARK, Plot};
use crate::sections::document;
use crate::{Renderer, Style};

/// The words before the name of a run.
const REPORT: &str = "assay report";

const STYLE: &str = include_str!("style.css");

/// A page for screen and print.
pub(crate) struct Html;

impl Renderer for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn render(&self, report: &Report, _style: Style<'_>) -> String {
        page(&document(report))
    }
}

/// The style of every page, for pages that contain reports.
pub fn report_style() -> String {
    format!("{STYLE}@media screen and (prefers-color-scheme: dark) {{\n{DARK}}}\n")
}

/// A report as the content of a page: its header and its sections, with links to what the figures rest on.
pub fn run_html(report: &Report, links: &dyn Links) -> String {
    let document = document(report);
    let mut html = String::new();
    header(&mut html, REPORT, &document);
    sections(&mut html, &document, links);
    html
}

/// A document as a page.
pub(crate) fn page(document: &Document) -> String {
    page_of(REPORT, document)
}

/// A document as a page whose title begins with these words.
pub(crate) fn page_of(kind: &str, document: &Document) -> String {
    let run = escape(&document.run);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>assay: {run}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
        report_style()
    );
    header(&mut html, kind, document);
    html.push_str("<main>\n");
    sections(&mut html, document, &());
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

/// The title, the answer, and where the figures come from.
fn header(html: &mut String, kind: &str, document: &Document) {
    html.push_str("<header>\n");
    if let Some(warning) = document.demonstration {
        html.push_str(&format!("<p class=\"demonstration\" role=\"note\">{}</p>\n", words(warning)));
    }
    let outcome = match document.outcome.as_str() {
        "" => String::new(),
        outcome => format!(" <span>{}</span>", escape(outcome)),
    };
    html.push_str(&format!("<h1><span>{kind}</span> {}{outcome}</h1>\n", escape(&document.run)));
    for (class, text) in
        [("answer", &document.answer), ("provenance", &document.provenance), ("facts", &document.facts)]
    {
        if !text.is_empty() {
            html.push_str(&format!("<p class=\"{class}\">{}</p>\n", words(text)));
        }
    }
    if !document.notes.is_empty() {
        html.push_str("<aside class=\"notes\" aria-label=\"Notes\">\n");
        list(html, &document.notes);
        html.push_str("</aside>\n");
    }
    html.push_str("</header>\n");
}

fn sections(html: &mut String, document: &Document, links: &dyn Links) {
    if document.sections.len() > 2 {
        html.push_str("<nav class=\"contents\" aria-label=\"Sections\"><ul>\n");
        for (number, part) in document.sections.iter().enumerate() {
            html.push_str(&format!("<li><a href=\"#part-{number}\">{}</a></li>\n", escape(part.title)));
        }
        html.push_str("</ul></nav>\n");
    }
    for (number, part) in document.sections.iter().enumerate() {
        section(html, number, part, links);
    }
}

fn section(html: &mut String, number: usize, section: &Section, links: &dyn Links) {
    html.push_str(&format!(
        "<section aria-labelledby=\"part-{number}\">\n<h2 id=\"part-{number}\">{}</h2>\n",
        escape(section.title)
    ));
    for block in &section.blocks {
        match block {
            Block::Who(who) => html.push_str(&format!("<h3>{}</h3>\n", escape(who))),
            Block::Text(text) => html.push_str(&format!("<p>{}</p>\n", words(text))),
            Block::List(lines) => list(html, lines),
            Block::Verdict(found) => verdict(html, found, links),
            Block::Grid(grid) if grid.folded => folded(html, grid, links),
            Block::Grid(grid) => table(html, grid, links),
            Block::Plot(plot) => figure(html, plot),
        }
    }
    html.push_str("</section>\n");
}

fn list(html: &mut String, lines: &[String]) {
    html.push_str("<ul>\n");
    for line in lines {
        html.push_str(&format!("<li>{}</li>\n", words(line)));
    }
    html.push_str("</ul>\n");
}

fn verdict(html: &mut String, verdict: &Verdict, links: &dyn Links) {
    // A shape besides color and word.
    let sign = match verdict.kind {
        Some(VerdictKind::Helps) => "▲",
        Some(VerdictKind::Harms) => "▼",
        Some(VerdictKind::Negligible) => "■",
        Some(VerdictKind::Inconclusive) => "○",
        None => "…",
    };
    let word = verdict.word();
    let href = verdict.target.as_ref().and_then(|target| links.href(target));
    html.push_str(&format!(
        "<div class=\"verdict {word}\">\n<p class=\"word\"><span aria-hidden=\"true\">{sign}</span> {word}</p>\n\
         <p><b>{}</b> against {}. {}{}</p>\n</div>\n",
        escape(&verdict.condition),
        escape(&verdict.baseline),
        words(&verdict.sentence),
        href.map_or(String::new(), |href| format!(" <a href=\"{}\">Pairs of trials</a>", escape(&href)))
    ));
}

/// A table whose figures are in a plot or in another table.
fn folded(html: &mut String, grid: &Grid, links: &dyn Links) {
    let caption = if grid.caption.is_empty() { "Figures" } else { &grid.caption };
    html.push_str(&format!("<details class=\"figures\"><summary>Table: {}</summary>\n", words(caption)));
    table(html, grid, links);
    html.push_str("</details>\n");
}

fn table(html: &mut String, grid: &Grid, links: &dyn Links) {
    let name = if grid.caption.is_empty() { "Table" } else { &grid.caption };
    // A table that is wider than the page scrolls, also by keyboard.
    html.push_str(&format!(
        "<div class=\"table\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">\n<table>\n",
        escape(name)
    ));
    if !grid.caption.is_empty() {
        html.push_str(&format!("<caption>{}</caption>\n", words(&grid.caption)));
    }
    let class = |numbers: bool| if numbers { " class=\"n\"" } else { "" };
    // A group's name is a separate row.
    let shown = usize::from(grid.grouped);
    html.push_str("<thead>\n<tr>");
    for column in grid.columns.iter().skip(shown) {
        html.push_str(&format!(
            "<th scope=\"col\"{}>{}</th>",
            class(column.numbers),
            cell(&column.title, links)
        ));
    }
    html.push_str("</tr>\n</thead>\n<tbody>\n");
    let mut group = None;
    for row in &grid.rows {
        if let Some(name) = row.first().filter(|name| grid.grouped && group != Some(*name)) {
            if group.is_some() {
                html.push_str("</tbody>\n<tbody>\n");
            }
            group = Some(name);
            let across = grid.columns.len() - 1;
            html.push_str(&format!(
                "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{across}\">{}</th></tr>\n",
                cell(name, links)
            ));
        }
        html.push_str("<tr>");
        for (number, (item, column)) in row.iter().zip(&grid.columns).skip(shown).enumerate() {
            let class = match shade(item) {
                Some(shade) => format!(" class=\"n heat h{shade}\""),
                None => class(column.numbers).to_owned(),
            };
            html.push_str(&if number == 0 {
                format!("<th scope=\"row\"{class}>{}</th>", cell(item, links))
            } else {
                format!("<td{class}>{}</td>", cell(item, links))
            });
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
}

fn figure(html: &mut String, plot: &Plot) {
    html.push_str(&format!("<figure>\n<figcaption>{}</figcaption>\n", words(&plot.caption)));
    // The styles show one of the two. A drawing that is wider than the screen scrolls, also by keyboard.
    let class = if plot.narrow.is_some() { "plot wide" } else { "plot" };
    svg(html, class, plot.size, &plot.description, &plot.body);
    if let Some((size, body)) = &plot.narrow {
        svg(html, "plot narrow", *size, &plot.description, body);
    }
    html.push_str("</figure>\n");
}

fn svg(html: &mut String, class: &str, (width, height): (i32, i32), description: &str, body: &str) {
    html.push_str(&format!(
        "<div class=\"{class}\" tabindex=\"0\" role=\"group\" aria-label=\"Plot\">\n\
         <svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">\n{body}</svg>\n\
         </div>\n",
        escape(description)
    ));
}

fn cell(item: &Cell, links: &dyn Links) -> String {
    match item {
        Cell::Name(name) => escape(name),
        Cell::Text(text) => words(text),
        Cell::Shaded(inner, _) => cell(inner, links),
        Cell::Link(inner, target) => {
            let text = cell(inner, links);
            match links.href(target) {
                Some(href) => format!("<a href=\"{}\">{text}</a>", escape(&href)),
                None => text,
            }
        }
    }
}

/// The shade of a cell of a heat map, from 0 to 10.
fn shade(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Shaded(_, rate) => Some(format!("{:.0}", 10.0 * rate.clamp(0.0, 1.0))),
        _ => None,
    }
}

/// Escaped text with code spans.
fn words(text: &str) -> String {
    spans(text)
        .into_iter()
        .map(|span| match span {
            Span::Plain(text) => escape(text),
            Span::Code(text) => format!("<code>{}</code>", escape(text)),
        })
        .collect()
}

pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
