//! The searched skills: folders or a file, and whether an index is up to date.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use assay_retrieval::{Document, IndexFile, LineError, Searcher, Stamp, index_file, read_document};
use assay_skill::Library;

use crate::args::search::SearchSource;
use crate::commands::note_losses;
use crate::failure::Failure;
use crate::input;
use crate::ui::Ui;

/// Threads that check whether files have changed.
const THREADS: usize = 4;

/// What was read.
pub(super) struct Read {
    pub(super) documents: Vec<Document>,
    pub(super) stamps: Vec<Stamp>,
}

/// The index that was named, or one built now.
pub(super) fn searcher(source: &SearchSource, ui: &Ui) -> Result<Searcher, Failure> {
    let named = !source.library.is_empty() || source.corpus.is_some();
    let Some(path) = &source.index else {
        if !named {
            return Err(Failure::bad_input("no skills to search")
                .hint("name skills with --library DIR or --corpus FILE, or an index with --index FILE"));
        }
        let read = read(&source.library, source.corpus.as_deref(), ui)?;
        return Ok(Searcher::build(read.documents, &read.stamps)?);
    };
    let file = IndexFile::open(path)?;
    if named && !is_unchanged(&file.stamps()?, &source.library, source.corpus.as_deref()) {
        ui.detail("files changed since the index was built: reading all skills");
        let read = read(&source.library, source.corpus.as_deref(), ui)?;
        if index_file::digest_of(read.documents) != file.digest() {
            let message = format!("{} is out of date: the skills have changed", path.display());
            return Err(Failure::bad_input(message).hint(
                "run `assay search index` to rebuild it, or omit --index to index the skills each time",
            ));
        }
    }
    Ok(Searcher::from_index(file))
}

/// Parses the lines of a file; bad lines are reported and skipped.
pub fn parsed<T>(
    path: &Path,
    ui: &Ui,
    read: impl Fn(&str) -> Result<T, LineError>,
) -> Result<Vec<T>, Failure> {
    let mut found = Vec::new();
    let report_line =
        |number: usize, message: &str| ui.note(&format!("{}:{number}: error: {message}", path.display()));
    let each = |number: usize, line: &str| match read(line) {
        Ok(item) => found.push(item),
        Err(error) => report_line(number, &error.to_string()),
    };
    input::lines(path, each, report_line)?;
    Ok(found)
}

/// Reads the searchable skills of a corpus.
pub fn documents(path: &Path, ui: &Ui) -> Result<Vec<Document>, Failure> {
    let read: Vec<Option<Document>> = parsed(path, ui, read_document)?;
    let mut documents: Vec<Document> = read.into_iter().flatten().collect();
    // A stable sort: of several with one id the first stays.
    documents.sort_by(|one, other| one.id.cmp(&other.id));
    let before = documents.len();
    documents.dedup_by(|later, first| later.id == first.id);
    if documents.len() < before {
        ui.note(&format!(
            "{}: {} duplicate ids; the first of each is used",
            path.display(),
            before - documents.len()
        ));
    }
    if documents.is_empty() {
        return Err(Failure::bad_input(format!("{} contains no searchable skill", path.display())));
    }
    Ok(documents)
}

/// Reads all skills of some folders, or of a file.
pub(super) fn read(folders: &[PathBuf], corpus: Option<&Path>, ui: &Ui) -> Result<Read, Failure> {
    if let Some(path) = corpus {
        let documents = documents(path, ui)?;
        let stamps = fs::metadata(path).ok().and_then(|data| of_file(CORPUS.to_owned(), &data));
        return Ok(Read { documents, stamps: stamps.into_iter().collect() });
    }
    let library = Library::load(folders);
    note_losses(&library, ui);
    if library.packages.is_empty() {
        let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        return Err(Failure::bad_input(format!("no skill in {}", names.join(", ")))
            .hint("name a folder that contains SKILL.md, or whose subfolders do"));
    }
    let mut stamps: Vec<Stamp> = library.passed.iter().filter_map(|path| stamp(folders, path)).collect();
    let mut documents = Vec::with_capacity(library.packages.len());
    for package in library.packages {
        let file = ["SKILL.md", "skill.md"]
            .into_iter()
            .find(|name| package.files.iter().any(|entry| entry.path == *name))
            .unwrap_or("SKILL.md");
        stamps.extend(stamp(folders, &package.root.join(file)));
        documents.push(Document {
            id: id(folders, &package.root, &package.directory),
            name: package.name,
            description: package.description,
            document: package.document,
            ..Document::default()
        });
    }
    Ok(Read { documents, stamps })
}

