//! The auditors on real traces and hostile ones.

mod calibrated;
mod directives;
mod prohibitions;
mod validity;
