//! Checks what the crates do not depend on: the layers hold, and the engine is pure.

use std::{collections::BTreeSet, path::Path, process::Command};

/// Our crates from the bottom up: a crate depends only on those before it.
const LAYERS: &[&str] = &[
    "interlock-tool-names",
    "interlock-json",
    "interlock-expr",
    "interlock-machine",
    "interlock-run",
    "interlock-judge",
    "interlock-core",
    "interlock-nodes",
    "interlock-passkeys",
    "interlock-attest",
    "interlock-validate",
    "interlock-view",
    "interlock-process",
    "interlock-http",
    "interlock-mcp",
    "interlock-models",
    "interlock-shell",
    "interlock-graph",
    "interlock-telemetry",
    "interlock-facts",
    "interlock-formats",
    "interlock-edit",
    "interlock-lsp",
    "interlock-store",
    "interlock-fleet",
    "interlock-project",
    "interlock-sandbox",
    "interlock-confine",
    "interlock-served",
    "interlock-tools",
    "interlock-clients",
    "interlock-sessions",
    "interlock-simulate",
    "interlock-prove",
    "interlock-shared",
    "interlock-backtest",
    "interlock-mine",
    "interlock-runner",
    "interlock-worker",
    "interlock-gateway",
    "interlock-console",
    "interlock",
];
/// Crates that are never shipped, and that no shipped crate may need.
const OWN_USE: &[&str] = &[
    "interlock-testkit",
    "interlock-fixture",
    "interlock-bench",
    "interlock-fleet-trials",
    "xtask",
];
/// Crates that are as pure as the engine, by folder.
const PURE: &[&str] = &[
    "core",
    "expr",
    "json",
    "judge",
    "machine",
    "nodes",
    "run",
    "tool-names",
    "validate",
    "view",
];
/// The crates of the engine, from the bottom up.
const ENGINE: &[&str] = &[
    "interlock-machine",
    "interlock-run",
    "interlock-judge",
    "interlock-core",
];
/// The permitted dependencies of the engine, besides its own crates.
const PARTS: &[&str] = &[
    "globset",
    "indexmap",
    "interlock-expr",
    "interlock-tool-names",
    "serde",
    "serde_json",
    "sha2",
];
/// Dependencies that only the crates listed with them may use.
const KEPT_TO: &[(&str, &[&str])] = &[
    ("minijinja", &["interlock-expr"]),
    ("rusqlite", &["interlock-store"]),
    ("tokio-postgres", &["interlock-shared"]),
    ("brush-parser", &["interlock-shell"]),
    ("restate-sdk", &["interlock-worker"]),
    (
        "clap",
        &["interlock", "interlock-shared", "interlock-worker"],
    ),
    ("anyhow", &["interlock"]),
    ("rmcp", &["interlock-gateway"]),
    ("landlock", &["interlock-sandbox"]),
    (
        "tokio",
        &[
            "interlock-fleet",
            "interlock-shared",
            "interlock-process",
            "interlock-mcp",
            "interlock-models",
            "interlock-tools",
            "interlock-runner",
            "interlock-worker",
            "interlock-gateway",
            "interlock-console",
            "interlock",
        ],
    ),
];
/// Crates that must not be below the engine, by the impurity they bring.
const IMPURE: &[(&str, &[&str])] = &[
    (
        "an async runtime",
        &[
            "tokio",
            "async-std",
            "smol",
            "futures-executor",
            "mio",
            "polling",
        ],
    ),
    (
        "a database",
        &["rusqlite", "libsqlite3-sys", "sqlx", "redb", "sled"],
    ),
    (
        "a shell parser",
        &[
            "brush-parser",
            "yash-syntax",
            "tree-sitter",
            "tree-sitter-bash",
        ],
    ),
    (
        "a network",
        &[
            "reqwest", "hyper", "ureq", "socket2", "rustls", "rmcp", "axum",
        ],
    ),
    ("a clock", &["chrono", "time", "jiff", "humantime"]),
    (
        "chance",
        &[
            "rand",
            "rand_core",
            "getrandom",
            "fastrand",
            "uuid",
            "ahash",
        ],
    ),
    (
        "the operating system",
        &["libc", "nix", "rustix", "windows-sys", "signal-hook"],
    ),
    (
        "a disk",
        &["tempfile", "walkdir", "ignore", "notify", "memmap2"],
    ),
    (
        "threads",
        &[
            "rayon",
            "crossbeam-channel",
            "crossbeam-utils",
            "parking_lot",
            "num_cpus",
        ],
    ),
    (
        "a terminal",
        &["clap", "anstream", "crossterm", "is-terminal"],
    ),
];

