//! Inputs: files and standard input, compressed or not.

use std::io::Read;
use std::path::Path;

use super::error::TraceError;

/// Most bytes of a transcript, after decompression. Steps are passed on one by one, so this bounds time.
const UNPACKED: u64 = 64 << 30;

/// Opens a file, or standard input if the path is `-`, and decompresses it.
pub fn open(path: &Path) -> Result<Box<dyn Read>, TraceError> {
    let opened = assay_fs::open_input(path, UNPACKED)
        .map_err(|source| TraceError::Open { path: path.to_path_buf(), source })?;
    Ok(Box::new(opened))
}
