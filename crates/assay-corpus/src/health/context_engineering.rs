//! The profile `context-engineering`: the metrics, weights and flags of the health script that the
//! collection `Agent-Skills-for-Context-Engineering` uses for itself, to four decimals.
//!
//! It is reproduced, not endorsed. Two of its eight components hardly vary (links of a form that no
//! skill uses; claims found by overlapping patterns), a heading in a code fence counts as a
//! section, and a skill without any link has all of its links intact.
//!
//! The script has had three revisions. The second requires two more sections, and the third reads
//! front matter as YAML too. A library written for the first can be recognized by its text: claim
//! ids came later. See [`Revision::of`]. The second has to be named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assay_skill::{Document, Package, decode};
use regex::Regex;
use serde_json::Value;

use super::{Health, SkillHealth, json_lines, rounded};

/// Most bytes of a fixture file that are read.
const FIXTURE_CAP: u64 = 64 << 20;
/// Lines above which a document is flagged.
const LINES: usize = 500;
/// Scores below which a skill is flagged.
const FLAG_BELOW: f64 = 0.75;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// The folder contains no skills.
    #[error("no skill in {}", path.display())]
    NoSkills {
        /// The folder that was searched.
        path: PathBuf,
    },
    /// A folder or file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// A revision of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// Of release 2.3.0: six sections, front matter read line by line.
    V230,
    /// Between the two: eight sections, front matter still read line by line.
    EightByLines,
    /// After it: eight sections, front matter read as YAML, descriptions of at least 20 characters.
    Hardened,
}

impl Revision {
    /// The revision that a library was written for. The newer script came with a rewrite that added
    /// claim ids to the text, so a library that keeps an index of claims and cites them in fewer
    /// than one skill of five is of the older one. All others are measured by the newer.
    pub fn of<'a>(claims: usize, texts: impl Iterator<Item = &'a str>) -> Self {
        let (mut citing, mut all) = (0, 0);
        for text in texts {
            all += 1;
            citing += usize::from(CLAIM_ID.is_match(text));
        }
        if claims > 0 && citing * 5 < all { Self::V230 } else { Self::Hardened }
    }

    /// The required headings, as they are searched for.
    pub fn sections(self) -> &'static [&'static str] {
        match self {
            Self::V230 => &[
                "## When to Activate",
                "## Core Concepts",
                "## Practical Guidance",
                "## Gotchas",
                "## Integration",
                "## References",
            ],
            Self::EightByLines | Self::Hardened => &[
                "## When to Activate",
                "## Core Concepts",
                "## Practical Guidance",
                "## Examples",
                "## Guidelines",
                "## Gotchas",
                "## Integration",
                "## References",
            ],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::V230 => "context-engineering (2.3.0, six sections)",
            Self::EightByLines => "context-engineering (after 2.3.0, eight sections, front matter by lines)",
            Self::Hardened => "context-engineering (after 2.3.0, eight sections)",
        }
    }
}

/// The weights, in the order in which they are summed.
pub const WEIGHTS: [(&str, f64); 8] = [
    ("sections", 0.20),
    ("gotchas", 0.15),
    ("code", 0.10),
    ("internal_links", 0.15),
    ("activation", 0.10),
    ("claims", 0.15),
    ("mechanisms", 0.10),
    ("frontmatter", 0.05),
];

/// Names of benchmarks, each occurrence of which is a numeric claim.
const BENCHMARKS: [&str; 10] = [
    "LoCoMo",
    "LongMemEval",
    "BrowseComp",
    "SWE-bench",
    "RULER",
    "DMR",
    "HotPotQA",
    "MMLU",
    "GSM8K",
    "HumanEval",
];

/// Patterns are constants of this file, and a test compiles each.
#[expect(clippy::expect_used, reason = "the patterns are literals that the tests compile")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern compiles")
}

