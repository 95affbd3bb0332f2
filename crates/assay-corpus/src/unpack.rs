//! The reverse of [`gather`](assay_skill::corpus::gather): records as folders again, for programs that read
//! packages.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use assay_skill::corpus::Record;
use assay_skill::corpus::input::{BadLine, Input, InputError};

/// Most bytes of a part of a path: file systems take 255.
const PART: usize = 120;

/// The result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Folders with a document.
    pub records: usize,
    /// Records whose place was taken by one with the same id.
    pub repeated: usize,
}

/// Why unpacking ended.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The corpus cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The folder is not empty, and its content must not be mixed with the output.
    #[error("{} is not empty", path.display())]
    NotEmpty {
        /// Which one.
        path: PathBuf,
    },
    /// Something cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The path of a record's folder: `OWNER/REPOSITORY/ID/FOLDER`, the folder named as in its
/// repository.
///
/// Each part comes from the record and is made a plain name, so that nothing leaves the output
/// folder.
pub fn folder_path(record: &Record) -> PathBuf {
    let (owner, repository) = record.repo.split_once('/').unwrap_or(("", &record.repo));
    let folder = record.path.rsplit('/').nth(1).filter(|folder| !folder.is_empty());
    let id = record.key();
    [owner, repository, &id, folder.unwrap_or(repository)].into_iter().map(part).collect()
}

/// A text as the name of a folder: no separator, no control character, not hidden, neither empty
/// nor long.
fn part(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        if name.len() + c.len_utf8() > PART {
            break;
        }
        name.push(if c.is_control() || matches!(c, '/' | '\\') { '_' } else { c });
    }
    if name.is_empty() || name.starts_with('.') {
        name.insert(0, '_');
    }
    name
}

fn failed(path: &Path, source: io::Error) -> UnpackError {
    UnpackError::Write { path: path.to_path_buf(), source }
}

/// Creates the folder for records.
///
/// # Errors
/// It exists and is not empty, or cannot be created.
pub fn create_empty(folder: &Path) -> Result<(), UnpackError> {
    fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
    if fs::read_dir(folder).map_err(|source| failed(folder, source))?.next().is_some() {
        return Err(UnpackError::NotEmpty { path: folder.to_path_buf() });
    }
    Ok(())
}

/// Writes the document of a record into its own folder below `folder`: [`folder_path`]. Returns whether the place was
/// free.
///
/// # Errors
/// The document cannot be written.
pub fn write_record(folder: &Path, record: &Record) -> Result<bool, UnpackError> {
    let own = folder.join(folder_path(record));
    fs::create_dir_all(&own).map_err(|source| failed(&own, source))?;
    let file = own.join("SKILL.md");
    let mut created = match fs::File::create_new(&file) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        created => created.map_err(|source| failed(&file, source))?,
    };
    created.write_all(record.skill_md.as_bytes()).map_err(|source| failed(&file, source))?;
    Ok(true)
}

/// Writes the document of each record into its own folder below `folder`, which is created, or
/// empty. `bad` is called for lines without a record.
pub fn unpack(
    input: &mut Input,
    folder: &Path,
    bad: &mut dyn FnMut(&BadLine),
) -> Result<Unpacked, UnpackError> {
    create_empty(folder)?;
    let write = |record: Record| write_record(folder, &record);
    let mut unpacked = Unpacked::default();
    while let Some(batch) = input.batch(write)? {
        for line in batch {
            match line {
                Ok(written) => {
                    let counter = if written? { &mut unpacked.records } else { &mut unpacked.repeated };
                    *counter += 1;
                }
                Err(found) => bad(&found),
            }
        }
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_records_stay_in_the_folder() {
        let check = |repo: &str, path: &str, expected: &str| {
            let record = Record { id: "7".into(), repo: repo.into(), path: path.into(), ..Record::default() };
            assert_eq!(folder_path(&record), Path::new(expected), "{repo} {path}");
        };
        check("o/r", "skills/pdf/SKILL.md", "o/r/7/pdf");
        check("o/r", "SKILL.md", "o/r/7/r");
        check("", "SKILL.md", "_/_/7/_");
        check("../..", "../../SKILL.md", "_../_../7/_..");
        check("/etc", "/SKILL.md", "_/etc/7/etc");
        check("o/r/s", "a/.hidden\u{1b}/SKILL.md", "o/r_s/7/_.hidden_");
        check("o/r", &format!("{}/SKILL.md", "é".repeat(200)), &format!("o/r/7/{}", "é".repeat(60)));
    }

    #[test]
    fn each_record_has_its_document_once() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "{\"id\":\"a\",\"repo\":\"o/r\",\"path\":\"x/SKILL.md\",\"skill_md\":\"# T\"}\n"
            .repeat(2)
            + "[]\n";
        let unpacked = |folder: &Path, invalid: &mut Vec<u64>| {
            let mut input =
                Input::of(Path::new("x"), Box::new(io::Cursor::new(lines.clone().into_bytes()))).unwrap();
            unpack(&mut input, folder, &mut |bad| invalid.push(bad.line))
        };
        let mut invalid = Vec::new();
        let found = unpacked(folder.path(), &mut invalid).unwrap();
        assert_eq!((found, invalid.as_slice()), (Unpacked { records: 1, repeated: 1 }, &[3][..]));
        assert_eq!(fs::read_to_string(folder.path().join("o/r/a/x/SKILL.md")).unwrap(), "# T");
        assert!(matches!(unpacked(folder.path(), &mut invalid), Err(UnpackError::NotEmpty { .. })));
    }
}
