//! `setup`: what the tests need, at pinned versions.

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::{arguments, console, npm, pip, tools};

/// Where the real clients are named that the end-to-end tests run.
const CLIENTS: &str = "tests/e2e";
/// Where the suite, servers and clients of MCP are named.
pub(crate) const MCP: &str = "tests/mcp";
/// Where the published suites and types are named.
const SUITES: &str = "tests/suites";
/// Where the driver of the browser is named that the console is tested in.
const BROWSER: &str = "tests/console";
/// Where the extension for VS Code names the library that it and its tests are made with.
const EDITOR: &str = "editors/vscode";
/// Where the packages are named that `prove` is tried beside.
const PROVERS: &str = "tests/provers";
/// What is said of the packages for Python beside them.
const PYTHON: &str = "tests/e2e/python";

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    install()?;
    Ok(ExitCode::SUCCESS)
}

/// Installs the programs that the tests start, the clients and the packages for MCP.
pub(crate) fn install() -> Result<()> {
    tools::check_programs()?;
    say(CLIENTS, npm::install(CLIENTS)?);
    unpack()?;
    say(MCP, npm::install(MCP)?);
    say(SUITES, npm::install(SUITES)?);
    say(BROWSER, npm::install(BROWSER)?);
    say(console::WEB, npm::install(console::WEB)?);
    say(EDITOR, npm::install(EDITOR)?);
    say(PYTHON, pip::install(CLIENTS)?);
    say(PROVERS, pip::install(PROVERS)?);
    Ok(())
}

/// Lets Copilot CLI unpack itself where every room of a test finds it, once.
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
