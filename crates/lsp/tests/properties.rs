//! For any client: texts stay equal on both sides, every request gets one answer, and nothing panics.

use interlock_formats::{NoWorkflows, check};
use interlock_lsp::{Position, Server, Text, read_message};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::URI;

/// Pieces of generated texts: syntax, keywords of the formats, and characters of every width.
const PIECES: &[&str] = &[
    "\n",
    "\r\n",
    "\r",
    "  ",
    "    ",
    " ",
    "- ",
    ": ",
    ":",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\"",
    "'",
    "\\",
    "#",
    " # ",
    "|",
    ">",
    ">-\n",
    "&a ",
    "*a",
    "!t ",
    "? ",
    "---\n",
    "\t",
    "\u{feff}",
    "id",
    "states",
    "stages",
    "initial",
    "on",
    "guards",
    "guard",
    "target",
    "start-at",
    "next",
    "state_id",
    "machines",
    "arguments",
    "allowed_tools",
    "type",
    "final",
    "w",
    "workflows",
    "0",
    "-1",
    "true",
    "\u{fc}",
    "\u{1f600}",
    "\u{200d}",
    "\u{10ffff}",
    "\0",
];

fn text() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(PIECES);
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn position() -> impl Strategy<Value = Position> {
    (0..12_usize, 0..24_usize).prop_map(|(line, character)| Position { line, character })
}

/// A text as UTF-16 units, changed in the simplest way.
struct Reference(Vec<u16>);

impl Reference {
    /// Returns where each line begins and where it ends without its line break.
    fn lines(&self) -> Vec<(usize, usize)> {
        let (cr, lf) = (u16::from(b'\r'), u16::from(b'\n'));
        let mut lines = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < self.0.len() {
            let unit = self.0[at];
            if unit == lf || unit == cr {
                lines.push((start, at));
                let pair = unit == cr && self.0.get(at + 1) == Some(&lf);
                at += if pair { 2 } else { 1 };
                start = at;
            } else {
                at += 1;
            }
        }
        lines.push((start, self.0.len()));
        lines
    }

    fn unit(&self, position: Position) -> usize {
        let lines = self.lines();
        let Some((start, end)) = lines.get(position.line).copied() else {
            return self.0.len();
        };
        let at = (start + position.character).min(end);
        // The middle of a surrogate pair is moved to its beginning.
        let is_low = self
            .0
            .get(at)
            .is_some_and(|unit| (0xdc00..0xe000).contains(unit));
        if is_low && at > start { at - 1 } else { at }
    }

    fn replace(&mut self, start: Position, end: Position, with: &str) {
        let (start, end) = (self.unit(start), self.unit(end));
        self.0
            .splice(start.min(end)..start.max(end), with.encode_utf16());
    }
}

/// Returns any value that may occur in a message.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(1e300)),
        text().prop_map(Value::from),
        Just(json!(URI)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let key = proptest::sample::select(vec![
            "uri",
            "textDocument",
            "position",
            "line",
            "character",
            "text",
            "version",
            "range",
            "start",
            "end",
            "contentChanges",
            "id",
        ]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::btree_map(key, inner, 0..4).prop_map(|map| {
                map.into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()
            }),
        ]
    })
}

/// Returns a message of a well-behaved client or of another one.
fn message() -> impl Strategy<Value = Value> {
    let at = |Position { line, character }| json!({ "line": line, "character": character });
    let uri = proptest::sample::select(vec![
        URI,
        "file:///p/.flowstate/a.yaml",
        "file:///p/.interlock/workflows/a.json",
    ]);
    let asked = proptest::sample::select(vec![
        "textDocument/completion",
        "textDocument/hover",
        "textDocument/definition",
        "textDocument/documentSymbol",
    ]);
    let method = proptest::sample::select(vec![
        "initialize",
        "shutdown",
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/didClose",
        "textDocument/didSave",
        "textDocument/completion",
        "$/cancelRequest",
        "no/such",
    ]);
    prop_oneof![
        4 => (uri.clone(), text()).prop_map(|(uri, text)| json!({
            "method": "textDocument/didOpen",
            "params": { "textDocument": { "uri": uri, "version": 1, "text": text } },
        })),
        4 => (uri.clone(), position(), position(), text()).prop_map(move |(uri, start, end, text)| json!({
            "method": "textDocument/didChange",
            "params": {
                "textDocument": { "uri": uri, "version": 2 },
                "contentChanges": [{ "range": { "start": at(start), "end": at(end) }, "text": text }],
            },
        })),
        8 => (uri, asked, position()).prop_map(move |(uri, method, position)| json!({
            "id": 0, "method": method,
            "params": { "textDocument": { "uri": uri }, "position": at(position) },
        })),
        1 => (method.clone(), value()).prop_map(|(method, params)| json!({ "id": 0, "method": method, "params": params })),
        1 => (method, value()).prop_map(|(method, params)| json!({ "method": method, "params": params })),
        1 => value(),
    ]
}

/// Runs the server until no work is left.
fn work(server: &mut Server, answered: &mut Vec<Value>) {
    loop {
        while !server.is_idle() {
            answered.extend(server.step());
        }
        let Some(job) = server.job() else {
            return;
        };
        server.finish(job.run(&|source| check(source, &NoWorkflows)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_text_is_changed_as_the_client_changes_it(
        text in text(),
        edits in proptest::collection::vec((position(), position(), text()), 0..8),
    ) {
        let mut reference = Reference(text.encode_utf16().collect());
        let mut ours = Text::new(text);
        for (start, end, with) in edits {
            reference.replace(start, end, &with);
            ours.replace(start, end, &with);
            prop_assert_eq!(ours.as_str(), String::from_utf16(&reference.0).unwrap());
        }
        for (byte, _) in ours.as_str().char_indices() {
            let at = ours.position(byte);
            let back = ours.byte(at);
            // Only a position within a line break is moved to the end of its line.
            prop_assert!(back == byte || ours.as_str().get(back..byte) == Some("\r"));
        }
    }

    #[test]
    fn every_request_has_one_answer_and_nothing_panics(
        messages in proptest::collection::vec(message(), 1..24),
    ) {
        let mut server = Server::new();
        server.receive(json!({ "id": "first", "method": "initialize", "params": {} }));
        let mut asked = vec![json!("first")];
        let mut answered = Vec::new();
        for (number, mut message) in messages.into_iter().enumerate() {
            let is_request = message.get("method").is_some_and(Value::is_string)
                && message.get("id").is_some();
            if is_request {
                message["id"] = json!(number);
                asked.push(json!(number));
            }
            server.receive(message);
            if number % 3 == 0 {
                answered.extend(server.step());
            }
            if number % 5 == 0 {
                work(&mut server, &mut answered);
            }
        }
        work(&mut server, &mut answered);
        for id in asked {
            let count = answered.iter().filter(|one| one.get("id") == Some(&id)).count();
            prop_assert_eq!(count, 1, "{}", id);
        }
        for message in &answered {
            let ranges = message.pointer("/params/diagnostics").and_then(Value::as_array);
            for one in ranges.into_iter().flatten() {
                let at = |end: &str| (
                    one["range"][end]["line"].as_u64().unwrap(),
                    one["range"][end]["character"].as_u64().unwrap(),
                );
                prop_assert!(at("start") <= at("end"), "{}", one);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut from = bytes.as_slice();
        while let Ok(Some(_)) = read_message(&mut from) {}
        let framed = [b"Content-Length: 9\r\n\r\n".as_slice(), &bytes].concat();
        let _ = read_message(&mut framed.as_slice());
    }
}
