//! Scripts in `tests/provers` that get their answers from other programs.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

/// Runs a script; returns `None` if its packages are not installed, which is reported, and fails in CI.
pub(super) fn ask(script: &str, asked: &Value) -> Option<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/provers");
    let packages = folder.join("python");
    if !packages.is_dir() {
        let what = format!(
            "`{script}` needs the packages of `tests/provers/requirements.txt` and MONA: `cargo xtask setup` installs them"
        );
        assert!(std::env::var_os("CI").is_none(), "{what}");
        println!("left out: {what}");
        return None;
    }
    let mut python = Command::new("python3")
        .arg(folder.join(script))
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = python.stdin.take().unwrap();
    input.write_all(asked.to_string().as_bytes()).unwrap();
    drop(input);
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{script}: {}", output.status);
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
