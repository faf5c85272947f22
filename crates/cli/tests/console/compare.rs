//! Two runs side by side, and the log of one judged under another workflow, over HTTP: nothing runs, nothing is
//! written.

use std::{collections::BTreeMap, fs, path::Path};

use interlock_testkit::interlock::before_tool;
use serde_json::{Value, json};

use crate::console::{INTERLOCK, World, page::Console};

const FLOW: &str = "id: shop
initial: planning
context: {n: 0}
states:
  planning:
    allowed_tools: [Read]
    on: {READY: writing}
  writing:
    allowed_tools: [Read, Write, Bash]
    on: {DONE: done}
  done: {type: final}
";
const OTHER_SESSION: &str = "9c1e8f2c-8d2b-4c55-9a3f-0d7f3f0a6c99";

struct Looked {
    world: World,
    console: Console,
    bearer: String,
}

impl Looked {
    /// Returns a run that reads, is denied a write, and continues; in the project, the workflow's file allows more.
    fn new() -> Self {
        let world = World::of(FLOW);
        let newer = FLOW.replace("allowed_tools: [Read]\n", "allowed_tools: [Read, Write]\n");
        let newer = newer.replace("Write, Bash]", "Write]");
        world
            .room
            .write(".interlock/workflows/shop.yaml", &newer)
            .unwrap();
        world.proposes("1", "Read", &json!({ "file_path": "a.md" }));
        world.proposes(
            "2",
            "Write",
            &json!({ "file_path": "a.md", "content": "x" }),
        );
        world.sends("READY", &world.run);
        world.proposes("3", "Bash", &json!({ "command": "ls" }));
        let mut console = Console::open(&world.room);
        let bearer = console.pair();
        Self {
            world,
            console,
            bearer,
        }
    }

    fn what_if(&self, run: &str, body: &Value) -> (u16, Value) {
        let path = format!("runs/{run}/what-if");
        let answer = self.console.post(&path, Some(&self.bearer), body);
        (answer.status, answer.json())
    }

    fn shop(&self) -> String {
        let root = self.world.room.project().canonicalize().unwrap();
        let path = root.join(".interlock/workflows/shop.yaml");
        path.display().to_string()
    }
}

impl World {
    fn sends(&self, event: &str, run: &str) {
        self.interlock()
            .by_a_person(&["send", event, "--run", run])
            .unwrap();
    }
}

fn changes(found: &Value) -> Vec<String> {
    let all = found["differences"].as_array().unwrap().iter();
    all.map(|one| {
        format!(
            "{} {}",
            one["what"].as_str().unwrap(),
            one["change"].as_str().unwrap()
        )
    })
    .collect()
}

/// Reads every file of the project and of the state directory.
fn files(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if let Ok(bytes) = fs::read(&path) {
            found.insert(path.display().to_string(), bytes);
        }
    }
}

#[test]
fn a_log_is_judged_under_the_file_as_it_is_now_and_under_a_draft_and_nothing_is_written() {
    let looked = Looked::new();
    let run = &looked.world.run;
    let events = looked.world.interlock().events(run).unwrap();
    let mut before = BTreeMap::new();
    files(&looked.world.room.project(), &mut before);

    let (status, found) = looked.what_if(run, &json!({ "workflow": "shop" }));
    assert_eq!(status, 200, "{found:#}");
    assert_eq!(changes(&found), ["Write a.md possible", "Bash ls refused"]);
    assert_eq!(found["first"], found["differences"][0]["seq"]);
    let second = &found["differences"][1];
    assert_eq!(second["now"]["code"], "tool_not_allowed");
    assert_eq!(second["then"]["says"], json!(["allowed"]));
    assert_eq!(second["now"]["state"], json!(["writing"]));

    // The text of the run's own workflow, as a draft: no differences.
    let draft = |text: &str| json!({ "file": looked.shop(), "text": text });
    let (status, found) = looked.what_if(run, &draft(FLOW));
    assert_eq!((status, &found["differing"]), (200, &json!(0)), "{found:#}");
    assert_eq!(found["then"], found["now"]);
    let shut = FLOW.replace(
        "on: {READY: writing}",
        "on: {READY: {target: writing, requires_approval: true}}",
    );
    let (_, found) = looked.what_if(run, &draft(&shut));
    assert_eq!(changes(&found), ["READY asks"]);
    assert_eq!(found["differences"][0]["yes_assumed"], true);
    let (status, found) = looked.what_if(run, &draft("id: shop\ninitial: nowhere\nstates: {}\n"));
    assert_eq!((status, &found["ok"]), (200, &json!(false)), "{found:#}");
    assert!(!found["diagnostics"].as_array().unwrap().is_empty());

    let mut after = BTreeMap::new();
    files(&looked.world.room.project(), &mut after);
    assert_eq!(before, after);
    assert_eq!(looked.world.interlock().events(run).unwrap(), events);
    looked.world.interlock().verify(run).unwrap();
}

