//! `console`: builds the console's page from its sources, and checks that the committed page is up to date.

use std::{collections::BTreeMap, fs, path::Path, process::ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::{arguments, npm, tools};

/// Folder of the page's sources.
pub(crate) const WEB: &str = "crates/console/web";
/// Folder of the built page, which the server embeds.
const DIST: &str = "crates/console/dist";
/// Folder of the build for the comparison.
const COMPARED: &str = "target/console-dist";

/// Checks the sources of the page, and builds it.
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    tools::check_node()?;
    npm::install(WEB)?;
    npm("check", DIST)?;
    npm("build", DIST)?;
    Ok(ExitCode::SUCCESS)
}

/// Checks the sources of the page, and that the built page matches them.
///
/// # Errors
/// The sources have errors, or the built page is out of date.
pub(crate) fn check() -> Result<()> {
    npm::install(WEB)?;
    npm("check", DIST)?;
    npm("build", COMPARED)?;
    let root = tools::root();
    let (built, there) = (files(&root.join(COMPARED))?, files(&root.join(DIST))?);
    if built == there {
        return Ok(());
    }
    let differs = |name: &&String| built.get(*name) != there.get(*name);
    let names: std::collections::BTreeSet<&String> =
        built.keys().chain(there.keys()).filter(differs).collect();
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    bail!(
        "`{DIST}` is not what its sources make: {}. Run `cargo xtask console`",
        names.join(", ")
    )
}

/// Runs a script of the page's package; its build output goes to `dist`.
fn npm(script: &str, dist: &str) -> Result<()> {
    let root = tools::root();
    let mut npm = tools::program("npm", &["run", "--silent", script]);
    npm.current_dir(root.join(WEB))
        .env("CONSOLE_DIST", root.join(dist));
    let status = npm.status().context("`npm` cannot be started")?;
    if !status.success() {
        bail!("`npm run {script}` in `{WEB}` ended with {status}");
    }
    Ok(())
}

/// Reads all files below `folder`, by their relative paths.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(directory) = open.pop() {
        let unreadable = || format!("`{}` cannot be read", directory.display());
        for entry in fs::read_dir(&directory).with_context(unreadable)? {
            let path = entry.with_context(unreadable)?.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let bytes = fs::read(&path).with_context(unreadable)?;
            let name = path.strip_prefix(folder).unwrap_or(&path);
            found.insert(name.to_string_lossy().into_owned(), bytes);
        }
    }
    Ok(found)
}
