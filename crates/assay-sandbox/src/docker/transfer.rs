//! Copies files from one container into another.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::container::Container;
use super::copy_in::Upload;
use super::error::failed;
use super::pack::stream_archive;
use crate::SandboxError;
use crate::spec::absolute;

/// Most bytes of an archive that is copied.
const MOST: u64 = 8 << 30;

impl Container {
    /// Copies what is at `path` in another container to the same path in this one: with owners,
    /// permissions, times and links, over what is there. `false` if there is nothing to copy. The
    /// folder above must exist here, and must not be a link of an untrusted process.
    ///
    /// Both may run or not. More than 8 GiB are refused.
    pub fn copy_from(&self, other: &Container, path: &Path) -> Result<bool, SandboxError> {
        absolute(path, "the path")?;
        let Some(parent) = path.parent() else { return Ok(false) };
        if other.stat(path)?.is_none() {
            return Ok(false);
        }
        let (inner, id, from) = (Arc::clone(&other.inner), other.id.clone(), path.to_owned());
        let (pieces, writer) = stream_archive(move |out| -> Result<(), SandboxError> {
            let io = |source| SandboxError::Io { action: "copy", path: from.clone(), source };
            let Some(mut reader) = inner.download(&id, &from)? else { return Ok(()) };
            let copied = io::copy(&mut (&mut reader).take(MOST + 1), out);
            if let Some(error) = reader.take_failure() {
                return Err(failed("copy files from a container", &error));
            }
            match copied {
                Ok(bytes) if bytes > MOST => {
                    let message = format!("there are more than {} GiB", MOST >> 30);
                    Err(io(io::Error::other(message)))
                }
                Ok(_) => out.flush().map_err(io),
                Err(error) => Err(io(error)),
            }
        })?;
        let sent = self.upload_to(parent, Upload::Pieces(pieces));
        match writer.join() {
            Ok(Ok(())) => sent.map(|()| true),
            // The reason for an archive that ends early.
            Ok(Err(error)) if !is_broken_pipe(&error) => Err(error),
            Ok(Err(error)) => sent.and(Err(error)),
            Err(_) => sent.and(Err(SandboxError::Io {
                action: "copy",
                path: path.to_owned(),
                source: io::Error::other("the thread ended"),
            })),
        }
    }
}

fn is_broken_pipe(error: &SandboxError) -> bool {
    matches!(error, SandboxError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}
