//! Tests of campaigns through the public interface.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod recorded;
