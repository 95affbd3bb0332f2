//! A command's output on its way to files and memory.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::drain::Drain;
use crate::{Captured, Exec, SandboxError, Sink};

/// Bytes per read: the default capacity of a pipe.
pub(crate) const CHUNK: usize = 64 << 10;

/// The destination of a stream, and the part kept in memory.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: Option<(File, PathBuf)>,
    /// Bytes that may still be written to the file.
    room: u64,
    keep: usize,
    captured: Captured,
    failed: Option<SandboxError>,
}

impl Recorder {
    /// Opens the destination.
    pub(crate) fn open(sink: &Sink) -> Result<Self, SandboxError> {
        let file = match &sink.file {
            None => None,
            Some(path) => {
                let file = File::create(path).map_err(|source| SandboxError::Io {
                    action: "create",
                    path: path.clone(),
                    source,
                })?;
                Some((file, path.clone()))
            }
        };
        Ok(Self { file, room: sink.cap, keep: sink.keep, captured: Captured::default(), failed: None })
    }

    /// Appends the next bytes.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.captured.total += bytes.len() as u64;
        if let Some((file, path)) = &mut self.file {
            let most = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
            if let Err(source) = file.write_all(&bytes[..most]) {
                self.failed = Some(SandboxError::Io { action: "write", path: path.clone(), source });
                self.file = None;
            } else {
                self.room -= most as u64;
            }
        }
        let head = (self.keep - self.captured.head.len()).min(bytes.len());
        self.captured.head.extend_from_slice(&bytes[..head]);
        let rest = &bytes[head..];
        let tail = &mut self.captured.tail;
        tail.extend_from_slice(&rest[rest.len().saturating_sub(self.keep)..]);
        if tail.len() > self.keep.saturating_mul(2).max(CHUNK) {
            tail.drain(..tail.len() - self.keep);
        }
    }

    /// Whether its file could not be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The part kept in memory.
    pub(crate) fn close(mut self) -> Result<Captured, SandboxError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let tail = &mut self.captured.tail;
        tail.drain(..tail.len().saturating_sub(self.keep));
        Ok(self.captured)
    }
}

/// The reading end of a stream, and its destination.
#[derive(Debug)]
pub(crate) struct Stream {
    source: Option<OwnedFd>,
    recorder: Recorder,
}

impl Stream {
    /// A stream into `sink`, and the writing end for the command.
    pub(crate) fn open(sink: &Sink) -> Result<(Self, OwnedFd), SandboxError> {
        let recorder = Recorder::open(sink)?;
        let (source, end) = pipe().map_err(|source| SandboxError::Io {
            action: "open",
            path: PathBuf::from("a pipe"),
            source,
        })?;
        Ok((Self { source: Some(source), recorder }, end))
    }

    /// What to poll; `None` after the end.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// Reads the available data, once.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) {
        let Some(source) = &self.source else { return };
        match rustix::io::read(source, &mut *buffer) {
            Ok(0) => self.source = None,
            Ok(n) => self.recorder.append(&buffer[..n]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.source = None,
        }
    }

    /// Whether its file could not be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.recorder.has_failed()
    }

    /// The part kept in memory, and the reading end if something still has the other.
    pub(crate) fn close(self) -> Result<(Captured, Option<OwnedFd>), SandboxError> {
        Ok((self.recorder.close()?, self.source))
    }
}

/// The streams of a command, and their writing ends: standard output and, unless merged, standard
/// error.
pub(crate) fn open_both(command: &Exec) -> Result<(Vec<Stream>, OwnedFd, Option<OwnedFd>), SandboxError> {
    let (stdout, stdout_end) = Stream::open(&command.stdout)?;
    let Some(sink) = &command.stderr else { return Ok((vec![stdout], stdout_end, None)) };
    let (stderr, stderr_end) = Stream::open(sink)?;
    Ok((vec![stdout, stderr], stdout_end, Some(stderr_end)))
}

/// The kept parts of standard output and standard error. Streams that are still open for writing go
/// to `drain`.
pub(crate) fn close_both(streams: Vec<Stream>, drain: &mut Drain) -> Result<[Captured; 2], SandboxError> {
    let mut kept = [Captured::default(), Captured::default()];
    let mut failure = None;
    for (stream, kept) in streams.into_iter().zip(&mut kept) {
        match stream.close() {
            Ok((captured, rest)) => {
                *kept = captured;
                if let Some(rest) = rest {
                    drain.add(rest);
                }
            }
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(kept), Err)
}

/// A pipe whose reading end never blocks; both ends close on exec.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (source, end) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&source, fcntl_getfl(&source)? | OFlags::NONBLOCK)?;
    Ok((source, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(keep: usize, chunks: &[&[u8]]) -> Captured {
        let mut recorder = Recorder::open(&Sink { file: None, cap: 0, keep }).unwrap();
        for chunk in chunks {
            recorder.append(chunk);
        }
        recorder.close().unwrap()
    }

    #[test]
    fn keeps_the_first_and_the_last_bytes() {
        type Case<'a> = (usize, &'a [&'a [u8]], &'a str, &'a str, u64);
        let cases: &[Case<'_>] = &[
            (4, &[], "", "", 0),
            (4, &[b"abc"], "abc", "", 3),
            (4, &[b"abcd"], "abcd", "", 4),
            (4, &[b"abcdef"], "abcd", "ef", 6),
            (4, &[b"ab", b"cdefgh"], "abcd", "efgh", 8),
            (4, &[b"abcdefghij"], "abcd", "ghij", 10),
            (4, &[b"a", b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i"], "abcd", "fghi", 9),
            (0, &[b"abc"], "", "", 3),
        ];
        for (keep, chunks, head, tail, total) in cases {
            let expected =
                Captured { head: head.as_bytes().to_vec(), tail: tail.as_bytes().to_vec(), total: *total };
            assert_eq!(feed(*keep, chunks), expected, "keep {keep}, {chunks:?}");
        }
    }

    #[test]
    fn says_how_many_bytes_are_missing() {
        assert_eq!(feed(2, &[b"abcdefg"]).text(), "ab\n[… 3 bytes left out …]\nfg");
        assert_eq!(feed(4, &[b"abcdef"]).text(), "abcdef");
    }
}
