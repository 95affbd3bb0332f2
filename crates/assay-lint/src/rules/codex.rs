//! What Codex reads beside `SKILL.md`: agents/openai.yaml, and its own field of the metadata.

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
        "Shorten the text: it stands in a list."
    ),
    rule!(
        "codex-yaml",
        OWN,
        [113],
        "Codex",
        "agents/openai.yaml cannot be parsed and is passed over",
        "Correct the YAML of `agents/openai.yaml`: Codex ignores a file that it cannot read, without a message."
    ),
    rule!(
        "codex-interface",
        OWN,
        [114, 115, 116],
        "Codex",
        "a field of `interface` in agents/openai.yaml that Codex refuses",
        "Write the fields of `interface` in `agents/openai.yaml` as Codex documents them."
    ),
    rule!(
        "codex-dependencies",
        OWN,
        [117],
        "Codex",
        "a tool in agents/openai.yaml without a type or a value, or with too long a one",
        "List the tools in `agents/openai.yaml` as Codex documents them."
    ),
    rule!(
        "codex-implicit",
        Severities::none().with(Info, &[Client]),
        [118],
        "Codex",
        "Codex does not choose the skill unasked",
        "Set `allow_implicit_invocation` in `agents/openai.yaml` as you mean it; a skill that forbids it is used only when named."
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
                        format!("short-description of {length} characters, at most {DESCRIPTION_LIMIT}"),
                    )
                    .hint("shorten it: it stands in a list");
            }
        }
        let Some((file, yaml)) = openai_yaml(skill) else { return };
        if let Some((message, at)) = &yaml.error {
            let at = (*at).min(file.text.len());
            findings
                .add_in("codex-yaml", skill, file, &(at..at), format!("cannot be parsed: {message}"))
                .hint("fix it: Codex skips it silently");
            return;
        }
        let mut tell = |code, node: &Node, message: String, hint: &str| {
            findings.add_in(code, skill, file, &node.span, message).hint(hint);
        };
        if let Some((_, interface)) = yaml.field("interface") {
            look_at_interface(interface, &mut tell);
        }
        let tools = yaml.field("dependencies").and_then(|(_, node)| node.get("tools"));
        if let Some(Node { kind: Kind::List(tools), .. }) = tools {
            for tool in tools {
                look_at_tool(tool, &mut tell);
            }
        }
        let implicit = yaml.field("policy").and_then(|(_, node)| node.get("allow_implicit_invocation"));
        if let Some(node) =
            implicit.filter(|node| node.text().is_some_and(|text| text.eq_ignore_ascii_case("false")))
        {
            tell(
                "codex-implicit",
                node,
                "Codex does not choose this skill unasked".to_owned(),
                "leave it out if the model is to choose the skill",
            );
        }
    }
}

type Tell<'a> = dyn FnMut(&'static str, &Node, String, &str) + 'a;

fn look_at_interface(interface: &Node, tell: &mut Tell<'_>) {
    for (field, limit) in [("display_name", 64), ("short_description", 1024), ("default_prompt", 1024)] {
        let Some(node) = interface.get(field) else { continue };
        let length = node.text().map_or(0, |text| text.chars().count());
        if length > limit {
            tell(
                "codex-interface",
                node,
                format!("{field} of {length} characters, at most {limit}"),
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
            tell(
                "codex-interface",
                node,
                format!("{field} `{path}` is no path beneath assets/"),
                "put the icon into assets/ and write `./assets/…`",
            );
        }
    }
    if let Some(node) = interface.get("brand_color") {
        let text = node.text().unwrap_or("");
        let hex = text
            .strip_prefix('#')
            .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        if !hex {
            tell(
                "codex-interface",
                node,
                format!("brand_color `{text}` is not #RRGGBB"),
                "write it between quotes, as in \"#1A2B3C\"",
            );
        }
    }
}

fn look_at_tool(tool: &Node, tell: &mut Tell<'_>) {
    for (field, limit, required) in [("type", 64, true), ("value", 1024, true), ("transport", 64, false)] {
        match tool.get(field).map(|node| node.text().map_or(0, |text| text.chars().count())) {
            None | Some(0) if required => tell(
                "codex-dependencies",
                tool,
                format!("a tool without `{field}`"),
                "add it, or leave the tool out",
            ),
            Some(length) if length > limit => {
                tell(
                    "codex-dependencies",
                    tool,
                    format!("{field} of {length} characters, at most {limit}"),
                    "shorten it",
                );
            }
            _ => {}
        }
    }
}
