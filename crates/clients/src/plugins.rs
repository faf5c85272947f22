//! Interlock's plugins for the clients: the contents of each, and where one is installed.
//!
//! They are made from what `init` writes, so that a new hook is in the plugin as well. The folder `plugins/` of the repository
//! contains what [`repository`] returns.

mod content;
mod installed;

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_project::Environment;
use serde_json::Value;

use crate::{
    client::ClientId,
    mods::{children, manifest},
    settings::Site,
};
pub(crate) use installed::installed;

/// Name of the plugin, in each client.
pub(crate) const NAME: &str = "interlock";

/// Maximum size of a file that may belong to Interlock's plugin, in bytes.
const FILE_MAX: u64 = 1_048_576;

/// Returns every file of every plugin and of the marketplaces that list them, with its path in the repository.
#[must_use]
pub fn repository() -> Vec<(String, String)> {
    let version = env!("CARGO_PKG_VERSION");
    let mut files = content::marketplaces(version);
    for client in content::CLIENTS {
        let folder = content::folder(client);
        let own = content::files(client, version).into_iter();
        files.extend(own.map(|(name, text)| (format!("plugins/{folder}/{name}"), text)));
    }
    files
}

/// Returns whether a folder contains Interlock's plugin for a client, of this or another version, and nothing else.
///
/// Neither the location nor the name proves it: every file must equal what is written here.
pub(crate) fn is_own(client: ClientId, folder: &Path) -> bool {
    let modules = folder.join("node_modules");
    if client == ClientId::Opencode && modules.is_dir() {
        return is_fetched(folder, &modules);
    }
    let Some(name) = content::manifest_name(client) else {
        return false;
    };
    let version = manifest(&folder.join(name));
    let Some(version) = version
        .as_ref()
        .and_then(|manifest| manifest.get("version"))
        .and_then(Value::as_str)
    else {
        return false;
    };
    let files = content::files(client, version);
    let there = files_below(folder, files.len() + content::ADDED.len());
    there.is_some_and(|there| {
        let ours = there
            .iter()
            .filter(|name| !content::ADDED.contains(&name.as_str()));
        ours.count() == files.len()
            && files.iter().all(|(name, text)| {
                there.contains(name)
                    && fs::read_to_string(folder.join(name)).is_ok_and(|found| found == *text)
            })
    })
}

/// Returns whether a folder into which opencode has fetched a package contains Interlock's and no other code.
fn is_fetched(folder: &Path, modules: &Path) -> bool {
    let holds = |folder: &Path, known: &[&str]| {
        children(folder).iter().all(|path| {
            let name = path.file_name().unwrap_or_default();
            known.iter().any(|known| name == *known)
        })
    };
    let Some((scope, name)) = content::OPENCODE_PACKAGE.split_once('/') else {
        return false;
    };
    let package = modules.join(scope).join(name);
    holds(
        folder,
        &["node_modules", "package.json", "package-lock.json"],
    ) && holds(modules, &[scope, ".package-lock.json"])
        && holds(&modules.join(scope), &[name])
        && !package.join("node_modules").exists()
        && is_own(ClientId::Opencode, &package)
}

/// Lists the files below a folder; returns `None` if there are too many, links, or files that are too large.
fn files_below(folder: &Path, files_max: usize) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(place) = folders.pop() {
        if folders.len() > files_max {
            return None;
        }
        for entry in fs::read_dir(place).ok()? {
            let path = entry.ok()?.path();
            let known = path.symlink_metadata().ok()?;
            if known.is_dir() {
                folders.push(path);
            } else if known.is_file() && known.len() <= FILE_MAX && found.len() < files_max {
                let name = path.strip_prefix(folder).ok()?.to_str()?;
                found.push(name.to_owned());
            } else {
                return None;
            }
        }
    }
    Some(found)
}

/// Returns whether a plugin of Interlock is installed in a client, enabled or not.
pub(crate) fn is_installed(client: ClientId, environment: &Environment) -> bool {
    !installed(client, &Site::of(environment, Path::new("/"))).is_empty()
}

/// Lists the folders outside the clients' own directories from which a client loads Interlock's plugin.
#[must_use]
pub fn in_place(environment: &Environment) -> Vec<PathBuf> {
    loaded_in_place(&Site::of(environment, Path::new("/")))
}

/// Lists the same for the files of one site.
pub(crate) fn loaded_in_place(site: &Site) -> Vec<PathBuf> {
    let clients = content::CLIENTS.into_iter();
    let all = clients.flat_map(|client| installed(client, site));
    all.filter(|plugin| plugin.in_place)
        .map(|plugin| plugin.folder)
        .collect()
}

/// Returns the code of a client's plugin, if it brings hooks as code.
pub(crate) fn code(client: ClientId) -> Option<(&'static str, String)> {
    content::code(client)
}

/// Files of a plugin that name its hooks and its control server.
pub(crate) const HOOKS: &str = "hooks/hooks.json";

/// Returns the command with which a person uninstalls the plugin.
pub(crate) const fn uninstall(client: ClientId) -> &'static str {
    match client {
        ClientId::ClaudeCode => "claude plugin uninstall interlock@interlock",
        ClientId::Codex => "codex plugin remove interlock@interlock",
        ClientId::Gemini => "gemini extensions uninstall interlock",
        ClientId::Copilot => "copilot plugin uninstall interlock@interlock",
        ClientId::Opencode => "take `@interlock-cli/opencode` out of `plugin` in `opencode.json`",
        ClientId::Cursor => "",
    }
}