/// Per cent, factors, milliseconds, seconds, tokens, magnitudes. They overlap, and each hit counts.
static NUMERIC: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let number = r"\b\d+(?:\.\d+)?\s*";
    [
        format!("{number}%"),
        format!(r"{number}x\b"),
        format!(r"{number}ms\b"),
        format!(r"{number}s(?:ec|econds)?\b"),
        format!(r"(?i){number}tokens?\b"),
        r"\b\d+[kKMBx]\b".to_owned(),
    ]
    .iter()
    .map(|text| pattern(text))
    .collect()
});
static CLAIM_ID: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bclaim-[a-z0-9][a-z0-9-]*[a-z0-9]\b"));
static INTERNAL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\[[^\]]+\]\((?:\.\./)?skills/([a-z0-9-]+)/[^)]*\)"));
static EXTERNAL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\[[^\]]+\]\(https?://[^)]+\)"));
static GOTCHAS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^## Gotchas\s*\n"));
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^\s*\d+\.\s+"));
static FENCE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*```"));
static FIRST_PERSON: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:I can|Use me|You can use this)\b"));

/// Data about the library other than its skills.
#[derive(Debug, Default)]
struct Fixtures {
    claims: BTreeSet<String>,
    mechanisms: BTreeMap<String, usize>,
    activation: BTreeMap<String, usize>,
}

/// Scores every folder below `dir/skills`, or below `dir` if there is none. Fixtures are those of
/// `fixtures`, or of `dir/researcher`: `fixtures/activation-cases.jsonl`, `claims/index.jsonl` and
/// `mechanisms/registry.jsonl`, each of which may be missing. The revision is determined by
/// [`Revision::of`] unless it is given. The second value lists fixture lines that are not JSON
/// objects; they are ignored, as in the script.
pub fn check(
    dir: &Path,
    fixtures: Option<&Path>,
    revision: Option<Revision>,
) -> Result<(Health, Vec<String>), HealthError> {
    let base = Some(dir.join("skills")).filter(|skills| skills.is_dir()).unwrap_or_else(|| dir.to_path_buf());
    let folders = folders(&base)?;
    if folders.is_empty() {
        return Err(HealthError::NoSkills { path: base });
    }
    let researcher = dir.join("researcher");
    let (fixtures, warnings) = Fixtures::load(fixtures.unwrap_or(&researcher))?;
    let texts: Vec<Option<String>> = folders.iter().map(|folder| text_of(folder)).collect();
    let revision = revision
        .unwrap_or_else(|| Revision::of(fixtures.claims.len(), texts.iter().flatten().map(String::as_str)));
    let skills = folders
        .iter()
        .zip(&texts)
        .map(|(folder, text)| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match text {
                Some(text) => {
                    let digest = Package::load(folder).package.map(|package| package.digest.to_string());
                    SkillHealth { digest, ..score(&name, text, &base, &fixtures, revision) }
                }
                None => missing(name),
            }
        })
        .collect();
    Ok((Health::of(revision.name().to_owned(), skills), warnings))
}

/// The folders below one, by name.
fn folders(base: &Path) -> Result<Vec<PathBuf>, HealthError> {
    let read = |source| HealthError::Read { path: base.to_path_buf(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(base).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A skill's document as Python reads text: decoded, every kind of line break one `\n`. A
/// byte-order mark stays, since it matters to the older revisions.
fn text_of(folder: &Path) -> Option<String> {
    let content = assay_fs::read_within(folder, Path::new("SKILL.md"), assay_skill::DOCUMENT_CAP).ok()?;
    let decoded = decode(&content.bytes);
    let mark = if decoded.byte_order_mark { "\u{feff}" } else { "" };
    Some(format!("{mark}{}", decoded.text.replace("\r\n", "\n").replace('\r', "\n")))
}

impl Fixtures {
    fn load(folder: &Path) -> Result<(Self, Vec<String>), HealthError> {
        let mut warnings = Vec::new();
        let mut lines = |parts: &str| -> Result<Vec<Value>, HealthError> {
            let path = folder.join(parts);
            let (values, bad) = json_lines(&path, FIXTURE_CAP)
                .map_err(|source| HealthError::Read { path: path.clone(), source })?;
            warnings.extend(bad.iter().map(|line| format!("{}:{line}: not a JSON object", path.display())));
            Ok(values)
        };
        let owners = |values: &[Value], key: &str| {
            let mut owners = BTreeMap::new();
            for owner in values.iter().filter_map(|value| value.get(key)?.as_str()) {
                *owners.entry(owner.to_owned()).or_insert(0) += 1;
            }
            owners
        };
        let claims = lines("claims/index.jsonl")?;
        let mechanisms = owners(&lines("mechanisms/registry.jsonl")?, "owning_skill");
        let activation = owners(&lines("fixtures/activation-cases.jsonl")?, "expected_primary_skill");
        let claims = claims
            .iter()
            .filter_map(|claim| Some(claim.get("claim_id")?.as_str()?.to_owned()))
            .filter(|id| !id.is_empty())
            .collect();
        Ok((Self { claims, mechanisms, activation }, warnings))
    }
}

/// A folder without a document has no score and is flagged.
fn missing(name: String) -> SkillHealth {
    SkillHealth {
        name,
        score: 0.0,
        flagged: true,
        reasons: vec!["no readable SKILL.md".to_owned()],
        components: WEIGHTS.iter().map(|&(name, _)| (name, 0.0)).collect(),
        counts: BTreeMap::new(),
        digest: None,
    }
}

fn score(name: &str, text: &str, base: &Path, fixtures: &Fixtures, revision: Revision) -> SkillHealth {
    let lines = lines(text);
    let wanted = revision.sections();
    let absent: Vec<&str> = wanted.iter().copied().filter(|section| !text.contains(section)).collect();
    let issues = front_matter_issues(name, text, revision);
    let links: Vec<&str> =
        INTERNAL.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let resolved = links.iter().filter(|target| base.join(target).join("SKILL.md").exists()).count();
    let cited: BTreeSet<&str> = CLAIM_ID.find_iter(text).map(|found| found.as_str()).collect();
    let claims = numeric_claims(text);
    let gotchas = gotchas(text);
    let fences = lines.iter().filter(|line| FENCE.is_match(line)).count();
    let examples = fences / 2;
    let cases = fixtures.activation.get(name).copied().unwrap_or(0);
    let mechanisms = fixtures.mechanisms.get(name).copied().unwrap_or(0);

    let share = |part: usize, all: usize| if all == 0 { 1.0 } else { part as f64 / all as f64 };
    let owned = |count: usize| if count > 0 { 1.0 } else { 0.5 };
    let values = [
        share(wanted.len() - absent.len(), wanted.len()),
        (gotchas as f64 / 3.0).min(1.0),
        (examples as f64 / 2.0).min(1.0),
        share(resolved, links.len()),
        owned(cases),
        share(cited.len(), claims),
        owned(mechanisms),
        if issues.is_empty() { 1.0 } else { 0.0 },
    ];
    let sum = WEIGHTS.iter().zip(values).map(|((_, weight), value)| weight * value).reduce(|a, b| a + b);
    let score = rounded(sum.unwrap_or(0.0));
    let mut reasons: Vec<String> = Vec::new();
    if score < FLAG_BELOW {
        reasons.push(format!("score below {FLAG_BELOW}"));
    }
    if lines.len() > LINES {
        reasons.push(format!("{} lines (limit {LINES})", lines.len()));
    }
    reasons.extend(absent.iter().map(|section| format!("missing section `{section}`")));
    reasons.extend(issues);
    SkillHealth {
        name: name.to_owned(),
        score,
        flagged: !reasons.is_empty(),
        reasons,
        components: WEIGHTS.iter().zip(values).map(|(&(name, _), value)| (name, value)).collect(),
        counts: BTreeMap::from([
            ("lines", lines.len()),
            ("sections_missing", absent.len()),
            ("gotchas", gotchas),
            ("code_examples", examples),
            ("internal_links", links.len()),
            ("internal_links_resolved", resolved),
            ("external_links", EXTERNAL.find_iter(text).count()),
            ("numeric_claims", claims),
            ("claim_ids", cited.len()),
            ("claim_ids_unknown", cited.iter().filter(|id| !fixtures.claims.contains(**id)).count()),
            ("mechanisms", mechanisms),
            ("activation_cases", cases),
        ]),
        digest: None,
    }
}

/// Lines as Python's `splitlines` has them.
fn lines(text: &str) -> Vec<&str> {
    let breaks =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut lines: Vec<&str> = text.split(breaks).collect();
    // What follows the last break is a line only when there is something.
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

fn numeric_claims(text: &str) -> usize {
    let numbers: usize = NUMERIC.iter().map(|pattern| pattern.find_iter(text).count()).sum();
    numbers + BENCHMARKS.iter().map(|name| text.matches(name).count()).sum::<usize>()
}

/// Numbered items between the heading `## Gotchas` and the next heading of its rank.
fn gotchas(text: &str) -> usize {
    let Some(heading) = GOTCHAS.find(text) else { return 0 };
    let section = &text[heading.end()..];
    // The first character belongs to the section whatever it is, so the search begins after it.
    let first = section.chars().next().map_or(0, char::len_utf8);
    let end = section[first..].find("\n## ").map_or(section.len(), |at| first + at);
    NUMBERED.find_iter(&section[..end]).count()
}

/// The problems of the front matter, a sentence each.
fn front_matter_issues(folder: &str, text: &str, revision: Revision) -> Vec<String> {
    let (fields, mut issues) = match revision {
        Revision::V230 | Revision::EightByLines => by_lines(text),
        Revision::Hardened => by_yaml(text),
    };
    let name = fields.get("name").map_or("", String::as_str);
    let description = fields.get("description").map_or("", String::as_str);
    if name.is_empty() {
        issues.push("missing name in the front matter".to_owned());
    } else if name != folder {
        issues.push(format!("the name `{name}` differs from the folder's name"));
    }
    if description.is_empty() {
        issues.push("missing description in the front matter".to_owned());
    } else if description.chars().count() > assay_skill::DESCRIPTION_LIMIT {
        issues.push(format!("description longer than {} characters", assay_skill::DESCRIPTION_LIMIT));
    }
    if FIRST_PERSON.is_match(description) {
        issues.push("description in the first or second person".to_owned());
    }
    issues
}

type Fields = BTreeMap<String, String>;

/// The older revisions: lines `key: value` that are not indented, without quotes. A folded value is
/// the sign that opens it.
fn by_lines(text: &str) -> (Fields, Vec<String>) {
    let Some(inner) = block(text) else {
        return (Fields::new(), vec!["no front matter between `---` lines".to_owned()]);
    };
    let mut fields = Fields::new();
    for line in lines(inner).into_iter().filter(|line| !line.starts_with(' ')) {
        if let Some((key, value)) = line.split_once(':') {
            let value = value.trim().trim_matches('"').trim_matches('\'');
            fields.insert(key.trim().to_owned(), value.to_owned());
        }
    }
    (fields, Vec::new())
}

/// The newer revision: a YAML map whose values are text, or are converted to text; null counts as
/// missing.
fn by_yaml(text: &str) -> (Fields, Vec<String>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(inner) = block(text) else {
        return (Fields::new(), vec!["no front matter between `---` lines".to_owned()]);
    };
    let (document, found) = Document::parse(format!("---\n{inner}\n---\n").as_bytes(), Path::new("SKILL.md"));
    // What our reader repairs, or gives up on, an ordinary YAML reader refuses.
    if let Some(refused) = found.iter().find(|d| matches!(d.code, "yaml-unquoted" | "yaml-invalid")) {
        return (Fields::new(), vec![refused.message.clone()]);
    }
    let mut fields = Fields::new();
    for (key, value) in &document.front_matter {
        let written = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            Value::Number(_) if key == "name" => document.name.clone().unwrap_or_else(|| value.to_string()),
            other => other.to_string(),
        };
        fields.insert(key.clone(), written);
    }
    let length = fields.get("description").map_or(0, |text| text.trim().chars().count());
    let mut issues = Vec::new();
    if (1..20).contains(&length) {
        issues.push(format!("description has {length} characters (at least 20 required)"));
    }
    (fields, issues)
}

