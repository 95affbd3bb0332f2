//! Real sandboxes, and their guarantees.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed unwrap fails the test, and some tests print measurements"
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
