//! Locking.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A panic elsewhere leaves nothing here half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
