//! Real sandboxes, and what they must hold.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests end where something is not as it should be, and say what they found"
)]

mod common;
#[cfg(feature = "docker")]
mod docker;
mod exec;
mod freeze;
mod hygiene;
mod isolation;
mod life;
mod limits;
mod none;
mod probe;
