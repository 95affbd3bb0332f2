//! Reading a run from a file. The file may come from anyone: each path, size and digest is checked,
//! and nothing is in the store before all of it is.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::{
    IMPORTED_SPECIFICATION, ImportedFrom, OutcomeRule, Record, RunFolder, SOURCE, Store, StoreError, TrialId,
    is_run_name, pretty,
};
use assay_syntax::json::{JSON_MEMORY, check_json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::write::trial_folder;
use super::{ArchiveError, FILE_CAP, MANIFEST, Manifest, Member, MemberKind, RUN_FILES, SCHEMA};

/// Most bytes of the manifest: about 250,000 files.
const MANIFEST_CAP: u64 = 48 << 20;

/// Most bytes of a plan, and of each other document that is parsed.
const PLAN_CAP: u64 = 48 << 20;
const DOCUMENT_CAP: u64 = 16 << 20;

/// Most bytes that a byte of the archive may unpack to, beyond the first [`FREE`].
const RATIO: u64 = 1000;
const FREE: u64 = 64 << 20;

/// Bytes of tar around each file, at most.
const OVERHEAD: u64 = 1024;

/// The largest window of Zstandard that is accepted, as a power of two.
const WINDOW_LOG: u32 = 27;

/// What was imported.
#[derive(Debug, Serialize)]
pub struct ImportedRun {
    /// The name of the run in the store.
    pub run: String,
    /// Trials that the store did not have.
    pub imported: usize,
    /// Trials that it had, with the same record.
    pub present: usize,
    /// Whether the archive had the trials' evidence.
    pub trajectories: bool,
    /// Notes for the reader, in sentences.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Imports a run, under another name or with another outcome if one is given.
///
/// # Errors
/// The file cannot be read or is no valid archive, or the store has something else under one of its names.
pub fn import_run(
    store: &Store,
    file: &Path,
    name: Option<&str>,
    outcome: Option<OutcomeRule>,
) -> Result<ImportedRun, ArchiveError> {
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| ArchiveError::Io { action, path, source }
    };
    let mut opened = assay_fs::open_file(file).map_err(failed("open", file))?;
    let size = opened.metadata().map_err(failed("read", file))?.len();
    let source = source(file, &opened).map_err(failed("read", file))?;
    opened.rewind().map_err(failed("read", file))?;
    let staging = staging(store)?;
    let archive = Archive { file, staging: staging.path() };
    let manifest = archive.unpack(opened, size)?;
    let (run, trials) = archive.check(store, &manifest, name)?;
    let (run, trials) = archive.rename(store, run, &trials, &source, outcome)?;
    let moves = plan_moves(store, staging.path(), &trials)?;
    let exists = compare_run(store, staging.path(), &run)?;
    commit(store, staging.path(), &run, &moves, exists)?;
    Ok(ImportedRun {
        imported: moves.len(),
        present: trials.len() - moves.len(),
        trajectories: manifest.trajectories,
        notes: store.relabeling_note(&run)?.into_iter().collect(),
        run: run.run,
    })
}

/// Where the records of an archive come from.
fn source(path: &Path, file: &fs::File) -> io::Result<ImportedFrom> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(ImportedFrom {
        format: "run".to_owned(),
        // Without the folders above it, which would describe the machine.
        file: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        digest: format!("blake3:{}", hasher.finalize().to_hex()),
        trial: None,
    })
}

/// A folder in the store that is removed with this value, or by the cleanup after a crash.
fn staging(store: &Store) -> Result<tempfile::TempDir, ArchiveError> {
    #[cfg(target_os = "linux")]
    let scratch = store.scratch()?;
    #[cfg(not(target_os = "linux"))]
    let scratch = store.root().join("scratch");
    let created = tempfile::Builder::new().prefix("import-").tempdir_in(&scratch);
    created.map_err(|source| ArchiveError::Io { action: "create a folder in", path: scratch, source })
}

/// What a manifest begins with.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: String,
}

struct Archive<'a> {
    file: &'a Path,
    staging: &'a Path,
}

