//! The server of a limiter.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use super::{Answer, Ask, Charge, HEARTBEAT, LimiterState, Word};
use crate::budget::{Admission, Budget, Permit, Reservation, Turn};
use crate::error::GatewayError;
use crate::limits::Caps;
use crate::local::{LocalReply, LocalRequest, LocalServer};
use crate::pace::{Pace, Pacer, WINDOW};
use crate::sync::lock;

/// Silence of a process after which its trials no longer count as under way.
const SILENCE: Duration = Duration::from_mins(1);
/// After a restart, until processes have told which trials are under way.
const GRACE: Duration = Duration::from_secs(2 * HEARTBEAT.as_secs());
/// Added to the minute of a rate limit: requests are on their way for different times.
const SPREAD: Duration = Duration::from_secs(1);

/// Options of a server.
pub struct LimiterServerOptions {
    /// Where it listens; port 0 chooses a free one.
    pub address: SocketAddr,
    /// What processes authorize themselves with.
    pub token: String,
    /// Limits of each provider: requests of each, tokens of all together.
    pub pace: Pace,
    /// Where charges are kept.
    pub journal: PathBuf,
    /// The caps of a budget by its name; `None` if the run has no such budget.
    pub caps: FindCaps,
}

/// The caps of a budget by its name.
pub type FindCaps = Box<dyn Fn(&str) -> Option<Caps> + Send + Sync>;

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct LimiterServer {
    _server: LocalServer,
    address: SocketAddr,
    pub(super) state: Arc<State>,
}

impl LimiterServer {
    /// Starts it, with the charges of its journal.
    ///
    /// # Errors
    /// The port or the journal cannot be used.
    pub fn start(options: LimiterServerOptions) -> Result<Self, GatewayError> {
        let LimiterServerOptions { address, token, pace, journal, caps } = options;
        let started = Instant::now();
        let (journal, charges) = Journal::open(&journal)?;
        let resumed = if pace == Pace::default() { Duration::ZERO } else { journal.wait() };
        let state = Arc::new(State {
            caps,
            pace,
            journal: Mutex::new(journal),
            accounts: Mutex::default(),
            earlier: charges,
            providers: Mutex::default(),
            tokens: Pacer::new(Pace { requests_per_minute: None, ..pace }),
            started,
            resumed: started + resumed,
        });
        let token = blake3::hash(token.as_bytes());
        let shared = Arc::clone(&state);
        let gate =
            move |given: Option<&str>| given.is_some_and(|given| blake3::hash(given.as_bytes()) == token);
        let handler = move |request: &LocalRequest| shared.handle(request);
        let (server, address) = LocalServer::open_port(address, Arc::new(gate), Arc::new(handler))?;
        Ok(Self { _server: server, address, state })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The state of each budget that was asked about.
    pub fn states(&self) -> BTreeMap<String, LimiterState> {
        let accounts = lock(&self.state.accounts);
        accounts.iter().map(|(name, account)| (name.clone(), account.state())).collect()
    }
}

pub(super) struct State {
    caps: FindCaps,
    pace: Pace,
    pub(super) journal: Mutex<Journal>,
    accounts: Mutex<BTreeMap<String, Account>>,
    /// Charges from before the start.
    earlier: Vec<Charge>,
    providers: Mutex<HashMap<String, Provider>>,
    tokens: Pacer,
    started: Instant,
    /// No request is granted before: an earlier server has granted the minute's.
    resumed: Instant,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

struct Provider {
    pacer: Pacer,
    closed: Option<(Instant, u16, String)>,
}

struct Account {
    budget: Budget,
    permits: HashMap<String, Permit>,
    /// Which process has a permit.
    owners: HashMap<String, String>,
    /// What is set aside for requests under way, and for which process.
    reservations: HashMap<String, (Reservation, String)>,
    seen: HashMap<String, Instant>,
    charged: HashSet<String>,
    /// Whether trials may be under way that this server has not admitted.
    resumed: bool,
}

impl Account {
    fn new(caps: Caps, earlier: &[Charge], name: &str) -> Self {
        let budget = Budget::new(caps);
        let mut charged = HashSet::new();
        // Until all are known: what a trial costs decides how many fit.
        let mut trials: HashMap<&String, Permit> = HashMap::new();
        for charge in earlier.iter().filter(|charge| charge.budget == name) {
            if charged.insert(charge.id.clone()) {
                let trial = charge.permit.as_ref();
                let trial = trial.map(|permit| trials.entry(permit).or_insert_with(|| budget.adopt()));
                trial.map_or(&budget, |trial| trial.budget()).charge(
                    &charge.tokens,
                    &charge.estimated,
                    charge.usd,
                );
            }
        }
        drop(trials);
        let resumed = !charged.is_empty();
        Self {
            budget,
            permits: HashMap::new(),
            owners: HashMap::new(),
            reservations: HashMap::new(),
            seen: HashMap::new(),
            charged,
            resumed,
        }
    }

