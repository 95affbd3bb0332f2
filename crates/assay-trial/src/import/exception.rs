//! What an exception says about a trial, by its class.

use crate::Cause;

/// What an exception makes of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The agent's time was over: a result.
    TimedOut,
    /// The agent gave up or used something up: a result, whatever the verifier says.
    Agent,
    /// Something under the trial broke: no result, whatever the verifier says. Who counted only the passed ones of these
    /// would choose by outcome.
    Broken(Cause),
    /// Somebody stopped it.
    Cancelled,
}

/// The rules, in order: how a class begins or what it holds, and what it means. Names of Harbor 0.25, and the stems that
/// earlier versions and the libraries under it share with them.
const RULES: &[(&[&str], &[&str], Meaning)] = &[
    (&["KeyboardInterrupt"], &["Cancel"], Meaning::Cancelled),
    (&["AgentTimeoutError"], &[], Meaning::TimedOut),
    (&["ContextWindow", "ContextLength", "OutputLength"], &["Refusal", "Budget", "MaxTurns"], Meaning::Agent),
    (&["Verifier", "Reward", "AddTestsDir", "DownloadVerifierDir"], &[], Meaning::Broken(Cause::Verifier)),
    (&[], &["Image", "Build"], Meaning::Broken(Cause::Image)),
    (
        &["AgentSetup", "AgentInstall", "NonZeroAgentExitCode", "UnsupportedModel", "ModelNotFound"],
        &["Authentication", "ApiKey", "APIKey"],
        Meaning::Broken(Cause::AgentSetup),
    ),
    (
        &["Environment", "Docker", "Sandbox", "Healthcheck", "HealthCheck", "Compose", "Container"],
        &[],
        Meaning::Broken(Cause::Sandbox),
    ),
    (
        &["Api", "API", "InternalServer", "ServiceUnavailable", "BadGateway", "BadRequest"],
        &["RateLimit", "UsageLimit", "Overloaded", "Provider", "Quota", "LiteLLM", "APIConnection"],
        Meaning::Broken(Cause::ModelProvider),
    ),
];

/// What a class of exceptions means. One that is not known is nobody's fault but the harness's.
pub(super) fn meaning(class: &str) -> Meaning {
    let class = class.rsplit('.').next().unwrap_or(class);
    RULES
        .iter()
        .find(|(begins, holds, _)| {
            begins.iter().any(|stem| class.starts_with(stem)) || holds.iter().any(|part| class.contains(part))
        })
        .map_or(Meaning::Broken(Cause::Harness), |(_, _, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_mean_what_their_names_say() {
        let check = |class: &str, expected: Meaning| assert_eq!(meaning(class), expected, "{class}");
        check("AgentTimeoutError", Meaning::TimedOut);
        check("harbor.trial.errors.AgentTimeoutError", Meaning::TimedOut);
        check("CancelledError", Meaning::Cancelled);
        check("asyncio.exceptions.CancelledError", Meaning::Cancelled);
        check("KeyboardInterrupt", Meaning::Cancelled);
        check("AgentSafetyRefusalError", Meaning::Agent);
        check("ContextWindowExceededError", Meaning::Agent);
        for class in [
            "VerifierTimeoutError",
            "VerifierOutputParseError",
            "RewardFileNotFoundError",
            "RewardFileEmptyError",
        ] {
            check(class, Meaning::Broken(Cause::Verifier));
        }
        check("EnvironmentBuildTimeoutError", Meaning::Broken(Cause::Image));
        check("EnvironmentStartTimeoutError", Meaning::Broken(Cause::Sandbox));
        check("DockerDaemonError", Meaning::Broken(Cause::Sandbox));
        check("AgentSetupTimeoutError", Meaning::Broken(Cause::AgentSetup));
        check("NonZeroAgentExitCodeError", Meaning::Broken(Cause::AgentSetup));
        check("AgentAuthenticationError", Meaning::Broken(Cause::AgentSetup));
        check("ApiUsageLimitError", Meaning::Broken(Cause::ModelProvider));
        check("litellm.exceptions.RateLimitError", Meaning::Broken(Cause::ModelProvider));
        check("APIConnectionError", Meaning::Broken(Cause::ModelProvider));
        check("RuntimeError", Meaning::Broken(Cause::Harness));
        check("", Meaning::Broken(Cause::Harness));
    }
}
