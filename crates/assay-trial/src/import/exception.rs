//! What an exception means for a trial: by its class or, if the class only says that the agent's
//! command failed, by what was printed.

use assay_agent::Ended;
use assay_model::exceeds_context;
use assay_store::Cause;

/// Most lines at the end of a text that are taken for the words with which an agent died.
const LAST_LINES: usize = 6;

/// Most bytes at the end of a text that are read at all.
const TAIL: usize = 4_000;

/// How a shell reports a process that was killed with SIGKILL. In a container with a memory limit
/// that is the kernel, out of memory.
const KILLED: i64 = 137;

/// What an exception makes of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The agent's time was over: a result.
    TimedOut,
    /// The agent gave up or used something up: a result, whatever the verifier says.
    Agent(Option<Ended>),
    /// The infrastructure broke: no result, whatever the verifier says. Counting only those that
    /// passed would select by outcome.
    Broken(Cause),
    /// It was cancelled.
    Cancelled,
}

/// The meaning of a class of exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    TimedOut,
    Agent,
    Cancelled,
    /// The class alone decides.
    Broken(Cause),
    /// A command or a request of the agent failed: what was printed decides, and without it this
    /// cause.
    Unclear(Cause),
}

/// The classes that Harbor 0.26 knows, by what it makes of them (`harbor/models/trial/error_policy.py`): those of the agent leave
/// the reward valid, the others do not. A failed command says nothing by its class, whatever Harbor makes of it.
const HARBOR: &[(&[&str], Class)] = &[
    (&["AgentTimeoutError"], Class::TimedOut),
    (
        &[
            "ContextWindowExceededError",
            "ContextLengthExceededError",
            "OutputTokenExceededError",
            "OutputLengthExceededError",
            "AgentSafetyRefusalError",
            "ContentPolicyViolationError",
        ],
        Class::Agent,
    ),
    (&["NonZeroAgentExitCodeError"], Class::Unclear(Cause::AgentSetup)),
    (
        &[
            "EnvironmentStartTimeoutError",
            "HealthcheckError",
            "SandboxLikelyOutOfMemoryError",
            "MemoryLimitExceededError",
            "SSHAccessError",
            "GKEExecStreamClosedError",
            "GKEPodNotFoundError",
            "RuntimeRequestError",
            "ServiceOperationsUnsupportedError",
            "VercelScopeError",
        ],
        Class::Broken(Cause::Sandbox),
    ),
    (&["SandboxBuildFailedError"], Class::Broken(Cause::Image)),
    (&["AgentSetupTimeoutError"], Class::Broken(Cause::AgentSetup)),
    (
        &[
            "AddTestsDirError",
            "DownloadVerifierDirError",
            "VerifierTimeoutError",
            "RewardFileNotFoundError",
            "RewardFileEmptyError",
            "VerifierOutputParseError",
        ],
        Class::Broken(Cause::Verifier),
    ),
    (
        &[
            "NetworkConnectionError",
            "UnknownApiError",
            "APIResponseValidationError",
            "BudgetExceededError",
            "Timeout",
            "UnprocessableEntityError",
        ],
        Class::Unclear(Cause::ModelProvider),
    ),
    (
        &[
            "UnsupportedModelParametersError",
            "UnsupportedParamsError",
            "AgentAuthenticationError",
            "ModelNotFoundError",
            "PermissionDeniedError",
            "NotFoundError",
        ],
        Class::Unclear(Cause::AgentSetup),
    ),
    (&["DspyImportError", "MissingExtraError", "RegradeError"], Class::Broken(Cause::Harness)),
    (&["CancelledError"], Class::Cancelled),
];

