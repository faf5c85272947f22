//! A run as a file: what is exported, and which change of it is noticed at which line.

use std::path::Path;

use interlock_core::names::{CallId, Digest};
use interlock_store::{
    ChainHash, Durability, EventLog as _,
    record::{Import, Pin, Row, TransferError, import},
};
use serde_json::{Value, json};

use crate::world::{NOW, World, machine, pause};

/// A store that only notes what it receives.
#[derive(Default)]
struct Noted(Vec<String>);

impl Import for Noted {
    fn pin(
        &mut self,
        pin: &Pin,
        durability: Durability,
    ) -> Result<(), interlock_store::StoreError> {
        self.0.push(format!("pin {} {durability:?}", pin.workflow));
        Ok(())
    }

    fn event(&mut self, row: Row, _: ChainHash) -> Result<(), interlock_store::StoreError> {
        self.0.push(format!("event {}", row.seq));
        Ok(())
    }

    fn machine(&mut self, _: &str, _: &[u8]) -> Result<(), interlock_store::StoreError> {
        self.0.push("machine".to_owned());
        Ok(())
    }

    fn message(&mut self, _: &Digest, bytes: &[u8]) -> Result<(), interlock_store::StoreError> {
        self.0.push(format!("message {bytes:?}"));
        Ok(())
    }

    fn output(&mut self, _: &str, text: &str) -> Result<(), interlock_store::StoreError> {
        self.0.push(format!("output {text}"));
        Ok(())
    }
}

/// Exports a run with two events, another machine, two messages and an output; returns its lines.
fn exported() -> Vec<Value> {
    let world = World::new();
    let mut log = world.start(1);
    log.append(1, NOW + 1, &[pause(1)]).unwrap();
    log.keep_machine(&machine(7)).unwrap();
    log.messages().keep(b"text").unwrap();
    log.messages().keep(&[0xff, 0]).unwrap();
    log.keep_output(&CallId::new("c1"), "printed").unwrap();
    let mut bytes = Vec::new();
    let run = log.run().clone();
    world.home.export_run(&run, &mut bytes, file()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn file() -> &'static Path {
    Path::new("run.jsonl")
}

fn read(lines: &[Value]) -> (Noted, Result<u64, (u64, String)>) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut noted = Noted::default();
    let read = import(&mut text.as_bytes(), file(), &mut noted);
    let read = match read {
        Ok(imported) => Ok(imported.events),
        Err(TransferError::Line { line, what, .. }) => Err((line, what)),
        Err(other) => panic!("{other}"),
    };
    (noted, read)
}

/// Returns the number of the first line of a kind, from 1.
fn line_of(lines: &[Value], kind: &str) -> u64 {
    let at = lines.iter().position(|line| line.get(kind).is_some());
    u64::try_from(at.unwrap()).unwrap() + 1
}

#[test]
fn a_run_comes_out_of_its_file_whole_and_in_order() {
    let (noted, read) = read(&exported());
    assert_eq!(read, Ok(2));
    let mut noted = noted.0;
    // The messages are in the order of their digests.
    noted[3..5].sort();
    assert_eq!(
        noted,
        [
            "pin shop Process",
            "event 0",
            "event 1",
            "machine",
            "message [116, 101, 120, 116]",
            "message [255, 0]",
            "output printed",
        ]
    );
}

