//! What real agents wrote, driven by a scripted model: the same two tool calls and a last word, in
//! every format.

use assay_trace::read::{self, Transcript};
use assay_trace::{OfferedSkill, Source, Step, Usage, exposure};

use assay_test::shared;

/// The usage reported by the scripted model in its three replies: 1000 to 1002 tokens, 10 of them
/// cached, and 42 each.
fn used() -> Usage {
    Usage { input: 2973, output: 126, cache_read: 30, ..Usage::default() }
}

/// The same in Anthropic's fields for Claude Code, in which cached tokens are counted separately.
fn used_beside() -> Usage {
    Usage { input: 3003, ..used() }
}

/// Without the skill there are two replies.
fn used_twice() -> Usage {
    Usage { input: 1981, output: 84, cache_read: 20, ..Usage::default() }
}

fn agent_steps(transcript: &Transcript) -> Vec<&Step> {
    transcript.trajectory.steps.iter().filter(|step| step.source == Source::Agent).collect()
}

#[test]
#[ignore = "needs shared data"]
fn every_agent_format_is_detected_and_read() {
    let root = shared("agents");
    let check = |file: &str, format: &str, agent: &str, calls: &[&str], usage: Usage| {
        let transcript = read::read(&root.join(file), None).unwrap();
        assert_eq!(transcript.format, format, "{file}");
        assert_eq!(transcript.trajectory.agent.name, agent, "{file}");
        assert_eq!(transcript.diagnostics, [], "{file}");
        assert!(transcript.trajectory.session_id.is_some() || agent == "mini-swe-agent", "{file}");
        let steps = agent_steps(&transcript);
        let found: Vec<&str> =
            steps.iter().flat_map(|step| &step.tool_calls).map(|call| call.function_name.as_str()).collect();
        assert_eq!(found, calls, "{file}");
        for step in &steps {
            for call in &step.tool_calls {
                let result = step.result_of(&call.tool_call_id);
                assert!(result.is_some_and(|result| result.content.is_some()), "{file}: {call:?}");
            }
        }
        assert_eq!(transcript.tally.usage, usage, "{file}");
        if agent != "mini-swe-agent" {
            assert_eq!(steps.last().unwrap().message, "All done.", "{file}");
        }
        // What is written is read back unchanged.
        let written = serde_json::to_vec(&transcript.trajectory).unwrap();
        let again = read::read_from(written.as_slice(), "again", None).unwrap();
        assert_eq!(again.format, "atif", "{file}");
        assert_eq!(again.trajectory, transcript.trajectory, "{file}");
        assert_eq!(again.tally.usage, transcript.tally.usage, "{file}");
    };
    let with = |agent: &str, file: &str| format!("{agent}/with-skill/{file}");
    let claude = ["Skill", "Bash"];
    check(&with("claude-code", "session.jsonl"), "claude-code", "claude-code", &claude, used_beside());
    check(
        &with("claude-code", "stdout.stream.jsonl"),
        "claude-code-stream",
        "claude-code",
        &claude,
        used_beside(),
    );
    check(&with("codex", "rollout.jsonl"), "codex", "codex", &["exec_command"; 2], used());
    check(&with("codex", "stdout.jsonl"), "codex-exec", "codex", &["command_execution"; 2], used());
    let gemini = ["activate_skill", "run_shell_command"];
    check(&with("gemini-cli", "session.jsonl"), "gemini-cli", "gemini-cli", &gemini, used());
    check(&with("gemini-cli", "stdout.jsonl"), "gemini-cli-stream", "gemini-cli", &gemini, used());
    let qwen = ["skill", "run_shell_command"];
    check(&with("qwen-code", "session.jsonl"), "qwen-code", "qwen-code", &qwen, used());
    check(&with("qwen-code", "stdout.jsonl"), "claude-code-stream", "qwen-code", &qwen, used());
    check(&with("opencode", "stdout.jsonl"), "opencode-stream", "opencode", &["skill", "bash"], used());
    check(
        "mini-swe-agent/without-skill/traj.json",
        "mini-swe-agent",
        "mini-swe-agent",
        &["bash", "bash"],
        used_twice(),
    );
    check("codex/without-skill/rollout.jsonl", "codex", "codex", &["exec_command"], used_twice());
}

#[test]
#[ignore = "needs shared data"]
fn exported_database_is_read_with_its_other_sessions() {
    let root = shared("agents");
    let transcript = read::read(&root.join("opencode/with-skill/session-db-dump.json"), None).unwrap();
    assert_eq!(transcript.format, "opencode");
    assert_eq!(agent_steps(&transcript).len(), 3);
    assert_eq!(transcript.trajectory.subagent_trajectories.len(), 1);
}

#[test]
#[ignore = "needs shared data"]
fn delivered_body_is_found_in_every_format() {
    let root = shared("agents");
    // Sessions contain what the model got. The output of Gemini CLI and Qwen Code is what a person
    // is shown.
    for (file, opened) in [
        ("claude-code/with-skill/session.jsonl", true),
        ("claude-code/with-skill/stdout.stream.jsonl", true),
        ("claude-code/without-skill/session.jsonl", false),
        ("codex/with-skill/rollout.jsonl", true),
        ("codex/with-skill/stdout.jsonl", true),
        ("codex/without-skill/rollout.jsonl", false),
        ("gemini-cli/with-skill/session.jsonl", true),
        ("gemini-cli/with-skill/stdout.jsonl", false),
        ("qwen-code/with-skill/session.jsonl", true),
        ("qwen-code/with-skill/stdout.jsonl", false),
        ("opencode/with-skill/stdout.jsonl", true),
        ("opencode/with-skill-no-rg/stdout.jsonl", false),
    ] {
        let trajectory = read::read(&root.join(file), None).unwrap().trajectory;
        let body = "# zebra-maker\nBODYMARK-zebra-maker-7731";
        let found: Vec<bool> = trajectory
            .steps
            .iter()
            .map(|step| {
                let results = step.observation.iter().flat_map(|observation| &observation.results);
                let delivered = results.filter_map(|result| result.content.as_deref());
                delivered
                    .chain((step.source != Source::Agent).then_some(step.message.as_str()))
                    .any(|text| text.contains("BODYMARK-zebra-maker"))
            })
            .collect();
        assert_eq!(found.contains(&true), opened, "{file}");
        let skill = OfferedSkill { name: "zebra-maker", description: "", body, mount: "", files: &[] };
        let exposure = exposure(&trajectory, &[skill]).remove(0);
        assert_eq!(exposure.mentioned.is_some(), file.contains("/with-skill"), "{file}");
    }
}
