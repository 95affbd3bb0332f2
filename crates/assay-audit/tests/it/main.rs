//! The auditors on real traces and hostile ones.

mod reference;
mod shared;
