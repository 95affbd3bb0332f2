use std::collections::BTreeSet;

use assay_audit::adherence::Status;
use assay_audit::calibrated::Finding;
use assay_audit::view::{Aligned, Cell, DirectiveRow, Evidence, OpeningOrder, Passage, RowKind, Skill, View};

use super::{
    action_label, by_pattern, caution, check_result, clean_lines, differing_directives, facts, is_listed,
    line_of, lines_of, other_directives, remarks, status, word,
};
use crate::html::escape;
use crate::text::{clean, count, counted};

const STYLE: &str = include_str!("style.css");

/// Longer texts are folded, in lines and in characters.
const FOLDED: (usize, usize) = (8, 900);

/// Directives shown at a step; more are folded.
const EVIDENCE: usize = 5;

/// The style of a pair, for pages that contain one.
pub const PAIR_STYLE: &str = STYLE;

/// How much of a pair is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairOptions {
    /// Whether rows of equal actions are left out.
    pub differences_only: bool,
    /// Whether conditions, outcomes and everything about the skill are hidden.
    pub blind: bool,
}

impl PairOptions {
    /// The headings of the two runs.
    fn sides(self) -> [&'static str; 2] {
        if self.blind { ["run A", "run B"] } else { ["with the skill", "without"] }
    }

    /// How a kind of row is called.
    fn word(self, kind: RowKind) -> &'static str {
        match (self.blind, kind) {
            (true, RowKind::OnlyWith) => "only A",
            (true, RowKind::OnlyWithout) => "only B",
            _ => word(kind),
        }
    }
}

/// The view as a self-contained HTML file: no script, font, image or network access. Every text is
/// escaped.
pub fn view_html(view: &View) -> String {
    let name = escape(&clean(&view.task));
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>assay: {name}, side by side</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n\
         <h1><span>assay audit show</span> {name}: two runs side by side</h1>\n<p>{}</p>\n",
        caution(view)
    );
    summary(&mut html, view);
    html.push_str("</header>\n<main>\n");
    parts(&mut html, view, PairOptions::default());
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

/// Two runs side by side as the content of a page.
pub fn pair_html(view: &View, options: PairOptions) -> String {
    let mut html = String::new();
    if !options.blind {
        html.push_str(&format!("<p>{}</p>\n", caution(view)));
        summary(&mut html, view);
    }
    parts(&mut html, view, options);
    html
}

fn parts(html: &mut String, view: &View, options: PairOptions) {
    if !options.blind {
        checks(html, view);
        directives(html, view);
    }
    steps(html, view, options);
    if !options.blind {
        html.push_str("<section aria-labelledby=\"skill\">\n<h2 id=\"skill\">The skill</h2>\n");
        skill(html, &view.skill);
        html.push_str("</section>\n");
    }
}

fn summary(html: &mut String, view: &View) {
    html.push_str(
        "<table class=\"facts\">\n<thead>\n<tr><td></td><th scope=\"col\">with the skill</th><th scope=\"col\">without</th></tr>\n</thead>\n<tbody>\n",
    );
    for [fact, with, without] in facts(view) {
        html.push_str(&format!(
            "<tr><th scope=\"row\">{fact}</th><td>{}</td><td>{}</td></tr>\n",
            escape(&with),
            escape(&without)
        ));
    }
    html.push_str("</tbody>\n</table>\n");
}

/// The checks of the verifier, the changed ones first.
fn checks(html: &mut String, view: &View) {
    if view.checks.is_empty() {
        return;
    }
    html.push_str(
        "<section aria-labelledby=\"checks\">\n<h2 id=\"checks\">Checks of the verifier</h2>\n<table class=\"matches\">\n<thead>\n\
         <tr><th scope=\"col\">check</th><th scope=\"col\">with the skill</th><th scope=\"col\">without</th>\
         <th scope=\"col\">change</th><th scope=\"col\">message of the run that failed</th></tr>\n</thead>\n<tbody>\n",
    );
    for row in &view.checks {
        let [with, without, change] = check_result(row);
        html.push_str(&format!(
            "<tr><td>{}</td><td>{with}</td><td>{without}</td><td><b>{change}</b></td><td>{}</td></tr>\n",
            quote(&row.check),
            quote(&row.message)
        ));
    }
    html.push_str("</tbody>\n</table>\n</section>\n");
}