/// The rules for other classes, in order: how a class begins or what it contains, and its meaning. They are the stems that
/// earlier versions of Harbor, its libraries and BenchFlow share with the known ones.
const RULES: &[(&[&str], &[&str], Class)] = &[
    (&["KeyboardInterrupt"], &["Cancel"], Class::Cancelled),
    (&["AgentTimeoutError"], &[], Class::TimedOut),
    (
        &["ContextWindow", "ContextLength", "OutputLength", "OutputToken"],
        &["Refusal", "Budget", "MaxTurns", "ContentPolicy"],
        Class::Agent,
    ),
    (&["Verifier", "Reward", "AddTestsDir", "DownloadVerifierDir"], &[], Class::Broken(Cause::Verifier)),
    (&[], &["Image", "Build"], Class::Broken(Cause::Image)),
    (&["AgentSetup", "AgentInstall"], &[], Class::Broken(Cause::AgentSetup)),
    (
        &["NonZeroAgentExitCode", "UnsupportedModel", "ModelNotFound"],
        &["Authentication", "ApiKey", "APIKey"],
        Class::Unclear(Cause::AgentSetup),
    ),
    (
        &["Environment", "Docker", "Sandbox", "Healthcheck", "HealthCheck", "Compose", "Container"],
        &[],
        Class::Broken(Cause::Sandbox),
    ),
    (
        &["Api", "API", "InternalServer", "ServiceUnavailable", "BadGateway", "BadRequest"],
        &["RateLimit", "UsageLimit", "Overloaded", "Provider", "Quota", "LiteLLM", "APIConnection"],
        Class::Unclear(Cause::ModelProvider),
    ),
];

/// The class of a name, if it is known.
fn class_of(name: &str) -> Option<Class> {
    let name = name.rsplit('.').next().unwrap_or(name);
    let own = HARBOR.iter().find(|(names, _)| names.contains(&name)).map(|(_, class)| *class);
    own.or_else(|| {
        let rule = RULES.iter().find(|(begins, holds, _)| {
            begins.iter().any(|stem| name.starts_with(stem)) || holds.iter().any(|part| name.contains(part))
        });
        rule.map(|(_, _, class)| *class)
    })
}

/// The meaning of an exception: its class, its message, and the ends of the agent's logs. An
/// unknown class is an error of the harness, unless something more specific was printed, or the program that raised it calls
/// the reward valid (`is_valid`). One that it calls invalid has no result.
pub(super) fn meaning(class: &str, message: &str, logs: &[String], is_valid: Option<bool>) -> Meaning {
    let known = class_of(class);
    if is_valid == Some(false) && matches!(known, Some(Class::TimedOut | Class::Agent)) {
        return Meaning::Broken(Cause::Harness);
    }
    let cause = match known.unwrap_or(Class::Unclear(Cause::Harness)) {
        Class::TimedOut => return Meaning::TimedOut,
        Class::Agent => return Meaning::Agent(None),
        Class::Cancelled => return Meaning::Cancelled,
        Class::Broken(cause) => return Meaning::Broken(cause),
        Class::Unclear(cause) => cause,
    };
    let printed = printed(message);
    let said = std::iter::once(last_words(printed)).chain(logs.iter().map(|log| last_words(log)));
    for words in said {
        if exceeds_context(&words) {
            return Meaning::Agent(Some(Ended::ContextLimit));
        }
        if is_providers(&words) {
            return Meaning::Broken(Cause::ModelProvider);
        }
    }
    if exit_code(message) == Some(KILLED)
        || (exit_code(message).is_some() && last_words(printed).contains("OutOfMemory"))
    {
        return Meaning::Agent(Some(Ended::ResourceLimit { limit: "memory".to_owned() }));
    }
    if known.is_none() && is_valid == Some(true) {
        return Meaning::Agent(None);
    }
    Meaning::Broken(cause)
}

/// A short form of an exception's message: for a failed command its exit code and its last output,
/// and not the command, which contains the whole task.
pub(super) fn summary(message: &str) -> String {
    let Some(code) = exit_code(message) else {
        return message.lines().next().unwrap_or_default().to_owned();
    };
    let words = last_words(printed(message));
    let by_kernel = code == KILLED && !is_providers(&words) && !exceeds_context(&words);
    let killed = if by_kernel { ", killed: out of memory" } else { "" };
    let said = if words.is_empty() || by_kernel { String::new() } else { format!(": {words}") };
    format!("exit code {code}{killed}{said}")
}

/// The exit code of a message of the form `Command failed (exit N): …`.
fn exit_code(message: &str) -> Option<i64> {
    let rest = message.trim_start().strip_prefix("Command failed (exit ")?;
    rest.split_once(')')?.0.trim().parse().ok()
}

