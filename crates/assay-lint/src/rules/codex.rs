//! What Codex reads beside `SKILL.md`: agents/openai.yaml, and its own field of the metadata.

use crate::rule::{Family, Findings, Rule};
use crate::skill::{Resource, Skill};
use crate::yaml::Yaml;

pub(super) struct Codex;

/// `agents/openai.yaml`, when it is there and can be parsed.
pub(crate) fn openai_yaml(skill: &Skill) -> Option<(&Resource, Yaml)> {
    // Few packages have one: no resource is read for those that have not.
    skill.entries().find(|entry| entry.path == "agents/openai.yaml")?;
    let file = skill.resources().iter().find(|resource| resource.path == "agents/openai.yaml")?;
    Some((file, Yaml::parse(&file.text, 0)))
}

impl Family for Codex {
    fn rules(&self) -> &'static [Rule] {
        &[]
    }

    fn check(&self, _skill: &Skill, _findings: &mut Findings) {}
}
