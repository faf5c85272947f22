//! Whether Copilot CLI runs a hook of ours that was written for Claude Code.

use std::{
    fs,
    path::{Path, PathBuf},
};

use interlock_project::Environment;

/// The largest settings file that is looked at, in bytes.
const BYTES_MAX: u64 = 4 * 1_048_576;

/// Tells whether settings of Claude Code that it reads have a line of ours.
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
