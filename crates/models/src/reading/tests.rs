//! Streams of every kind, whole, cut anywhere, and of any bytes.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]
#![expect(clippy::panic, reason = "a failed test says what it saw")]
#![expect(clippy::indexing_slicing, reason = "a failed test panics")]

use std::{fs, path::Path};

use proptest::prelude::*;

use super::Reading;
use crate::{Answer, Kind, Usage, error::Failure, wire::Names};

/// A stream and the answer that it is.
struct Case {
    name: String,
    kind: Kind,
    stream: Vec<u8>,
    answer: Answer,
}

/// Reads `tests/streams/KIND/NAME.sse` or `.jsonl`, with `NAME.json`.
fn cases() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    let mut cases = Vec::new();
    for kind in Kind::ALL {
        for entry in fs::read_dir(root.join(kind.as_str())).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ext| ext == "json") {
                continue;
            }
            let answer = fs::read(path.with_extension("json")).unwrap();
            cases.push(Case {
                name: path.display().to_string(),
                kind,
                stream: fs::read(&path).unwrap(),
                answer: serde_json::from_slice(&answer).unwrap(),
            });
        }
    }
    cases.sort_by(|one, two| one.name.cmp(&two.name));
    cases
}

/// Reads pieces; what was heard is joined, texts and thoughts apart.
fn read<'p>(
    kind: Kind,
    pieces: impl IntoIterator<Item = &'p [u8]>,
) -> (Result<Answer, Failure>, [String; 2]) {
    let mut heard = [String::new(), String::new()];
    let mut hear = |one: crate::Heard<'_>| match one {
        crate::Heard::Text(text) => heard[0].push_str(text),
        crate::Heard::Thinking(text) => heard[1].push_str(text),
        _ => {}
    };
    let mut reading = Reading::new(kind, Names::default());
    for piece in pieces {
        if let Err(failure) = reading.feed(piece, &mut hear) {
            return (Err(failure), heard);
        }
    }
    let answer = reading.end(&mut hear);
    (answer, heard)
}

/// Cuts at the given places, wherever they lie.
fn cut<'s>(stream: &'s [u8], places: &[usize]) -> Vec<&'s [u8]> {
    let mut places: Vec<usize> = places
        .iter()
        .map(|place| place % (stream.len() + 1))
        .collect();
    places.push(0);
    places.push(stream.len());
    places.sort_unstable();
    places
        .windows(2)
        .map(|two| &stream[two[0]..two[1]])
        .collect()
}

#[test]
fn every_stream_is_the_answer_beside_it() {
    let cases = cases();
    assert!(cases.len() > 40, "{}", cases.len());
    for case in cases {
        let (answer, heard) = read(case.kind, [&case.stream[..]]);
        let answer = answer.unwrap_or_else(|failure| panic!("{}: {failure}", case.name));
        assert_eq!(answer, case.answer, "{}", case.name);
        assert_eq!(heard[0], answer.text(), "{}", case.name);
        let (by_byte, heard_by_byte) = read(case.kind, case.stream.chunks(1));
        assert_eq!(by_byte.unwrap(), answer, "{}", case.name);
        assert_eq!(heard_by_byte, heard, "{}", case.name);
    }
}

#[test]
fn a_beginning_of_a_stream_is_no_answer() {
    for case in cases() {
        // Where every event says that the message may end there, nobody can tell.
        if case.name.contains("(repeated)") {
            continue;
        }
        for end in 0..case.stream.len() {
            if let (Ok(answer), _) = read(case.kind, [&case.stream[..end]]) {
                // What is whole is whole; the counts may be still to come.
                let usage = case.answer.usage;
                assert_eq!(
                    Answer { usage, ..answer },
                    case.answer,
                    "{} until {end}",
                    case.name
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn cuts_change_nothing(at in any::<prop::sample::Index>(), places in prop::collection::vec(any::<usize>(), 0..20)) {
        let cases = cases();
        let case = &cases[at.index(cases.len())];
        let (answer, _) = read(case.kind, cut(&case.stream, &places));
        prop_assert_eq!(answer.unwrap(), case.answer.clone());
    }

    #[test]
    fn damaged_streams_end_in_an_answer_or_a_failure(
        at in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let cases = cases();
        let case = &cases[at.index(cases.len())];
        let mut stream = case.stream.clone();
        for (place, byte) in damage {
            let place = place.index(stream.len());
            stream[place] = byte;
        }
        let (answer, _) = read(case.kind, [&stream[..]]);
        if let Err(failure) = answer {
            prop_assert!(!failure.message.is_empty());
        }
    }

    #[test]
    fn any_bytes_end_in_an_answer_or_a_failure(kind in 0_usize..4, bytes in prop::collection::vec(any::<u8>(), 0..2_000), places in prop::collection::vec(any::<usize>(), 0..5)) {
        let (answer, _) = read(Kind::ALL[kind], cut(&bytes, &places));
        prop_assert!(answer.is_err() || bytes.len() > 10);
    }

    #[test]
    fn any_json_ends_in_an_answer_or_a_failure(kind in 0_usize..4, lines in prop::collection::vec(json_line(), 0..10)) {
        let stream: String = lines.iter().map(|line| match Kind::ALL[kind] {
            Kind::Ollama => format!("{line}\n"),
            _ => format!("data: {line}\n\n"),
        }).collect();
        let _ = read(Kind::ALL[kind], [stream.as_bytes()]);
    }
}

/// Makes documents of the words that the decoders look for, with values of any type.
fn json_line() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "type",
        "index",
        "content_block",
        "delta",
        "text",
        "partial_json",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "choices",
        "candidates",
        "content",
        "parts",
        "functionCall",
        "args",
        "message",
        "done",
        "error",
        "usage",
        "finish_reason",
        "finishReason",
        "id",
        "content_block_start",
        "content_block_delta",
        "tool_use",
        "thinking",
        "signature",
        "message_delta",
        "stop_reason",
    ]);
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        words.clone().prop_map(serde_json::Value::from),
    ];
    let tree = leaf.prop_recursive(5, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((words.clone(), inner), 0..5).prop_map(|pairs| {
                let pairs = pairs
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                serde_json::Value::Object(pairs.collect())
            }),
        ]
    });
    tree.prop_map(|value| value.to_string())
}

