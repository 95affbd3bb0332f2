//! The runs of a store: their plans, and their events.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use assay_diagnostic::chain;
use serde::Serialize;
use serde_json::Value;

use crate::access;
use crate::error::StoreError;
use crate::files::{append_line, pretty, read_json, write_atomically, write_json, write_new};
use crate::origin::ImportedFrom;
use crate::run::{Exclusion, RunFolder, is_run_name};
use crate::store::Store;

/// The file in the folder of a run that was imported: its archive, which can be found without reading the plan.
pub const SOURCE: &str = "source.json";

/// A run, as `assay show` lists it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its name.
    pub run: String,
    /// Cells planned.
    pub cells: usize,
    /// Distinct trials.
    pub trials: usize,
    /// Trials with a record.
    pub finished: usize,
    /// When its plan was written, RFC 3339.
    pub planned_at: Option<String>,
    /// Why its plan cannot be read, if so: then nothing else is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
}

/// Keeps the source of a plan. A plan without a file has none.
fn keep_source(path: &Path, source: &[u8]) -> Result<(), StoreError> {
    if source.is_empty() { Ok(()) } else { write_atomically(path, source) }
}

impl Store {
    /// The folder of a run.
    pub fn run_folder(&self, run: &str) -> PathBuf {
        self.root().join("runs").join(run)
    }

    /// Writes a plan under a name if that is free or has the same plan, else under the name with
    /// the first free number appended. One with the same trials and analysis as an earlier run, and other
    /// labels of tasks or another rule of the outcome, names that run in `relabels`. `source` is the file that the plan was made from, with its
    /// name and content; without content no file is written.
    pub fn begin_run(
        &self,
        folder: RunFolder,
        base: &str,
        source: (&str, &[u8]),
    ) -> Result<RunFolder, StoreError> {
        self.begin_run_of(folder, base, source, &BTreeMap::new())
    }

    /// As [`Store::begin_run`], with the digests of its tasks with their labels: by them, a run of 0.1.0 is found to ask
    /// the same question.
    ///
    /// # Errors
    /// As for `begin_run`.
    pub fn begin_run_of(
        &self,
        mut folder: RunFolder,
        base: &str,
        (source_name, source): (&str, &[u8]),
        labeled: &BTreeMap<String, String>,
    ) -> Result<RunFolder, StoreError> {
        for number in 1_u32.. {
            folder.run = if number == 1 { base.to_owned() } else { format!("{base}-{number}") };
            let path = self.run_folder(&folder.run).join("plan.json");
            if !path.exists() {
                let io = |source| StoreError::Io { action: "create", path: path.clone(), source };
                access::create_folder(path.parent().unwrap_or(Path::new("."))).map_err(io)?;
                // Another process may take the name at this moment: its plan is then compared like
                // any other.
                if write_new(&path, &pretty(&folder, &path)?)? {
                    keep_source(&path.with_file_name(source_name), source)?;
                    self.save_question(&folder, labeled)?;
                    return Ok(folder);
                }
            }
            let mut known = match RunFolder::read(&path) {
                Ok(known) => known,
                // A plan of another assay version is kept.
                Err(StoreError::Version { .. }) => continue,
                Err(StoreError::Format { .. }) => {
                    // So is one that is complete; an unreadable one is moved aside.
                    if read_json::<Value>(&path).is_ok_and(|plan| plan["schema"].is_string()) {
                        continue;
                    }
                    let aside = path.with_file_name("plan.before.json");
                    let io = |source| StoreError::Io { action: "move", path: path.clone(), source };
                    fs::rename(&path, aside).map_err(io)?;
                    // They belong to the unreadable plan, and would exclude tasks from this one.
                    let checks = path.with_file_name("checks.json");
                    if checks.exists() {
                        fs::rename(&checks, path.with_file_name("checks.before.json")).map_err(io)?;
                    }
                    if write_new(&path, &pretty(&folder, &path)?)? {
                        keep_source(&path.with_file_name(source_name), source)?;
                        self.save_question(&folder, labeled)?;
                        return Ok(folder);
                    }
                    RunFolder::read(&path)?
                }
                Err(error) => return Err(error),
            };
            // One of the older rule has another digest for the same plan.
            if known.plan == folder.plan || known.cells == folder.cells && known.digest() == folder.plan {
                return Ok(known);
            }
            if folder.is_relabeling_of(&known) {
                folder.relabels = Some(known.run.clone());
            }
        }
        Err(StoreError::NotFound("more runs than there are numbers".to_owned()))
    }