    fn state(&self) -> LimiterState {
        LimiterState {
            capped: self.budget.capped(),
            exhausted: self.budget.is_exhausted(),
            under_way: self.permits.len(),
            spent_usd: self.budget.spent_usd(),
        }
    }

    /// Ends the permits of processes that have been silent for too long.
    fn expire(&mut self, now: Instant) {
        let silent: HashSet<&String> = self
            .seen
            .iter()
            .filter(|(_, at)| now.duration_since(**at) >= SILENCE)
            .map(|(process, _)| process)
            .collect();
        if silent.is_empty() {
            return;
        }
        let owners = &self.owners;
        self.permits.retain(|permit, _| owners.get(permit).is_none_or(|process| !silent.contains(process)));
        self.owners.retain(|permit, _| self.permits.contains_key(permit));
        self.reservations.retain(|_, (_, process)| !silent.contains(process));
        self.seen.retain(|_, at| now.duration_since(*at) < SILENCE);
    }
}

impl State {
    fn handle(&self, request: &LocalRequest) -> LocalReply {
        let ask: Ask = match serde_json::from_slice(&request.body) {
            Ok(ask) => ask,
            Err(error) => return LocalReply::text(400, &error.to_string()),
        };
        match self.answer(ask) {
            Ok(answer) => LocalReply::json(200, &serde_json::json!(answer)),
            Err(error) => LocalReply::text(500, &error.to_string()),
        }
    }

    fn answer(&self, ask: Ask) -> std::io::Result<Answer> {
        let now = Instant::now();
        let budget = match ask {
            Ask::Reserve { provider } => return Ok(self.reserve(&provider, now)),
            Ask::Close { provider, milliseconds, status, message } => {
                let until = now + Duration::from_millis(milliseconds);
                let mut providers = lock(&self.providers);
                let closed = &mut self.provider(&mut providers, provider).closed;
                if closed.as_ref().is_none_or(|(earlier, ..)| *earlier < until) {
                    *closed = Some((until, status, message));
                }
                return Ok(Answer::Done);
            }
            Ask::Admit { ref budget, .. }
            | Ask::Charge(Charge { ref budget, .. })
            | Ask::End { ref budget, .. }
            | Ask::SetAside { ref budget, .. }
            | Ask::Release { ref budget, .. }
            | Ask::State { ref budget }
            | Ask::Alive { ref budget, .. } => budget.clone(),
        };
        let mut accounts = lock(&self.accounts);
        let account = match accounts.entry(budget.clone()) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let Some(caps) = (self.caps)(&budget) else { return Ok(Answer::Unknown) };
                entry.insert(Account::new(caps, &self.earlier, &budget))
            }
        };
        account.expire(now);
        Ok(match ask {
            Ask::Admit { process, permit, .. } => {
                account.seen.insert(process.clone(), now);
                let too_early = account.resumed && now.duration_since(self.started) < GRACE;
                let admission = match account.budget.admit() {
                    // The reply to an earlier request was lost.
                    _ if account.permits.contains_key(&permit) => Word::Granted,
                    Admission::Granted(_) if too_early => Word::Deferred,
                    Admission::Granted(granted) => {
                        account.permits.insert(permit.clone(), granted);
                        account.owners.insert(permit, process);
                        Word::Granted
                    }
                    Admission::Deferred => Word::Deferred,
                    Admission::Exhausted => Word::Exhausted,
                };
                Answer::Admission { admission }
            }
            Ask::SetAside { process, reservation, ceiling, .. } => {
                account.seen.insert(process.clone(), now);
                // The reply to an earlier request may have been lost.
                if account.reservations.contains_key(&reservation) {
                    return Ok(Answer::Turn { granted: true, capped: None });
                }
                match account.budget.reserve(ceiling) {
                    Turn::Granted(granted) => {
                        account.reservations.insert(reservation, (granted, process));
                        Answer::Turn { granted: true, capped: None }
                    }
                    Turn::Deferred => Answer::Turn { granted: false, capped: None },
                    Turn::Capped(capped) => Answer::Turn { granted: false, capped: Some(capped) },
                }
            }
            Ask::Release { reservation, used, .. } => {
                if let Some((mut ended, _)) = account.reservations.remove(&reservation)
                    && let Some(used) = used
                {
                    ended.set_used(used);
                }
                Answer::Done
            }
            Ask::Charge(charge) => {
                if !account.charged.contains(&charge.id) {
                    // If it cannot be kept, the process reports it again.
                    lock(&self.journal).append(&charge)?;
                    account.charged.insert(charge.id.clone());
                    self.tokens.count(charge.tokens.total(), now);
                    let permit = charge.permit.as_ref().and_then(|permit| account.permits.get(permit));
                    let budget = permit.map_or(&account.budget, Permit::budget);
                    budget.charge(&charge.tokens, &charge.estimated, charge.usd);
                }
                Answer::Done
            }
            Ask::End { permit, is_last, .. } => {
                if is_last {
                    account.owners.remove(&permit);
                    account.permits.remove(&permit);
                } else if let Some(permit) = account.permits.get(&permit) {
                    permit.retry();
                }
                Answer::Done
            }
            Ask::Alive { process, permits, .. } => {
                account.seen.insert(process.clone(), now);
                for permit in permits {
                    // Admitted before a restart.
                    let Account { budget, permits, .. } = account;
                    permits.entry(permit.clone()).or_insert_with(|| budget.adopt());
                    account.owners.insert(permit, process.clone());
                }
                Answer::Done
            }
            Ask::State { .. } => Answer::State(account.state()),
            Ask::Reserve { .. } | Ask::Close { .. } => Answer::Done,
        })
    }

