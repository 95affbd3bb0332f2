//! Files that are written atomically, and read at a given offset.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes a temporary file beside the target, and renames it when it is complete.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = builder().tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Temporary files are private; one that is to stay is as readable as any other.
#[cfg(unix)]
fn builder() -> tempfile::Builder<'static, 'static> {
    use std::os::unix::fs::PermissionsExt;
    let mut builder = tempfile::Builder::new();
    builder.permissions(std::fs::Permissions::from_mode(0o666));
    builder
}

/// A file has the rights of its folder.
#[cfg(not(unix))]
fn builder() -> tempfile::Builder<'static, 'static> {
    tempfile::Builder::new()
}

/// Reads a buffer at an offset. Threads may read one file concurrently.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, at)
}

/// The same if the system reads at an offset and moves the file's own position, which is not used
/// here.
#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut into: &mut [u8], mut at: u64) -> io::Result<()> {
    while !into.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, into, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                into = &mut into[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_atomically_and_read_at_an_offset() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"another").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let file = File::open(&path).unwrap();
        let mut bytes = [0; 4];
        read_exact_at(&file, &mut bytes, 3).unwrap();
        assert_eq!(&bytes, b"ther");
        assert!(read_exact_at(&file, &mut bytes, 4).is_err());
    }
}
