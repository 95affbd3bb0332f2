use std::collections::BTreeSet;

use assay_analysis::Report;
use assay_report::{Links, Style, Target, find_renderer, run_html};

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
            "nav",
            "a",
            "details",
            "summary",
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
                !name.starts_with("on") && !["src", "style", "xmlns", "srcset"].contains(&name),
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
    // Forests of the verdicts and of the negative controls, exposure, gains and losses, cost.
    // Each for wide and for narrow screens.
    assert_eq!(svgs.len(), 2 * 5, "{svgs:#?}");
    for svg in svgs {
        assert!(
            svg.contains("role=\"img\"")
                && svg.contains("aria-label=\"")
                && (svg.contains("viewBox=\"0 0 960 ") || svg.contains("viewBox=\"0 0 368 ")),
            "{svg}"
        );
    }
    assert_eq!(page.matches("<figcaption>").count(), 5);
    for label in
        ["Forest plot of lifts. curated", "Scatter plot of cost", "Skill exposure funnel", "Bar chart of the"]
    {
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
fn figures_are_linked_to_what_they_rest_on() {
    struct Words;
    impl Links for Words {
        fn href(&self, target: &Target) -> Option<String> {
            Some(match target {
                Target::Cell { task, condition, .. } => format!("/cell?\"{task}\"&{condition}"),
                Target::Trial { trial, check } => {
                    format!("/trial/{}#{}", trial.short(), check.as_deref().unwrap_or(""))
                }
                Target::Comparison { condition, .. } => format!("/pairs/{condition}"),
                Target::Skill { digest } => format!("/skill/{digest}"),
            })
        }
    }
    let report = small().report();
    let html = run_html(&report, &Words);
    let failed = &report.exploration.residual_failures[0].failed_trials[0];
    let cell = format!("<a href=\"/cell?&quot;{}&quot;&amp;curated\">", report.tasks[0].task);
    for link in ["<a href=\"/pairs/curated\">", &cell, &format!("<a href=\"/trial/{}#\">", failed.short())] {
        assert!(html.contains(link), "{link} {html}");
    }
    // A file that stands by itself has none to pages.
    assert!(!page(&report).contains("href=\"/"));
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
    // Links stay on the page.
    let links = attribute(" href");
    assert!(links.len() > 5, "{links:?}");
    for link in links {
        assert!(link.strip_prefix('#').is_some_and(|id| ids.iter().any(|known| known == id)), "{link}");
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
    let report = Run { tasks: &tasks, ..Run::default() }.report();
    well_formed("large", &page(&report));
    let plots = assay_report::plots(&report);
    let (_, heat) = plots.iter().find(|(name, _)| name == "heat").unwrap();
    well_formed("heat", heat);
    // The first and the last 60.
    assert!(heat.contains("Heat map of 120 tasks and 2 conditions"), "{heat}");
}
