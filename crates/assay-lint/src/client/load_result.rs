//! How each client loads a skill.

use super::{Client, LoadResult, agents, skills_ref, upload};
use crate::skill::Skill;

/// How a client loads a skill. Whether it is valid is decided later, from the findings.
pub(crate) fn load_result(client: Client, skill: &Skill) -> LoadResult {
    match client {
        Client::Spec => agents::spec(skill),
        Client::SkillsRef => skills_ref::check(skill).load_result(),
        Client::Upload => upload::check(skill).load_result(),
        Client::ClaudeCode => agents::claude_code(skill),
        Client::Codex => agents::codex(skill),
        Client::GeminiCli => agents::gemini_cli(skill),
        Client::OpenCode => agents::opencode(skill),
        Client::Lenient => agents::lenient(skill),
    }
}
