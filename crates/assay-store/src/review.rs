//! Items that people label, and their marks: `reviews/<name>/` of a store.
//!
//! A [`Sheet`] is fixed once it is in the store, because marks refer to its items. [`Marks`] are the lines of
//! a log that only grows. [`decide`] makes labels of both.

mod labels;
mod marks;
mod sheet;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::access;
use crate::error::StoreError;
use crate::files::{sync_folder, write_new};
use crate::run::is_run_name;
use crate::store::Store;

pub use self::labels::{Basis, ItemLabel, decide};
pub use self::marks::{ADJUDICATED, Mark, Marks, is_annotator_name};
pub use self::sheet::{COLUMNS_OF_LABELS, Sheet, SheetError, SheetItem};

/// What became of a sheet that was to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddedSheet {
    /// It is new.
    New,
    /// The store had the same one.
    Present,
    /// The store has another one of this name, which stays.
    Differs,
}

impl Store {
    /// The folder of a sheet.
    pub fn review_folder(&self, sheet: &str) -> PathBuf {
        self.root().join("reviews").join(sheet)
    }

    /// The names of the sheets, in order.
    pub fn sheet_names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root().join("reviews")).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.path().join("items.jsonl").is_file())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_run_name(name))
            .collect();
        names.sort();
        names
    }

    /// Adds a sheet. One that exists is never replaced: labels refer to its items.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn add_sheet(&self, sheet: &Sheet) -> Result<AddedSheet, StoreError> {
        let folder = self.review_folder(sheet.name());
        access::create_folder(&folder).map_err(io("create", &folder))?;
        let path = folder.join("items.jsonl");
        let bytes = sheet.lines();
        if write_new(&path, bytes.as_bytes())? {
            return Ok(AddedSheet::New);
        }
        let present = fs::read(&path).map_err(io("read", &path))?;
        Ok(if present == bytes.as_bytes() { AddedSheet::Present } else { AddedSheet::Differs })
    }

    /// A sheet by its name.
    ///
    /// # Errors
    /// There is none of this name, or its file is damaged.
    pub fn sheet(&self, name: &str) -> Result<Sheet, StoreError> {
        if !self.sheet_names().iter().any(|known| known == name) {
            return Err(StoreError::NotFound(format!("there is no sheet {name:?}")));
        }
        let path = self.review_folder(name).join("items.jsonl");
        let damaged = |message| StoreError::Format { path: path.clone(), message };
        let text = fs::read_to_string(&path).map_err(io("read", &path))?;
        let mut rows = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let row: Value =
                serde_json::from_str(line).map_err(|error| damaged(format!("line {}: {error}", at + 1)))?;
            rows.push((at as u64 + 1, row));
        }
        Sheet::new(name, rows).map_err(|error| damaged(error.to_string()))
    }

    /// The marks on the items of a sheet.
    ///
    /// # Errors
    /// The log cannot be read, or a line is damaged. A last line that a crash cut off counts as absent.
    pub fn marks(&self, sheet: &str) -> Result<Marks, StoreError> {
        let path = self.marks_file(sheet);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(io("read", &path)(source)),
        };
        Marks::parse(&text).map_err(|error| StoreError::Format { path, message: error.to_string() })
    }

    /// Adds marks to the log.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn add_marks(&self, sheet: &str, marks: &[Mark]) -> Result<(), StoreError> {
        self.append_marks(sheet, |_| marks.iter().map(Mark::line).collect())
    }

    /// Undoes the last mark of an annotator, and returns its item; `None` if there is no mark left.
    ///
    /// # Errors
    /// The log cannot be read or written.
    pub fn undo_mark(&self, sheet: &str, annotator: &str) -> Result<Option<String>, StoreError> {
        let mut item = None;
        self.append_marks(sheet, |marks| {
            item = marks.last(annotator).map(|mark| mark.item.clone());
            item.iter().map(|item| marks::undo_line(item, annotator)).collect()
        })?;
        Ok(item)
    }

    fn marks_file(&self, sheet: &str) -> PathBuf {
        self.review_folder(sheet).join("marks.jsonl")
    }

    /// Adds lines that depend on the log, which no other process changes meanwhile.
    fn append_marks(&self, sheet: &str, lines: impl FnOnce(&Marks) -> Vec<String>) -> Result<(), StoreError> {
        let lock_path = self.review_folder(sheet).join("lock");
        let lock = fs::OpenOptions::new().create(true).append(true).open(&lock_path);
        let lock = lock.map_err(io("open", &lock_path))?;
        lock.lock().map_err(io("lock", &lock_path))?;
        let path = self.marks_file(sheet);
        let is_new = !path.exists();
        let file = fs::OpenOptions::new().create(true).append(true).read(true).open(&path);
        let mut file = file.map_err(io("open", &path))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(io("read", &path))?;
        let marks = Marks::parse(&text)
            .map_err(|error| StoreError::Format { path: path.clone(), message: error.to_string() })?;
        let complete = text.rfind('\n').map_or(0, |at| at + 1);
        if complete < text.len() {
            file.set_len(complete as u64).map_err(io("write", &path))?;
        }
        let lines: String = lines(&marks).into_iter().map(|line| line + "\n").collect();
        // In one write: a reader sees no part of a line.
        file.write_all(lines.as_bytes()).and_then(|()| file.sync_all()).map_err(io("write", &path))?;
        if is_new { sync_folder(&path) } else { Ok(()) }
    }
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::Io { action, path, source }
}

#[cfg(test)]
mod tests;
