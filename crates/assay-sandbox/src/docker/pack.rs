//! Packs files into tar archives for the daemon: build contexts, and files for containers.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use assay_diagnostic::Io;
use assay_fs::Tally;
use assay_fs::walk::{self, Item, Next, Sequence, Visitor, walk};
use bytes::Bytes;
use tar::{Builder, EntryType, Header};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::files::Owner;
use crate::SandboxError;
use assay_fs::{Caps, CopyReport, FileKind, FsError};

/// Maximum number of buffered pieces of an archive.
const PIECES: usize = 4;
/// Bytes per piece.
const PIECE: usize = 64 << 10;

/// Metadata of an archive's entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    /// The owner of the files.
    pub(super) owner: Owner,
    /// The modification time of all files, in seconds; `None`: that on the host.
    pub(super) modified: Option<u64>,
}

/// The thread that writes an archive.
pub(super) type Writer = std::thread::JoinHandle<Result<CopyReport, FsError>>;
/// Filter for the entries of a folder: gets a path within it, and whether that is a folder.
pub(super) type Keep<'a> = dyn Fn(&Path, bool) -> bool + 'a;
/// A file whose content is replaced, and the new content.
pub(super) type Replacement<'a> = (&'a Path, &'a [u8]);

/// Starts to write an archive; returns its reading end.
pub(super) fn stream_archive<T: Send + 'static>(
    write: impl FnOnce(&mut Pieces) -> T + Send + 'static,
) -> Result<(Receiver<Bytes>, std::thread::JoinHandle<T>), SandboxError> {
    let (sender, receiver) = channel(PIECES);
    let thread = std::thread::Builder::new().name("archive".to_owned()).spawn(move || {
        let mut out = Pieces { sender, piece: Vec::with_capacity(PIECE) };
        write(&mut out)
    });
    let thread = thread.map_err(|source| SandboxError::Io {
        action: "start",
        path: PathBuf::from("a thread"),
        source,
    })?;
    Ok((receiver, thread))
}

/// Converts the pieces to the stream that a request needs.
pub(super) fn stream(receiver: Receiver<Bytes>) -> impl futures_util::Stream<Item = Bytes> + Send + 'static {
    futures_util::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece| (piece, receiver))
    })
}

/// Combines the results of sending and of writing. A read error explains an incomplete archive.
pub(super) fn join_writer<T>(
    writer: Writer,
    from: &Path,
    sent: Result<T, SandboxError>,
) -> Result<(T, CopyReport), SandboxError> {
    let io = |action, path, source| SandboxError::Io { action, path, source };
    match (writer.join(), sent) {
        (Ok(Ok(report)), Ok(sent)) => Ok((sent, report)),
        (Ok(Err(error @ FsError::Io { .. })), _) if !is_broken_pipe(&error) => Err(unreadable(from, error)),
        (_, Err(error)) => Err(error),
        (Ok(Err(error)), Ok(_)) => Err(unreadable(from, error)),
        (Err(_), Ok(_)) => Err(io("pack", from.to_owned(), io::Error::other("the thread ended"))),
    }
}

fn is_broken_pipe(error: &FsError) -> bool {
    matches!(error, FsError::Io(error) if error.source.kind() == io::ErrorKind::BrokenPipe)
}

pub(super) fn unreadable(from: &Path, error: FsError) -> SandboxError {
    match error {
        FsError::Io(Io { action, path, source }) => SandboxError::Io { action, path, source },
        error => SandboxError::Io { action: "pack", path: from.to_owned(), source: io::Error::other(error) },
    }
}

