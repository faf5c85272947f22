//! Calls are judged by the state, and the model is told about it.

use interlock_testkit::claude::{Outcome, Session, Version};
use interlock_testkit::provider::{Call, ModelRequest, Script, call, text};
use serde_json::{Value, json};

use crate::e2e_claude::guarded::{
    Guarded, MARK, bash, initialised, lines, plan_then_build, ran, refused, transition,
};

fn a_refusal_reaches_the_model_and_a_transition_unlocks(version: Version) {
    let guarded = Guarded::new(version, &plan_then_build());
    let calls = guarded.calls(vec![
        guarded.read("a.txt"),
        guarded.edit("a.txt", "one", "two"),
        bash("echo x > leak.txt"),
        bash("cat a.txt"),
        transition("READY"),
        guarded.edit("a.txt", "one", "two"),
        bash("echo x > kept.txt"),
    ]);
    let [read, edit, leak, cat, ready, unlocked, kept] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(read);
    refused(edit, "tool_not_allowed", &["Read", "READY"]);
    refused(leak, "shell_write", &["READY"]);
    ran(cat);
    assert!(
        cat.result.contains("one"),
        "the refused edit was carried out: {cat:#?}"
    );
    ran(ready);
    assert!(ready.result.contains("building"), "{ready:#?}");
    ran(unlocked);
    ran(kept);
    assert_eq!(guarded.room.read("a.txt").as_deref(), Some("two\n"));
    assert_eq!(guarded.room.read("leak.txt"), None);
    assert_eq!(guarded.room.read("kept.txt").as_deref(), Some("x\n"));
    assert_eq!(guarded.status()["state"], "building");
}

/// Each prompt tells the model the state of the run; the control tool is among the offered tools.
fn the_model_is_told_where_it_stands(version: Version) {
    let guarded = Guarded::new(version, &plan_then_build());
    let outcome = guarded.session(Script::turns(Vec::new()));
    let control = "mcp__interlock__interlock_transition".to_owned();
    assert!(outcome.tools().contains(&control), "{:?}", outcome.tools());
    for word in ["planning", "READY"] {
        assert!(
            outcome.text().contains(word),
            "the model was not told `{word}`"
        );
    }
}

fn a_project_without_a_run_is_left_alone(version: Version) {
    let room = initialised(version);
    let script = Script::calls(vec![bash("echo x > free.txt")]);
    let outcome = Session::new(version, &room, script).run().unwrap();
    assert!(matches!(&outcome.calls()[..], [call] if !call.failed));
    assert_eq!(room.read("free.txt").as_deref(), Some("x\n"));
}

fn four_calls() -> Value {
    json!({
        "id": "four-calls", "initial": "reading",
        "states": {
            "reading": {"allowed_tools": ["Read", "Bash"], "max_iterations": 4, "on": {"DONE": "complete"}},
            "complete": {"type": "final"},
        },
    })
}

fn the_fifth_call_is_over_the_limit(version: Version) {
    let guarded = Guarded::new(version, &four_calls());
    let calls = guarded.calls((0..5).map(|_| bash("cat a.txt")).collect());
    let (fifth, first_four) = calls.split_last().unwrap();
    first_four.iter().for_each(ran);
    refused(fifth, "iteration_limit", &["DONE"]);
    assert_eq!(guarded.status()["limits"]["iterations"], json!([4, 4]));
}

/// Reading calls in one message are judged concurrently.
fn calls_at_once_cannot_share_the_last_one(version: Version) {
    let guarded = Guarded::new(version, &four_calls());
    let at_once = (0..8).map(|_| guarded.read("a.txt")).collect();
    let calls = guarded.session(Script::turns(vec![at_once])).calls();
    assert_eq!(calls.len(), 8);
    let (over, within): (Vec<&Call>, Vec<&Call>) = calls.iter().partition(|call| call.failed);
    assert_eq!(within.len(), 4, "{calls:#?}");
    over.into_iter()
        .for_each(|call| refused(call, "iteration_limit", &[]));
}

fn an_edit_over_the_limit_is_refused(version: Version) {
    let mut workflow = plan_then_build();
    workflow["initial"] = json!("building");
    workflow["states"]
        .as_object_mut()
        .unwrap()
        .remove("planning");
    let guarded = Guarded::new(version, &workflow);
    let calls = guarded.calls(vec![
        guarded.read("a.txt"),
        guarded.edit("a.txt", "one\n", &lines(21)),
        guarded.write("new.txt", &lines(21)),
        guarded.edit("a.txt", "one\n", &lines(20)),
    ]);
    let [read, edit, write, small] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(read);
    refused(edit, "edit_too_large", &["21", "20"]);
    refused(write, "edit_too_large", &["21", "20"]);
    ran(small);
    assert_eq!(guarded.room.read("a.txt"), Some(lines(20)));
    assert_eq!(guarded.room.read("new.txt"), None);
}