/// The text between a first line `---` and the next line that begins so.
fn block(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("---\n")?;
    Some(&rest[..rest.find("\n---")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_claims_are_counted_by_every_pattern() {
        // By hand, from the six patterns: `3x` is a factor and a magnitude, `100K tokens` only a
        // magnitude.
        let check = |text: &str, expected| assert_eq!(numeric_claims(text), expected, "{text}");
        check("", 0);
        check("40% of 2.5 %", 2);
        check("3x", 2);
        check("3 x", 1);
        check("10ms 5 s 5sec 5 seconds 5 secs", 4);
        check("8 Tokens 100K tokens 1 token", 3);
        check("5M 7B 9k 9Kb", 3);
        check("RULER and MMLU, MMLU-Pro", 3);
        check("v2x abc3%", 0);
    }

    #[test]
    fn gotchas_are_the_numbered_lines_of_their_section() {
        let check = |text: &str, expected| assert_eq!(gotchas(text), expected, "{text}");
        check("## Gotchas\n\n1. a\n2. b\n\n## Next\n3. c\n", 2);
        check("## Gotchas\n\n1. a\n### Sub\n 2. b\n", 2);
        check("## Gotchas and more\n1. a\n", 0);
        check("### Gotchas\n1. a\n", 0);
        check("## Gotchas", 0);
        check("## Gotchas\n", 0);
        check("text\n## Gotchas \n\n\n- a\n1) b\n1.c\n", 0);
    }

    #[test]
    fn front_matter_is_read_as_each_revision_does() {
        let check = |text: &str, old: bool, new: bool| {
            let fine = |revision| front_matter_issues("a", text, revision).is_empty();
            assert_eq!((fine(Revision::V230), fine(Revision::Hardened)), (old, new), "{text:?}");
            assert_eq!(fine(Revision::EightByLines), old, "{text:?}");
        };
        check("---\nname: a\ndescription: Twenty characters or more.\n---\n", true, true);
        check("---\nname: a\ndescription: Short.\n---\n", true, false);
        check("---\nname: a\ndescription: >\n  Folded over several lines.\n---\n", true, true);
        check("---\nname: a\ndescription: Use when: it is long enough.\n---\n", true, false);
        check("\u{feff}---\nname: a\ndescription: Twenty characters or more.\n---\n", false, true);
        check("---\nname: b\ndescription: Twenty characters or more.\n---\n", false, false);
        check("---\nname: a\ndescription: Use me for twenty characters.\n---\n", false, false);
        check("name: a\n", false, false);
        check("---\nname: a\n", false, false);
    }

    #[test]
    fn revision_is_detected_from_the_text() {
        let of = |claims, texts: &[&str]| Revision::of(claims, texts.iter().copied());
        assert_eq!(of(6, &["plain", "plain"]), Revision::V230);
        assert_eq!(of(6, &["see claim-one", "plain"]), Revision::Hardened);
        assert_eq!(of(0, &["plain"]), Revision::Hardened);
    }
}
