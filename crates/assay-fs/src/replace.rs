//! Replacing a file as a whole.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file so that, whatever happens, its path has the old content or the new one.
///
/// As [`replace_file_with`].
///
/// # Errors
/// The file cannot be written; what was there is still there.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_file_with(path, |file| file.write_all(content))
}

/// Writes a file by a function, so that its path has the old content or the new one.
///
/// The new content is written beside the file, synced, and renamed. A link stays and the file that it leads to is
/// replaced; permissions are kept. What is no regular file, such as a pipe or a terminal, is written to.
///
/// # Errors
/// The file cannot be written; what was there is still there.
pub fn replace_file_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let there = fs::metadata(&target).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let mut file = BufWriter::new(OpenOptions::new().write(true).open(&target)?);
        return write(&mut file).and_then(|()| file.flush());
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".assay-");
    // As for any new file: the process's mask decides.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let draft = builder.tempfile_in(folder)?;
    let mut file = BufWriter::new(draft.as_file());
    write(&mut file).and_then(|()| file.flush())?;
    drop(file);
    if let Some(there) = there {
        draft.as_file().set_permissions(there.permissions())?;
    }
    draft.as_file().sync_all()?;
    draft.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_or_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        replace_file(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link.html");
        std::os::unix::fs::symlink("report.html", &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        let broken = replace_file_with(&path, |file| {
            file.write_all(&b"x".repeat(100_000))?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(broken.unwrap_err().to_string(), "the disk is full");
        assert_eq!(fs::read(&path).unwrap(), b"new");
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(replace_file(folder.path(), b"x").is_err());
        assert!(replace_file(&folder.path().join("none/x"), b"x").is_err());
        replace_file(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
