//! The only way between an agent and its model.
//!
//! [`Gateway::open`] gives a [`Proxy`] for one trial: a Unix socket, or a port on loopback, behind which a server protocols
//! Anthropic Messages, OpenAI Responses and chat completions, and Gemini's generateContent. It passes requests on to a
//! [`Provider`], which is a server or a script, and keeps a [`Ledger`].
//!
//! # What a caller can rely on
//!
//! - The agent gets a token of its own; the provider's key never leaves this process. What the agent sends as
//!   authorisation, cookie or any header but `anthropic-version` and `anthropic-beta` is dropped, and so are the
//!   provider's headers but the content type and `retry-after`.
//! - The address, the path below it and the model are the [`SessionConfig`]'s, and so is the most tokens of a reply where it
//!   sets one; the gateway never sets one by itself. Tools that the
//!   provider would run are taken out of requests, and recorded; what would read or keep state at the provider, or make
//!   it fetch something, is switched off or refused. Redirects are not followed.
//! - Streams are passed on as they come. Each request counts once, with the usage as the provider gave it. A reply that
//!   broke off, or came without usage, counts an estimate of what was sent and received, and is marked `estimated`.
//! - When a provider limits the rate, the gateway waits, for as long as the provider says or else with growing pauses,
//!   and tells how long: [`Proxy::waited`]. Nobody in the process who uses the same address and key asks meanwhile.
//! - Caps stop a trial before its next request. Requests under way are finished: a cap is exceeded by at most what they
//!   read and write. Caps count what the provider reported: an estimate alone reaches none.
//! - Sizes, idle times and numbers of connections are bounded. No request causes a panic or an endless wait.
//! - [`Proxy::close`] ends every connection, and removes the socket.
//!
//! An [`EgressListener`] is another way out, for work that is not the model's: an HTTP proxy that opens listed hosts.
//!
//! Threads, and no asynchronous runtime: one for each connection of an agent, which ends with it.

mod account;
mod budget;
mod cassette;
mod conn;
mod egress;
mod error;
mod exchange;
mod gateway;
mod head;
mod ledger;
mod limits;
mod listen;
mod pace;
mod protocol;
mod provider;
mod proxy;
mod scripted;
mod server;
mod session;
mod shared;
mod silence;
mod sse;
mod sync;
mod upstream;
mod varying;

pub use budget::{Budget, Permit, Start};
pub use cassette::Cassette;
pub use egress::{EgressConnection, EgressLedger, EgressListener, Hosts, HostsError};
pub use error::GatewayError;
pub use gateway::{Gateway, GatewayOptions};
pub use ledger::{
    CapKind, CapScope, Capped, Exchange, Ledger, Mismatch, Refused, SkillExposure, Totals, Wait,
};
pub use limits::{Caps, Limits};
pub use pace::Pace;
pub use protocol::Protocol;
pub use provider::{Provider, ProviderOptions};
pub use proxy::{PauseSignal, Proxy};
pub use session::{Listen, SessionConfig, WatchedSkill};
pub use varying::{PatternError, Varying};
