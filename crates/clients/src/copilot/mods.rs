//! Other hooks in Copilot CLI: they run one after the other, and each may change the arguments of a call.
//!
//! Tested with 1.0.102: hook files run in the order of their folder, followed by those of Claude Code's settings and of plugins.
//! Extensions, which `--experimental` enables, have hooks, too.

use std::path::{Path, PathBuf};

use interlock_store::ClientMod;
use serde_json::Value;

use super::install::FOOTPRINT;
use crate::{
    claude_code,
    mods::Look,
    mods::{HookFile, children, digest, in_file, in_folder, listed_in},
    settings::client_def::ClientDef,
    settings::{self, Site, Syntax},
};

const EVENTS: [&str; 2] = ["preToolUse", "PreToolUse"];

/// Lists the settings and plugins with hooks before tools that are not Interlock's.
pub(super) fn mods(look: &Look<'_>) -> Vec<ClientMod> {
    let home = &look.site.copilot_home;
    let directories = look.directories();
    let mut own: Vec<PathBuf> = vec![home.join("settings.json"), home.join("config.json")];
    own.extend(hook_files(home.join("hooks")));
    let mut borrowed: Vec<PathBuf> = Vec::new();
    for place in &directories {
        own.extend(hook_files(place.join(".github/hooks")));
        let settings = ["settings.json", "settings.local.json"];
        own.extend(settings.map(|name| place.join(".github/copilot").join(name)));
        borrowed.extend(settings.map(|name| place.join(".claude").join(name)));
    }
    let file = |path: &PathBuf, syntax, client: &'static ClientDef| {
        let file = HookFile {
            path,
            syntax: Some(syntax),
            form: client.form(),
            events: &EVENTS,
        };
        in_file(file, look)
    };
    let own = own
        .iter()
        .filter_map(|path| file(path, Syntax::Loose, &FOOTPRINT));
    let borrowed = borrowed
        .iter()
        .filter_map(|path| file(path, Syntax::Loose, &claude_code::install::FOOTPRINT));
    let mut mods: Vec<ClientMod> = own.chain(borrowed).collect();
    let named = look.option(&["--plugin-dir"]);
    let mut plugins: Vec<PathBuf> = named.iter().map(|path| look.directory.join(path)).collect();
    plugins.extend(["installed-plugins", "plugins"].map(|name| home.join(name)));
    let in_place = in_place(look.site).into_iter();
    plugins.extend(in_place.map(|plugin| plugin.folder));
    for plugin in plugins {
        mods.extend(in_folder(&plugin, &EVENTS));
    }
    mods.extend(extensions(look));
    mods
}

/// Where marketplaces list their plugins; the first file that exists counts.
const LISTS: [&str; 4] = [
    ".github/plugin/marketplace.json",
    ".plugin/marketplace.json",
    ".claude-plugin/marketplace.json",
    "marketplace.json",
];

/// A plugin that is loaded directly from a marketplace that is a folder on this machine, without a copy.
#[derive(Debug)]
pub(crate) struct InPlace {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) enabled: bool,
}

/// Lists these plugins, including disabled ones.
pub(crate) fn in_place(site: &Site) -> Vec<InPlace> {
    let file = site.copilot_home.join("settings.json");
    let settings = settings::parsed(&file, Syntax::Loose).ok().flatten();
    let settings = settings.unwrap_or_default();
    let switches = settings.get("enabledPlugins").and_then(Value::as_object);
    let mut found = Vec::new();
    for (id, enabled) in switches.into_iter().flatten() {
        let Some((name, marketplace)) = id.rsplit_once('@') else {
            continue;
        };
        let known = settings.get("extraKnownMarketplaces");
        let source = known.and_then(|known| known.get(marketplace)?.get("source"));
        let place = source.and_then(|source| source.get("path")?.as_str());
        if let Some(folder) = place.and_then(|place| listed_in(Path::new(place), name, &LISTS)) {
            found.push(InPlace {
                name: name.to_owned(),
                folder,
                enabled: *enabled != Value::Bool(false),
            });
        }
    }
    found
}

/// Lists the extensions, programs that may have hooks before tools, if the client is started so that they run.
fn extensions(look: &Look<'_>) -> Vec<ClientMod> {
    let mut places = vec![look.site.copilot_home.join("extensions")];
    let own = look.directories().into_iter();
    places.extend(own.map(|place| place.join(".github/extensions")));
    let folders = places.iter().flat_map(|place| children(place));
    let found = folders.map(|folder| ClientMod {
        path: folder.display().to_string(),
        digest: digest(&folder),
    });
    found.collect()
}

fn hook_files(folder: PathBuf) -> Vec<PathBuf> {
    let mut files = children(&folder);
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files
}
