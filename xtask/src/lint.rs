//! `lint`: checks that need no run of the program.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::{arguments, docs, steps::Steps, tools};

pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    arguments::none(arguments)?;
    let mut steps = Steps::default();
    texts(&mut steps);
    let clippy = [
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--keep-going",
        "--",
        "-D",
        "warnings",
    ];
    steps.command("lint", tools::cargo(&clippy));
    let mut pages = tools::cargo(&["doc", "--locked", "--workspace", "--no-deps"]);
    pages.env("RUSTDOCFLAGS", "-D warnings");
    steps.command("pages of the crates", pages);
    Ok(steps.finish())
}

/// Adds the checks that need no compiler: formatting and links.
fn texts(steps: &mut Steps) {
    steps.command("format", tools::cargo(&["fmt", "--all", "--check"]));
    steps.own(
        "links",
        "every link of the documentation leads somewhere",
        docs::check,
    );
}

/// Adds the same lints as [`run`], combined with building everything that the tests run.
///
/// After `cargo clippy`, Cargo would analyze each crate a second time for the tests. Clippy is a compiler that skips
/// optimizations, and the tests are built without them. Returns the compiler for the tests.
pub(crate) fn with_build(steps: &mut Steps) -> Compiler {
    texts(steps);
    let build = [
        "build",
        "--locked",
        "--workspace",
        "--all-targets",
        "--keep-going",
    ];
    let mut build = tools::cargo(&build);
    Compiler::Clippy.compile(&mut build);
    if steps.command("lint and build", build) {
        Compiler::Clippy
    } else {
        // A lint error must not hide a failed test.
        Compiler::Rustc
    }
}

/// The compiler of the workspace's crates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compiler {
    /// Clippy, with warnings as errors.
    Clippy,
    Rustc,
}

impl Compiler {
    /// Makes a Cargo command use this compiler.
    ///
    /// It is set by an option and not by an environment variable, because the tests start builds of their own.
    pub(crate) fn compile(self, cargo: &mut Command) {
        if self == Self::Clippy {
            let clippy = tools::root().join("xtask/clippy");
            // A JSON string is also a TOML string.
            let clippy = serde_json::Value::from(clippy.to_string_lossy());
            let wrapper = format!("build.rustc-workspace-wrapper={clippy}");
            cargo.args(["--config", &wrapper]);
        }
    }
}
