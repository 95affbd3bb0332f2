//! What skills require, by rules over texts that are made for these tests.

mod generate;
mod labels;
mod needs;
mod proposal;
mod requests;
mod review;
mod verdict;