impl Archive<'_> {
    fn invalid(&self, reason: impl Into<String>) -> ArchiveError {
        ArchiveError::Invalid { path: self.file.to_owned(), reason: reason.into() }
    }

    fn damaged(&self, error: &io::Error) -> ArchiveError {
        self.invalid(format!("it is damaged or incomplete: {error}"))
    }

    /// Unpacks all files below the staging folder, each checked against the manifest.
    fn unpack(&self, file: fs::File, size: u64) -> Result<Manifest, ArchiveError> {
        let mut decoder = zstd::Decoder::new(file).map_err(|error| self.damaged(&error))?;
        decoder.window_log_max(WINDOW_LOG).map_err(|error| self.damaged(&error))?;
        let left = Rc::new(Cell::new(MANIFEST_CAP + OVERHEAD));
        let mut archive = tar::Archive::new(Limited { inner: decoder, left: Rc::clone(&left) });
        // Raw: names and links of other kinds of entries are not interpreted.
        let mut entries = archive.entries().map_err(|error| self.damaged(&error))?.raw(true);
        let mut first = entries
            .next()
            .ok_or_else(|| self.invalid("it is empty"))?
            .map_err(|error| self.damaged(&error))?;
        let path = self.path_of(&first)?;
        if path != MANIFEST {
            return Err(self.invalid(format!("it begins with {path:?} instead of {MANIFEST}")));
        }
        let bytes = assay_fs::read_up_to(&mut first, MANIFEST_CAP)
            .map_err(|error| self.invalid(format!("{MANIFEST}: {error}")))?;
        let manifest = self.manifest(&bytes, size)?;
        let total: u64 = manifest.files.iter().map(|member| member.bytes).sum();
        left.set(total + (manifest.files.len() as u64 + 20) * OVERHEAD);
        for listed in &manifest.files {
            let missing = || self.invalid(format!("{} is missing: the file is incomplete", listed.path));
            let mut entry = entries.next().ok_or_else(missing)?.map_err(|error| self.damaged(&error))?;
            let path = self.path_of(&entry)?;
            if path != listed.path {
                return Err(
                    self.invalid(format!("it has {path:?} where the manifest lists {:?}", listed.path))
                );
            }
            self.extract(&mut entry, listed)?;
        }
        match entries.next() {
            None => Ok(manifest),
            Some(Ok(entry)) => {
                let path = self.path_of(&entry)?;
                Err(self.invalid(format!("{path:?} is not in the manifest")))
            }
            Some(Err(error)) => Err(self.damaged(&error)),
        }
    }

    fn path_of<R: Read>(&self, entry: &tar::Entry<'_, R>) -> Result<String, ArchiveError> {
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if entry.header().entry_type() == tar::EntryType::Regular {
            Ok(path)
        } else {
            Err(self.invalid(format!("{path:?} is not a regular file")))
        }
    }

    fn manifest(&self, bytes: &[u8], size: u64) -> Result<Manifest, ArchiveError> {
        // Only what a manifest has becomes values: others may take many times their length.
        let head: Head = serde_json::from_slice(bytes)
            .map_err(|error| self.invalid(format!("{MANIFEST} is not JSON: {error}")))?;
        let schema = head.schema;
        if schema != SCHEMA {
            let reason = format!("its schema is {schema:?}, and this version of assay reads {SCHEMA:?}");
            return Err(self.invalid(reason));
        }
        let manifest: Manifest =
            serde_json::from_slice(bytes).map_err(|error| self.invalid(format!("{MANIFEST}: {error}")))?;
        let mut paths = BTreeSet::new();
        let mut total = 0_u64;
        for member in &manifest.files {
            if MemberKind::of(&member.path).is_none() {
                return Err(self.invalid(format!("{:?} is not a path of a run archive", member.path)));
            }
            if !paths.insert(&member.path) {
                return Err(self.invalid(format!("{} is listed twice", member.path)));
            }
            if member.bytes > FILE_CAP {
                return Err(self.invalid(format!("{} has more than {FILE_CAP} bytes", member.path)));
            }
            total = total.saturating_add(member.bytes);
        }
        if total > size.saturating_mul(RATIO).saturating_add(FREE) {
            let reason = format!("its {size} bytes unpack to {total}, which no run does");
            return Err(self.invalid(reason));
        }
        Ok(manifest)
    }

    fn extract<R: Read>(&self, entry: &mut tar::Entry<'_, R>, listed: &Member) -> Result<(), ArchiveError> {
        let bytes = entry.header().entry_size().map_err(|error| self.damaged(&error))?;
        if bytes != listed.bytes {
            return Err(self.invalid(format!("{} has {bytes} bytes, not {}", listed.path, listed.bytes)));
        }
        let path = self.staging.join(&listed.path);
        let failed = |source| ArchiveError::Io { action: "write", path: path.clone(), source };
        fs::create_dir_all(path.parent().unwrap_or(self.staging)).map_err(failed)?;
        let mut file = fs::File::create(&path).map_err(failed)?;
        let (mut hasher, mut buffer, mut length) = (blake3::Hasher::new(), vec![0; 64 << 10], 0_u64);
        loop {
            let read = entry.read(&mut buffer).map_err(|error| self.damaged(&error))?;
            let part = buffer.get(..read).unwrap_or_default();
            if part.is_empty() {
                break;
            }
            hasher.update(part);
            length += part.len() as u64;
            file.write_all(part).map_err(failed)?;
        }
        if length != bytes {
            return Err(self.invalid(format!("{} ends early: the file is incomplete", listed.path)));
        }
        if hasher.finalize().to_hex().as_str() != listed.blake3 {
            return Err(self.invalid(format!("{} does not have the digest in the manifest", listed.path)));
        }
        if listed.executable {
            make_executable(&path).map_err(failed)?;
        }
        Ok(())
    }

    /// Checks that the files make up a run, and gives it its name here.
    fn check(
        &self,
        store: &Store,
        manifest: &Manifest,
        name: Option<&str>,
    ) -> Result<(RunFolder, Vec<TrialId>), ArchiveError> {
        let plan = self.staging.join("run/plan.json");
        if !plan.exists() {
            return Err(self.invalid("run/plan.json is missing"));
        }
        let bytes = assay_fs::read_file(&plan, PLAN_CAP)
            .and_then(|bytes| check_json(&bytes, 2 * JSON_MEMORY).map(|()| bytes).map_err(io::Error::other))
            .map_err(|error| self.invalid(format!("run/plan.json: {error}")))?;
        let mut run = RunFolder::parse(&bytes, Path::new("run/plan.json")).map_err(|error| match error {
            StoreError::Version { found, reads, .. } => {
                self.invalid(format!("its plan has the schema {found:?}; {reads:?} is read"))
            }
            StoreError::Format { message, .. } => self.invalid(format!("run/plan.json: {message}")),
            StoreError::PlanChanged { .. } => self.invalid("its plan was changed after it was sealed"),
            other => ArchiveError::Store(other),
        })?;
        if run.run != manifest.run || run.plan != manifest.plan || !is_run_name(&run.run) {
            return Err(self.invalid(format!("its plan is not that of run {:?}", manifest.run)));
        }
        self.check_cells(&run)?;
        let planned = run.trials();
        let mut with_record = BTreeSet::new();
        let mut trials = BTreeSet::new();
        for member in &manifest.files {
            let read = || {
                assay_fs::read_file(&self.staging.join(&member.path), DOCUMENT_CAP)
                    .and_then(|bytes| {
                        check_json(&bytes, JSON_MEMORY).map(|()| bytes).map_err(io::Error::other)
                    })
                    .map_err(|error| self.invalid(format!("{}: {error}", member.path)))
            };
            let id = match MemberKind::of(&member.path) {
                Some(MemberKind::Record(id)) => {
                    let bytes = read()?;
                    let record = Record::parse(&bytes)
                        .map_err(|error| self.invalid(format!("{}: {error}", member.path)))?;
                    // With a key of this machine, it must be as it was signed. Of records that were imported
                    // before, the id is another than the signed one.
                    if record.imported_from.is_none() {
                        store
                            .verify(&record, &bytes)
                            .map_err(|error| self.invalid(format!("{}: {error}", member.path)))?;
                    }
                    if record.trial != id {
                        return Err(
                            self.invalid(format!("{} is the record of {}", member.path, record.trial))
                        );
                    }
                    with_record.insert(id.clone());
                    id
                }
                Some(MemberKind::Specification(id)) => {
                    let value: Value = serde_json::from_slice(&read()?)
                        .map_err(|error| self.invalid(format!("{}: {error}", member.path)))?;
                    if TrialId::of(&value) != id {
                        return Err(self.invalid(format!("{} does not have the trial's digest", member.path)));
                    }
                    id
                }
                Some(MemberKind::ImportedSpecification(id) | MemberKind::Evidence(id)) => id,
                Some(MemberKind::Run | MemberKind::Task | MemberKind::Skill) | None => continue,
            };
            trials.insert(id);
        }
        if let Some(id) = trials.iter().find(|id| !planned.contains(id)) {
            return Err(self.invalid(format!("trial {id} is not in the plan")));
        }
        if let Some(id) = trials.difference(&with_record).next() {
            return Err(self.invalid(format!("trial {id} has no record")));
        }
        if let Some(name) = name.filter(|name| *name != run.run) {
            if !is_run_name(name) {
                let message = format!("{name:?} is not a name of a run");
                let hint = "letters, digits, `-`, `_` and `.`; at most 80".to_owned();
                return Err(ArchiveError::Conflict { message, hint });
            }
            name.clone_into(&mut run.run);
        }
        Ok((run, with_record.into_iter().collect()))
    }

    /// Refuses a result that counts twice. Conditions with equal provision share trials; a condition has
    /// each of them once.
    fn check_cells(&self, run: &RunFolder) -> Result<(), ArchiveError> {
        let mut seen = BTreeMap::new();
        for (number, cell) in run.cells.iter().enumerate() {
            if let Some(first) = seen.insert((&cell.trial, &cell.condition), number) {
                let reason = format!(
                    "run/plan.json: cells {} and {} of the condition {:?} are the same trial, {}",
                    first + 1,
                    number + 1,
                    cell.condition,
                    cell.trial
                );
                return Err(self.invalid(reason));
            }
        }
        Ok(())
    }

    /// Gives the trials ids of their own and their records a mark, so that no run of this store takes them for trials
    /// of its own.
    fn rename(
        &self,
        store: &Store,
        mut run: RunFolder,
        trials: &[TrialId],
        source: &ImportedFrom,
        outcome: Option<OutcomeRule>,
    ) -> Result<(RunFolder, Vec<TrialId>), ArchiveError> {
        for cell in &mut run.cells {
            cell.trial = ImportedFrom::namespaced(&source.digest, &cell.trial).0;
        }
        run.imported_from = Some(source.clone());
        if outcome.is_some() {
            run.outcome = outcome;
        }
        run.seal();
        place_beside(store, &mut run);
        let staged = self.staging.join("run");
        for (name, bytes) in [
            ("plan.json", pretty(&run, Path::new("plan.json"))?),
            (SOURCE, pretty(source, Path::new(SOURCE))?),
        ] {
            let path = staged.join(name);
            fs::write(&path, bytes).map_err(|source| ArchiveError::Io { action: "write", path, source })?;
        }
        let renamed = trials.iter().map(|trial| self.rename_trial(trial, source));
        Ok((run, renamed.collect::<Result<_, _>>()?))
    }

    fn rename_trial(&self, trial: &TrialId, source: &ImportedFrom) -> Result<TrialId, ArchiveError> {
        let (id, document) = ImportedFrom::namespaced(&source.digest, trial);
        let from = trial_folder(self.staging, trial);
        let path = from.join("record.json");
        let bytes = fs::read(&path).map_err(|error| self.damaged(&error))?;
        // As it was written, also by another version.
        let mut record: Value = serde_json::from_slice(&bytes)
            .map_err(|error| self.invalid(format!("{}: {error}", path.display())))?;
        if record.get("imported_from").is_some()
            && let Some(record) = record.as_object_mut()
        {
            // It names the trial of another store.
            record.shift_remove("signature");
        }
        record["trial"] = json!(id);
        record["imported_from"] = json!(ImportedFrom { trial: Some(trial.clone()), ..source.clone() });
        let specification = from.join("trial.json");
        if specification.exists() {
            let kept = from.join(IMPORTED_SPECIFICATION);
            if kept.exists() {
                fs::remove_file(&specification).map_err(|error| self.damaged(&error))?;
            } else {
                rename(&specification, &kept)?;
            }
        }
        let to = trial_folder(self.staging, &id);
        let document = pretty(&document, &specification)?;
        let written =
            fs::write(&path, pretty(&record, &path)?).and_then(|()| fs::write(&specification, &document));
        written.map_err(|source| ArchiveError::Io { action: "write", path: path.clone(), source })?;
        rename(&from, &to)?;
        Ok(id)
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A reader that fails after so many bytes.
struct Limited<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.left.get().checked_sub(read as u64);
        self.left.set(left.ok_or_else(|| io::Error::other("it unpacks to more than its manifest lists"))?);
        Ok(read)
    }
}

