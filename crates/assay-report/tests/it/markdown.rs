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
    assert!(
        scripted
            .starts_with("# Run `test` · outcome: mean of the rewards (older plan)\n\n> **Demonstration:"),
        "{scripted}"
    );
    assert!(!text(&small().report()).contains("Demonstration:"));
}

#[test]
fn a_comment_has_the_answer_first_and_few_lines() {
    let comment = |report: &assay_analysis::Report| {
        let style = Style { short: true, ..Style::default() };
        find_renderer("markdown").unwrap().render(report, style)
    };
    insta::assert_snapshot!(comment(&small().report()), @r#"
    **`curated` helps (+80 pp, 95% CI +59 to +100, 6 tasks).**

    | condition | verdict | lift | CI | tasks |
    | --- | --- | ---: | ---: | ---: |
    | `curated` | ▲ helps | +80 pp | +59 to +100 (95%) | 6 |

    outcome: mean of the rewards (older plan) · 60 valid trials · 0 infrastructure errors · `loop` with `openai:one` · 2026-01-01
    Remaining failures: `b` under `curated` (1/5); `f` under `curated` (1/5)
    Next: `curated`: a skill was opened in only 0% of the trials. Improve its description, or add a condition with \`disclosure = "told"\` to measure the skill apart from whether it is noticed. `assay show 5e0feb689ec1` shows a trial without.
    Full report: `assay report test`
    "#);
    // Whatever a run has, a comment has no more than 15 lines, and ends with where the rest is.
    let text = comment(&whole().report());
    assert!(text.lines().count() <= 15, "{text}");
    assert!(text.ends_with("Full report: `assay report whole-<b>`\n"), "{text}");
    // Names from outside are code spans, in which markup has no effect.
    assert_eq!(text.matches("<script").count(), text.matches("`` <script").count(), "{text}");
}
