//! What else decides in a client: code inside it, and other hooks.

use std::path::{Path, PathBuf};

use interlock_store::{ClientMod, Home, StoreError};
use serde_json::Value;

use super::{Check, Examination, Health, hooks};
use crate::{
    claude_code::install::plugin_folder,
    claude_code::mods::is_own_plugin,
    client::ClientId,
    install::set_up,
    mods::Look,
    mods::{self},
    plugins, process,
    registry::definition,
    session::living_sessions,
    settings::{Scope, client_def::ClientDef},
};

/// Something in a client that may overrule Interlock, and that no person has accepted in its present form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMod {
    /// Name of the client.
    pub client: &'static str,
    /// Location and kind of the mod.
    pub found: ClientMod,
}

/// Where managed settings contain the options about mods.
const OPTIONS: &str = "/pluginConfigs/cc-plugin-sec-default@builtin/options";

/// Checks what else decides in a client: according to its settings, and in each session that runs here.
pub(super) fn checks(client: &ClientDef, examination: &Examination) -> Vec<Check> {
    let word = client.client.word();
    let unknown = match unknown_of(client.client, examination) {
        Ok(unknown) => unknown,
        Err(error) => {
            return vec![Check::new(
                word,
                "mods",
                Health::Fail,
                error.to_string(),
                "",
            )];
        }
    };
    let mut checks: Vec<Check> = unknown
        .iter()
        .map(|found| {
            Check::new(
                word,
                "mods",
                Health::Fail,
                format!(
                    "`{}` may overrule every hook: a guarded session does not begin",
                    found.path
                ),
                if found.is_whole() {
                    "remove it, or look at it and run `interlock doctor --accept`"
                } else {
                    "remove it: it cannot be read whole, is too large, or has links, to be accepted as it is"
                },
            )
        })
        .collect();
    let is_claude = client.client == ClientId::ClaudeCode;
    if is_claude && managed_switch(examination, "allowModsToOverrideDenyRules") == Some(true) {
        checks.push(Check::new(
            word,
            "mods",
            Health::Fail,
            "managed settings let mods override rules that deny (`allowModsToOverrideDenyRules`)",
            "remove it: such rules also deny what no state allows",
        ));
    }
    if checks.is_empty() {
        let managed =
            is_claude && managed_switch(examination, "allowManagedModsOnly") == Some(true);
        checks.push(Check::new(
            word,
            "mods",
            Health::Ok,
            if managed {
                "none but managed ones are loaded (`allowManagedModsOnly`)"
            } else {
                "none that no person has accepted"
            },
            "",
        ));
    }
    if is_claude {
        checks.extend(own_code(examination));
    }
    checks
}

/// Checks for Interlock's own plugin, which asks again right before a tool runs.
fn own_code(examination: &Examination) -> Option<Check> {
    let site = &examination.site;
    let there: Vec<PathBuf> = [Scope::Project, Scope::User]
        .iter()
        .map(|scope| plugin_folder(site, *scope))
        .filter(|folder| folder.exists())
        .collect();
    let word = ClientId::ClaudeCode.word();
    let plugins = plugins::installed(ClientId::ClaudeCode, site);
    let mut enabled = plugins.iter().filter(|plugin| plugin.enabled);
    if enabled.any(|plugin| plugins::is_own(ClientId::ClaudeCode, &plugin.folder))
        && there.is_empty()
    {
        let found = "Interlock's own plugin asks again when a tool is about to run";
        return Some(Check::new(word, "plugin", Health::Ok, found, ""));
    }
    let (health, found, remedy) = if there.iter().any(|folder| is_own_plugin(folder)) {
        (
            Health::Ok,
            "Interlock's own plugin asks again when a tool is about to run",
            "",
        )
    } else if there.is_empty() && !set_up(site).contains(&ClientId::ClaudeCode) {
        return None;
    } else {
        (
            Health::Warn,
            "Interlock's own plugin is missing or was changed",
            "run `interlock init`",
        )
    };
    Some(Check::new(word, "plugin", health, found, remedy))
}

/// Lists what may overrule Interlock in the clients that call its hooks, and that no person has accepted.
///
/// # Errors
/// Returns an error if the list of accepted mods cannot be read.
pub fn unknown_mods(examination: &Examination) -> Result<Vec<UnknownMod>, StoreError> {
    let mut unknown = Vec::new();
    for (_, client) in ClientId::ALL {
        let definition = definition(client);
        if client != ClientId::ClaudeCode && !hooks::any(definition, examination) {
            continue;
        }
        let found = unknown_of(client, examination)?;
        unknown.extend(found.into_iter().map(|found| UnknownMod {
            client: definition.title,
            found,
        }));
    }
    Ok(unknown)
}

/// Lists the same for one client.
fn unknown_of(client: ClientId, examination: &Examination) -> Result<Vec<ClientMod>, StoreError> {
    let home = Home::at(&examination.state);
    let site = &examination.site;
    let root = &site.project_root;
    let environment: Vec<_> = std::env::vars_os().collect();
    let of = |arguments: &[String], directory: &Path| {
        let look = Look {
            site,
            directory,
            arguments,
            environment: &environment,
            told: &[],
        };
        mods::unknown(client, &look, &home)
    };
    let mut unknown = of(&[], root)?;
    for session in living_sessions(&home, root)? {
        if session.session.client.as_deref() != Some(client.word()) {
            continue;
        }
        let arguments = process::arguments(session.process.pid);
        for found in of(&arguments, root)? {
            if !unknown.contains(&found) {
                unknown.push(found);
            }
        }
    }
    Ok(unknown)
}

/// Returns the value of a managed option about mods.
fn managed_switch(examination: &Examination, name: &str) -> Option<bool> {
    let path = examination.managed(
        "/etc/claude-code/managed-settings.json",
        "/Library/Application Support/ClaudeCode/managed-settings.json",
    );
    let settings: Option<Value> = std::fs::read(path)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    let options = settings.as_ref()?.pointer(OPTIONS)?;
    Some(options.get(name)? == &Value::Bool(true))
}
