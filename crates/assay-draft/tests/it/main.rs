//! Drafts, requests and skills with functions in place of models, and what skills require, by rules over texts that are
//! made for these tests.

mod drafting;
mod fixture;
mod generate;
mod labels;
mod needs;
mod proposal;
mod requests;
mod review;
mod verdict;
mod written_requests;
mod written_skills;