#[test]
fn a_changed_line_is_refused_where_it_is() {
    // What was changed, in the first line of which kind, how, and what is said.
    let changes: &[(&str, fn(&mut Value), &str)] = &[
        ("run", |line| line["format"] = json!(2), "it has format 2"),
        ("run", |line| line["name"] = json!(" a"), "` a`"),
        (
            "run",
            |line| line["created_ms"] = json!(u64::MAX),
            "is not a time",
        ),
        (
            "run",
            |line| line["durability"] = json!("forever"),
            "`forever` is not a durability",
        ),
        (
            "run",
            |line| line["workflow"] = json!("other"),
            "its pinned workflow was changed",
        ),
        (
            "run",
            |line| line["source"]["text"] = json!("id: x\n"),
            "its pinned workflow was changed",
        ),
        ("event", |line| line["seq"] = json!(3), "event 0"),
        (
            "event",
            |line| line["at_ms"] = json!(u64::MAX),
            "is not a time",
        ),
        ("event", |line| line["at_ms"] = json!(NOW + 9), "event 0"),
        ("event", |line| line["hash"] = json!("x"), "event 0"),
        ("machine", |line| line["body"] = json!("{}"), "machine `"),
        (
            "machine",
            |line| line["hash"] = json!("0".repeat(64)),
            "machine `0000",
        ),
        (
            "message",
            |line| line["digest"] = json!("0".repeat(64)),
            "message `0000",
        ),
        (
            "message",
            |line| {
                line["text"] = json!("other");
                line["hex"] = json!(null);
            },
            "message `",
        ),
        (
            "message",
            |line| {
                line["text"] = json!("text");
                line["hex"] = json!("74657874");
            },
            "message `",
        ),
        (
            "message",
            |line| {
                line["text"] = json!(null);
                line["hex"] = json!(null);
            },
            "message `",
        ),
        (
            "output",
            |line| line["call"] = json!("c1"),
            "`c1` names no call",
        ),
    ];
    let lines = exported();
    for (kind, change, said) in changes {
        let mut lines = lines.clone();
        let number = line_of(&lines, kind);
        let at = usize::try_from(number).unwrap() - 1;
        change(&mut lines[at][kind]);
        let changed = lines[at].clone();
        let (_, read) = read(&lines);
        let Err((line, what)) = read else {
            panic!("{changed}");
        };
        assert_eq!(line, number, "{changed}: {what}");
        assert!(what.contains(said), "{changed}: {what}");
    }
    // A changed text of an output shows in the hash of all lines.
    let mut lines = lines;
    let at = usize::try_from(line_of(&lines, "output")).unwrap() - 1;
    lines[at]["output"]["text"] = json!("forged");
    let last = u64::try_from(lines.len()).unwrap();
    let said = "the lines before it are not those that were exported".to_owned();
    assert_eq!(read(&lines).1, Err((last, said)));
}

#[test]
fn a_line_too_many_or_too_few_is_refused() {
    let lines = exported();
    let count = u64::try_from(lines.len()).unwrap();
    let without = |kind: &str| {
        let mut lines = lines.clone();
        lines.remove(usize::try_from(line_of(&lines, kind)).unwrap() - 1);
        read(&lines).1.unwrap_err()
    };
    assert_eq!(
        without("run"),
        (1, "the first line should say `run`".to_owned())
    );
    assert!(without("event").1.contains("event 0"));
    let not_exported = "the lines before it are not those that were exported".to_owned();
    for kind in ["machine", "message", "output"] {
        assert_eq!(without(kind), (count - 1, not_exported.clone()), "{kind}");
    }
    assert_eq!(
        without("end"),
        (count, "the file ends before its last line".to_owned())
    );

    let twice = |kind: &str| {
        let mut lines = lines.clone();
        let at = usize::try_from(line_of(&lines, kind)).unwrap();
        lines.insert(at, lines[at - 1].clone());
        let (line, what) = read(&lines).1.unwrap_err();
        (usize::try_from(line).unwrap() - at, what)
    };
    assert_eq!(twice("run"), (1, "the run begins twice".to_owned()));
    for kind in ["machine", "message", "output"] {
        let (after, what) = twice(kind);
        assert_eq!(after, 1, "{kind}");
        assert!(what.ends_with("is there twice"), "{kind}: {what}");
    }
    let said = "there is more after the last line of the run".to_owned();
    assert_eq!(twice("end"), (1, said));

    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let cut = text.trim_end();
    let refused = import(&mut cut.as_bytes(), file(), &mut Noted::default()).unwrap_err();
    assert!(
        refused.to_string().contains("the line is cut off"),
        "{refused}"
    );
}
