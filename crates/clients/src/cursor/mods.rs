//! Other hooks in Cursor, which may change the input of a call.

use std::path::PathBuf;

use interlock_store::ClientMod;

use super::install::FOOTPRINT;
use crate::{
    mods::Look,
    mods::{HookFile, in_file},
    settings::Syntax,
};

const EVENTS: [&str; 1] = ["preToolUse"];

/// Settings of the whole machine.
const SYSTEM: [&str; 2] = [
    "/etc/cursor/hooks.json",
    "/Library/Application Support/Cursor/hooks.json",
];

/// Lists the settings with hooks before tools that are not Interlock's.
pub(super) fn mods(look: &Look<'_>) -> Vec<ClientMod> {
    let mut files: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    files.push(look.site.home.join(".cursor/hooks.json"));
    let directories = look.directories();
    let own = directories
        .iter()
        .map(|place| place.join(".cursor/hooks.json"));
    files.extend(own);
    let found = files.iter().filter_map(|path| {
        let file = HookFile {
            path,
            syntax: Some(Syntax::Strict),
            form: FOOTPRINT.form(),
            events: &EVENTS,
        };
        in_file(file, look)
    });
    found.collect()
}
