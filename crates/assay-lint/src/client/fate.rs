//! What becomes of a skill, by client.

use super::{Client, Fate, agents, skills_ref, upload};
use crate::skill::Skill;

/// What becomes of a skill in a client. Whether it is valid is settled later, with the findings.
pub(crate) fn fate(client: Client, skill: &Skill) -> Fate {
    match client {
        Client::Spec => agents::spec(skill),
        Client::SkillsRef => skills_ref::check(skill).fate(),
        Client::Upload => upload::check(skill).fate(),
        Client::ClaudeCode => agents::claude_code(skill),
        Client::Codex => agents::codex(skill),
        Client::GeminiCli => agents::gemini_cli(skill),
        Client::OpenCode => agents::opencode(skill),
        Client::Lenient => agents::lenient(skill),
    }
}
