//! Outputs of programs.

use super::*;
use crate::output::KEPT_BYTES_MAX;

#[test]
fn what_nothing_captures_is_shown_and_the_rest_is_not() {
    let room = Room::new();
    room.bash("echo out; echo err >&2");
    assert_eq!(room.seen.text(Stream::Out), "out\n");
    assert_eq!(room.seen.text(Stream::Err), "err\n");
    let room = Room::new();
    let mut order = bash("echo out; echo err >&2");
    order.capture = Some(Capture::Text);
    let Outcome::Done { stdout, stderr } = room.carry(&order) else {
        panic!("it failed");
    };
    assert_eq!((stdout.as_str(), stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(room.seen.text(Stream::Out), "");
    assert_eq!(room.seen.text(Stream::Err), "err\n");
}

#[test]
fn lines_beside_others_have_their_name() {
    let room = Room::new();
    let mut order = bash("echo a; printf b");
    order.label = Some("lint".to_owned());
    room.carry(&order);
    assert_eq!(room.seen.text(Stream::Out), "lint: a\nlint: b\n");
}

#[test]
fn what_is_no_text_goes_to_a_file_only() {
    let room = Room::new();
    for (command, part) in [(r"printf 'a\0b'", "NUL"), (r"printf 'a\377b'", "UTF-8")] {
        let mut order = bash(command);
        order.capture = Some(Capture::Text);
        let said = failed(room.carry(&order));
        assert_eq!(said.code, 1);
        let message = said.message;
        assert!(
            message.contains(part) && message.contains("file()"),
            "{message}"
        );
        let target = room.at("run/out");
        order.capture = Some(Capture::File(target.clone()));
        done(room.carry(&order));
        assert_eq!(fs::read(target).unwrap().len(), 3);
    }
}

#[test]
fn an_output_too_large_for_the_run_has_a_name() {
    let room = Room::new();
    let mut order = bash("head -c 16777217 /dev/zero | tr '\\0' x");
    order.capture = Some(Capture::Text);
    let said = failed(room.carry(&order));
    assert_eq!((said.code, said.reason), (1, Some("output_too_large")));
    assert!(said.stdout.len() < 600_000);
    order.input["command"] = json!("head -c 16777216 /dev/zero | tr '\\0' x");
    assert_eq!(done(room.carry(&order)).len(), 16_777_216);
}

#[test]
fn a_file_is_replaced_whole_or_stays() {
    let room = Room::new();
    let target = room.at("run/logs/app.log");
    let mut order = bash("printf ' new\\n\\n'");
    order.capture = Some(Capture::File(target));
    done(room.carry(&order));
    assert_eq!(room.read("run/logs/app.log"), " new\n\n");
    order.input["command"] = json!("echo half; exit 4");
    assert_eq!(failed(room.carry(&order)).code, 4);
    assert_eq!(room.read("run/logs/app.log"), " new\n\n");
    order.input["command"] = json!("true");
    done(room.carry(&order));
    assert_eq!(room.read("run/logs/app.log"), "");
    assert_eq!(fs::read_dir(room.at("run/logs")).unwrap().count(), 1);
    order.input["command"] = json!("touch ran");
    order.capture = Some(Capture::File(room.at("run/logs")));
    let said = failed(room.carry(&order));
    assert!(said.message.contains("directory"), "{}", said.message);
    assert!(!room.at("run/ran").exists());
}

#[test]
fn a_large_output_is_kept_up_to_its_bound() {
    let room = Room::new();
    let mut order = bash("yes 0123456789abcde | head -c 200000000; echo end >&2");
    order.read_whole = false;
    let Outcome::Done { stdout, .. } = room.carry(&order) else {
        panic!("it failed");
    };
    assert!(stdout.len() < 600_000 && stdout.contains("199475712 bytes are left out"));
    let files = KeptFiles::of(&room.at("beside"), &order.id, 1);
    assert_eq!(fs::metadata(files.stdout).unwrap().len(), KEPT_BYTES_MAX);
    assert_eq!(fs::read_to_string(files.stderr).unwrap(), "end\n");
}
