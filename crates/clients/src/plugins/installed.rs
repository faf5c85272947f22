//! Where a client keeps Interlock's plugin, according to the client's own records.
//!
//! Tested with Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102 and opencode 1.18.34.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{NAME, content::OPENCODE_PACKAGE};
use crate::{
    claude_code::mods::loaded_in_place,
    client::ClientId,
    copilot::mods::in_place,
    mods::{children, manifest},
    settings::{self, Scope, Site, Syntax},
};

/// An installed plugin of Interlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installed {
    /// Folder that the client loads it from.
    pub(crate) folder: PathBuf,
    /// Whether the folder is outside the client's own directories, because it was not copied.
    pub(crate) in_place: bool,
    /// Whether the client loads it.
    pub(crate) enabled: bool,
}

/// Lists the plugins of Interlock that are installed in a client, recognized by their names alone.
pub(crate) fn installed(client: ClientId, site: &Site) -> Vec<Installed> {
    match client {
        ClientId::ClaudeCode => claude_code(site),
        ClientId::Codex => codex(site),
        ClientId::Gemini => gemini(site),
        ClientId::Copilot => copilot(site),
        ClientId::Opencode => opencode(site),
        ClientId::Cursor => Vec::new(),
    }
}

/// Returns whether the id of a plugin is one of Interlock's, from whichever marketplace.
fn is_ours(id: &str) -> bool {
    id.split_once('@').is_some_and(|(name, _)| name == NAME)
}

fn parsed(path: &Path) -> Option<Value> {
    // Most people have no plugin: a file that does not name it need not be parsed.
    let text = settings::read(path).ok().flatten()?;
    if !text.contains(NAME) {
        return None;
    }
    settings::parsed(path, Syntax::Loose).ok().flatten()
}

fn claude_code(site: &Site) -> Vec<Installed> {
    let Some(list) = manifest(&site.claude_home.join("plugins/installed_plugins.json")) else {
        return Vec::new();
    };
    let files = [Scope::Local, Scope::Project, Scope::User]
        .map(|scope| (crate::registry::definition(ClientId::ClaudeCode).hook_file)(site, scope));
    let plugins = list.get("plugins").and_then(Value::as_object);
    let mut found = Vec::new();
    for (id, places) in plugins.into_iter().flatten().filter(|(id, _)| is_ours(id)) {
        let said = files
            .iter()
            .find_map(|file| parsed(file)?.get("enabledPlugins")?.get(id)?.as_bool());
        let single = std::slice::from_ref(places);
        let places = places.as_array().map_or(single, Vec::as_slice).iter();
        let folders = places.filter_map(|place| place.get("installPath")?.as_str());
        found.extend(folders.map(|folder| Installed {
            folder: folder.into(),
            in_place: false,
            enabled: said == Some(true),
        }));
        // Newer versions load from a folder on this machine without a copy.
        let marketplace = id.split_once('@').map_or("", |(_, name)| name);
        let in_place = loaded_in_place(&site.claude_home, NAME, marketplace);
        found.extend(in_place.map(|folder| Installed {
            folder,
            in_place: true,
            enabled: said == Some(true),
        }));
    }
    found
}

fn codex(site: &Site) -> Vec<Installed> {
    let mut found = Vec::new();
    let configuration = settings::read(&site.codex_home.join("config.toml"))
        .ok()
        .flatten();
    let configuration = configuration
        .filter(|text| text.contains(NAME))
        .and_then(|text| settings::toml_of(&text))
        .unwrap_or_default();
    for marketplace in children(&site.codex_home.join("plugins/cache")) {
        let Some(name) = marketplace.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let plugins = configuration.get("plugins");
        let plugin = plugins.and_then(|plugins| plugins.get(format!("{NAME}@{name}")));
        let enabled = plugin.is_some_and(|plugin| plugin.get("enabled") != Some(&false.into()));
        found.extend(
            children(&marketplace.join(NAME))
                .into_iter()
                .map(|folder| Installed {
                    folder,
                    in_place: false,
                    enabled,
                }),
        );
    }
    found
}

fn gemini(site: &Site) -> Vec<Installed> {
    let extensions = site.gemini_home.join("extensions");
    let folder = extensions.join(NAME);
    if !folder.is_dir() {
        return Vec::new();
    }
    let how = manifest(&folder.join(".gemini-extension-install.json")).unwrap_or_default();
    let source = how.get("source").and_then(Value::as_str);
    let linked = source.filter(|_| how.get("type").is_some_and(|kind| kind == "link"));
    let rules = manifest(&extensions.join("extension-enablement.json")).unwrap_or_default();
    let rules = rules.get(NAME).and_then(|own| own.get("overrides"));
    let here = format!("{}/", site.project_root.display());
    let mut enabled = true;
    for rule in rules.and_then(Value::as_array).into_iter().flatten() {
        let rule = rule.as_str().unwrap_or_default();
        let (switches_on, place) = match rule.strip_prefix('!') {
            Some(place) => (false, place),
            None => (true, rule),
        };
        if here.starts_with(place.trim_end_matches('*')) {
            enabled = switches_on;
        }
    }
    vec![Installed {
        in_place: linked.is_some(),
        folder: linked.map_or(folder, PathBuf::from),
        enabled,
    }]
}

fn copilot(site: &Site) -> Vec<Installed> {
    let home = &site.copilot_home;
    let mut found = Vec::new();
    let list = parsed(&home.join("config.json")).unwrap_or_default();
    let list = list.get("installedPlugins").and_then(Value::as_array);
    for plugin in list.into_iter().flatten() {
        if plugin.get("name").is_some_and(|name| name == NAME)
            && let Some(folder) = plugin.get("cache_path").and_then(Value::as_str)
        {
            found.push(Installed {
                folder: folder.into(),
                in_place: !Path::new(folder).starts_with(home),
                enabled: plugin.get("enabled") != Some(&Value::Bool(false)),
            });
        }
    }
    let in_place = in_place(site).into_iter();
    let ours = in_place.filter(|plugin| plugin.name == NAME);
    found.extend(ours.map(|plugin| Installed {
        folder: plugin.folder,
        in_place: true,
        enabled: plugin.enabled,
    }));
    found
}

fn opencode(site: &Site) -> Vec<Installed> {
    let look = crate::mods::Look {
        site,
        directory: &site.project_root,
        arguments: &[],
        environment: &[],
        told: &[],
    };
    crate::opencode::packages(&look)
        .into_iter()
        .filter_map(|(name, folder)| {
            let fetched = folder.join("node_modules").join(OPENCODE_PACKAGE);
            let (folder, in_place) = match fetched.is_dir() {
                true => (fetched, false),
                false => (folder, true),
            };
            let package = manifest(&folder.join("package.json"))?;
            let is_ours = package.get("name")? == OPENCODE_PACKAGE;
            (is_ours || name.starts_with(OPENCODE_PACKAGE)).then_some(Installed {
                folder,
                in_place,
                enabled: true,
            })
        })
        .collect()
}
