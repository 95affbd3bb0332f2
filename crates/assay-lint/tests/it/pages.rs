//! The pages in tests/rules: prose, examples, and their findings. They are the rules' documentation
//! and their tests.
//!
//! A page is about one family; a second-level heading with a code begins the section of a rule. In
//! a section, blocks of code make a folder: `file PATH` (a text, where `{{text*N}}` is N times the
//! text and `\u{…}` a character), `latin-1 PATH`, `utf-16 PATH`, `executable PATH`, `link PATH`
//! (the content is the target) and `folder PATH`. A block `expected` lists the findings of the
//! section's rule there, one a line; a block `fixed PATH` has the result of `--fix` on a file. With
//! `ASSAY_BLESS=1` both are rewritten, and docs/RULES.md with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use assay_lint::client::CLIENTS;
use assay_lint::{
    Diagnostic, Explanation, Options, Policy, Rule, Selection, Selector, Severity, Source, fix, lint,
    rules::opt_in, rules::rules,
};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Rules without an example on a page; they are tested in `hostile.rs`.
const ELSEWHERE: [&str; 7] = [
    "folder-unreadable",
    "entry-unreadable",
    "special-file",
    "path-encoding",
    "document-too-large",
    "package-size",
    "refused",
];

/// A block of code of a page.
struct Block {
    info: String,
    content: String,
    /// The position of the content in the page.
    range: Range<usize>,
}

/// A rule's section of a page.
struct Section {
    code: String,
    blocks: Vec<Block>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules")
}

fn pages() -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).expect("tests/rules").flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("a page"))).collect()
}

fn sections(page: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let (mut heading, mut block) = (None::<String>, None::<Block>);
    for (event, range) in Parser::new(page).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if level as u8 == 2 => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                if let Some(code) = heading.take() {
                    found.push(Section { code, blocks: Vec::new() });
                }
            }
            Event::Code(text) | Event::Text(text) if heading.is_some() => {
                heading.as_mut().expect("it is some").push_str(&text);
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let start = range.start + page[range.clone()].find('\n').map_or(0, |at| at + 1);
                block = Some(Block { info: info.into_string(), content: String::new(), range: start..start });
            }
            Event::Text(text) => {
                if let Some(block) = &mut block {
                    block.content.push_str(&text);
                    block.range.end = range.end;
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let (Some(section), Some(block)) = (found.last_mut(), block.take()) {
                    section.blocks.push(block);
                }
            }
            _ => {}
        }
    }
    found
}

/// `{{text*N}}` and `\u{…}` written out.
fn expand(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("\\u{")).min() {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(inner) = rest.strip_prefix("\\u{") {
            let (hex, after) = inner.split_once('}').expect("a closed escape");
            let code = u32::from_str_radix(hex, 16).expect("a number");
            out.push(char::from_u32(code).expect("a character"));
            rest = after;
        } else {
            let (inner, after) = rest[2..].split_once("}}").expect("closed braces");
            let (text, count) = inner.rsplit_once('*').expect("a count");
            out.push_str(&text.replace("\\n", "\n").repeat(count.parse().expect("a number")));
            rest = after;
        }
    }
    out + rest
}

