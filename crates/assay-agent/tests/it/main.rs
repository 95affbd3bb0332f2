//! The loop, between a model that says what it is told to and a sandbox that does so.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod checkers;
mod commands;
mod ends;
mod fixture;
mod prompt;
mod replies;
mod window;
