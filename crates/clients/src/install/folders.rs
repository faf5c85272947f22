//! Trusted folders, as each client stores them: in other folders it reads no hooks of a project.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::client::ClientId;
use crate::settings::{Site, Syntax, parsed, parsed_toml};

/// Whether and why a client reads the hooks of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The client trusts this folder.
    Folder(PathBuf),
    /// The client does not ask about folders.
    NotAsked,
    /// A variable says to trust the folder in which the client starts.
    Variable(&'static str),
    /// A variable says not to trust it.
    Refused(&'static str),
    /// The client does not trust the project's folder.
    Missing,
}

/// Determines whether a client trusts the project's folder; `system` has the machine-wide settings.
pub(crate) fn trust(client: ClientId, site: &Site, system: Option<&Path>) -> Trust {
    let by_variable = site.trusted_by_variable;
    let folders = match client {
        ClientId::Gemini if let Some((trusted, name)) = by_variable.gemini => {
            return if trusted {
                Trust::Variable(name)
            } else {
                Trust::Refused(name)
            };
        }
        ClientId::Copilot if by_variable.copilot => return Trust::Variable("COPILOT_ALLOW_ALL"),
        ClientId::Codex => codex(site),
        ClientId::Gemini if gemini_trusts_all(site, system) => return Trust::NotAsked,
        ClientId::Gemini => gemini(site),
        ClientId::Copilot => copilot(site),
        ClientId::ClaudeCode | ClientId::Cursor | ClientId::Opencode => return Trust::NotAsked,
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(&site.project_root);
    let found = folders.into_iter().find(|folder| {
        let folder = real(folder);
        // Codex means the root of a project, the others everything below it.
        root == folder || client != ClientId::Codex && root.starts_with(folder)
    });
    found.map_or(Trust::Missing, Trust::Folder)
}

fn codex(site: &Site) -> Vec<PathBuf> {
    let settings = parsed_toml(&site.codex_home.join("config.toml"));
    let settings = settings.ok().flatten().unwrap_or_default();
    let projects = settings.get("projects").and_then(Value::as_object);
    let trusted = projects.into_iter().flatten().filter(|(_, project)| {
        project.get("trust_level").and_then(Value::as_str) == Some("trusted")
    });
    trusted.map(|(folder, _)| PathBuf::from(folder)).collect()
}

fn gemini_trusts_all(site: &Site, system: Option<&Path>) -> bool {
    let person = site.gemini_home.join("settings.json");
    let mut files = [Some(person.as_path()), system].into_iter().flatten();
    files.any(|path| {
        let settings = parsed(path, Syntax::Comments).ok().flatten();
        let settings = settings.unwrap_or_default();
        settings.pointer("/security/folderTrust/enabled") == Some(&Value::Bool(false))
    })
}

fn gemini(site: &Site) -> Vec<PathBuf> {
    let usual = || site.gemini_home.join("trustedFolders.json");
    let path = site.gemini_trusted.clone().unwrap_or_else(usual);
    let folders = parsed(&path, Syntax::Comments).ok().flatten();
    let folders = folders.unwrap_or_default();
    let folders = folders.as_object().into_iter().flatten();
    let trusted = folders.filter_map(|(folder, level)| {
        let folder = Path::new(folder);
        match level.as_str()? {
            "TRUST_FOLDER" => Some(folder.to_owned()),
            "TRUST_PARENT" => folder.parent().map(Path::to_owned),
            _ => None,
        }
    });
    trusted.collect()
}

fn copilot(site: &Site) -> Vec<PathBuf> {
    let files = ["config.json", "settings.json"].map(|name| site.copilot_home.join(name));
    let folders = files.iter().flat_map(|path| {
        let settings = parsed(path, Syntax::Loose).ok().flatten();
        let folders = settings
            .and_then(|settings| settings.get("trustedFolders").cloned())
            .unwrap_or_default();
        folders.as_array().cloned().unwrap_or_default()
    });
    let folders = folders.filter_map(|folder| folder.as_str().map(PathBuf::from));
    folders.collect()
}
