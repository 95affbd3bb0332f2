//! The gateway between agents and their models.
//!
//! [`Gateway::open`] returns a [`Proxy`] for one trial: a Unix socket, or a port on loopback, with
//! a server for Anthropic Messages, OpenAI Responses and chat completions, and Gemini's
//! `generateContent`. It forwards requests to a [`Provider`], which is a server or a script, and
//! keeps a [`Ledger`].
//!
//! # What a caller can rely on
//!
//! - The agent gets a token of its own; the provider's key never leaves this process. Whatever the
//!   agent sends as authorization, cookie or header is dropped, except `anthropic-version` and
//!   `anthropic-beta`. So are the provider's headers, except the content type and `retry-after`.
//! - The base URL and the model are those of the [`SessionConfig`], and so is the maximum number of
//!   tokens of a reply if it sets one; the gateway sets none by itself. Tools that the provider
//!   would run are removed from requests, and recorded. Whatever would read or store state at the
//!   provider, or make it fetch something, is switched off or refused. Redirects are not followed.
//! - Streams are forwarded as they arrive. Each request counts once, with the usage as the provider
//!   reported it. A reply that was interrupted, or came without usage, counts an estimate of what
//!   was sent and received, and is marked `estimated`.
//! - If a provider limits the rate, the gateway waits, for as long as the provider says or else
//!   with growing pauses, and reports how long: [`Proxy::waited`]. No request of this process with
//!   the same address and key is sent meanwhile.
//! - Caps stop a trial before its next request. Requests under way set aside what they may use, and
//!   others wait for them: a cap is exceeded by at most one request. Caps count what the provider
//!   reported; one in USD also counts the estimates of complete replies without a usage.
//! - Sizes, idle times and numbers of connections are bounded. No request causes a panic or an
//!   endless wait.
//! - [`Proxy::close`] ends every connection, and removes the socket.
//!
//! An [`EgressListener`] is for traffic to other servers than the model's: an HTTP proxy that
//! allows listed hosts.
//!
//! A [`LocalServer`] has no provider behind it: a function answers its requests. Test doubles use it.
//!
//! Threads, and no asynchronous runtime: one for each connection of an agent, which ends with it.

mod account;
mod budget;
mod cassette;
mod conn;
mod connections;
mod egress;
mod error;
mod exchange;
#[cfg(test)]
mod fuzz;
mod gateway;
mod head;
mod ledger;
mod limiter;
mod limits;
mod listen;
mod local;
mod mask;
mod pace;
mod protocol;
mod provider;
mod proxy;
mod reserve;
mod scripted;
mod server;
mod session;
mod shared;
mod silence;
mod sse;
mod sync;
mod upstream;
mod varying;

pub use assay_model::wire::share_limits;
pub use budget::{Admission, Budget, Permit, Reservation, SharedAdmission, SharedBudget, SharedTurn, Turn};
pub use cassette::Cassette;
pub use egress::{EgressConnection, EgressLedger, EgressListener, Hosts, HostsError};
pub use error::GatewayError;
pub use gateway::{Gateway, GatewayOptions};
pub use ledger::{
    CapKind, CapScope, Capped, Exchange, Ledger, Mismatch, Refused, SkillExposure, Totals, Wait,
};
pub use limiter::{
    FindCaps, LimiterAddress, LimiterClient, LimiterClientOptions, LimiterServer, LimiterServerOptions,
    LimiterState,
};
pub use limits::{Caps, Limits};
pub use local::{LocalGate, LocalHandler, LocalReply, LocalRequest, LocalServer};
pub use pace::Pace;
pub use protocol::Protocol;
pub use provider::{Provider, ProviderOptions};
pub use proxy::{PauseSignal, Proxy, new_token};
pub use reserve::{Ceiling, DEFAULT_OUTPUT};
pub use session::{Listen, SessionConfig, WatchedSkill};
pub use varying::{PatternError, Varying};
