//! The run that guards a session, looked up for each call and kept open in between.

use interlock_core::names::RunId;
use interlock_store::{Home, NotedTool, StoreError};

use super::{
    Caller,
    cached::{Cached, Stamp},
};
use crate::{
    control::{CallerRun, Control, Incoming, Noted},
    governor_queue::waiting,
    live::{CachedRun, Live},
    refused::Refused,
};

/// Directories that change whenever a session is bound or a run is created.
const BOUND: [&str; 3] = ["runs", "sessions", "projects"];
/// Directories that change whenever a note is left or taken.
const NOTES: [&str; 1] = ["notes"];

/// Whether the open run was compared with its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// The beginnings of questions are unknown: it is compared each time.
    NeverKept,
    /// Not since the question began, or since another process may have written.
    NotYet,
    /// During this question. What others write meanwhile is noticed when something is recorded.
    Now,
}

/// The run that guards a session.
#[derive(Debug)]
pub(super) struct Opened {
    who: Caller,
    home: Home,
    /// Boxed, because it is large and taken out at each question.
    live: Option<Box<CachedRun>>,
    looked: Looked,
    held: Cached<CallerRun, 3>,
    no_notes: Cached<(), 1>,
}

impl Opened {
    pub(super) const fn new(who: Caller, home: Home) -> Self {
        Self {
            who,
            home,
            live: None,
            looked: Looked::NeverKept,
            held: Cached::new(),
            no_notes: Cached::new(),
        }
    }

    /// Finds the run of a call, and the note of its hook.
    pub(super) fn of_call(
        &mut self,
        control: &Control,
        tool: NotedTool,
        incoming: &Incoming,
    ) -> Result<(CallerRun, Noted), Refused> {
        let noted = self.noted(control, tool, incoming)?;
        if let Caller::Run(run) = &self.who {
            return Ok((CallerRun::Run(run.clone()), noted));
        }
        if noted.is_there() {
            return Ok((control.held(&noted, incoming)?, noted));
        }
        Ok((self.without_note(control)?, noted))
    }

    /// Finds the run that guards the session if a call gives no further information.
    pub(super) fn of_session(&mut self, control: &Control) -> Result<CallerRun, Refused> {
        match &self.who {
            Caller::Run(run) => Ok(CallerRun::Run(run.clone())),
            Caller::Stdio | Caller::Nobody => self.without_note(control),
        }
    }

    /// Marks the log to be read again, once until the next call.
    pub(super) const fn begin(&mut self) {
        self.looked = Looked::NotYet;
    }

    /// Marks the log to be read when it is needed next, because another process has written.
    pub(super) fn look_anew(&mut self) {
        if self.looked == Looked::Now {
            self.looked = Looked::NotYet;
        }
    }

    /// Opens a run, or updates it from its log.
    pub(super) fn live(&mut self, run: &RunId) -> Result<&mut Live, StoreError> {
        let known = self.live.take().filter(|kept| kept.0.id() == run);
        let kept = match known {
            Some(kept) if self.looked == Looked::Now => kept,
            Some(mut kept) if kept.0.is_in_place() => {
                kept.0.catch_up()?;
                kept
            }
            _ => Box::new(Live::open(&self.home, run)?.kept()),
        };
        if self.looked == Looked::NotYet {
            self.looked = Looked::Now;
        }
        Ok(&mut self.live.insert(kept).0)
    }

    /// Returns a run as last read, for callers that notice at their end if others have written.
    ///
    /// If nothing was noticed, they call [`Self::seen`].
    pub(super) fn live_as_seen(&mut self, run: &RunId) -> Result<&mut Live, StoreError> {
        let known = self.live.take().filter(|kept| kept.0.id() == run);
        match known.filter(|kept| kept.0.is_in_place()) {
            Some(kept) => Ok(&mut self.live.insert(kept).0),
            None => {
                self.look_anew();
                self.live(run)
            }
        }
    }

    /// Marks the open run as up to date, because something was recorded in it.
    pub(super) fn seen(&mut self) {
        if self.looked == Looked::NotYet {
            self.looked = Looked::Now;
        }
    }

    /// Forgets the run, because a control tool may have started another.
    pub(super) fn forget(&mut self) {
        self.held.forget();
        self.look_anew();
    }

    /// Returns whether a hook has left a note for a call that has not arrived yet.
    pub(super) fn has_notes(&mut self) -> Result<bool, StoreError> {
        let seen = Stamp::look(self.home.path(), NOTES);
        if self.no_notes.get(seen).is_some() {
            return Ok(false);
        }
        let has = self.home.has_notes()?;
        if !has {
            self.no_notes.keep(seen, ());
        }
        Ok(has)
    }

    fn noted(
        &mut self,
        control: &Control,
        tool: NotedTool,
        incoming: &Incoming,
    ) -> Result<Noted, Refused> {
        if self.has_notes()? {
            control.caller(tool, incoming)
        } else {
            Ok(Noted::default())
        }
    }

    fn without_note(&mut self, control: &Control) -> Result<CallerRun, Refused> {
        let seen = Stamp::look(self.home.path(), BOUND);
        match self.held.get(seen) {
            Some(CallerRun::Run(run)) => {
                let run = run.clone();
                if !self.live(&run)?.run.is_over() {
                    return Ok(CallerRun::Run(run));
                }
            }
            Some(CallerRun::Nothing) => return Ok(CallerRun::Nothing),
            // Runs may have ended since, which no directory shows.
            Some(CallerRun::Several(_)) | None => {}
        }
        let held = waiting(|| control.held_by_what_is_open())?;
        self.held.keep(seen, held.clone());
        Ok(held)
    }
}
