//! The decision of a gate as the comment of a pull request.
//!
//! Names, paths and messages come from the pull request, whose author must not be able to mention people, link, or add
//! Markdown. All of them stand in code spans: GitHub and GitLab find no mention, reference, link or HTML in those.

use assay_report::{clean, counted, points, pp};

use super::{GateDocument, SkillRow};

/// By this an older comment is found and replaced.
const MARK: &str = "<!-- assay gate -->";

/// Rows of the table at most.
const ROWS: usize = 30;
/// Lines of one kind below the table at most.
const LINES: usize = 10;
/// Characters of one text at most.
const LENGTH: usize = 400;

/// Text from elsewhere as a code span. In a table, a `|` needs a backslash even there.
fn code(text: &str, in_table: bool) -> String {
    let mut text: String = clean(text).trim().to_owned();
    if let Some((end, _)) = text.char_indices().nth(LENGTH) {
        text.truncate(end);
        text.push('…');
    }
    if text.is_empty() {
        return "–".to_owned();
    }
    if in_table {
        // A backslash before the pipe would be read as the pipe's own, and end the cell.
        text = text.replace("\\|", "\\ |").replace('|', "\\|");
        if text.ends_with('\\') {
            text.push(' ');
        }
    }
    // A fence is longer than every run of backticks in the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let edge = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{edge}{text}{edge}{fence}")
}

/// The address of exported pages as a link, if it is one.
fn link(words: &str, url: &str) -> Option<String> {
    let is_plain = url.chars().all(|c| c.is_ascii_graphic() && !"<>()[]\"'`\\|".contains(c));
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    (is_plain && is_web).then(|| format!("[{words}]({url})"))
}

fn lift(row: &SkillRow) -> String {
    match (row.lift, row.interval) {
        (Some(lift), Some([low, high])) => format!("{} ({} to {})", pp(lift), points(low), points(high)),
        (Some(lift), None) => pp(lift),
        (None, _) => "–".to_owned(),
    }
}

fn table_row(row: &SkillRow) -> String {
    let look = row.look.map_or("–".to_owned(), |look| match row.version {
        Some(version) => format!("version {version}, look {look}"),
        None => format!("{look}"),
    });
    let cost = row.cost_usd.map_or("–".to_owned(), |usd| format!("${usd:.2}"));
    format!("| {} | {} | {} | {look} | {cost} |", code(&row.skill, true), row.verdict.word(), lift(row))
}

/// At most [`LINES`] items, and how many there are beyond.
fn list(lines: &mut Vec<String>, what: &str, texts: &[String]) {
    if texts.is_empty() {
        return;
    }
    lines.push(format!("- {what}:"));
    lines.extend(texts.iter().take(LINES).map(|text| format!("  - {}", code(text, false))));
    if texts.len() > LINES {
        lines.push(format!("  - and {} more", texts.len() - LINES));
    }
}

impl GateDocument {
    /// For a pull request: a table of the skills that changed, what each decision rests on, and what else changed.
    pub fn to_comment(&self) -> String {
        let mut lines =
            vec![MARK.to_owned(), format!("**assay gate: {}**", self.verdict.word()), String::new()];
        if let Some(forecast) = &self.forecast {
            lines.extend([forecast.words(), String::new()]);
        }
        let rows: Vec<&SkillRow> = self.skills.iter().filter(|row| row.changed).collect();
        if !rows.is_empty() {
            lines.push("| skill | decision | lift (interval) | looks | cost |".to_owned());
            lines.push("|---|---|---|---|---|".to_owned());
            lines.extend(rows.iter().take(ROWS).map(|row| table_row(row)));
            if rows.len() > ROWS {
                lines.push(format!("| and {} more | | | | |", rows.len() - ROWS));
            }
            lines.push(String::new());
        }
        for row in rows.iter().take(ROWS) {
            let moved =
                row.from.as_ref().map_or(String::new(), |from| format!(" (was {})", code(from, false)));
            lines.push(format!("- {}{moved}: {}", code(&row.skill, false), code(&row.reason, false)));
            for note in row.notes.iter().take(LINES) {
                lines.push(format!("  - {}", code(note, false)));
            }
        }
        list(&mut lines, "weaker than at the base revision", &self.weakened);
        list(&mut lines, "rules that are changed, and not applied", &self.untrusted);
        list(&mut lines, "rules that are changed, and applied", &self.applied());
        let checks = |of: fn(&SkillRow) -> &Vec<String>| {
            let mut all = Vec::new();
            for row in &rows {
                all.extend(of(row).iter().map(|check| format!("{}: {check}", row.skill)));
            }
            all
        };
        list(&mut lines, "newly failing", &checks(|row| &row.checks.newly_failing));
        list(&mut lines, "fixed", &checks(|row| &row.checks.fixed));
        list(&mut lines, "notes", &self.notes);
        let unchanged = self.skills.len() - rows.len();
        let policy = self.policy_hash.get(..19).unwrap_or(&self.policy_hash);
        let changed = counted(rows.len(), "skill", "skills");
        lines
            .extend([String::new(), format!("Policy `{policy}`, {changed} changed, {unchanged} unchanged.")]);
        lines.extend(self.view_url.as_deref().and_then(|url| link("Trials and transcripts", url)));
        lines.join("\n") + "\n"
    }
}

