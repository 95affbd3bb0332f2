//! Pointers of Git LFS: small files in whose place a filter puts others, which the repository does not have. A gate executes no
//! filter and fetches nothing.

use std::path::Path;

/// How they begin.
const START: &str = "version https://git-lfs.github.com/spec/";

/// The most bytes of one.
const LONGEST: u64 = 1024;

/// The size of the file that a pointer stands for; `None` for other files.
pub(crate) fn pointed_size(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= LONGEST)?;
    let size = text.lines().find_map(|line| line.strip_prefix("size "));
    size.filter(|_| text.starts_with(START))?.trim().parse().ok()
}

/// Whether a file is a pointer.
pub(crate) fn is_pointer(file: &Path) -> bool {
    let is_small = file.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
    is_small && std::fs::read(file).is_ok_and(|bytes| pointed_size(&bytes).is_some())
}
