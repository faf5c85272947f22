//! What else decides about the calls of a client, apart from Interlock's hooks.
//!
//! Code inside the client may allow what a hook denies, and other hooks may rewrite a call after Interlock has judged it. Each of
//! these is identified by the digest of its files; a guarded session does not begin with one that no person has accepted.

mod digest;
mod hooks;
mod look;
mod marketplace;

use std::path::Path;

use interlock_core::command::CommandKind;
use interlock_project::Environment;
use interlock_store::{ClientMod, Home, StoreError};

pub(crate) use digest::{children, digest, manifest};
pub(crate) use hooks::{HookFile, in_file, in_folder, in_words};
pub(crate) use look::Look;
pub(crate) use marketplace::listed_in;

use crate::{
    client::ClientId, input::Input, plugins, process, registry, session::Guarded, settings::Site,
};

/// Lists what decides in a client apart from the hooks, and is not accepted in its present form.
///
/// # Errors
/// Returns an error if the list of accepted mods cannot be read.
pub(crate) fn unknown(
    client: ClientId,
    look: &Look<'_>,
    home: &Home,
) -> Result<Vec<ClientMod>, StoreError> {
    let found = registry::protocol(client).mods(look).into_iter();
    let others = found.filter(|found| !plugins::is_own(client, Path::new(&found.path)));
    not_accepted(others.collect(), home)
}

/// Filters for what no person has accepted in its present form, without duplicates.
///
/// # Errors
/// Returns an error if the list of accepted mods cannot be read.
pub(crate) fn not_accepted(
    found: Vec<ClientMod>,
    home: &Home,
) -> Result<Vec<ClientMod>, StoreError> {
    let mut unknown: Vec<ClientMod> = Vec::new();
    for found in found {
        if !unknown.contains(&found) && !home.is_accepted_mod(&found)? {
            unknown.push(found);
        }
    }
    Ok(unknown)
}

/// Lists the same for the client that called a hook.
///
/// # Errors
/// Returns an error if the list of accepted mods cannot be read.
fn unknown_of_session(
    environment: &Environment,
    input: &Input,
    root: &Path,
) -> Result<Vec<ClientMod>, StoreError> {
    let site = Site::of(environment, root);
    let look = Look {
        site: &site,
        directory: Path::new(&input.directory),
        arguments: &process::client_arguments(),
        environment: &environment.variables,
        told: &input.plugins,
    };
    unknown(input.client, &look, &environment.home)
}

/// Pauses the run of a session in whose client something else may overrule the hooks; returns the message about it.
pub(crate) fn stop(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Option<String>, String> {
    let said = |error: StoreError| error.to_string();
    let root = &guarded.binding.project_root;
    let unknown = unknown_of_session(environment, input, root).map_err(said)?;
    if unknown.is_empty() {
        return Ok(None);
    }
    let paths: Vec<&str> = unknown.iter().map(|found| found.path.as_str()).collect();
    let reason = format!(
        "something else in the client may overrule every hook: {}",
        paths.join(", ")
    );
    guarded
        .ask(CommandKind::Pause {
            by: "interlock".to_owned(),
            reason: Some(reason.clone()),
        })
        .map_err(said)?;
    let named_ours = |path: &&str| {
        Path::new(path)
            .file_stem()
            .is_some_and(|stem| stem == "interlock")
    };
    let renew = if paths.iter().any(named_ours) {
        "If another version of Interlock wrote it, run `interlock init` again. "
    } else {
        ""
    };
    Ok(Some(format!(
        "Interlock: run {} is paused: {reason}. {renew}Remove it, or look at it and accept it as it is \
         with `interlock doctor --accept`; then `interlock resume {}`.",
        guarded.id(),
        guarded.id()
    )))
}

/// Does the same before the first call under a run that began after the session's prompt, at which the mods were not checked.
pub(crate) fn refuse_first_call(
    environment: &Environment,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Option<String>, String> {
    // The log contains only its start.
    if guarded.run.seq > 1 {
        return Ok(None);
    }
    stop(environment, guarded, input)
}
