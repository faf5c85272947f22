//! Sessions and their placements: each call on one line, with the verdict of the best placement.

use std::fmt::Write as _;

use interlock_backtest::{Backtest, Backtester, Options, Verdict};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_sessions::{Call, Ended, Format, Losses, Session};
use interlock_simulate::Scenario;
use serde_json::{Value, json};

/// A workflow that plans, edits and tests; a person approves its end.
fn bugfix() -> Value {
    json!({
        "id": "bugfix", "initial": "planning",
        "states": {
            "planning": {"allowed_tools": ["Read"], "on": {"READY": "fixing"}},
            "fixing": {
                "allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": ["make test", "ls"],
                "on": {"DONE": {"target": "review", "guard": "tested"}},
            },
            "review": {
                "allowed_tools": ["Read"],
                "on": {"APPROVE": {"target": "pushing", "requires_approval": true}, "AGAIN": "fixing"},
            },
            "pushing": {"allowed_tools": ["Bash"], "allowed_commands": ["git push"], "on": {"END": "done"}},
            "done": {"type": "final"},
        },
        "guards": {"tested": {"evidence": {"command": "make test", "since": "last_edit"}}},
    })
}

fn machine(workflow: &Value) -> interlock_core::machine::Machine {
    let source = Source::new("flow.json", workflow.to_string());
    load(&source, None, &NoWorkflows).unwrap().machine
}

fn call(tool: &str, input: Value) -> Call {
    Call {
        id: String::new(),
        tool: tool.to_owned(),
        input,
        agent: None,
        at_ms: None,
        directory: None,
        ended: Ended::Well,
        exit: None,
        bytes: 0,
        files: Vec::new(),
        record: None,
    }
}

/// Makes a call from one line: `read FILE`, `edit FILE`, or a shell line with its exit code after `=`.
fn short(line: &str) -> Call {
    if let Some(file) = line.strip_prefix("read ") {
        return call("Read", json!({"file_path": format!("/project/{file}")}));
    }
    if let Some(file) = line.strip_prefix("edit ") {
        let input =
            json!({"file_path": format!("/project/{file}"), "old_string": "a", "new_string": "b"});
        return call("Edit", input);
    }
    let (line, exit) = line.split_once(" = ").unwrap_or((line, "?"));
    let exit = exit.parse().ok();
    let ended = match exit {
        Some(code) if code != 0 => Ended::Failed,
        _ => Ended::Well,
    };
    Call {
        exit,
        ended,
        ..call("Bash", json!({"command": line}))
    }
}

fn session(lines: &str) -> Session {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let calls = lines.enumerate().map(|(index, line)| Call {
        id: format!("c{index}"),
        at_ms: Some(1_000 * u64::try_from(index).unwrap()),
        ..short(line)
    });
    Session {
        id: "s".to_owned(),
        source: "here".to_owned(),
        format: Format::ClaudeCode,
        client: Some("claude-code".to_owned()),
        version: None,
        directory: Some("/project".to_owned()),
        calls: calls.collect(),
        losses: Losses::default(),
    }
}

fn place(workflow: &Value, session: &Session, options: Options) -> (Backtest, Vec<String>) {
    let mut tester = Backtester::new(&machine(workflow), options).unwrap();
    let found = tester.place(session, &Scenario::default());
    (found, tester.rules().idle())
}

fn ledger(found: &Backtest) -> String {
    let mut text = String::new();
    for one in &found.placed {
        let before = one.before.join(", ");
        let state = one.states.join(", ");
        let verdict = match (one.verdict, &one.refusal) {
            (Verdict::Allow, _) => "allow",
            (Verdict::NotJudged, _) => "not judged",
            (_, Some(refusal)) => refusal.code.as_str(),
            (_, None) => "-",
        };
        writeln!(text, "[{before}] {state}: {verdict}").unwrap();
    }
    text
}

#[track_caller]
fn check(lines: &str, expected: &str) -> Backtest {
    let (found, _) = place(&bugfix(), &session(lines), Options::default());
    let expected: String = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(ledger(&found), expected);
    found
}

