//! What a rule looks for, who says so, and how to fix what it finds.

use serde::Serialize;

use crate::diagnostic::Severities;
use crate::rule::Rule;
use crate::rules::rules;
use crate::safety;

/// A place where a rule comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// What it is called.
    pub name: String,
    /// Where it can be read.
    pub url: Option<&'static str>,
}

/// All that is known of a rule.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The rule's name.
    pub code: &'static str,
    /// What it finds, in half a sentence.
    pub about: String,
    /// More of it, with an example; Markdown. `None` for the safety rules.
    pub page: Option<String>,
    /// Whether it is a safety rule, which a comment in a skill does not suppress.
    pub safety: bool,
    /// Why it is off until somebody selects it; `None` for a rule that is on.
    pub off: Option<&'static str>,
    /// What it is to each client.
    pub clients: Severities,
    /// How to fix what it finds.
    pub fix: &'static str,
    /// Who says so.
    pub sources: Vec<Source>,
    /// Where this stands in the documentation.
    pub url: String,
}

impl Explanation {
    /// The explanation of a rule; `None` where there is no such rule.
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
            fix: fix(rule.code),
            sources: sources(rule.source),
            url: url(rule.code),
        }
    }
}

/// Where the documentation describes a rule.
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
            if found.iter().all(|source| source.name != *name) {
                found.push(Source { name: (*name).to_owned(), url: address(name) });
            }
        }
    }
    found
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

/// How to fix what a rule finds.
fn fix(code: &str) -> &'static str {
    if let Some((_, fix)) = FIXES.iter().find(|(own, _)| *own == code) {
        return fix;
    }
    let family = assay_safety::RULES.iter().find(|rule| rule.code == code).map(|rule| rule.family.name());
    let of_family = |(name, _): &&(&str, &str)| Some(*name) == family;
    FAMILIES.iter().find(of_family).map_or("Follow the advice printed with the finding.", |(_, fix)| fix)
}

/// For the safety rules, by family. None of them asks for more than to make the passage harmless or to let a person decide.
const FAMILIES: [(&str, &str); 18] = [
    (
        "override",
        "Remove text that sets aside the agent's other instructions or safeguards. State what this skill does, and leave precedence to the agent.",
    ),
    (
        "concealment",
        "Remove text that keeps something from the user. Say openly what the skill does and changes.",
    ),
    (
        "hidden-text",
        "Remove the invisible or look-alike characters, and read what they hid before you use the skill.",
    ),
    (
        "encoded",
        "Write the command or text in the clear. If it comes from somebody else, decode and read it first.",
    ),
    (
        "remote-code",
        "Do not run what has just been downloaded. Put the script into the package, or pin a version and verify its checksum.",
    ),
    ("unpinned", "Pin the exact version, or the full commit, so that tomorrow's download is today's."),
    ("credentials", "Read no credential files. Ask for one named variable, and say which and why."),
    (
        "exfiltration",
        "Send out no credentials, environment or conversation. Send only named data, to a host that the user knows.",
    ),
    (
        "persistence",
        "Leave nothing behind that outlives the task. Where that is the purpose, let the user install it.",
    ),
    (
        "privilege",
        "Ask for the rights that the work needs and no more; let the user run what needs an administrator.",
    ),
    (
        "agent-config",
        "Do not write the agent's own instructions, settings or skills. Show the change and let the user make it.",
    ),
    (
        "trigger",
        "Describe the requests that this skill is for, and claim neither every request nor precedence.",
    ),
    (
        "capability",
        "Declare the tools that the skill uses, and let the agent run commands where permission is asked.",
    ),
    ("secret", "Take the secret out of the package, revoke it, and read it from the environment."),
    ("escape", "Keep paths and links inside the package: only its own folder is installed."),
    ("archive", "Ship the files unpacked and as source, so that they can be read."),
    (
        "destruction",
        "Delete only what the skill itself made, by its full path, and have the user confirm it. Remove miners and whatever encrypts files of the user.",
    ),
    (
        "sabotage",
        "Remove the order. A skill may set criteria, but results have to be reported as they are, and other skills left alone.",
    ),
];

