//! Changed protected files: they wait in the inbox, and a yes accepts the shown state.

use serde_json::{Value, json};

use crate::console::{World, page::Console};

struct Looking {
    world: World,
    console: Console,
    bearer: String,
}

impl Looking {
    /// Returns a run that is paused because a protected file appeared.
    fn at_a_change() -> Self {
        let world = World::new();
        world.proposes("1", "Read", &json!({ "file_path": "a" }));
        changes(&world, "{\"hooks\": {\"Stop\": [1]}}", "2");
        let mut console = Console::open(&world.room);
        let bearer = console.pair();
        Self {
            world,
            console,
            bearer,
        }
    }

    fn asks(&self) -> Value {
        let inbox = self.console.get("inbox", &self.bearer).json();
        let requests = inbox["requests"].as_array().unwrap().iter();
        let mut of_files = requests.filter(|request| request["kind"] == "protected");
        of_files.next().cloned().unwrap_or_default()
    }

    fn answers(&self, ask: &Value, decision: &str) -> u16 {
        let body = json!({
            "request": ask["id"], "decision": decision, "digest": ask["digest"], "seen_seq": ask["seen_seq"],
        });
        self.tells("answers", &body)
    }

    fn tells(&self, what: &str, body: &Value) -> u16 {
        let path = format!("runs/{}/{what}", self.world.run);
        self.console.post(&path, Some(&self.bearer), body).status
    }

    fn status(&self) -> Value {
        self.world.interlock().status(&self.world.run).unwrap()["status"].clone()
    }
}

/// Changes a protected file, and makes a call by the agent, which detects it.
fn changes(world: &World, text: &str, id: &str) {
    world.room.write(".claude/settings.json", text).unwrap();
    world.proposes(id, "Read", &json!({ "file_path": "a" }));
}

#[test]
fn a_changed_protected_file_waits_until_a_person_accepts_it_as_it_was_shown() {
    let looking = Looking::at_a_change();
    assert_eq!(looking.status(), "paused");
    let ask = looking.asks();
    let rows = ask["rows"].to_string();
    assert!(rows.contains(".claude/settings.json"), "{ask:#}");
    let listed = looking.console.get("runs", &looking.bearer).json();
    assert_eq!(listed["runs"][0]["waiting"], 1, "{listed:#}");
    // Resuming without reviewing it is refused, and there is no button for that.
    assert_eq!(looking.tells("resume", &json!({})), 409);
    let run = format!("runs/{}", looking.world.run);
    let detail = looking.console.get(&run, &looking.bearer).json();
    assert_eq!(detail["can"]["resume"], false, "{detail:#}");
    // A later change was not shown.
    changes(&looking.world, "{\"hooks\": {\"Stop\": [2]}}", "3");
    assert_eq!(looking.answers(&ask, "yes"), 409);
    assert_eq!(looking.status(), "paused");
    let newer = looking.asks();
    assert_ne!(newer["digest"], ask["digest"]);
    assert_eq!(looking.answers(&newer, "yes"), 200);
    assert_eq!(looking.status(), "running");
    assert_eq!(looking.asks(), Value::Null);
    // The answer counts once, and nothing is pending that could be answered again.
    assert_eq!(looking.answers(&newer, "yes"), 409);
}

#[test]
fn what_has_changed_since_a_file_was_shown_is_not_accepted_with_it() {
    let looking = Looking::at_a_change();
    let ask = looking.asks();
    // The new change has not been detected yet.
    let settings = ".claude/settings.json";
    let other = "{\"hooks\": {\"Stop\": [3]}}";
    looking.world.room.write(settings, other).unwrap();
    assert_eq!(looking.answers(&ask, "yes"), 200);
    // The next call detects it, and does not run.
    looking
        .world
        .proposes("4", "Read", &json!({ "file_path": "a" }));
    assert_eq!(looking.status(), "paused");
    let newer = looking.asks();
    assert_ne!(newer["digest"], ask["digest"]);
    assert!(newer["rows"].to_string().contains(settings), "{newer:#}");
    let denied = looking.world.events("CallDenied");
    assert_eq!(denied.last().unwrap()["refusal"]["code"], "paused");
    // In the state that was shown, it is accepted.
    let shown = "{\"hooks\": {\"Stop\": [1]}}";
    looking.world.room.write(settings, shown).unwrap();
    assert_eq!(looking.answers(&newer, "yes"), 200);
}

#[test]
fn a_no_to_a_changed_protected_file_ends_the_run() {
    let looking = Looking::at_a_change();
    assert_eq!(looking.answers(&looking.asks(), "no"), 200);
    assert_eq!(looking.status(), "cancelled");
}
