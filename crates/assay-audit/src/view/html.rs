//! The view as one page that needs nothing beside it: no scripts, no fonts, no pictures from elsewhere.

use super::{Finding, FindingPlace, Row, RowKind, Shown, Side, View};

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --dim: #7a7a7a; --shared: transparent; --with: #2e8b5733; --without: #b2444433; --other: #b8860b33; --skill: #4169e122; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th.mark, td.mark { width: 6.5rem; color: var(--dim); font-size: .85em; }
code, .quote { font: 13px/1.4 ui-monospace, monospace; white-space: pre-wrap; }
.step { color: var(--dim); font-size: .8em; } .failed { color: #c0392b; font-weight: 600; }
tr.shared { background: var(--shared); } tr.with td.a { background: var(--with); }
tr.without td.b { background: var(--without); } tr.other td.a, tr.other td.b { background: var(--other); }
tr.phase td { font-weight: 600; background: #8881; } tr.skill td { background: var(--skill); border-left: 3px solid #4169e1; }
tr.skill .quote { display: block; margin: .1rem 0; } .key span { padding: .1rem .5rem; margin-right: .5rem; }
.key .with { background: var(--with); } .key .without { background: var(--without); } .key .other { background: var(--other); } .key .skill { background: var(--skill); }
";

/// The page.
pub fn html(view: &View) -> String {
    let skill = escape(&view.skill);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{skill}: two runs side by side</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>{skill}: a run with the skill beside one without</h1>\n"
    );
    page.push_str("<table>\n<tr><th></th><th>with</th><th>without</th></tr>\n");
    let mut fact = |name: &str, of: fn(&Side) -> String| {
        page.push_str(&format!(
            "<tr><th>{name}</th><td>{}</td><td>{}</td></tr>\n",
            escape(&of(&view.with)),
            escape(&of(&view.without))
        ));
    };
    fact("trace", |side| side.trace.clone());
    fact("steps", |side| side.steps.to_string());
    fact("actions", |side| match side.left_out {
        0 => side.actions.to_string(),
        left => format!("{}, of which the last {left} are not shown", side.actions),
    });
    fact("skill listed", |side| at(side.listed));
    fact("skill touched", |side| at(side.touched));
    fact("skill opened", |side| at(side.opened));
    page.push_str("</table>\n");
    let counts: Vec<String> =
        RowKind::ALL.into_iter().map(|kind| format!("{} {}", view.count(kind), kind.name())).collect();
    page.push_str(&format!(
        "<p>Actions: {}. Lines of the skill that turn up in the run with it, and neither in the run without nor in the task: {}. \
         Adoption {:.2}.</p>\n\
         <p class=\"key\"><span class=\"with\">only with</span><span class=\"without\">only without</span>\
         <span class=\"other\">other target</span><span>shared</span><span class=\"skill\">the skill’s line</span></p>\n",
        counts.join(", "),
        view.findings.len(),
        view.adoption
    ));
    page.push_str("<h2>Step against step</h2>\n<table>\n<tr><th class=\"mark\"></th><th>with</th><th>without</th></tr>\n");
    let mut phases = ("", "");
    let mut told = 0;
    for row in &view.rows {
        let phase = |side: &Option<Shown>, known| side.as_ref().map_or(known, |shown| shown.phase);
        let now = (phase(&row.with, phases.0), phase(&row.without, phases.1));
        if now != phases {
            page.push_str(&format!(
                "<tr class=\"phase\"><td class=\"mark\">phase</td><td>{}</td><td>{}</td></tr>\n",
                now.0, now.1
            ));
            phases = now;
        }
        page.push_str(&line(row));
        // A step of several calls is followed by its findings once.
        if let Some(shown) = row.with.as_ref().filter(|shown| shown.step > told) {
            told = shown.step;
            for (finding, place) in view.at(shown.step) {
                page.push_str(&found(finding, place));
            }
        }
    }
    page.push_str("</table>\n");
    let elsewhere: String = view.elsewhere().map(|(finding, place)| found(finding, place)).collect();
    if !elsewhere.is_empty() {
        page.push_str(&format!(
            "<h2>The skill’s lines in what was only said</h2>\n<table>\n<tr><th class=\"mark\"></th><th>the skill</th>\
             <th>the run</th></tr>\n{elsewhere}</table>\n"
        ));
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn at(step: Option<usize>) -> String {
    step.map_or_else(|| "never".to_owned(), |step| format!("step {step}"))
}

fn line(row: &Row) -> String {
    let class = match row.kind {
        RowKind::Shared => "shared",
        RowKind::OtherTarget => "other",
        RowKind::OnlyWith => "with",
        RowKind::OnlyWithout => "without",
    };
    let mut mark = row.kind.name().to_owned();
    if row.other_content {
        mark.push_str(", other content");
    }
    if row.other_outcome {
        mark.push_str(", other outcome");
    }
    format!(
        "<tr class=\"{class}\"><td class=\"mark\">{mark}</td><td class=\"a\">{}</td><td class=\"b\">{}</td></tr>\n",
        cell(row.with.as_ref()),
        cell(row.without.as_ref())
    )
}

fn cell(shown: Option<&Shown>) -> String {
    let Some(shown) = shown else { return String::new() };
    let check = if shown.check { " (a check)" } else { "" };
    let failed = if shown.failed { " <span class=\"failed\">failed</span>" } else { "" };
    format!(
        "<span class=\"step\">{}</span> {}{check}{failed} <code>{}</code>",
        shown.step,
        shown.verb,
        escape(&shown.target)
    )
}

fn found(finding: &Finding, place: &FindingPlace) -> String {
    let order = match place.after_opening {
        Some(true) => ", after the skill was opened",
        Some(false) => ", before the skill was opened",
        None => ", though the skill was never opened",
    };
    let more = match finding.places.len() {
        0 | 1 => String::new(),
        2 => ", and in one more place".to_owned(),
        count => format!(", and in {} more places", count - 1),
    };
    format!(
        "<tr class=\"skill\"><td class=\"mark\">skill, line {}</td><td><span class=\"quote\">{}</span></td>\
         <td><span class=\"step\">step {}, {}{order}{more}</span><span class=\"quote\">{}</span></td></tr>\n",
        finding.skill_line,
        escape(&finding.skill_text),
        place.step,
        place.manner,
        escape(&place.text)
    )
}

/// Text of others: what is markup is shown, and so is what is not seen but turns the direction of writing.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() => escaped.push('\u{fffd}'),
            '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                escaped.push('\u{fffd}');
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_trace_is_markup() {
        let side = Side {
            trace: "<b>&\"".to_owned(),
            steps: 1,
            actions: 1,
            left_out: 0,
            listed: None,
            touched: None,
            opened: Some(1),
        };
        let hostile = "</td><script>alert('x')</script>\u{202e}\u{1b}[31m";
        let shown = Shown {
            step: 1,
            verb: "run",
            target: hostile.to_owned(),
            phase: "orientation",
            failed: true,
            check: false,
        };
        let place =
            FindingPlace { step: 1, manner: "run", text: hostile.to_owned(), after_opening: Some(true) };
        let view = View {
            skill: hostile.to_owned(),
            with: side.clone(),
            without: side,
            adoption: 0.5,
            rows: vec![Row {
                kind: RowKind::OnlyWith,
                with: Some(shown),
                without: None,
                other_content: false,
                other_outcome: false,
            }],
            findings: vec![Finding {
                skill_line: 3,
                skill_text: hostile.to_owned(),
                weight: 1.0,
                places: vec![place],
            }],
        };
        let page = html(&view);
        assert!(
            !page.contains("<script") && !page.contains('\u{202e}') && !page.contains('\u{1b}'),
            "{page}"
        );
        assert_eq!(page.matches("&lt;script&gt;").count(), 5, "{page}");
        assert!(page.contains("skill, line 3") && page.contains("after the skill was opened"), "{page}");
    }
}
