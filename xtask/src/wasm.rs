//! `wasm`: builds the engine for a target without an operating system.

use std::{path::Path, process::ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::{arguments, steps::Steps, tools};

const TARGET: &str = "wasm32-unknown-unknown";

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    if !has_target()? {
        bail!("the target is not installed: run `rustup target add {TARGET}`");
    }
    let mut steps = Steps::default();
    steps.command(
        "wasm",
        tools::cargo(&[
            "build",
            "--locked",
            "-p",
            "interlock-core",
            "--target",
            TARGET,
        ]),
    );
    Ok(steps.finish())
}

fn has_target() -> Result<bool> {
    let sysroot = tools::answer(&mut tools::program("rustc", &["--print", "sysroot"]))
        .context("`rustc --print sysroot` has no answer")?;
    Ok(Path::new(&sysroot)
        .join("lib/rustlib")
        .join(TARGET)
        .is_dir())
}
