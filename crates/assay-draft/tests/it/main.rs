//! What skills require, by rules over texts that are made for these tests.

mod labels;
mod needs;
mod proposal;
mod review;
mod verdict;
