//! Code inside of a client that may overrule its hooks.

use std::path::PathBuf;

use interlock_store::{ClientMod, Home, StoreError};
use serde_json::Value;

use super::{Check, Examination, Health};
use crate::{
    claude_code::mods::{Plugins, is_own_plugin},
    client::ClientId,
    install::{Scope, footprint::Footprint, plugin_folder, set_up},
    process,
    session::living_sessions,
};

/// Where managed settings hold the switches about mods.
const OPTIONS: &str = "/pluginConfigs/cc-plugin-sec-default@builtin/options";

/// Looks at the mods of Claude Code: those of its settings, and of each session that runs here.
pub(super) fn checks(client: &Footprint, examination: &Examination) -> Vec<Check> {
    if client.client != ClientId::ClaudeCode {
        return Vec::new();
    }
    let word = client.client.word();
    let unknown = match unknown_mods(examination) {
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
                    "`{}` may overrule every hook: a held session does not begin",
                    found.path
                ),
                if found.is_whole() {
                    "remove the plugin, or look at it and run `interlock doctor --accept`"
                } else {
                    "remove the plugin: it is too large, or has links, to be accepted as it is"
                },
            )
        })
        .collect();
    if managed_switch(examination, "allowModsToOverrideDenyRules") == Some(true) {
        checks.push(Check::new(
            word,
            "mods",
            Health::Fail,
            "managed settings let mods override rules that deny (`allowModsToOverrideDenyRules`)",
            "take it out: what no state allows is denied by such rules, too",
        ));
    }
    if checks.is_empty() {
        let managed = managed_switch(examination, "allowManagedModsOnly") == Some(true);
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
    checks.extend(own_code(examination));
    checks
}

/// Looks for Interlock's own plugin, which asks once more when a tool is about to run.
fn own_code(examination: &Examination) -> Option<Check> {
    let site = &examination.site;
    let there: Vec<PathBuf> = [Scope::Project, Scope::User]
        .iter()
        .map(|scope| plugin_folder(site, *scope))
        .filter(|folder| folder.exists())
        .collect();
    let word = ClientId::ClaudeCode.word();
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
            "Interlock's own plugin is not there as it was written",
            "run `interlock init`",
        )
    };
    Some(Check::new(word, "plugin", health, found, remedy))
}

/// Lists the mods that sessions of the project load, or may load, and that no person has accepted.
///
/// # Errors
/// What was accepted cannot be read.
pub fn unknown_mods(examination: &Examination) -> Result<Vec<ClientMod>, StoreError> {
    let home = Home::at(&examination.state);
    let site = &examination.site;
    let root = &site.project_root;
    let environment: Vec<_> = std::env::vars_os().collect();
    let of = |arguments: Vec<String>, directory: PathBuf| Plugins {
        settings: site.claude_home.clone(),
        arguments,
        directory,
        added: Plugins::added_by(&environment),
    };
    let mut unknown = of(Vec::new(), root.clone()).unknown(&home)?;
    for session in living_sessions(&home, root)? {
        let arguments = process::arguments(session.process.pid);
        for found in of(arguments, root.clone()).unknown(&home)? {
            if !unknown.contains(&found) {
                unknown.push(found);
            }
        }
    }
    Ok(unknown)
}

/// Returns a switch about mods that whoever manages the machine has set.
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
