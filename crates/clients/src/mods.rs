//! What else decides about the calls of a client, beside Interlock's hooks.
//!
//! Code that runs inside of the client may allow what a hook denies, and hooks of
//! others may rewrite a call after Interlock has judged it. Each is known by the
//! digest of its files; a held session with any that no person has accepted does
//! not begin.

mod digest;
mod hooks;

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use interlock_core::command::Ask;
use interlock_store::{ClientMod, Home, StoreError};

pub(crate) use digest::{children, digest, manifest};
pub(crate) use hooks::{HookFile, in_file, in_folder, in_words};

use crate::{
    client::ClientId, hook::HookSetting, input::Input, install::Site, process, protocol,
    session::Guarded,
};

/// Where a session's client finds what it loads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    /// The places of the clients' files.
    pub(crate) site: &'a Site,
    /// The directory that the client works in.
    pub(crate) directory: &'a Path,
    /// The words that the client was started with; none: it is not running.
    pub(crate) arguments: &'a [String],
    /// The variables that the client has.
    pub(crate) environment: &'a [(OsString, OsString)],
    /// What the client itself says it has loaded.
    pub(crate) told: &'a [String],
}

impl Look<'_> {
    /// Returns a variable of the client that is not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_os_str())
            .filter(|value| !value.is_empty())
    }

    /// Lists the directories from the client's own up to the project's root.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let root = &self.site.project_root;
        let above = self.directory.ancestors();
        let mut found: Vec<PathBuf> = above
            .take_while(|place| place.starts_with(root))
            .map(Path::to_owned)
            .collect();
        if !found.contains(root) {
            found.push(root.clone());
        }
        if !found.iter().any(|place| place == self.directory) {
            found.push(self.directory.to_owned());
        }
        found
    }

    /// Returns the values of an option on the command line: the next word, or what follows `=`.
    pub(crate) fn option(&self, names: &[&str]) -> Vec<String> {
        let mut values = Vec::new();
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            let value = match word.split_once('=') {
                Some((name, value)) if names.contains(&name) => Some(value.to_owned()),
                _ if names.contains(&word.as_str()) => words.next().cloned(),
                _ => None,
            };
            values.extend(value);
        }
        values
    }
}

/// Lists what decides in a client beside the hooks, and no person has accepted as it is.
///
/// # Errors
/// What was accepted cannot be read.
pub(crate) fn unknown(
    client: ClientId,
    look: &Look<'_>,
    home: &Home,
) -> Result<Vec<ClientMod>, StoreError> {
    not_accepted(protocol::of(client).mods(look), home)
}

/// Keeps of what was found what no person has accepted as it is, each once.
///
/// # Errors
/// What was accepted cannot be read.
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

/// The same of the client that called a hook.
///
/// # Errors
/// What was accepted cannot be read.
fn unknown_of_session(
    setting: &HookSetting,
    input: &Input,
    root: &Path,
) -> Result<Vec<ClientMod>, StoreError> {
    let variable = |name: &str| {
        let found = setting.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    let home = variable("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let program = setting.program.clone().unwrap_or_default();
    let site = Site::new(root, &home, &program).moved_by(variable);
    let look = Look {
        site: &site,
        directory: Path::new(&input.directory),
        arguments: &process::client_arguments(),
        environment: &setting.environment,
        told: &input.plugins,
    };
    unknown(input.client, &look, &setting.home)
}

/// Pauses the run of a session in whose client something else may overrule the hooks; returns what is said of it.
pub(crate) fn stop(
    setting: &HookSetting,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Option<String>, String> {
    let said = |error: StoreError| error.to_string();
    let root = &guarded.binding.project_root;
    let unknown = unknown_of_session(setting, input, root).map_err(said)?;
    if unknown.is_empty() {
        return Ok(None);
    }
    let paths: Vec<&str> = unknown.iter().map(|found| found.path.as_str()).collect();
    let reason = format!(
        "something else in the client may overrule every hook: {}",
        paths.join(", ")
    );
    guarded
        .ask(Ask::Pause {
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

/// Does the same before the first call under a run that began after the session's prompt, which was not looked at then.
pub(crate) fn refuse_first_call(
    setting: &HookSetting,
    guarded: &mut Guarded,
    input: &Input,
) -> Result<Option<String>, String> {
    // Its start alone stands in the log.
    if guarded.run.seq > 1 {
        return Ok(None);
    }
    stop(setting, guarded, input)
}
