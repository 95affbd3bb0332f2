//! The files that are written for a user to begin with.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::ui::Ui;

/// Keeps the store and the files that a gate writes out of Git: adds to `.gitignore` what it does not have.
pub(super) fn ignore_store(dir: &Path, ui: &Ui) -> Result<(), Failure> {
    let path = dir.join(".gitignore");
    let failed = |error| Failure::infrastructure(format!("cannot write {}: {error}", path.display()));
    let before = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.map_err(failed)?,
    };
    if before.lines().any(|line| matches!(line.trim().trim_matches('/'), ".assay" | "**/.assay")) {
        return Ok(());
    }
    let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    fs::write(&path, format!("{before}{end}.assay/\n")).map_err(failed)?;
    ui.out(&format!("{}\n", path.display()))
}

/// Writes a file that is not there yet.
pub(super) fn write(path: &Path, text: &str, executable: bool, ui: &Ui) -> Result<(), Failure> {
    use std::os::unix::fs::OpenOptionsExt;
    let failed = |error: &std::io::Error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            Failure::bad_input(format!("{} already exists", path.display()))
                .hint("move it, or choose another folder")
        } else {
            Failure::infrastructure(format!("cannot write {}: {error}", path.display()))
        }
    };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(|error| failed(&error))?;
    let mode = if executable { 0o755 } else { 0o644 };
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(|error| failed(&error))?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(|error| failed(&error))?;
    ui.out(&format!("{}\n", path.display()))
}
