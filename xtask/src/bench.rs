//! `bench`: measures against the targets, as ratios within one run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result, bail};

use crate::{fleet, npm, pip, tools};

/// Folder with the library that the engine is compared with, and the gateways that ours is compared with.
const OTHERS: &str = "tests/bench";
/// Folder with the script that measures the console's page in a browser.
const BROWSER: &str = "tests/console";
/// Folder with the programs that durable runs and stages are compared with.
const PEERS: &str = "tests/bench/peers";
/// The flag that selects these comparisons.
const PEERS_FLAG: &str = "--peers";
/// The smallest Rust program, for comparison.
const HELLO: &str = "fn main() { println!(\"hello\"); }\n";

/// Tests that judge lines from agents and dangerous lines, without measuring time.
const JUDGED: [&str; 2] = ["habits", "dangers"];

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    if let [test] = arguments
        && JUDGED.contains(test)
    {
        return judged(test);
    }
    if let ["fleet", rest @ ..] = arguments {
        return fleet::bench(rest);
    }
    tools::check_node()?;
    if arguments.contains(&PEERS_FLAG) {
        return peers(arguments);
    }
    npm::install(OTHERS)?;
    // Built alone, as shipped: together with the benchmarks, it might be built with other features.
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

/// Prints the proportion of correctly judged lines in a folder of `tests`.
fn judged(test: &str) -> Result<ExitCode> {
    let words = format!(
        "test --quiet --package interlock-simulate --test {test} -- --nocapture --test-threads 1"
    );
    let words: Vec<&str> = words.split(' ').collect();
    end(tools::cargo(&words))
}

/// Compares durable runs and stages with those of other programs.
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

/// Builds the hello program.
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

/// Copies a program to the place where it is measured, as an installed one.
///
/// A file just written by the linker is fragmented in memory, and starting it takes a quarter longer.
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
