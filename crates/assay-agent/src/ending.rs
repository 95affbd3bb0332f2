//! Why a trial ended: one table for all agents, whether they call their model directly or through
//! the gateway.
//!
//! | the agent | its provider | the trial |
//! |---|---|---|
//! | was cancelled, reached a limit, or lost its sandbox | any | ended for that reason |
//! | ended by itself, died, or ran out of time | the last answer: the conversation exceeds the model's context | [`Ended::ContextLimit`] |
//! | ended by itself, died, or ran out of time | the last answer: an error, or interrupted | [`Part::ModelProvider`] |
//! | ended by itself or ran out of time | received no request for the task | [`Part::AgentSetup`] |
//! | ran out of time, died, or gave up a request | sent nothing for more than half of the agent's time | [`Part::ModelProvider`] |
//! | otherwise | | as the agent reported |

use std::time::Duration;

use assay_model::ModelError;
use assay_trace::{Ended, Part};

/// How the provider behaved, as far as it decides whether a trial counts as the agent's result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderSide {
    /// Requests made for the task; side requests (titles, token counts) are excluded.
    pub requests: usize,
    /// How the last of them was answered.
    pub last: LastAnswer,
    /// Longest time a request was pending without any data from the provider.
    pub silent: Duration,
}

/// How the last request of an agent's work was answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum LastAnswer {
    /// An answer, or the beginning of one when the agent's time was over.
    #[default]
    Whole,
    /// No answer yet when the agent ended or disconnected.
    Awaited,
    /// The conversation is longer than the model's context.
    ContextExceeded,
    /// An error, or an answer that was interrupted or cannot be read; in words.
    Broken(String),
    /// The configuration is wrong, not the provider; in words.
    Misconfigured(String),
}

impl LastAnswer {
    /// Classifies a model error; `None` if the agent's own time or the run ended.
    pub(crate) fn of(error: &ModelError) -> Option<Self> {
        match error {
            ModelError::Cancelled | ModelError::Deadline => None,
            ModelError::ContextExceeded { .. } => Some(Self::ContextExceeded),
            ModelError::Spec(_) | ModelError::Script(_) => Some(Self::Misconfigured(error.to_string())),
            _ => Some(Self::Broken(error.to_string())),
        }
    }
}

/// Determines why a trial ended, from the agent's ending, its provider's behaviour, and the agent's
/// time.
pub fn classify_ending(ended: Ended, side: &ProviderSide, time: Duration) -> Ended {
    let broken = |part: Part, message: String| Ended::Broken { part, message };
    let is_late = matches!(ended, Ended::Deadline);
    let has_died = matches!(ended, Ended::Broken { part: Part::AgentSetup, .. });
    if !(is_late || has_died || matches!(ended, Ended::Finished)) {
        return ended;
    }
    match &side.last {
        LastAnswer::ContextExceeded => return Ended::ContextLimit,
        LastAnswer::Broken(message) => return broken(Part::ModelProvider, message.clone()),
        LastAnswer::Misconfigured(message) => return broken(Part::AgentSetup, message.clone()),
        LastAnswer::Whole | LastAnswer::Awaited => {}
    }
    if side.requests == 0 {
        return match ended {
            Ended::Deadline => {
                let seconds = time.as_secs_f64();
                broken(
                    Part::AgentSetup,
                    format!("the agent sent no request for its task within {seconds:.0} s"),
                )
            }
            Ended::Finished => {
                broken(Part::AgentSetup, "the agent exited without sending a request to its model".to_owned())
            }
            died => died,
        };
    }
    let has_given_up = is_late || has_died || side.last == LastAnswer::Awaited;
    if has_given_up && side.silent > time / 2 {
        let (silent, whole) = (side.silent.as_secs_f64(), time.as_secs_f64());
        return broken(
            Part::ModelProvider,
            format!(
                "the provider sent nothing for {silent:.0} s, more than half of the agent's {whole:.0} s"
            ),
        );
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_classified_as_documented() {
        let died = || Ended::Broken { part: Part::AgentSetup, message: "code 1".to_owned() };
        let side = |requests: usize, last: LastAnswer, silent: u64| ProviderSide {
            requests,
            last,
            silent: Duration::from_secs(silent),
        };
        let check = |ended: Ended, side: &ProviderSide, expected: &str| {
            let found = match classify_ending(ended.clone(), side, Duration::from_mins(1)) {
                Ended::Broken { part, message } => format!("{part:?}: {message}"),
                other => format!("{other:?}"),
            };
            assert!(found.starts_with(expected), "{ended:?} {side:?}\n found {found}\n expected {expected}");
        };
        let error = || LastAnswer::Broken("it answered 500".to_owned());
        for ended in [Ended::Finished, Ended::Deadline, died()] {
            check(ended.clone(), &side(3, error(), 0), "ModelProvider: it answered 500");
            check(ended.clone(), &side(3, LastAnswer::ContextExceeded, 0), "ContextLimit");
            let wrong = LastAnswer::Misconfigured("no such script".to_owned());
            check(ended, &side(1, wrong, 0), "AgentSetup: no such script");
        }
        // No request was sent.
        let none = side(0, LastAnswer::Whole, 0);
        check(Ended::Finished, &none, "AgentSetup: the agent exited without sending a request");
        check(Ended::Deadline, &none, "AgentSetup: the agent sent no request for its task within 60 s");
        check(died(), &none, "AgentSetup: code 1");
        // Slow is not broken, up to half of the time.
        check(Ended::Deadline, &side(2, LastAnswer::Awaited, 30), "Deadline");
        check(
            Ended::Deadline,
            &side(2, LastAnswer::Awaited, 31),
            "ModelProvider: the provider sent nothing for 31 s",
        );
        check(Ended::Deadline, &side(2, LastAnswer::Whole, 31), "ModelProvider");
        check(died(), &side(2, LastAnswer::Awaited, 31), "ModelProvider");
        check(died(), &side(2, LastAnswer::Whole, 30), "AgentSetup: code 1");
        // An agent that got its reply and finished counts as finished, however slow the provider
        // was.
        check(Ended::Finished, &side(2, LastAnswer::Whole, 50), "Finished");
        check(Ended::Finished, &side(2, LastAnswer::Awaited, 50), "ModelProvider");
        // Other endings are unchanged.
        let sandbox = Ended::Broken { part: Part::Sandbox, message: "gone".to_owned() };
        for ended in [sandbox, Ended::Cancelled, Ended::TokenLimit, Ended::TurnLimit, Ended::LoopDetected] {
            assert_eq!(classify_ending(ended.clone(), &side(0, error(), 60), Duration::from_mins(1)), ended);
        }
    }
}
