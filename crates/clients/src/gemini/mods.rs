//! Other hooks in Gemini CLI: a hook that answers after Interlock may change the arguments of a call.
//!
//! Tested with 0.61.0: of several hooks before a tool, the last one's arguments win, and hooks of extensions run after those of
//! settings.

use std::path::{Path, PathBuf};

use interlock_store::ClientMod;

use super::install::FOOTPRINT;
use crate::{
    mods::Look,
    mods::{HookFile, children, in_file, in_folder, manifest},
    settings::Syntax,
};

const EVENTS: [&str; 1] = ["BeforeTool"];

/// Settings of the whole machine.
const SYSTEM: [&str; 2] = [
    "/etc/gemini-cli/settings.json",
    "/Library/Application Support/GeminiCli/settings.json",
];

/// Lists the settings and extensions with hooks before tools that are not Interlock's.
pub(super) fn mods(look: &Look<'_>) -> Vec<ClientMod> {
    let mut files: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    files.extend(
        look.variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
            .map(PathBuf::from),
    );
    files.push(look.site.gemini_home.join("settings.json"));
    let directories = look.directories();
    let own = directories
        .iter()
        .map(|place| place.join(".gemini/settings.json"));
    files.extend(own);
    let found = files.iter().filter_map(|path| {
        let file = HookFile {
            path,
            syntax: Some(Syntax::Comments),
            form: FOOTPRINT.form(),
            events: &EVENTS,
        };
        in_file(file, look)
    });
    let mut mods: Vec<ClientMod> = found.collect();
    for extension in extensions(look) {
        mods.extend(in_folder(&extension, &EVENTS));
    }
    mods
}

/// Lists the folders of the installed extensions, including disabled ones.
fn extensions(look: &Look<'_>) -> Vec<PathBuf> {
    let homes = [look.site.gemini_home.clone()].into_iter();
    let own = look.directories().into_iter();
    let places = homes.chain(own.map(|place| place.join(".gemini")));
    let folders = places.flat_map(|place| children(&place.join("extensions")));
    folders
        .filter(|folder| folder.is_dir())
        .map(|folder| linked(&folder).unwrap_or(folder))
        .collect()
}

/// Returns the folder of an extension under development.
fn linked(folder: &Path) -> Option<PathBuf> {
    let installed = manifest(&folder.join(".gemini-extension-install.json"))?;
    let is_link = installed.get("type")?.as_str()? == "link";
    let source = installed.get("source")?.as_str()?;
    is_link.then(|| PathBuf::from(source))
}
