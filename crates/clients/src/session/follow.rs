//! A conversation that goes on under another id: the run goes with it.
//!
//! `/clear`, a branch and their like give a client's conversation a new id in the
//! same process, so a run follows the process. A copy of a conversation in a process
//! of its own (a fork) names what it was copied from, or is held by the run that is
//! open in the project: a copy is never free because its origin is not known.

use std::path::Path;

use interlock_core::names::RunId;
use interlock_project::Environment;
use interlock_store::{
    Binding, ClientProcess, EventLog as _, Listed, Lookup, SessionKey, StoreError,
};

use crate::{
    input::{Event, Input},
    process,
    protocol::Origin,
    registry,
};

/// Finds the open run that a session without a binding goes on with, and binds it.
///
/// # Errors
/// What is known of the process or of the runs cannot be read; the answer is not known.
pub(super) fn followed(
    environment: &Environment,
    input: &Input,
    key: &SessionKey,
    root: &Path,
) -> Result<Option<Binding>, StoreError> {
    if let Some(process) = process::client_of(environment)
        && let Some(binding) = by_process(environment, input, key, root, &process)?
    {
        return Ok(Some(binding));
    }
    match input.event {
        Event::SessionStart | Event::Prompt => by_origin(environment, input, key, root),
        _ => Ok(None),
    }
}

/// Binds a session to the open run of the session that its process had before.
fn by_process(
    environment: &Environment,
    input: &Input,
    key: &SessionKey,
    root: &Path,
    process: &ClientProcess,
) -> Result<Option<Binding>, StoreError> {
    let client = input.client.word();
    let Some(former) = environment.home.session_of_process(client, process)? else {
        return Ok(None);
    };
    let Lookup::Bound(bound) = environment.home.look_up(&former, root)? else {
        return Ok(None);
    };
    let protocol = registry::protocol(input.client);
    if bound.project_root != root && protocol.has_several_conversations() {
        return Ok(None);
    }
    if is_over(environment, &bound.run)? {
        environment.home.forget_process(client, process)?;
        return Ok(None);
    }
    let binding = Binding {
        session: key.clone(),
        process: Some(process.clone()),
        at_ms: environment.at_ms,
        ..bound
    };
    let bindings = environment.home.lock_bindings()?;
    // The session before stays guarded by the run, too, should it be taken up again.
    bindings.let_go(&binding.run)?;
    bindings.share(&binding)?;
    Ok(Some(binding))
}

/// Binds a copy of a conversation to the run that holds its original.
fn by_origin(
    environment: &Environment,
    input: &Input,
    key: &SessionKey,
    root: &Path,
) -> Result<Option<Binding>, StoreError> {
    let protocol = registry::protocol(input.client);
    let bound = match protocol.origin(input) {
        Origin::Itself => None,
        Origin::Session(session) => {
            let original = SessionKey::new(input.client.word(), session);
            match environment.home.look_up(&original, root)? {
                Lookup::Bound(bound) => Some(bound),
                _ => None,
            }
        }
        Origin::Unknown => newest_held(environment, input, root)?,
    };
    let Some(bound) = bound else {
        return Ok(None);
    };
    if is_over(environment, &bound.run)? {
        return Ok(None);
    }
    let binding = Binding {
        session: key.clone(),
        process: process::client_of(environment),
        at_ms: environment.at_ms,
        ..bound
    };
    environment.home.lock_bindings()?.share(&binding)?;
    Ok(Some(binding))
}

/// Finds the newest open run of the project that a session of the same client has.
fn newest_held(
    environment: &Environment,
    input: &Input,
    root: &Path,
) -> Result<Option<Binding>, StoreError> {
    for run in environment.home.list_runs_in(&[root], |_| true)? {
        if !run.is_of(root) || matches!(&run.listed, Listed::Known(card) if card.is_over()) {
            continue;
        }
        let holder = environment.home.session_of(&run.id)?;
        let of_client =
            |held: &Binding| held.session.client.as_deref() == Some(input.client.word());
        if let Some(holder) = holder.filter(of_client) {
            return Ok(Some(holder));
        }
    }
    Ok(None)
}

fn is_over(environment: &Environment, run: &RunId) -> Result<bool, StoreError> {
    Ok(environment.home.open_run(run)?.load()?.is_over())
}