/// For all other rules.
const FIXES: &[(&str, &str)] = &[
    (
        "allowed-tools-bash",
        "Name the commands, as in `Bash(git:*)`. The field grants permission; it does not restrict.",
    ),
    ("allowed-tools-type", "Write the tools on one line, with spaces between them."),
    ("allowed-tools-unknown", "Use the name that Claude Code's list of tools has."),
    ("body-empty", "Write the instructions below the front matter."),
    (
        "body-lines",
        "Move detail into references/, and say in SKILL.md when to read each file. `budgets.body-lines` sets the limit.",
    ),
    (
        "body-tokens",
        "Move detail into references/, and say in SKILL.md when to read each file. `budgets.body-tokens` sets the limit.",
    ),
    ("byte-order-mark", "Save the file as UTF-8 without a byte-order mark. `--fix` does this."),
    (
        "catalogue-tokens",
        "Shorten name and description: every session loads them. `budgets.catalogue-tokens` sets the limit.",
    ),
    ("claude-agent", "Add `context: fork`, or remove `agent`."),
    ("claude-arguments", "Add `argument-hint`, so that users see what to pass."),
    ("claude-boolean", "Write `true` or `false` without quotes."),
    ("claude-hidden", "Remove `disable-model-invocation` if the model is to choose the skill."),
    (
        "claude-hooks",
        "Write events such as `PreToolUse`, and below each a list of matchers with their hooks.",
    ),
    (
        "claude-inline",
        "Let the model run the command, where permission is asked, instead of running it when the skill loads.",
    ),
    ("claude-text", "Write the value as one text, between quotes."),
    ("claude-unreachable", "Allow the user or the model to invoke the skill."),
    ("claude-value", "Use one of the values that Claude Code documents for the field."),
    ("codex-dependencies", "List the tools in `agents/openai.yaml` as Codex documents them."),
    (
        "codex-implicit",
        "Set `allow_implicit_invocation` in `agents/openai.yaml` as you mean it; a skill that forbids it is used only when named.",
    ),
    ("codex-interface", "Write the fields of `interface` in `agents/openai.yaml` as Codex documents them."),
    ("codex-short-description", "Shorten the text: it stands in a list."),
    (
        "codex-yaml",
        "Correct the YAML of `agents/openai.yaml`: Codex ignores a file that it cannot read, without a message.",
    ),
    ("compatibility-empty", "Fill in the field, or remove it."),
    ("compatibility-length", "Say in a sentence what the skill needs, and how to get it in the body."),
    ("compatibility-type", "Write it as one text, between quotes if it looks like a number."),
    ("description-angle", "Write it without angle brackets: it stands between tags in a prompt."),
    ("description-comment", "Put the description between quotes if the words after ` #` are part of it."),
    ("description-cut", "Put the words that should trigger the skill first, or shorten the description."),
    ("description-duplicate", "Say what sets the two skills apart, or keep one of them."),
    ("description-empty", "Say what the skill does and when to use it."),
    (
        "description-length",
        "Move detail into the body: the description says what the skill does and when to use it.",
    ),
    ("description-missing", "Add a line `description:` that says what the skill does and when to use it."),
    ("description-name", "Say what the skill does and when to use it, instead of repeating its name."),
    ("description-person", "Write in the third person: `Extracts tables from PDF files.`"),
    (
        "description-short",
        "Say what the skill does and when to use it, in words that a request would contain.",
    ),
    ("description-type", "Write it as one text, between quotes if it looks like a date or a number."),
    ("description-when", "Add a phrase such as `Use when …`."),
    ("document-case", "Rename the file to SKILL.md."),
    ("document-missing", "Add a SKILL.md, or name the folder that holds one."),
    ("document-too-large", "Move detail into other files of the package."),
    ("document-twice", "Keep SKILL.md and remove the other file."),
    ("document-unreadable", "Make SKILL.md a readable regular file of the package."),
    ("encoding", "Save the file as UTF-8."),
    ("entry-unreadable", "Make the file readable, or take it out of the package."),
    ("evals-format", "Write `{skill_name, evals: [{id, prompt, expected_output, files, assertions}]}`."),
    ("evals-shipped", "Keep evaluations beside the package instead of in it."),
    (
        "field-misspelt",
        "Write the field as the client that reads it does. `--fix` does this for fields that grant nothing.",
    ),
    (
        "field-unknown",
        "Move the field under `metadata`, as text, or limit the check to the clients you support with `clients`.",
    ),
    ("folder-unreadable", "Name a folder that exists and that you may read."),
    ("front-matter-dashes", "Write the value without three dashes in a row."),
    ("front-matter-fence", "Use exactly `---`. `--fix` does this."),
    ("front-matter-late", "Begin the file with `---`. `--fix` removes the blank lines."),
    (
        "front-matter-missing",
        "Begin the file with `---`, lines `name:` and `description:`, and another `---`.",
    ),
    ("front-matter-unclosed", "Close the front matter with a line `---`."),
    ("license-type", "Write a short name, or the name of a file of the package."),
    (
        "line-ends",
        "Let lines end with LF: copies with other line ends have other digests, and a script with CR LF does not start.",
    ),
    ("link-anchor", "Correct the anchor: it has to be the slug of a heading of the file."),
    ("link-broken", "Correct the path, or add the file."),
    ("link-escapes", "Put a copy of the file into the package."),
    ("link-outside", "Copy what is needed into the package: only its own folder is installed."),
    ("listing-budget-claude", "Shorten the descriptions, or install fewer skills together."),
    ("listing-budget-codex", "Shorten the descriptions, or install fewer skills together."),
    (
        "metadata-number",
        "Put the value between quotes, unless a client reads it as the number or boolean that it is now.",
    ),
    ("metadata-type", "Write `key: \"value\"` lines below `metadata`."),
    ("name-case", "Write the name in lower case. `--fix` does this where the folder already has that name."),
    ("name-characters", "Use a to z, 0 to 9 and single hyphens."),
    ("name-clash", "Rename one of the skills: an agent lists only one of them."),
    ("name-directory", "Give the folder and `name` the same name."),
    ("name-empty", "Give it the folder's name."),
    ("name-hyphens", "Use single hyphens between words."),
    ("name-length", "Shorten the name to 64 characters, and the folder's name with it."),
    ("name-missing", "Add a line `name:` with the folder's name. `--fix` does this."),
    ("name-normalization", "Use a to z, 0 to 9 and hyphens."),
    ("name-not-ascii", "Use a to z, 0 to 9 and hyphens."),
    ("name-reserved", "Name what the skill does, without the reserved word."),
    ("name-type", "Write the name as one text, between quotes if it looks like a number."),
    ("name-vague", "Name what the skill does, as in `pdf-forms`."),
    ("nul-character", "Remove the NUL character, or save the file as UTF-8."),
    ("package-size", "Leave out what no agent reads."),
    ("path-encoding", "Rename the file to a name in UTF-8."),
    ("path-missing", "Correct the path, or add the file."),
    ("path-personal", "Write a path relative to the package, or ask the user for it."),
    ("path-windows", "Write forward slashes: they work everywhere."),
    (
        "reference-chain",
        "Name the file in SKILL.md: agents often read only the beginning of what a reference leads to.",
    ),
    (
        "reference-contents",
        "Begin the file with a table of contents. `budgets.reference-lines` sets the limit.",
    ),
    ("reference-cycle", "Let SKILL.md lead to both files, and remove one of the links."),
    ("reference-deep", "Keep what SKILL.md leads to one folder deep."),
    (
        "reference-tokens",
        "Split the file by what is needed together. `budgets.reference-tokens` sets the limit.",
    ),
    ("refused", "Correct what the reason names."),
    ("resource-orphan", "Say in SKILL.md when to use the file, or take it out."),
    ("script-import", "Say in SKILL.md how to install the module, or declare it in the script's metadata."),
    (
        "script-shebang",
        "Begin the script with a line such as `#!/usr/bin/env bash` and make it executable, or call it by its interpreter.",
    ),
    ("section-duplicate", "Say it once."),
    ("section-empty", "Fill in the section, or remove it."),
    ("section-name", "Give each section its own heading, or join them."),
    ("special-file", "Take the entry out of the package."),
    (
        "suppression-safety",
        "Accept the finding in your own `assay.toml` with [[lint.allow]], or set `suppression-comments = \"all\"` there if you trust what you scan.",
    ),
    ("suppression-unreasoned", "Write `<!-- assay: allow CODE: the reason -->`."),
    ("suppression-unused", "Remove the comment."),
    ("yaml-anchor", "Write the value out instead of an anchor, an alias or a tag."),
    ("yaml-duplicate-key", "Keep one of the keys."),
    ("yaml-flow", "Write one item a line, each after `- `, or put the whole between quotes."),
    ("yaml-invalid", "Correct the YAML at the place that the finding names."),
    ("yaml-unquoted", "Put the value between quotes. `--fix` does this."),
    (
        "claude-substitution",
        "Write a backslash before the dollar sign, as in `\\$1`, or move the text to another file of the package: only SKILL.md is rewritten.",
    ),
    ("hook-event", "Use an event that Claude Code has, such as `PreToolUse` or `Stop`."),
    ("hook-matcher", "Remove the matcher, and let the hook decide for itself whether to act."),
    ("manifest-field", "Add the field, or give it the type that the message names."),
    ("manifest-json", "Fix the JSON at the place that the message names."),
    ("manifest-path", "Fix the path, seen from the plugin's folder, or add the file."),
    (
        "script-input",
        "Take the answer from an option such as `--yes`, or fail with a message where standard input is no terminal.",
    ),
    (
        "skill-nested",
        "Move the folder beside the other skill. If it is no skill of its own, give its document another name than SKILL.md.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_explained() {
        let mut missing = Vec::new();
        for rule in rules() {
            let explained = Explanation::of(rule.code).expect("a rule");
            let own = FIXES.iter().any(|(code, _)| *code == rule.code);
            if !own && !explained.safety {
                missing.push(rule.code);
            }
            assert!(explained.fix.len() > 10 && !explained.sources.is_empty(), "{}", rule.code);
            assert!(explained.sources.iter().any(|source| source.url.is_some()), "{}", rule.code);
        }
        assert!(missing.is_empty(), "say in FIXES how to fix what these rules find: {missing:?}");
        let stale: Vec<_> =
            FIXES.iter().filter(|(code, _)| rules().iter().all(|rule| rule.code != *code)).collect();
        assert!(stale.is_empty(), "no such rule: {stale:?}");
        let families = assay_safety::Family::ALL.map(assay_safety::Family::name);
        assert_eq!(FAMILIES.map(|(name, _)| name), families, "a family without an explanation");
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
        assert!(pages == read, "PAGES is not what lies in tests/rules");
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
            &[("specification", true), ("skills-ref", true), ("VS Code", true)],
        );
        check(
            "agnix (not seen in a page of the platform's own)",
            &[("agnix (not seen in a page of the platform's own)", true)],
        );
        check("agnix, aws-samples", &[("agnix", true), ("aws-samples", false)]);
        assert_eq!(sources("Codex, the agents' sources").len(), 4);
    }

    #[test]
    fn summaries_say_nothing_twice() {
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