/// Feeds `piece` until it is refused; returns why, and how many bytes that took.
fn feed_until_refused(kind: Kind, begin: &str, piece: &str) -> (Failure, usize) {
    let mut reading = Reading::new(kind, Names::default());
    reading.feed(begin.as_bytes(), &mut |_| {}).unwrap();
    let mut bytes = begin.len();
    loop {
        bytes += piece.len();
        if let Err(failure) = reading.feed(piece.as_bytes(), &mut |_| {}) {
            return (failure, bytes);
        }
        assert!(bytes < 200 << 20, "nothing bounds it");
    }
}

#[test]
fn lines_events_messages_and_parts_are_bounded() {
    let block = "x".repeat(1 << 20);
    let (failure, bytes) = feed_until_refused(Kind::OpenAi, "data: ", &block);
    assert!(failure.message.contains("line over 16 MiB") && bytes < 18 << 20);
    assert!(!failure.is_passing);
    let (failure, bytes) = feed_until_refused(Kind::Ollama, "", &block);
    assert!(failure.message.contains("line over 16 MiB") && bytes < 18 << 20);
    // An event of many lines.
    let (failure, bytes) = feed_until_refused(Kind::Gemini, "", &format!("data: {block}\n"));
    assert!(failure.message.contains("over 16 MiB") && bytes < 19 << 20);
    // A message of many events.
    let texts = [
        (
            Kind::OpenAi,
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{block}\"}}}}]}}\n\n"),
        ),
        (
            Kind::OpenAi,
            format!(
                "data: {{\"choices\":[{{\"delta\":{{\"reasoning_content\":\"{block}\"}}}}]}}\n\n"
            ),
        ),
        (
            Kind::OpenAi,
            format!(
                "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\"{block}\"}}}}]}}}}]}}\n\n"
            ),
        ),
        (
            Kind::Gemini,
            format!(
                "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"name\":\"a\",\"args\":{{\"x\":\"{block}\"}}}}}}]}}}}]}}\n\n"
            ),
        ),
        (
            Kind::Ollama,
            format!("{{\"message\":{{\"content\":\"{block}\"}}}}\n"),
        ),
    ];
    for (kind, event) in texts {
        let (failure, bytes) = feed_until_refused(kind, "", &event);
        assert!(
            failure.message.contains("over 64 MiB") && bytes < 70 << 20,
            "{kind}: {failure}"
        );
    }
    let begin = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n";
    let event = format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"signature_delta\",\"signature\":\"{block}\"}}}}\n\n"
    );
    assert!(
        feed_until_refused(Kind::Anthropic, begin, &event)
            .0
            .message
            .contains("over 64 MiB")
    );
    // Many small parts.
    let part = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
    assert!(
        feed_until_refused(Kind::Anthropic, "", part)
            .0
            .message
            .contains("over 10000 parts")
    );
    let part = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"a\"}},{\"id\":\"b\",\"function\":{\"name\":\"b\"}}]}}]}\n\n";
    assert!(
        feed_until_refused(Kind::OpenAi, "", part)
            .0
            .message
            .contains("over 10000 parts")
    );
}

#[test]
fn usage_is_of_the_provider_or_not_at_all() {
    let (answer, _) = read(Kind::OpenAi, [&b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"[..]]);
    assert_eq!(answer.unwrap().usage, Usage::default());
}
