//! Secrets that an agent has written into a call, or that are in the data of a transition: no page shows them.

use serde_json::json;

use crate::console::{World, page::Console};

const FLOW: &str = "id: shop
initial: draft
states:
  draft:
    allowed_tools: [Read]
    on_denied: ask
    on:
      SHIP: {target: shipped, requires_approval: true, approval_message: Ship the release?}
  shipped: {on: {DONE: done}}
  done: {type: final}
";
/// One recognized by its form, and one only by its name.
const KEY: &str = "sk-live-0123456789abcdefghij";
const PIN: &str = "blue-elephant-seven";

#[test]
fn what_waits_and_the_log_are_shown_without_their_secrets() {
    let world = World::of(FLOW);
    let address = format!("https://example.com/?key={KEY}");
    world.proposes("1", "WebFetch", &json!({ "url": address, "prompt": "x" }));
    let touches = format!("echo {KEY} > .claude/settings.json");
    world.proposes("2", "Bash", &json!({ "command": touches }));
    let data = json!({ "to": "production", "api_key": KEY, "password": PIN });
    let data = data.to_string();
    let ship = ["send", "SHIP", "--run", &world.run, "--data", &data];
    world.interlock().by_a_person(&ship).unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let run = format!("runs/{}", world.run);
    let events = world.interlock().events(&world.run).unwrap().len();
    let mut paths = vec!["inbox".to_owned(), run.clone(), "protected".to_owned()];
    let parts = [
        "changes",
        "events",
        "timeline",
        "state",
        "state?at=2&with=marks",
    ];
    paths.extend(parts.iter().map(|part| format!("{run}/{part}")));
    paths.extend((0..events).map(|seq| format!("{run}/events/{seq}")));
    paths.push(format!("compare?left={0}&right={0}", world.run));
    let mut shown = String::new();
    for path in paths {
        let answer = console.get(&path, &bearer);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        shown.push_str(&answer.body);
        for secret in [KEY, PIN] {
            assert!(!answer.body.contains(secret), "{path}: {}", answer.body);
        }
    }
    let stream = format!("stream?run={0}&after={0}:0", world.run);
    let said = console.stream_until(&stream, &bearer, "event: run");
    assert!(!said.contains(KEY) && said.contains("WebFetch"), "{said}");
    let alarms = console.get("protected", &bearer).body;
    assert!(alarms.contains("echo [secret]"), "{alarms}");
    // Everything else is shown.
    for told in ["https://example.com/?key=[secret]", "production"] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
}

#[test]
fn what_changed_is_shown_without_its_secrets() {
    let world = World::prepared(FLOW, |room| {
        room.write("settings.toml", "region = \"north\"\n").unwrap();
        let identity = ["-c", "user.name=You", "-c", "user.email=you@example.com"];
        for words in [
            vec!["init", "--quiet"],
            vec!["add", "settings.toml"],
            vec!["commit", "--quiet", "--message", "first"],
        ] {
            let mut git = room.command("git");
            let output = git.args(identity).args(&words).output().unwrap();
            assert!(output.status.success(), "{words:?}: {output:?}");
        }
    });
    let settings = format!("region = \"south\"\nkey = \"{KEY}\"\npassword = \"{PIN}\"\n");
    world.room.write("settings.toml", &settings).unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let answer = console.get(&format!("runs/{}/changes", world.run), &bearer);
    assert_eq!(answer.status, 200, "{answer:?}");
    let diff = answer.json()["diff"].clone();
    for line in ["+region = \"south\"", "+key = \"[secret]\""] {
        assert!(diff.as_array().unwrap().contains(&json!(line)), "{diff}");
    }
    for secret in [KEY, PIN] {
        assert!(!answer.body.contains(secret), "{}", answer.body);
    }
}

#[test]
fn a_masked_value_is_not_taken_for_a_correction() {
    let world = World::of(FLOW);
    let data = json!({ "target": { "host": "a", "password": PIN } }).to_string();
    let ship = ["send", "SHIP", "--run", &world.run, "--data", &data];
    world.interlock().by_a_person(&ship).unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let ask = console.get("inbox", &bearer).json()["requests"][0].clone();
    // A page sends the whole value of a key that was edited in part.
    let mut corrected = ask["data"].clone();
    assert_eq!(corrected["target"]["password"], "[secret]");
    corrected["target"]["host"] = json!("b");
    let mut body = json!({
        "request": ask["id"], "decision": "yes", "digest": ask["digest"], "seen_seq": ask["seen_seq"], "data": corrected,
    });
    let path = format!("runs/{}/answers", world.run);
    let refused = console.post(&path, Some(&bearer), &body);
    assert_eq!((refused.status, refused.code().as_str()), (400, "input"));
    assert!(refused.body.contains("[secret]"), "{refused:?}");
    assert!(world.events("ApprovalGranted").is_empty());
    body["data"] = json!({});
    assert_eq!(console.post(&path, Some(&bearer), &body).status, 200);
    let taken = world.interlock().status(&world.run).unwrap();
    assert_eq!(taken["state"], "shipped");
}