/// Gives a run the first free name if the store has it with other labels of tasks or another outcome, and names that
/// run in it. What else has its name is found by [`compare_run`].
fn place_beside(store: &Store, run: &mut RunFolder) {
    let base = run.run.clone();
    for number in 2_u32.. {
        let Ok(known) = store.run(&run.run) else { return };
        if !run.is_relabeling_of(&known) {
            return;
        }
        run.relabels = Some(known.run);
        run.run = format!("{base}-{number}");
    }
}

/// The trials that the store does not have. Those that it has must have the same record.
fn plan_moves(store: &Store, staging: &Path, trials: &[TrialId]) -> Result<Vec<TrialId>, ArchiveError> {
    let mut moves = Vec::new();
    for trial in trials {
        let folder = store.trial_folder(trial);
        let read = |folder: PathBuf| fs::read(folder.join("record.json")).ok();
        match read(folder.clone()) {
            Some(known) if Some(&known) == read(trial_folder(staging, trial)).as_ref() => {}
            Some(_) => {
                return Err(ArchiveError::Conflict {
                    message: format!("the store has another result of trial {}", trial.short()),
                    hint: "import into another store with --store DIR".to_owned(),
                });
            }
            None if folder.exists() => {
                return Err(ArchiveError::Conflict {
                    message: format!("the store has an unfinished trial {}", trial.short()),
                    hint: "finish its run, or import into another store with --store DIR".to_owned(),
                });
            }
            None => moves.push(trial.clone()),
        }
    }
    Ok(moves)
}

