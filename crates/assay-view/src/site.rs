//! The store that is shown, and the runs that were loaded from it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use assay_analysis::audited::skill_text;
use assay_audit::evidence::SkillText;
use assay_diagnostic::chain;
use assay_store::{PlannedSkill, Sheet, Store, StoreError};

use crate::data::RunData;
use crate::draft::Draft;
use crate::pages::behaviour::Behaviour;

/// A loaded run whose records change is loaded again after this multiple of the time that loading took.
const RELOAD: u32 = 5;

/// A loaded run is not loaded again before this has passed.
const SHORTEST: Duration = Duration::from_millis(900);

/// A store as pages.
pub struct Site {
    pub(crate) store: Store,
    /// Values that no page shows.
    secrets: Vec<String>,
    /// Whether the pages are files: without forms and live updates.
    pub(crate) is_export: bool,
    /// A draft that is shown beside the runs.
    draft: Option<Draft>,
    /// The only run that is shown, if so.
    only: Option<String>,
    runs: Mutex<HashMap<String, Entry>>,
    changed: Condvar,
    behaviours: Mutex<BTreeMap<String, Arc<Behaviour>>>,
    /// Skills with the files that the trials of a run were shown, by run and digest.
    texts: Mutex<BTreeMap<(String, String), Arc<SkillText>>>,
    /// Sheets by name, each with the length of its file and the time of its last change.
    sheets: Mutex<BTreeMap<String, (SheetVersion, Arc<Sheet>)>>,
}

type SheetVersion = Option<(u64, SystemTime)>;

/// The state of the files that a loaded run depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    plan: Option<(u64, SystemTime)>,
    events: u64,
    checks: u64,
}

#[derive(Default)]
struct Entry {
    data: Option<Arc<RunData>>,
    error: Option<String>,
    /// What was loaded, when, and how long that took.
    loaded: Option<(Version, Instant, Duration)>,
    /// Records read so far, if the run is being loaded now.
    loading: Option<Arc<AtomicUsize>>,
}

/// A run at the moment.
pub(crate) enum RunState {
    /// Loaded.
    Ready(Arc<RunData>),
    /// Being loaded for the first time: records read so far.
    Loading(usize),
}

impl Site {
    /// The pages of a store. Pages show neither `secrets` nor what looks like a key.
    pub fn new(store: Store, secrets: Vec<String>) -> Self {
        Self {
            store,
            secrets,
            is_export: false,
            draft: None,
            only: None,
            runs: Mutex::default(),
            changed: Condvar::new(),
            behaviours: Mutex::default(),
            texts: Mutex::default(),
            sheets: Mutex::default(),
        }
    }

    /// The same with the pages of a draft, whose folder is named.
    #[must_use]
    pub fn with_draft(self, folder: PathBuf) -> Self {
        Self { draft: Some(Draft::new(folder)), ..self }
    }

    /// The draft that is shown.
    pub(crate) fn draft(&self) -> Option<&Draft> {
        self.draft.as_ref()
    }

    /// The same pages as files, of one run only if it is named.
    pub(crate) fn for_export(self, run: Option<&str>) -> Self {
        Self { is_export: true, only: run.map(str::to_owned), ..self }
    }

    /// The names of the runs that are shown, in order.
    pub(crate) fn run_names(&self) -> Vec<String> {
        let names = self.store.run_names().into_iter();
        names.filter(|name| self.only.as_ref().is_none_or(|only| only == name)).collect()
    }

