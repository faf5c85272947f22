//! Evidence that must be newer than the last edit: an edit counts until it has ended.

use interlock_core::{
    Reply,
    call::{CallFacts, CallKind, CallResult, ToolCall, WrittenPath},
    command::{Command, CommandKind, LineEnd, LineStart, TransitionRequest},
    decide, evolve,
    machine::Machine,
    names::{AgentId, CallId, Digest, FramePath},
    run::Run,
};
use serde_json::{Value, json};

use crate::support::started::started;

fn machine() -> Machine {
    let since = |of: Value| json!({"inline": {"evidence": {"of": of, "since": "last_edit"}}});
    let checked = since(json!({"tool": {"tool": "Check", "path": null}}));
    let command = json!({"text": "npm test", "words": ["npm", "test"], "exit": 0});
    let tested = since(json!({"command": command}));
    let either = json!({"inline": {"any": [checked, tested]}});
    serde_json::from_value(json!({
        "id": "m", "initial": "work",
        "limits": interlock_core::machine::Limits::default(),
        "interrupts": {"schema": {"file_pattern": "db/*", "target": "review"}},
        "states": {
            "work": {
                "policy": {"allowed_tools": ["Check", "Write", "Bash"], "on_denied": "ask"},
                "on": {"DONE": {"branched": false, "transitions": [{"target": {"state": "done"}, "guards": [either]}]}},
            },
            "review": {
                "policy": {"allowed_tools": ["Read"]},
                "on": {"BACK": {"branched": false, "transitions": [{"target": "return", "guards": []}]}},
            },
            "done": {"activity": {"final": {"outcome": "success"}}},
        },
    }))
    .unwrap()
}

/// Makes a call of the kind that its id begins with; `@` names its sub-agent.
///
/// A person is asked about an `ask`, which writes. `line` runs the check, `hidden` hides its exit code, `build` runs
/// other code before it; `lineto` is expected to write.
fn call(id: &str) -> ToolCall {
    let (kind, tool) = match id {
        id if id.starts_with("write") => (CallKind::Edit, "Write"),
        id if id.starts_with("ask") => (CallKind::Edit, "Asks"),
        id if ["line", "hidden", "build"]
            .iter()
            .any(|kind| id.starts_with(kind)) =>
        {
            (CallKind::Shell, "Bash")
        }
        _ => (CallKind::Other, "Check"),
    };
    let mut facts = json!(CallFacts::default());
    let write = |path: &str| json!({"path": format!("/p/{path}"), "relative": path, "place": "project", "by": tool, "removes": false, "recursive": false, "lines": null, "before": null});
    match kind {
        CallKind::Edit => facts["writes"] = json!([write("a")]),
        CallKind::Shell => {
            let words = json!([{"literal": "npm"}, {"literal": "test"}]);
            let mut command = json!({"words": words, "directory": "/p", "class": "project_code", "opaque": "it runs code", "proves_success": true, "proves_exit": true, "step": 1});
            if id.starts_with("hidden") {
                command["proves_success"] = json!(false);
                command["proves_exit"] = json!(false);
            }
            facts["shell"] = json!({"commands": [command]});
            facts["directories"] = json!([""]);
            if id.starts_with("build") {
                let build = json!({"words": [{"literal": "./build.sh"}], "directory": "/p", "class": "project_code", "opaque": "it runs code", "step": 0});
                facts["shell"] = json!({"commands": [build, command]});
                facts["directories"] = json!(["", ""]);
            }
            if id.starts_with("lineto") {
                facts["writes"] = json!([write("db/x")]);
            }
        }
        _ => {}
    }
    ToolCall {
        id: CallId::new(id),
        tool: tool.to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind,
        digest: Digest::new(format!("of {id}")),
        summary: String::new(),
        agent: id.split_once('@').map(|(_, agent)| AgentId::new(agent)),
        branch: None,
        prompts_in: None,
        facts: serde_json::from_value(facts).unwrap(),
    }
}

/// Returns the client's report of a call: `id`, or `id:path` of one that was seen to write; without an id, the client
/// does not name the call.
fn result(text: &str, ok: bool) -> CommandKind {
    let mut parts = text.split(':');
    let id = parts.next().unwrap();
    CommandKind::Record(CallResult {
        id: Some(id).filter(|id| !id.is_empty()).map(CallId::new),
        ok,
        exit: None,
        bytes: 0,
        wrote: parts.map(written).collect(),
        commands: Vec::new(),
        checked: interlock_core::substance::Checked::default(),
    })
}

