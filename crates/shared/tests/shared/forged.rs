//! Files with valid hashes that were never exported: nothing is imported from them.

use interlock_core::names::RunId;
use interlock_shared::ImportDone;
use interlock_store::{
    Runs as _, SourceFile,
    record::{Pin, Row},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    carried::{exported, import},
    server,
    world::World,
};

/// Changes the lines of a file, and recomputes all its hashes.
fn forged(file: &[u8], change: impl FnOnce(&mut Vec<Value>)) -> Vec<u8> {
    let text = std::str::from_utf8(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines.collect();
    change(&mut lines);
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let (mut written, mut seq, mut hash) = (Vec::new(), 0, None);
    for line in &mut lines {
        if let Some(run) = line.get_mut("run") {
            let pin = Pin {
                run: RunId::new(word(&run["run"])),
                created_ms: run["created_ms"].as_u64().unwrap(),
                project_root: String::new(),
                person_home: String::new(),
                name: run["name"].as_str().map(str::to_owned),
                workflow: word(&run["workflow"]),
                source: SourceFile {
                    name: word(&run["source"]["name"]),
                    text: word(&run["source"]["text"]),
                },
                machine: word(&run["machine"]).into_bytes(),
            };
            run["hash"] = json!(pin.digest());
            hash = Some(pin.digest());
        } else if let Some(event) = line.get_mut("event") {
            let (at_ms, body) = (event["at_ms"].as_u64().unwrap(), word(&event["body"]));
            let (_, next) = Row::chained(seq, at_ms, hash.unwrap(), body.into_bytes());
            (event["seq"], event["hash"]) = (json!(seq), json!(next));
            (seq, hash) = (seq + 1, Some(next));
        } else if let Some(end) = line.get_mut("end") {
            let sum = Sha256::digest(&written);
            let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
            *end = json!({ "events": seq, "hash": hash.unwrap(), "lines_sha256": sum });
        }
        written.extend_from_slice(format!("{line}\n").as_bytes());
    }
    written
}

type Change = fn(&mut Vec<Value>);

fn place_of(lines: &[Value], kind: &str) -> usize {
    let place = lines.iter().position(|line| line.get(kind).is_some());
    place.unwrap()
}

/// Each forgery, the line that the error names, and the error's message.
const LIES: &[(Change, usize, &str)] = &[
    (
        |lines| lines[6]["event"]["at_ms"] = json!(u64::MAX),
        7,
        "is not a time",
    ),
    (
        |lines| lines[0]["run"]["created_ms"] = json!(1_u64 << 63),
        1,
        "is not a time",
    ),
    (
        |lines| lines[0]["run"]["name"] = json!("\u{1b}[2Jfix"),
        1,
        "control character",
    ),
    (
        |lines| lines[0]["run"]["workflow"] = json!("shop2"),
        1,
        "names workflow `shop2`, and its machine is `shop`",
    ),
    (
        |lines| lines[0]["run"]["source"]["name"] = json!("@nowhere/x"),
        1,
        "not a mark",
    ),
    (
        |lines| {
            let begins = lines[1]["event"]["body"].as_str().unwrap();
            let mut other: Value = serde_json::from_str(begins).unwrap();
            let kind = other.as_object_mut().unwrap().values_mut().next().unwrap();
            kind["run"] = json!("7zzzzzzzzzzzzzzzzzzzzzzzzz");
            lines[4]["event"]["body"] = json!(other.to_string());
        },
        5,
        "event 3 does not follow from those before it",
    ),
    (
        |lines| {
            lines.remove(place_of(lines, "machine"));
        },
        48,
        "that the run has moved to is missing",
    ),
    (
        |lines| {
            let at = place_of(lines, "output");
            lines.insert(at, lines[at].clone());
        },
        49,
        "is there twice",
    ),
];

#[test]
fn what_could_never_be_opened_is_not_imported() {
    let world = World::new();
    let Some(runs) = server::runs(&world) else {
        return;
    };
    let (_local, run, file) = exported();
    for (lie, line, named) in LIES {
        let error = import(&runs, &forged(&file, lie)).unwrap_err().to_string();
        assert!(error.contains(named), "{named}: {error}");
        let place = format!("`run.jsonl`, line {line}:");
        assert!(error.starts_with(&place), "{named}: {error}");
        assert_eq!(runs.ids().unwrap(), [], "{named}");
    }
    let twice = [&file[..], &file[..]].concat();
    let error = import(&runs, &twice).unwrap_err().to_string();
    assert!(error.contains("line 50: there is more after"), "{error}");
    assert_eq!(runs.ids().unwrap(), []);
    // Apart from the forgeries, the file is valid.
    let same = import(&runs, &forged(&file, |_| {})).unwrap();
    assert!(matches!(same, ImportDone::Made(done) if done.run == run));
    assert_eq!(runs.open(&run).unwrap().verify().unwrap(), 43);
}
