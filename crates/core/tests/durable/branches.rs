//! Branches that settle, and the continuation after one failed.

use interlock_core::{Reply, command::CommandKind, event::Event};
use serde_json::{Value, json};

use crate::durable::driven::{Driven, called, end, key, machine, on_codes, plain, task, to};
use crate::durable::items::each;

fn fork(join: &str, at_once: usize, on: &Value) -> Value {
    let branch = |name: &str| {
        task(
            &plain(name),
            &json!({ "done": end() }),
            &json!({ "capture": { "key": name }, "shown_as": "" }),
        )
    };
    let states = json!({
        "par": {
            "activity": { "parallel": {
                "over": { "branches": {
                    "x": { "initial": "par/x", "terminal": "" },
                    "y": { "initial": "par/y", "terminal": "" },
                    "z": { "initial": "par/z", "terminal": "" },
                } },
                "join": join,
                "merge": "captured",
                "concurrency": at_once,
            } },
            "on": on,
        },
        "par/x": branch("x"),
        "par/y": branch("y"),
        "par/z": branch("z"),
        "handler": task(&key("x"), &json!({ "done": end() }), &json!({})),
    });
    machine(&json!({}), &states, &json!({}))
}

fn running_paths(driven: &Driven) -> Vec<String> {
    driven.running().into_iter().map(|(path, _)| path).collect()
}

#[test]
fn branches_settle_and_the_first_failure_as_written_counts() {
    let on = json!({ "done": to("handler"), "error": on_codes(&[(4, "handler")], None) });
    let mut driven = Driven::start(fork("settled", 2, &on));
    assert_eq!(running_paths(&driven), ["par/x", "par/y"]);
    driven.failed("par/y", 4, "");
    assert_eq!(running_paths(&driven), ["par/x", "par/z"]);
    driven.failed("par/z", 5, "");
    driven.done("par/x", "kept");
    assert_eq!(
        driven.running(),
        [("handler".to_owned(), "kept".to_owned())],
        "what succeeded is there in the handler"
    );
}

#[test]
fn the_first_failure_in_time_ends_a_fork_that_fails_fast() {
    let mut driven = Driven::start(fork("fail_fast", 3, &json!({ "done": to("handler") })));
    driven.failed("par/z", 5, "");
    assert_eq!(driven.code(), Some(5));
    assert!(driven.effects().is_empty(), "the others are ended");
}

