//! Reading a run of stages: its conversations, its progress, its pending requests.

use interlock_testkit::provider::{Reply, Script, call, text};
use serde_json::{Value, json};

use crate::stages::place::{Place, RUN_UNATTENDED};

const FLOW: &str = "id: flow
stages:
  Plan:
    body: 'Plan ${ctx.task}'
    allowedTools: [Read]
    completionTool: submit
    completionSchema: { type: object, required: [steps] }
    turnCap: 6
    next: end
";

fn script() -> Script {
    let read = call("Read", json!({"file_path": "src/auth.rs"}));
    let write = call("Write", json!({"file_path": "x", "content": "x"}));
    Script::replies(vec![
        Reply::say(vec![text("I look.\u{1b}[2J"), read, write]),
        Reply::say(vec![text("And now?")]),
        Reply::say(vec![call("submit", json!({}))]),
        Reply::say(vec![call("submit", json!({"steps": []}))]),
    ])
}

#[test]
fn the_conversation_of_each_attempt_is_told() {
    for kind in ["anthropic", "openai"] {
        let place = Place::new(kind, FLOW, script());
        place.call(&["run", "flow", "it", "--headless"]).ended(0);
        let said = place.call(&["log", "--messages", "--json"]).ended(0);
        let lines: Vec<Value> = said
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let roles: Vec<&str> = lines
            .iter()
            .map(|line| line["role"].as_str().unwrap())
            .collect();
        let wanted = "system person request model verdict result verdict verdict request model reminder request model \
                      completion request model completion end";
        assert_eq!(roles.join(" "), wanted);
        assert_eq!(lines[0]["text"], "Plan it");
        assert_eq!(lines[0]["path"], "Plan");
        assert_eq!(lines[1]["text"], "Begin.");
        assert_eq!(lines[2]["model"], json!(format!("{kind}/scripted")));
        assert_eq!(lines[3]["calls"][0]["tool"], "Read");
        assert!(lines[4]["call"].as_str().unwrap().ends_with("t1.c1"));
        assert_eq!(lines[4]["source"], "stage");
        assert!(lines[5]["text"].as_str().unwrap().contains("pub fn check"));
        assert_eq!(lines[6]["verdict"], "ask");
        assert_eq!(lines[7]["code"], "grant_denied");
        assert!(lines[10]["text"].as_str().unwrap().contains("`submit`"));
        assert_eq!(lines[13]["findings"].as_array().unwrap().len(), 1);
        assert_eq!(lines[17]["outcome"], "ok");
        let shown = place.call(&["log", "--messages"]).ended(0).out;
        for words in [
            "Plan, attempt 1\n",
            "    Plan it\n",
            "model KIND/scripted, message 1",
            "t1.c2 denied by grant (grant_denied)",
            "  ok after 4 messages",
        ] {
            let words = words.replace("KIND", kind);
            assert!(shown.contains(&words), "no `{words}` in {shown}");
        }
        assert!(
            !shown.contains('\u{1b}'),
            "no escapes of a model reach the terminal"
        );
        let events = place.call(&["log"]).ended(0).out;
        for words in [
            "attempt 1 with Read",
            "t1.c1 Read",
            "(the stage lists it)",
            "(grant_denied: no_channel",
        ] {
            assert!(events.contains(words), "no `{words}` in {events}");
        }
    }
}

#[test]
fn status_and_list_say_how_far_a_stage_is_and_what_is_asked() {
    let place = Place::new("anthropic", FLOW, script());
    place.call(&RUN_UNATTENDED).ended(75);
    let status = place.status();
    let attempt = &status["attempts"][0];
    assert_eq!(attempt["path"], "Plan");
    assert_eq!(
        (&attempt["attempt"], &attempt["turns"], &attempt["turn_cap"]),
        (&json!(1), &json!(1), &json!(6))
    );
    assert_eq!(attempt["model"], "anthropic/scripted");
    assert!(status["spent"]["input"].as_u64().unwrap() > 0);
    let shown = place.call(&["status"]).ended(0).out;
    for words in ["`Plan`: 1 of 6 messages, ", "anthropic/scripted", "`Write`"] {
        assert!(shown.contains(words), "no `{words}` in {shown}");
    }
    let listed = place.call(&["list", "--json"]).ended(0).out;
    let listed: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!(listed["attempts"], status["attempts"]);
    assert!(
        listed["waits"][0]["message"]
            .as_str()
            .unwrap()
            .contains("`Write`")
    );
}