/// The comment of a gate whose policy or call was refused.
pub fn refused_comment(status: &str, message: &str, hint: Option<&str>) -> String {
    let mut lines = vec![MARK.to_owned(), format!("**assay gate: {status}**"), String::new()];
    lines.push(format!("- {}", code(message, false)));
    lines.extend(hint.map(|hint| format!("- hint: {}", code(hint, false))));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser};

    use super::super::{GateVerdict, LedgerSummary};
    use super::*;
    use crate::checks::CheckChanges;

    /// What a pull request may bring along.
    const HOSTILE: &[&str] = &[
        "@octocat",
        "\\@octocat",
        "owner/repo#1",
        "#1 GH-1 !1 $1 %1 ~label &1 :smile:",
        "0123456789abcdef0123456789abcdef01234567",
        "https://evil.example www.evil.example a@evil.example",
        "<img src=https://evil.example/x><!-- -->",
        "[a](https://evil.example)![b](https://evil.example)",
        "a | b | c",
        "a \\| @b",
        "a \\\\| @b",
        "ends with \\",
        "one `tick` and ``two`` @x",
        "``` @x",
        "` | @x | `",
        "`",
        "line\n\n# head\n@octocat\n\n| a | b |\n|---|---|",
        "\u{202e}@octocat\u{200b}",
        "~~~\n@octocat",
        "assay gate -->\n<!-- assay gate -->\n@octocat",
        "    @octocat",
        "\t- @octocat",
    ];

    fn row(text: &str) -> SkillRow {
        SkillRow {
            skill: text.to_owned(),
            lineage: None,
            change: crate::Change::Moved,
            from: Some(text.to_owned()),
            warn: false,
            bound: None,
            power_equal: None,
            tasks: None,
            changed: true,
            verdict: GateVerdict::Fail,
            reason: text.to_owned(),
            trials_executed: 3,
            trials_reused: 0,
            require: Some("helps"),
            run: None,
            lift: Some(0.25),
            interval: Some([-0.05, 0.55]),
            look: Some(2),
            version: Some(3),
            cost_usd: Some(1.5),
            decision: None,
            reference_version: None,
            checks: CheckChanges {
                newly_failing: vec![text.to_owned()],
                fixed: vec![text.to_owned()],
                ..CheckChanges::default()
            },
            keys: None,
            notes: vec![text.to_owned()],
        }
    }

    fn document(text: &str) -> GateDocument {
        GateDocument {
            schema: "assay.gate/2",
            policy: text.to_owned(),
            policy_hash: "blake3:0123456789ab".to_owned(),
            commit: None,
            changed_since: None,
            verdict: GateVerdict::Fail,
            weakened: vec![text.to_owned()],
            rules_changed: vec![text.to_owned()],
            untrusted: vec![text.to_owned()],
            ledger: LedgerSummary::default(),
            skills: vec![row(text), row("skills/honest")],
            forecast: None,
            view_url: Some("https://example.org/view/".to_owned()),
            notes: vec![text.to_owned()],
        }
    }

    /// The text outside of code, the code, and the number of rows of the table.
    fn parts(comment: &str) -> (String, Vec<String>, usize) {
        let (mut plain, mut codes, mut rows) = (String::new(), Vec::new(), 0);
        for event in Parser::new_ext(comment, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
            match event {
                Event::Text(text) => plain.push_str(&text),
                Event::Code(text) => codes.push(text.to_string()),
                Event::Html(text) | Event::InlineHtml(text) => assert_eq!(text.trim(), MARK),
                Event::Start(pulldown_cmark::Tag::TableRow) => rows += 1,
                Event::Start(pulldown_cmark::Tag::Link { dest_url, .. }) => {
                    assert_eq!(&*dest_url, "https://example.org/view/");
                }
                Event::Start(pulldown_cmark::Tag::Image { .. } | pulldown_cmark::Tag::CodeBlock(_)) => {
                    panic!("{comment}")
                }
                _ => {}
            }
        }
        (plain, codes, rows)
    }

    #[test]
    fn text_of_others_stays_in_code_spans() {
        let (expected, _, _) = parts(&document("plain").to_comment());
        for text in HOSTILE {
            for comment in [document(text).to_comment(), refused_comment("refused", text, Some(text))] {
                let (plain, codes, rows) = parts(&comment);
                assert!(
                    comment.starts_with(MARK) && comment.matches(MARK).count() == 1 || text.contains(MARK),
                    "{comment}"
                );
                assert!(
                    !plain.contains('@') && !plain.contains("evil") && !plain.contains("GH-1"),
                    "{text}: {plain}"
                );
                if comment.contains("| skill |") {
                    assert_eq!((plain, rows), (expected.clone(), 2), "{text}: {comment}");
                }
                // It can still be read.
                let letters =
                    |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
                assert!(codes.iter().all(|code| !code.contains('\n')), "{codes:?}");
                assert!(codes.iter().any(|code| letters(code) == letters(text)), "{text}: {codes:?}");
            }
        }
    }

    #[test]
    fn comment_begins_with_a_table_of_skills() {
        let check = |row: SkillRow, expected: &str| assert_eq!(table_row(&row), expected);
        check(
            row("skills/reports"),
            "| `skills/reports` | fail | +25 pp (\u{2212}5 to +55) | version 3, look 2 | $1.50 |",
        );
        let bare = SkillRow { lift: None, look: None, cost_usd: None, ..row("a|b") };
        check(bare, "| `a\\|b` | fail | – | – | – |");
        let mut many = document("x");
        many.skills = (0..40).map(|number| row(&format!("skills/s{number}"))).collect();
        let comment = many.to_comment();
        let (_, _, rows) = parts(&comment);
        assert!(rows == ROWS + 1 && comment.contains("| and 10 more |"), "{comment}");
        assert!(comment.len() < 60_000, "{}", comment.len());
    }

    #[test]
    fn only_an_address_is_linked() {
        let check = |url: &str, linked: bool| assert_eq!(link("a", url).is_some(), linked, "{url}");
        check("https://example.org/a?b=1#c", true);
        for url in ["javascript:alert(1)", "https://a b", "https://a)b", "https://a\n", "ftp://a", "//a", ""]
        {
            check(url, false);
        }
    }
}
