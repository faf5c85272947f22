//! A corpus of texts that would have an effect if they were interpreted, in every field that an agent fills.

use serde_json::{Value, json};

use crate::console::{World, corpus::corpus, page::Console};

/// Returns whether a text contains a character that steers a terminal or reorders text.
fn steers(text: &str) -> bool {
    text.chars().any(|letter| {
        let code = u32::from(letter);
        (letter.is_control() && letter != '\n')
            || matches!(code, 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2069 | 0xfeff | 0xe0000..=0xe007f)
    })
}

/// Visits every text in a value, including keys.
fn texts(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, each)),
        Value::Object(fields) => {
            for (name, field) in fields {
                each(name);
                texts(field, each);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

const OPEN: &str = "id: open
initial: working
states:
  working:
    on:
      SHIP: {target: done, requires_approval: true}
  done: {type: final}
";

#[test]
fn nothing_that_an_agent_writes_is_more_than_text_in_any_field() {
    let world = World::of(OPEN);
    let corpus = corpus();
    assert!(corpus.len() >= 25, "{}", corpus.len());
    for (at, text) in corpus.iter().enumerate() {
        for (tool, input) in [
            (text.as_str(), json!({ (text.as_str()): text })),
            ("Write", json!({ "file_path": text, "content": text })),
            ("Bash", json!({ "command": text, "description": text })),
        ] {
            world.proposes(&format!("{at} {tool}"), tool, &input);
        }
    }
    // The agent controls the data of a transition, and its own name.
    let mut data = serde_json::Map::new();
    // Keys that begin with `_` are refused.
    for text in corpus.iter().filter(|text| !text.starts_with('_')) {
        data.insert(text.clone(), json!(text));
    }
    let data = Value::Object(data).to_string();
    world
        .interlock()
        .by_a_person(&["send", "SHIP", "--run", &world.run, "--data", &data])
        .unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let events = world.interlock().events(&world.run).unwrap().len();
    let run = format!("runs/{}", world.run);
    let mut paths: Vec<String> = [
        "",
        "/events?limit=1000",
        "/state",
        "/graph",
        "/timeline",
        "/transcript",
        "/changes",
    ]
    .iter()
    .map(|rest| format!("{run}{rest}"))
    .collect();
    paths.extend(["inbox", "runs", "projects", "cost", "protected"].map(str::to_owned));
    paths.extend((0..events).map(|seq| format!("{run}/events/{seq}")));
    let mut seen = 0_usize;
    for path in &paths {
        let answer = console.get(path, &bearer);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let head = answer.head.to_lowercase();
        assert!(head.contains("content-type: application/json"), "{path}");
        assert!(head.contains("x-content-type-options: nosniff"), "{path}");
        texts(&answer.json(), &mut |text| {
            assert!(!steers(text), "{path}: {text:?}");
            seen += usize::from(text.contains("onerror="));
        });
    }
    let stream = format!("stream?run={0}&after={0}:0", world.run);
    let said = console.stream_until(&stream, &bearer, "event: run");
    let lines = said.lines().filter_map(|line| line.strip_prefix("data: "));
    for told in lines.filter_map(|line| serde_json::from_str(line).ok()) {
        texts(&told, &mut |text| {
            assert!(!steers(text), "the stream: {text:?}");
        });
    }
    assert!(said.contains("onerror="), "{said}");
    // The texts were there, as text.
    assert!(seen > 10, "{seen}");
}
