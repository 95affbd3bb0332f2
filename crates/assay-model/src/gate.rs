//! A gate shared by all users of one provider with one key.
//!
//! After a provider has requested a wait, no call with the same address and key is sent before its
//! end. Sixteen concurrent trials then wait for one limit together instead of each running into it.
//!
//! Processes that share a provider can share its limits as well: [`share_limits`].

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::text::Secret;

/// All gates of the process, by the digest of address and key: as many as there are providers in
/// use.
static GATES: LazyLock<Mutex<BTreeMap<[u8; 32], Arc<Gate>>>> = LazyLock::new(Mutex::default);

/// The limits that this process shares with others.
static SHARED: RwLock<Option<Arc<dyn SharedLimits>>> = RwLock::new(None);

/// Limits of providers that several processes share. A provider is named by a digest of its address
/// and key.
pub trait SharedLimits: std::fmt::Debug + Send + Sync {
    /// Reserves a request that is sent now; otherwise until when to wait, and why.
    ///
    /// # Errors
    /// The request may not be sent yet.
    fn reserve(&self, provider: &str) -> Result<(), Closed>;

    /// Reports that the provider has requested a wait.
    fn close(&self, provider: &str, wait: Duration, status: u16, message: &str);
}

/// Shares the limits of all providers that this process calls, from now on; `None`: no longer.
pub fn share_limits(limits: Option<Arc<dyn SharedLimits>>) {
    *SHARED.write().unwrap_or_else(PoisonError::into_inner) = limits;
}

fn shared() -> Option<Arc<dyn SharedLimits>> {
    SHARED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Blocks calls until a time.
#[derive(Debug, Default)]
pub struct Gate {
    /// A digest of address and key.
    provider: String,
    closed: Mutex<Option<Closed>>,
}

/// A closed gate, and why it is closed.
#[derive(Debug, Clone)]
pub struct Closed {
    /// No call is sent before this time.
    pub until: Instant,
    /// The HTTP status that closed it.
    pub status: u16,
    /// The provider's message.
    pub message: String,
}

impl Gate {
    /// The gate of an address and a key.
    pub fn shared(base_url: &str, key: Option<&Secret>) -> Arc<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(base_url.as_bytes());
        hasher.update(&[0]);
        hasher.update(key.map(Secret::expose).unwrap_or_default().as_bytes());
        let digest = hasher.finalize();
        let provider = digest.to_hex().chars().take(32).collect();
        let new = || Arc::new(Self { provider, closed: Mutex::default() });
        Arc::clone(lock(&GATES).entry(*digest.as_bytes()).or_insert_with(new))
    }

    /// Closes the gate for as long as the provider has requested, also for the processes that share
    /// its limits.
    pub fn close_for(&self, wait: Duration, status: u16, message: &str) {
        self.close(Instant::now() + wait, status, message);
        if let Some(shared) = shared() {
            shared.close(&self.provider, wait, status, message);
        }
    }

    /// Reserves a request that is sent now; otherwise why the gate is closed.
    ///
    /// # Errors
    /// The gate is closed here, or by the limits that are shared.
    pub fn enter(&self, now: Instant) -> Result<(), Closed> {
        if let Some(closed) = self.closed(now) {
            return Err(closed);
        }
        let Some(shared) = shared() else { return Ok(()) };
        shared.reserve(&self.provider).inspect_err(|closed| {
            self.close(closed.until, closed.status, &closed.message);
        })
    }

    /// Closes the gate, unless it is closed for longer already.
    fn close(&self, until: Instant, status: u16, message: &str) {
        let mut closed = lock(&self.closed);
        if closed.as_ref().is_none_or(|closed| closed.until < until) {
            *closed = Some(Closed { until, status, message: message.to_owned() });
        }
    }

    /// Why the gate is closed, if it still is.
    pub fn closed(&self, now: Instant) -> Option<Closed> {
        lock(&self.closed).clone().filter(|closed| closed.until > now)
    }
}

/// Locks a mutex even if it is poisoned: a panic leaves nothing here half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_shared_by_address_and_key() {
        let key = |text: &str| Some(Secret::new(text.to_owned()));
        let one = Gate::shared("http://one", key("a").as_ref());
        assert!(Arc::ptr_eq(&one, &Gate::shared("http://one", key("a").as_ref())));
        assert!(!Arc::ptr_eq(&one, &Gate::shared("http://one", key("b").as_ref())));
        assert!(!Arc::ptr_eq(&one, &Gate::shared("http://one", None)));
        assert!(!Arc::ptr_eq(&one, &Gate::shared("http://two", key("a").as_ref())));
    }

    #[test]
    fn longest_closure_applies() {
        let gate = Gate::default();
        let now = Instant::now();
        assert!(gate.closed(now).is_none());
        gate.close(now + Duration::from_secs(9), 429, "slow down");
        gate.close(now + Duration::from_secs(3), 529, "overloaded");
        let closed = gate.closed(now).unwrap();
        assert_eq!((closed.status, closed.message.as_str()), (429, "slow down"));
        assert!(gate.closed(now + Duration::from_secs(9)).is_none());
    }
}
