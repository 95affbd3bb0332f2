//! `WORKDIR` and `COPY`, carried out in a folder that serves as `/`.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use assay_fs::tree;
use assay_skill::FileKind;

use super::baked::{is_left_out, left_out};
use super::context::Context;
use super::model::{Copy, Dockerfile};
use crate::TaskError;

pub(super) fn materialize(
    dockerfile: &Dockerfile,
    root: &Path,
    into: &Path,
) -> Result<Vec<PathBuf>, TaskError> {
    let context = Context::read(root)?;
    let out = left_out(&context.nodes, Some(dockerfile));
    let mut site = Site { context: &context, out: &out, into, written: Vec::new(), modes: Vec::new() };
    for folder in &dockerfile.workdirs {
        site.folder(folder)?;
    }
    for copy in &dockerfile.copies {
        site.copy(copy)?;
    }
    site.finish()
}

/// Copies the entries of a folder that `keep` accepts to an absolute path below `into`, by the same
/// rules, ignoring `.dockerignore`. Special files are skipped. A missing folder counts as an empty
/// one.
pub(crate) fn copy_folder(
    root: &Path,
    keep: impl Fn(&Path) -> bool,
    target: &Path,
    into: &Path,
) -> Result<(), TaskError> {
    let mut context = Context::whole(root)?;
    context.kept.retain(|path, kind| *kind != FileKind::Other && keep(path));
    let out = BTreeSet::new();
    let mut site = Site { context: &context, out: &out, into, written: Vec::new(), modes: Vec::new() };
    site.tree(Path::new(""), target, None)?;
    site.finish().map(|_| ())
}

/// Carries out the part of every `COPY` that is otherwise left out, in a folder that serves as `/`.
/// Returns the absolute paths of everything written. What a builder would fail at is skipped:
/// nothing is built here.
pub(crate) fn copy_skills(
    dockerfile: &Dockerfile,
    root: &Path,
    is_passed_over: impl Fn(&Copy) -> bool,
    into: &Path,
) -> Result<Vec<PathBuf>, TaskError> {
    let context = Context::read(root)?;
    let out = left_out(&context.nodes, Some(dockerfile));
    let nothing = BTreeSet::new();
    let mut site = Site { context: &context, out: &nothing, into, written: Vec::new(), modes: Vec::new() };
    let file = context.root.join("Dockerfile");
    for copy in dockerfile.copies.iter().filter(|copy| !is_passed_over(copy)) {
        let Ok(sources) = context.sources(copy, &file) else { continue };
        let into_folder = copy.is_directory_target
            || sources.len() > 1
            || site.place(&copy.target).is_ok_and(|at| at.is_dir());
        for source in sources {
            let is_folder = context.kind(&source) == Some(FileKind::Directory);
            let target = match source.file_name() {
                Some(name) if into_folder && !is_folder => copy.target.join(name),
                _ => copy.target.clone(),
            };
            if is_left_out(&source, &out) {
                site.skills(&source, &target, copy.mode)?;
                continue;
            }
            for inner in out.iter().filter(|inner| inner.starts_with(&source)) {
                let below = inner.strip_prefix(&source).unwrap_or(inner);
                site.skills(inner, &target.join(below), copy.mode)?;
            }
        }
    }
    let mut written = site.finish()?;
    written.sort();
    written.dedup();
    Ok(written)
}

/// Copies a file or folder of a context, by the same rules, to an absolute path below `into`.
pub(crate) fn copy_to(root: &Path, source: &Path, target: &Path, into: &Path) -> Result<(), TaskError> {
    let context = Context::whole(root)?;
    let out = BTreeSet::new();
    let mut site = Site { context: &context, out: &out, into, written: Vec::new(), modes: Vec::new() };
    if context.kind(source) == Some(FileKind::Directory) {
        site.tree(source, target, None)?;
    } else {
        site.entry(source, target, None)?;
    }
    site.finish().map(|_| ())
}

struct Site<'a> {
    context: &'a Context,
    out: &'a BTreeSet<PathBuf>,
    into: &'a Path,
    written: Vec<PathBuf>,
    modes: Vec<(PathBuf, u32)>,
}

