//! The linter on real packages and on the worst that a file system can hold.

mod conformance;
mod shared;
