//! The events of a log that come next, a bounded number of them.

use interlock_core::event::Event;

/// Events that one command brings about at most, as far as it is looked for.
const AHEAD_MAX: usize = 256;

/// Reads a log so that what comes next is known.
pub(super) struct Ahead<I> {
    log: I,
    events: Vec<Event>,
    /// Number of `events` that are used up.
    used: usize,
}

impl<E, I: Iterator<Item = Result<Event, E>>> Ahead<I> {
    pub(super) const fn new(log: I) -> Self {
        Self {
            log,
            events: Vec::new(),
            used: 0,
        }
    }

    /// Returns what comes next; empty: the log is at its end.
    pub(super) fn fill(&mut self) -> Result<&[Event], E> {
        if self.used >= AHEAD_MAX {
            self.events.drain(..self.used);
            self.used = 0;
        }
        while self.events.len() - self.used < AHEAD_MAX {
            match self.log.next() {
                Some(event) => self.events.push(event?),
                None => break,
            }
        }
        Ok(self.events.get(self.used..).unwrap_or_default())
    }

    pub(super) fn drop_first(&mut self, count: usize) {
        self.used = self.used.saturating_add(count).min(self.events.len());
    }
}
