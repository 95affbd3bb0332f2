//! What is audited: folders of transcripts, and runs of a store.

use std::io;
use std::path::{Path, PathBuf};

use assay_audit::calibrated::{self, TaskRuns};
use assay_audit::corpus::Corpus;
use assay_audit::evidence::SkillText;
use assay_store::{RunFolder, Store};
use tempfile::TempDir;

use super::notices::Notices;
use super::{corpus, input, runs};
use crate::config::Settings;
use crate::failure::Failure;
use crate::machine;

/// Largest content of an archive that is unpacked, in bytes.
const ARCHIVE_CAP: u64 = 1 << 30;

/// Most bytes of a header that is no file, such as one of a long name.
const HEADER_CAP: u64 = 1 << 20;

/// Transcripts of tasks with and without a skill.
pub struct Source {
    /// What it is called in tables: the name of the folder, archive or run.
    pub name: String,
    content: Content,
    /// Where an archive was unpacked; removed with the value.
    _unpacked: Option<TempDir>,
}

enum Content {
    Folder(PathBuf, Corpus),
    Runs(Store, Vec<RunFolder>),
}

impl Source {
    /// Opens a folder of transcripts, a store with all its runs, such a store in a `.tar.zst`, or a
    /// run of the current store.
    pub fn open(path: &Path, settings: &Settings, notices: &mut Notices<'_>) -> Result<Self, Failure> {
        let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let name = file.strip_suffix(".tar.zst").unwrap_or(&file).to_owned();
        if let Some((store, run)) = corpus::run_of(path, settings)? {
            return Ok(Self { name, content: Content::Runs(store, vec![run]), _unpacked: None });
        }
        if path.is_file() {
            let folder = unpack(path)?;
            let root = ["", "store", ".assay"]
                .into_iter()
                .map(|inner| folder.path().join(inner))
                .find(|root| is_store(root))
                .ok_or_else(|| Failure::bad_input(format!("{} contains no store", path.display())))?;
            return Self::of_store(name, &root, Some(folder));
        }
        if is_store(path) {
            return Self::of_store(name, path, None);
        }
        let found = corpus::find(path)?;
        found.notices.iter().for_each(|notice| notices.report(notice));
        Ok(Self { name, content: Content::Folder(path.to_owned(), found), _unpacked: None })
    }

    fn of_store(name: String, root: &Path, unpacked: Option<TempDir>) -> Result<Self, Failure> {
        let store = machine::read_store(root)?;
        let runs = store.run_names().iter().map(|run| store.run(run)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { name, content: Content::Runs(store, runs), _unpacked: unpacked })
    }

    /// Gives each task to `each`, with all skills of the source.
    pub fn visit(
        &self,
        notices: &mut Notices<'_>,
        mut each: impl FnMut(&TaskRuns<'_>, &[SkillText]),
    ) -> Result<(), Failure> {
        match &self.content {
            Content::Folder(root, corpus) => {
                calibrated::visit(root, corpus, |notice| notices.report(&notice), each);
            }
            Content::Runs(store, runs) => {
                for run in runs {
                    runs::visit(store, run, None, notices, &mut each)?;
                }
            }
        }
        Ok(())
    }
}

fn is_store(folder: &Path) -> bool {
    folder.join("store.json").is_file()
}

fn unpack(path: &Path) -> Result<TempDir, Failure> {
    let unread = |error| input::unread(path, error);
    let folder = tempfile::tempdir().map_err(unread)?;
    let open = || assay_fs::open_input(path, ARCHIVE_CAP).map(tar::Archive::new).map_err(unread);
    // Headers of long names are read into memory: first it is seen how long they are.
    for entry in open()?.entries().map_err(unread)?.raw(true) {
        let header = entry.map_err(unread)?.header().clone();
        let is_file = header.entry_type().is_file() || header.entry_type().is_dir();
        if !is_file && header.entry_size().map_err(unread)? > HEADER_CAP {
            return Err(unread(io::Error::other("a header of a name has more than 1 MiB")));
        }
    }
    open()?.unpack(folder.path()).map_err(unread)?;
    Ok(folder)
}
