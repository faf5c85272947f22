//! The view of trust, and revoking access; requests settled elsewhere; the data of a yes.

use std::{fs, io::Write as _, process::Command};

use serde_json::{Value, json};

use crate::console::{World, page::Console};

#[test]
fn a_page_ends_the_access_of_another_and_of_itself() {
    let world = World::new();
    let mut console = Console::open(&world.room);
    let (first, second) = (console.pair(), console.pair());
    let pages = |bearer: &str| console.get("pairings", bearer).json()["pairings"].clone();
    let seen = pages(&second);
    let owned: Vec<bool> = seen
        .as_array()
        .unwrap()
        .iter()
        .map(|page| page["own"] == true)
        .collect();
    assert_eq!(owned, [false, true], "{seen:#}");
    assert!(!seen.to_string().contains(&second), "{seen:#}");
    let end = |page: &Value, bearer: &str| {
        let path = format!("pairings/{}/end", page["id"].as_str().unwrap());
        console.post(&path, Some(bearer), &json!({})).status
    };
    assert_eq!(end(&seen[0], &second), 200);
    assert_eq!(end(&seen[0], &second), 404, "it is ended");
    assert_eq!(console.get("runs", &first).status, 401);
    assert_eq!(pages(&second).as_array().unwrap().len(), 1);
    assert_eq!(end(&seen[1], &second), 200);
    assert_eq!(console.get("runs", &second).status, 401);
}