    fn provider<'a>(&self, providers: &'a mut HashMap<String, Provider>, name: String) -> &'a mut Provider {
        let pace = Pace { tokens_per_minute: None, ..self.pace };
        providers.entry(name).or_insert_with(|| Provider { pacer: Pacer::within(pace, SPREAD), closed: None })
    }

    fn reserve(&self, provider: &str, now: Instant) -> Answer {
        let mut providers = lock(&self.providers);
        let provider = self.provider(&mut providers, provider.to_owned());
        if let Some((until, status, message)) = &provider.closed
            && *until > now
        {
            let milliseconds = millis(*until - now);
            return Answer::Wait { milliseconds, status: *status, message: message.clone() };
        }
        let earlier =
            self.resumed.checked_duration_since(now).filter(|left| !left.is_zero()).map_or(Ok(()), Err);
        let limits = || self.tokens.reserve(now).and_then(|()| provider.pacer.reserve(now));
        match earlier.and_then(|()| limits()) {
            Ok(()) => {
                if self.pace != Pace::default() {
                    lock(&self.journal).note_grant();
                }
                Answer::Reserved
            }
            Err(wait) => Answer::Wait {
                milliseconds: millis(wait),
                status: 429,
                message: "the configured rate limit of the run".to_owned(),
            },
        }
    }
}

/// In milliseconds, rounded up.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
}

/// The charges of a run: a line of JSON for each.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) file: File,
    /// Whether its last line may lack its end.
    is_torn: bool,
}

impl Journal {
    /// Opens it, and reads the charges in it. What a crash has cut off is left out.
    fn open(path: &Path) -> Result<(Self, Vec<Charge>), GatewayError> {
        let wrong = |source| GatewayError::Journal { path: path.to_owned(), source };
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(wrong)?;
        let mut charges = Vec::new();
        let mut is_torn = false;
        for line in BufReader::new(&file).split(b'\n') {
            let line = line.map_err(wrong)?;
            match serde_json::from_slice(&line) {
                Ok(charge) => charges.push(charge),
                Err(_) => is_torn |= !line.is_empty(),
            }
        }
        Ok((Self { file, is_torn }, charges))
    }

    /// The time of the last grant is that of the file's last change.
    fn note_grant(&self) {
        // Without it, a server that is started again may grant the minute's requests twice.
        let _ = self.file.set_modified(SystemTime::now());
    }

    /// Until the requests that an earlier server has granted are a minute ago.
    fn wait(&self) -> Duration {
        let metadata = self.file.metadata().ok().filter(|file| file.len() > 0);
        let Some(last) = metadata.and_then(|file| file.modified().ok()) else { return Duration::ZERO };
        let window = WINDOW + SPREAD;
        // A clock that is ahead of the file's is believed for a window at most.
        last.elapsed().map_or(window, |since| window.saturating_sub(since))
    }

    fn append(&mut self, charge: &Charge) -> std::io::Result<()> {
        let mut line = if self.is_torn { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut line, charge)?;
        line.push(b'\n');
        self.is_torn = true;
        self.file.write_all(&line)?;
        self.is_torn = false;
        Ok(())
    }
}
