//! The page is embedded by the compiler alone: building the program needs no Node.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use std::{env, fs, path::Path, process::Command};

use serde_json::Value;

#[test]
fn the_page_is_embedded_where_no_program_can_be_found() {
    let folder = tempfile::tempdir().unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = folder.path().join("build");
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "-o"]).arg(&script);
    assert!(rustc.arg(own.join("build.rs")).status().unwrap().success());
    let mut build = Command::new(&script);
    build.env_clear().env("PATH", "");
    build
        .env("CARGO_MANIFEST_DIR", own)
        .env("OUT_DIR", folder.path());
    let output = build.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let table = fs::read_to_string(folder.path().join("files.rs")).unwrap();
    let manifest = fs::read(own.join("dist/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let files = manifest.get("files").and_then(Value::as_object).unwrap();
    assert!(files.len() > 3, "{manifest}");
    for name in files.keys() {
        assert!(
            table.contains(&format!("({name:?}, include_bytes!(")),
            "{name}: {table}"
        );
    }
}