#[test]
fn a_draft_reaches_what_other_drafts_reach_and_a_body_names_one_workflow() {
    let looked = Looked::new();
    let run = &looked.world.run;
    fs::write(looked.world.room.project().join("../secret.md"), "${ctx.").unwrap();
    for (file, status) in [("/etc/x.yaml", 404), ("shop.yaml", 404), ("bugfix", 200)] {
        let (found, answer) = looked.what_if(run, &json!({ "file": file, "text": FLOW }));
        assert_eq!(found, status, "{file}: {answer}");
    }
    let outside = "id: shop
stages:
  A: {allowedTools: [Read], completionTool: submit, completionSchema: {}, turnCap: 3, next: end, bodyFile: '../../../secret.md'}
";
    let (status, found) = looked.what_if(run, &json!({ "file": looked.shop(), "text": outside }));
    assert_eq!((status, &found["ok"]), (200, &json!(false)), "{found:#}");
    assert!(
        found.to_string().contains("is outside of the project"),
        "{found:#}"
    );
    for body in [
        json!({}),
        json!({ "workflow": "shop", "file": looked.shop(), "text": FLOW }),
        json!({ "file": looked.shop() }),
        json!({ "workflow": "shop", "force": true }),
    ] {
        let (status, found) = looked.what_if(run, &body);
        assert_eq!(
            (status, &found["error"]["code"]),
            (400, &json!("input")),
            "{body}"
        );
    }
    assert_eq!(looked.what_if(run, &json!({ "workflow": "nope" })).0, 404);
    assert_eq!(
        looked.what_if("nope", &json!({ "workflow": "shop" })).0,
        404
    );
    let elsewhere = json!({ "workflow": "shop", "project": "/etc" });
    assert_eq!(looked.what_if(run, &elsewhere).0, 404);
}

#[test]
fn workflows_of_steps_are_refused_with_the_reason() {
    let looked = Looked::new();
    let steps = "id: steps
stages:
  A: {allowedTools: [Read], completionTool: submit, completionSchema: {}, turnCap: 3, next: end, body: Do it.}
";
    let body = json!({ "file": looked.shop(), "text": steps });
    let (status, found) = looked.what_if(&looked.world.run, &body);
    assert_eq!(
        (status, &found["error"]["code"]),
        (422, &json!("steps")),
        "{found:#}"
    );
    let message = found["error"]["message"].as_str().unwrap();
    assert!(message.contains("judges no agent"), "{message}");
}

#[test]
fn windows_of_differences_follow_each_other() {
    let world = World::of(FLOW);
    for at in 0..6 {
        world.proposes(
            &at.to_string(),
            "Read",
            &json!({ "file_path": format!("{at}.md") }),
        );
    }
    let mut console = Console::open(&world.room);
    let bearer = console.pair();
    let looked = Looked {
        world,
        console,
        bearer,
    };
    let shut = FLOW.replace("allowed_tools: [Read]\n", "allowed_tools: [Grep]\n");
    let (mut from, mut seen) = (json!(0), Vec::new());
    for _ in 0..3 {
        let body = json!({ "file": "bugfix", "text": shut, "from": from, "limit": 2 });
        let (_, found) = looked.what_if(&looked.world.run, &body);
        assert_eq!(found["differing"], 6, "{found:#}");
        let all = found["differences"].as_array().unwrap();
        assert_eq!(all.len(), 2);
        seen.extend(changes(&found));
        from = json!(all[1]["seq"].as_u64().unwrap() + 1);
    }
    seen.dedup();
    assert_eq!(seen.len(), 6, "{seen:?}");
}

