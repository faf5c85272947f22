//! Packages from PyPI: exactly those of a requirements file with their hashes, and only when they are not there yet.

use std::{fs, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::tools;

/// The names of the packages, their versions and their hashes.
const WANTED: &str = "requirements.txt";
/// Where they go, beside that file.
const PLACE: &str = "python";
/// Kept beside the packages: what they were installed from.
const STAMP: &str = ".installed-from";

/// Installs what `folder` asks for, unless it is there already.
///
/// Returns whether anything was installed.
pub(crate) fn install(folder: &str) -> Result<bool> {
    let folder = tools::root().join(folder);
    let wanted = tools::read(&folder.join(WANTED))?;
    let place = folder.join(PLACE);
    let stamp = place.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(false);
    }
    if place.exists() {
        fs::remove_dir_all(&place)
            .with_context(|| format!("`{}` cannot be removed", place.display()))?;
    }
    let arguments = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--require-hashes",
        "--target",
        PLACE,
        "--requirement",
        WANTED,
    ];
    let mut pip: Command = tools::program("python3", &arguments);
    let status = pip
        .current_dir(&folder)
        .status()
        .context("`python3` cannot be started")?;
    if !status.success() {
        bail!(
            "`python3 -m pip install` ended with {status}: is pip installed, and the registry reachable?"
        );
    }
    // Written last: what is there without a stamp was not finished.
    fs::write(&stamp, wanted)
        .with_context(|| format!("`{}` cannot be written", stamp.display()))?;
    Ok(true)
}
