//! `console`: builds the pages of the consoles from their sources, and checks that the committed pages are up to date.

use std::{collections::BTreeMap, fs, path::Path, process::ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::{arguments, npm, tools};

/// Folder of the pages' sources.
pub(crate) const WEB: &str = "crates/console/web";

/// A built page, which a server embeds.
struct Page {
    /// The variable that names the folder of a build.
    variable: &'static str,
    /// The folder of the built page.
    dist: &'static str,
    /// The folder of the build for the comparison.
    compared: &'static str,
}

/// The console of one machine, and that of a team.
const PAGES: [Page; 2] = [
    Page {
        variable: "CONSOLE_DIST",
        dist: "crates/console/dist",
        compared: "target/console-dist",
    },
    Page {
        variable: "TEAM_DIST",
        dist: "crates/shared/dist",
        compared: "target/team-dist",
    },
];

/// Checks the sources of the pages, and builds them.
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    tools::check_node()?;
    npm::install(WEB)?;
    npm("check", |page| page.dist)?;
    npm("build", |page| page.dist)?;
    Ok(ExitCode::SUCCESS)
}

/// Checks the sources of the pages, and that the built pages match them.
///
/// # Errors
/// The sources have errors, or a built page is out of date.
pub(crate) fn check() -> Result<()> {
    npm::install(WEB)?;
    npm("check", |page| page.dist)?;
    npm("build", |page| page.compared)?;
    PAGES.iter().try_for_each(compare)
}

/// Compares a build with the committed page.
fn compare(page: &Page) -> Result<()> {
    let root = tools::root();
    let built = files(&root.join(page.compared))?;
    let there = files(&root.join(page.dist))?;
    if built == there {
        return Ok(());
    }
    let differs = |name: &&String| built.get(*name) != there.get(*name);
    let names: std::collections::BTreeSet<&String> =
        built.keys().chain(there.keys()).filter(differs).collect();
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    bail!(
        "`{}` is not what its sources make: {}. Run `cargo xtask console`",
        page.dist,
        names.join(", ")
    )
}

/// Runs a script of the pages' package; its build output goes to the folders that `to` names.
fn npm(script: &str, to: fn(&Page) -> &'static str) -> Result<()> {
    let root = tools::root();
    let mut npm = tools::program("npm", &["run", "--silent", script]);
    npm.current_dir(root.join(WEB));
    for page in &PAGES {
        npm.env(page.variable, root.join(to(page)));
    }
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
