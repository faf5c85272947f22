//! The run that guards a session, and where the session works.

mod follow;
mod present;

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use interlock_confine::call_site;
use interlock_core::{
    Decision,
    command::{Command, CommandKind},
    machine::Machine,
    names::RunId,
    run::Run,
};
use interlock_facts::{CallContext, RealDisk};
use interlock_project::{Environment, project_root};
use interlock_store::{
    BindError, Binding, EventLog as _, Lookup, RunLog, SessionKey, StoreError, refuse_for_token,
    submit,
};

use crate::{input::Input, plugins, process, rewrite};

use follow::followed;
pub use present::{LivingSession, living_sessions};
pub(crate) use present::{begin, end, unheld};

/// A session that a run guards.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) binding: Binding,
    pub(crate) log: RunLog,
    pub(crate) machine: Machine,
    pub(crate) run: Run,
    /// The time of the hook call, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// Whether the call of this hook contains the person's token.
    pub(crate) token_in_call: bool,
    /// Where the call would run, with every link resolved once.
    place: OnceCell<CallContext>,
}

/// Finds the topmost of the sessions that started this one, and the one just below it.
///
/// What a sub-agent's session does belongs to the run of the topmost session. Sessions that the sub-agent itself starts work in
/// its directory.
pub(crate) fn top_session(
    environment: &Environment,
    key: &SessionKey,
    input: &Input,
) -> Result<Option<(SessionKey, SessionKey)>, StoreError> {
    let known = environment.home.top_session(key)?;
    let beside = input.beside.as_ref().filter(|_| known.is_none());
    if let Some(parent) = input.parent.as_ref().or(beside) {
        let parent = SessionKey {
            client: key.client.clone(),
            session: parent.clone(),
        };
        environment
            .home
            .remember_parent(key, &parent, environment.at_ms)?;
        return Ok(Some(
            environment
                .home
                .top_session(key)?
                .unwrap_or((parent, key.clone())),
        ));
    }
    Ok(known)
}

/// Variable that names the run that an agent was started for.
pub const GUARD: &str = "INTERLOCK_GUARD";

/// Returns the run that the agent was started for, whose credential is in its environment.
fn started_for(environment: &Environment) -> Result<RunId, String> {
    let credential = environment.variable(GUARD).unwrap_or_default();
    let run = environment.home.run_of_credential(&credential);
    run.map_err(|error| error.to_string())?.ok_or_else(|| {
        format!("`{GUARD}` names no run: the step that this agent was started by is over")
    })
}

/// The binding of a session.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) binding: Binding,
    /// Whether the session was just bound, because it continues another's conversation.
    pub(crate) followed: bool,
}

impl From<Binding> for Found {
    fn from(binding: Binding) -> Self {
        Self {
            binding,
            followed: false,
        }
    }
}

/// Finds the binding of a session, including one that was started for a certain run.
///
/// Such a session stays with that run, and never takes another run that waits for a session.
pub(crate) fn guarding(
    environment: &Environment,
    input: &Input,
    key: &SessionKey,
    root: &Path,
    begins: bool,
) -> Result<Option<Found>, String> {
    let said = |error: StoreError| error.to_string();
    if environment.variable(GUARD).is_none() {
        return binding(environment, input, key, root, begins).map_err(said);
    }
    started_with(environment, key, root, begins).map(|bound| bound.map(Found::from))
}

/// Finds the binding of a session whose client was started for a certain run.
fn started_with(
    environment: &Environment,
    key: &SessionKey,
    root: &Path,
    begins: bool,
) -> Result<Option<Binding>, String> {
    let said = |error: StoreError| error.to_string();
    let bound = match environment.home.look_up(key, root).map_err(said)? {
        Lookup::Bound(bound) => Some(bound),
        Lookup::Waiting(_) | Lookup::Project(_) | Lookup::Unbound => None,
    };
    let over = |run: &RunId| Ok(environment.home.open_run(run)?.load()?.is_over());
    let run = match (started_for(environment), &bound) {
        (Ok(run), _) => run,
        // The marker is removed with the run; the session continues as after any run.
        (Err(_), Some(bound)) if over(&bound.run).map_err(said)? => return Ok(Some(bound.clone())),
        (Err(why), _) => return Err(why),
    };
    match bound {
        Some(bound) if bound.run == run => Ok(Some(bound)),
        Some(bound) if !over(&bound.run).map_err(said)? => Err(format!(
            "this session is guarded by run `{}` already, and was started for run `{run}`",
            bound.run
        )),
        None if !begins => Ok(None),
        replaced => held_to(environment, key, root, &run, replaced).map(Some),
    }
}

