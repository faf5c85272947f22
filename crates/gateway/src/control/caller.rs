//! Who makes a call, and which run it is for.
//!
//! A server is not told which session calls it: the hook that judged the call
//! left a note, which is taken once. Where there is none, the run has to be plain
//! from what is open.

use std::{cell::RefCell, cmp::Reverse, path::Path};

use interlock_core::names::{AgentId, RunId};
use interlock_store::{Listed, Lookup, Note, NotedTool};

use super::{Control, Incoming};
use crate::{
    govern,
    refused::{Refused, Word},
};

/// How often a note is looked for again because another server took it.
const TRIES_MAX: usize = 8;

/// Who makes a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    /// What the hook knew of it.
    pub(super) note: Option<Note>,
}

impl Caller {
    /// Tells whether a hook said anything.
    pub(crate) const fn is_there(&self) -> bool {
        self.note.is_some()
    }

    /// Returns the sub-agent that calls; `None`: the main agent.
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        self.note.as_ref().and_then(|note| note.agent.as_ref())
    }
}

/// The run that a call is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// This one.
    Run(RunId),
    /// None.
    Nothing,
    /// One of these, and it is not known which.
    Several(Vec<RunId>),
}

/// Which client process holds an open run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// The one that started this server.
    ThisClient,
    /// Another.
    OtherClient,
    /// Not known, or none.
    Unknown,
}

/// How surely a note is for a call; the surer the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It is of the same project.
    Project,
    /// It is of the client process that started this server.
    Process,
    /// It names the same call.
    Call,
}

impl Control {
    /// Takes the hook's note for a call; nobody else gets it.
    pub(crate) fn caller(
        &self,
        tool: impl Into<NotedTool>,
        incoming: &Incoming,
    ) -> Result<Caller, Refused> {
        let tool = tool.into();
        let digest = incoming.digest();
        let home = &self.settings.home;
        for _ in 0..TRIES_MAX {
            // Looked at before one is taken: the oldest need not be the one.
            let seen = RefCell::new(Vec::new());
            home.take_note(tool.clone(), &digest, incoming.at_ms, |note| {
                seen.borrow_mut().push(note.clone());
                false
            })?;
            let mut fitting: Vec<(Fit, Note)> = seen
                .into_inner()
                .into_iter()
                .filter_map(|note| Some((self.fit(&note, incoming)?, note)))
                .collect();
            fitting.sort_by_key(|(fit, note)| Reverse((*fit, note.at_ms)));
            let Some((best, chosen)) = fitting.first().cloned() else {
                return Ok(Caller::default());
            };
            let equals = fitting.into_iter().filter(|(fit, _)| *fit == best);
            let rivals: Vec<Note> = equals
                .map(|(_, note)| note)
                .filter(|note| note.session != chosen.session)
                .collect();
            let taken = home.take_note(tool.clone(), &digest, incoming.at_ms, |note| {
                *note == chosen
            })?;
            if !rivals.is_empty() {
                // Not to be mistaken again when the call is repeated.
                home.take_note(tool.clone(), &digest, incoming.at_ms, |note| {
                    rivals.contains(note)
                })?;
                return Err(Refused::new(
                    Word::SeveralRuns,
                    "two sessions make the same call at this moment and it is not known which one this is: call again",
                ));
            }
            if taken.is_some() {
                return Ok(Caller { note: taken });
            }
        }
        Ok(Caller::default())
    }

    /// Tells how surely `note` is for the call; `None`: it is for another.
    fn fit(&self, note: &Note, incoming: &Incoming) -> Option<Fit> {
        if let (Some(noted), Some(call)) = (&note.call, &incoming.call) {
            return (noted == call).then_some(Fit::Call);
        }
        let above = |process| self.settings.ancestors.contains(process);
        if note.process.as_ref().is_some_and(above) {
            return Some(Fit::Process);
        }
        (note.project_root == self.project_root).then_some(Fit::Project)
    }

    /// Returns the root of the project a call is made in.
    pub(super) fn root_of<'a>(&'a self, caller: &'a Caller) -> &'a Path {
        caller
            .note
            .as_ref()
            .map_or(&self.project_root, |note| &note.project_root)
    }

    /// Finds the run that a call is for.
    pub(crate) fn held(&self, caller: &Caller, incoming: &Incoming) -> Result<Held, Refused> {
        if let govern::Caller::Run(run) = &self.who {
            return Ok(Held::Run(run.clone()));
        }
        match &caller.note {
            Some(Note { run: Some(run), .. }) => Ok(Held::Run(run.clone())),
            Some(note) => self.held_by_session(note, incoming.at_ms),
            None => match &self.started {
                Some(run) => Ok(Held::Run(run.clone())),
                None => self.only_open_run(),
            },
        }
    }

    /// Finds the run of a session that had none when its hook was asked.
    fn held_by_session(&self, note: &Note, at_ms: u64) -> Result<Held, Refused> {
        let home = &self.settings.home;
        Ok(match home.look_up(&note.session, &note.project_root)? {
            Lookup::Bound(binding) => Held::Run(binding.run),
            Lookup::Unbound => Held::Nothing,
            Lookup::Waiting(_) => {
                let bindings = home.lock_bindings()?;
                let taken = bindings.take_next(
                    &note.session,
                    &note.project_root,
                    note.process.clone(),
                    at_ms,
                )?;
                taken.map_or(Held::Nothing, |binding| Held::Run(binding.run))
            }
        })
    }

    /// Finds the run that only this client can mean.
    fn only_open_run(&self) -> Result<Held, Refused> {
        let open = self.open_runs()?;
        let of = |wanted: Holder| -> Vec<RunId> {
            let fitting = open.iter().filter(|(_, holder)| *holder == wanted);
            fitting.map(|(run, _)| run.clone()).collect()
        };
        let (ours, unknown) = (of(Holder::ThisClient), of(Holder::Unknown));
        Ok(match (ours.as_slice(), unknown.as_slice()) {
            ([only], _) => Held::Run(only.clone()),
            ([], []) => Held::Nothing,
            // The only one there is: beside runs of others it could be anybody's.
            ([], [only]) if open.len() == 1 => Held::Run(only.clone()),
            ([], _) => Held::Several(open.into_iter().map(|(run, _)| run).collect()),
            (_, _) => Held::Several(ours),
        })
    }

    /// Lists the open runs of this project, newest first, with whose they are.
    fn open_runs(&self) -> Result<Vec<(RunId, Holder)>, Refused> {
        let runs = self.settings.home.list_runs()?;
        let open = runs.into_iter().filter(|run| match &run.listed {
            Listed::Known(card) => card.project_root == self.project_root && !card.is_over(),
            // Whose it is cannot be told; it troubles nobody else.
            Listed::Damaged { .. } => false,
        });
        Ok(open
            .map(|run| {
                let holder = self.holder_of(&run.id);
                (run.id, holder)
            })
            .collect())
    }

    fn holder_of(&self, run: &RunId) -> Holder {
        let ancestors = &self.settings.ancestors;
        let binding = self.settings.home.session_of(run).ok().flatten();
        match binding.and_then(|binding| binding.process) {
            Some(process) if ancestors.contains(&process) => Holder::ThisClient,
            Some(_) if !ancestors.is_empty() => Holder::OtherClient,
            _ => Holder::Unknown,
        }
    }
}