/// Licences that may be shipped with a program under the Apache License 2.0.
const PERMISSIVE: &[&str] = &[
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// A crate and its dependencies.
struct Crate {
    name: String,
    needs: BTreeSet<String>,
}

/// Returns Cargo's dependency tree, without development dependencies.
fn tree(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--offline", "--edges", "normal"])
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree: {said}");
    String::from_utf8(output.stdout).expect("cargo prints text")
}

fn first_word(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// Returns every crate of the workspace with its direct dependencies.
fn crates() -> Vec<Crate> {
    let mut crates: Vec<Crate> = Vec::new();
    // With deduplication, a crate that already occurred below another would be listed without its dependencies.
    let all = [
        "--workspace",
        "--no-dedupe",
        "--depth",
        "1",
        "--prefix",
        "depth",
    ];
    for line in tree(&all).lines() {
        if let Some(line) = line.strip_prefix('0') {
            crates.push(Crate {
                name: first_word(line).to_owned(),
                needs: BTreeSet::new(),
            });
        } else if let (Some(line), Some(last)) = (line.strip_prefix('1'), crates.last_mut()) {
            last.needs.insert(first_word(line).to_owned());
        }
    }
    assert!(crates.len() > 5, "cargo tree names the crates");
    crates
}

fn place(name: &str) -> usize {
    LAYERS
        .iter()
        .position(|layer| *layer == name)
        .unwrap_or_else(|| panic!("`{name}` has no place in LAYERS: give it one"))
}

fn is_own(name: &str) -> bool {
    name.starts_with("interlock") || name == "xtask"
}

#[test]
fn the_engine_has_nothing_impure_below_it() {
    for pure in PURE {
        let package = format!("interlock-{pure}");
        let tree = tree(&["--package", &package, "--prefix", "none"]);
        let found: BTreeSet<&str> = tree.lines().map(first_word).collect();
        assert!(
            found.contains(package.as_str()),
            "cargo tree lists what is there"
        );
        for (what, names) in IMPURE {
            for name in *names {
                assert!(
                    !found.contains(name),
                    "`{name}` would bring {what} into `{package}`"
                );
            }
        }
    }
}

/// Clippy reads its settings from the folder of a crate, so each pure crate has its own copy.
#[test]
fn what_is_pure_is_held_alike() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let settings = |pure: &str| {
        std::fs::read_to_string(crates.join(pure).join("clippy.toml")).expect("clippy's settings")
    };
    for pure in PURE {
        assert_eq!(settings(pure), settings("core"), "{pure}");
    }
}

#[test]
fn the_engine_is_made_of_few_parts() {
    let crates = crates();
    for own in ENGINE {
        let found = crates.iter().find(|found| found.name == *own);
        let needs = &found.expect("it is a crate of the engine").needs;
        let more: Vec<&String> = needs
            .iter()
            .filter(|name| !PARTS.contains(&name.as_str()) && !ENGINE.contains(&name.as_str()))
            .collect();
        assert!(
            more.is_empty(),
            "{more:?}: a part of the engine is a decision, to be made in PARTS"
        );
    }
}

#[test]
fn a_crate_knows_only_what_stands_below_it() {
    for found in crates()
        .iter()
        .filter(|found| !OWN_USE.contains(&found.name.as_str()))
    {
        for needed in found.needs.iter().filter(|name| is_own(name)) {
            let shipped = !OWN_USE.contains(&needed.as_str());
            assert!(shipped, "`{}` is shipped and needs `{needed}`", found.name);
            let down = place(needed) < place(&found.name);
            assert!(
                down,
                "`{}` may not know `{needed}`, which stands above it",
                found.name
            );
        }
    }
}

#[test]
fn what_is_named_here_is_there() {
    let crates = crates();
    let there: BTreeSet<&str> = crates.iter().map(|found| found.name.as_str()).collect();
    let needed: BTreeSet<&str> = crates
        .iter()
        .flat_map(|found| found.needs.iter().map(String::as_str))
        .collect();
    let keepers = KEPT_TO.iter().flat_map(|(_, keepers)| keepers.iter());
    for name in LAYERS.iter().chain(OWN_USE).chain(keepers) {
        assert!(there.contains(name), "there is no crate `{name}`");
    }
    for part in KEPT_TO.iter().map(|(part, _)| part).chain(PARTS) {
        assert!(needed.contains(part), "nothing needs `{part}`");
    }
}

#[test]
fn parts_that_act_are_kept_to_their_crates() {
    for found in crates()
        .iter()
        .filter(|found| !OWN_USE.contains(&found.name.as_str()))
    {
        for (part, owners) in KEPT_TO {
            let kept = !found.needs.contains(*part) || owners.contains(&found.name.as_str());
            assert!(
                kept,
                "`{}` may not use `{part}`: only {owners:?} may",
                found.name
            );
        }
    }
}

#[test]
fn everything_shipped_has_a_permissive_licence() {
    for package in ["interlock", "interlock-shared", "interlock-worker"] {
        let arguments = ["--package", package, "--prefix", "none", "--format"];
        let tree = tree(&[&arguments[..], &["{l}\t{p}"]].concat());
        for line in tree.lines() {
            let (licence, name) = line.split_once('\t').expect("a licence and a name");
            assert!(is_permissive(licence), "{name}: `{licence}`");
        }
    }
}

/// The program for a single user depends on nothing that only a team needs.
#[test]
fn the_program_itself_knows_no_server() {
    let tree = tree(&["--package", "interlock", "--prefix", "none"]);
    let found: BTreeSet<&str> = tree.lines().map(first_word).collect();
    for part in [
        "interlock-shared",
        "interlock-worker",
        "restate-sdk",
        "tokio-postgres",
        "postgres-types",
    ] {
        assert!(!found.contains(part), "`{part}` is built with `interlock`");
    }
}

/// Returns whether every part of a licence offers a permissive choice.
fn is_permissive(licence: &str) -> bool {
    let plain = licence.replace(['(', ')'], "").replace('/', " OR ");
    plain.split(" AND ").all(|part| {
        let mut choices = part.split(" OR ").map(str::trim);
        choices.any(|choice| PERMISSIVE.contains(&choice))
    })
}

#[test]
fn one_permissive_choice_is_enough() {
    assert!(is_permissive("MIT/Apache-2.0"));
    assert!(is_permissive("(GPL-3.0 OR MIT) AND Unicode-3.0"));
    assert!(!is_permissive("GPL-3.0"));
    assert!(!is_permissive("MIT AND LGPL-2.1"));
    assert!(!is_permissive(""));
}
