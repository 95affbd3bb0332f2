//! The searched skills: folders or a file, and whether an index is up to date.

use std::path::{Path, PathBuf};

use assay_retrieval::{
    Document, IndexFile, LineError, Searcher, Stamp, are_current, index_file, read_document,
};
use assay_skill::Library;

use crate::args::search::SearchSource;
use crate::commands::note_losses;
use crate::failure::Failure;
use crate::input;
use crate::ui::Ui;

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
    if named && !are_current(&file.stamps()?, &source.library, source.corpus.as_deref()) {
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
        let stamps = Stamp::of_corpus(path);
        return Ok(Read { documents, stamps: stamps.into_iter().collect() });
    }
    let library = Library::load(folders);
    note_losses(&library, ui);
    if library.packages.is_empty() {
        let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        return Err(Failure::bad_input(format!("no skill in {}", names.join(", ")))
            .hint("name a folder that contains SKILL.md, or whose subfolders do"));
    }
    let mut stamps: Vec<Stamp> =
        library.passed.iter().filter_map(|path| Stamp::of_source(folders, path)).collect();
    let mut documents = Vec::with_capacity(library.packages.len());
    for package in library.packages {
        let file = ["SKILL.md", "skill.md"]
            .into_iter()
            .find(|name| package.files.iter().any(|entry| entry.path == *name))
            .unwrap_or("SKILL.md");
        stamps.extend(Stamp::of_source(folders, &package.root.join(file)));
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