/// The directives with their status in both runs; those that do not differ are folded.
fn directives(html: &mut String, view: &View) {
    html.push_str(&format!(
        "<section aria-labelledby=\"directives\">\n<h2 id=\"directives\">Directives of the skill</h2>\n<p>{}.</p>\n",
        differing_directives(view)
    ));
    let (listed, others): (Vec<_>, Vec<_>) = view.directives.iter().partition(|row| is_listed(row));
    directive_table(html, &listed, view.with.opened_at);
    if let Some(summary) = other_directives(view) {
        html.push_str(&format!("<details><summary>{summary}</summary>"));
        directive_table(html, &others, view.with.opened_at);
        html.push_str("</details>\n");
    }
    for finding in &view.findings {
        html.push_str(&format!(
            "<p class=\"finding\">◂ <b>{}</b>: {}</p>\n",
            finding.pattern.name().replace('_', " "),
            quote(&finding.sentence)
        ));
    }
    html.push_str("</section>\n");
}

fn directive_table(html: &mut String, rows: &[&DirectiveRow], opened_at: Option<usize>) {
    if rows.is_empty() {
        return;
    }
    html.push_str(
        "<table class=\"matches\">\n<thead>\n<tr><th scope=\"col\">line</th><th scope=\"col\">directive</th>\
         <th scope=\"col\">with the skill</th><th scope=\"col\">without</th><th scope=\"col\">changed checks</th></tr>\n</thead>\n<tbody>\n",
    );
    for row in rows {
        html.push_str(&format!(
            "<tr><td class=\"n\">{}</td><td><code>{}</code><br><q>{}</q></td><td>{}",
            quote(&line_of(&row.file, row.line)),
            quote(&row.subject),
            quote(row.text.trim()),
            status(row, &row.with)
        ));
        if let Some(location) = &row.with.location {
            let when = match opened_at {
                None => OpeningOrder::Unread,
                Some(opened) if location.step > 0 && location.step <= opened => OpeningOrder::Before,
                Some(_) => OpeningOrder::After,
            };
            let step = match location.step {
                0 => String::new(),
                step => format!("<a href=\"#step-{step}\">step {step}</a> "),
            };
            html.push_str(&format!(
                "<br>{step}{}, {}: <q>{}</q>",
                location.manner.name(),
                emphasis(when, short(when)),
                quote(&location.text)
            ));
        }
        let checks: Vec<String> = row.checks.iter().map(|check| quote(&check.check)).collect();
        html.push_str(&format!(
            "</td><td>{}</td><td>{}</td></tr>\n",
            status(row, &row.without),
            checks.join(", ")
        ));
    }
    html.push_str("</tbody>\n</table>\n");
}

fn short(when: OpeningOrder) -> &'static str {
    match when {
        OpeningOrder::Before => "before",
        OpeningOrder::After => "after",
        OpeningOrder::Unread => "not opened",
    }
}

/// Marks matches after the skill was opened.
fn emphasis(when: OpeningOrder, words: &str) -> String {
    let class = if when == OpeningOrder::After { "after" } else { "not-after" };
    format!("<b class=\"{class}\">{words}</b>")
}