fn written(path: &str) -> WrittenPath {
    WrittenPath {
        path: format!("/p/{path}"),
        relative: Some(path.to_owned()),
    }
}

/// Returns the report of `interlock exec` about a line: `id:exit`, or `id:exit:path` of one that wrote.
///
/// With `id?`, its writes could not be observed; `-` is an unknown exit code.
fn line_end(text: &str) -> CommandKind {
    let mut parts = text.split(':');
    let named = parts.next().unwrap();
    let id = named.trim_end_matches('?');
    let exit = parts.next().and_then(|exit| exit.parse().ok());
    let wrote = parts.map(written);
    CommandKind::EndLine(LineEnd {
        call: CallId::new(id),
        path: FramePath::root(),
        exit,
        wrote: wrote.collect(),
        commands: Vec::new(),
        unseen: named != id,
        checked: interlock_core::substance::Checked::default(),
    })
}

fn transition() -> CommandKind {
    CommandKind::Transition(TransitionRequest {
        event: "DONE".to_owned(),
        data: Default::default(),
        branch: None,
        agent: None,
        by: "agent".to_owned(),
        approved_by: None,
    })
}

/// Plays calls; returns the run after them, and whether `DONE` is allowed.
///
/// `+id` begins a call; `-id` and `!id` are the client's reports that it succeeded or failed; `>id` and `<id:exit` are
/// those of `interlock exec` about its line; `~agent` ends a sub-agent; `?` requests `DONE`, which is refused.
fn play(steps: &str) -> (Run, bool) {
    let machine = machine();
    let mut run = started(&machine);
    let mut ask = |command: CommandKind| {
        let decision = decide(
            &machine,
            &run,
            &Command {
                at_ms: 1_000,
                kind: command,
            },
        );
        run = decision.events.iter().fold(run.clone(), evolve);
        decision.reply
    };
    for step in steps.split(' ') {
        let (sign, id) = step.split_at(1);
        let reply = match sign {
            "+" => ask(CommandKind::Propose(Box::new(call(id)))),
            ">" => ask(CommandKind::StartLine(LineStart {
                call: CallId::new(id),
                level: "full".to_owned(),
                unconfined: Vec::new(),
            })),
            "<" => ask(line_end(id)),
            "~" => ask(CommandKind::ReleaseAgent {
                agent: AgentId::new(id),
            }),
            "?" => {
                let reply = ask(transition());
                assert!(matches!(reply, Reply::Refused(_)), "{steps}");
                continue;
            }
            sign => ask(result(id, sign == "-")),
        };
        assert!(!matches!(reply, Reply::Refused(_)), "{step}: {reply:?}");
    }
    let stands = run.clone();
    let decision = decide(
        &machine,
        &run,
        &Command {
            at_ms: 1_000,
            kind: transition(),
        },
    );
    (stands, !matches!(decision.reply, Reply::Refused(_)))
}

fn check(cases: &[(&str, bool)]) {
    for (steps, allowed) in cases {
        assert_eq!(play(steps).1, *allowed, "{steps}");
    }
}

#[test]
fn an_edit_counts_until_it_has_ended() {
    check(&[
        ("+check1 -check1", true),
        ("+write1 -write1 +check1 -check1", true),
        ("+check1 -check1 +write1 -write1", false),
        // It was allowed before the check, but its bytes may have been written after it.
        ("+write1 +check1 -check1 -write1", false),
        ("+write1 +check1 -write1 -check1", false),
        ("+write1 +check1 -check1 -write1 +check2 -check2", true),
    ]);
}

#[test]
fn an_open_edit_is_an_edit() {
    check(&[
        ("+write1 +check1 -check1", false),
        // If the agent continues, its own call without a result counts as ended.
        ("+write1 +check1 -check1 ? +check2 -check2", true),
        // Its real end may be reported later.
        ("+write1 +check1 -check1 ? +check2 -check2 -write1", false),
        ("+write1 +check1 -check1 ? +check2 -write1 -check2", false),
        // A sub-agent's call may be waiting for a person.
        ("+write1@a +check1 -check1 ? +check2 -check2", false),
        (
            "+write1@a +check1 -check1 ? -write1@a +check2 -check2",
            true,
        ),
        ("+write1@a +check1 -check1 ~a", false),
        ("+write1@a ~a +check1 -check1", true),
    ]);
}

