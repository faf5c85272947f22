//! Creates runs.

use std::path::Path;

use interlock_core::{
    Decision, Reply,
    command::{Command, CommandKind},
    decide,
    event::Event,
    evolve,
    machine::Object,
    names::RunId,
    run::{DurableRun, Run},
};

use crate::{
    error::StoreError,
    frozen,
    home::Home,
    id,
    pin::{NewRun, check_name},
    prepared::{Prepared, Started},
    revision::Revision,
    run_log::RunLog,
    runs::UnpublishedRun,
};

/// Why a run did not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine refused the start; nothing was written.
    #[error("the run was not started: {}", refusal(.0))]
    Refused(Box<Decision>),
    /// The store failed; no run was created.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn refusal(decision: &Decision) -> &str {
    match &decision.reply {
        Reply::Ask(refusal) | Reply::Refused(refusal) => &refusal.message,
        Reply::Pending { message, .. } => message,
        Reply::Accepted => "",
    }
}

impl Home {
    /// Creates a run that has not begun: its directory, its database, its pinned workflow.
    ///
    /// # Errors
    /// The state directory cannot be written. In this case, nothing of the run remains.
    pub fn create_run(&self, new: &NewRun<'_>) -> Result<RunLog, StoreError> {
        self.write_run(&id::run_id(new.at_ms)?, new, &[], &|_| Ok(()))?
            .publish()
    }

    /// Creates and begins a run in one step: either the run has begun, or it does not exist.
    ///
    /// # Errors
    /// The engine refuses the input, or the state directory cannot be written.
    pub fn start_run(
        &self,
        new: &NewRun<'_>,
        input: Object,
        by: &str,
    ) -> Result<Started, StartError> {
        let id = id::run_id(new.at_ms)?;
        self.begin(&id, new, (input, by, None), &|_| Ok(()))
    }

    /// Begins the run `id`; `also` writes further data to its directory beside the database.
    pub(crate) fn begin(
        &self,
        id: &RunId,
        new: &NewRun<'_>,
        asked: (Object, &str, Option<DurableRun>),
        also: &dyn Fn(&Path) -> Result<(), StoreError>,
    ) -> Result<Started, StartError> {
        let Begun { run, decision } = Begun::with(id, new, asked)?;
        let written = self.write_run(id, new, &decision.events, also)?;
        Ok(Started {
            log: written.publish()?,
            run,
            decision,
        })
    }

    /// Creates a run with its first events in its log, without making it visible.
    ///
    /// Call this before locking the bindings, because evaluating and writing a start takes time. [`Bindings::begin`] and
    /// [`Bindings::begin_waiting`] then make the run visible.
    ///
    /// # Errors
    /// The engine refuses the input, or the state directory cannot be written.
    ///
    /// [`Bindings::begin`]: crate::Bindings::begin
    /// [`Bindings::begin_waiting`]: crate::Bindings::begin_waiting
    pub fn prepare_run(
        &self,
        new: &NewRun<'_>,
        input: Object,
        by: &str,
    ) -> Result<Prepared, StartError> {
        let id = id::run_id(new.at_ms)?;
        let Begun { run, decision } = Begun::with(&id, new, (input, by, None))?;
        Ok(Prepared {
            written: self.write_run(&id, new, &decision.events, &|_| Ok(()))?,
            project_root: new.project_root.to_owned(),
            at_ms: new.at_ms,
            run,
            decision,
        })
    }

    fn write_run(
        &self,
        run: &RunId,
        new: &NewRun<'_>,
        events: &[Event],
        also: &dyn Fn(&Path) -> Result<(), StoreError>,
    ) -> Result<Box<dyn UnpublishedRun>, StoreError> {
        new.name.map_or(Ok(()), check_name)?;
        self.runs().write(run, new, events, &|folder| {
            also(folder)?;
            frozen::keep(folder, new.project_root, new.machine)?;
            Revision::keep(folder, new.project_root)
        })
    }
}

/// A run at its first state, not yet in a log.
struct Begun {
    run: Run,
    decision: Decision,
}

impl Begun {
    fn with(
        id: &RunId,
        new: &NewRun<'_>,
        (input, by, durable): (Object, &str, Option<DurableRun>),
    ) -> Result<Self, StartError> {
        let command = CommandKind::Start {
            input,
            by: by.to_owned(),
            durable,
        };
        let command = Command {
            at_ms: new.at_ms,
            kind: command,
        };
        let fresh = Run::new(id.clone());
        let decision = decide(new.machine, &fresh, &command);
        if matches!(decision.reply, Reply::Refused(_)) {
            return Err(StartError::Refused(Box::new(decision)));
        }
        let run = decision.events.iter().fold(fresh, evolve);
        Ok(Self { run, decision })
    }
}