fn steps(html: &mut String, view: &View, options: PairOptions) {
    html.push_str(
        "<section aria-labelledby=\"steps\">\n<h2 id=\"steps\">Aligned steps</h2>\n<ul class=\"legend\">\n",
    );
    let [first, second] = options.sides();
    for kind in RowKind::ALL {
        let what = match kind {
            RowKind::Shared => "same action, same target".to_owned(),
            RowKind::OnlyWith if options.blind => "only in run A".to_owned(),
            RowKind::OnlyWithout if options.blind => "only in run B".to_owned(),
            RowKind::OnlyWith => "only in the run with the skill".to_owned(),
            RowKind::OnlyWithout => "only in the run without the skill".to_owned(),
            RowKind::OtherTarget => "same action, different target".to_owned(),
        };
        html.push_str(&format!(
            "<li class=\"{}\"><b>{} {}</b> {what}: {}</li>\n",
            kind.name(),
            kind.sign(),
            options.word(kind),
            counted(view.counts[kind.name()], "row", "rows")
        ));
    }
    html.push_str(&format!(
        "</ul>\n<table class=\"steps\">\n<thead>\n<tr><td></td><th scope=\"col\">{first}</th><th scope=\"col\">{second}</th></tr>\n</thead>\n<tbody>\n",
    ));
    let (mut phases, mut last, mut different) = (["", ""], 0, false);
    for row in &view.rows {
        let equal = row.kind == RowKind::Shared && row.differs.is_empty();
        // Rows that show a directive are linked to.
        let shows = |cell: &Option<Cell>| cell.as_ref().is_some_and(|cell| !cell.evidence.is_empty());
        if equal && options.differences_only && !shows(&row.with) && !shows(&row.without) {
            continue;
        }
        // The first difference can be linked to.
        let id = if equal || different { "" } else { " id=\"first-difference\"" };
        different |= !equal;
        html.push_str(&format!(
            "<tr class=\"{}\"{id}><th scope=\"row\"><b>{}</b> {}",
            row.kind.name(),
            row.kind.sign(),
            options.word(row.kind)
        ));
        html.push_str(&row.differs.iter().map(|what| format!(", other {what}")).collect::<String>());
        html.push_str("</th>");
        for (side, cell) in [&row.with, &row.without].into_iter().enumerate() {
            let Some(cell) = cell else {
                html.push_str("<td class=\"none\"></td>");
                continue;
            };
            html.push_str("<td>");
            if phases[side] != cell.phase {
                html.push_str(&format!("<p class=\"phase\">{}</p>", cell.phase));
                phases[side] = cell.phase;
            }
            // Links lead to the first of several cells of a step.
            let named = side == 0 && last != cell.step;
            if side == 0 {
                last = cell.step;
            }
            self::cell(html, cell, row, named, options);
            html.push_str("</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</section>\n");
}

fn cell(html: &mut String, cell: &Cell, row: &Aligned, named: bool, options: PairOptions) {
    let id = if named { format!(" id=\"step-{}\"", cell.step) } else { String::new() };
    let remarks: String =
        remarks(cell).into_iter().map(|remark| format!(" <span class=\"tag\">{remark}</span>")).collect();
    let target =
        if cell.target.is_empty() { String::new() } else { format!(" <code>{}</code>", quote(&cell.target)) };
    html.push_str(&format!(
        "<p class=\"head\"{id}><b>{}</b> {}{target}{remarks}</p>",
        cell.step,
        action_label(cell)
    ));
    if cell.opened && !options.blind {
        html.push_str("<p class=\"opened\">◆ the skill was opened here</p>");
    }
    // Marks are evidence of the skill.
    let marks: BTreeSet<&str> = cell
        .evidence
        .iter()
        .filter(|_| !options.blind)
        .map(|evidence| evidence.trace_text.as_str())
        .collect();
    passage(html, "thought", &cell.thought, &marks, true);
    // Identical text is shown once.
    let same = row.kind == RowKind::Shared && row.differs.is_empty();
    passage(html, "", &cell.said, &marks, same && cell.said.text.lines().count() > 1);
    for (name, text) in &cell.input {
        passage(html, name, text, &marks, false);
    }
    let (name, fold) = match cell.act {
        "prompt" => ("", false),
        "injected" => ("message", true),
        _ => ("result", true),
    };
    passage(html, name, &cell.output, &BTreeSet::new(), fold);
    if options.blind {
        return;
    }
    evidence(html, &cell.evidence);
    for (pattern, findings) in by_pattern(&cell.findings) {
        let line = |finding: &&Finding| format!("<li>{}</li>", quote(&finding.sentence));
        let lines: String = findings.iter().map(line).collect();
        html.push_str(&format!("<div class=\"finding\">◂ <b>{pattern}</b><ul>{lines}</ul></div>"));
    }
}

/// A text, folded if it is long or `fold` is set.
fn passage(html: &mut String, name: &str, passage: &Passage, marks: &BTreeSet<&str>, fold: bool) {
    if passage.is_empty() {
        return;
    }
    let lines: Vec<String> = clean_lines(&passage.text)
        .into_iter()
        .map(
            |line| {
                if marked(&line, marks) { format!("<mark>{}</mark>", escape(&line)) } else { escape(&line) }
            },
        )
        .collect();
    let more = match passage.more {
        0 => String::new(),
        more => format!("\n<i>… {} characters more</i>", count(more as f64)),
    };
    let class = if name.is_empty() { " class=\"said\"" } else { "" };
    let text = format!("<pre{class}>{}{more}</pre>", lines.join("\n"));
    let long = lines.len() > FOLDED.0 || passage.text.len() > FOLDED.1;
    if fold || long {
        let name = if name.is_empty() { "message" } else { name };
        html.push_str(&format!(
            "<details><summary>{}, {}</summary>{text}</details>",
            quote(name),
            lines_of(&passage.text)
        ));
    } else if name.is_empty() {
        html.push_str(&text);
    } else if let ([line], 0) = (lines.as_slice(), passage.more) {
        html.push_str(&format!("<p class=\"name\">{} <code>{line}</code></p>", quote(name)));
    } else {
        html.push_str(&format!("<p class=\"name\">{}</p>{text}", quote(name)));
    }
}

/// Whether a line has a match. Quotes of long lines end in an ellipsis.
fn marked(line: &str, marks: &BTreeSet<&str>) -> bool {
    let line = line.trim();
    let cut =
        |mark: &&str| mark.strip_suffix('…').is_some_and(|mark| !mark.is_empty() && line.starts_with(mark));
    !line.is_empty() && (marks.contains(line) || marks.iter().any(cut))
}

fn evidence(html: &mut String, all: &[Evidence]) {
    let (open, folded) = all.split_at(all.len().min(EVIDENCE));
    let list = |html: &mut String, some: &[Evidence]| {
        html.push_str("<ul class=\"evidence\">");
        for evidence in some {
            html.push_str(&format!(
                "<li>◂ skill {}, {}{}: <q>{}</q><br>{}: <q>{}</q></li>",
                quote(&line_of(&evidence.skill_file, evidence.skill_line)),
                if evidence.status == Status::Violated { "violated, " } else { "" },
                emphasis(evidence.when, evidence.when.name()),
                quote(&evidence.skill_text),
                evidence.manner,
                quote(&evidence.trace_text)
            ));
        }
        html.push_str("</ul>");
    };
    if !open.is_empty() {
        list(html, open);
    }
    if !folded.is_empty() {
        let more = counted(folded.len(), "more line", "more lines");
        html.push_str(&format!("<details><summary>{more} of the skill</summary>"));
        list(html, folded);
        html.push_str("</details>");
    }
}

/// The complete skill, folded, with matching lines marked.
fn skill(html: &mut String, skill: &Skill) {
    html.push_str(&format!(
        "<details><summary>{}, {}</summary><pre class=\"skill\">",
        quote(&skill.name),
        counted(skill.lines.len(), "line", "lines")
    ));
    for line in &skill.lines {
        let text = quote(&line.text);
        html.push_str(&format!("<span>{:>4}</span>  ", line.line));
        html.push_str(&if line.places.is_empty() { text } else { format!("<mark>{text}</mark> ◂") });
        html.push('\n');
    }
    html.push_str("</pre></details>\n");
}

/// A hostile text in one line.
fn quote(text: &str) -> String {
    escape(&clean(text))
}
