//! Codex's metadata file of a skill, `agents/openai.yaml`.

use assay_syntax::yaml::Yaml;

use crate::skill::{Resource, Skill};

/// `agents/openai.yaml`, if present.
pub(crate) fn openai_yaml(skill: &Skill) -> Option<(&Resource, Yaml)> {
    // Few packages have one: do not read resources for the others.
    skill.entries().find(|entry| entry.path == "agents/openai.yaml")?;
    let file = skill.resources().iter().find(|resource| resource.path == "agents/openai.yaml")?;
    Some((file, Yaml::parse(&file.text, 0)))
}
