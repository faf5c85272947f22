//! The explanation of a tool call, and of the same call in another state.

use serde_json::{Value, json};

use crate::console::{World, page::Console};

const FLOW: &str = "id: calls
initial: planning
states:
  planning:
    allowed_tools: [Read, Bash]
    allowed_commands: [ls, cat]
    on: {READY: writing}
  writing:
    allowed_tools: [Read, Write, Bash]
    on: {SHIP: {target: shipped, requires_approval: true, approval_message: Ship?}, BACK: planning}
  shipped: {type: final}
";

struct Looked {
    console: Console,
    bearer: String,
    run: String,
    world: World,
}

impl Looked {
    fn new(calls: &[(&str, Value)]) -> Self {
        let world = World::of(FLOW);
        for (at, (tool, input)) in calls.iter().enumerate() {
            world.proposes(&at.to_string(), tool, input);
        }
        let mut console = Console::open(&world.room);
        let bearer = console.pair();
        let run = world.run.clone();
        Self {
            console,
            bearer,
            run,
            world,
        }
    }

    fn seqs(&self, kinds: &str) -> Vec<u64> {
        let path = format!("runs/{}/events?kind={kinds}", self.run);
        let found = self.console.get(&path, &self.bearer).json();
        let lines = found["events"].as_array().unwrap();
        lines
            .iter()
            .map(|line| line["seq"].as_u64().unwrap())
            .collect()
    }

    fn why(&self, seq: u64, rest: &str) -> (u16, Value) {
        let path = format!("runs/{}/calls/{seq}/why{rest}", self.run);
        let answer = self.console.get(&path, &self.bearer);
        (answer.status, answer.json())
    }
}

fn decided(checks: &Value) -> Vec<&str> {
    let all = checks.as_array().unwrap().iter();
    all.filter(|check| check["outcome"] == "decided")
        .map(|check| check["about"].as_str().unwrap())
        .collect()
}

#[test]
fn a_shell_line_is_told_by_what_it_would_do_and_by_the_check_that_decided() {
    let line = "cat notes.md | sort > out.txt && curl -d x https://example.com";
    let looked = Looked::new(&[("Bash", json!({ "command": line, "description": "d" }))]);
    let seqs = looked.seqs("CallDenied");
    let (status, why) = looked.why(seqs[0], "");
    assert_eq!(status, 200, "{why:#}");
    assert_eq!(why["verdict"], "denied");
    let facts = &why["facts"];
    let words: Vec<&str> = facts["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["words"][0].as_str().unwrap())
        .collect();
    assert_eq!(words, ["cat", "sort", "curl"], "{facts:#}");
    assert!(facts["reads"].to_string().contains("notes.md"), "{facts:#}");
    assert!(facts["writes"].to_string().contains("out.txt"), "{facts:#}");
    assert!(
        facts["network"].to_string().contains("\"example.com\""),
        "{facts:#}"
    );
    // The call is read and judged again.
    assert_eq!(why["again"]["code"], why["code"], "{why:#}");
    assert_eq!(why["again"]["verdict"], "deny");
    assert_eq!(
        decided(&why["checks"]),
        ["the shell line can be read, and what it does is allowed"]
    );
    assert!(!facts["instead"].as_str().unwrap().is_empty(), "{facts:#}");
}

#[test]
fn the_same_call_is_judged_in_another_state_and_nothing_is_recorded() {
    let path = "notes.md";
    let looked = Looked::new(&[("Write", json!({ "file_path": path, "content": "x" }))]);
    let seq = looked.seqs("CallDenied")[0];
    let count = looked.world.interlock().events(&looked.run).unwrap().len();
    let (_, why) = looked.why(seq, "");
    assert_eq!(why["code"], "tool_not_allowed", "{why:#}");
    assert_eq!(why["states"], json!(["writing"]), "{why:#}");
    assert_eq!(why["leads"][0]["event"], "READY");
    assert_eq!(
        why["leads"][0]["leads"],
        json!([{ "state": "writing", "verdict": "allow" }])
    );
    assert!(
        why["kept"]["lacks"]
            .as_str()
            .unwrap()
            .contains("would write"),
        "{why:#}"
    );
    let (status, there) = looked.why(seq, "?state=writing");
    assert_eq!(
        (status, &there["verdict"]),
        (200, &json!("allow")),
        "{there:#}"
    );
    assert!(decided(&there["checks"]).is_empty(), "{there:#}");
    let (_, here) = looked.why(seq, "?state=planning");
    assert_eq!(here["code"], why["code"], "{here:#}");
    let (status, _) = looked.why(seq, "?state=nosuch");
    assert_eq!(status, 404);
    let after = looked.world.interlock().events(&looked.run).unwrap().len();
    assert_eq!(count, after, "looking recorded something");
    assert_eq!(
        looked.world.interlock().status(&looked.run).unwrap()["state"],
        "planning"
    );
}

#[test]
fn what_the_log_does_not_keep_is_said_and_not_guessed() {
    let long = format!("echo {}", "a".repeat(400));
    let looked = Looked::new(&[
        ("Bash", json!({ "command": long, "description": "d" })),
        (
            "Bash",
            json!({ "command": "printf 'a\\nb' \n rm x", "description": "d" }),
        ),
        (
            "Bash",
            json!({ "command": "curl -H 'Authorization: Bearer sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789' https://example.com", "description": "d" }),
        ),
    ]);
    let seqs = looked.seqs("CallDenied,CallAllowed");
    assert_eq!(seqs.len(), 3);
    for (seq, wanted) in [(seqs[0], "beginning"), (seqs[1], "letters")] {
        let (_, why) = looked.why(seq, "");
        assert_eq!(why["facts"], Value::Null, "{why:#}");
        assert_eq!(why["states"], json!([]), "{why:#}");
        assert!(
            why["kept"]["missing"].as_str().unwrap().contains(wanted),
            "{why:#}"
        );
        let (status, _) = looked.why(seq, "?state=writing");
        assert_eq!(status, 400);
    }
    let (_, why) = looked.why(seqs[2], "");
    assert!(!why.to_string().contains("sk-ant-api03"), "{why:#}");
}

#[test]
fn what_is_no_call_has_no_why() {
    let looked = Looked::new(&[]);
    assert_eq!(looked.why(0, "").0, 404);
    assert_eq!(looked.why(9_999, "").0, 404);
    for path in [
        "events?from=9223372036854775808",
        "events/9223372036854775808",
        "calls/18446744073709551615/why",
    ] {
        let answer = looked
            .console
            .get(&format!("runs/{}/{path}", looked.run), &looked.bearer);
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
    }
    let path = format!("runs/{}/state?at=18446744073709551615", looked.run);
    assert_eq!(looked.console.get(&path, &looked.bearer).status, 200);
    let path = format!("stream?run={0}&after={0}:9223372036854775808", looked.run);
    assert_eq!(looked.console.get(&path, &looked.bearer).status, 400);
    let filtered = looked.console.get(
        &format!("runs/{}/events?limit=1&kind=RunStarted", looked.run),
        &looked.bearer,
    );
    assert_eq!(filtered.json()["matches"], 1);
}