#[test]
fn a_session_that_fits_is_refused_nothing() {
    let found = check(
        "read a.py
         edit a.py
         make test = 0
         read a.py
         git push = 0",
        "[] planning: allow
         [`READY`] fixing: allow
         [] fixing: allow
         [] fixing: allow
         [`DONE`, `APPROVE`, a person says yes] pushing: allow",
    );
    assert_eq!(
        (found.fewest, found.approvals, found.transitions),
        (0, 1, 3)
    );
    assert!(found.can_end && found.stops.is_empty() && found.everywhere.is_empty());
    let stays: Vec<_> = found
        .stays
        .iter()
        .map(|one| (&*one.state, one.calls, one.ms))
        .collect();
    assert_eq!(
        stays,
        [
            ("planning", 1, Some(1_000)),
            ("fixing", 3, Some(3_000)),
            ("pushing", 1, Some(0))
        ]
    );
}

/// Without the tests, the push is refused in every possible state.
#[test]
fn what_no_placement_allows_is_named() {
    let found = check(
        "edit a.py
         make test = 2
         git push = 0
         read a.py",
        "[`READY`] fixing: allow
         [] fixing: allow
         [] fixing: command_not_allowed
         [] fixing: allow",
    );
    assert_eq!(found.fewest, 1);
    let refused: Vec<usize> = found.everywhere.iter().map(|one| one.index).collect();
    assert_eq!(refused, [2]);
    let [stop] = found.stops.as_slice() else {
        unreachable!("one stop: {found:?}")
    };
    assert_eq!(
        (stop.first, stop.last, stop.states.as_slice()),
        (2, 2, ["fixing".to_owned()].as_slice())
    );
    assert!(
        stop.waits_for[0].contains("`make test` ending with 0"),
        "{stop:?}"
    );
}

/// An event with several targets, none of which is allowed yet, says what each waits for.
#[test]
fn a_stop_before_branches_says_what_they_wait_for() {
    let mut workflow = bugfix();
    workflow["states"]["fixing"]["on"]["DONE"] = json!([
        {"target": "review", "guard": "tested"},
        {"target": "planning", "guard": "tested"},
    ]);
    let lines = "edit a.py\nmake test = 2\ngit push = 0";
    let (found, _) = place(&workflow, &session(lines), Options::default());
    let [stop] = found.stops.as_slice() else {
        unreachable!("one stop: {found:?}")
    };
    let said = stop.waits_for.join("; ");
    assert!(said.contains("`make test` ending with 0"), "{stop:?}");
}

/// An edit after the tests makes them stale; no placement lets the push pass.
#[test]
fn evidence_ages_in_every_placement() {
    let found = check(
        "make test = 0
         edit a.py
         git push = 0",
        "[`READY`] fixing: allow
         [] fixing: allow
         [] fixing: command_not_allowed",
    );
    assert_eq!(found.fewest, 1);
}

#[test]
fn an_exit_code_that_is_missing_is_not_0() {
    let lines = "edit a.py\nmake test\ngit push = 0";
    let (found, _) = place(&bugfix(), &session(lines), Options::default());
    assert_eq!((found.fewest, found.exits_unknown), (1, 1));
    let options = Options {
        assume_exit: true,
        ..Options::default()
    };
    let (found, _) = place(&bugfix(), &session(lines), options);
    assert_eq!((found.fewest, found.exits_unknown), (0, 1));
}

/// Calls with the same arguments are parsed once, but each keeps its own result.
#[test]
fn the_same_line_counts_by_how_it_ended() {
    let found = check(
        "edit a.py
         make test = 2
         make test = 0
         git push = 0",
        "[`READY`] fixing: allow
         [] fixing: allow
         [] fixing: allow
         [`DONE`, `APPROVE`, a person says yes] pushing: allow",
    );
    assert_eq!(found.fewest, 0);
}

