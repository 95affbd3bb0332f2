//! The router benchmark against published values, and which answers it keeps and requests again.

#![expect(
    clippy::unwrap_used,
    reason = "tests end where something is not as it should be, and say what they found"
)]

mod published;
mod run;
