//! Carrying out what is safe to do.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Edit};

/// What became of one file.
#[derive(Debug)]
pub struct Fixed {
    /// The file.
    pub file: PathBuf,
    /// How many findings were mended.
    pub findings: usize,
    /// Why it was left as it was.
    pub error: Option<io::Error>,
}

/// Carries out the fixes of some findings, file by file, each whole or not at all. Where two overlap, the first wins and the
/// other is left for the next time.
pub fn apply<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>) -> Vec<Fixed> {
    let mut files: BTreeMap<&Path, Vec<&Diagnostic>> = BTreeMap::new();
    for finding in findings {
        if finding.fix.is_some() {
            files.entry(&finding.file).or_default().push(finding);
        }
    }
    files
        .into_iter()
        .map(|(file, findings)| {
            let (count, result) = match mend(file, &findings) {
                Ok(count) => (count, None),
                Err(error) => (0, Some(error)),
            };
            Fixed { file: file.to_path_buf(), findings: count, error: result }
        })
        .collect()
}

fn mend(file: &Path, findings: &[&Diagnostic]) -> io::Result<usize> {
    let metadata = fs::symlink_metadata(file)?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let bytes = fs::read(file)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| io::Error::other("not UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut edits: Vec<&Edit> = Vec::new();
    let mut count = 0;
    for fix in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        let fits = fix.edits.iter().all(|edit| {
            text.get(edit.range.clone()).is_some() && edits.iter().all(|other| apart(edit, other))
        });
        if fits {
            edits.extend(&fix.edits);
            count += 1;
        }
    }
    edits.sort_by_key(|edit| edit.range.start);
    let mut mended = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        mended.push_str(&text[at..edit.range.start]);
        mended.push_str(&edit.text);
        at = edit.range.end;
    }
    mended.push_str(&text[at..]);
    if mended.as_bytes() != bytes {
        replace_file(file, mended.as_bytes())?;
    }
    Ok(count)
}

/// Whether two edits touch different stretches. Two insertions at one place do not.
fn apart(one: &Edit, other: &Edit) -> bool {
    one.range.end < other.range.start
        || other.range.end < one.range.start
        || (one.range.end == other.range.start && !one.range.is_empty() && !other.range.is_empty())
        || (other.range.end == one.range.start && !one.range.is_empty() && !other.range.is_empty())
}

/// Replaces a file's content, whole or not at all, and keeps its permissions.
pub(crate) fn replace_file(file: &Path, content: &[u8]) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = tempfile::Builder::new().prefix(".assay-").tempfile_in(folder)?;
    beside.write_all(content)?;
    if let Ok(metadata) = fs::metadata(file) {
        beside.as_file().set_permissions(metadata.permissions())?;
    }
    beside.as_file().sync_all()?;
    beside.persist(file).map_err(|error| error.error)?;
    Ok(())
}