#[test]
fn a_failed_run_goes_on_at_the_branches_that_failed() {
    let mut driven = Driven::start(fork("settled", 3, &json!({ "done": to("handler") })));
    driven.done("par/x", "kept");
    driven.failed("par/y", 4, "");
    driven.done("par/z", "");
    assert_eq!(driven.code(), Some(4));
    driven.accept(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    assert_eq!(running_paths(&driven), ["par/y"]);
    driven.done("par/y", "");
    assert_eq!(
        driven.running(),
        [("handler".to_owned(), "kept".to_owned())]
    );
    driven.done("handler", "");
    let reply = driven.ask(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    assert!(matches!(reply, Reply::Refused(_)), "it is completed");
}

#[test]
fn a_run_that_failed_fast_goes_on_at_every_branch_that_had_not_succeeded() {
    let mut driven = Driven::start(fork("fail_fast", 3, &json!({ "done": to("handler") })));
    driven.done("par/x", "kept");
    driven.failed("par/z", 5, "");
    assert_eq!(driven.code(), Some(5));
    driven.accept(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    assert_eq!(running_paths(&driven), ["par/y", "par/z"]);
    driven.done("par/y", "");
    driven.done("par/z", "");
    assert_eq!(
        driven.running(),
        [("handler".to_owned(), "kept".to_owned())]
    );
}

#[test]
fn branches_that_failed_go_on_no_more_at_once_than_they_may() {
    let mut driven = Driven::start(fork("settled", 1, &json!({ "done": to("handler") })));
    driven.failed("par/x", 4, "");
    driven.failed("par/y", 4, "");
    driven.accept(CommandKind::Cancel {
        by: "ana".to_owned(),
    });
    driven.accept(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    let mut order = Vec::new();
    while let Some(path) = running_paths(&driven)
        .pop()
        .filter(|path| path != "handler")
    {
        assert_eq!(driven.running().len(), 1);
        driven.done(&path, "");
        order.push(path);
    }
    assert_eq!(order, ["par/z", "par/x", "par/y"]);
    let starts = |event: &&Event| matches!(event, Event::EffectStarted { .. });
    assert_eq!(
        driven.log.iter().filter(starts).count(),
        7,
        "each start is in the log"
    );
    assert_eq!(running_paths(&driven), ["handler"]);
}

#[test]
fn what_was_lost_beside_the_failure_that_ends_the_run_stays_as_it_is() {
    let mut whole = fork("fail_fast", 3, &json!({ "done": to("handler") }));
    whole["states"]["par/x"]["on_crash"] = json!("fail");
    let mut driven = Driven::start(whole);
    driven.accept(CommandKind::LoseEffects);
    assert_eq!(driven.code(), Some(1));
    let last = driven.log.last().map(Event::name);
    assert_eq!(last, Some("RunFailed"));
}

#[test]
fn a_failed_run_goes_on_within_the_item_and_the_called_machine() {
    let inner = json!({
        "first": task(&plain("first"), &json!({ "done": to("second") }), &json!({})),
        "second": task(&plain("second"), &json!({ "done": end() }), &json!({})),
    });
    let mut whole = each(false, &inner, &json!({ "done": to("after") }));
    whole["machines"]["body"]["states"] = json!({
        "call": { "activity": { "call": { "machine": "sub", "namespace": "sub" } }, "on": { "done": end() } },
    });
    whole["machines"]["body"]["initial"] = json!("call");
    whole["machines"]["sub"] = called("sub", &inner);
    let mut driven = Driven::start(whole);
    driven.done("list", "a\nb");
    driven.done("list/0/call/first", "");
    driven.failed("list/0/call/second", 8, "");
    assert_eq!(driven.code(), Some(1), "a loop fails with 1");
    driven.accept(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    assert_eq!(running_paths(&driven), ["list/0/call/second"]);
}

#[test]
fn more_branches_than_may_be_are_the_error_of_their_fork() {
    let on = json!({ "done": to("handler"), "error": to("handler") });
    for (most, opened) in [(3, 3), (2, 0)] {
        let mut fork = fork("settled", 3, &on);
        fork["limits"] = json!(interlock_core::machine::Limits::default());
        fork["limits"]["branches_max"] = json!(most);
        let driven = Driven::start(fork);
        let branches = running_paths(&driven)
            .iter()
            .filter(|path| path.starts_with("par/"))
            .count();
        assert_eq!(branches, opened, "{most}: {:?}", running_paths(&driven));
    }
}

#[test]
fn a_fork_may_fail_with_a_code_of_its_own() {
    let on = json!({ "done": to("handler"), "error": on_codes(&[(4, "handler")], None) });
    for (fails_as, handled) in [(None, true), (Some("branch_failed"), false)] {
        let mut whole = fork("fail_fast", 3, &on);
        whole["states"]["par"]["activity"]["parallel"]["fails_as"] = json!(fails_as);
        let mut driven = Driven::start(whole);
        driven.done("par/x", "kept");
        driven.failed("par/y", 4, "");
        assert_eq!(!driven.running().is_empty(), handled, "{fails_as:?}");
        assert_eq!(driven.code().is_none(), handled, "{fails_as:?}");
    }
}

#[test]
fn a_fork_that_leads_to_another_one_opens_all_of_its_branches() {
    // Branches that end in a state of the machine, and branches that end by themselves.
    for ends_in_a_state in [true, false] {
        let on = if ends_in_a_state { to("over") } else { end() };
        let terminal = if ends_in_a_state { "over" } else { "" };
        let fork = |first: &str, second: &str, next: &Value| {
            json!({
                "activity": { "parallel": {
                    "over": { "branches": {
                        first: { "initial": first, "terminal": terminal },
                        second: { "initial": second, "terminal": terminal },
                    } },
                    "join": "settled", "merge": "captured",
                } },
                "on": { "done": next },
            })
        };
        let branch = |name: &str| task(&plain(name), &json!({ "done": on }), &json!({}));
        let states = json!({
            "one": fork("a", "b", &to("two")),
            "two": fork("c", "d", &end()),
            "a": branch("a"), "b": branch("b"), "c": branch("c"), "d": branch("d"),
            "over": { "activity": { "final": { "outcome": "success" } } },
        });
        let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
        let texts = |driven: &Driven| -> Vec<String> {
            driven.running().into_iter().map(|(_, text)| text).collect()
        };
        for wanted in [["a", "b"], ["c", "d"]] {
            assert_eq!(texts(&driven), wanted, "{ends_in_a_state}");
            for path in running_paths(&driven) {
                driven.done(&path, "");
            }
        }
        assert_eq!(driven.code(), Some(0), "{ends_in_a_state}");
    }
}

#[test]
fn what_a_branch_captured_before_it_failed_is_there_in_the_handler() {
    let on = json!({ "done": to("handler"), "error": on_codes(&[(4, "handler")], None) });
    let mut whole = fork("settled", 3, &on);
    whole["states"]["par/y"]["on"]["done"] = to("par/y2");
    whole["states"]["par/y2"] = task(&plain("y2"), &json!({ "done": end() }), &json!({}));
    whole["states"]["handler"] = task(&key("y"), &json!({ "done": end() }), &json!({}));
    let mut driven = Driven::start(whole);
    driven.done("par/x", "");
    driven.done("par/z", "");
    driven.done("par/y", "what y found");
    let path = running_paths(&driven).pop().unwrap();
    driven.failed(&path, 4, "");
    assert_eq!(
        driven.running(),
        [("handler".to_owned(), "what y found".to_owned())]
    );
}

#[test]
fn a_branch_that_failed_stays_so_in_another_version() {
    let whole = fork("settled", 3, &json!({ "done": to("handler") }));
    let mut driven = Driven::start(whole.clone());
    driven.failed("par/x", 4, "");
    driven.accept(CommandKind::Adopt {
        machine: Box::new(serde_json::from_value(whole).unwrap()),
        by: "ana".to_owned(),
    });
    assert_eq!(running_paths(&driven), ["par/y", "par/z"]);
    driven.done("par/y", "");
    driven.done("par/z", "");
    assert_eq!(driven.code(), Some(4));
}

#[test]
fn a_branch_that_another_cut_off_goes_on_within_the_machine_that_it_had_called() {
    let mut whole = fork("fail_fast", 2, &json!({ "done": to("handler") }));
    whole["states"]["par/y"] = json!({
        "activity": { "call": { "machine": "sub" } }, "on": { "done": end() },
    });
    let sub = json!({
        "one": task(&plain("one"), &json!({ "done": to("two") }), &json!({})),
        "two": task(&plain("two"), &json!({ "done": end() }), &json!({})),
    });
    whole["machines"]["sub"] = called("sub", &sub);
    let mut driven = Driven::start(whole);
    let within = driven.running().into_iter().find(|(_, it)| it == "one");
    driven.done(&within.unwrap().0, "");
    driven.failed("par/x", 5, "");
    assert_eq!(driven.code(), Some(5));
    driven.accept(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    let commands: Vec<String> = driven.running().into_iter().map(|(_, it)| it).collect();
    assert_eq!(commands, ["x", "two"]);
}
