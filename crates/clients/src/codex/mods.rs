//! Other hooks in Codex: if several change the input of a call, the last one to end wins.
//!
//! Tested with 0.171.0. An untrusted hook does not run, but the client may be started so that trust is ignored, so every hook
//! counts here.

use std::path::PathBuf;

use interlock_store::ClientMod;

use super::install::FOOTPRINT;
use crate::{
    mods::Look,
    mods::{HookFile, children, in_file, in_folder, in_words},
    settings::Syntax,
};

const EVENTS: [&str; 1] = ["PreToolUse"];

/// Lists the settings and plugins with hooks before tools that are not Interlock's.
pub(super) fn mods(look: &Look<'_>) -> Vec<ClientMod> {
    let home = &look.site.codex_home;
    let mut folders = vec![home.clone(), "/etc/codex".into()];
    folders.extend(look.directories().iter().map(|place| place.join(".codex")));
    let mut files: Vec<(PathBuf, Option<Syntax>)> = Vec::new();
    for folder in &folders {
        files.push((folder.join("hooks.json"), Some(Syntax::Strict)));
        // Profiles are files of the same format in the same folder.
        let settings = children(folder).into_iter().filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().ends_with("config.toml"))
        });
        files.extend(settings.map(|path| (path, None)));
    }
    let found = files.iter().filter_map(|(path, syntax)| {
        let file = HookFile {
            path,
            syntax: *syntax,
            form: FOOTPRINT.form(),
            events: &EVENTS,
        };
        in_file(file, look)
    });
    let mut mods: Vec<ClientMod> = found.collect();
    let [event] = EVENTS;
    mods.extend(in_words(
        &look.option(&["-c", "--config"]),
        (event, FOOTPRINT.form()),
        look,
    ));
    mods.extend(in_folder(&home.join("plugins"), &EVENTS));
    mods
}