/// The writing end of an archive.
pub(super) struct Pieces {
    sender: Sender<Bytes>,
    piece: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        if piece.is_empty() {
            return Ok(());
        }
        self.sender.blocking_send(Bytes::from(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Packs the content of the folder `from`, or the one file, at `inside`, a relative path that may
/// be empty.
pub(super) fn pack(
    from: &Path,
    inside: &Path,
    out: &mut impl Write,
    style: Style,
    caps: &Caps,
    keep: &Keep<'_>,
    instead: Option<Replacement<'_>>,
) -> Result<CopyReport, FsError> {
    let mut archive = Builder::new(&mut *out);
    archive.sparse(false);
    let mut pack = Pack { archive, inside, style, keep, instead, tally: Tally::new(caps) };
    let found = std::fs::symlink_metadata(from).map_err(|error| FsError::io("inspect", from, error))?;
    if found.is_file() {
        pack.single(from)?;
    } else {
        let root = walk::open(from).map_err(|error| FsError::io("open", from, error))?;
        if !inside.as_os_str().is_empty() {
            let stat = rustix::fs::fstat(&root).map_err(|error| FsError::io("inspect", from, error))?;
            pack.folder(Path::new(""), stat.st_mode, stat.st_mtime)?;
        }
        walk(root, Sequence::ByName(caps.entries), &mut pack)?;
    }
    let Pack { archive, tally, .. } = pack;
    archive.into_inner().and_then(Write::flush).map_err(|error| FsError::io("pack", from, error))?;
    Ok(tally.report)
}

struct Pack<'a, W: Write> {
    archive: Builder<&'a mut W>,
    inside: &'a Path,
    style: Style,
    keep: &'a Keep<'a>,
    instead: Option<Replacement<'a>>,
    tally: Tally<'a>,
}

impl<W: Write> Pack<'_, W> {
    fn header(&self, kind: EntryType, mode: u32, modified: i64) -> Header {
        let modified = self.style.modified.or_else(|| u64::try_from(modified).ok());
        header(kind, mode & 0o777, Style { modified, ..self.style })
    }

    fn folder(&mut self, path: &Path, mode: u32, modified: i64) -> Result<(), FsError> {
        let mut header = self.header(EntryType::Directory, mode, modified);
        header.set_size(0);
        let inside = self.inside.join(path);
        let added = self.archive.append_data(&mut header, &inside, io::empty());
        added.map_err(|error| FsError::io("pack", path, error))
    }

    fn single(&mut self, from: &Path) -> Result<(), FsError> {
        let fail = |error| FsError::io("read", from, error);
        let file = std::fs::File::open(from).map_err(fail)?;
        let stat = rustix::fs::fstat(&file).map_err(|error| fail(error.into()))?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let mut header = self.header(EntryType::Regular, stat.st_mode, stat.st_mtime);
        header.set_size(size);
        let inside = self.inside.to_owned();
        let content = exactly(file, size);
        self.archive.append_data(&mut header, inside, content).map_err(fail)?;
        self.tally.add_file(size);
        Ok(())
    }

    fn file(&mut self, item: &Item<'_>) -> Result<Next, FsError> {
        let fail = |error| FsError::io("pack", item.path, error);
        let mut header = self.header(EntryType::Regular, item.mode(), item.stat().st_mtime);
        let inside = self.inside.join(item.path);
        if let Some((_, content)) = self.instead.filter(|(path, _)| *path == item.path) {
            header.set_size(content.len() as u64);
            self.archive.append_data(&mut header, inside, content).map_err(fail)?;
            return Ok(Next::Past);
        }
        let Some(source) = self.tally.open(item) else { return Ok(Next::Past) };
        header.set_size(item.size());
        self.archive.append_data(&mut header, inside, exactly(source, item.size())).map_err(fail)?;
        self.tally.add_file(item.size());
        Ok(Next::Past)
    }
}

impl<W: Write> Visitor for Pack<'_, W> {
    type Error = FsError;

    fn item(&mut self, item: &Item<'_>) -> Result<Next, FsError> {
        if let Some(next) = self.tally.count(item) {
            return Ok(next);
        }
        let is_folder = item.kind() == FileKind::Directory;
        if !(self.keep)(item.path, is_folder) {
            // Something beneath it may still be included.
            return Ok(if is_folder { Next::Into } else { Next::Past });
        }
        if let Some(next) = self.tally.check_depth(item) {
            return Ok(next);
        }
        match item.kind() {
            FileKind::Directory => {
                self.folder(item.path, item.mode(), item.stat().st_mtime)?;
                Ok(Next::Into)
            }
            FileKind::File => self.file(item),
            FileKind::Link if self.tally.caps.links => {
                let Some(target) = self.tally.read_link(item) else { return Ok(Next::Past) };
                let mut header = self.header(EntryType::Symlink, 0o777, item.stat().st_mtime);
                header.set_size(0);
                let added = self.archive.append_link(&mut header, self.inside.join(item.path), target);
                added.map(|()| Next::Past).map_err(|error| FsError::io("pack", item.path, error))
            }
            _ => {
                Ok(self.tally.leave_out(item.path, "not a file, folder or symbolic link that can be copied"))
            }
        }
    }

    fn failed(&mut self, path: &Path, error: io::Error) -> Result<(), FsError> {
        self.tally.failed(path, &error);
        Ok(())
    }

    fn truncated(&mut self, path: &Path) -> Result<(), FsError> {
        self.tally.truncated(path);
        Ok(())
    }
}

/// Exactly as many bytes as the header announces, even if the file changes meanwhile.
fn exactly(file: impl Read, size: u64) -> impl Read {
    file.chain(io::repeat(0)).take(size)
}

pub(super) fn header(kind: EntryType, mode: u32, style: Style) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(style.owner.uid.into());
    header.set_gid(style.owner.gid.into());
    header.set_mtime(style.modified.unwrap_or(0));
    header
}
