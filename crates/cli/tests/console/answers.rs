//! The view of a run, and the effect of an answer.

use serde_json::{Value, json};

use crate::console::{World, page::Console};

/// Pairs a page, and returns the first pending transition.
fn looking(world: &World) -> (Console, String, Value) {
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let inbox = console.get("inbox", &bearer).json();
    let asks = inbox["requests"].as_array().unwrap();
    let ask = asks.iter().find(|ask| ask["kind"] == "approval");
    let ask = ask.cloned().unwrap_or_default();
    (console, bearer, ask)
}

fn answer(console: &Console, run: &str, bearer: &str, ask: &Value, other: &Value) -> (u16, Value) {
    let mut body = json!({
        "request": ask["id"], "decision": "yes", "digest": ask["digest"], "seen_seq": ask["seen_seq"],
    });
    for (key, value) in other.as_object().unwrap() {
        body[key] = value.clone();
    }
    let answer = console.post(&format!("runs/{run}/answers"), Some(bearer), &body);
    (answer.status, answer.json())
}

#[test]
fn a_yes_holds_for_what_was_seen_and_for_nothing_else() {
    let world = World::new();
    world.asks();
    let (console, bearer, ask) = looking(&world);
    assert_eq!(ask["headline"], "SHIP: draft -> shipped");
    for other in [
        json!({ "digest": "00" }),
        json!({ "request": "a99" }),
        json!({ "seen_seq": 0 }),
    ] {
        let (status, said) = answer(&console, &world.run, &bearer, &ask, &other);
        assert!(status == 409 || status == 422, "{other}: {status} {said}");
    }
    for wrong in [
        json!({ "decision": "maybe" }),
        json!({ "seen_seq": -1 }),
        json!({ "more": 1 }),
        json!({ "note": "x".repeat(5_000) }),
    ] {
        let (status, said) = answer(&console, &world.run, &bearer, &ask, &wrong);
        assert_eq!(status, 400, "{wrong}: {said}");
    }
    assert!(world.events("ApprovalGranted").is_empty());
    let (status, said) = answer(&console, &world.run, &bearer, &ask, &json!({}));
    assert_eq!(status, 200, "{said}");
    assert_eq!(said["message"], "approved SHIP: draft -> shipped");
    assert_eq!(world.events("ApprovalGranted").len(), 1);
    assert_eq!(
        world.interlock().status(&world.run).unwrap()["state"],
        "shipped"
    );
    // The same answer again has no effect.
    let (status, _) = answer(&console, &world.run, &bearer, &ask, &json!({}));
    assert_eq!(status, 409);
    assert_eq!(console.get("inbox", &bearer).json()["requests"], json!([]));
}

#[test]
fn a_no_tells_the_agent_why() {
    let world = World::new();
    world.asks();
    let (console, bearer, ask) = looking(&world);
    let no = json!({ "decision": "no", "note": "the plan lacks a rollback" });
    let (status, said) = answer(&console, &world.run, &bearer, &ask, &no);
    assert_eq!(status, 200, "{said}");
    let rejected = world.events("ApprovalRejected");
    assert_eq!(rejected[0]["note"], "the plan lacks a rollback");
    assert_eq!(
        world.interlock().status(&world.run).unwrap()["state"],
        "draft"
    );
}

#[test]
fn a_request_that_came_while_nobody_looked_is_not_answered() {
    let world = World::new();
    world.asks();
    let (console, bearer, ask) = looking(&world);
    // It is answered at a terminal, and asked again: the same question, but another request.
    let interlock = world.interlock();
    interlock.by_a_person(&["reject", &world.run]).unwrap();
    world.asks();
    let (status, said) = answer(&console, &world.run, &bearer, &ask, &json!({}));
    assert_eq!(
        (status, &said["error"]["code"]),
        (409, &json!("moved")),
        "{said}"
    );
    assert!(world.events("ApprovalGranted").is_empty());
}

#[test]
fn a_run_is_paused_resumed_and_cancelled() {
    let world = World::new();
    let (console, bearer, _) = looking(&world);
    let path = format!("runs/{}", world.run);
    let can = |console: &Console| console.get(&path, &bearer).json()["can"].clone();
    assert_eq!(
        can(&console),
        json!({ "pause": true, "resume": false, "cancel": true })
    );
    for (word, event) in [
        ("pause", "RunPaused"),
        ("resume", "RunResumed"),
        ("cancel", "RunCancelled"),
    ] {
        let answer = console.post(&format!("{path}/{word}"), Some(&bearer), &json!({}));
        assert_eq!(answer.status, 200, "{word}: {answer:?}");
        assert_eq!(world.events(event).len(), 1, "{word}");
    }
    assert_eq!(
        can(&console),
        json!({ "pause": false, "resume": false, "cancel": false })
    );
    let answer = console.post(&format!("{path}/pause"), Some(&bearer), &json!({}));
    assert_eq!(answer.status, 422, "{answer:?}");
}

