//! The linter on its own pages, on real packages, and on extreme content of a file system.

mod conformance;
mod coverage;
mod fix;
mod formats;
mod fuzz;
mod hostile;
mod library;
mod own_words;
mod pages;
mod policy;
mod sarif;
