use std::path::PathBuf;

use super::{Make, Package, Registry, Seat, Varies, pairs};

/// Claude Code, Anthropic's command line.
#[derive(Debug)]
pub(super) struct ClaudeCode;

/// What is added to its system's text, below its home.
const CONTEXT: &str = ".assay/context.md";

impl Make for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn package(&self) -> Package {
        Package {
            name: "@anthropic-ai/claude-code",
            version: "2.1.330",
            registry: Registry::Npm { beside: &[] },
        }
    }

    /// One program for the system, and no Node.
    fn program(&self) -> &'static str {
        "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    }

    fn providers(&self) -> &'static [&'static str] {
        &["anthropic"]
    }

    fn skills_dir(&self) -> Option<&'static str> {
        Some("/root/.claude/skills")
    }

    fn files(&self, seat: &Seat<'_>) -> Vec<(PathBuf, String)> {
        match seat.context {
            "" => Vec::new(),
            context => vec![(seat.home.join(CONTEXT), context.to_owned())],
        }
    }

    fn invocation(&self, seat: &Seat<'_>) -> (Vec<String>, Vec<(String, String)>) {
        let context = seat.home.join(CONTEXT).display().to_string();
        let mut args = vec![
            "-p",
            seat.prompt,
            "--output-format",
            "stream-json",
            "--verbose",
            // The sandbox is the permission.
            "--dangerously-skip-permissions",
            "--model",
            seat.model,
        ];
        if !seat.context.is_empty() {
            args.extend(["--append-system-prompt-file", &context]);
        }
        let env = pairs(&[
            ("ANTHROPIC_BASE_URL", seat.address.as_str()),
            ("ANTHROPIC_API_KEY", seat.token),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            // The gateway waits for providers; what it passes on is final.
            ("CLAUDE_CODE_MAX_RETRIES", "2"),
            // Without it the agent refuses to run for root.
            ("IS_SANDBOX", "1"),
        ]);
        (args.into_iter().map(str::to_owned).collect(), env)
    }

    fn state(&self) -> &'static [&'static str] {
        &[".claude", ".claude.json"]
    }

    fn varies(&self) -> Varies {
        // The account and the session.
        Varies { fields: &["metadata"], texts: &[] }
    }

    fn memory_mb(&self) -> u64 {
        176
    }

    fn transcript(&self) -> &'static str {
        "claude-code-stream"
    }

    fn own_skills(&self) -> &'static [&'static str] {
        &["doctor", "plugin-authoring"]
    }
}