/// Puts a block into the example's folder.
fn place(root: &Path, block: &Block) {
    let (kind, path) = block.info.split_once(' ').expect("kind and path");
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("created");
    let text = expand(&block.content);
    match kind {
        "file" => fs::write(&path, text).expect("written"),
        "latin-1" => {
            let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect();
            fs::write(&path, bytes).expect("written");
        }
        "utf-16" => {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            fs::write(&path, bytes).expect("written");
        }
        "executable" => {
            fs::write(&path, text).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        "link" => symlink(text.trim(), &path).expect("linked"),
        "folder" => fs::create_dir_all(&path).expect("created"),
        other => panic!("no kind of block `{other}`"),
    }
}

/// A finding as a page shows it.
fn line(found: &Diagnostic, root: &Path) -> String {
    let short = |text: &str| {
        text.replace(&format!("{}/", root.display()), "").replace(&root.display().to_string(), ".")
    };
    let shown = |path: &Path| short(&path.display().to_string());
    let message = short(&found.message);
    let place = found.span.0.map_or(String::new(), |span| format!(":{}:{}", span.line, span.column));
    let fix = if found.fix.is_some() { " (--fix)" } else { "" };
    format!("{}{place}: {}: {message}{fix}\n", shown(&found.file), found.severity)
}

fn lint_rule(root: &Path, code: &str) -> Vec<Diagnostic> {
    // By its name, so that rules which are off by default are on.
    let form = Selection {
        select: Selector::parse(code).into_iter().collect(),
        comments: true,
        ..Selection::default()
    };
    let options = Options { policy: Policy { form, ..Policy::default() }, ..Options::default() };
    let outcome = lint(&[root.to_path_buf()], &options);
    let all = outcome.skills.into_iter().flat_map(|skill| skill.diagnostics).chain(outcome.diagnostics);
    all.filter(|found| found.code == code).collect()
}

#[test]
fn every_example_has_its_findings() {
    let bless = std::env::var_os("ASSAY_BLESS").is_some();
    let mut wrong = String::new();
    let mut shown = BTreeSet::new();
    for (path, page) in pages() {
        let mut new = page.clone();
        // From the end, so that earlier positions stay valid.
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        for section in sections(&page) {
            let mut temp = tempfile::tempdir().expect("a folder");
            let mut before = Vec::new();
            for block in &section.blocks {
                let found = match block.info.split_once(' ') {
                    None if block.info == "expected" => {
                        let root = temp.path().to_path_buf();
                        before = lint_rule(&root, &section.code);
                        if !before.is_empty() {
                            shown.insert(section.code.clone());
                        }
                        before.iter().map(|found| line(found, &root)).collect::<String>()
                    }
                    Some(("fixed", file)) => {
                        for fixed in fix::apply(&before) {
                            assert!(fixed.error.is_none(), "{}: {:?}", section.code, fixed.error);
                        }
                        let again = lint_rule(temp.path(), &section.code);
                        assert!(
                            again.iter().all(|found| found.fix.is_none()),
                            "{} can be fixed twice",
                            section.code
                        );
                        fs::read_to_string(temp.path().join(file)).expect("the fixed file")
                    }
                    _ => {
                        // What follows a finding begins another example.
                        if !before.is_empty() {
                            (temp, before) = (tempfile::tempdir().expect("a folder"), Vec::new());
                        }
                        place(temp.path(), block);
                        continue;
                    }
                };
                if expand(&block.content) != found {
                    write!(
                        wrong,
                        "{}: {}: expected\n{}found\n{found}",
                        path.display(),
                        section.code,
                        block.content
                    )
                    .expect("written");
                    edits.push((block.range.clone(), found));
                }
            }
        }
        for (range, text) in edits.into_iter().rev() {
            new.replace_range(range, &text);
        }
        if bless && new != page {
            fs::write(&path, new).expect("written");
        }
    }
    assert!(bless || wrong.is_empty(), "{wrong}");
    // Safety rules have their own reference and tests.
    let missing: Vec<&str> = rules()
        .into_iter()
        .filter(|rule| !is_of_safety(rule))
        .map(|rule| rule.code)
        .filter(|code| !shown.contains(*code) && !ELSEWHERE.contains(code))
        .collect();
    assert!(missing.is_empty(), "these rules have no example on a page: {missing:?}");
}

fn is_of_safety(rule: &Rule) -> bool {
    rule.source.contains("docs/SAFETY.md")
}

#[test]
fn codes_are_unique_and_explained() {
    let mut seen = BTreeSet::new();
    for rule in rules() {
        assert!(seen.insert(rule.code), "{} twice", rule.code);
        assert!(!rule.about.is_empty() && !rule.source.is_empty(), "{}", rule.code);
        assert!(rule.numbers.iter().all(|number| (1..=157).contains(number)), "{}", rule.code);
    }
    let left: BTreeSet<u16> = super::coverage::LEFT_OUT.iter().map(|(number, _)| *number).collect();
    let covered: BTreeSet<u16> = rules().iter().flat_map(|rule| rule.numbers).copied().collect();
    // The list of left-out numbers may still contain those that safety rules cover.
    let both: Vec<_> =
        left.intersection(&covered).filter(|number| ![152, 153, 156].contains(*number)).collect();
    assert!(both.is_empty(), "both covered and omitted: {both:?}");
    let neither: Vec<u16> =
        (1..=157).filter(|number| !left.contains(number) && !covered.contains(number)).collect();
    assert!(neither.is_empty(), "neither covered nor omitted with a reason: {neither:?}");
}

#[test]
fn rules_reference_matches_the_pages() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/RULES.md");
    let text = reference();
    if std::env::var_os("ASSAY_BLESS").is_some() {
        fs::write(&path, text).expect("written");
    } else {
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == text,
            "docs/RULES.md is stale: run ASSAY_BLESS=1 cargo test -p assay-lint --test it"
        );
    }
}

/// docs/LINT.md contains what `assay lint --stats` printed of the corpus: a rule that is not in it
/// has not been counted.
#[test]
fn every_rule_has_been_counted() {
    let text = include_str!("../../../../docs/LINT.md");
    let counted: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(counted, rules().iter().map(|rule| rule.code).collect());
}

