//! Hooks of others in Copilot CLI: they run one after the other, and each may change the arguments of a call.
//!
//! Seen with 1.0.102: the order of the files is that of their folder, those of
//! Claude Code's settings and of plugins come after them. Extensions, which `--experimental` runs, have hooks, too.

use std::path::{Path, PathBuf};

use interlock_store::ClientMod;

use super::install::FOOTPRINT;
use crate::{
    claude_code,
    client::ClientId,
    mods::Look,
    mods::{HookFile, children, digest, in_file, in_folder},
    plugins,
    settings::Syntax,
    settings::client_def::ClientDef,
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
    let in_place = plugins::installed(ClientId::Copilot, look.site).into_iter();
    plugins.extend(in_place.map(|plugin| plugin.folder));
    for plugin in plugins {
        let found = in_folder(&plugin, &EVENTS).into_iter();
        mods.extend(
            found.filter(|found| !plugins::is_own(ClientId::Copilot, Path::new(&found.path))),
        );
    }
    mods.extend(extensions(look));
    mods
}

/// Lists the extensions: programs that may have hooks before tools, where the client is started so that they run.
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
