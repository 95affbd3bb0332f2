//! Two runs side by side.

use assay_audit::adherence::TestCheck;
use assay_audit::calibrated::Run;
use assay_audit::evidence::SkillText;
use assay_audit::view::{View, view};
use assay_report::{Style, view_html, view_text};
use serde_json::{Value, json};

use crate::html::{tags, well_formed};
use crate::runs::HOSTILE;

const SKILL: &str = "---\nname: ledger\ndescription: Ledger exports.\n---\n# Ledger\n\n\
    Write the code `RH-7731` above the totals.\n\
    Write the code `SG-4482` below the totals.\n";

fn run(trace: &str, tokens: u64, steps: Vec<Value>) -> Run {
    let numbered = steps.into_iter().enumerate().map(|(at, mut step)| {
        step["step_id"] = json!(at + 1);
        step
    });
    let document = json!({"schema_version": "ATIF-v1.7", "agent": {"name": "t", "version": "1"}, "steps": numbered.collect::<Vec<_>>()});
    let trajectory = serde_json::from_value(document).unwrap();
    Run::new(trace, "", false, trajectory, tokens)
}

fn does(said: &str, tool: &str, arguments: &Value, result: &str) -> Value {
    json!({
        "source": "agent", "message": said,
        "tool_calls": [{"tool_call_id": "c", "function_name": tool, "arguments": arguments}],
        "observation": {"results": [{"source_call_id": "c", "content": result}]},
    })
}

/// A pair with `odd` in every field that an agent or a tool can set.
fn pair(skill: &str, odd: &str) -> View {
    let told = json!({"source": "user", "message": format!("Export the ledger. {odd}")});
    let copied = format!("{odd}\nthe code SG-4482 {odd}");
    let with = vec![
        told.clone(),
        does("First the skill.", "Read", &json!({"file_path": "/s/skills/ledger/SKILL.md"}), skill),
        does(
            odd,
            "Write",
            &json!({"file_path": "out.md", "content": copied, format!("note{odd}"): "argument"}),
            odd,
        ),
        does("", "Bash", &json!({"command": format!("make test {odd}")}), "Exit code 2"),
        does("", &format!("Todo{odd}"), &json!({"skill": odd}), odd),
        json!({"source": "agent", "message": format!("Done. {odd}"), "reasoning_content": odd}),
    ];
    let without = vec![
        told,
        does("", "Read", &json!({"file_path": "README.md"}), "text"),
        does(
            "",
            "Write",
            &json!({"file_path": "out.md", "content": "nothing of the kind stands here"}),
            "ok",
        ),
        does("", "Bash", &json!({"command": "rm x"}), ""),
        json!({"source": "agent", "message": "Ready."}),
    ];
    let skill = SkillText::parse(skill.as_bytes());
    let check = |name: &str, passed: bool, message: &str| TestCheck {
        name: format!("{name}{odd}"),
        passed: Some(passed),
        message: format!("{message}{odd}"),
    };
    let (mut with, mut without) = (run(&format!("a{odd}.jsonl"), 1200, with), run("b.jsonl", 900, without));
    with.checks = vec![check("header", true, ""), check("code SG-4482", true, "")];
    without.checks = vec![check("header", true, ""), check("code SG-4482", false, "no SG-4482")];
    (with.outcome, without.outcome) = (Some("passed".to_owned()), Some(format!("failed{odd}")));
    view(&format!("ledger{odd}"), &format!("ledger{odd}"), "Export the ledger.", &skill, with, without)
}

#[test]
fn a_terminal_shows_two_columns() {
    insta::assert_snapshot!(view_text(&pair(SKILL, ""), 100, Style::default()));
}

#[test]
fn a_page_shows_two_columns() {
    let page = view_html(&pair(SKILL, ""));
    // The style sheet is not a result.
    let body = &page[page.find("<body>").unwrap()..];
    insta::assert_snapshot!(body.replace("</p><", "</p>\n<").replace("</td><", "</td>\n<"));
}

#[test]
fn columns_fit_the_terminal() {
    let view = pair(SKILL, " 技能 ");
    for width in [60, 81, 120, 200] {
        for line in view_text(&view, width, Style::default()).lines().skip(12) {
            let used: usize =
                line.chars().map(|c| if ('\u{3000}'..'\u{a000}').contains(&c) { 2 } else { 1 }).sum();
            assert!(used <= width, "{used} in {width}: {line:?}");
        }
    }
    let plain = view_text(&view, 100, Style::default());
    let painted = view_text(&view, 100, Style { color: true, ..Style::default() });
    assert!(!plain.contains('\u{1b}') && painted.contains("\u{1b}[1m"));
}

#[test]
fn hostile_traces_are_escaped() {
    let odd = format!("{HOSTILE}<script>alert(1)</script>\" onload=x </pre></details>&amp;\u{1b}[2J\u{202e}");
    let skill = SKILL.replace("below the", &format!("below {odd} the"));
    let view = pair(&skill, &odd);
    let page = view_html(&view);
    well_formed("hostile", &page);
    for (tag, attributes, _, _) in tags(&page) {
        let known = [
            "html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2", "p",
            "ul", "li", "span", "b", "i", "q", "a", "br", "code", "pre", "mark", "details", "summary",
            "table", "thead", "tbody", "tr", "th", "td",
        ];
        assert!(known.contains(&tag.as_str()), "<{tag}{attributes}>");
        for (at, part) in attributes.split('"').enumerate() {
            let name = part.trim().trim_end_matches('=');
            let allowed = [
                "",
                "lang",
                "charset",
                "http-equiv",
                "content",
                "name",
                "class",
                "id",
                "href",
                "scope",
                "aria-labelledby",
            ];
            assert!(at % 2 == 1 || allowed.contains(&name), "<{tag}{attributes}>");
        }
        assert!(!attributes.contains("href=") || attributes.contains("href=\"#step-"), "<{tag}{attributes}>");
    }
    assert!(page.contains("&lt;script&gt;") && page.contains("default-src 'none'"));
    for text in [page, view_text(&view, 100, Style::default())] {
        let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(bad, None);
    }
}

#[test]
fn lines_of_the_skill_with_a_match_are_marked() {
    let page = view_html(&pair(SKILL, ""));
    assert!(page.contains("<mark>the code SG-4482</mark>"), "{page}");
    assert!(page.contains("<a href=\"#step-3\">step 3</a> wrote, <b class=\"after\">after</b>"));
    assert!(page.contains("id=\"step-3\""));
}
