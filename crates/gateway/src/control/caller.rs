//! The caller of a tool, and the run that the call is for.
//!
//! A server is not told which session calls it: the hook that judged the call left a note, which is taken once. Without a note,
//! the open runs must leave only one possibility.

use std::{cell::RefCell, cmp::Reverse, path::Path};

use interlock_core::names::{AgentId, CallId, RunId};
use interlock_store::{ClientProcess, Lookup, Note, NotedTool};

use super::{Control, Incoming};
use crate::{
    govern,
    live::Live,
    refused::{Refused, Word},
    settings::StartedFor,
};

/// How often the search for a note is repeated because another server took it.
const TRIES_MAX: usize = 8;

/// The caller of a tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    /// What the hook knew of the call.
    pub(super) note: Option<Note>,
}

impl Caller {
    /// Returns whether there is a note of a hook.
    pub(crate) const fn is_there(&self) -> bool {
        self.note.is_some()
    }

    /// Returns whether the note is from a hook of `client` itself.
    pub(crate) fn is_of(&self, client: Option<&ClientProcess>) -> bool {
        let process = self.note.as_ref().and_then(|note| note.process.as_ref());
        process.is_some() && process == client
    }

    /// Returns whether a person uses the client, as far as its hook knows.
    pub(crate) fn is_attended(&self) -> bool {
        self.note.as_ref().is_some_and(|note| !note.unattended)
    }

    /// Returns the call with which a hook has allowed this one, if it is still open in `live`.
    ///
    /// A call that a person was to be asked about counts if the client itself started this process: then its arrival is the
    /// approval.
    pub(crate) fn judged(&self, live: &Live, client: Option<&ClientProcess>) -> Option<CallId> {
        let note = self.note.as_ref()?;
        let id = note.judged.as_ref()?;
        let call = live.run.calls.iter().find(|call| call.id == *id)?;
        let own = note.process.is_some() && note.process.as_ref() == client;
        (!call.asked || note.asked && own).then(|| id.clone())
    }

    /// Returns the calling sub-agent, or `None` for the main agent.
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        self.note.as_ref().and_then(|note| note.agent.as_ref())
    }
}

/// The run that a call is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallerRun {
    /// This run.
    Run(RunId),
    /// No run.
    Nothing,
    /// One of these runs, but it is unknown which.
    Several(Vec<RunId>),
}

/// The client process of an open run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// The client that started this server.
    ThisClient,
    /// Another client.
    OtherClient,
    /// A gateway whose client has left; the next client continues the run.
    Gone,
    /// Unknown, or none.
    Unknown,
}

/// How to treat a run that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damaged {
    /// It guards nobody.
    OfNobody,
    /// It guards the session that the files next to it name.
    OfWhomItNames,
}

/// How well a note matches a call, from worst to best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It belongs to the same project.
    Project,
    /// It belongs to the client process that started this server.
    Process,
    /// It names the same call.
    Call,
}

