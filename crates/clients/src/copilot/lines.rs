//! Whether Copilot CLI runs a hook of Interlock that was written for Claude Code.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_project::Environment;

/// Maximum size of a settings file that is read, in bytes.
const BYTES_MAX: u64 = 4 * 1_048_576;

/// Returns whether the settings of Claude Code that Copilot reads contain a hook of Interlock.
pub(super) fn are_borrowed(environment: &Environment, directory: &Path) -> bool {
    let root = interlock_project::project_root(directory);
    let home = environment.variable("HOME").map(PathBuf::from);
    let places = [Some(root), home];
    places.into_iter().flatten().any(|place| {
        ["settings.json", "settings.local.json"]
            .iter()
            .any(|name| has_line(&place.join(".claude").join(name)))
    })
}

fn has_line(path: &Path) -> bool {
    let fits = fs::metadata(path).is_ok_and(|found| found.len() <= BYTES_MAX);
    let text = fits.then(|| fs::read_to_string(path).ok()).flatten();
    text.is_some_and(|text| text.contains("claude-code"))
}
