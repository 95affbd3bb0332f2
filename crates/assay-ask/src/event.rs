//! What happens while models are asked.

use std::time::Duration;

use assay_model::Retry;

use crate::{CapReached, PreflightEvent};

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskEvent<'a> {
    /// A question was answered by a stored reply.
    Cached {
        /// `provider:model`.
        model: &'a str,
    },
    /// The first request to a model.
    Preflight(&'a PreflightEvent),
    /// Requests wait for replies.
    Waiting {
        /// How many.
        requests: usize,
        /// How long the oldest has been waiting.
        oldest: Duration,
    },
    /// A try failed and was followed by another.
    Retried {
        /// `provider:model`.
        model: &'a str,
        /// The try.
        retry: &'a Retry,
    },
    /// A reply came.
    Answered {
        /// `provider:model`.
        model: &'a str,
        /// After which time.
        after: Duration,
    },
    /// A reply cannot be read.
    Unreadable {
        /// `provider:model`.
        model: &'a str,
        /// Why.
        fault: &'a str,
    },
    /// A question was not sent because of a cap.
    Capped(&'a CapReached),
}

/// Hears what happens, from any thread.
pub trait AskEvents: Send + Sync {
    /// Handles an event. It must return soon.
    fn handle_event(&self, event: &AskEvent<'_>);
}

impl<F: Fn(&AskEvent<'_>) + Send + Sync> AskEvents for F {
    fn handle_event(&self, event: &AskEvent<'_>) {
        self(event);
    }
}
