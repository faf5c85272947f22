//! The recording of the demo: made from a real session, complete and playable.
#![cfg(unix)]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use interlock_testkit::programs;
use serde_json::Value;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

/// Asserts that a cast has version 2 and times in order, and that it shows the story from beginning to end.
fn is_a_cast(text: &str) {
    let mut lines = text.lines();
    let header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(header["version"], 2);
    assert!(header["width"].as_u64().is_some() && header["height"].as_u64().is_some());
    let mut last = 0.0;
    let mut shown = String::new();
    for line in lines {
        let event: Value = serde_json::from_str(line).unwrap();
        let at = event[0].as_f64().unwrap();
        assert!(at >= last, "{line}");
        last = at;
        assert_eq!(event[1], "o");
        shown.push_str(event[2].as_str().unwrap());
    }
    for part in [
        "interlock demo",
        "denied",
        "guard_failed",
        "ApprovalGranted",
        "verified",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("\\x0a"), "{shown}");
}

/// Asserts that a picture shows the same, runs no script and loads nothing.
fn is_a_picture(text: &str) {
    assert!(text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    for part in ["denied", "verified 24 events", "<animateTransform"] {
        assert!(text.contains(part), "{part}");
    }
    for part in ["<script", "href=", "@import", "<foreignObject", "\u{1b}"] {
        assert!(!text.contains(part), "{part}");
    }
}

#[test]
fn the_recording_is_made_from_a_real_session() {
    let to = tempfile::tempdir().unwrap();
    let xtask = programs::built("xtask", "xtask", INTERLOCK).unwrap();
    let mut record = Command::new(xtask);
    record.args(["demo", "--binary", INTERLOCK, "--to"]);
    let output = record.arg(to.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    is_a_cast(&fs::read_to_string(to.path().join("demo.cast")).unwrap());
    is_a_picture(&fs::read_to_string(to.path().join("demo.svg")).unwrap());
}

#[test]
fn the_recording_of_the_book_is_whole() {
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/images");
    is_a_cast(&fs::read_to_string(images.join("demo.cast")).unwrap());
    is_a_picture(&fs::read_to_string(images.join("demo.svg")).unwrap());
}