    /// A skill that a run provided, with all files that its directives are from; `None` if the store does not have it.
    pub(crate) fn skill_text(&self, data: &RunData, skill: &PlannedSkill) -> Option<Arc<SkillText>> {
        let key = (data.plan.run.clone(), skill.digest.clone());
        let lock = || self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Some(Arc::clone(known));
        }
        let text = Arc::new(skill_text(&self.store, &data.plan, skill).ok()?);
        lock().insert(key, Arc::clone(&text));
        Some(text)
    }

    /// A page without secrets.
    pub(crate) fn redact(&self, text: &str) -> String {
        assay_report::redact(text, &self.secrets)
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run, loaded in the background and waited for at most `wait`.
    pub(crate) fn run(self: &Arc<Self>, name: &str, wait: Duration) -> Result<RunState, StoreError> {
        let version = self.version(name)?;
        let until = Instant::now() + wait;
        let mut entries = self.entries();
        let entry = entries.entry(name.to_owned()).or_default();
        if entry.loading.is_none() && entry.is_stale(&version) {
            let done = Arc::new(AtomicUsize::new(0));
            entry.loading = Some(Arc::clone(&done));
            let (site, name) = (Arc::clone(self), name.to_owned());
            thread::spawn(move || site.load(&name, version, &done));
        }
        loop {
            let entry = entries.entry(name.to_owned()).or_default();
            if let Some(data) = &entry.data {
                return Ok(RunState::Ready(Arc::clone(data)));
            }
            if entry.loading.is_none()
                && let Some(error) = &entry.error
            {
                return Err(StoreError::NotFound(error.clone()));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let done = entry.loading.as_ref().map_or(0, |done| done.load(Ordering::Relaxed));
                return Ok(RunState::Loading(done));
            }
            entries = self.changed.wait_timeout(entries, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn load(&self, name: &str, version: Version, done: &AtomicUsize) {
        let from = Instant::now();
        let found = RunData::load(&self.store, name, done);
        let mut entries = self.entries();
        let entry = entries.entry(name.to_owned()).or_default();
        entry.loading = None;
        entry.loaded = Some((version, Instant::now(), from.elapsed()));
        match found {
            Ok(data) => {
                entry.data = Some(Arc::new(data));
                entry.error = None;
            }
            // A run that was loaded before stays as it was.
            Err(error) => entry.error = Some(chain(&error)),
        }
        drop(entries);
        self.changed.notify_all();
    }

    fn version(&self, name: &str) -> Result<Version, StoreError> {
        if !self.run_names().iter().any(|known| known == name) {
            return Err(StoreError::NotFound(format!("there is no run {name:?}")));
        }
        let folder = self.store.run_folder(name);
        let length = |file: &str| fs::metadata(folder.join(file)).map_or(0, |metadata| metadata.len());
        let plan = fs::metadata(folder.join("plan.json")).ok();
        Ok(Version {
            plan: plan.and_then(|plan| Some((plan.len(), plan.modified().ok()?))),
            events: length("events.jsonl"),
            checks: length("checks.json"),
        })
    }

    /// A sheet, read once for each state of its file.
    pub(crate) fn sheet(&self, name: &str) -> Result<Arc<Sheet>, StoreError> {
        let metadata = fs::metadata(self.store.review_folder(name).join("items.jsonl")).ok();
        let version = metadata.and_then(|metadata| Some((metadata.len(), metadata.modified().ok()?)));
        let lock = || self.sheets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, sheet)) = lock().get(name)
            && *known == version
            && version.is_some()
        {
            return Ok(Arc::clone(sheet));
        }
        let sheet = Arc::new(self.store.sheet(name)?);
        lock().insert(name.to_owned(), (version, Arc::clone(&sheet)));
        Ok(sheet)
    }

    /// What audits of a run found, computed once for each state of the run.
    pub(crate) fn behaviour(&self, data: &RunData, compute: impl FnOnce() -> Behaviour) -> Arc<Behaviour> {
        let key = format!("{} {} {}", data.plan.run, data.plan.plan, data.progress().0);
        let known = |all: &BTreeMap<String, Arc<Behaviour>>| all.get(&key).map(Arc::clone);
        let lock = || self.behaviours.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known(&lock()) {
            return found;
        }
        let found = Arc::new(compute());
        lock().insert(key, Arc::clone(&found));
        found
    }
}

impl Entry {
    /// Whether the run has to be loaded.
    fn is_stale(&self, version: &Version) -> bool {
        match &self.loaded {
            None => true,
            Some((known, at, took)) => known != version && at.elapsed() >= SHORTEST.max(*took * RELOAD),
        }
    }
}
