//! Copies files out of a container, as tar archives from the daemon. Their content is untrusted.

use std::io::{self, Read};
use std::path::Path;

use bollard::errors::Error;
use bollard::query_parameters::DownloadFromContainerOptions;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use tar::{Archive, EntryType};

use super::client::Inner;
use super::container::Container;
use super::error::{failed, status};
use super::unpack::{NotRead, Unpack, words};
use crate::SandboxError;
use crate::spec::absolute;
use assay_fs::{Caps, CopyReport};

impl Container {
    /// Copies what is at `path` inside into the host's folder `to`, which is created if missing and
    /// should be empty.
    ///
    /// A folder's content goes into `to` itself; a file goes there under its own name. `None` if
    /// nothing is at `path`. No link is followed, inside or on the host: links are copied as links,
    /// last of all, if `caps` allows them. Set-id bits and owners are not kept. Devices, pipes,
    /// sockets, invalid names and what exceeds `caps` are left out and listed. It works before and
    /// after [`Container::halt`] alike; in-memory folders appear empty.
    pub fn fetch(&self, path: &Path, to: &Path, caps: &Caps) -> Result<Option<CopyReport>, SandboxError> {
        absolute(path, "the path")?;
        if let Some(Ok(fetched)) = self.layers().map(|layers| layers.fetch(path, to, caps)) {
            return fetched;
        }
        let Some(mut reader) = self.inner.download(&self.id, path)? else { return Ok(None) };
        let mut unpack = Unpack::new(to, caps)?;
        let unpacked = unpack.all(&mut reader);
        let report = unpack.finish()?;
        // An error of the daemon appears as a read error.
        match (reader.failure.take(), unpacked) {
            (Some(error), _) => Err(failed("copy files from a container", &error)),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Ok(Some(report)),
        }
    }

    /// Reads a regular file of at most `cap` bytes; `None` if there is nothing. Anything else, and
    /// a larger file, is an error that names it.
    pub fn read(&self, path: &Path, cap: u64) -> Result<Option<Vec<u8>>, SandboxError> {
        absolute(path, "the path")?;
        let io = |source| SandboxError::Io { action: "read", path: path.to_owned(), source };
        if let Some(Ok(read)) = self.layers().map(|layers| layers.read(path, cap)) {
            return read.map_err(|reason| io(io::Error::other(reason)));
        }
        let Some(mut reader) = self.inner.download(&self.id, path)? else { return Ok(None) };
        let mut content = Vec::new();
        {
            let mut archive = Archive::new(&mut reader);
            let entry = archive.entries().map_err(io)?.next();
            let mut entry = match entry {
                Some(entry) => entry.map_err(io)?,
                None => return Ok(None),
            };
            if entry.header().entry_type() != EntryType::Regular {
                return Err(io(io::Error::other(NotRead::Kind(words(entry.header().entry_type())))));
            }
            if entry.size() > cap {
                return Err(io(io::Error::other(NotRead::TooLarge(cap))));
            }
            entry.read_to_end(&mut content).map_err(io)?;
        }
        match reader.failure {
            Some(error) => Err(failed("copy a file from a container", &error)),
            None => Ok(Some(content)),
        }
    }
}

impl Inner {
    /// The archive of what is at a path in a container; `None` if nothing is there.
    pub(super) fn download(&self, id: &str, path: &Path) -> Result<Option<Reader<'_>>, SandboxError> {
        let options = DownloadFromContainerOptions { path: path.to_string_lossy().into_owned() };
        let mut stream = self.api.download_from_container(id, Some(options)).boxed();
        match self.block(stream.try_next()) {
            Ok(Some(piece)) => Ok(Some(Reader { inner: self, stream, piece, failure: None })),
            Ok(None) => Ok(None),
            Err(error) if status(&error) == Some(404) => Ok(None),
            Err(error) => Err(failed("copy files from a container", &error)),
        }
    }
}

/// The bytes of an archive as they arrive.
pub(super) struct Reader<'a> {
    inner: &'a Inner,
    stream: BoxStream<'a, Result<Bytes, Error>>,
    piece: Bytes,
    failure: Option<Error>,
}

impl Reader<'_> {
    /// The error of the daemon that ended the archive.
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.inner.block(self.stream.next()) {
                None => return Ok(0),
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => {
                    self.failure = Some(error);
                    return Err(io::Error::other("the daemon closed the connection"));
                }
            }
        }
        let n = buffer.len().min(self.piece.len());
        buffer[..n].copy_from_slice(&self.piece.split_to(n));
        Ok(n)
    }
}
