use assay_analysis::Report;
use assay_report::{Style, find_renderer};

use crate::runs::{Run, poor, small, whole};

fn text(report: &Report) -> String {
    find_renderer("markdown").unwrap().render(report, Style::default())
}

#[test]
fn a_small_run() {
    insta::assert_snapshot!(text(&small().report()));
}

#[test]
fn a_run_with_everything_in_it() {
    insta::assert_snapshot!(text(&whole().report()));
}

/// The number of cells in a table's row, between unescaped pipes.
fn cells(line: &str) -> usize {
    let mut escaped = false;
    let pipes = line.chars().filter(|&c| {
        let counts = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        counts
    });
    pipes.count() - 1
}

fn check_tables(name: &str, text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.windows(2).filter(|pair| pair.iter().all(|line| line.starts_with('|'))) {
        assert_eq!(cells(pair[0]), cells(pair[1]), "{name}:\n{}\n{}", pair[0], pair[1]);
    }
    assert!(!text.contains("NaN") && !text.contains(" inf ") && !text.contains("inf%"), "{name}: {text}");
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
}

#[test]
fn tables_keep_their_columns_with_any_content() {
    check_tables("whole", &text(&whole().report()));
    for (name, run) in poor() {
        check_tables(name, &text(&run.report()));
    }
}

#[test]
fn external_text_is_not_markup() {
    let text = text(&whole().report());
    let outside_code: String = text.split('\n').map(|line| without_code(line) + "\n").collect();
    for dangerous in ["<script", "<img", "<b>", "https://"] {
        assert!(!outside_code.contains(dangerous), "{dangerous} in {outside_code}");
    }
}

/// A line without its code spans.
fn without_code(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(open) = rest.find('`') {
        text.push_str(&rest[..open]);
        if rest[..open].ends_with('\\') {
            rest = &rest[open + 1..];
            continue;
        }
        let fence: String = rest[open..].chars().take_while(|&c| c == '`').collect();
        let after = &rest[open + fence.len()..];
        let Some(close) = after.find(&fence) else { break };
        rest = &after[close + fence.len()..];
    }
    text + rest
}

#[test]
fn demonstration_is_announced_at_the_top() {
    let scripted = text(&Run { scripted: true, ..small() }.report());
    assert!(scripted.starts_with("# Run `test`\n\n> **Demonstration:"), "{scripted}");
    assert!(!text(&small().report()).contains("Demonstration:"));
}
