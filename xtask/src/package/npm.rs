//! The npm packages: `@interlock-cli/interlock`, which starts the program, and one per platform with the program.
//!
//! On npm, the name `interlock` belongs to another package.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{Packing, VERSION, copy, copy_own, copy_program, emptied, ran, write};
use crate::tools;

/// Scope of the packages' names.
const SCOPE: &str = "@interlock-cli";

/// The platforms: Node's names of the system and machine, and Rust's target.
const PLATFORMS: [(&str, &str, &str); 4] = [
    ("linux", "x64", "x86_64-unknown-linux-gnu"),
    ("linux", "arm64", "aarch64-unknown-linux-gnu"),
    ("darwin", "x64", "x86_64-apple-darwin"),
    ("darwin", "arm64", "aarch64-apple-darwin"),
];

const ABOUT: &str = "A state machine between an AI agent and its tools";

/// Packs both packages, the platform's with the program.
pub(super) fn make(packing: &Packing) -> Result<()> {
    let known = PLATFORMS
        .iter()
        .find(|(_, _, target)| *target == packing.target);
    let (system, machine, _) =
        known.with_context(|| format!("npm has no platform for `{}`", packing.target))?;
    let folder = emptied(&packing.to.join("npm"))?;
    let platform = folder.join("platform");
    write(
        &platform.join("package.json"),
        &document(&of_platform(system, machine)),
    )?;
    copy_program(&packing.binary, &platform.join("bin/interlock"))?;
    copy_own(&["LICENSE"], &platform)?;
    write(
        &platform.join("README.md"),
        &format!(
            "# {SCOPE}/{system}-{machine}\n\nThe program of the package `{SCOPE}/interlock` for {system} on {machine}. Install that one.\n"
        ),
    )?;
    let launcher = folder.join("launcher");
    let sources = tools::root().join("packaging/npm");
    write(&launcher.join("package.json"), &document(&of_launcher()))?;
    copy(
        &sources.join("interlock.js"),
        &launcher.join("bin/interlock.js"),
    )?;
    copy(&sources.join("README.md"), &launcher.join("README.md"))?;
    copy_own(&["LICENSE"], &launcher)?;
    for package in [&platform, &launcher] {
        pack(package, &folder)?;
        fs::remove_dir_all(package)?;
    }
    Ok(())
}

fn of_platform(system: &str, machine: &str) -> Value {
    let mut package = common(&format!("{SCOPE}/{system}-{machine}"));
    let more = json!({ "os": [system], "cpu": [machine], "files": ["bin/interlock"] });
    extend(&mut package, more);
    if system == "linux" {
        extend(&mut package, json!({ "libc": ["glibc"] }));
    }
    package
}

fn of_launcher() -> Value {
    let programs = PLATFORMS.iter().map(|(system, machine, _)| {
        let name = format!("{SCOPE}/{system}-{machine}");
        (name, Value::from(VERSION))
    });
    let mut package = common(&format!("{SCOPE}/interlock"));
    extend(
        &mut package,
        json!({
            "bin": { "interlock": "bin/interlock.js" },
            "files": ["bin/interlock.js"],
            "engines": { "node": ">=18" },
            "optionalDependencies": Value::Object(programs.collect()),
        }),
    );
    package
}

fn common(name: &str) -> Value {
    json!({
        "name": name, "version": VERSION, "description": ABOUT, "license": "Apache-2.0",
        "homepage": "https://github.com/interlock-cli/interlock",
        "repository": { "type": "git", "url": "git+https://github.com/interlock-cli/interlock.git" },
    })
}

fn extend(package: &mut Value, more: Value) {
    if let (Value::Object(package), Value::Object(more)) = (package, more) {
        package.extend(more);
    }
}

fn document(value: &Value) -> String {
    format!("{value:#}\n")
}

fn pack(package: &Path, to: &Path) -> Result<()> {
    let mut npm = tools::program("npm", &["pack", "--silent", "--pack-destination"]);
    let name = ran(npm.arg(to).arg(package))?;
    println!("{}", to.join(name.trim()).display());
    Ok(())
}
