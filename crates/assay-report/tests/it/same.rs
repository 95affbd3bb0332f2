//! Text that every form of a report shares.

use assay_report::{Style, find_renderer, verdict_line};

use crate::runs::{poor, small, whole};

/// The words of a page without their markup, with one space between them.
fn words(text: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => inside = false,
            c if !inside => plain.push(c),
            _ => {}
        }
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn verdicts_have_the_same_sentences_everywhere() {
    let mut runs = poor();
    runs.extend([("small", small()), ("whole", whole())]);
    let mut checked = 0;
    for (name, run) in runs {
        let report = run.report();
        for form in ["terminal", "markdown", "html"] {
            let text = words(&find_renderer(form).unwrap().render(&report, Style::default()));
            for comparison in &report.comparisons {
                let line = verdict_line(comparison, report.margin);
                let (_, sentence) = line.split_once(&format!("{}. ", comparison.word())).unwrap();
                assert!(text.contains(sentence), "{name}, {form}: {sentence}\nnot in {text}");
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "{checked}");
}

#[test]
fn forms_are_found_by_name() {
    for name in ["terminal", "markdown", "html", "json"] {
        assert_eq!(find_renderer(name).unwrap().name(), name);
    }
    assert!(find_renderer("pdf").is_none());
}

/// The titles of sections: all of them in pages, and in a terminal that shows everything.
#[test]
fn every_section_is_in_every_format() {
    let everything = Style { details: true, tests: true, ..Style::default() };
    let mut runs = poor();
    runs.extend([("small", small()), ("whole", whole())]);
    for (name, run) in runs {
        let report = run.report();
        let render = |form: &str, style| find_renderer(form).unwrap().render(&report, style);
        let markdown = render("markdown", Style::default());
        let titles: Vec<&str> = markdown.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert!(!titles.is_empty(), "{name}: {markdown}");
        let html = render("html", Style::default());
        let in_html: Vec<&str> = html
            .lines()
            .filter_map(|line| line.strip_prefix("<h2 ")?.split_once('>')?.1.strip_suffix("</h2>"))
            .collect();
        assert_eq!(in_html, titles, "{name}");
        let (all, shown) = (render("terminal", everything), render("terminal", Style::default()));
        let in_terminal: Vec<&str> = all.lines().filter(|line| titles.contains(line)).collect();
        assert_eq!(in_terminal, titles, "{name}:\n{all}");
        // Without the details the rest is the same as with them.
        assert!(!shown.contains("How to read this") && shown.lines().count() < all.lines().count(), "{name}");
    }
}