#[test]
fn two_runs_stand_beside_each_other_with_each_difference_at_its_row() {
    let looked = Looked::new();
    let other = looked
        .world
        .interlock()
        .start_for_session("flow.yaml", OTHER_SESSION)
        .unwrap();
    let proposes = |id: &str, tool: &str, input: &Value| {
        let told = before_tool(&looked.world.room, OTHER_SESSION, id, tool, input);
        let told = looked
            .world
            .room
            .write("told.json", &told.to_string())
            .unwrap();
        let hook = format!("'{INTERLOCK}' hook claude-code < {}", told.display());
        let mut client = looked.world.room.command("find");
        client.args([".", "-maxdepth", "0", "-exec", "sh", "-c", &hook, ";"]);
        let output = client.output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).starts_with('{'));
    };
    proposes("x1", "Read", &json!({ "file_path": "a.md" }));
    looked.world.sends("READY", &other);
    proposes("x3", "Bash", &json!({ "command": "ls" }));
    let path = format!("compare?left={}&right={other}", looked.world.run);
    let found = looked.console.get(&path, &looked.bearer).json();
    assert_eq!(found["same_workflow"], true, "{found:#}");
    assert_eq!(found["differing"], 1, "{found:#}");
    let row = found["differences"][0].as_u64().unwrap();
    let window = found["window"].as_array().unwrap();
    assert_eq!(found["rows"], json!(window.len()));
    let differing = &window[usize::try_from(row).unwrap()];
    assert_eq!(differing["left"]["title"], "CallDenied", "{differing}");
    assert_eq!(
        (&differing["right"], &differing["same"]),
        (&Value::Null, &json!(false))
    );
    for one in window {
        let titles = (&one["left"]["title"], &one["right"]["title"]);
        assert_eq!(one["same"] == true, titles.0 == titles.1, "{one}");
    }
    // A window in the middle is that part of the whole, while a run continues.
    let (left, right) = (&found["left"]["events"], &found["right"]["events"]);
    looked.world.sends("DONE", &other);
    let part = format!("{path}&left_events={left}&right_events={right}&from={row}&limit=2");
    let part = looked.console.get(&part, &looked.bearer).json();
    assert_eq!(
        part["window"],
        json!(window[usize::try_from(row).unwrap()..][..2])
    );
    assert_eq!(part["rows"], found["rows"]);
    let grown = looked.console.get(&path, &looked.bearer).json();
    assert_eq!(grown["differing"], 2, "{grown:#}");
    // A run does not differ from itself.
    let same = format!("compare?left={other}&right={other}");
    let same = looked.console.get(&same, &looked.bearer).json();
    assert_eq!(
        (&same["differing"], &same["differences"]),
        (&json!(0), &json!([]))
    );
    for (path, status) in [
        ("compare", 400),
        ("compare?left=nope&right=nope", 404),
        (&format!("{path}&from=-1"), 400),
        (&format!("{path}&from=99999"), 200),
    ] {
        assert_eq!(
            looked.console.get(path, &looked.bearer).status,
            status,
            "{path}"
        );
    }
}

#[test]
fn only_the_person_compares_and_judges() {
    let looked = Looked::new();
    let run = &looked.world.run;
    let (compare, what_if) = (
        format!("compare?left={run}&right={run}"),
        format!("runs/{run}/what-if"),
    );
    let body = json!({ "workflow": "shop" });
    assert_eq!(looked.console.get(&compare, "wrong").status, 401);
    assert_eq!(looked.console.post(&what_if, None, &body).status, 401);
    let mut foreign = looked.console.headers("POST", Some(&looked.bearer));
    foreign.retain(|(name, _)| name != "Origin");
    let path = format!("/api/v1/{what_if}");
    let answer = looked
        .console
        .send("POST", &path, &foreign, &body.to_string());
    assert_eq!(answer.status, 403, "{answer:?}");
    // A process below the run's agent, with a valid bearer.
    let port = looked.console.port;
    for (method, path, more) in [
        ("GET", compare, String::new()),
        (
            "POST",
            what_if,
            format!(
                "-H 'Content-Type: application/json' -H 'Origin: http://localhost:{port}' -d '{body}'"
            ),
        ),
    ] {
        let line = format!(
            "curl -s -o /dev/null -w '%{{http_code}}' -X {method} {more} -H 'Sec-Fetch-Site: same-origin' \
             -H 'Authorization: Bearer {}' 'http://localhost:{port}/api/v1/{path}'",
            looked.bearer
        );
        let said = looked
            .world
            .below_a_client(("9", "Read", &json!({ "file_path": "a.md" })), &line);
        assert_eq!(said, "403", "{method} {path}");
    }
    assert!(!looked.world.events("ConsoleRefused").is_empty());
}
