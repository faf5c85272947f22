//! `interlock exec` by a person: the options that make the state of a line.

use std::{net::TcpListener, process::Output};

use interlock_testkit::room::Room;

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

fn exec(room: &Room, arguments: &[&str]) -> Output {
    room.command(INTERLOCK)
        .arg("exec")
        .args(arguments)
        .env("OUT", room.path("outside"))
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn a_line_that_may_not_write_uses_the_network_only_if_told() {
    let room = Room::new().unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo open");
    for (options, wanted) in [(&["--network"][..], "open"), (&[], "")] {
        let mut words = vec!["--require", "partial"];
        words.extend_from_slice(options);
        words.extend_from_slice(&["--", &line]);
        let output = exec(&room, &words);
        assert_eq!(said(&output), wanted, "{options:?} {output:?}");
    }
}

#[test]
fn a_free_line_writes_where_its_person_may() {
    let room = Room::new().unwrap();
    let line = ["--", "echo x > \"$OUT\"; echo y > inside"];
    let output = exec(&room, &[&["--as", "free"], &line[..]].concat());
    assert!(output.status.success(), "{output:?}");
    assert!(room.path("outside").exists());
    assert_eq!(room.read("inside").as_deref(), Some("y\n"));
}

#[test]
fn a_word_that_is_no_command_is_refused_before_anything_starts() {
    let room = Room::new().unwrap();
    for entry in ["\"", "a; b", "$(x)"] {
        let output = exec(&room, &["--as", "free", "--allow", entry, "--", "echo ran"]);
        assert_eq!(output.status.code(), Some(126), "{entry}: {output:?}");
        assert_eq!(said(&output), "", "{entry}");
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            why.contains(&format!("`{entry}` is not a command")),
            "{why}"
        );
    }
    let output = exec(&room, &["--allow", "cargo test", "--", "echo ran"]);
    assert_eq!(said(&output), "ran", "{output:?}");
}

#[test]
fn a_project_that_is_not_there_runs_nothing() {
    let room = Room::new().unwrap();
    let output = exec(&room, &["--project", "nowhere", "--", "echo ran"]);
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    assert_eq!(said(&output), "");
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(why.contains("`nowhere` cannot be read"), "{why}");
}
