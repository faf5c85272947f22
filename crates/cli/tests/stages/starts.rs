//! Errors before the first stage.

use std::fs;

use interlock_testkit::{
    provider::{Script, call},
    terminal::Terminal,
};
use serde_json::json;

use crate::stages::place::{CODE_REVIEW, Place};

const SMALL: &str = "id: flow
input: { task: { type: string }, times: { type: integer, default: 1 } }
stages:
  Only:
    body: 'Do ${ctx.task} ${ctx.times} times.'
    completionTool: submit
    completionSchema: {}
    turnCap: 3
    next: end
";

fn script() -> Script {
    Script::turns(vec![vec![call("submit", json!({"ok": true}))]; 2])
}

#[test]
fn inputs_are_checked_before_anything_starts() {
    let place = Place::new("anthropic", SMALL, script());
    for (arguments, word) in [
        (&["run", "flow"][..], "the input `task` is missing"),
        (
            &["run", "flow", "x", "--var", "tmes=2"],
            "did you mean `times`?",
        ),
        (
            &["run", "flow", "x", "--var", "times=two"],
            "is a whole number",
        ),
        (&["run", "flow", "--input", "{\"task\": 1}"], "is text"),
        (&["run", "flow", "--input", "words"], "needs a JSON object"),
        (&["run", "flow", "x", "--model", "nowhere/m"], "nowhere"),
    ] {
        place.call(arguments).ended(2).says(&[word]);
    }
    assert!(place.provider.asked().is_empty());
    place
        .call(&["run", "flow", "--input", "{\"task\": \"it\", \"times\": 2}"])
        .ended(0);
    assert!(place.sent().contains("Do it 2 times."));
}

#[test]
fn a_missing_key_is_found_before_the_first_stage() {
    let place = Place::new("anthropic", CODE_REVIEW, script());
    let output = place
        .room
        .command(crate::stages::place::INTERLOCK)
        .args(["run", "flow", "x"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("ANTHROPIC_API_KEY"), "{said}");
}

#[test]
fn a_project_that_widens_does_not_start_where_nobody_is_asked() {
    let place = Place::new("anthropic", SMALL, script());
    place
        .room
        .write(".interlock/config.toml", "[stages]\nmode = \"yolo\"\n")
        .unwrap();
    for headless in [
        &["run", "flow", "x"][..],
        &["run", "flow", "x", "--headless", "--mode", "yolo"],
    ] {
        place
            .call(headless)
            .ended(1)
            .says(&["widens what an agent may do"]);
    }
    assert!(place.provider.asked().is_empty());
    let root = place.project().canonicalize().unwrap();
    let config = place.room.config().join("interlock/config.toml");
    let trusted = format!(
        "{}[trust]\nprojects = [{root:?}]\n",
        fs::read_to_string(&config).unwrap()
    );
    fs::write(&config, trusted).unwrap();
    place.call(&["run", "flow", "x"]).ended(0);
}

#[test]
fn the_mode_of_a_run_is_fixed() {
    let write = call("Write", json!({"file_path": "x", "content": "x"}));
    let place = Place::new(
        "openai",
        SMALL,
        Script::turns(vec![vec![write], vec![call("submit", json!({}))]]),
    );
    place
        .call(&[
            "run",
            "flow",
            "x",
            "-n",
            "one",
            "--ask",
            "remote",
            "--no-wait",
        ])
        .ended(75);
    place
        .by_person(&["resume", "one", "--mode", "yolo"])
        .ended(2)
        .says(&["fixed when it starts"]);
    place.by_person(&["approve", "one"]).ended(0);
    place
        .by_person(&["resume", "one", "--mode", "ask", "--headless"])
        .ended(0);
    assert_eq!(place.room.read("x").as_deref(), Some("x"));
}

#[test]
fn what_the_file_says_of_the_mode_tightens_what_the_command_line_says() {
    for (settings, wrote) in [
        ("", true),
        ("settings: { mode: yolo }\n", true),
        ("settings: { mode: ask }\n", false),
        ("settings: { mode: allowlist, allowlist: [Read] }\n", false),
    ] {
        let write = call("Write", json!({"file_path": "x", "content": "x"}));
        let turns = vec![vec![write], vec![call("submit", json!({}))]];
        let flow = SMALL.replace("stages:", &format!("{settings}stages:"));
        let place = Place::new("anthropic", &flow, Script::turns(turns));
        place
            .call(&["run", "flow", "x", "--mode", "yolo", "--headless"])
            .ended(0);
        assert_eq!(place.room.read("x").is_some(), wrote, "{settings}");
    }
}

#[test]
fn a_person_is_asked_once_whether_a_project_counts_and_the_log_has_the_word() {
    let trusts = "Do you trust this project?";
    for (key, word, model, again) in [
        ("t", "trust", "theirs", false),
        ("m", "this_time", "theirs", true),
        ("n", "no", "scripted", false),
    ] {
        let place = Place::new("anthropic", SMALL, script());
        let own = place.room.config().join("interlock/config.toml");
        let of_person = fs::read_to_string(&own).unwrap();
        // The person has no model that takes precedence over the project's.
        fs::write(&own, "").unwrap();
        let of_project = "default_model = \"anthropic/theirs\"\n";
        place
            .room
            .write(".interlock/config.toml", of_project)
            .unwrap();
        place
            .call(&["run", "flow", "x", "--headless"])
            .ended(1)
            .says(&["widens what an agent may do"]);
        let model_of = |place: &Place| {
            let asked = place.provider.asked();
            let body = String::from_utf8(asked.last().unwrap().bytes.clone()).unwrap();
            serde_json::from_str::<serde_json::Value>(&body).unwrap()["model"].clone()
        };
        if key == "n" {
            fs::write(&own, &of_person).unwrap();
        }
        let mut terminal = Terminal::start(&place.command(&["run", "flow", "x"]), 40, 160).unwrap();
        let shown = terminal
            .wait_for("the question", |screen| screen.contains(trusts))
            .unwrap();
        assert!(shown.contains("default_model"), "{shown}");
        terminal.press(&format!("{key}\n")).unwrap();
        assert!(terminal.end().unwrap().success(), "{key}");
        assert_eq!(model_of(&place), json!(model));
        let events = place.events();
        let said: Vec<_> = events
            .iter()
            .filter(|event| event["event"] == "TrustDecided")
            .collect();
        assert_eq!(said.len(), 1, "{key}: asked once");
        assert_eq!(said[0]["word"], json!(word));
        let headless = place.call(&["run", "flow", "x", "--headless"]);
        let code = if again { 1 } else { 0 };
        headless.ended(code);
        // The word is about what the project's configuration said, and about nothing that is added to it.
        let more = "default_model = \"anthropic/another\"\n";
        place.room.write(".interlock/config.toml", more).unwrap();
        place
            .call(&["run", "flow", "x", "--headless"])
            .ended(1)
            .says(&["widens what an agent may do"]);
    }
}
