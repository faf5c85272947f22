//! Code that runs inside opencode: plugins and tools, none of which is restricted.
//!
//! Tested with 1.18.34: a plugin may change the arguments of a call after another has judged it, and a tool of a plugin or of the
//! folder `tool` replaces the built-in tool of the same name.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_store::ClientMod;
use serde_json::Value;

use super::PLUGIN;
use crate::{
    mods::Look,
    mods::{children, digest},
    settings::{self, Syntax, code},
};

/// Subfolders of a settings folder that contain code.
const CODE: [&str; 4] = ["plugin", "plugins", "tool", "tools"];
/// Files that name plugins, in a settings folder or a project.
const NAMING: [&str; 5] = [
    "opencode.json",
    "opencode.jsonc",
    "config.json",
    "tui.json",
    "tui.jsonc",
];
/// Maximum size of a file that may be Interlock's plugin, in bytes.
const OWN_MAX: u64 = 1_048_576;

/// Lists the plugins and tools that a session loads or may load, except Interlock's.
pub(super) fn mods(look: &Look<'_>) -> Vec<ClientMod> {
    let mut found: Vec<PathBuf> = Vec::new();
    let folders = folders(look);
    for folder in &folders {
        for code in CODE.iter().flat_map(|name| children(&folder.join(name))) {
            let runs = code
                .extension()
                .is_some_and(|ending| ending == "ts" || ending == "js");
            if runs {
                found.push(code);
            }
        }
    }
    let mut named: Vec<String> = look.told.to_vec();
    for (file, settings) in naming(look, &folders) {
        named.extend(plugins_of(&settings, file.parent()));
    }
    found.extend(named.iter().flat_map(|name| places(name, look)));
    let mut mods: Vec<ClientMod> = Vec::new();
    for path in found {
        let path = path.canonicalize().unwrap_or(path);
        let known = mods
            .iter()
            .any(|known| Path::new(&known.path) == path.as_path());
        if !known && !is_ours(&path, look) {
            mods.push(ClientMod {
                path: path.display().to_string(),
                digest: digest(&path),
            });
        }
    }
    mods
}

/// Lists the packages that settings name as plugins, with the folder of each.
pub(crate) fn packages(look: &Look<'_>) -> Vec<(String, PathBuf)> {
    let folders = folders(look);
    let mut named = Vec::new();
    for (file, settings) in naming(look, &folders) {
        named.extend(plugins_of(&settings, file.parent()));
    }
    let packages = named.into_iter().flat_map(|name| {
        let folders = places(&name, look).into_iter();
        folders.map(move |folder| (name.clone(), folder))
    });
    packages.filter(|(_, folder)| folder.is_dir()).collect()
}

/// Lists the settings folders that opencode searches.
fn folders(look: &Look<'_>) -> Vec<PathBuf> {
    let mut folders = vec![look.site.configuration.join("opencode")];
    folders.extend(
        look.directory
            .ancestors()
            .map(|place| place.join(".opencode")),
    );
    folders.push(look.site.home.join(".opencode"));
    folders.extend(look.variable("OPENCODE_CONFIG_DIR").map(PathBuf::from));
    folders.push("/etc/opencode".into());
    folders.push("/Library/Application Support/opencode".into());
    folders
}

/// Reads every file and variable that may name plugins.
fn naming(look: &Look<'_>, folders: &[PathBuf]) -> Vec<(PathBuf, Value)> {
    let projects = look.directory.ancestors().map(Path::to_owned);
    let places = folders.iter().cloned().chain(projects);
    let mut files: Vec<PathBuf> = places
        .flat_map(|place| NAMING.map(|name| place.join(name)))
        .collect();
    let moved = ["OPENCODE_CONFIG", "OPENCODE_TUI_CONFIG"];
    files.extend(
        moved
            .iter()
            .filter_map(|name| look.variable(name).map(PathBuf::from)),
    );
    let mut read: Vec<(PathBuf, Value)> = files
        .into_iter()
        .filter_map(|file| {
            let settings = settings::parsed(&file, Syntax::Loose).ok().flatten()?;
            Some((file, settings))
        })
        .collect();
    let content = look.variable("OPENCODE_CONFIG_CONTENT");
    let content = content.and_then(|text| serde_json::from_slice(text.as_encoded_bytes()).ok());
    read.extend(content.map(|settings| (look.directory.join("opencode.json"), settings)));
    read
}

/// Lists the plugins that settings name; paths are relative to the file's folder.
fn plugins_of(settings: &Value, folder: Option<&Path>) -> Vec<String> {
    let named = ["plugin", "plugins"]
        .iter()
        .filter_map(|key| settings.get(*key)?.as_array())
        .flatten();
    // With options, it is a list or an object that begins with the name.
    let name = |plugin: &Value| {
        let name = plugin
            .as_str()
            .or_else(|| plugin.get(0)?.as_str())
            .or_else(|| plugin.get("package")?.as_str())?;
        let relative = name.starts_with("./") || name.starts_with("../");
        Some(match folder.filter(|_| relative) {
            Some(folder) => folder.join(name).display().to_string(),
            None => name.to_owned(),
        })
    };
    named.filter_map(name).collect()
}

/// Returns the locations of a plugin: a path, or the folders of a package that opencode has fetched.
fn places(name: &str, look: &Look<'_>) -> Vec<PathBuf> {
    if let Some(path) = name.strip_prefix("file://") {
        return vec![PathBuf::from(path.replace("%20", " "))];
    }
    if Path::new(name).is_absolute() || name.starts_with('.') {
        return vec![look.directory.join(name)];
    }
    let cache = look.site.cache.join("opencode");
    let own = name.rsplit_once('@').filter(|(own, _)| !own.is_empty());
    let own = own.map_or(name, |(own, _)| own);
    let latest = format!("{own}@latest");
    let fetched = [name, latest.as_str()].map(|name| cache.join("packages").join(name));
    // opencode leaves an empty folder where it found no newer version.
    let mut known = Vec::from(fetched);
    known.retain(|folder| !children(folder).is_empty());
    known.dedup();
    if known.is_empty() {
        known.push(PathBuf::from(name));
    }
    known
}

/// Returns whether a file is the plugin that `init` writes, calling this program.
fn is_ours(path: &Path, look: &Look<'_>) -> bool {
    let small = fs::metadata(path).is_ok_and(|data| data.len() <= OWN_MAX);
    let Some(text) = small.then(|| fs::read_to_string(path).ok()).flatten() else {
        return false;
    };
    let Some(program) = code::program_in(&text) else {
        return false;
    };
    // The location proves nothing: anybody may write there.
    look.site.is_called(&program) && text == code::written(PLUGIN, &program)
}
