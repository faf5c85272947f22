//! The extension for VS Code: the language server by the real client library, and the package.
#![cfg(target_os = "linux")]

use std::{
    path::Path,
    process::{Command, Stdio},
};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

fn run(program: &str, arguments: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode");
    assert!(
        folder.join("node_modules/vscode-languageclient").is_dir(),
        "`cargo xtask setup` installs what this test needs"
    );
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("INTERLOCK", INTERLOCK)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_extension_works_with_the_real_program() {
    run("node", &["node_modules/typescript/bin/tsc", "-p", "."]);
    let tests = ["server", "extension", "package"].map(|name| format!("test/{name}.test.mjs"));
    let tests = tests.iter().map(String::as_str);
    run(
        "node",
        &["--test"].into_iter().chain(tests).collect::<Vec<_>>(),
    );
}
