//! Explanations of rules: what they find, their sources, and how to fix a finding.

use serde::Serialize;

use crate::diagnostic::Severities;
use crate::rule::Rule;
use crate::rules::rules;
use crate::safety;

/// A source of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// What it is called.
    pub name: String,
    /// Its address.
    pub url: Option<&'static str>,
}

/// The explanation of a rule.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The rule's name.
    pub code: &'static str,
    /// What it finds, as a fragment.
    pub about: String,
    /// Details with an example, in Markdown. `None` for the safety rules.
    pub page: Option<String>,
    /// Whether it is a safety rule, which a comment in a skill cannot suppress.
    pub safety: bool,
    /// Why it is off by default; `None` if it is on.
    pub off: Option<&'static str>,
    /// The severity for each client.
    pub clients: Severities,
    /// How to fix what it finds.
    pub fix: &'static str,
    /// Its sources.
    pub sources: Vec<Source>,
    /// Its address in the documentation.
    pub url: String,
}

impl Explanation {
    /// The explanation of a rule; `None` for an unknown rule.
    pub fn of(code: &str) -> Option<Self> {
        rules().into_iter().find(|rule| rule.code == code).map(Self::new)
    }

    /// What it finds, in full sentences.
    pub fn summary(&self) -> String {
        let mut letters = self.about.chars();
        let about =
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect());
        let prose = self.page.as_deref().and_then(|page| page.split("\n\n").next());
        match prose.filter(|prose| !prose.starts_with("```")) {
            Some(prose) => {
                let prose = prose.replace('\n', " ");
                let repeats = prose.to_lowercase().starts_with(&about.to_lowercase());
                if repeats { prose } else { format!("{about}. {prose}") }
            }
            None => format!("{about}."),
        }
    }

    fn new(rule: &'static Rule) -> Self {
        let safety = safety::owns(rule.code);
        Self {
            code: rule.code,
            about: rule.about.trim_end_matches('.').to_owned(),
            page: page(rule.code),
            safety,
            off: crate::rules::opt_in(rule.code),
            clients: rule.severities,
            fix: rule.fix,
            sources: sources(rule.source),
            url: url(rule.code),
        }
    }
}

/// The address of a rule in the documentation.
pub(crate) fn url(code: &str) -> String {
    format!("{}/blob/main/docs/RULES.md#{code}", env!("CARGO_PKG_REPOSITORY"))
}

/// The sources that a rule names, each with its address.
pub(crate) fn sources(text: &str) -> Vec<Source> {
    let agents = ["Claude Code", "Codex", "Gemini CLI", "OpenCode"];
    let mut found: Vec<Source> = Vec::new();
    for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let names: &[&str] = if part == "the agents' sources" { &agents } else { &[part] };
        for name in names {
            if found.iter().all(|source| source.name != title(name)) {
                found.push(Source { name: title(name), url: address(name) });
            }
        }
    }
    found
}

/// The name of a source as users see it: rules use short names.
fn title(name: &str) -> String {
    let (short, remark) = name.split_at(name.find(" (").unwrap_or(name.len()));
    let title = match short {
        "specification" => "Agent Skills specification",
        "the implementation guide" => "Agent Skills client implementation guide",
        "the evaluation guide" => "Agent Skills evaluation guide",
        "quick_validate" => "Anthropic's quick_validate.py",
        "YAML" => "YAML 1.2.2",
        "NVIDIA" => "NVIDIA SkillSpector",
        "Cisco" => "Cisco skill-scanner",
        "waza" => "Microsoft waza",
        "dacharyc" => "skill-validator",
        "assay" => "assay's rules",
        other => other,
    };
    format!("{title}{remark}")
}

