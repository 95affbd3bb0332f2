//! Writing a run to a file.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::{IMPORTED_SPECIFICATION, RunFolder, Store, TrialId, is_run_name, pretty};
use assay_fs::FileKind;
use serde::Serialize;

use super::{ArchiveError, FILE_CAP, MANIFEST, Manifest, Member, MemberKind, RUN_FILES, SCHEMA, TASKS};

/// Level of the compression: part of the format only insofar as equal runs shall give equal bytes.
const LEVEL: i32 = 10;

/// The document that a trial's id is the hash of.
const SPECIFICATION: &str = "/trial.json";

/// A task's folder, which is included if the run used the task as it is now.
pub struct ArchiveTask<'a> {
    /// The name of the task.
    pub name: &'a str,
    /// Its folder.
    pub root: &'a Path,
    /// Whether a digest of a plan is that of the task.
    pub has_digest: Box<dyn Fn(&str) -> bool + 'a>,
}

/// What to export.
pub struct RunExport<'a> {
    /// The name of the run.
    pub run: &'a str,
    /// The file to write.
    pub out: &'a Path,
    /// Whether the trials' evidence is included.
    pub trajectories: bool,
    /// Folders of tasks. Those of the run are included, if they have not changed since.
    pub tasks: &'a [ArchiveTask<'a>],
    /// Applied to each text: removes secrets.
    pub clean: &'a dyn Fn(&str) -> String,
}

/// What was written.
#[derive(Debug, Serialize)]
pub struct ExportedRun {
    /// Trials with a record.
    pub trials: usize,
    /// Tasks whose folders are included.
    pub tasks: usize,
    /// Files in the archive, without its manifest.
    pub files: usize,
    /// The size of the archive.
    pub bytes: u64,
    /// Records that cannot be read, and tasks and their files that cannot be included.
    pub skipped: Vec<String>,
}

/// A file of the store and its path in the archive.
struct Source {
    member: String,
    folder: PathBuf,
    relative: PathBuf,
    /// Whether secrets are removed: not where a digest covers the bytes.
    is_cleaned: bool,
    executable: bool,
}

/// Writes a run to a file, which is complete or absent.
///
/// # Errors
/// The store has no such run, or a file cannot be read or written.
pub fn export_run(store: &Store, export: &RunExport<'_>) -> Result<ExportedRun, ArchiveError> {
    let run = store.run(export.run)?;
    let mut skipped = Vec::new();
    let mut sources = Vec::new();
    let folder = store.run_folder(&run.run);
    let mut add = |member: String, folder: &Path, relative: PathBuf| {
        // A trial's id is the digest of its specification, which contains no value of a variable.
        let is_specification =
            [SPECIFICATION, IMPORTED_SPECIFICATION].iter().any(|name| member.ends_with(name));
        let is_cleaned = !is_specification;
        sources.push(Source { member, folder: folder.to_owned(), relative, is_cleaned, executable: false });
    };
    for name in RUN_FILES {
        add(format!("run/{name}"), &folder, name.into());
    }
    let skills = run.provisions.iter().flat_map(|provision| &provision.skills).map(|skill| &skill.digest);
    for digest in skills.chain(run.skills.values()) {
        let name = format!("{}.md", digest.strip_prefix("blake3:").unwrap_or(digest));
        // A text of this store's runs comes before one of an archive.
        let own = store.root().join("skills");
        let folder = if own.join(&name).exists() { own } else { store.root().join("imported/skills") };
        add(format!("skills/{name}"), &folder, name.into());
    }
    let mut trials = 0;
    for trial in run.trials() {
        let record = match store.record(trial) {
            Ok(Some(record)) => record,
            Ok(None) => continue,
            Err(error) => {
                skipped.push(assay_diagnostic::chain(&error));
                continue;
            }
        };
        trials += 1;
        let folder = store.trial_folder(trial);
        let mut files = vec!["record.json".to_owned(), "trial.json".to_owned()];
        files.push(IMPORTED_SPECIFICATION.to_owned());
        if export.trajectories {
            files.extend(evidence(&folder, &format!("attempts/{}", record.attempt)));
        }
        for file in files {
            add(format!("trials/{trial}/{file}"), &folder, file.into());
        }
    }
    let tasks = add_tasks(&run, export.tasks, &mut sources, &mut skipped);
    sources.sort_by(|a, b| a.member.cmp(&b.member));
    sources.dedup_by(|a, b| a.member == b.member);

    let mut manifest = Manifest {
        schema: SCHEMA.to_owned(),
        run: run.run.clone(),
        plan: run.plan.clone(),
        trajectories: export.trajectories,
        files: Vec::new(),
    };
    let mut present = Vec::new();
    for source in sources {
        if let Some(bytes) = read(&source, export)? {
            manifest.files.push(member(&source, &bytes));
            present.push(source);
        }
    }
    let bytes = write(&manifest, &present, export)?;
    Ok(ExportedRun { trials, tasks, files: present.len(), bytes, skipped })
}

