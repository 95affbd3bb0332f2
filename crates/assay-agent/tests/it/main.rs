//! The loop, with a scripted model and a scripted sandbox.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod checkers;
mod commands;
mod ends;
mod fixture;
mod prompt;
mod replies;
mod window;