#[test]
fn what_touched_protected_things_is_listed_with_its_run() {
    let world = World::new();
    let path = world.room.config().join("interlock/config.toml");
    world.proposes("1", "Write", &json!({ "file_path": path, "content": "x" }));
    world.proposes(
        "2",
        "Write",
        &json!({ "file_path": "a.txt", "content": "x" }),
    );
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let found = console.get("protected", &bearer).json();
    assert_eq!(found["total"], 1, "{found:#}");
    let event = &found["events"][0];
    assert_eq!(
        (&event["run"], &event["title"]),
        (&json!(world.run), &json!("CallDenied")),
        "{found:#}"
    );
    assert!(
        event["detail"].as_str().unwrap().contains("config.toml"),
        "{found:#}"
    );
    let machine = console.get("machine", &bearer).json();
    let levels: Vec<&Value> = machine["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["level"])
        .collect();
    assert!(
        levels
            .iter()
            .all(|level| machine["levels"].as_array().unwrap().contains(level)),
        "{machine:#}"
    );
}

#[test]
fn the_table_of_clients_is_that_of_doctor() {
    let world = World::new();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let page = console.post("doctor", Some(&bearer), &json!({})).json();
    let told = world.interlock().run(&["doctor", "--json"]).unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let without_times = |value: &Value| {
        let mut rows = value["clients"].clone();
        for row in rows.as_array_mut().unwrap() {
            row["answers_ms"] = Value::Null;
        }
        rows
    };
    assert_eq!(without_times(&page), without_times(&told), "{page:#}");
    let whats = |value: &Value| -> Vec<String> {
        let checks = value["checks"].as_array().unwrap().iter();
        checks
            .filter(|check| check["what"] != "notifications")
            .map(|check| check["what"].to_string())
            .collect()
    };
    assert_eq!(whats(&page), whats(&told));
    assert_eq!(console.get("doctor", &bearer).status, 405);
}

#[test]
fn a_yes_may_correct_the_data_of_a_transition() {
    let world = World::of(
        "id: shop
initial: draft
context: {version: '1.3', channel: beta}
states:
  draft:
    on:
      SHIP: {target: shipped, requires_approval: true, approval_message: Ship the release?}
  shipped: {on: {DONE: done}}
  done: {type: final}
",
    );
    let data = json!({ "version": "1.4", "channel": "stable" }).to_string();
    world
        .interlock()
        .by_a_person(&["send", "SHIP", "--run", &world.run, "--data", &data])
        .unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let ask = console.get("inbox", &bearer).json()["requests"][0].clone();
    assert_eq!(
        ask["data"],
        json!({ "version": "1.4", "channel": "stable" }),
        "{ask:#}"
    );
    let answer = |data: Value| {
        let body = json!({
            "request": ask["id"], "decision": "yes", "digest": ask["digest"], "seen_seq": ask["seen_seq"],
            "data": data,
        });
        let answer = console.post(&format!("runs/{}/answers", world.run), Some(&bearer), &body);
        (answer.status, answer.json())
    };
    assert_eq!(answer(json!("text")).0, 400);
    assert_eq!(answer(json!({ "_hidden": 1 })).0, 422, "a reserved key");
    let (status, said) = answer(json!({ "version": "1.4.1" }));
    assert_eq!(status, 200, "{said}");
    let context = world.interlock().status(&world.run).unwrap()["context"].clone();
    assert_eq!(
        (&context["version"], &context["channel"]),
        (&json!("1.4.1"), &json!("stable")),
        "{context:#}"
    );
}

#[test]
fn a_question_of_a_run_of_steps_names_the_commands_that_settle_it() {
    let world = World::new();
    world
        .room
        .write(
            ".flowstate/ask.yaml",
            "start-at: a\nstates:\n  a:\n    tool: ask-user\n    arguments: {question: Where to?, options: [dev, prod]}\n    output: var(env)\n",
        )
        .unwrap();
    let mut command = world.room.command(crate::console::INTERLOCK);
    let output = command.args(["run", "ask", "-n", "q"]).output().unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let inbox = console.get("inbox", &bearer).json();
    let asks = inbox["requests"].as_array().unwrap();
    let ask = asks.iter().find(|ask| ask["kind"] == "question");
    let ask = ask.unwrap_or_else(|| unreachable!("{inbox:#} {output:?}"));
    assert_eq!(
        ask["commands"][1],
        json!({ "line": "interlock resume q --answer TEXT", "says": "answers with this text" }),
        "{ask:#}"
    );
    // A run without a runner does not continue by itself, and that is reported.
    let run = ask["run"].as_str().unwrap();
    let tells = |what: &str| {
        let path = format!("runs/{run}/{what}");
        let answer = console.post(&path, Some(&bearer), &json!({}));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(tells("pause"), "paused");
    let said = tells("resume");
    assert!(
        said.contains(&format!("`interlock resume {run}`")),
        "{said}"
    );
    // Programs that it may have left are ended by the command alone.
    let refused = console.post(&format!("runs/{run}/cancel"), Some(&bearer), &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (400, "input"));
    assert!(refused.body.contains("interlock cancel"), "{refused:?}");
}

/// Starts a run of steps, one of which waits for somebody to write to a pipe.
fn carried_out(world: &World) -> std::process::Child {
    let (pipe, begun) = (world.room.path("pipe"), world.room.path("begun"));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let line = format!(": > '{}'; read _ < '{}'", begun.display(), pipe.display());
    let flow = format!(
        "start-at: a\nstates:\n  a:\n    tool: bash\n    arguments: {{command: {}}}\n",
        json!(line)
    );
    world.room.write(".flowstate/long.yaml", &flow).unwrap();
    let mut command = world.room.command(crate::console::INTERLOCK);
    command.args(["run", "long", "-n", "long"]);
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_run_of_steps_is_cancelled_here_as_long_as_a_process_carries_it_out() {
    let world = World::new();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let mut child = carried_out(&world);
    let long = || {
        let runs = console.get("runs?workflow=long", &bearer).json();
        runs["runs"][0]["id"].as_str().map(str::to_owned)
    };
    let can = |run: &str| {
        let detail = console.get(&format!("runs/{run}"), &bearer).json();
        detail["can"]["cancel"].clone()
    };
    let run = loop {
        // It has started its step, and a runner is active.
        match long() {
            Some(run) if can(&run) == true && world.room.path("begun").exists() => break run,
            _ => assert!(child.try_wait().unwrap().is_none(), "{child:?}"),
        }
    };
    let path = format!("runs/{run}/cancel");
    let answer = console.post(&path, Some(&bearer), &json!({}));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(can(&run), false);
    let detail = console.get(&format!("runs/{run}"), &bearer).json();
    assert_eq!(detail["status"], "cancelled", "{detail:#}");
}

#[test]
fn the_stream_of_one_run_tells_what_waits_in_all() {
    let world = World::new();
    let other = world.interlock();
    let own = other.start_for_session("flow.yaml", "0e7f3c1a-7a52-4d0b-9d43-1f2f3c4d5e6f");
    let own = own.unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let path = format!("stream?run={own}");
            console.stream_until(&path, &bearer, "{\"count\":1}")
        });
        // The notification is about that other run, in whatever order the two events arrive.
        world.asks();
        let said = reader.join().unwrap();
        assert!(said.contains("event: inbox"), "{said}");
    });
}

#[test]
fn a_page_that_goes_away_ends_no_examination() {
    let world = World::new();
    let (begun, end) = (world.room.path("begun"), world.room.path("end"));
    let made = Command::new("mkfifo").args([&begun, &end]).status();
    assert!(made.unwrap().success());
    let line = format!(
        ": > '{}'; read _ < '{}'; echo 1.0.0",
        begun.display(),
        end.display()
    );
    let client = world.room.script("waits.sh", &line).unwrap();
    world.room.install("claude", &client).unwrap();
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let page = console.begin("POST", "doctor", &bearer, "{}");
    // It opens once the client is asked.
    fs::File::open(&begun).unwrap();
    drop(page);
    let other = console.post("doctor", Some(&bearer), &json!({}));
    // Finally, the client ends.
    let mut end = fs::File::options()
        .read(true)
        .write(true)
        .open(&end)
        .unwrap();
    end.write_all(b"\n").unwrap();
    assert_eq!((other.status, other.code().as_str()), (429, "busy"));
}
