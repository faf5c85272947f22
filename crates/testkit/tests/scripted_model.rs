//! The scripted model itself, called directly.

use std::io::{Read, Write};
use std::net::TcpStream;

use interlock_testkit::provider::{Provider, Script, call, text};
use serde_json::{Value, json};

/// Sends one request and returns the body of the answer.
fn ask(model: &Provider, body: &Value) -> String {
    let address = model.url();
    let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "POST /v1/messages?beta=true HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, chunk) = answer.split_once("\r\n\r\n").unwrap();
    let (_, body) = chunk.split_once("\r\n").unwrap();
    body.strip_suffix("\r\n0\r\n\r\n").unwrap().to_owned()
}

fn started(script: Script) -> Provider {
    Provider::start(script.in_session()).unwrap()
}

fn with_results(count: usize) -> Value {
    let call = json!({"type": "tool_use", "id": "t", "name": "Read", "input": {}});
    let result =
        json!({"type": "tool_result", "tool_use_id": "t", "content": "seen", "is_error": true});
    let mut messages = vec![json!({"role": "user", "content": "begin"})];
    for _ in 0..count {
        messages.push(json!({"role": "assistant", "content": [call.clone()]}));
        messages.push(json!({"role": "user", "content": [result.clone()]}));
    }
    json!({"model": "m", "system": "be good", "tools": [{"name": "Read"}], "messages": messages})
}

#[test]
fn turns_are_counted_by_the_results_that_came_back() {
    let read = call("Read", json!({"file_path": "/a"}));
    let model = started(Script::turns(vec![vec![read], vec![text("second")]]));
    let first: Value = serde_json::from_str(&ask(&model, &with_results(0))).unwrap();
    assert_eq!(first.pointer("/stop_reason"), Some(&json!("tool_use")));
    assert_eq!(
        first.pointer("/content/0/input/file_path"),
        Some(&json!("/a"))
    );
    assert_eq!(ask(&model, &with_results(0)), first.to_string());
    assert!(ask(&model, &with_results(1)).contains("second"));
    assert!(ask(&model, &with_results(2)).contains("done"));
}

#[test]
fn a_stream_carries_the_same_message_in_pieces() {
    let model = started(Script::calls(vec![call(
        "Read",
        json!({"file_path": "/a"}),
    )]));
    let mut request = with_results(0);
    request
        .as_object_mut()
        .unwrap()
        .insert("stream".to_owned(), json!(true));
    let events = ask(&model, &request);
    let names = events
        .lines()
        .filter_map(|line| line.strip_prefix("event: "));
    assert_eq!(
        names.collect::<Vec<_>>(),
        [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    let pieces = events.lines().filter_map(|line| {
        let event: Value = serde_json::from_str(line.strip_prefix("data: ")?).unwrap();
        let piece = event.pointer("/delta/partial_json")?;
        Some(piece.as_str().unwrap().to_owned())
    });
    assert_eq!(pieces.collect::<String>(), r#"{"file_path":"/a"}"#);
}

#[test]
fn side_requests_get_ok_and_everything_is_remembered() {
    let model = started(Script::new(|request| {
        vec![text(format!("turn {}", request.rounds()))]
    }));
    assert!(ask(&model, &json!({"model": "m", "messages": []})).contains("\"ok\""));
    assert!(ask(&model, &with_results(1)).contains("turn 1"));
    let requests = model.asked();
    let last = requests.last().unwrap();
    assert_eq!(last.tools(), ["Read"]);
    assert_eq!(last.text(), "be good\nbegin\n\nseen");
    assert_eq!(last.results(), ["seen"]);
    let [read] = &last.calls()[..] else {
        panic!("{last:#?}")
    };
    assert!(read.failed && read.result == "seen" && read.name == "Read");
}

#[test]
fn a_script_without_end_is_ended() {
    let model = started(Script::new(|_| vec![call("Read", json!({}))]));
    for _ in 0..200 {
        assert!(ask(&model, &with_results(0)).contains("tool_use"));
    }
    assert!(ask(&model, &with_results(0)).contains("the script is over"));
}
