//! A plan's trials as files, for another machine.

use std::path::{Path, PathBuf};

use super::Plan;

/// A specification that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct SpecFileError {
    /// Where.
    path: PathBuf,
    /// Why.
    source: std::io::Error,
}

impl Plan {
    /// Writes a file for each trial to a folder, those of the tasks' checks included.
    ///
    /// # Errors
    /// A folder or a file that cannot be written.
    pub fn write_specs(&self, folder: &Path) -> Result<(), SpecFileError> {
        let failed = |path: &Path, source: std::io::Error| SpecFileError { path: path.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let checks = self.checks.iter().flat_map(|check| check.oracle.iter().chain([&check.nop]));
        for spec in self.trials.values().chain(checks) {
            let path = folder.join(format!("{}.json", spec.id));
            let text = spec.document().and_then(|document| serde_json::to_vec_pretty(&document));
            let text = text.map_err(|error| failed(&path, error.into()))?;
            assay_fs::replace_file(&path, &text).map_err(|error| failed(&path, error))?;
        }
        Ok(())
    }
}
