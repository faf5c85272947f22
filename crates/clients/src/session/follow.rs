//! A conversation that continues under another id: the run follows it.
//!
//! `/clear`, branches and the like give a client's conversation a new id in the same process, so a run follows the process. A
//! copy of a conversation in a process of its own (a fork) names its original, or else the open run of the project guards it: a
//! copy is never unguarded because its origin is unknown.

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

/// Finds the open run that a session without a binding continues with, and binds it.
///
/// # Errors
/// Returns an error if the process or the runs cannot be read, so the answer is unknown.
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

/// Binds a session to the open run of the previous session of its process.
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
    // The previous session stays guarded by the run, too, in case it is resumed.
    bindings.let_go(&binding.run)?;
    bindings.share(&binding)?;
    Ok(Some(binding))
}

/// Binds a copy of a conversation to the run that guards its original.
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

/// Finds the newest open run of the project that guards a session of the same client.
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
