//! Copies files into a container.

use std::path::{Component, Path, PathBuf};

use bollard::query_parameters::UploadToContainerOptions;
use bytes::Bytes;
use tar::{Builder, EntryType};
use tokio::sync::mpsc::Receiver;

use super::container::Container;
use super::files::Owner;
use super::pack::{Style, header, join_writer, pack, stream, stream_archive, unreadable};
use super::write::Halt;
use crate::SandboxError;
use crate::spec::{absolute, spec_error};
use assay_fs::{Caps, CopyReport};

impl Container {
    /// Copies the content of the folder `from`, or the one file, to `target` inside, over existing
    /// files.
    ///
    /// Missing folders are created. Links are copied as links if `caps` allows them; pipes, sockets
    /// and devices are left out, and so is what exceeds `caps`. Permissions and times are kept,
    /// set-id bits are not. It works before and after [`Container::halt`] alike, but not in
    /// in-memory folders.
    pub fn copy_in(
        &self,
        from: &Path,
        target: &Path,
        owner: Owner,
        caps: &Caps,
    ) -> Result<CopyReport, SandboxError> {
        let inside = beneath_root(target)?;
        match self.layers().map(|layers| layers.write_files(from, &inside, owner, caps)) {
            Some(Ok(report)) => return Ok(report),
            Some(Err(Halt::Source(error))) => return Err(unreadable(from, error)),
            Some(Err(Halt::Unsure)) | None => {}
        }
        let (source, caps) = (from.to_owned(), *caps);
        let style = Style { owner, modified: None };
        let (pieces, writer) =
            stream_archive(move |out| pack(&source, &inside, out, style, &caps, &|_, _| true, None))?;
        let sent = self.upload(Upload::Pieces(pieces));
        join_writer(writer, from, sent).map(|((), report)| report)
    }

    /// Writes these bytes to the file `target`, with these permission bits.
    pub fn put_bytes(
        &self,
        bytes: &[u8],
        target: &Path,
        mode: u32,
        owner: Owner,
    ) -> Result<(), SandboxError> {
        let inside = beneath_root(target)?;
        if let Some(Ok(())) = self.layers().map(|layers| layers.write_bytes(bytes, &inside, mode, owner)) {
            return Ok(());
        }
        let mut archive = Builder::new(Vec::new());
        let mut header = header(EntryType::Regular, mode & 0o777, Style { owner, modified: Some(0) });
        header.set_size(bytes.len() as u64);
        let built = archive
            .append_data(&mut header, &inside, bytes)
            .and_then(|()| archive.into_inner())
            .map_err(|source| SandboxError::Io { action: "pack", path: target.to_owned(), source })?;
        self.upload(Upload::Whole(Bytes::from(built)))
    }

    fn upload(&self, archive: Upload) -> Result<(), SandboxError> {
        self.upload_to(Path::new("/"), archive)
    }

    /// Unpacks an archive into a folder.
    pub(super) fn upload_to(&self, folder: &Path, archive: Upload) -> Result<(), SandboxError> {
        let path = folder.to_string_lossy().into_owned();
        let options = UploadToContainerOptions { path, ..Default::default() };
        let body = match archive {
            Upload::Whole(bytes) => bollard::body_full(bytes),
            Upload::Pieces(pieces) => bollard::body_stream(stream(pieces)),
        };
        let api = &self.inner.api;
        self.inner
            .request("copy files into a container", api.upload_to_container(&self.id, Some(options), body))
    }
}

pub(super) enum Upload {
    Whole(Bytes),
    Pieces(Receiver<Bytes>),
}

/// An absolute path inside, relative to the root; the root itself is refused.
fn beneath_root(target: &Path) -> Result<PathBuf, SandboxError> {
    absolute(target, "the target")?;
    let inside: PathBuf = target.components().filter(|c| matches!(c, Component::Normal(_))).collect();
    if inside.as_os_str().is_empty() {
        return spec_error("cannot replace the root folder".to_owned());
    }
    Ok(inside)
}
