//! Vectors of a corpus, in memory and as a file.
//!
//! Little-endian, in this order: 8 magic bytes, the format's version, the length of the header, the
//! header (JSON) and its BLAKE3 digest; for each document, in order of the ids, the digest of the
//! embedded text (32 bytes) and its number of vectors (4); then the vectors, single precision. The
//! header has the digest of everything after it. The file is read at once and not mapped: mapping
//! needs `unsafe`, which the workspace forbids, and 19,314 vectors of 384 numbers are 30 MB, read
//! in 20 ms. The file is not trusted: every length in it is checked.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::write_whole;

/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"ASSAYVEC";

/// The format's version. A file of another one is refused.
const VERSION: u32 = 1;

/// Most bytes of a header.
const HEADER_CAP: usize = 1 << 16;

/// Most bytes of a file.
const CAP: u64 = 8 << 30;

/// Most numbers of a vector; no model has near as many.
const WIDEST: usize = 1 << 16;

/// Bytes of a document before the vectors.
const ENTRY: usize = 32 + 4;

/// Why vectors cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum VectorsError {
    /// They cannot be written.
    #[error("cannot write the vectors {}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// They cannot be read.
    #[error("cannot read the vectors {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is something else.
    #[error("{} is not an assay vectors file", _0.display())]
    Foreign(PathBuf),
    /// It is of another version.
    #[error("the vectors {} have format {found}; this version of assay reads format {VERSION}", path.display())]
    Version {
        /// Which.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Its content is inconsistent.
    #[error("the vectors {} are damaged: {what}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// The mismatched part.
        what: &'static str,
    },
    /// Another model made them, or of other texts.
    #[error("the vectors {} were made by {found}, expected {wanted}", path.display())]
    Model {
        /// Which.
        path: PathBuf,
        /// What made them.
        found: String,
        /// The expected origin.
        wanted: String,
    },
    /// They are of other documents.
    #[error("the vectors {} are of other skills", _0.display())]
    Corpus(PathBuf),
}

/// What vectors are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The model's name.
    pub model: String,
    /// The model's digest.
    pub model_digest: String,
    /// What of a document was embedded.
    pub text: String,
    /// The digest of the documents, as an index has it.
    pub corpus: String,
}

impl Origin {
    /// Whether vectors of both can be compared.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        (&self.model_digest, &self.text) == (&other.model_digest, &other.text)
    }

    fn describe(&self) -> String {
        let digest: String = self.model_digest.chars().filter(|c| !c.is_control()).take(15).collect();
        format!("{} ({digest}…) over {}", self.model, self.text)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    origin: Origin,
    documents: usize,
    vectors: usize,
    dimensions: usize,
    content: String,
}

/// The vectors of a corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectors {
    pub(super) origin: Origin,
    /// Numbers of a vector.
    pub dimensions: usize,
    /// By document: the digest of the embedded text.
    pub(super) digests: Vec<[u8; 32]>,
    /// The start of a document's vectors, counted in vectors; one more at the end.
    pub(super) starts: Vec<usize>,
    /// All vectors, of length 1 or 0.
    pub(super) numbers: Vec<f32>,
}

impl Vectors {
    /// Their origin.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// How many documents have vectors.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// A document's vectors, one after the other.
    pub fn of(&self, document: usize) -> &[f32] {
        &self.numbers[self.starts[document] * self.dimensions..self.starts[document + 1] * self.dimensions]
    }

    /// Writes a temporary file beside the target, and renames it when it is complete.
    pub fn save(&self, path: &Path) -> Result<(), VectorsError> {
        let written = self.encode().and_then(|bytes| write_whole(path, &bytes));
        written.map_err(|source| VectorsError::Write { path: path.to_owned(), source })
    }

    fn encode(&self) -> io::Result<Vec<u8>> {
        let count =
            |count: usize| u32::try_from(count).map_err(|_| io::Error::other("too many to be counted"));
        let mut content = Vec::with_capacity(self.len() * ENTRY + self.numbers.len() * 4);
        for (digest, pair) in self.digests.iter().zip(self.starts.windows(2)) {
            content.extend_from_slice(digest);
            content.extend_from_slice(&count(pair[1] - pair[0])?.to_le_bytes());
        }
        content.extend(self.numbers.iter().flat_map(|number| number.to_le_bytes()));
        let header = serde_json::to_vec(&Header {
            origin: self.origin.clone(),
            documents: self.len(),
            vectors: self.starts.last().copied().unwrap_or(0),
            dimensions: self.dimensions,
            content: digest(&content),
        })?;
        let mut all = Vec::with_capacity(content.len() + header.len() + 64);
        all.extend_from_slice(&MAGIC);
        all.extend_from_slice(&VERSION.to_le_bytes());
        all.extend_from_slice(&count(header.len())?.to_le_bytes());
        all.extend_from_slice(&header);
        all.extend_from_slice(blake3::hash(&header).as_bytes());
        all.extend_from_slice(&content);
        Ok(all)
    }

    /// Reads vectors that have to be of this model, texts and corpus.
    pub fn open(path: &Path, origin: &Origin) -> Result<Self, VectorsError> {
        let found = Self::read(path)?;
        if !found.origin.is_alike(origin) {
            let (found, wanted) = (found.origin.describe(), origin.describe());
            return Err(VectorsError::Model { path: path.to_owned(), found, wanted });
        }
        if found.origin.corpus != origin.corpus {
            return Err(VectorsError::Corpus(path.to_owned()));
        }
        Ok(found)
    }

