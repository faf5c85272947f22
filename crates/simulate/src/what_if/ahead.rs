//! Reads a bounded number of the next events of a log.

use interlock_core::event::Event;

/// Maximum number of events that one command is assumed to produce.
const AHEAD_MAX: usize = 256;

/// Reads a log with a lookahead.
pub(super) struct Ahead<I> {
    log: I,
    events: Vec<Event>,
    /// Number of consumed `events`.
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

    /// Returns the next events; empty at the end of the log.
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
