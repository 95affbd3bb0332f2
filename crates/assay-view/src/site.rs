//! The store that is shown, and the runs that were loaded from it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use assay_analysis::audited::{AuditPace, Notices, known_skills, skill_text};
use assay_audit::corpus::Notice;
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
    /// What audits found, by run.
    behaviours: Mutex<BTreeMap<String, AuditEntry>>,
    /// Is notified when an audit ends.
    audited: Condvar,
    /// Skills with the files that the trials of a run were shown, by run and digest, each with the state of the run.
    texts: Mutex<BTreeMap<(String, String), Stamped<SkillText>>>,
    /// The skills of a run whose text is no evidence, by run, each with the seal of its plan.
    known_skills: Mutex<BTreeMap<String, Stamped<Vec<SkillText>>>>,
    /// Receives lines about what takes long.
    listener: Option<Listener>,
    /// Sheets by name, each with the length of its file and the time of its last change.
    sheets: Mutex<BTreeMap<String, (SheetVersion, Arc<Sheet>)>>,
}

type SheetVersion = Option<(u64, SystemTime)>;

/// A value with the state that it was made of.
type Stamped<T> = (String, Arc<T>);

/// Receives lines about what takes long.
type Listener = Box<dyn Fn(&str) + Send + Sync>;

/// The audit of a run.
#[derive(Default)]
struct AuditEntry {
    /// The state of the run that was audited last, and what was found.
    found: Option<(String, Arc<Behaviour>)>,
    /// How far an audit is that is under way.
    running: Option<Arc<AuditCounts>>,
}

/// How far an audit is.
#[derive(Debug, Default)]
struct AuditCounts {
    /// What is counted, how many are done, and of how many.
    now: Mutex<(String, usize, usize)>,
}

/// The audit of a run at the moment.
pub(crate) enum AuditState {
    /// Done.
    Ready(Arc<Behaviour>),
    /// Under way: what is counted, how many are done, and of how many.
    Running(String, usize, usize),
}

/// Counts the steps of an audit, and says now and then how far it is.
struct AuditWatch<'a> {
    counts: &'a AuditCounts,
    pace: AuditPace,
    listener: Option<&'a Listener>,
}

impl Notices for AuditWatch<'_> {
    // Pages say what they lack; `assay audit corpus` names the files.
    fn file(&mut self, _: Notice) {}

    fn text(&mut self, _: &str) {}

    fn progress(&mut self, what: &str, done: usize, total: usize) {
        *self.counts.now.lock().unwrap_or_else(PoisonError::into_inner) = (what.to_owned(), done, total);
        if let (Some(listener), Some(line)) = (self.listener, self.pace.describe_progress(what, done, total))
        {
            listener(&line);
        }
    }
}

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
            audited: Condvar::new(),
            texts: Mutex::default(),
            known_skills: Mutex::default(),
            listener: None,
            sheets: Mutex::default(),
        }
    }

    /// The same with the pages of a draft, whose folder is named.
    #[must_use]
    pub fn with_draft(self, folder: PathBuf) -> Self {
        Self { draft: Some(Draft::new(folder)), ..self }
    }

    /// The same; `listener` is given lines about what takes long.
    #[must_use]
    pub fn report_to(self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Box::new(listener)), ..self }
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
    /// Trials that ended since may have been shown more of them.
    pub(crate) fn skill_text(&self, data: &RunData, skill: &PlannedSkill) -> Option<Arc<SkillText>> {
        let key = (data.plan.run.clone(), skill.digest.clone());
        let state = state_of(data);
        let lock = || self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, text)) = lock().get(&key)
            && *known == state
        {
            return Some(Arc::clone(text));
        }
        let text = Arc::new(skill_text(&self.store, &data.plan, skill).ok()?);
        lock().insert(key, (state, Arc::clone(&text)));
        Some(text)
    }

    /// The skills of a run whose text is no evidence of what a trial did.
    pub(crate) fn known_skills(&self, data: &RunData) -> Arc<Vec<SkillText>> {
        let lock = || self.known_skills.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((plan, skills)) = lock().get(&data.plan.run)
            && *plan == data.plan.plan
        {
            return Arc::clone(skills);
        }
        let skills = Arc::new(known_skills(&self.store, &data.plan));
        lock().insert(data.plan.run.clone(), (data.plan.plan.clone(), Arc::clone(&skills)));
        skills
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

    /// What an audit of a run finds, computed once for each state of the run, in the background, and waited for at most
    /// `wait`.
    pub(crate) fn behaviour(self: &Arc<Self>, data: &Arc<RunData>, wait: Duration) -> AuditState {
        let (name, state) = (&data.plan.run, state_of(data));
        let until = Instant::now() + wait;
        let mut entries = self.audits();
        let is_known = |entry: &AuditEntry| entry.found.as_ref().is_some_and(|(known, _)| *known == state);
        let entry = entries.entry(name.clone()).or_default();
        if entry.running.is_none() && !is_known(entry) {
            let counts = Arc::new(AuditCounts::default());
            entry.running = Some(Arc::clone(&counts));
            let (site, data, state) = (Arc::clone(self), Arc::clone(data), state.clone());
            thread::spawn(move || site.audit(&data, state, &counts));
        }
        loop {
            let entry = entries.entry(name.clone()).or_default();
            if let (Some((_, found)), true) = (&entry.found, entry.running.is_none()) {
                return AuditState::Ready(Arc::clone(found));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let now = |counts: &Arc<AuditCounts>| {
                    counts.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
                };
                let (what, done, total) = entry.running.as_ref().map(now).unwrap_or_default();
                return AuditState::Running(what, done, total);
            }
            entries = self.audited.wait_timeout(entries, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn audits(&self) -> MutexGuard<'_, BTreeMap<String, AuditEntry>> {
        self.behaviours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn audit(&self, data: &RunData, state: String, counts: &AuditCounts) {
        let ending = AuditEnding { site: self, run: &data.plan.run };
        let mut watch = AuditWatch { counts, pace: AuditPace::default(), listener: self.listener.as_ref() };
        let found = Arc::new(Behaviour::of(&self.store, data, &mut watch));
        self.audits().entry(data.plan.run.clone()).or_default().found = Some((state, found));
        drop(ending);
    }
}

/// Says that an audit has ended, also one that panicked.
struct AuditEnding<'a> {
    site: &'a Site,
    run: &'a str,
}

impl Drop for AuditEnding<'_> {
    fn drop(&mut self) {
        self.site.audits().entry(self.run.to_owned()).or_default().running = None;
        self.site.audited.notify_all();
    }
}

/// What identifies the trials of a run that have ended.
fn state_of(data: &RunData) -> String {
    format!("{} {}", data.plan.plan, data.progress().0)
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