#[test]
fn the_past_is_as_it_was_and_is_only_looked_at() {
    let world = World::new();
    world.proposes(
        "1",
        "Write",
        &json!({ "file_path": "a.txt", "content": "x" }),
    );
    world.asks();
    let (console, bearer, ask) = looking(&world);
    answer(&console, &world.run, &bearer, &ask, &json!({}));
    let path = format!("runs/{}", world.run);
    let get = |rest: &str| console.get(&format!("{path}/{rest}"), &bearer).json();
    let count = get("state")["events"].as_u64().unwrap();
    assert_eq!(get("state")["state"], json!(["shipped"]));
    let before: Vec<Value> = (0..=count)
        .rev()
        .map(|at| get(&format!("state?at={at}")))
        .collect();
    let waits = before
        .iter()
        .filter(|state| state["status"] == "awaiting_approval");
    assert!(waits.count() >= 1, "{before:#?}");
    assert_eq!(before[before.len() - 2]["state"], json!(["draft"]));
    let again = get(&format!("state?at={count}"));
    assert_eq!(again, before[0], "looking changed something");
    // The event of the call that was asked about contains the reason.
    let lines = get("events?kind=GrantRequested");
    let asked = lines["events"][0]["seq"].as_u64().unwrap();
    let why = get(&format!("events/{asked}"))["why"].clone();
    assert_eq!(why["verdict"], "asked", "{why:#}");
    assert_eq!(why["tool"], "Write");
    assert_eq!(why["state"], json!(["draft"]));
    assert!(why["teach"].as_str().unwrap().contains("Read"), "{why:#}");
    let graph = get("graph");
    let text = graph.to_string();
    assert!(
        text.contains("\"name\":\"draft\"") && text.contains("\"name\":\"shipped\""),
        "{text}"
    );
    let marks = get(&format!("graph?at={count}"))["marks"].clone();
    let mut both = get(&format!("state?at={count}&with=marks"));
    assert_eq!(both["marks"].take(), marks, "in one answer");
    both.as_object_mut().unwrap().remove("marks");
    assert_eq!(both, before[0]);
    let here: Vec<&Value> = marks["nodes"].as_object().unwrap().values().collect();
    assert_eq!(
        here.iter().filter(|node| node["here"] == 1).count(),
        1,
        "{marks:#}"
    );
    assert_eq!(get("verify")["ok"], true);
}

#[test]
fn what_an_agent_writes_steers_nothing() {
    let world = World::new();
    let hostile = "\u{202e}gpj.exe\u{200b}\u{1b}[2J<img src=x onerror=alert(1)>";
    world.proposes(
        "1",
        "Write",
        &json!({ "file_path": hostile, "content": hostile }),
    );
    let (console, bearer, _) = looking(&world);
    let path = format!("runs/{}", world.run);
    for path in [
        "inbox".to_owned(),
        format!("{path}/events"),
        format!("{path}/events/1"),
        path.clone(),
    ] {
        let answer = console.get(&path, &bearer);
        assert_eq!(answer.status, 200, "{answer:?}");
        let found = answer.body.contains(['\u{202e}', '\u{200b}', '\u{1b}'])
            || answer.body.contains("\\u001b");
        assert!(!found, "{path}: {}", answer.body);
        assert!(
            answer
                .head
                .to_lowercase()
                .contains("content-type: application/json"),
            "{path}"
        );
    }
    let lines = console.get(&format!("{path}/events"), &bearer).body;
    assert!(lines.contains("<img src=x"), "as text: {lines}");
}

#[test]
fn what_is_not_there_is_said() {
    let world = World::new();
    let (console, bearer, _) = looking(&world);
    for (path, status) in [
        ("nosuch", 404),
        ("runs/01jzzzzzzzzzzzzzzzzzzzzzzz", 404),
        ("runs/..%2f..%2fetc", 404),
        ("runs/01jzzzzzzzzzzzzzzzzzzzzzzz/events", 404),
        ("runs?limit=many", 400),
        ("stream?run=01jzzzzzzzzzzzzzzzzzzzzzzz", 404),
    ] {
        let answer = console.get(path, &bearer);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(
            !answer.json()["error"]["message"]
                .as_str()
                .unwrap()
                .is_empty()
        );
    }
    let beyond = format!("runs/{}/events/9999", world.run);
    assert_eq!(console.get(&beyond, &bearer).status, 404);
}

#[test]
fn a_card_says_what_of_a_call_it_does_not_show() {
    let world = World::new();
    let path = world.room.file("a.txt");
    world.proposes(
        "1",
        "Write",
        &json!({ "file_path": path, "content": "rm -rf ~" }),
    );
    let long = format!("https://example.com/{}EVIL", "a".repeat(300));
    world.proposes("2", "WebFetch", &json!({ "url": long, "prompt": "p" }));
    let (console, bearer, _) = looking(&world);
    let inbox = console.get("inbox", &bearer).json();
    let warned: Vec<&str> = inbox["requests"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|request| request["kind"] == "grant")
        .flat_map(|request| request["rows"].as_array().unwrap())
        .filter(|row| row["warns"] == true)
        .filter_map(|row| row["text"].as_str())
        .collect();
    assert!(
        warned
            .iter()
            .any(|text| text.contains("what it would write")),
        "{inbox:#}"
    );
    assert!(
        warned.iter().any(|text| text.contains("it is longer")),
        "{inbox:#}"
    );
}
