//! Project policy: a workflow named in `.interlock/config.toml` guards every session.

use std::path::Path;

use interlock_core::machine::{Machine, Object};
use interlock_formats::{Source, load, render};
use interlock_project::{Config, Environment, GuardScope, Library};
use interlock_store::{
    Binding, ClientProcess, Durability, EventLog as _, Lookup, NewRun, SessionKey, SourceFile,
    StoreError,
};

/// Who starts the runs of a policy.
const BY: &str = "project policy";

/// Returns the workflow that the policy of the project names.
pub(crate) fn workflow(root: &Path) -> Result<Option<(Config, String)>, String> {
    let config = Config::of_project(root).map_err(|error| error.to_string())?;
    let named = config.workflow.clone();
    Ok(named.map(|workflow| (config, workflow)))
}

/// Returns the machine that guards every session of the project at `root`, if there is one.
///
/// # Errors
/// The project's configuration, or the workflow that it names, cannot be used.
pub fn policy_machine(environment: &Environment, root: &Path) -> Result<Option<Machine>, String> {
    let Some((_, workflow)) = workflow(root)? else {
        return Ok(None);
    };
    let loaded = loaded(environment, root, &workflow).map_err(|why| broken(&workflow, &why))?;
    Ok(Some(loaded.1))
}

/// Returns why the workflow of the project's policy cannot be used, if so.
#[must_use]
pub fn policy_fault(environment: &Environment, root: &Path) -> Option<String> {
    let (_, workflow) = match workflow(root) {
        Ok(named) => named?,
        Err(why) => return Some(why),
    };
    let why = loaded(environment, root, &workflow).err()?;
    Some(broken(&workflow, &why))
}

/// Names the configuration that refers to an unusable workflow.
fn broken(workflow: &str, why: &str) -> String {
    format!(
        "the policy of this project (`workflow = \"{workflow}\"` in .interlock/config.toml) cannot be used: {why}"
    )
}

/// Starts a run of the workflow that guards every session of the project, and binds a session to it.
///
/// The processes of one client check one at a time whether their session is `free` of a run, because another may have begun the
/// common run. Returns `None` if there is no policy, or if the session is not free.
///
/// # Errors
/// The configuration or the workflow cannot be used, or the store fails.
pub fn start_policy(
    environment: &Environment,
    root: &Path,
    (key, process): (&SessionKey, Option<ClientProcess>),
    free: impl FnOnce() -> bool,
) -> Result<Option<Binding>, String> {
    let Some(policy) = workflow(root)? else {
        return Ok(None);
    };
    let turn = process.as_ref().map_or_else(
        || key.clone(),
        |process| {
            let session = format!("{} {}", process.pid, process.started);
            SessionKey::of_any_client(session)
        },
    );
    let _turn = environment.home.lock_session(&turn).map_err(said)?;
    if !free() {
        return Ok(None);
    }
    start_for(environment, root, (key, process), &policy, None).map(Some)
}

/// Starts a run of the policy's workflow and binds the session to it.
pub(crate) fn start(
    environment: &Environment,
    root: &Path,
    key: &SessionKey,
    policy: &(Config, String),
    ended: Option<&Binding>,
) -> Result<Binding, String> {
    // Of several hooks of one session, only one creates a run; if one run guards all sessions, only one of all their hooks does.
    // The others find the session bound.
    let turn = match policy.0.hold {
        GuardScope::Run => key.clone(),
        GuardScope::Project => SessionKey::of_any_client(root.to_string_lossy()),
    };
    let _turn = environment.home.lock_session(&turn).map_err(said)?;
    let process = crate::process::client_of(environment);
    start_for(environment, root, (key, process), policy, ended)
}