/// The output in a failed command's message. The command itself is left out: an agent's contains
/// the instruction, whose words say nothing about how it ended. Any other message is returned
/// unchanged.
fn printed(message: &str) -> &str {
    if exit_code(message).is_none() {
        return message;
    }
    ["\nstdout:", "\nstderr:"]
        .iter()
        .filter_map(|mark| message.find(mark).map(|at| &message[at + mark.len()..]))
        .max_by_key(|printed| printed.len())
        .unwrap_or_default()
}

/// The end of a program's output in one line: the last consecutive lines, without frames that are
/// drawn around source code.
fn last_words(text: &str) -> String {
    let mut start = text.len().saturating_sub(TAIL);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let text = text[start..].trim_end();
    let text = text.strip_suffix("stderr: None").unwrap_or(text);
    let mut words: Vec<&str> = Vec::new();
    for line in text.lines().rev().map(str::trim) {
        let is_drawn = line.starts_with(|c: char| ('\u{2500}'..='\u{259f}').contains(&c));
        if is_drawn || words.len() == LAST_LINES || (line.is_empty() && !words.is_empty()) {
            break;
        }
        if !line.is_empty() {
            words.push(line);
        }
    }
    words.reverse();
    words.join(" ")
}

/// Whether a text says that the provider could not answer: overloaded, too many requests, an error
/// of its own, or no connection.
fn is_providers(words: &str) -> bool {
    const PHRASES: [&str; 20] = [
        "serviceunavailable",
        "service unavailable",
        "internalservererror",
        "internal server error",
        "ratelimiterror",
        "rate limit",
        "rate_limit",
        "too many requests",
        "overloaded",
        "bad gateway",
        "badgateway",
        "gateway timeout",
        "gatewaytimeout",
        "apiconnectionerror",
        "api connection error",
        "insufficient_quota",
        "exceeded your current quota",
        "usage limit",
        "resource_exhausted",
        "model is at capacity",
    ];
    let words = words.to_ascii_lowercase();
    PHRASES.iter().any(|phrase| words.contains(phrase)) || has_status(&words)
}

