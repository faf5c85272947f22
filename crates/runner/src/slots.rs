//! Limit of programs that run at once.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Default number of programs that run at once.
const AT_ONCE: usize = 256;

/// Slots for programs that run at the same time.
#[derive(Debug)]
pub struct Slots {
    free: Mutex<usize>,
    changed: Condvar,
}

impl Default for Slots {
    fn default() -> Self {
        Self::new(AT_ONCE)
    }
}

impl Slots {
    /// Creates `count` slots, at least one.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self {
            free: Mutex::new(count.max(1)),
            changed: Condvar::new(),
        }
    }

    /// Waits for a slot; returns `None` as soon as `given_up` returns `true`.
    pub(crate) fn take(&self, given_up: impl Fn() -> bool) -> Option<Slot<'_>> {
        let mut free = self.lock();
        loop {
            if given_up() {
                return None;
            }
            if let Some(left) = free.checked_sub(1) {
                *free = left;
                return Some(Slot(self));
            }
            free = self
                .changed
                .wait(free)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes all waiting threads check again whether to give up.
    pub(crate) fn nudge(&self) {
        // With the lock held, no thread is between checking and waiting.
        let _held = self.lock();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A slot, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a>(&'a Slots);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.lock() += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn a_place_is_given_once() {
        let slots = Slots::new(1);
        let first = slots.take(|| false);
        assert!(first.is_some());
        assert!(slots.take(|| true).is_none());
        drop(first);
        assert!(slots.take(|| false).is_some());
    }
}
