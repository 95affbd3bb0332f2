//! Codex's files besides `SKILL.md`: agents/openai.yaml, and its own metadata field.

use assay_diagnostic::group_digits;
use assay_skill::DESCRIPTION_LIMIT;
use assay_syntax::yaml::{Kind, Node};

use crate::client::Client::Codex as Client;
use crate::diagnostic::Severities;
use crate::diagnostic::Severity::{Error, Info, Warning};
use crate::openai_yaml::openai_yaml;
use crate::rule::{Family, Findings, Rule, rule};
use crate::skill::Skill;

pub(super) struct Codex;

const OWN: Severities = Severities::none().with(Warning, &[Client]);

const RULES: &[Rule] = &[
    rule!(
        "codex-short-description",
        Severities::none().with(Error, &[Client]),
        [107],
        "Codex",
        "`metadata.short-description` has more than 1,024 characters",
        "Shorten the text: it is shown in a list."
    ),
    rule!(
        "codex-yaml",
        OWN,
        [113],
        "Codex",
        "agents/openai.yaml cannot be parsed and is ignored",
        "Correct the YAML of `agents/openai.yaml`: Codex silently ignores a file that it cannot parse."
    ),
    rule!(
        "codex-interface",
        OWN,
        [114, 115, 116],
        "Codex",
        "a field of `interface` in agents/openai.yaml that Codex rejects",
        "Write the fields of `interface` in `agents/openai.yaml` as Codex documents them."
    ),
    rule!(
        "codex-dependencies",
        OWN,
        [117],
        "Codex",
        "a tool in agents/openai.yaml whose type or value is missing or too long",
        "List the tools in `agents/openai.yaml` as Codex documents them."
    ),
    rule!(
        "codex-implicit",
        Severities::none().with(Info, &[Client]),
        [118],
        "Codex",
        "Codex does not invoke the skill implicitly",
        "Check `allow_implicit_invocation` in `agents/openai.yaml`: if it is false, the skill is used only when the user names it."
    ),
];

impl Family for Codex {
    fn rules(&self) -> &'static [Rule] {
        RULES
    }

    fn check(&self, skill: &Skill, findings: &mut Findings) {
        if let Some(short) = skill.field("metadata").and_then(|(_, map)| map.get("short-description")) {
            let length = short.text().map_or(0, |text| text.chars().count());
            if length > DESCRIPTION_LIMIT {
                findings
                    .add(
                        "codex-short-description",
                        skill,
                        &short.span,
                        format!(
                            "short-description has {} characters (limit {})",
                            group_digits(length),
                            group_digits(DESCRIPTION_LIMIT)
                        ),
                    )
                    .hint("shorten it: it is shown in a list");
            }
        }
        let Some((file, yaml)) = openai_yaml(skill) else { return };
        if let Some((message, at)) = &yaml.error {
            let at = (*at).min(file.text.len());
            findings
                .add_in("codex-yaml", skill, file, &(at..at), format!("cannot be parsed: {message}"))
                .hint("correct the YAML: Codex silently ignores this file");
            return;
        }
        let mut report = |code, node: &Node, message: String, hint: &str| {
            findings.add_in(code, skill, file, &node.span, message).hint(hint);
        };
        if let Some((_, interface)) = yaml.field("interface") {
            check_interface(interface, &mut report);
        }
        let tools = yaml.field("dependencies").and_then(|(_, node)| node.get("tools"));
        if let Some(Node { kind: Kind::List(tools), .. }) = tools {
            for tool in tools {
                check_tool(tool, &mut report);
            }
        }
        let implicit = yaml.field("policy").and_then(|(_, node)| node.get("allow_implicit_invocation"));
        if let Some(node) =
            implicit.filter(|node| node.text().is_some_and(|text| text.eq_ignore_ascii_case("false")))
        {
            report(
                "codex-implicit",
                node,
                "Codex does not invoke this skill implicitly".to_owned(),
                "remove it if the model should choose the skill",
            );
        }
    }
}

type Report<'a> = dyn FnMut(&'static str, &Node, String, &str) + 'a;

fn check_interface(interface: &Node, report: &mut Report<'_>) {
    for (field, limit) in [("display_name", 64), ("short_description", 1024), ("default_prompt", 1024)] {
        let Some(node) = interface.get(field) else { continue };
        let length = node.text().map_or(0, |text| text.chars().count());
        if length > limit {
            report(
                "codex-interface",
                node,
                format!("{field} has {} characters (limit {})", group_digits(length), group_digits(limit)),
                "shorten it",
            );
        }
    }
    for field in ["icon_small", "icon_large"] {
        let Some(node) = interface.get(field) else { continue };
        let path = node.text().unwrap_or("");
        let inside =
            path.trim_start_matches("./").starts_with("assets/") && !path.split('/').any(|part| part == "..");
        if !inside {
            report(
                "codex-interface",
                node,
                format!("{field} `{path}` is not a path in assets/"),
                "put the icon in assets/ and write `./assets/…`",
            );
        }
    }
    if let Some(node) = interface.get("brand_color") {
        let text = node.text().unwrap_or("");
        let hex = text
            .strip_prefix('#')
            .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        if !hex {
            report(
                "codex-interface",
                node,
                format!("brand_color `{text}` is not #RRGGBB"),
                "quote it, for example \"#1A2B3C\"",
            );
        }
    }
}

fn check_tool(tool: &Node, report: &mut Report<'_>) {
    for (field, limit, required) in [("type", 64, true), ("value", 1024, true), ("transport", 64, false)] {
        match tool.get(field).map(|node| node.text().map_or(0, |text| text.chars().count())) {
            None | Some(0) if required => report(
                "codex-dependencies",
                tool,
                format!("a tool has no `{field}`"),
                "add it, or remove the tool",
            ),
            Some(length) if length > limit => {
                report(
                    "codex-dependencies",
                    tool,
                    format!(
                        "{field} has {} characters (limit {})",
                        group_digits(length),
                        group_digits(limit)
                    ),
                    "shorten it",
                );
            }
            _ => {}
        }
    }
}