#[test]
fn a_newer_call_without_an_end_suspends_older_success() {
    check(&[
        ("+check1 -check1 +check2", false),
        ("+check1 -check1 +check2 -check2", true),
        ("+check1 +check2 -check2", true),
        ("+line1 >line1 <line1:0 +line2", false),
        ("+line1 >line1 <line1:0 +line2 >line2", false),
        ("+line1 >line1 <line1:0 +line2 >line2 -line2", false),
        ("+line1 >line1 <line1:0 +line2 -line2", false),
        ("+line1 >line1 <line1:0 +line2 >line2 <line2:0", true),
        // Whatever its success could prove, it may fail.
        ("+line1 >line1 <line1:0 +hidden2", false),
        ("+line1 >line1 <line1:0 +hidden2 >hidden2", false),
        ("+line1 >line1 <line1:0 +build2", false),
        ("+hidden1 +line2 >line2 <line2:0", true),
        // Other evidence is not a newer call of the same check.
        ("+check1 -check1 +line2", true),
        ("+line1 >line1 <line1:0 +check2", true),
    ]);
}

#[test]
fn what_a_call_was_seen_to_write_is_an_edit_however_it_ended() {
    check(&[
        ("+check1 -check1 +line1 -line1", true),
        ("+check1 -check1 +line1 !line1", true),
        ("+check1 -check1 +line1 -line1:a", false),
        ("+check1 -check1 +line1 !line1:a", false),
        ("+check1 -check1 +check2 -check2:a", false),
        ("+check1 -check1 +check2 !check2:a", false),
        ("+check1 -check1 +line1 >line1 <line1:0:a", false),
        ("+check1 -check1 +line1 >line1 <line1:1:a", false),
        // A call that ended before the check began does not invalidate it.
        ("+line1 !line1:a +check1 -check1", true),
        ("+line1 >line1 <line1:1:a +check1 -check1", true),
    ]);
}

#[test]
fn a_check_covers_what_its_own_line_did_before_it_and_nothing_else() {
    check(&[
        ("+build1 >build1 <build1:0", true),
        ("+build1 >build1 <build1:1", false),
        // Observed writes may have been made after the check.
        ("+build1 >build1 <build1:0:a", false),
        ("+build1 >build1 -build1 <build1:0:a", false),
        // So may the writes of others in the meantime.
        ("+write1 -write1 +build1 >build1 <build1:0", true),
        ("+build1 >build1 +write1 -write1 <build1:0", false),
        ("+build1 +line2 -line2:a >build1 <build1:0", false),
        ("+build1 >build1 <build1:0 +write1 -write1", false),
        ("+build1 >build1 <build1:0 +line2 >line2 <line2:0:a", false),
    ]);
}

#[test]
fn the_end_of_a_carried_line_counts_whatever_its_client_says() {
    check(&[
        ("+line1 >line1 <line1:0", true),
        ("+line1 >line1 <line1:0 -line1", true),
        ("+line1 >line1 <line1:0 !line1", true),
        ("+line1 >line1 <line1:1", false),
        ("+line1 >line1 <line1:1 -line1", false),
        (
            "+line1 >line1 <line1:0 -line1 +line2 >line2 <line2:2",
            false,
        ),
        // A line ends only once.
        ("+line1 >line1 <line1:1 <line1:0", false),
        ("+line1 >line1 <line1:0 <line1:1", true),
        ("+line1 >line1 <line1:1 <line1:0 -line1", false),
        // In the background: the client reports only its start.
        ("+line1 >line1 -line1", false),
        ("+line1 >line1 -line1 <line1:0", true),
        ("+line1 >line1 -line1 <line1:1", false),
    ]);
}

#[test]
fn what_a_line_was_seen_to_write_raises_at_its_end() {
    for (steps, state) in [
        ("+line1 >line1 <line1:0:db/x", "review"),
        ("+line1 >line1 <line1:1:db/x", "review"),
        ("+line1 >line1 <line1:0:db/x !line1", "review"),
        ("+line1 >line1 -line1 <line1:0:db/x", "review"),
        // A call that is no longer known, and one whose line has ended before.
        ("<line0:0:db/x", "review"),
        ("+line1 >line1 <line1:0 -line1 <line1:0:db/x", "review"),
        ("+line1 >line1 <line1:0 -line1 <line1:0:src/x", "work"),
        ("+line1 >line1 <line1:0:src/x -line1", "work"),
        // The comparison did not find the expected write.
        ("+lineto1 >lineto1 <lineto1:0 -lineto1", "work"),
        ("+lineto1 >lineto1 <lineto1:- -lineto1", "work"),
        // It is still running; its client reports only its start.
        ("+lineto1 >lineto1 -lineto1", "work"),
        // The observed end is not replaced by an assumption when the agent continues.
        ("+lineto1 >lineto1 <lineto1:0 ?", "work"),
        ("+lineto1 >lineto1 ?", "review"),
        // Its writes could not be observed: the expected ones count if it has succeeded, or may have.
        ("+lineto1 >lineto1 <lineto1?:0", "review"),
        ("+lineto1 >lineto1 <lineto1?:1", "work"),
        ("+lineto1 >lineto1 <lineto1?:1 ?", "work"),
        ("+lineto1 >lineto1 <lineto1?:-", "work"),
        ("+lineto1 >lineto1 <lineto1?:- ?", "review"),
        ("+lineto1 >lineto1 <lineto1?:- -lineto1", "review"),
        // Not run by `interlock exec`: only the client's report is known.
        ("+lineto1 -lineto1", "review"),
        ("+lineto1 !lineto1", "work"),
    ] {
        assert_eq!(play(steps).0.root.at.as_str(), state, "{steps}");
    }
}

