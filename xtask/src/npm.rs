//! Installs npm packages exactly as in a lock file, only if they are not up to date.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::tools;

/// File beside the packages that records their source.
const STAMP: &str = "node_modules/.installed-from";

/// Installs the packages of `folder`, unless they match its lock file already.
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
    // The stamp is written last: without it, an installation is incomplete.
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

/// Returns everything that determines the installation.
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