/// Whether the store has the run. One of the same name must be the same.
fn compare_run(store: &Store, staging: &Path, run: &RunFolder) -> Result<bool, ArchiveError> {
    let folder = store.run_folder(&run.run);
    if !folder.exists() {
        return Ok(false);
    }
    for name in RUN_FILES {
        if fs::read(folder.join(name)).ok() != fs::read(staging.join("run").join(name)).ok() {
            return Err(ArchiveError::Conflict {
                message: format!("the store has another run {:?}: {name} differs", run.run),
                hint: "--name NAME imports it under another name".to_owned(),
            });
        }
    }
    Ok(true)
}

/// Moves everything into the store: trials first, so that a run never lacks what it was imported with.
fn commit(
    store: &Store,
    staging: &Path,
    run: &RunFolder,
    moves: &[TrialId],
    exists: bool,
) -> Result<(), ArchiveError> {
    let mut moved = Vec::new();
    let committed = (|| {
        for skill in fs::read_dir(staging.join("skills")).into_iter().flatten().flatten() {
            let name = skill.file_name().to_string_lossy().into_owned();
            let hex = name.strip_suffix(".md").unwrap_or(&name);
            let path = skill.path();
            let bytes = assay_fs::read_file(&path, DOCUMENT_CAP).map_err(|source| ArchiveError::Io {
                action: "read",
                path,
                source,
            })?;
            // The digest of a package with other files than this one cannot be checked.
            if is_whole_package(staging, hex, &bytes)? {
                store.write_skill(hex, &bytes)?;
            } else {
                store.write_imported_skill(hex, &bytes)?;
            }
        }
        for trial in moves {
            let to = store.trial_folder(trial);
            rename(&trial_folder(staging, trial), &to)?;
            moved.push(to);
        }
        if exists { Ok(()) } else { rename(&staging.join("run"), &store.run_folder(&run.run)) }
    })();
    if committed.is_err() {
        for folder in moved {
            // What remains belongs to no run; `assay gc` removes it.
            let _ = assay_fs::remove_tree(&folder);
        }
    }
    committed
}

/// Whether a digest is that of a package with nothing but this SKILL.md.
fn is_whole_package(staging: &Path, hex: &str, document: &[u8]) -> Result<bool, ArchiveError> {
    let folder = staging.join("package");
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("SKILL.md"), document));
    written.map_err(|source| ArchiveError::Io { action: "write", path: folder.clone(), source })?;
    Ok(assay_fs::tree::Tree::read(&folder).digest().hex() == hex)
}

fn rename(from: &Path, to: &Path) -> Result<(), ArchiveError> {
    let folder = to.parent().unwrap_or(Path::new("."));
    let moved = fs::create_dir_all(folder).and_then(|()| fs::rename(from, to));
    moved.map_err(|source| ArchiveError::Io { action: "create", path: to.to_owned(), source })
}
