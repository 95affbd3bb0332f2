//! Drafts, requests and skills with functions in place of models, and what skills require, by rules over texts that are
//! made for these tests.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed unwrap fails the test, and a comparison with published lists prints its figures"
)]

mod directive_lists;
mod directives;
mod drafting;
mod evidence;
mod fixture;
mod generate;
mod ledger;
mod needs;
mod proposal;
mod requests;
mod review;
mod verdict;
mod written_requests;
mod written_skills;
