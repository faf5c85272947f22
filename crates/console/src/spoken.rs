//! An index of the log events in transcripts, by attempt, so that a page reads only what it shows.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use interlock_core::{
    event::{About, Event},
    machine::EffectKind,
    names::{FramePath, RunId},
};
use interlock_store::{EventLog as _, RunLog, StoreError};

/// Maximum number of runs whose index is cached.
const RUNS_MAX: usize = 8;

/// One attempt of a stage, or of a step that an agent ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// The event that began it.
    pub(crate) seq: u64,
    pub(crate) path: FramePath,
    /// The name of the stage; `None` for a step, which is named by its region's state.
    pub(crate) stage: Option<String>,
    pub(crate) number: u32,
    /// Index of its first entry in the transcript.
    pub(crate) at: usize,
    is_over: bool,
}

/// One entry of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    /// Index of its attempt.
    pub(crate) attempt: usize,
    /// The event of the model call that it answers.
    pub(crate) called: Option<u64>,
}

/// The transcripts of a log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spoken {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) entries: Vec<Entry>,
    called: BTreeMap<FramePath, u64>,
    /// Number of events that were indexed.
    next: u64,
}

/// The cached indexes, by run.
#[derive(Debug, Default)]
pub(crate) struct SpokenOfRuns(Mutex<Vec<(RunId, Arc<Spoken>)>>);

impl SpokenOfRuns {
    /// Returns the index of `log`, after reading the events since the last call.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) fn of(&self, log: &RunLog) -> Result<Arc<Spoken>, StoreError> {
        let known = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let place = all.iter().position(|(run, _)| run == log.run());
            place.map(|place| all.remove(place).1)
        };
        let mut known = known.unwrap_or_default();
        if log.count()? > known.next {
            let spoken = Arc::make_mut(&mut known);
            for recorded in log.events(spoken.next) {
                let recorded = recorded?;
                spoken.next = recorded.seq + 1;
                spoken.take(recorded.seq, &recorded.event);
            }
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(run, _)| run != log.run());
        all.push((log.run().clone(), Arc::clone(&known)));
        let many = all.len().saturating_sub(RUNS_MAX);
        all.drain(..many);
        Ok(known)
    }
}

impl Spoken {
    fn take(&mut self, seq: u64, event: &Event) {
        match event {
            Event::StageEntered {
                path,
                stage,
                attempt,
                ..
            } => self.open(seq, path, Some(stage.to_string()), *attempt),
            Event::EffectStarted {
                path,
                kind,
                attempt,
                ..
            } if kind.is_task() || *kind == EffectKind::Ask => self.open(seq, path, None, *attempt),
            Event::ModelCalled { path, .. } => {
                self.called.insert(path.clone(), seq);
            }
            Event::ModelResponded { path, .. } | Event::ModelFailed { path, .. } => {
                let called = self.called.remove(path);
                self.say(seq, path, called);
            }
            Event::StageStarted { path, .. }
            | Event::HistoryCondensed { path, .. }
            | Event::ToolAllowed { path, .. }
            | Event::ToolDenied { path, .. }
            | Event::ToolEnded { path, .. }
            | Event::CompletionRejected { path, .. }
            | Event::CompletionAccepted { path, .. }
            | Event::RequestOpened {
                path,
                about: About::Call(_),
                ..
            } => self.say(seq, path, None),
            Event::TurnEnded { path, reminder, .. } if !reminder.is_empty() => {
                self.say(seq, path, None);
            }
            Event::StageExited { path, .. }
            | Event::ActivityEnded { path, .. }
            | Event::AttemptFailed { path, .. } => {
                self.say(seq, path, None);
                if let Some(at) = self.open_at(path)
                    && let Some(open) = self.attempts.get_mut(at)
                {
                    open.is_over = true;
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, seq: u64, path: &FramePath, stage: Option<String>, number: u32) {
        self.attempts.push(Attempt {
            seq,
            path: path.clone(),
            stage,
            number,
            at: self.entries.len(),
            is_over: false,
        });
        self.say(seq, path, None);
    }

    fn open_at(&self, path: &FramePath) -> Option<usize> {
        let open = |attempt: &Attempt| attempt.path == *path && !attempt.is_over;
        self.attempts.iter().rposition(open)
    }

    fn say(&mut self, seq: u64, path: &FramePath, called: Option<u64>) {
        if let Some(attempt) = self.open_at(path) {
            self.entries.push(Entry {
                seq,
                attempt,
                called,
            });
        }
    }
}