    /// Reads vectors of any origin.
    pub fn read(path: &Path) -> Result<Self, VectorsError> {
        let failed = |source| VectorsError::Read { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        File::open(path).map_err(failed)?.take(CAP).read_to_end(&mut bytes).map_err(failed)?;
        let damaged = |what| VectorsError::Damaged { path: path.to_owned(), what };
        let rest = bytes.strip_prefix(&MAGIC).ok_or_else(|| VectorsError::Foreign(path.to_owned()))?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(|| damaged("it ends too early"))?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(VectorsError::Version { path: path.to_owned(), found: version });
        }
        decode(rest).map_err(damaged)
    }
}

fn digest(content: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(content).to_hex())
}

/// The header after the version.
fn decode(bytes: &[u8]) -> Result<Vectors, &'static str> {
    const SHORT: &str = "it ends too early";
    let (length, rest) = bytes.split_first_chunk().ok_or(SHORT)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > HEADER_CAP {
        return Err("its header is too long");
    }
    let (header, rest) = rest.split_at_checked(length).ok_or(SHORT)?;
    let (sum, content) = rest.split_first_chunk::<{ blake3::OUT_LEN }>().ok_or(SHORT)?;
    if blake3::hash(header).as_bytes() != sum {
        return Err("header digest mismatch");
    }
    let header: Header = serde_json::from_slice(header).map_err(|_| "its header cannot be read")?;
    let Header { origin, documents, vectors, dimensions, content: sum } = header;
    if dimensions > WIDEST {
        return Err("its vectors are too wide");
    }
    let size = documents.checked_mul(ENTRY).zip(vectors.checked_mul(dimensions * 4));
    if size.and_then(|(entries, numbers)| entries.checked_add(numbers)) != Some(content.len()) {
        return Err("its length differs from its header");
    }
    if digest(content) != sum {
        return Err("vectors digest mismatch");
    }
    let (entries, numbers) = content.split_at(documents * ENTRY);
    let (mut digests, mut starts) = (Vec::with_capacity(documents), vec![0]);
    for entry in entries.as_chunks::<ENTRY>().0 {
        let (digest, count) = entry.split_first_chunk::<32>().ok_or(SHORT)?;
        let count = count.first_chunk().map_or(0, |count| u32::from_le_bytes(*count)) as usize;
        digests.push(*digest);
        starts.push(starts[starts.len() - 1] + count);
    }
    if starts.last() != Some(&vectors) {
        return Err("the documents' numbers of vectors do not add up");
    }
    let numbers: Vec<f32> = numbers.as_chunks::<4>().0.iter().map(|own| f32::from_le_bytes(*own)).collect();
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err("a value is not a finite number");
    }
    Ok(Vectors { origin, dimensions, digests, starts, numbers })
}

/// A folder with vectors of one model and one kind of text, one file for each corpus.
pub(super) struct VectorCache {
    folder: PathBuf,
}

/// How many corpora of one model have cached vectors; the least recently used are removed first.
const KEPT: usize = 8;

impl VectorCache {
    /// Below a folder, which may be missing.
    pub(super) fn in_folder(folder: &Path, origin: &Origin) -> Self {
        let key = blake3::hash(format!("{}\n{}", origin.model_digest, origin.text).as_bytes());
        Self { folder: folder.join(&key.to_hex().as_str()[..16]) }
    }

    fn path(&self, origin: &Origin) -> PathBuf {
        let key = blake3::hash(origin.corpus.as_bytes());
        self.folder.join(format!("{}.vectors", &key.to_hex().as_str()[..16]))
    }

    /// The vectors of a corpus, if they are cached and valid.
    pub(super) fn get(&self, origin: &Origin) -> Option<Vectors> {
        let path = self.path(origin);
        let found = Vectors::open(&path, origin).ok()?;
        // The time of last use. If it cannot be set, the file is removed a little earlier.
        drop(
            File::options()
                .append(true)
                .open(&path)
                .and_then(|file| file.set_modified(std::time::SystemTime::now())),
        );
        Some(found)
    }

    /// The cached vectors of other corpora, the latest first.
    pub(super) fn other_vectors(&self, origin: &Origin) -> impl Iterator<Item = Vectors> {
        let is_alike = |found: &Vectors| found.origin.is_alike(origin);
        self.files().into_iter().filter_map(|path| Vectors::read(&path).ok()).filter(is_alike)
    }

    /// Stores vectors.
    pub(super) fn store_vectors(&self, vectors: &Vectors) -> Result<(), VectorsError> {
        let failed = |source| VectorsError::Write { path: self.folder.clone(), source };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        vectors.save(&self.path(&vectors.origin))?;
        for path in self.files().into_iter().skip(KEPT) {
            // Another process may have been faster.
            drop(fs::remove_file(path));
        }
        Ok(())
    }

    /// Removes the vectors of a corpus.
    pub(super) fn remove(&self, origin: &Origin) {
        // They may never have been stored.
        drop(fs::remove_file(self.path(origin)));
    }

    /// The files, the latest first.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let of = |entry: fs::DirEntry| {
            let path = entry.path();
            let is_own = path.extension().is_some_and(|extension| extension == "vectors");
            let modified = entry.metadata().ok()?.modified().ok()?;
            is_own.then_some((modified, path))
        };
        let mut found: Vec<_> = entries.filter_map(of).collect();
        found.sort_by(|one, other| other.cmp(one));
        found.into_iter().map(|(_, path)| path).collect()
    }
}
