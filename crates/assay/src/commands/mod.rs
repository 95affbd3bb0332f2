//! One file a command: parse, call, print.

pub(crate) mod agent;
pub(crate) mod appraise;
pub mod audit;
pub(crate) mod compare;
pub mod completions;
pub(crate) mod dependencies;
pub(crate) mod doctor;
pub mod draft;
pub(crate) mod export;
pub(crate) mod gate;
pub(crate) mod gateway;
pub(crate) mod gc;
pub(crate) mod import;
pub(crate) mod improve;
pub(crate) mod init;
pub mod judge;
pub(crate) mod lab;
pub mod lint;
pub(crate) mod plan;
pub(crate) mod report;
pub mod route;
pub(crate) mod run;
pub mod search;
pub(crate) mod show;
pub(crate) mod task;
pub(crate) mod trace;
pub(crate) mod trial;
pub(crate) mod view;
pub(crate) mod worker;

use assay_skill::{Library, Severity};

use crate::ui::Ui;

/// Notes what kept a skill or a folder from being read. What is wrong with skills that were read all the same is the business of
/// `assay lint`, and shown here only with `--verbose`.
pub(crate) fn note_losses(library: &Library, ui: &Ui) {
    for told in library.diagnostics.iter().filter(|told| told.severity == Severity::Error) {
        if library.packages.iter().any(|package| told.file.starts_with(&package.root)) {
            ui.detail(&told.to_string());
        } else {
            ui.note(&told.to_string());
        }
    }
}
