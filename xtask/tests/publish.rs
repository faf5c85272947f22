//! Checks what crates.io requires of published crates, without contacting it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Crates that are not published: internal ones, and the program, whose name belongs to another crate there.
const KEPT: &[&str] = &[
    "interlock",
    "interlock-bench",
    "interlock-fixture",
    "interlock-fleet-trials",
    "interlock-testkit",
    "xtask",
];

/// Returns the packages of the workspace, from Cargo.
fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = said["packages"].as_array().expect("a list of packages");
    packages.clone()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Returns the dependencies on our own crates that are published with a package: those with a version.
fn published(package: &Value) -> impl Iterator<Item = &Value> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.filter(|one| one["path"].is_string() && text(one, "req") != "*")
}

#[test]
fn what_is_published_says_what_it_is_and_needs_only_what_is_published() {
    let packages = packages();
    assert!(packages.len() > 30, "{} packages", packages.len());
    for package in &packages {
        let name = text(package, "name");
        let is_kept = package["publish"].as_array().is_some_and(Vec::is_empty);
        assert_eq!(is_kept, KEPT.contains(&name), "`publish` of {name}");
        if is_kept {
            continue;
        }
        for key in ["description", "license", "repository"] {
            assert!(!text(package, key).is_empty(), "{name} has no {key}");
        }
        let own = package["dependencies"].as_array().into_iter().flatten();
        for need in own.filter(|one| one["path"].is_string()) {
            let (other, wanted) = (text(need, "name"), text(need, "req"));
            let is_versioned = wanted == format!("^{}", text(package, "version"));
            // Cargo omits a development dependency without a version from the published crate.
            let is_left_out = text(need, "kind") == "dev" && wanted == "*";
            assert!(is_versioned || is_left_out, "{name} needs {other} {wanted}");
            assert!(
                is_left_out || !KEPT.contains(&other),
                "{name} needs {other}"
            );
        }
    }
}

/// A crate is published after all crates that it names with a version, also for its tests.
#[test]
fn the_crates_have_an_order_in_which_they_are_published() {
    let mut waiting: BTreeMap<String, BTreeSet<String>> = packages()
        .iter()
        .filter(|package| !KEPT.contains(&text(package, "name")))
        .map(|package| {
            let needs = published(package).map(|need| text(need, "name").to_owned());
            (text(package, "name").to_owned(), needs.collect())
        })
        .collect();
    while !waiting.is_empty() {
        let left: BTreeSet<String> = waiting.keys().cloned().collect();
        waiting.retain(|_, needs| needs.iter().any(|need| left.contains(need)));
        assert!(waiting.len() < left.len(), "a circle among {left:?}");
    }
}

/// Removes `.` and `..` from a path without resolving links, because a package contains what a link leads to.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[test]
fn no_crate_includes_a_file_that_its_package_does_not_hold() {
    let mut seen = 0;
    for package in packages() {
        let manifest = Path::new(text(&package, "manifest_path"));
        let folder = manifest.parent().expect("a manifest lies in a folder");
        if KEPT.contains(&text(&package, "name")) && text(&package, "name") != "interlock" {
            continue;
        }
        let mut folders = vec![folder.join("src")];
        while let Some(below) = folders.pop() {
            for entry in fs::read_dir(&below).expect("a folder can be listed") {
                let path = entry.expect("a file can be listed").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let source = fs::read_to_string(&path).unwrap_or_default();
                for macros in ["include_str!(", "include_bytes!("] {
                    for rest in source.split(macros).skip(1) {
                        let Some(name) = rest.trim_start().strip_prefix('"') else {
                            continue;
                        };
                        let name = name.split('"').next().unwrap_or_default();
                        let file = plain(&below.join(name));
                        let place = format!("{}: `{name}`", path.display());
                        assert!(file.starts_with(folder), "{place} lies outside");
                        assert!(file.is_file(), "{place} is not there");
                        seen += 1;
                    }
                }
            }
        }
    }
    assert!(seen > 10, "only {seen} files are included");
}

/// Runs a program to its end; returns its standard output.
fn ran(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[cfg(unix)]
#[test]
fn binstall_finds_the_archive_of_a_release() {
    use std::os::unix::fs::PermissionsExt as _;

    const TARGET: &str = "aarch64-unknown-linux-gnu";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("binstall");
    fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("program");
    fs::write(&program, "#!/bin/sh\necho page\n").expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let mut pack = Command::new(env!("CARGO_BIN_EXE_xtask"));
    pack.args(["package", "archive", "--target", TARGET, "--binary"]);
    ran(pack.arg(&program).arg("--to").arg(&folder));

    let packages = packages();
    let package = packages
        .iter()
        .find(|package| package["name"] == "interlock");
    let package = package.expect("the package of the program");
    let version = text(package, "version");
    let said = &package["metadata"]["binstall"];
    let filled = |key: &str| {
        let text = text(said, key).replace("{ version }", version);
        let text = text
            .replace("{ target }", TARGET)
            .replace("{ bin }", "interlock");
        text.replace("{ binary-ext }", "")
    };
    let url = filled("pkg-url");
    let address = format!(
        "{}/releases/download/v{version}/",
        text(package, "repository")
    );
    let name = url.strip_prefix(&address).expect("an address of a release");
    let listed = ran(Command::new("tar")
        .arg("-tzf")
        .arg(folder.join("archive").join(name)));
    let program = filled("bin-dir");
    assert!(
        listed.lines().any(|line| line == program),
        "{program}: {listed}"
    );
}