/// The same call differs between projects.
#[test]
fn each_session_is_judged_where_it_took_place() {
    let mut tester = Backtester::new(&machine(&bugfix()), Options::default()).unwrap();
    let session = session("edit a.py\nmake test = 0\ngit push = 0");
    let elsewhere = Scenario {
        project_root: "/elsewhere".to_owned(),
        ..Scenario::default()
    };
    for (scenario, fewest) in [
        (Scenario::default(), 0),
        (elsewhere, 1),
        (Scenario::default(), 0),
    ] {
        let found = tester.place(&session, &scenario);
        assert_eq!(found.fewest, fewest, "{}", ledger(&found));
    }
}

/// It is cheaper to give up one call early than many later.
#[test]
fn the_fewest_refusals_are_found_not_the_latest() {
    let found = check(
        "edit a.py
         make test = 0
         edit b.py
         git push = 0
         git push = 0
         git push = 0",
        "[`READY`] fixing: allow
         [] fixing: allow
         [] fixing: tool_not_allowed
         [`DONE`, `APPROVE`, a person says yes] pushing: allow
         [] pushing: allow
         [] pushing: allow"
            .replace(
                "[] fixing: tool_not_allowed",
                "[`DONE`] review: tool_not_allowed",
            )
            .replace("[`DONE`, `APPROVE`", "[`APPROVE`")
            .as_str(),
    );
    assert_eq!(found.fewest, 1);
}

#[test]
fn a_call_that_did_not_run_costs_nothing() {
    let mut session = session("read a.py\ngit push = 0\nread a.py");
    session.calls[1].ended = Ended::NotRun;
    let (found, _) = place(&bugfix(), &session, Options::default());
    assert_eq!((found.fewest, found.not_run), (0, 1));
    assert_eq!(found.placed[1].verdict, Verdict::Deny);
    assert!(found.everywhere.is_empty());
}

/// If the recording contains transitions, no others are taken.
#[test]
fn recorded_transitions_are_kept() {
    let mut session = session("edit a.py\nread a.py\nedit a.py");
    let mut ready = call(
        "mcp__interlock__interlock_transition",
        json!({"event": "READY"}),
    );
    ready.id = "t".to_owned();
    session.calls.insert(1, ready);
    let (found, _) = place(&bugfix(), &session, Options::default());
    assert!(found.recorded);
    assert_eq!(
        ledger(&found),
        "[] planning: tool_not_allowed\n[] planning: allow\n[] fixing: allow\n[] fixing: allow\n"
    );
}

#[test]
fn rules_that_made_no_difference_are_listed() {
    let (_, idle) = place(
        &bugfix(),
        &session("read a.py\nedit a.py\nrm -rf b = 0"),
        Options::default(),
    );
    let has = |text: &str| idle.iter().any(|one| one == text);
    assert!(has("state `pushing` was not needed"), "{idle:?}");
    assert!(!has("state `planning` was not needed"), "{idle:?}");
    assert!(
        has("transition `DONE` of `fixing` was not needed"),
        "{idle:?}"
    );
    assert!(
        !has("`allowed_commands` of `fixing` refused nothing"),
        "{idle:?}"
    );
}

/// With a limit of calls, the placement enters the next state late enough, and no later.
#[test]
fn limits_are_counted() {
    let mut workflow = bugfix();
    workflow["states"]["fixing"]["max_iterations"] = json!(2);
    let (found, _) = place(
        &workflow,
        &session("read a\nread b\nread c\nedit a\nedit b"),
        Options::default(),
    );
    assert_eq!(found.fewest, 0, "{}", ledger(&found));
    let (found, _) = place(
        &workflow,
        &session("edit a\nedit b\nedit c\nedit d"),
        Options::default(),
    );
    assert_eq!(found.fewest, 2, "{}", ledger(&found));
}

#[test]
fn a_workflow_of_steps_is_said_to_be_one() {
    let source = Source::new(
        "f.yaml",
        "start-at: a\nstates:\n  a:\n    type: bash\n    command: ls\n    next: end\n".to_owned(),
    );
    if let Ok(loaded) = load(&source, None, &NoWorkflows) {
        let why = Backtester::new(&loaded.machine, Options::default()).unwrap_err();
        assert!(why.contains("a workflow of steps"), "{why}");
    }
}
