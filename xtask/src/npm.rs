//! Packages from npm: exactly those of a lock file, and only when they are not there yet.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::tools;

/// Kept beside the packages: what they were installed from.
const STAMP: &str = "node_modules/.installed-from";

/// Installs the packages of `folder`, unless they are there as its lock file has them.
///
/// Returns whether anything was installed.
pub(crate) fn install(folder: &str) -> Result<bool> {
    let place = tools::root().join(folder);
    let wanted = description(&place)?;
    let stamp = place.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(false);
    }
    let packages = place.join("node_modules");
    if packages.is_symlink() {
        // npm would empty the directory that the link leads to.
        bail!("`{}` is a link: remove it first", packages.display());
    }
    // Written last: what is there without a stamp was not finished.
    let mut npm = tools::program("npm", &["ci", "--no-audit", "--no-fund"]);
    run(npm.current_dir(&place), folder)?;
    fs::write(&stamp, wanted)
        .with_context(|| format!("`{}` cannot be written", stamp.display()))?;
    Ok(true)
}

fn run(npm: &mut Command, folder: &str) -> Result<()> {
    let status = npm.status().context("`npm` cannot be started")?;
    if !status.success() {
        bail!("`npm ci` in `{folder}` ended with {status}: is the registry reachable?");
    }
    Ok(())
}

/// Returns everything that decides what is installed.
fn description(place: &Path) -> Result<String> {
    let node = tools::answer(&mut tools::program(
        "node",
        &[
            "-p",
            "process.platform + process.arch + process.versions.modules",
        ],
    ));
    let mut text = node.context("`node` does not say what it is")?;
    for name in ["package.json", "package-lock.json"] {
        text.push('\n');
        text.push_str(&tools::read(&place.join(name))?);
    }
    Ok(text)
}