/// Loads the workflow of a policy; in an untrusted project it may only restrict.
fn loaded(
    environment: &Environment,
    root: &Path,
    workflow: &str,
) -> Result<(Source, Machine), String> {
    let library = Library::new(root, environment.configuration.as_deref());
    let found: Source = library.open(workflow).map_err(|error| error.to_string())?;
    let loaded = load(&found, None, &library).map_err(|found| render(&found, false))?;
    let person = Config::of_person(environment.configuration.as_deref())
        .map_err(|error| error.to_string())?;
    library
        .check_trust(&loaded.machine, &found.name, root, &person)
        .map_err(|error| error.to_string())?;
    Ok((found, loaded.machine))
}

/// Starts a run for a session that holds the lock.
fn start_for(
    environment: &Environment,
    root: &Path,
    (key, process): (&SessionKey, Option<ClientProcess>),
    (config, workflow): &(Config, String),
    ended: Option<&Binding>,
) -> Result<Binding, String> {
    if let Some(binding) = bound(&environment.home.look_up(key, root).map_err(said)?, ended) {
        return Ok(binding);
    }
    if config.hold == GuardScope::Project
        && let Some(binding) = joined(environment, root, (key, process.as_ref()), ended)?
    {
        return Ok(binding);
    }
    let (found, machine) =
        loaded(environment, root, workflow).map_err(|why| broken(workflow, &why))?;
    let source = SourceFile {
        name: found.name.clone(),
        text: found.text.clone(),
    };
    let new = NewRun {
        machine: &machine,
        source: &source,
        project_root: root,
        name: None,
        durability: match config.store.durability {
            interlock_project::Durability::Process => Durability::Process,
            interlock_project::Durability::Power => Durability::Power,
        },
        at_ms: environment.at_ms,
    };
    // Before the bindings are locked: others wait for them, and a disk may be slow.
    let prepared = environment
        .home
        .prepare_run(&new, Object::new(), BY)
        .map_err(|error| error.to_string())?
        .for_session(key, process)
        .map_err(said)?;
    let bindings = environment.home.lock_bindings().map_err(said)?;
    // Bound meanwhile by something that needs no lock, such as a person.
    if let Some(binding) = bound(&bindings.look_up(key, root).map_err(said)?, ended) {
        return Ok(binding);
    }
    let begun = bindings.begin(prepared, ended.map(|ended| &ended.run));
    let (started, binding) = begun.map_err(|error| error.to_string())?;
    if config.hold == GuardScope::Project {
        let before = environment.home.waiting_in(root).map_err(said)?;
        let before = before.map(|(run, _)| run);
        bindings
            .hold_every(&binding.run, root, before.as_ref())
            .map_err(|error| error.to_string())?;
    }
    drop(bindings);
    if let Some(parent) = environment.variable("TRACEPARENT") {
        // The trace that it belongs to decides nothing.
        let _ = environment
            .home
            .keep_trace_parent(started.log.run(), &parent);
    }
    Ok(binding)
}

/// Binds a session to the open run that guards every session of the project, if there is one.
fn joined(
    environment: &Environment,
    root: &Path,
    (key, process): (&SessionKey, Option<&ClientProcess>),
    ended: Option<&Binding>,
) -> Result<Option<Binding>, String> {
    let Some((run, interlock_store::SessionScope::Every)) =
        environment.home.waiting_in(root).map_err(said)?
    else {
        return Ok(None);
    };
    let is_over = || Ok(environment.home.open_run(&run)?.load()?.is_over());
    if ended.is_some_and(|ended| ended.run == run) || is_over().map_err(said)? {
        return Ok(None);
    }
    let bindings = environment.home.lock_bindings().map_err(said)?;
    if ended.is_some() {
        bindings.forget_session(key).map_err(said)?;
    }
    bindings
        .take_next(key, root, process.cloned(), environment.at_ms)
        .map_err(said)
}

/// Returns the binding of a session, unless it is to the run that has `ended`.
fn bound(found: &Lookup, ended: Option<&Binding>) -> Option<Binding> {
    match found {
        Lookup::Bound(binding) if ended.is_none_or(|ended| ended.run != binding.run) => {
            Some(binding.clone())
        }
        _ => None,
    }
}

fn said(error: StoreError) -> String {
    error.to_string()
}