/// Adds the folders of the run's tasks, and returns how many. Links are left out, and so are paths
/// that tar cannot contain.
fn add_tasks(
    run: &RunFolder,
    tasks: &[ArchiveTask<'_>],
    sources: &mut Vec<Source>,
    skipped: &mut Vec<String>,
) -> usize {
    if tasks.is_empty() {
        return 0;
    }
    let mut folders = BTreeSet::new();
    for planned in &run.tasks {
        let shown = assay_diagnostic::escape(&planned.name);
        let mut same_name = tasks.iter().filter(|task| task.name == planned.name).peekable();
        if same_name.peek().is_none() {
            skipped.push(format!("task `{shown}`: not among the tasks given"));
            continue;
        }
        let Some(task) = same_name.find(|task| (task.has_digest)(&planned.digest)) else {
            skipped.push(format!("task `{shown}`: changed since the run"));
            continue;
        };
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let mut folder: String = planned.name.chars().take(60).map(safe).collect();
        if !is_run_name(&folder) || folders.contains(&folder) {
            folder = format!("task-{}", folders.len() + 1);
        }
        folders.insert(folder.clone());
        let walk = assay_fs::tree::walk(task.root);
        for node in walk.nodes {
            if node.kind == FileKind::Directory {
                continue;
            }
            let path = node.path.to_str().map(|path| format!("run/{TASKS}/{folder}/{path}"));
            let fits = |path: &String| {
                MemberKind::of(path).is_some() && tar::Header::new_ustar().set_path(path).is_ok()
            };
            match path.filter(fits) {
                Some(member) if node.kind == FileKind::File => sources.push(Source {
                    member,
                    folder: task.root.to_owned(),
                    relative: node.path,
                    is_cleaned: false,
                    executable: node.executable,
                }),
                _ => skipped.push(format!(
                    "task `{shown}`: {} is no regular file, or its path is too long",
                    assay_diagnostic::escape_path(&node.path)
                )),
            }
        }
        skipped.extend(walk.problems.iter().map(|problem| {
            format!("task `{shown}`: {}: {}", assay_diagnostic::escape_path(&problem.path), problem.source)
        }));
    }
    folders.len()
}

/// The files of an attempt that belong into the archive, relative to the trial's folder.
fn evidence(trial: &Path, attempt: &str) -> Vec<String> {
    let paths = crate::evidence_paths(&trial.join(attempt));
    paths.iter().map(|file| format!("{attempt}/{file}")).collect()
}

/// A file without secrets; `None` where there is none. Attempts hold what sandboxes wrote, so no
/// link is followed.
fn read(source: &Source, export: &RunExport<'_>) -> Result<Option<Vec<u8>>, ArchiveError> {
    let io = |error| ArchiveError::Io {
        action: "read",
        path: source.folder.join(&source.relative),
        source: error,
    };
    let found = match assay_fs::read_beneath(&source.folder, &source.relative, FILE_CAP) {
        Ok(found) => found,
        // What a sandbox left in place of the file is no evidence.
        Err(assay_fs::FsError::NotAFile { .. } | assay_fs::FsError::Escape { .. }) => None,
        Err(error) => return Err(io(io::Error::other(error))),
    };
    let clean = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes);
        let cleaned = (export.clean)(&text);
        // What was signed has another text.
        if cleaned != text && source.member.ends_with("/record.json") {
            return without_signature(&cleaned).unwrap_or_else(|| cleaned.into_bytes());
        }
        cleaned.into_bytes()
    };
    Ok(if source.is_cleaned { found.map(clean) } else { found })
}

/// A record's text without its signature.
fn without_signature(record: &str) -> Option<Vec<u8>> {
    let mut record: serde_json::Value = serde_json::from_str(record).ok()?;
    record.as_object_mut()?.shift_remove("signature");
    pretty(&record, Path::new("record.json")).ok()
}

fn member(source: &Source, bytes: &[u8]) -> Member {
    Member {
        path: source.member.clone(),
        bytes: bytes.len() as u64,
        blake3: blake3::hash(bytes).to_hex().to_string(),
        executable: source.executable,
    }
}

fn write(manifest: &Manifest, sources: &[Source], export: &RunExport<'_>) -> Result<u64, ArchiveError> {
    let io = |error| ArchiveError::Io { action: "write", path: export.out.to_owned(), source: error };
    let folder = export.out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut draft = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less the umask, as for any other file that a command writes.
        draft.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut draft = draft.tempfile_in(folder.unwrap_or(Path::new("."))).map_err(io)?;
    let mut encoder = zstd::Encoder::new(io::BufWriter::new(draft.as_file_mut()), LEVEL).map_err(io)?;
    encoder.include_checksum(true).map_err(io)?;
    let mut archive = tar::Builder::new(encoder);
    append(&mut archive, MANIFEST, 0o644, &pretty(manifest, Path::new(MANIFEST))?).map_err(io)?;
    for (source, listed) in sources.iter().zip(&manifest.files) {
        let bytes = read(source, export)?.unwrap_or_default();
        if member(source, &bytes) != *listed {
            let path = source.folder.join(&source.relative);
            let error = io::Error::other("it changed meanwhile");
            return Err(ArchiveError::Io { action: "export", path, source: error });
        }
        let mode = if source.executable { 0o755 } else { 0o644 };
        append(&mut archive, &source.member, mode, &bytes).map_err(io)?;
    }
    let mut writer = archive.into_inner().and_then(zstd::Encoder::finish).map_err(io)?;
    writer.flush().map_err(io)?;
    drop(writer);
    draft.as_file().sync_all().map_err(io)?;
    let bytes = draft.as_file().metadata().map_err(io)?.len();
    draft.persist(export.out).map_err(|error| io(error.error))?;
    Ok(bytes)
}

/// A file without owner and time.
fn append<W: Write>(archive: &mut tar::Builder<W>, path: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_path(path)?;
    header.set_size(bytes.len() as u64);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    archive.append(&header, bytes)
}

/// The trial's folder in an archive and in a folder of unpacked files.
pub(super) fn trial_folder(root: &Path, trial: &TrialId) -> PathBuf {
    root.join("trials").join(trial.as_str())
}
