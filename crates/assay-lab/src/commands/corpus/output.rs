//! Where a command of `assay lab corpus` writes.

use std::path::Path;

use assay_cli::failure::Failure;

/// Writes a file, or standard output for `-`.
pub(in crate::commands) fn write_to(
    path: &Path,
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    use std::io::Write;
    let result = if path == Path::new("-") {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        write(&mut out).and_then(|()| out.flush())
    } else {
        assay_fs::replace_file_with(path, write)
    };
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Failure::BrokenPipe),
        other => other.map_err(|error| Failure::BadInput {
            message: format!("cannot write {}", path.display()),
            hint: Some("pass a file in an existing folder".to_owned()),
            source: Some(error.into()),
            details: Vec::new(),
        }),
    }
}
