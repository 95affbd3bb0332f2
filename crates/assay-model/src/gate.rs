//! A gate shared by all users of one provider with one key.
//!
//! After a provider has requested a wait, no call with the same address and key is sent before its
//! end. Sixteen concurrent trials then wait for one limit together instead of each running into it.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::text::Secret;

/// All gates of the process, by the digest of address and key: as many as there are providers in
/// use.
static GATES: LazyLock<Mutex<BTreeMap<[u8; 32], Arc<Gate>>>> = LazyLock::new(Mutex::default);

/// Blocks calls until a time.
#[derive(Debug, Default)]
pub struct Gate {
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
        Arc::clone(lock(&GATES).entry(*hasher.finalize().as_bytes()).or_default())
    }

    /// Closes the gate, unless it is closed for longer already.
    pub fn close(&self, until: Instant, status: u16, message: &str) {
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
    use std::time::Duration;

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