impl Site<'_> {
    /// Sets the modes of the folders, last: one that is not writable must still be filled.
    fn finish(self) -> Result<Vec<PathBuf>, TaskError> {
        for (folder, mode) in self.modes.iter().rev() {
            let set = fs::set_permissions(folder, Permissions::from_mode(*mode));
            set.map_err(|source| TaskError::Write { path: folder.clone(), source })?;
        }
        Ok(self.written)
    }

    fn copy(&mut self, copy: &Copy) -> Result<(), TaskError> {
        let names_left_out = |source: &str| {
            tree::normalize(Path::new(source.trim_start_matches('/')))
                .is_some_and(|path| is_left_out(&path, self.out))
        };
        if copy.sources.iter().all(|source| names_left_out(source)) {
            return Ok(());
        }
        let file = self.context.root.join("Dockerfile");
        let sources = self.context.sources(copy, &file)?;
        let into_folder = copy.is_directory_target
            || sources.len() > 1
            || self.place(&copy.target).is_ok_and(|at| at.is_dir());
        for source in sources {
            if is_left_out(&source, self.out) {
                continue;
            }
            let is_folder = self.context.kind(&source) == Some(FileKind::Directory);
            let target = match source.file_name() {
                Some(name) if into_folder && !is_folder => copy.target.join(name),
                _ => copy.target.clone(),
            };
            if is_folder {
                self.tree(&source, &target, copy.mode)?;
            } else {
                self.entry(&source, &target, copy.mode)?;
            }
            let root = if into_folder || is_folder { &copy.target } else { &target };
            if !self.written.contains(root) {
                self.written.push(root.clone());
            }
        }
        Ok(())
    }

    /// A skill, or a folder of skills: its entries were written, because the folder around them may
    /// contain more.
    fn skills(&mut self, source: &Path, target: &Path, mode: Option<u32>) -> Result<(), TaskError> {
        if self.context.kind(source) != Some(FileKind::Directory) {
            self.entry(source, target, mode)?;
            self.written.push(target.to_path_buf());
            return Ok(());
        }
        self.tree(source, target, mode)?;
        let inside = self.context.kept.keys().filter_map(|path| path.strip_prefix(source).ok());
        let names: BTreeSet<_> = inside.filter_map(|rest| rest.iter().next()).collect();
        self.written.extend(names.into_iter().map(|name| target.join(name)));
        Ok(())
    }

    /// The content of a folder of the context.
    fn tree(&mut self, source: &Path, target: &Path, mode: Option<u32>) -> Result<(), TaskError> {
        self.folder(target)?;
        let context = self.context;
        let below =
            context.kept.range(source.to_path_buf()..).take_while(|(path, _)| path.starts_with(source));
        for (path, _) in below {
            let Ok(rest) = path.strip_prefix(source) else { continue };
            if !rest.as_os_str().is_empty() && !is_left_out(path, self.out) {
                self.entry(path, &target.join(rest), mode)?;
            }
        }
        Ok(())
    }

    /// One entry of the context. A link is copied as a link.
    fn entry(&mut self, source: &Path, target: &Path, mode: Option<u32>) -> Result<(), TaskError> {
        let from = self.context.root.join(source);
        let read = |source: io::Error| TaskError::Read { path: from.clone(), source };
        match self.context.kept.get(source) {
            Some(FileKind::Directory) => {
                let place = self.folder(target)?;
                let own = fs::symlink_metadata(&from).map_err(read)?.permissions().mode() & 0o777;
                self.modes.push((place, mode.unwrap_or(own)));
                Ok(())
            }
            Some(FileKind::File) => {
                let place = self.fresh(target)?;
                let write = |source: io::Error| TaskError::Write { path: place.clone(), source };
                let mut content: File = assay_fs::open_file(&from).map_err(read)?;
                let own = content.metadata().map_err(read)?.permissions().mode() & 0o777;
                let mut file = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(&place)
                    .map_err(write)?;
                io::copy(&mut content, &mut file).map_err(write)?;
                file.set_permissions(Permissions::from_mode(mode.unwrap_or(own))).map_err(write)
            }
            Some(FileKind::Link) => {
                let text = fs::read_link(&from).map_err(read)?;
                let place = self.fresh(target)?;
                symlink(text, &place).map_err(|source| TaskError::Write { path: place, source })
            }
            Some(FileKind::Other) | None => {
                Err(read(io::Error::other("neither a file, a folder nor a link: it cannot be copied")))
            }
        }
    }

    /// The host path of an absolute path below `into`. A link on the way, left by an earlier
    /// `COPY`, is an error: it could lead out.
    fn place(&self, path: &Path) -> Result<PathBuf, TaskError> {
        let mut place = self.into.to_path_buf();
        for part in path.components() {
            let Component::Normal(part) = part else { continue };
            if fs::symlink_metadata(&place).is_ok_and(|there| there.is_symlink()) && place != self.into {
                let source = io::Error::other("the target path of a COPY contains a link");
                return Err(TaskError::Write { path: place, source });
            }
            place.push(part);
        }
        Ok(place)
    }

    /// Makes a folder and those above it.
    fn folder(&mut self, path: &Path) -> Result<PathBuf, TaskError> {
        let place = self.place(path)?;
        if fs::symlink_metadata(&place).is_ok_and(|there| there.is_symlink()) {
            let source = io::Error::other("the target of a COPY is a link");
            return Err(TaskError::Write { path: place, source });
        }
        let made = fs::create_dir_all(&place);
        made.map_err(|source| TaskError::Write { path: place.clone(), source })?;
        Ok(place)
    }

    /// A place for a file or a link: the folder above it is made, and what an earlier `COPY` put
    /// there is taken away.
    fn fresh(&mut self, path: &Path) -> Result<PathBuf, TaskError> {
        if let Some(above) = path.parent() {
            self.folder(above)?;
        }
        let place = self.place(path)?;
        match fs::remove_file(&place) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(TaskError::Write { path: place, source })
            }
            _ => Ok(place),
        }
    }
}