/// Binds a session to the run that its client was started for.
fn held_to(
    environment: &Environment,
    key: &SessionKey,
    root: &Path,
    run: &RunId,
    replaced: Option<Binding>,
) -> Result<Binding, String> {
    let said = |error: StoreError| error.to_string();
    let bindings = environment.home.lock_bindings().map_err(said)?;
    let process = process::client_of(environment);
    let holder = environment.home.session_of(run).map_err(said)?;
    let is_same = |holder: &Binding| process.is_some() && holder.process == process;
    if holder
        .as_ref()
        .is_some_and(|holder| holder.session != *key && is_same(holder))
    {
        // The client began its conversation anew.
        bindings.let_go(run).map_err(said)?;
    }
    let binding = Binding {
        run: run.clone(),
        session: key.clone(),
        project_root: root.to_owned(),
        process,
        at_ms: environment.at_ms,
    };
    let replacing = replaced.as_ref().map(|bound| &bound.run);
    bindings
        .bind(binding, replacing)
        .map_err(|error| error.to_string())
}

/// Finds the binding of a session.
///
/// If the event `begins` something, a session without an open run continues with the run of the conversation that it continues;
/// otherwise a run that waits for the project's next session, or guards all of them, takes it.
fn binding(
    environment: &Environment,
    input: &Input,
    key: &SessionKey,
    root: &Path,
    begins: bool,
) -> Result<Option<Found>, StoreError> {
    let found = match environment.home.look_up(key, root)? {
        Lookup::Bound(binding) if begins => match next_waiting(environment, key, &binding)? {
            Some(next) => Some(next),
            None => Some(renewed(environment, binding)?),
        },
        Lookup::Bound(binding) => Some(binding),
        _ if !begins => None,
        free => match followed(environment, input, key, root)? {
            Some(binding) => {
                return Ok(Some(Found {
                    binding,
                    followed: true,
                }));
            }
            None => match free {
                Lookup::Waiting(_) => environment.home.lock_bindings()?.take_next(
                    key,
                    root,
                    process::client_of(environment),
                    environment.at_ms,
                )?,
                Lookup::Project(run) => joined(environment, key, root, &run)?,
                Lookup::Bound(_) | Lookup::Unbound => None,
            },
        },
    };
    Ok(found.map(Found::from))
}

/// Binds a session to the run that guards every session of the project, if that is open.
fn joined(
    environment: &Environment,
    key: &SessionKey,
    root: &Path,
    run: &RunId,
) -> Result<Option<Binding>, StoreError> {
    let is_over = environment.home.open_run(run)?.load()?.is_over();
    let bindings = environment.home.lock_bindings()?;
    if is_over {
        bindings.stop_waiting(run, root)?;
        return Ok(None);
    }
    bindings.take_next(
        key,
        root,
        process::client_of(environment),
        environment.at_ms,
    )
}

/// Takes the run that waits for the project's next session if this session's own run has ended.
fn next_waiting(
    environment: &Environment,
    key: &SessionKey,
    bound: &Binding,
) -> Result<Option<Binding>, StoreError> {
    let root = &bound.project_root;
    let another_waits = || -> Result<bool, StoreError> {
        let waiting = environment.home.waiting_in(root)?;
        Ok(waiting.is_some_and(|(run, _)| run != bound.run))
    };
    if !another_waits()? || !environment.home.open_run(&bound.run)?.load()?.is_over() {
        return Ok(None);
    }
    let bindings = environment.home.lock_bindings()?;
    // Another session may have been first; then this one stays unchanged.
    if !another_waits()? {
        return Ok(None);
    }
    bindings.release(&bound.run, root)?;
    bindings.forget_session(key)?;
    bindings.take_next(
        key,
        root,
        process::client_of(environment),
        environment.at_ms,
    )
}