/// Whether a status of 429 or of 5xx is named as one: after `status`, `code`, `HTTP` or `HTTP/1.1`.
fn has_status(words: &str) -> bool {
    let words: Vec<&str> =
        words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().any(|(at, word)| {
        let is_status = word.parse().is_ok_and(|number: u16| number == 429 || (500..600).contains(&number));
        let before = &words[..at];
        let is_named = matches!(before.last(), Some(&("status" | "statuscode" | "code" | "http")))
            || before.ends_with(&["http", "1", "1"])
            || before.ends_with(&["http", "2"]);
        is_status && is_named
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_classes_have_their_meaning() {
        let check = |class: &str, expected: Meaning| {
            // Words of no meaning.
            assert_eq!(meaning(class, "it said so", &[], None), expected, "{class}");
        };
        check("AgentTimeoutError", Meaning::TimedOut);
        check("harbor.trial.errors.AgentTimeoutError", Meaning::TimedOut);
        check("CancelledError", Meaning::Cancelled);
        check("asyncio.exceptions.CancelledError", Meaning::Cancelled);
        check("KeyboardInterrupt", Meaning::Cancelled);
        check("AgentSafetyRefusalError", Meaning::Agent(None));
        check("ContextWindowExceededError", Meaning::Agent(None));
        check("OutputTokenExceededError", Meaning::Agent(None));
        check("litellm.exceptions.ContentPolicyViolationError", Meaning::Agent(None));
        check("MemoryLimitExceededError", Meaning::Broken(Cause::Sandbox));
        check("BudgetExceededError", Meaning::Broken(Cause::ModelProvider));
        check("MaxTurnsExceededError", Meaning::Agent(None));
        check("NotFoundError", Meaning::Broken(Cause::AgentSetup));
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

    /// A message as Harbor writes it of an agent whose command failed.
    fn failed(code: i64, instruction: &str, printed: &str) -> String {
        format!(
            "Command failed (exit {code}): agent --task='{instruction}' 2>&1 | tee log\nstdout: {printed}\n\nstderr: None"
        )
    }

    #[test]
    fn failed_agent_is_classified_by_its_last_output() {
        const CLASS: &str = "NonZeroAgentExitCodeError";
        let check = |message: &str, logs: &[&str], expected: Meaning| {
            let logs: Vec<String> = logs.iter().map(|&log| log.to_owned()).collect();
            assert_eq!(meaning(CLASS, message, &logs, Some(true)), expected, "{message} {logs:?}");
        };
        let full = || Meaning::Agent(Some(Ended::ContextLimit));
        let memory = || Meaning::Agent(Some(Ended::ResourceLimit { limit: "memory".to_owned() }));
        let provider = || Meaning::Broken(Cause::ModelProvider);
        let unclear = || Meaning::Broken(Cause::AgentSetup);
        let boxed = "│ 346 │ raise Error(\n╰────╯\nError: the request\nexceeded model token limit: 131072 (requested: 140000)";
        check(&failed(1, "", boxed), &[], full());
        check("client.BadRequest: Your request exceeded model token limit: 9 (requested: 10)", &[], full());
        for words in [
            "ServiceUnavailableError: try later",
            "the server said: HTTP 502",
            "< HTTP/1.1 503",
            "request failed with status code 529",
            "Error code: 429 - {}",
            "upstream overloaded",
        ] {
            check(&failed(1, "", words), &[], provider());
        }
        check(&failed(137, "", "one\ntwo"), &[], memory());
        // Killed while the provider was at fault is the provider's.
        check(&failed(137, "", "status: 503"), &[], provider());
        // Numbers that are not a status, and a code without meaning.
        for words in ["", "line 503 of 9", "exit code 5", "port 500 is taken", "status: 404"] {
            check(&failed(1, "", words), &[], unclear());
        }
        // The instruction is not evidence, and neither is output from long before the end.
        check(&failed(1, "serve HTTP 503 over the rate limit\nstatus: 500", "Traceback"), &[], unclear());
        check(&failed(1, "", "HTTP 503\n\nall is well\n\nbye"), &[], unclear());
        // If the message says nothing, the logs decide.
        check(&failed(1, "", ""), &["working\nAPIConnectionError: gone"], provider());
        check("", &["the prompt is too long: 3 tokens > 2 maximum"], full());
    }

    #[test]
    fn infrastructure_errors_ignore_output() {
        for (class, cause) in [
            ("EnvironmentStartTimeoutError", Cause::Sandbox),
            ("AgentSetupTimeoutError", Cause::AgentSetup),
            ("ImagePullError", Cause::Image),
            ("VerifierTimeoutError", Cause::Verifier),
        ] {
            let found = meaning(class, "status code 503: rate limit", &[], None);
            assert_eq!(found, Meaning::Broken(cause), "{class}");
        }
    }

    #[test]
    fn the_policy_of_an_unknown_class_decides() {
        let check = |class: &str, message: &str, is_valid: Option<bool>, expected: Meaning| {
            assert_eq!(meaning(class, message, &[], is_valid), expected, "{class} {message} {is_valid:?}");
        };
        check("OddError", "it said so", None, Meaning::Broken(Cause::Harness));
        check("OddError", "it said so", Some(false), Meaning::Broken(Cause::Harness));
        check("OddError", "it said so", Some(true), Meaning::Agent(None));
        // The provider's fault, whatever the policy of a class that nobody knows.
        check("OddError", "status code 503", Some(true), Meaning::Broken(Cause::ModelProvider));
        // A known class keeps its meaning, unless the reward is called invalid.
        check("VerifierTimeoutError", "it said so", Some(true), Meaning::Broken(Cause::Verifier));
        check("AgentTimeoutError", "it said so", Some(true), Meaning::TimedOut);
        check("AgentTimeoutError", "it said so", Some(false), Meaning::Broken(Cause::Harness));
        check("AgentSafetyRefusalError", "it said so", Some(false), Meaning::Broken(Cause::Harness));
    }

    #[test]
    fn summary_has_the_last_output_without_the_command() {
        let check = |message: &str, expected: &str| assert_eq!(summary(message), expected);
        check("it said so\nand more", "it said so");
        check(&failed(1, "a long task", "a\n\nError: not\nthere"), "exit code 1: Error: not there");
        check(&failed(137, "a long task", "a long task"), "exit code 137, killed: out of memory");
        check(&failed(2, "a long task", ""), "exit code 2");
        check("", "");
    }
}
