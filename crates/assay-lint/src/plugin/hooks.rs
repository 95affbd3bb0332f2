//! Hooks: the events of Claude Code, and which of them use matchers.

/// Events with a matcher: the name of a tool, a source, a reason, a type.
const MATCHED: [&str; 22] = [
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "PermissionDenied",
    "Notification",
    "SessionStart",
    "SessionEnd",
    "Setup",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "ConfigChange",
    "FileChanged",
    "StopFailure",
    "InstructionsLoaded",
    "Elicitation",
    "ElicitationResult",
    "UserPromptExpansion",
    // Undocumented events: it is unknown whether they use matchers.
    "PostToolBatch",
    "MessageDisplay",
];

/// Events that ignore matchers.
const UNMATCHED: [&str; 8] = [
    "UserPromptSubmit",
    "Stop",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "CwdChanged",
    "WorktreeCreate",
    "WorktreeRemove",
];

/// Whether Claude Code has an event.
pub(crate) fn is_event(name: &str) -> bool {
    MATCHED.contains(&name) || ignores_matchers(name)
}

/// Whether an event ignores matchers.
pub(super) fn ignores_matchers(name: &str) -> bool {
    UNMATCHED.contains(&name)
}

/// The event that was probably meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let events = MATCHED.into_iter().chain(UNMATCHED);
    let near = assay_skill::nearest(name, events.clone());
    near.first().and_then(|near| events.into_iter().find(|event| event == near))
}
