//! Writing workflows: `new`, and the commands that find the project's own workflow if no file is given.

use std::process::{Output, Stdio};

use interlock_testkit::room::Room;
use serde_json::{Value, json};

const INTERLOCK: &str = env!("CARGO_BIN_EXE_interlock");

const FLOW: &str = "id: flow
initial: draft
states:
  draft: {allowed_tools: [Read], on: {SHIP: done}}
  done: {type: final}
";

fn room() -> Room {
    let room = Room::new().unwrap();
    room.write(".interlock/config.toml", "").unwrap();
    room
}

fn call(room: &Room, arguments: &[&str]) -> Output {
    room.command(INTERLOCK)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Checks the exit code and returns the standard output.
fn out(room: &Room, arguments: &[&str], code: i32) -> String {
    let output = call(room, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?} {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Checks that a command fails with a message that contains `parts`.
fn refused(room: &Room, arguments: &[&str], code: i32, parts: &[&str]) {
    let output = call(room, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?} {output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    for part in parts {
        assert!(said.contains(part), "{arguments:?}: `{part}` not in {said}");
    }
}

#[test]
fn new_writes_a_workflow_that_checks_and_passes_its_own_cases() {
    let room = room();
    room.write(
        "package.json",
        r#"{"scripts": {"test": "vitest run", "lint": "eslint ."}}"#,
    )
    .unwrap();
    let said = out(&room, &["new", "shop", "--client", "codex", "--json"], 0);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["tests"], json!(["npm test"]));
    assert_eq!(said["allowed"], json!(["npm run lint"]));
    assert_eq!(said["clients"], json!(["codex"]));
    let written = room.read(".interlock/workflows/shop.yaml").unwrap();
    let first = written.lines().next().unwrap();
    let schema = first.strip_prefix("# yaml-language-server: $schema=../");
    let schema = room
        .read(&format!(".interlock/{}", schema.unwrap()))
        .unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["$id"], "urn:interlock:schema:native");
    assert!(written.contains("apply_patch"), "{written}");
    assert!(out(&room, &["check", "--deny-warnings"], 0).contains("ok"));
    let said = out(&room, &["check", "--json"], 0);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["properties"][0]["names"].as_array().unwrap().len(), 4);
    assert!(out(&room, &["test"], 0).contains("5 passed, 0 failed"));
    let said = out(&room, &["prove", "shop"], 0);
    assert!(
        said.contains("holds    it is completed only with a person"),
        "{said}"
    );
}

#[test]
fn new_writes_over_nothing_and_nothing_that_does_not_hold() {
    let room = room();
    room.write("go.mod", "module shop\n").unwrap();
    let workflow = ".interlock/workflows/work.yaml";
    let shown = out(&room, &["new", "--dry-run"], 0);
    assert!(shown.contains("go test ./..."), "{shown}");
    assert!(room.read(workflow).is_none());
    refused(
        &room,
        &["new", "--yes", "--test", "go test ./... | tail"],
        1,
        &["go test ./... | tail", "nothing was written"],
    );
    assert!(room.read(workflow).is_none());
    out(&room, &["new", "--yes"], 0);
    let before = room.read(workflow).unwrap();
    refused(
        &room,
        &["new", "--yes", "--test", "make"],
        1,
        &["already", "work2"],
    );
    assert_eq!(room.read(workflow).unwrap(), before);
}

#[test]
fn new_leaves_the_cases_of_somebody_else_alone() {
    let room = room();
    room.write("go.mod", "module shop\n").unwrap();
    room.write(".interlock/workflows/work.test.yaml", "mine")
        .unwrap();
    refused(&room, &["new", "--yes"], 1, &["work.test.yaml"]);
    assert!(room.read(".interlock/workflows/work.yaml").is_none());
    let cases = room.read(".interlock/workflows/work.test.yaml").unwrap();
    assert_eq!(cases, "mine");
}

#[test]
fn new_asks_for_a_command_that_nothing_names() {
    let room = room();
    refused(&room, &["new", "--yes"], 2, &["--test"]);
    out(&room, &["new", "--yes", "--test", "sh check.sh"], 0);
}

#[test]
fn without_a_file_the_workflows_of_the_project_are_meant() {
    let room = room();
    for command in ["check", "graph", "simulate"] {
        refused(&room, &[command], 2, &["no workflow", "interlock new"]);
    }
    room.write(".interlock/workflows/flow.yaml", FLOW).unwrap();
    assert!(out(&room, &["check"], 0).contains("ok .interlock/workflows/flow.yaml"));
    assert!(out(&room, &["graph"], 0).contains("draft"));
    out(&room, &["simulate"], 0);
    room.write(
        ".interlock/workflows/other.yaml",
        &FLOW.replace("done", "end"),
    )
    .unwrap();
    refused(&room, &["graph"], 2, &["`flow`", "`other`"]);
    room.write(".interlock/config.toml", "workflow = \"other\"\n")
        .unwrap();
    assert!(out(&room, &["graph"], 0).contains("end"));
}

#[test]
fn a_folder_is_checked_whole() {
    let room = room();
    room.write("flows/good.yaml", FLOW).unwrap();
    room.write("flows/deep/bad.yaml", &FLOW.replace("draft:", "draught:"))
        .unwrap();
    room.write("flows/broken.yaml", "id: [").unwrap();
    room.write("flows/package.json", "{\"name\": \"x\"}")
        .unwrap();
    room.write("flows/good.test.yaml", "workflow: good.yaml\ncases: []\n")
        .unwrap();
    let output = call(&room, &["check", "flows"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("ok flows/good.yaml"), "{said}");
    assert!(said.contains("failed flows/deep/bad.yaml"), "{said}");
    assert!(said.contains("failed flows/broken.yaml"), "{said}");
    assert!(!said.contains("package.json"), "{said}");
    refused(
        &room,
        &["check", ".interlock"],
        2,
        &["there is no workflow in"],
    );
}

#[test]
fn a_wrong_name_is_answered_with_the_near_one() {
    let room = room();
    room.write("flow.yaml", FLOW).unwrap();
    for (arguments, near) in [
        (&["check", "bugfxi"][..], "`bugfix`"),
        (&["start", "bugfixx"], "`bugfix`"),
        (&["check", "flwo.yaml"], "`flow.yaml`"),
        (&["graph", "fetaure"], "`feature`"),
        (&["explain", "flow.yaml", "drfat", "ls"], "`draft`"),
        (&["init", "cluade-code"], "`claude-code`"),
        (&["init", "--workflow", "bugfxi"], "`bugfix`"),
        (&["new", "--test", "x", "--client", "codx"], "`codex`"),
        (&["chekc"], "'check'"),
    ] {
        let output = call(&room, arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?} {said}");
        assert!(said.contains(near), "{arguments:?}: {said}");
    }
}

#[test]
fn workflows_are_listed_by_whom_they_are_from() {
    let room = room();
    room.write(".interlock/workflows/flow.yaml", FLOW).unwrap();
    room.write(
        ".interlock/workflows/steps.yaml",
        "description: Say hello.\nstart-at: a\nstates: {a: {action: {bash: echo hi}, next: end}}\n",
    )
    .unwrap();
    let text = out(&room, &["workflows"], 0);
    let own = text.find("of this project").unwrap();
    let shipped = text.find("shipped").unwrap();
    assert!(own < text.find("flow ").unwrap() && text.find("flow ").unwrap() < shipped);
    assert!(text.contains("Fix a bug"), "{text}");
    let lines: Vec<Value> = out(&room, &["workflows", "--json"], 0)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let named = |name: &str| lines.iter().find(|line| line["name"] == name).unwrap();
    assert_eq!(named("flow")["format"], "native");
    assert_eq!(named("steps")["format"], "flowstate");
    assert_eq!(named("steps")["about"], "Say hello.");
    assert_eq!(named("bugfix")["origin"], "shipped");
}

#[test]
fn runs_are_listed_without_the_workflows() {
    let room = room();
    room.write(".interlock/workflows/flow.yaml", FLOW).unwrap();
    assert_eq!(out(&room, &["runs"], 0), "");
    out(&room, &["start", "flow", "--name", "one"], 0);
    assert!(out(&room, &["runs"], 0).contains("(one)"));
    assert_eq!(out(&room, &["runs"], 0), out(&room, &["list"], 0));
}

#[test]
fn the_first_screen_of_help_is_in_groups_and_fits_the_terminal() {
    let room = room();
    for (columns, width) in [("100", 100), ("40", 40)] {
        let mut help = room.command(INTERLOCK);
        let help = help.env("COLUMNS", columns).arg("--help").output().unwrap();
        let text = String::from_utf8(help.stdout).unwrap();
        for group in [
            "Guard an agent:",
            "Run steps:",
            "People:",
            "Look:",
            "Tools:",
        ] {
            assert!(text.contains(group), "{group}: {text}");
        }
        let commands = text.split("Options:").next().unwrap();
        let long = commands.lines().find(|line| line.chars().count() > width);
        assert_eq!(long, None, "{columns}");
    }
}

#[test]
fn a_shell_completes_workflows_states_runs_and_events() {
    let room = room();
    room.write(".interlock/workflows/flow.yaml", FLOW).unwrap();
    out(&room, &["start", "flow", "--name", "login"], 0);
    let complete = |words: &[&str]| {
        let mut command = room.command(INTERLOCK);
        command
            .env("INTERLOCK_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
            .arg("--")
            .args(words);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?} {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(complete(&["interlock", "start", "fl"]).contains(&"flow".to_owned()));
    assert_eq!(complete(&["interlock", "explain", "flow", "dr"]), ["draft"]);
    assert_eq!(complete(&["interlock", "status", "lo"]), ["login"]);
    assert_eq!(complete(&["interlock", "send", "SH"]), ["SHIP"]);
    assert_eq!(
        complete(&["interlock", "send", "SH", "--run", "lo"]),
        ["login"]
    );
    assert!(out(&room, &["completions", "bash"], 0).contains("INTERLOCK_COMPLETE"));
}

#[test]
fn the_log_shows_a_call_in_a_line_and_the_time_of_this_place() {
    let room = room();
    room.write("flow.yaml", FLOW).unwrap();
    out(&room, &["start", "flow.yaml", "--session", "s1"], 0);
    for (tool, input) in [
        ("Read", json!({"file_path": "a"})),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "b", "new_string": "c"}),
        ),
    ] {
        let payload = json!({
            "session_id": "s1", "hook_event_name": "PreToolUse", "tool_name": tool,
            "tool_input": input, "tool_use_id": tool, "cwd": room.project(),
        });
        let mut hook = room.command(INTERLOCK);
        let mut hook = hook
            .args(["hook", "claude-code"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = hook.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, payload.to_string().as_bytes()).unwrap();
        drop(input);
        hook.wait().unwrap();
    }
    let shown = |zone: &str| {
        let mut log = room.command(INTERLOCK);
        let log = log.env("TZ", zone).arg("log").output().unwrap();
        String::from_utf8(log.stdout).unwrap()
    };
    let here = shown("AAA0");
    assert_ne!(
        here,
        shown("BBB-5:17"),
        "the clock is not that of this place"
    );
    let denied = here.lines().find(|line| line.contains("Edit ")).unwrap();
    assert!(denied.ends_with("denied (tool_not_allowed)"), "{here}");
    assert!(here.contains("RunStarted"), "{here}");
    assert!(!here.contains('\u{1b}'), "{here}");
    let exact = out(&room, &["log", "--json"], 0);
    assert!(
        exact.contains("\"at\":\"20") && exact.contains("\"hash\""),
        "{exact}"
    );
}

#[test]
fn an_edit_changes_one_place_and_shows_it() {
    let room = room();
    let path = ".interlock/workflows/flow.yaml";
    let text = FLOW.replace("draft: {", "# write\n  draft: {") + "# the end\n";
    room.write(path, &text).unwrap();
    let shown = out(
        &room,
        &[
            "edit",
            "flow",
            "rename-state",
            "draft",
            "writing",
            "--dry-run",
        ],
        0,
    );
    assert!(
        shown.contains("-initial: draft\n+initial: writing\n"),
        "{shown}"
    );
    assert_eq!(room.read(path).unwrap(), text);
    room.write(
        ".interlock/workflows/flow.test.yaml",
        "workflow: flow.yaml\ncases: [{name: a, steps: [{expect: {state: draft}}]}]\n",
    )
    .unwrap();
    let output = call(&room, &["edit", "flow", "rename-state", "draft", "writing"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("flow.test.yaml` also names `draft`"),
        "{said}"
    );
    let renamed = text.replace("draft", "writing");
    assert_eq!(room.read(path).unwrap(), renamed);
    // An unchanged file is not written again.
    out(
        &room,
        &["edit", path, "set", "/states/done/type", "final"],
        0,
    );
    assert_eq!(room.read(path).unwrap(), renamed);
    let said = out(&room, &["edit", path, "add-state", "review", "--json"], 0);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["written"], true, "{said}");
    let codes: Vec<&str> = said["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["code"].as_str())
        .collect();
    assert_eq!(codes, ["unreachable_state"]);
}

/// Each command, the lines that go, and those that come.
#[test]
fn each_command_of_edit_changes_what_it_names() {
    const TEXT: &str = "id: flow
initial: draft
guards:
  sized: {field: n, op: gte, value: 1}  # big
  free: {field: m, op: exists}
states:
  draft:
    allowed_tools: [Read, Grep]
    on:
      SHIP: {target: done, guard: sized}
      BACK: draft
  review: {on: {PASS: done}}
  done: {type: final}
";
    let rows: &[(&[&str], &[&str], &[&str])] = &[
        (
            &["remove-transition", "draft", "BACK"],
            &["      BACK: draft"],
            &[],
        ),
        (
            &["rename-event", "draft", "SHIP", "SEND"],
            &["      SHIP: {target: done, guard: sized}"],
            &["      SEND: {target: done, guard: sized}"],
        ),
        (
            &["rename-guard", "sized", "large"],
            &[
                "  sized: {field: n, op: gte, value: 1}  # big",
                "      SHIP: {target: done, guard: sized}",
            ],
            &[
                "  large: {field: n, op: gte, value: 1}  # big",
                "      SHIP: {target: done, guard: large}",
            ],
        ),
        (
            &["remove-guard", "free"],
            &["  free: {field: m, op: exists}"],
            &[],
        ),
        (
            &["set-guard", "free", "{\"not\": \"sized\"}"],
            &["  free: {field: m, op: exists}"],
            &["  free: {not: sized}"],
        ),
        (
            &["remove", "/states/draft/allowed_tools/0"],
            &["    allowed_tools: [Read, Grep]"],
            &["    allowed_tools: [Grep]"],
        ),
        (
            &["rename", "/states/review/on/PASS", "OK"],
            &["  review: {on: {PASS: done}}"],
            &["  review: {on: {OK: done}}"],
        ),
    ];
    for (command, gone, come) in rows {
        let room = room();
        room.write("flow.yaml", TEXT).unwrap();
        let mut words = vec!["edit", "flow.yaml"];
        words.extend_from_slice(command);
        out(&room, &words, 0);
        let after = room.read("flow.yaml").unwrap();
        let only = |one: &str, other: &str| -> Vec<String> {
            let lines = one
                .lines()
                .filter(|line| !other.lines().any(|it| it == *line));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(only(TEXT, &after), *gone, "{command:?}");
        assert_eq!(only(&after, TEXT), *come, "{command:?}");
    }
}

/// Where a state is put: the names of the states afterwards, in their order.
#[test]
fn edit_puts_a_state_where_it_is_told() {
    let rows: &[(&[&str], [&str; 3])] = &[
        (&["move-state", "last", "--first"], ["last", "one", "two"]),
        (
            &["move-state", "last", "--before", "two"],
            ["one", "last", "two"],
        ),
        (&["move-state", "one", "--last"], ["two", "last", "one"]),
        (
            &["move-state", "one", "--after", "two"],
            ["two", "one", "last"],
        ),
    ];
    for (command, wanted) in rows {
        let room = room();
        let text = "id: flow\ninitial: one\nstates:\n  one: {on: {GO: two}}\n  two: {on: {GO: last}}\n  last: {type: final}\n";
        room.write("flow.yaml", text).unwrap();
        let mut words = vec!["edit", "flow.yaml"];
        words.extend_from_slice(command);
        out(&room, &words, 0);
        let after = room.read("flow.yaml").unwrap();
        let names: Vec<&str> = after
            .lines()
            .filter_map(|line| line.strip_prefix("  ")?.split(':').next())
            .collect();
        assert_eq!(names, wanted, "{command:?}");
    }
}

#[test]
fn a_refused_edit_is_told_as_json() {
    let room = room();
    let text = FLOW.replace("SHIP: done", "SHIP: {target: done, guard: sized}")
        + "guards: {sized: {field: n, op: exists}}\n";
    room.write("flow.yaml", &text).unwrap();
    let said = out(
        &room,
        &["edit", "flow.yaml", "remove-guard", "sized", "--json"],
        1,
    );
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["ok"], json!(false));
    assert_eq!(said["code"], json!("in_use"));
    assert_eq!(said["operation"], json!(0));
    assert_eq!(said["diagnostics"][0]["line"], json!(4));
    assert_eq!(room.read("flow.yaml").as_deref(), Some(text.as_str()));
}

#[test]
fn an_edit_that_is_refused_says_where_and_writes_nothing() {
    let room = room();
    let text = FLOW
        .replace("[Read]", "&tools [Read]")
        .replace("done: {", "done: {disallowed_tools: *tools, ");
    room.write("flow.yaml", &text).unwrap();
    refused(
        &room,
        &["edit", "flow.yaml", "remove-state", "done"],
        1,
        &["in_use", "flow.yaml:4:", "SHIP: done", "--with-transitions"],
    );
    refused(
        &room,
        &[
            "edit",
            "flow.yaml",
            "set",
            "/states/draft/allowed_tools/0",
            "Grep",
        ],
        1,
        &["anchor", "flow.yaml:4:", "was not changed"],
    );
    refused(
        &room,
        &["edit", "flow.yaml", "move-state", "done"],
        2,
        &["--before STATE"],
    );
    refused(
        &room,
        &["edit", "flow.yaml", "add-state", "x", "[1]"],
        2,
        &["not a JSON object"],
    );
    refused(
        &room,
        &["edit", "bugfix", "set-initial", "testing"],
        2,
        &["init --workflow bugfix"],
    );
    room.write("operations.json", r#"[{"rename_state": {"name": "draft", "to": "x"}}, {"rename_state": {"name": "draft", "to": "y"}}]"#).unwrap();
    refused(
        &room,
        &["edit", "flow.yaml", "apply", "operations.json"],
        1,
        &["there is no state `draft`"],
    );
    room.write(
        "operations.json",
        r#"[{"rename_state": {"name": "draft"}}]"#,
    )
    .unwrap();
    refused(
        &room,
        &["edit", "flow.yaml", "apply", "operations.json"],
        2,
        &["missing field `to`"],
    );
    assert_eq!(room.read("flow.yaml").unwrap(), text);
}