fn a_matching_edit_detours_at_once(version: Version) {
    let guarded = Guarded::new(
        version,
        &json!({
            "id": "migrations", "initial": "building",
            "states": {
                "building": {"allowed_tools": ["Read", "Write"], "on": {"DONE": "complete"}},
                "validating": {
                    "allowed_tools": ["Bash"], "allowed_commands": ["cat"], "instructions": MARK,
                    "on": {"VALIDATED": "$return", "FAIL": "failed"},
                },
                "complete": {"type": "final"},
                "failed": {"type": "final"},
            },
            "interrupts": {
                "migration": {"trigger": {"file_pattern": "migrations/**/*.sql"}, "target": "validating"},
            },
        }),
    );
    let outcome = guarded.session(Script::calls(vec![
        guarded.write("migrations/1.sql", "select 1;\n"),
        guarded.write("other.txt", "too early\n"),
        bash("cat migrations/1.sql"),
        transition("VALIDATED"),
        guarded.write("other.txt", "in time\n"),
    ]));
    let calls = outcome.calls();
    let [migration, early, check, back, other] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(migration);
    refused(early, "tool_not_allowed", &["Bash", "VALIDATED"]);
    ran(check);
    ran(back);
    ran(other);
    assert_eq!(guarded.room.read("other.txt").as_deref(), Some("in time\n"));
    assert_eq!(guarded.status()["state"], "building");
    assert!(
        !read_before(&outcome, 0).contains(MARK),
        "told before it happened"
    );
    assert!(
        read_before(&outcome, 1).contains(MARK),
        "the result of the write carries no notice"
    );
}

/// Returns everything the model had read before its message number `turn`.
fn read_before(outcome: &Outcome, turn: usize) -> String {
    let of_turn = |request: &&ModelRequest| request.rounds() == turn && !request.tools().is_empty();
    outcome.requests.iter().find(of_turn).unwrap().text()
}

fn only_a_test_that_passed_after_the_last_edit_opens_the_guard(version: Version) {
    let guarded = Guarded::new(
        version,
        &json!({
            "id": "prove-it", "initial": "fixing",
            "states": {
                "fixing": {
                    "allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": ["sh check.sh"],
                    "on": {"SHIP": {"target": "shipping", "guard": "checked"}},
                },
                "shipping": {"allowed_tools": ["Read"], "on": {"DONE": "complete"}},
                "complete": {"type": "final"},
            },
            "guards": {"checked": {"evidence": {"command": "sh check.sh", "exit": 0}}},
        }),
    );
    guarded
        .room
        .write("check.sh", "grep -q two a.txt\n")
        .unwrap();
    let calls = guarded.calls(vec![
        guarded.read("a.txt"),
        transition("SHIP"),
        bash("sh check.sh"),
        transition("SHIP"),
        guarded.edit("a.txt", "one", "two"),
        transition("SHIP"),
        bash("sh check.sh"),
        guarded.edit("a.txt", "two", "two or three"),
        transition("SHIP"),
        bash("sh check.sh"),
        transition("SHIP"),
    ]);
    let [
        _,
        unproved,
        failing,
        failed,
        fix,
        untested,
        passing,
        again,
        stale,
        last,
        ship,
    ] = &calls[..]
    else {
        panic!("{calls:#?}")
    };
    for early in [unproved, failed, untested, stale] {
        refused(early, "guard_failed", &["checked"]);
    }
    assert!(
        failing.failed,
        "the check must fail before the fix: {failing:#?}"
    );
    [fix, passing, again, last, ship].into_iter().for_each(ran);
    assert_eq!(guarded.status()["state"], "shipping");
}

fn a_sub_agent_stands_under_the_same_run(version: Version) {
    let guarded = Guarded::new(
        version,
        &json!({
            "id": "delegate", "initial": "reading",
            "states": {
                "reading": {"allowed_tools": ["Read", "Task", "Agent"], "on": {"DONE": "complete"}},
                "complete": {"type": "final"},
            },
        }),
    );
    let (read, edit) = (guarded.read("a.txt"), guarded.edit("a.txt", "one", "two"));
    let delegate = call(
        "Agent",
        json!({
            "description": "a sub-task", "prompt": "SUB-TASK", "subagent_type": "general-purpose",
            "run_in_background": false,
        }),
    );
    let outcome = guarded.session(Script::new(move |request| {
        let said = match (request.prompt().contains("SUB-TASK"), request.rounds()) {
            (false, 0) => &delegate,
            (true, 0) => &read,
            (true, 1) => &edit,
            _ => return vec![text("done")],
        };
        vec![said.clone()]
    }));
    let calls = outcome.calls();
    let [read, edit, agent] = &calls[..] else {
        panic!("{calls:#?}")
    };
    ran(read);
    ran(agent);
    refused(edit, "tool_not_allowed", &["DONE"]);
    assert_eq!(guarded.room.read("a.txt").as_deref(), Some("one\n"));
}

interlock_testkit::with_both_versions! {
    a_refusal_reaches_the_model_and_a_transition_unlocks
    the_model_is_told_where_it_stands
    a_project_without_a_run_is_left_alone
    the_fifth_call_is_over_the_limit
    calls_at_once_cannot_share_the_last_one
    an_edit_over_the_limit_is_refused
    a_matching_edit_detours_at_once
    only_a_test_that_passed_after_the_last_edit_opens_the_guard
    a_sub_agent_stands_under_the_same_run
}
