//! One limiter for the processes that execute a run: its budget, and the limits of its providers.
//!
//! A [`LimiterServer`] has the account. A [`LimiterClient`] in each process asks it before trials and before
//! requests, and reports what they cost. While the server does not answer, no trial is admitted and no request sent.
//!
//! Requests are JSON documents of [`Ask`], sent with a token to a port; replies are [`Answer`].

mod client;
mod server;

use assay_trace::Usage;
use serde::{Deserialize, Serialize};

use crate::ledger::Capped;
use crate::reserve::Ceiling;

pub use self::client::{LimiterAddress, LimiterClient, LimiterClientOptions};
pub use self::server::{FindCaps, LimiterServer, LimiterServerOptions};

/// Between two signs of life of a process.
const HEARTBEAT: std::time::Duration = std::time::Duration::from_secs(10);

/// A question, or a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
enum Ask {
    /// May a trial start? The process chooses the permit's name.
    Admit { budget: String, process: String, permit: String },
    /// Usage of requests that have ended.
    Charge(Charge),
    /// The trial of a permit, or an attempt of it, has ended.
    End { budget: String, permit: String, is_last: bool },
    /// May a request be sent that may use so much? The process chooses the reservation's name.
    SetAside { budget: String, process: String, reservation: String, ceiling: Ceiling },
    /// A request with a reservation has ended.
    Release { budget: String, reservation: String, used: Option<Ceiling> },
    /// Is a cap reached, and may anything start?
    State { budget: String },
    /// May a request be sent to a provider?
    Reserve { provider: String },
    /// A provider has requested a wait.
    Close { provider: String, milliseconds: u64, status: u16, message: String },
    /// The process lives, and has these permits.
    Alive { budget: String, process: String, permits: Vec<String> },
}

/// Usage of a request, as it is kept in the journal as well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Charge {
    budget: String,
    /// Unique: a report that is sent twice counts once.
    id: String,
    /// The trial's; unset: of none.
    permit: Option<String>,
    tokens: Usage,
    /// The part of `tokens` that is an estimate.
    estimated: Usage,
    /// The cost of the reported tokens, in USD, as far as known.
    usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
enum Answer {
    Admission {
        admission: Word,
    },
    Done,
    /// Whether a request may be sent; `capped` if it never may.
    Turn {
        granted: bool,
        capped: Option<Capped>,
    },
    State(LimiterState),
    Reserved,
    Wait {
        milliseconds: u64,
        status: u16,
        message: String,
    },
    /// The budget is none of this run.
    Unknown,
}

/// An admission, without its permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Granted,
    Deferred,
    Exhausted,
}

/// The state of a budget that several processes share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LimiterState {
    /// The cap that is reached.
    pub capped: Option<Capped>,
    /// Whether nothing is left for another trial, not even after those under way have ended.
    pub exhausted: bool,
    /// Trials under way.
    pub under_way: usize,
    /// In USD, as far as known.
    pub spent_usd: f64,
}

#[cfg(test)]
mod tests;
