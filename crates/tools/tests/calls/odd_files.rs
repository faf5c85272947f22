//! Files of kinds that case files cannot describe.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::{ffi::OsStrExt as _, net::UnixListener},
};

use interlock_tools::{Code, Tool};
use serde_json::json;

use crate::room::Room;

#[test]
fn names_that_are_no_text_are_shown_and_searched() {
    let room = Room::new();
    let name = OsStr::from_bytes(b"b\xff.txt");
    fs::write(room.path.join("p").join(name), "needle\n").unwrap();
    fs::write(room.path.join("p/a.txt"), "needle\n").unwrap();
    for (tool, input) in [
        (Tool::Glob, json!({"pattern": "*.txt"})),
        (Tool::Ls, json!({"path": "."})),
        (Tool::Grep, json!({"pattern": "needle"})),
    ] {
        let (_, end) = room.call(tool, &input);
        assert_eq!(end.text, "a.txt\nb\u{fffd}.txt", "{}", tool.name());
    }
}

#[test]
fn a_huge_file_is_not_read_to_its_end() {
    let room = Room::new();
    let huge = File::create(room.path.join("p/huge")).unwrap();
    huge.set_len(1 << 42).unwrap();
    for tool in [Tool::Read, Tool::ReadFile] {
        let path = json!({"file_path": "huge"});
        let input = if tool == Tool::Read {
            path
        } else {
            json!({"path": "huge"})
        };
        let (_, end) = room.call(tool, &input);
        let wanted = if tool == Tool::Read {
            Code::Binary
        } else {
            Code::TooLarge
        };
        assert_eq!(end.code, Some(wanted), "{end:?}");
    }
    let (_, end) = room.call(Tool::Grep, &json!({"pattern": "x"}));
    assert_eq!(end.text, "no matches");
}

#[test]
fn of_a_large_text_the_first_lines_are_shown() {
    let room = Room::new();
    let text = "a line of text\n".repeat(5_000_000);
    fs::write(room.path.join("p/large.txt"), text).unwrap();
    let (_, end) = room.call(Tool::Read, &json!({"file_path": "large.txt", "limit": 2}));
    assert!(
        end.text
            .ends_with("(lines 1 to 2 of more; continue with offset 3)"),
        "{}",
        end.text
    );
    // It was not read completely, so it does not count as read.
    let edit = json!({"file_path": "large.txt", "old_string": "a", "new_string": "b"});
    let (_, end) = room.call(Tool::Edit, &edit);
    assert_eq!(end.code, Some(Code::TooLarge));
}

#[test]
fn a_socket_is_no_file() {
    let room = Room::new();
    let _open = UnixListener::bind(room.path.join("p/s")).unwrap();
    for (tool, input) in [
        (Tool::Read, json!({"file_path": "s"})),
        (Tool::Write, json!({"file_path": "s", "content": "x"})),
        (Tool::Grep, json!({"pattern": "x", "path": "s"})),
    ] {
        let (_, end) = room.call(tool, &input);
        assert_eq!(end.code, Some(Code::NotAFile), "{}", tool.name());
    }
}

#[test]
fn a_thousand_entries_are_listed_and_no_more() {
    let room = Room::new();
    for number in 0..1_001 {
        room.make(&format!("p/f{number:04}"), "");
    }
    for (tool, input) in [
        (Tool::Glob, json!({"pattern": "*"})),
        (Tool::Ls, json!({"path": "."})),
    ] {
        let (_, end) = room.call(tool, &input);
        assert!(end.text.starts_with("f0000\nf0001\n"), "{}", tool.name());
        assert!(
            end.text.contains("\nf0999\n(only the first 1000"),
            "{}",
            tool.name()
        );
    }
}