fn address(name: &str) -> Option<&'static str> {
    let known = [
        ("specification", "https://agentskills.io/specification"),
        ("skills-ref", "https://github.com/agentskills/agentskills/tree/main/skills-ref"),
        ("the implementation guide", "https://agentskills.io/client-implementation/adding-skills-support"),
        ("the evaluation guide", "https://agentskills.io/skill-creation/evaluating-skills"),
        (
            "quick_validate",
            "https://github.com/anthropics/skills/blob/main/skills/skill-creator/scripts/quick_validate.py",
        ),
        (
            "Anthropic's platform",
            "https://platform.claude.com/docs/en/agents-and-tools/agent-skills/overview",
        ),
        (
            "Anthropic's authoring guidance",
            "https://platform.claude.com/docs/en/agents-and-tools/agent-skills/best-practices",
        ),
        ("Claude Code", "https://code.claude.com/docs/en/skills"),
        ("Codex", "https://developers.openai.com/codex/skills"),
        ("Gemini CLI", "https://geminicli.com/docs/cli/skills/"),
        ("OpenCode", "https://opencode.ai/docs/skills/"),
        ("VS Code", "https://code.visualstudio.com/docs/copilot/customization/agent-skills"),
        ("YAML", "https://yaml.org/spec/1.2.2/"),
        ("agnix", "https://github.com/agent-sh/agnix"),
        ("NVIDIA", "https://github.com/NVIDIA/SkillSpector"),
        ("Cisco", "https://github.com/cisco-ai-defense/skill-scanner"),
        ("waza", "https://github.com/microsoft/waza"),
        ("dacharyc", "https://github.com/dacharyc/skill-validator"),
        ("assay's safety rules", concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/SAFETY.md")),
        ("assay", concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/RULES.md")),
    ];
    // A remark in parentheses may follow the name.
    let name = name.split(" (").next().unwrap_or(name);
    known.iter().find(|(known, _)| *known == name).map(|(_, address)| *address)
}

/// The pages in tests/rules, which are the rules' documentation and tests.
const PAGES: [&str; 13] = [
    include_str!("../tests/rules/10-document.md"),
    include_str!("../tests/rules/20-name.md"),
    include_str!("../tests/rules/30-description.md"),
    include_str!("../tests/rules/40-fields.md"),
    include_str!("../tests/rules/50-claude-code.md"),
    include_str!("../tests/rules/60-codex.md"),
    include_str!("../tests/rules/70-size.md"),
    include_str!("../tests/rules/80-links.md"),
    include_str!("../tests/rules/85-scripts.md"),
    include_str!("../tests/rules/90-sections.md"),
    include_str!("../tests/rules/95-library.md"),
    include_str!("../tests/rules/97-plugins.md"),
    include_str!("../tests/rules/99-assay.md"),
];

/// A rule's section of its page, up to the end of the first example.
fn page(code: &str) -> Option<String> {
    let heading = format!("## `{code}`\n");
    let (_, section) = PAGES.iter().find_map(|page| page.split_once(&heading))?;
    let mut shown = String::new();
    let mut fence = None;
    let mut expected = false;
    for line in section.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if line.starts_with("## ") || line.starts_with("# ") => break,
            None if ticks > 2 => {
                fence = Some(ticks);
                expected = line[ticks..].trim() == "expected";
            }
            Some(open) if ticks == open && line.len() == ticks => {
                fence = None;
                if expected {
                    shown.push_str(line);
                    break;
                }
            }
            _ => {}
        }
        shown.push_str(line);
        shown.push('\n');
    }
    Some(shown.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_explained() {
        for rule in rules() {
            let explained = Explanation::of(rule.code).expect("a rule");
            assert!(explained.fix.len() > 10 && !explained.sources.is_empty(), "{}", rule.code);
            assert!(explained.sources.iter().any(|source| source.url.is_some()), "{}", rule.code);
        }
    }

    #[test]
    fn every_page_is_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
        let mut pages: Vec<String> = std::fs::read_dir(folder)
            .expect("readable")
            .flatten()
            .map(|entry| std::fs::read_to_string(entry.path()).expect("a page"))
            .collect();
        pages.sort();
        let mut read = PAGES.map(str::to_owned).to_vec();
        read.sort();
        assert!(pages == read, "PAGES differs from the files in tests/rules");
    }

    #[test]
    fn sources_have_addresses() {
        let names = |text: &str| {
            sources(text).into_iter().map(|source| (source.name, source.url.is_some())).collect::<Vec<_>>()
        };
        let check = |text: &str, expected: &[(&str, bool)]| {
            let expected: Vec<_> =
                expected.iter().map(|(name, known)| ((*name).to_owned(), *known)).collect();
            assert_eq!(names(text), expected, "{text}");
        };
        check(
            "specification, skills-ref; VS Code",
            &[("Agent Skills specification", true), ("skills-ref", true), ("VS Code", true)],
        );
        check("agnix (not documented by the platform)", &[("agnix (not documented by the platform)", true)]);
        check("agnix, unknown", &[("agnix", true), ("unknown", false)]);
        assert_eq!(sources("Codex, the agents' sources").len(), 4);
    }

    #[test]
    fn summaries_do_not_repeat() {
        for rule in rules() {
            let summary = Explanation::of(rule.code).expect("a rule").summary();
            let mut sentences: Vec<&str> =
                summary.split(". ").map(|part| part.trim_end_matches('.')).collect();
            let count = sentences.len();
            sentences.sort_unstable();
            sentences.dedup();
            assert_eq!(sentences.len(), count, "{}: {summary}", rule.code);
        }
    }

    #[test]
    fn pages_end_with_their_first_example() {
        let page = page("field-misspelt").expect("a page");
        assert!(page.starts_with("An unknown field") && page.ends_with("```"), "{page}");
        assert_eq!(page.matches("```expected").count(), 1, "{page}");
        assert!(super::page("exfil-secret").is_none());
    }
}