fn reference() -> String {
    let rules = rules();
    let by_code: BTreeMap<&str, &Rule> = rules.iter().map(|rule| (rule.code, *rule)).collect();
    let mut text = "# Rules\n\n\
        Generated from the pages in `crates/assay-lint/tests/rules`, which are also the rules' tests, with\n\
        `ASSAY_BLESS=1 cargo test -p assay-lint --test it`.\n\n\
        A finding has a severity for each client: an error (**E**) if the client rejects or does not load the\n\
        skill, a warning (W) if it accepts the skill but something is lost or likely to fail, and an info (i)\n\
        for advice. An error is lowered to a warning for a client that accepts the skill anyway.\n\n"
        .to_owned();
    writeln!(text, "{}", super::coverage::ABOUT).expect("written");
    text.push_str("| rule |");
    for client in CLIENTS {
        write!(text, " {} |", client.name()).expect("written");
    }
    text.push_str(" finds |\n|---|");
    text.push_str(&"---|".repeat(CLIENTS.len() + 1));
    text.push('\n');
    for rule in &rules {
        write!(text, "| [`{0}`](#{0}) |", rule.code).expect("written");
        for client in CLIENTS {
            let word = rule.severities.of(client).map_or("", |severity| match severity {
                assay_lint::Severity::Error => "**E**",
                assay_lint::Severity::Warning => "W",
                assay_lint::Severity::Info => "i",
            });
            write!(text, " {word} |").expect("written");
        }
        let off = if opt_in(rule.code).is_some() { " (off by default)" } else { "" };
        writeln!(text, " {}{off} |", rule.about).expect("written");
    }
    for (_, page) in pages() {
        text.push('\n');
        let mut fence: Option<String> = None;
        for part in page.split_inclusive('\n') {
            let ticks: String = part.chars().take_while(|c| *c == '`').collect();
            match &fence {
                Some(open) if *open == part.trim_end() => fence = None,
                None if ticks.len() > 2 => fence = Some(ticks),
                _ => {}
            }
            // A page's title is a chapter of the reference.
            let deeper = fence.is_none() && (part.starts_with("# ") || part.starts_with("## "));
            write!(text, "{}{part}", if deeper { "#" } else { "" }).expect("written");
            let code = part
                .strip_prefix("## `")
                .filter(|_| deeper)
                .and_then(|rest| rest.trim_end().strip_suffix('`'));
            if let Some(rule) = code.and_then(|code| by_code.get(code)) {
                writeln!(text, "\n{}", origin(rule.code)).expect("written");
            }
        }
    }
    // Rules that need a file system which refuses to read have no example, but a section.
    let is_explained = |rule: &Rule| is_of_safety(rule) || text.contains(&format!("\n### `{}`\n", rule.code));
    let rest: Vec<&&Rule> = rules.iter().filter(|rule| !is_explained(rule)).collect();
    text.push_str("\n## Rules without an example\n");
    for rule in rest {
        write!(text, "\n### `{}`\n\n{}\n\n{}\n", rule.code, rule.about, origin(rule.code)).expect("written");
    }
    text.push_str(
        "\n## Safety\n\n[SAFETY.md](SAFETY.md) describes how these rules work, and their error rates. A comment in a skill does not\nsuppress them.\n",
    );
    for rule in rules.iter().filter(|rule| is_of_safety(rule)) {
        write!(text, "\n### `{}`\n\n{}\n\n{}\n", rule.code, rule.about, origin(rule.code)).expect("written");
    }
    text.push_str(&super::coverage::table(&rules));
    text
}

/// How to fix a rule's findings, and its sources.
fn origin(code: &str) -> String {
    let rule = Explanation::of(code).expect("a rule");
    let source = |source: &Source| match source.url {
        Some(url) => format!("[{}]({url})", source.name),
        None => source.name.clone(),
    };
    let sources: Vec<String> = rule.sources.iter().map(source).collect();
    format!("How to fix: {}\n\nSources: {}.", rule.fix, sources.join(", "))
}

/// The counts in docs/LINT.md are those of the rules and of its table.
#[test]
fn documented_counts_match_the_rules() {
    let text = include_str!("../../../../docs/LINT.md");
    let findings = |code: &str| -> u32 {
        let mut rows = text.lines().filter(|line| line.starts_with(&format!("| `{code}` ")));
        rows.find_map(|row| row.split('|').nth(2)?.trim().parse().ok()).expect("a row with a count")
    };
    // All rules of the group, and those with findings.
    let count = |is_counted: &dyn Fn(&Rule) -> bool| {
        let group: Vec<&Rule> = rules().into_iter().filter(|rule| is_counted(rule)).collect();
        (group.len(), group.iter().filter(|rule| findings(rule.code) > 0).count())
    };
    let is_error = |rule: &Rule| {
        let mut severities = CLIENTS.iter().map(|client| rule.severities.of(*client));
        severities.any(|severity| severity == Some(Severity::Error))
    };
    let (all, found) = count(&|_| true);
    let (safety, safety_found) = count(&is_of_safety);
    let (errors, errors_found) = count(&|rule| !is_of_safety(rule) && is_error(rule));
    let (others, others_found) = count(&|rule| !is_of_safety(rule) && !is_error(rule));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for sentence in [
        format!(
            "There are {all} rules: {errors} that are an error for some client, {others} that are a warning or advice, \
             and {safety} safety rules."
        ),
        format!("{errors_found} of {errors} have findings."),
        format!("{others_found} of {others} have findings; the other {}", others - others_found),
        format!("{safety_found} of {safety} have findings"),
        format!("{} rules have no findings:", all - found),
    ] {
        assert!(text.contains(&sentence), "not in docs/LINT.md: {sentence}");
    }
}
