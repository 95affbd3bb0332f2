//! Whole reports, from records to pages.

#![expect(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod html;
mod markdown;
mod runs;
mod same;
mod view;
