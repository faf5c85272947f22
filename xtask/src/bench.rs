//! `bench`: measurements against the targets, as ratios within one run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, bail};

use crate::{npm, pip, tools};

/// Where the library is named that the engine is measured beside, and the gateways beside ours.
const OTHERS: &str = "tests/bench";
/// Where the script lies that measures the page of the console in a browser.
const BROWSER: &str = "tests/console";
/// Those that durable runs and stages are measured beside.
const PEERS: &str = "tests/bench/peers";
/// Chooses them.
const PEERS_FLAG: &str = "--peers";
/// The smallest program of the same language.
const HELLO: &str = "fn main() { println!(\"hello\"); }\n";

/// Judges lines as agents write them, and lines of dangerous kinds; measures no time.
const JUDGED: [&str; 2] = ["habits", "dangers"];

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    if let [test] = arguments
        && JUDGED.contains(test)
    {
        return judged(test);
    }
    tools::check_node()?;
    if arguments.contains(&PEERS_FLAG) {
        return peers(arguments);
    }
    npm::install(OTHERS)?;
    // As it is shipped: together with the measurements it might get other features.
    build(&["--package", "interlock"])?;
    build(&["--package", "interlock-bench"])?;
    build(&["--package", "interlock-fixture"])?;
    let hello = installed(&hello()?)?;
    let release = tools::built("release")?;
    let interlock = installed(&release.join("interlock"))?;
    let script = tools::root().join(OTHERS).join("transitions.js");
    let bench = release.join("interlock-bench");
    let mut bench = tools::program(&bench.to_string_lossy(), arguments);
    bench.arg("--interlock").arg(interlock);
    bench.arg("--fixture").arg(release.join("mcp-fixture"));
    bench.arg("--hello").arg(hello).arg("--beside").arg(script);
    npm::install(BROWSER)?;
    let browser = tools::root().join(BROWSER).join("load.mjs");
    bench.arg("--browser").arg(browser);
    end(bench)
}

/// Prints what share of the lines in a folder of `tests` is judged as wanted.
fn judged(test: &str) -> Result<ExitCode> {
    let words = format!(
        "test --quiet --package interlock-simulate --test {test} -- --nocapture --test-threads 1"
    );
    let words: Vec<&str> = words.split(' ').collect();
    end(tools::cargo(&words))
}

/// Measures durable runs and stages beside those of others.
fn peers(arguments: &[&str]) -> Result<ExitCode> {
    npm::install(PEERS)?;
    pip::install(PEERS)?;
    build(&["--package", "interlock"])?;
    build(&["--package", "interlock-bench"])?;
    let release = tools::built("release")?;
    let interlock = installed(&release.join("interlock"))?;
    let chosen: Vec<&str> = arguments
        .iter()
        .copied()
        .filter(|word| *word != PEERS_FLAG)
        .collect();
    let mut bench = tools::program(&release.join("interlock-bench").to_string_lossy(), &chosen);
    bench.arg("--interlock").arg(interlock);
    bench.arg(PEERS_FLAG).arg(tools::root().join(PEERS));
    end(bench)
}

fn end(mut bench: Command) -> Result<ExitCode> {
    let status = bench
        .status()
        .context("the measurements cannot be started")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn build(what: &[&str]) -> Result<()> {
    let arguments = [&["build", "--release", "--locked", "--quiet"], what].concat();
    if !tools::cargo(&arguments).status()?.success() {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    Ok(())
}

/// Builds the program that says hello.
fn hello() -> Result<PathBuf> {
    let folder = tools::built("bench")?;
    fs::create_dir_all(&folder)?;
    let (source, program) = (folder.join("hello.rs"), folder.join("hello"));
    fs::write(&source, HELLO)?;
    let mut rustc = tools::program("rustc", &["--edition", "2024", "-O", "-C", "strip=symbols"]);
    let call = rustc.arg("-o").arg(&program).arg(&source);
    if !call
        .status()
        .context("`rustc` cannot be started")?
        .success()
    {
        bail!("`{}` is not built", shown(&source));
    }
    Ok(program)
}

/// Copies a program to where it is measured, as people have theirs.
///
/// What a linker has just written lies in memory in small pieces; to start it takes a quarter longer.
fn installed(program: &Path) -> Result<PathBuf> {
    let folder = tools::built("bench")?.join("installed");
    fs::create_dir_all(&folder)?;
    let name = program.file_name().context("a program has a name")?;
    let (unfinished, place) = (folder.join("unfinished"), folder.join(name));
    fs::copy(program, &unfinished)
        .with_context(|| format!("`{}` cannot be copied", shown(program)))?;
    fs::rename(&unfinished, &place)?;
    Ok(place)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