    /// Keeps the labels by which a run's report corrects the scores of judges.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save_calibration(&self, run: &str, calibration: &Value) -> Result<(), StoreError> {
        write_json(&self.calibration_path(run), calibration)
    }

    /// The labels by which a run's report corrects the scores of judges; `None` if there are none.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn calibration(&self, run: &str) -> Result<Option<Value>, StoreError> {
        let path = self.calibration_path(run);
        if path.exists() { read_json(&path).map(Some) } else { Ok(None) }
    }

    fn calibration_path(&self, run: &str) -> PathBuf {
        self.run_folder(run).join("calibration.json")
    }

    /// Keeps where the experiment of a run is, for what reports advise: beneath the folder of the store or beside it by a
    /// relative path, so that both can be moved together.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save_experiment_path(&self, run: &str, experiment: &Path) -> Result<(), StoreError> {
        let path = self.experiment_path_file(run);
        let io = |source| StoreError::Io { action: "resolve", path: path.clone(), source };
        let absolute = std::path::absolute(experiment).map_err(io)?;
        let root = std::path::absolute(self.root()).map_err(io)?;
        let place = root.parent().and_then(|beside| absolute.strip_prefix(beside).ok());
        let text = match place {
            Some(place) => Path::new("..").join(place),
            None => absolute,
        };
        write_atomically(&path, text.to_string_lossy().as_bytes())
    }

    /// The experiment of a run, if it is known and still there. Absolute.
    pub fn experiment_path(&self, run: &str) -> Option<PathBuf> {
        let text = fs::read_to_string(self.experiment_path_file(run)).ok()?;
        let root = std::path::absolute(self.root()).ok()?;
        let path = match text.strip_prefix("../") {
            Some(place) => root.parent()?.join(place),
            None => PathBuf::from(text),
        };
        path.is_file().then_some(path)
    }

    fn experiment_path_file(&self, run: &str) -> PathBuf {
        self.run_folder(run).join("experiment.path")
    }

    /// What tells that an import has the trials of an earlier one, and other labels of tasks or another outcome; `None`
    /// if it does not.
    ///
    /// # Errors
    /// The earlier run cannot be read.
    pub fn relabeling_note(&self, run: &RunFolder) -> Result<Option<String>, StoreError> {
        let Some(earlier) = &run.relabels else { return Ok(None) };
        let differences = run.describe_relabeled(&self.run(earlier)?);
        Ok(Some(format!(
            "`{earlier}` has the same trials with {differences}: it stays as it was, and this import is the run `{}`.",
            run.run
        )))
    }

    /// A run by its name.
    ///
    /// # Errors
    /// No such run; a plan that cannot be read, is of another version, or was changed after it was sealed.
    pub fn run(&self, name: &str) -> Result<RunFolder, StoreError> {
        let known = || {
            let names = self.run_names();
            if names.is_empty() {
                "the store has no runs yet".to_owned()
            } else {
                format!("the store has {}", names.join(", "))
            }
        };
        let path = self.run_folder(name).join("plan.json");
        if !is_run_name(name) || !path.exists() {
            let message = format!("no run {name:?} in {}: {}", self.root().display(), known());
            return Err(StoreError::NotFound(message));
        }
        RunFolder::read(&path)
    }

    /// The names of all runs, in order.
    pub fn run_names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.root().join("runs"))
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.path().join("plan.json").exists())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// A line about each run. One whose plan cannot be read hides no other.
    pub fn summaries(&self) -> Vec<RunSummary> {
        self.run_names()
            .into_iter()
            .map(|name| {
                let folder = match self.run(&name) {
                    Ok(folder) => folder,
                    Err(error) => {
                        let damaged = Some(chain(&error));
                        return RunSummary {
                            run: name,
                            cells: 0,
                            trials: 0,
                            finished: 0,
                            planned_at: None,
                            damaged,
                        };
                    }
                };
                let trials = folder.trials();
                let finished =
                    trials.iter().filter(|id| self.trial_folder(id).join("record.json").exists()).count();
                let planned_at = self.question(&name).ok().and_then(|question| question.planned_at);
                let (cells, trials) = (folder.cells.len(), trials.len());
                RunSummary { run: name, cells, trials, finished, planned_at, damaged: None }
            })
            .collect()
    }

    /// The archives that runs of this store were imported from.
    pub fn imported_sources(&self) -> Vec<ImportedFrom> {
        let folders = fs::read_dir(self.root().join("runs")).into_iter().flatten().flatten();
        let mut sources: Vec<ImportedFrom> =
            folders.filter_map(|folder| read_json(&folder.path().join(SOURCE)).ok()).collect();
        sources.sort_by(|one, other| (&one.digest, &one.file).cmp(&(&other.digest, &other.file)));
        sources.dedup_by(|one, other| one.digest == other.digest);
        sources
    }

    /// Adds a line to a run's events.
    pub fn event(&self, run: &str, event: &Value) -> Result<(), StoreError> {
        append_line(&self.run_folder(run).join("events.jsonl"), event)
    }

    /// The look of a gate that began this run and has not decided on it, by the run's events.
    pub fn open_look(&self, run: &str) -> Option<String> {
        let text = fs::read_to_string(self.run_folder(run).join("events.jsonl")).ok()?;
        // A torn line is no event.
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut open = None;
        for event in events {
            let look = event.get("look").and_then(Value::as_str).map(str::to_owned);
            match event.get("event").and_then(Value::as_str) {
                Some("gate") => open = look,
                Some("gate-completed") => open = open.filter(|open| look.as_ref() != Some(open)),
                _ => {}
            }
        }
        open
    }

    /// Writes down which tasks cannot be graded, and why.
    pub fn save_failed_checks(&self, run: &str, failed: &[Exclusion]) -> Result<(), StoreError> {
        write_json(&self.run_folder(run).join("checks.json"), &failed)
    }

    /// Which tasks cannot be graded, and why; empty if nothing was checked.
    pub fn failed_checks(&self, run: &str) -> Result<Vec<Exclusion>, StoreError> {
        let path = self.run_folder(run).join("checks.json");
        if path.exists() { read_json(&path) } else { Ok(Vec::new()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_open_until_it_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let path = store.run_folder("r");
        fs::create_dir_all(&path).unwrap();
        let check = |lines: &str, expected: Option<&str>| {
            fs::write(path.join("events.jsonl"), lines).unwrap();
            assert_eq!(store.open_look("r").as_deref(), expected, "{lines}");
        };
        let event = |name: &str, look: &str| format!("{{\"event\":\"{name}\",\"look\":{look}}}\n");
        let (opened, completed) = (event("gate", "\"a\""), event("gate-completed", "\"a\""));
        check("", None);
        check("{\"event\":\"trial\"}\n", None);
        check(&opened, Some("a"));
        check(&format!("{opened}{{\"event\":\"gate-comp"), Some("a"));
        check(&format!("{opened}{completed}"), None);
        check(&format!("{opened}{}", event("gate-completed", "\"b\"")), Some("a"));
        check(&format!("{opened}{completed}{}", event("gate", "\"b\"")), Some("b"));
        // Without a target no look is counted.
        check(&event("gate", "null"), None);
        assert_eq!(store.open_look("other"), None);
    }
}
