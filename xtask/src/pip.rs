//! Installs PyPI packages exactly as in a requirements file with hashes, only if they are not up to date.

use std::{fs, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::tools;

/// The names of the packages, with versions and hashes.
const WANTED: &str = "requirements.txt";
/// The install folder, beside that file.
const PLACE: &str = "python";
/// File beside the packages that records their source.
const STAMP: &str = ".installed-from";

/// Installs the requirements of `folder`, unless they are installed already.
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
    // The stamp is written last: without it, an installation is incomplete.
    fs::write(&stamp, wanted)
        .with_context(|| format!("`{}` cannot be written", stamp.display()))?;
    Ok(true)
}