impl Control {
    /// Takes the hook's note for a call, so that no other server gets it.
    pub(crate) fn caller(
        &self,
        tool: impl Into<NotedTool>,
        incoming: &Incoming,
    ) -> Result<Caller, Refused> {
        let tool = tool.into();
        let digest = incoming.digest();
        let home = &self.settings.environment.home;
        for _ in 0..TRIES_MAX {
            // All notes are examined before one is taken: the oldest need not be the best match.
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
                // Remove it, so that a repetition of the call does not match it again.
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

    /// Returns how well `note` matches the call; `None` if it belongs to another call.
    fn fit(&self, note: &Note, incoming: &Incoming) -> Option<Fit> {
        if let govern::Caller::Run(run) = &self.who
            && note.run.as_ref() != Some(run)
        {
            return None;
        }
        match &self.settings.started_for {
            StartedFor::Anything => {}
            StartedFor::Run(run) if note.run.as_ref() == Some(run) => {}
            StartedFor::Run(_) | StartedFor::Over => return None,
        }
        if let (Some(noted), Some(call)) = (&note.call, &incoming.call) {
            return (noted == call).then_some(Fit::Call);
        }
        match self.who {
            govern::Caller::Run(_) => return Some(Fit::Process),
            // Any process on this machine could be the caller.
            govern::Caller::Nobody => return None,
            govern::Caller::Stdio => {}
        }
        let above = |process| self.settings.ancestors.contains(process);
        if note.process.as_ref().is_some_and(above) {
            return Some(Fit::Process);
        }
        (note.project_root == self.project_root).then_some(Fit::Project)
    }

    /// Returns the root of the project that a call belongs to.
    pub(super) fn root_of<'a>(&'a self, caller: &'a Caller) -> &'a Path {
        caller
            .note
            .as_ref()
            .map_or(&self.project_root, |note| &note.project_root)
    }

    /// Finds the run that a call is for.
    pub(crate) fn held(&self, caller: &Caller, incoming: &Incoming) -> Result<CallerRun, Refused> {
        if let govern::Caller::Run(run) = &self.who {
            return Ok(CallerRun::Run(run.clone()));
        }
        if let Some(run) = self.started_for()? {
            return Ok(CallerRun::Run(run));
        }
        match &caller.note {
            Some(Note { run: Some(run), .. }) => Ok(CallerRun::Run(run.clone())),
            Some(note) => self.held_by_session(note, incoming.at_ms),
            None => self.held_unseen(Damaged::OfNobody),
        }
    }

    /// Finds the run for calls of servers' tools that no hook has seen.
    ///
    /// This includes an unreadable run that may guard this session: opening it will then refuse the call.
    pub(crate) fn held_by_what_is_open(&self) -> Result<CallerRun, Refused> {
        if let Some(run) = self.started_for()? {
            return Ok(CallerRun::Run(run));
        }
        self.held_unseen(Damaged::OfWhomItNames)
    }

    /// Returns the run that the client above was started for, if any.
    ///
    /// A credential that another client's process has shown to its hooks has no effect here: a process that merely read it is not
    /// the one that it was given to.
    pub(crate) fn started_for(&self) -> Result<Option<RunId>, Refused> {
        let run = match &self.settings.started_for {
            StartedFor::Anything => return Ok(None),
            StartedFor::Run(run) => run,
            StartedFor::Over => {
                let message = "the step that this agent was started by is over";
                return Err(Refused::new(Word::NoRun, message));
            }
        };
        if self.holder_of(run) == Holder::OtherClient {
            let message = format!("run `{run}` guards an agent in another process");
            return Err(Refused::new(Word::NoRun, message));
        }
        Ok(Some(run.clone()))
    }

    fn held_unseen(&self, damaged: Damaged) -> Result<CallerRun, Refused> {
        match &self.started {
            Some(run) => self.started_or_later(run, damaged),
            None => self.only_open_run(damaged),
        }
    }

    /// Finds the run of a session that had none when its hook was called.
    fn held_by_session(&self, note: &Note, at_ms: u64) -> Result<CallerRun, Refused> {
        let home = &self.settings.environment.home;
        Ok(match home.look_up(&note.session, &note.project_root)? {
            Lookup::Bound(binding) => CallerRun::Run(binding.run),
            Lookup::Unbound => CallerRun::Nothing,
            Lookup::Project(run) if self.open(&run)?.run.is_over() => CallerRun::Nothing,
            Lookup::Waiting(_) | Lookup::Project(_) => {
                let bindings = home.lock_bindings()?;
                let taken = bindings.take_next(
                    &note.session,
                    &note.project_root,
                    note.process.clone(),
                    at_ms,
                )?;
                taken.map_or(CallerRun::Nothing, |binding| CallerRun::Run(binding.run))
            }
        })
    }

    /// Returns the run that this process started, or one that was opened after its end.
    fn started_or_later(&self, started: &RunId, damaged: Damaged) -> Result<CallerRun, Refused> {
        if !self.open(started)?.run.is_over() {
            return Ok(CallerRun::Run(started.clone()));
        }
        Ok(match self.only_open_run(damaged)? {
            CallerRun::Nothing => CallerRun::Run(started.clone()),
            later => later,
        })
    }

    /// Finds the run that only this client can mean.
    fn only_open_run(&self, damaged: Damaged) -> Result<CallerRun, Refused> {
        // Other clients may have many runs: whether one is open matters only if any run has no known client.
        let open = self.open_runs(damaged, |holder| holder != Holder::OtherClient)?;
        let of = |wanted: Holder| -> Vec<RunId> {
            let fitting = open.iter().filter(|(_, holder)| *holder == wanted);
            fitting.map(|(run, _)| run.clone()).collect()
        };
        let (ours, unknown) = (of(Holder::ThisClient), of(Holder::Unknown));
        Ok(match (ours.as_slice(), unknown.as_slice()) {
            ([only], _) => CallerRun::Run(only.clone()),
            ([], []) => match of(Holder::Gone).as_slice() {
                [only] => CallerRun::Run(only.clone()),
                _ => CallerRun::Nothing,
            },
            ([], _) => {
                let all = self.open_runs(damaged, |_| true)?;
                match all.as_slice() {
                    [] => CallerRun::Nothing,
                    // The only one there is: if other clients have runs, it could belong to any of them.
                    [(only, Holder::Unknown)] => CallerRun::Run(only.clone()),
                    _ => CallerRun::Several(all.into_iter().map(|(run, _)| run).collect()),
                }
            }
            (_, _) => CallerRun::Several(ours),
        })
    }

    /// Lists the open runs of this project with holder `wanted`, newest first, with the holder of each.
    fn open_runs(
        &self,
        damaged: Damaged,
        wanted: impl Fn(Holder) -> bool,
    ) -> Result<Vec<(RunId, Holder)>, Refused> {
        let home = &self.settings.environment.home;
        let projects = [self.project_root.as_path()];
        let runs = home.list_runs_in(&projects, |run| wanted(self.holder_of(run)))?;
        let open = runs.into_iter().filter(|run| match run.listed.card() {
            Some(card) => card.project_root == self.project_root && !card.is_over(),
            // The run itself cannot tell its client; it affects nobody else.
            None => damaged == Damaged::OfWhomItNames && self.may_be_ours(&run.id),
        });
        Ok(open
            .map(|run| {
                let holder = self.holder_of(&run.id);
                (run.id, holder)
            })
            .collect())
    }

    /// Returns whether the files next to a run say that it belongs to this project.
    fn may_be_ours(&self, run: &RunId) -> bool {
        let home = &self.settings.environment.home;
        let bound = home.session_of(run).ok().flatten();
        bound.is_some_and(|binding| binding.project_root == self.project_root)
            || matches!(home.waiting_in(&self.project_root), Ok(Some((waiting, _))) if waiting == *run)
    }

    fn holder_of(&self, run: &RunId) -> Holder {
        let local = self.who == govern::Caller::Stdio;
        let ancestors = &self.settings.ancestors;
        let Some(binding) = self
            .settings
            .environment
            .home
            .session_of(run)
            .ok()
            .flatten()
        else {
            return Holder::Unknown;
        };
        let of_gateway = binding.session.client.as_deref() == Some(govern::CLIENT);
        match binding.process {
            Some(process) if local && ancestors.contains(&process) => Holder::ThisClient,
            Some(process) if local && of_gateway && !is_alive(&process) => Holder::Gone,
            _ if of_gateway => Holder::OtherClient,
            Some(_) if local && !ancestors.is_empty() => Holder::OtherClient,
            _ => Holder::Unknown,
        }
    }
}

fn is_alive(process: &ClientProcess) -> bool {
    let found = interlock_clients::process::look(process.pid);
    found.is_some_and(|found| found.client == *process)
}

#[cfg(test)]
mod tests {
    use interlock_core::names::Digest;
    use interlock_store::{ClientProcess, Note, NotedTool, SessionKey};

    use super::Caller;

    #[test]
    fn only_a_note_with_the_process_of_the_client_is_of_it() {
        let process = |pid: u32| ClientProcess {
            pid,
            started: "1".to_owned(),
        };
        let caller = |of: Option<ClientProcess>| Caller {
            note: Some(Note {
                session: SessionKey::of_any_client("s"),
                run: None,
                project_root: "/p".into(),
                agent: None,
                process: of,
                call: None,
                tool: NotedTool::served("look"),
                digest: Digest::new("d"),
                asked: false,
                question: None,
                unattended: false,
                judged: None,
                at_ms: 0,
            }),
        };
        for (noted, client, is_of) in [
            (Some(process(1)), Some(process(1)), true),
            (Some(process(1)), Some(process(2)), false),
            (Some(process(1)), None, false),
            (None, Some(process(1)), false),
            (None, None, false),
        ] {
            assert_eq!(caller(noted).is_of(client.as_ref()), is_of);
        }
        assert!(!Caller::default().is_of(None));
    }
}