/// A skill's place within its library; with several libraries, the place as it was reached.
fn id(folders: &[PathBuf], root: &Path, directory: &str) -> String {
    let [folder] = folders else { return root.to_string_lossy().into_owned() };
    match root.strip_prefix(folder) {
        Ok(inner) if inner.as_os_str().is_empty() => directory.to_owned(),
        Ok(inner) => inner.to_string_lossy().into_owned(),
        Err(_) => root.to_string_lossy().into_owned(),
    }
}

/// The path of the stamp of a corpus file.
const CORPUS: &str = "corpus";

/// The stamp of a file or folder. Its path begins with the number of its library.
fn stamp(folders: &[PathBuf], path: &Path) -> Option<Stamp> {
    let (number, inner) = folders
        .iter()
        .enumerate()
        .find_map(|(number, folder)| Some((number, path.strip_prefix(folder).ok()?)))?;
    let name = format!("{number}/{}", inner.to_str()?);
    let data = fs::metadata(path).ok()?;
    if data.is_dir() { of_folder(name, path) } else { of_file(name, &data) }
}

fn of_file(path: String, data: &Metadata) -> Option<Stamp> {
    let modified = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Stamp { path, size: data.len(), modified: i64::try_from(modified.as_nanos()).ok()? })
}

/// Of a folder only the subfolders matter, where skills may appear, not its other files.
fn of_folder(path: String, folder: &Path) -> Option<Stamp> {
    let mut names: Vec<std::ffi::OsString> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let is_document = name.to_str().is_some_and(|name| name.eq_ignore_ascii_case("skill.md"));
            is_document || entry.file_type().is_ok_and(|kind| !kind.is_file())
        })
        .map(|entry| entry.file_name())
        .collect();
    names.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for name in &names {
        hasher.update(name.as_encoded_bytes());
        hasher.update(b"/");
    }
    let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = *hasher.finalize().as_bytes();
    let sum = i64::from_le_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
    Some(Stamp { path, size: names.len() as u64, modified: sum })
}

/// Whether the sources of the index are unchanged, by names, sizes and times.
fn is_unchanged(stamps: &[Stamp], folders: &[PathBuf], corpus: Option<&Path>) -> bool {
    let holds = |known: &Stamp| {
        let now = match corpus {
            Some(path) => fs::metadata(path).ok().and_then(|data| of_file(CORPUS.to_owned(), &data)),
            None => known.path.split_once('/').and_then(|(number, inner)| {
                let folder = folders.get(number.parse::<usize>().ok()?)?;
                stamp_beneath(
                    &known.path,
                    &if inner.is_empty() { folder.clone() } else { folder.join(inner) },
                )
            }),
        };
        now.as_ref() == Some(known)
    };
    if stamps.is_empty() {
        return false;
    }
    let share = stamps.len().div_ceil(THREADS);
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            stamps.chunks(share).map(|own| scope.spawn(move || own.iter().all(&holds))).collect();
        threads.into_iter().all(|thread| thread.join().unwrap_or(false))
    })
}

fn stamp_beneath(name: &str, path: &Path) -> Option<Stamp> {
    let data = fs::metadata(path).ok()?;
    if data.is_dir() { of_folder(name.to_owned(), path) } else { of_file(name.to_owned(), &data) }
}
