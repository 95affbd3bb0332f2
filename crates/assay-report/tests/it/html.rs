use std::collections::BTreeSet;

use assay_analysis::Report;
use assay_report::{Style, find_renderer};

use crate::runs::{HOSTILE, Run, poor, small, whole};

fn page(report: &Report) -> String {
    find_renderer("html").unwrap().render(report, Style::default())
}

/// Elements that have no end.
const VOID: [&str; 2] = ["meta", "br"];

/// The tags of a page, in order: name, attributes, whether it closes, whether it closes itself.
pub(crate) fn tags(page: &str) -> Vec<(String, String, bool, bool)> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(open) = rest.find('<') {
        let end = rest[open..].find('>').map(|end| open + end).unwrap();
        let inside = &rest[open + 1..end];
        rest = &rest[end + 1..];
        if inside.starts_with("!DOCTYPE") {
            continue;
        }
        let closes = inside.starts_with('/');
        let inside = inside.trim_start_matches('/');
        let itself = inside.ends_with('/');
        let name = inside.split([' ', '/', '\n']).next().unwrap();
        tags.push((name.to_owned(), inside[name.len()..].to_owned(), closes, itself));
        // The style sheet contains `>` and is not markup.
        if name == "style" && !closes {
            rest = &rest[rest.find("</style>").unwrap()..];
        }
    }
    tags
}

pub(crate) fn well_formed(name: &str, page: &str) {
    let mut stack: Vec<String> = Vec::new();
    for (tag, attributes, closes, itself) in tags(page) {
        assert!(tag.chars().all(|c| c.is_ascii_alphanumeric()), "{name}: <{tag}{attributes}>");
        assert_eq!(attributes.matches('"').count() % 2, 0, "{name}: <{tag}{attributes}>");
        if closes {
            assert_eq!(stack.pop().as_deref(), Some(tag.as_str()), "{name}: </{tag}> after {stack:?}");
        } else if !itself && !VOID.contains(&tag.as_str()) {
            stack.push(tag);
        }
    }
    assert_eq!(stack, Vec::<String>::new(), "{name}");
    for nothing in ["NaN", ">inf<", "-inf", "\"inf"] {
        assert!(!page.contains(nothing), "{name}: {nothing}");
    }
}

#[test]
fn pages_are_well_formed_for_all_runs() {
    well_formed("small", &page(&small().report()));
    well_formed("whole", &page(&whole().report()));
    for (name, run) in poor() {
        well_formed(name, &page(&run.report()));
    }
}

#[test]
fn pages_load_and_run_nothing() {
    let page = page(&whole().report());
    for (tag, attributes, _, _) in tags(&page) {
        let known = [
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "header",
            "main",
            "section",
            "aside",
            "h1",
            "h2",
            "h3",
            "p",
            "ul",
            "li",
            "div",
            "span",
            "b",
            "code",
            "table",
            "caption",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "figure",
            "figcaption",
            "svg",
            "rect",
            "text",
            "line",
            "polyline",
            "polygon",
            "circle",
        ];
        assert!(known.contains(&tag.as_str()), "<{tag}>");
        for name in attributes.split('"').step_by(2).map(|name| name.trim().trim_end_matches('=')) {
            assert!(
                !name.starts_with("on") && !["src", "href", "style", "xmlns", "srcset"].contains(&name),
                "<{tag} {name}>"
            );
        }
    }
    let style = &page[page.find("<style>").unwrap()..page.find("</style>").unwrap()];
    assert!(!style.contains("url(") && !style.contains("@import"), "{style}");
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn names_are_text_everywhere() {
    let page = page(&whole().report());
    assert!(
        page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;|`a`\u{fffd}\u{fffd}&quot;&amp;"),
        "{page}"
    );
    // In a drawing, where the library escapes.
    assert!(page.contains("&lt;script&gt;alert(&apos;x&apos;)"), "{page}");
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
    for dangerous in ["<script", "<img", "<b>\n", "\u{202e}", HOSTILE] {
        assert!(!page.contains(dangerous), "{dangerous}");
    }
    assert!(page.contains("<title>assay: whole-&lt;b&gt;</title>"));
}

#[test]
fn demonstration_is_announced_first() {
    let warning = "Demonstration: no model was measured";
    let scripted = page(&Run { scripted: true, ..small() }.report());
    assert!(scripted.find(warning).unwrap() < scripted.find("<h1>").unwrap());
    assert!(!page(&small().report()).contains(warning));
}

#[test]
fn every_plot_has_a_description() {
    let page = page(&whole().report());
    let svgs: Vec<String> = tags(&page)
        .into_iter()
        .filter(|(tag, _, closes, _)| tag == "svg" && !closes)
        .map(|tag| tag.1)
        .collect();
    // Forest of the verdicts, exposure, heat of two agents, gains and losses, cost.
    assert_eq!(svgs.len(), 6 + 1, "{svgs:#?}");
    for svg in svgs {
        assert!(
            svg.contains("role=\"img\"")
                && svg.contains("aria-label=\"")
                && svg.contains("viewBox=\"0 0 960 "),
            "{svg}"
        );
    }
    assert_eq!(page.matches("<figcaption>").count(), 7);
    for label in [
        "Forest plot of lifts. curated",
        "Scatter plot of cost",
        "Heat map of 6 tasks",
        "Skill exposure funnel",
        "Bar chart of the",
    ] {
        assert!(page.contains(&format!("aria-label=\"{label}")), "{label}");
    }
}

#[test]
fn empty_plots_are_left_out() {
    let page = page(&Run { tasks: &[("a", &["..", ".."])], ..Run::default() }.report());
    assert!(
        !page.contains("Forest plot") && !page.contains("Scatter plot") && !page.contains("Bar chart of the"),
        "{page}"
    );
}

#[test]
fn references_resolve() {
    let page = page(&whole().report());
    let attribute = |name: &str| -> Vec<String> {
        let begin = format!("{name}=\"");
        page.match_indices(&begin)
            .map(|(at, _)| page[at + begin.len()..].split('"').next().unwrap().to_owned())
            .collect()
    };
    let ids = attribute(" id");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    for id in attribute("aria-labelledby") {
        assert!(ids.contains(&id), "{id}");
    }
}

#[test]
fn long_names_do_not_widen_a_drawing() {
    let name = "x".repeat(100_000);
    let tasks: Vec<(&str, &[&str])> = vec![(&name, &["PF", "PP"])];
    let page = page(&Run { tasks: &tasks, ..Run::default() }.report());
    well_formed("long", &page);
    let longest = page
        .split("<text")
        .skip(1)
        .filter_map(|text| text.split('>').nth(1)?.split('<').next())
        .map(|text| text.trim().chars().count())
        .max();
    assert!(longest.unwrap() < 100, "{longest:?}");
}

#[test]
fn suites_of_any_size_are_drawn() {
    let names: Vec<String> = (0..300).map(|n| format!("task-{n}")).collect();
    let tasks: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &["PF", "PP"][..])).collect();
    let page = page(&Run { tasks: &tasks, ..Run::default() }.report());
    well_formed("large", &page);
    assert!(page.contains("Shown: the first and last 60 of 300 tasks."));
}
