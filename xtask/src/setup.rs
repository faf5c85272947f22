//! `setup`: installs the dependencies of the tests, at pinned versions.

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::{arguments, console, npm, pip, tools};

/// Folder that lists the real clients for the end-to-end tests.
const CLIENTS: &str = "tests/e2e";
/// Folder that lists the MCP suite, servers and clients.
pub(crate) const MCP: &str = "tests/mcp";
/// Folder that lists the published suites and types.
const SUITES: &str = "tests/suites";
/// Folder that lists the OpenID provider for the tests of `interlock shared`.
const OIDC: &str = "tests/oidc";
/// Folder that lists the server of Restate for the tests of `interlock worker`.
const RESTATE: &str = "tests/restate";
/// Folder that lists the driver of the browser for the console's tests.
const BROWSER: &str = "tests/console";
/// Folder of the VS Code extension, which lists its dependencies and those of its tests.
const EDITOR: &str = "editors/vscode";
/// Folder that lists the packages with which `prove` is compared.
const PROVERS: &str = "tests/provers";
/// Name of the Python packages in messages.
const PYTHON: &str = "tests/e2e/python";

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    install()?;
    Ok(ExitCode::SUCCESS)
}

/// Installs the programs that the tests start, the clients and the MCP packages.
pub(crate) fn install() -> Result<()> {
    tools::check_programs()?;
    say(CLIENTS, npm::install(CLIENTS)?);
    unpack()?;
    say(MCP, npm::install(MCP)?);
    say(SUITES, npm::install(SUITES)?);
    say(OIDC, npm::install(OIDC)?);
    say(RESTATE, npm::install(RESTATE)?);
    say(BROWSER, npm::install(BROWSER)?);
    say(console::WEB, npm::install(console::WEB)?);
    say(EDITOR, npm::install(EDITOR)?);
    say(PYTHON, pip::install(CLIENTS)?);
    say(PROVERS, pip::install(PROVERS)?);
    Ok(())
}

/// Lets Copilot CLI unpack itself once, into a cache that all test rooms share.
fn unpack() -> Result<()> {
    let packages = tools::root().join(CLIENTS).join("node_modules");
    let cache = packages.join(".cache");
    if cache.join("copilot").is_dir() {
        return Ok(());
    }
    let copilot = packages.join(".bin/copilot");
    let mut version = tools::program(&copilot.to_string_lossy(), &["--version"]);
    tools::answer(version.env("XDG_CACHE_HOME", &cache))
        .context("Copilot CLI does not say its version")?;
    Ok(())
}

fn say(what: &str, installed: bool) {
    if installed {
        println!("{what}: installed");
    } else {
        println!("{what}: as its lock file has it, nothing to do");
    }
}