#[test]
fn a_call_that_a_person_is_asked_about_is_an_edit_once_it_runs() {
    check(&[
        ("+check1 -check1 +ask1", true),
        ("+ask1 +check1 -check1", true),
        ("+ask1 -ask1 +check1 -check1", true),
        ("+check1 -check1 +ask1 -ask1", false),
        ("+check1 -check1 +ask1 !ask1", false),
        ("+ask1 +check1 -check1 -ask1", false),
        ("+ask1 +check1 -ask1 -check1", false),
        // Its line began: the call runs, and nobody needs to be asked any more.
        ("+check1 -check1 +ask1 >ask1", false),
        ("+ask1 >ask1 +check1 -check1", false),
        // Of an agent that has stopped: nobody allowed it.
        ("+ask1@a ~a +check1 -check1", true),
    ]);
    let open = |steps: &str| {
        let run = play(steps).0;
        (run.requests.len(), run.root.stay.used.calls)
    };
    assert_eq!(open("+ask1"), (1, 0));
    assert_eq!(open("+ask1 >ask1"), (0, 1));
    assert_eq!(open("+ask1 -ask1"), (0, 1));
    assert_eq!(open("+ask1 >ask1 -ask1"), (0, 1));
}

#[test]
fn a_result_without_an_id_is_of_the_newest_call_that_may_still_end() {
    for (steps, left) in [
        ("+check1 +check2 -", &["check1"][..]),
        ("+check1 +check2 - -", &[]),
        ("+check1 +ask2 -", &["ask2"]),
        // A call that a transition assumed to have ended is reported by its id alone.
        ("+check1 +write2 ? -", &["write2"]),
        ("+check1 +line2 >line2 -line2 -", &["line2"]),
    ] {
        let run = play(steps).0;
        let open: Vec<&str> = run.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(open, left, "{steps}");
    }
}

#[test]
fn what_a_client_saw_written_counts_where_nobody_saw_the_line_write() {
    for (steps, wrote) in [
        ("+line1 >line1 <line1?:0 -line1:src/a", true),
        ("+line1 >line1 <line1:0 -line1:src/a", false),
    ] {
        let (run, _) = play(steps);
        assert_eq!(run.last_write.is_some(), wrote, "{steps}");
    }
}

#[test]
fn files_that_changed_before_a_call_make_older_evidence_stale_alone() {
    let machine = machine();
    let (run, _) = play("+check1 -check1 +line1 >line1 <line1:0 +other");
    let begun = |id: &str| {
        let mut calls = run.calls.iter();
        calls
            .find(|call| call.id.as_str() == id)
            .map(|call| call.begun_seq)
    };
    for (before, stales) in [("line1", 1), ("other", 2)] {
        let kind = CommandKind::ReportFiles {
            files: vec!["a".to_owned()],
            before: Some(CallId::new(before)),
        };
        let decision = decide(&machine, &run, &Command { at_ms: 1, kind });
        let after = decision.events.iter().fold(run.clone(), evolve);
        assert_eq!(
            after.last_write,
            begun(before).map(|seq| seq - 1),
            "{before}"
        );
        let stale = after
            .evidence
            .values()
            .filter(|seen| seen.is_before_an_edit(&after));
        assert_eq!(stale.count(), stales, "{before}");
    }
    // The line is the oldest event: there is no evidence that the change could invalidate.
    let (run, _) = play("+line1 >line1 <line1:0");
    let kind = CommandKind::ReportFiles {
        files: vec!["a".to_owned()],
        before: Some(CallId::new("line1")),
    };
    let decision = decide(&machine, &run, &Command { at_ms: 1, kind });
    assert_eq!(decision.events, []);
}