/// Stores the client's process if it has changed.
fn renewed(environment: &Environment, mut binding: Binding) -> Result<Binding, StoreError> {
    let process = process::client_of(environment);
    if process.is_none() || process == binding.process {
        return Ok(binding);
    }
    binding.process = process;
    let bindings = environment.home.lock_bindings()?;
    match bindings.bind(binding.clone(), None) {
        Ok(bound) => Ok(bound),
        Err(BindError::Store(error)) => Err(error),
        // The run has continued in another session, and still guards this one.
        Err(BindError::RunHeld { .. }) => bindings.share(&binding).map(|()| binding),
        // Bound otherwise meanwhile: the next call will find that.
        Err(_) => Err(StoreError::MissingRun {
            run: binding.run.clone(),
            path: environment.home.path().to_owned(),
        }),
    }
}

impl Guarded {
    /// Opens the run of a binding.
    pub(crate) fn open(environment: &Environment, binding: Binding) -> Result<Self, StoreError> {
        let log = environment.home.open_run(&binding.run)?;
        let run = log.load()?;
        let machine = log.machine_of(&run)?;
        Ok(Self {
            binding,
            log,
            machine,
            run,
            at_ms: environment.at_ms,
            token_in_call: false,
            place: OnceCell::new(),
        })
    }

    /// Returns whether a person is asked in the client's own prompt.
    ///
    /// Never for a run that a server decides: its people answer there, and the one at the client may be the one whose work it is.
    pub(crate) fn is_attended(&self, environment: &Environment, input: &Input) -> bool {
        !self.log.is_elsewhere() && rewrite::is_attended(environment, input)
    }

    /// Sends a command to the run and records the resulting events.
    pub(crate) fn ask(&mut self, mut command: CommandKind) -> Result<Decision, StoreError> {
        if let CommandKind::Propose(call) = &mut command
            && self.token_in_call
        {
            refuse_for_token(call);
        }
        let command = Command {
            at_ms: self.at_ms,
            kind: command,
        };
        submit(&mut self.log, &self.machine, &mut self.run, &command)
    }

    /// Reads the run again, because another process may have moved it.
    pub(crate) fn refresh(&mut self) -> Result<(), StoreError> {
        self.run = self.log.load()?;
        Ok(())
    }

    /// Returns where the call of this hook would run, with links resolved.
    ///
    /// A `Guarded` answers one call, so `directory` is always the same.
    pub(crate) fn here(&self, environment: &Environment, directory: &str) -> &CallContext {
        self.place.get_or_init(|| {
            let client = self.binding.process.as_ref().map(|process| process.pid);
            call_context(environment, &self.binding.project_root, directory, client)
                .resolved(&RealDisk)
        })
    }

    /// Returns the run's id.
    pub(crate) fn id(&self) -> &RunId {
        &self.binding.run
    }

    /// Ends the work on the run, all of which is recorded.
    ///
    /// If the process ends with this answer, memory, files and locks are released with it: releasing each individually takes
    /// longer.
    pub(crate) fn leave(self, environment: &Environment) {
        if environment.home.is_for_one_answer() {
            std::mem::forget(self);
        }
    }
}

/// Returns the project of a session, by the directory of its hook.
pub(crate) fn root_of(directory: &str) -> PathBuf {
    project_root(Path::new(directory))
}

/// Describes where a call would run, for its facts.
#[must_use]
pub fn call_context(
    environment: &Environment,
    root: &Path,
    directory: &str,
    client: Option<u32>,
) -> CallContext {
    interlock_confine::call_context(
        environment,
        &plugins::in_place(environment),
        root,
        call_site(environment, directory, client),
    )
}
