//! Items that run one after the other.

use interlock_core::{
    Reply,
    command::{ActivityOutcome, CommandKind, EffectStatus},
    run::Phase,
};
use serde_json::{Value, json};

use crate::durable::driven::{Driven, called, end, key, machine, on_codes, plain, task, to};

pub(crate) fn each(goes_on: bool, body: &Value, on: &Value) -> Value {
    let states = json!({
        "list": task(&plain("list"), &json!({ "done": to("list/each") }), &json!({})),
        "list/each": {
            "activity": { "parallel": {
                "over": { "lines": { "machine": "body", "item": "item", "index": "index" } },
                "join": "settled", "merge": "shared", "concurrency": 1,
                "on_error": if goes_on { "skip" } else { "fail" },
            } },
            "on": on,
            "shown_as": "list",
        },
        "after": task(&key("seen"), &json!({ "done": end() }), &json!({})),
        "handler": task(&json!([{ "hole": { "error": "message" } }]), &json!({ "done": end() }), &json!({})),
    });
    machine(
        &json!({ "seen": "", "item": "outer" }),
        &states,
        &json!({ "body": called("body", body) }),
    )
}

#[test]
fn items_run_one_after_the_other_and_what_they_capture_stays() {
    let body = json!({
        "step": task(
            &json!([{ "hole": { "key": "index" } }, { "plain": ":" }, { "hole": { "key": "item" } }]),
            &json!({ "done": end() }),
            &json!({ "capture": { "key": "seen" } }),
        ),
    });
    let mut driven = Driven::start(each(false, &body, &json!({ "done": to("after") })));
    driven.done("list", "a\r\n\n \nb\n c");
    for (index, item) in ["a", "b", " c"].iter().enumerate() {
        let path = format!("list/{index}/step");
        let command = format!("{index}:{item}");
        assert_eq!(driven.running(), [(path.clone(), command)]);
        driven.done(&path, &format!("<{item}>"));
    }
    assert_eq!(driven.running(), [("after".to_owned(), "< c>".to_owned())]);
    let context = &driven.run.root.line.context;
    assert_eq!(context.get("item"), Some(&json!("outer")));
    assert_eq!(context.get("index"), None);
}

#[test]
fn a_failed_item_stops_the_loop_or_is_passed_over() {
    let body = json!({ "step": task(&key("item"), &json!({ "done": end() }), &json!({})) });
    let on = json!({ "done": to("after"), "error": on_codes(&[(1, "handler")], None) });
    let mut stopped = Driven::start(each(false, &body, &on));
    stopped.done("list", "a\nb");
    stopped.failed("list/0/step", 7, "why");
    let (path, message) = stopped.running().pop().unwrap();
    assert_eq!(path, "handler", "in the handler the code is 1");
    assert!(message.contains("item 0"), "{message}");
    let mut passed = Driven::start(each(true, &body, &on));
    passed.done("list", "a\nb");
    passed.failed("list/0/step", 7, "why");
    passed.done("list/1/step", "");
    assert_eq!(passed.running().pop().unwrap().0, "after");
}

#[test]
fn a_loop_counts_the_items_that_have_ended_and_those_that_failed() {
    let body = json!({ "step": task(&key("item"), &json!({ "done": end() }), &json!({})) });
    let mut driven = Driven::start(each(true, &body, &json!({ "done": to("after") })));
    driven.done("list", "a\nb\nc\nd");
    driven.failed("list/0/step", 7, "why");
    driven.done("list/1/step", "");
    driven.failed("list/2/step", 7, "why");
    let items = driven.run.root.stay.items().unwrap();
    assert_eq!((items.ended, items.failed), (3, 2));
}

#[test]
fn thousands_of_items_without_effects_need_no_deep_stack() {
    let test = json!({
        "look": { "activity": { "test": { "left": key("item"), "op": "value" } }, "on": { "done": end() } },
    });
    let mut driven = Driven::start(each(false, &test, &json!({ "done": to("after") })));
    let lines: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    driven.done("list", &lines);
    let mut longest = driven.log.len();
    while driven.running().is_empty() {
        let due = driven.effects().pop().unwrap().status;
        assert!(matches!(due, EffectStatus::Waiting(until) if until <= driven.at_ms));
        let before = driven.log.len();
        driven.accept(CommandKind::Advance);
        longest = longest.max(driven.log.len() - before);
    }
    assert_eq!(driven.running().pop().unwrap().0, "after");
    assert!(longest < 2_000, "one command brings {longest} events about");
    let ended = driven.log.iter().filter(|one| one.name() == "ItemEnded");
    assert_eq!(ended.count(), 20_000);
}

#[test]
fn between_two_of_its_items_a_loop_can_be_cancelled_and_gone_on_with() {
    let test = json!({
        "look": { "activity": { "test": { "left": key("item"), "op": "value" } }, "on": { "done": end() } },
    });
    let mut driven = Driven::start(each(false, &test, &json!({ "done": to("after") })));
    driven.done("list", &"x\n".repeat(1_000));
    let ended = driven.ask(CommandKind::EndActivity {
        path: None,
        outcome: ActivityOutcome::done("early"),
    });
    assert!(matches!(ended, Reply::Refused(_)), "nothing runs");
    driven.accept(CommandKind::LoseEffects);
    driven.accept(CommandKind::Cancel {
        by: "ana".to_owned(),
    });
    assert_eq!(driven.run.phase, Phase::Cancelled);
    driven.accept(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    while driven.running().is_empty() {
        driven.accept(CommandKind::Advance);
    }
    assert_eq!(driven.running().pop().unwrap().0, "after");
}

#[test]
fn what_a_person_cancels_is_no_failed_item_that_others_follow() {
    let body = json!({ "step": task(&key("item"), &json!({ "done": end() }), &json!({})) });
    let on = json!({ "done": to("after"), "error": on_codes(&[(130, "handler")], None) });
    let mut driven = Driven::start(each(true, &body, &on));
    driven.done("list", "a\nb");
    driven.accept(CommandKind::Cancel {
        by: "ana".to_owned(),
    });
    assert_eq!(driven.running().pop().unwrap().0, "handler");
}

#[test]
fn a_cancelled_list_has_code_130_whatever_code_its_failures_have() {
    let body = json!({ "step": task(&key("item"), &json!({ "done": end() }), &json!({})) });
    let rows = [
        (on_codes(&[(130, "handler")], None), true),
        (on_codes(&[(1, "handler")], None), false),
        (on_codes(&[], Some("handler")), false),
    ];
    for (error, is_handled) in rows {
        for (goes_on, splits) in [(false, false), (false, true), (true, false), (true, true)] {
            let on = json!({ "done": to("after"), "error": error });
            let mut whole = each(goes_on, &body, &on);
            whole["states"]["list"]["on"] = json!({ "done": to("list/each"), "error": error });
            whole["states"]["list"]["fails_with"] = json!(1);
            whole["states"]["list/each"]["fails_with"] = json!(1);
            let mut driven = Driven::start(whole);
            if splits {
                driven.done("list", "a\nb");
            }
            driven.accept(CommandKind::Cancel {
                by: "ana".to_owned(),
            });
            let place = format!("{error}, goes on: {goes_on}, splits: {splits}");
            let running = driven.running().pop().map(|(path, _)| path);
            assert_eq!(
                running.as_deref(),
                is_handled.then_some("handler"),
                "{place}"
            );
            assert_eq!(driven.run.phase == Phase::Cancelled, !is_handled, "{place}");
        }
    }
}

#[test]
fn a_failed_list_has_code_1_whether_it_is_handled_or_not() {
    let body = json!({ "step": task(&key("item"), &json!({ "done": end() }), &json!({})) });
    let code = json!([{ "hole": { "error": "code" } }, { "hole": { "error": "stderr" } }]);
    for (on, handled) in [
        (json!({ "done": to("list/each") }), None),
        (
            json!({ "done": to("list/each"), "error": on_codes(&[(1, "handler")], None) }),
            Some("1why"),
        ),
        (
            json!({ "done": to("list/each"), "error": on_codes(&[(5, "handler")], None) }),
            None,
        ),
    ] {
        let mut whole = each(false, &body, &json!({ "done": to("after") }));
        whole["states"]["list"]["on"] = on;
        whole["states"]["list"]["fails_with"] = json!(1);
        whole["states"]["handler"] = task(&code, &json!({ "done": end() }), &json!({}));
        let mut driven = Driven::start(whole);
        driven.failed("list", 5, "why");
        let running = driven.running().pop().map(|(_, command)| command);
        assert_eq!(running.as_deref(), handled);
        let expected = handled.is_none().then_some(1);
        assert_eq!(driven.code(), expected);
    }
}

#[test]
fn a_cancelled_item_is_not_gone_on_behind() {
    let body = json!({ "step": task(&key("item"), &json!({ "done": end() }), &json!({})) });
    let mut driven = Driven::start(each(true, &body, &json!({ "done": to("after") })));
    driven.done("list", "a\nb");
    driven.accept(CommandKind::Cancel {
        by: "ana".to_owned(),
    });
    assert_eq!(driven.run.phase, Phase::Cancelled);
}

#[test]
fn a_failed_item_is_passed_over_where_nothing_else_handles_it() {
    let body = json!({ "step": task(&key("item"), &json!({ "done": end() }), &json!({})) });
    for (goes_on, code) in [(true, None), (false, Some(1))] {
        let mut driven = Driven::start(each(goes_on, &body, &json!({ "done": to("after") })));
        driven.done("list", "a\nb");
        driven.failed("list/0/step", 7, "why");
        assert_eq!(driven.code(), code, "goes on: {goes_on}");
    }
}

#[test]
fn a_loop_goes_on_in_another_version_only_over_the_same_machine() {
    let body = json!({ "step": task(&key("item"), &json!({ "done": end() }), &json!({})) });
    let whole = each(false, &body, &json!({ "done": to("after") }));
    let mut other = whole.clone();
    other["machines"]["other"] = called("other", &body);
    other["states"]["list/each"]["activity"]["parallel"]["over"]["lines"]["machine"] =
        json!("other");
    for (version, fits) in [(&whole, true), (&other, false)] {
        let mut driven = Driven::start(whole.clone());
        driven.done("list", "a\nb");
        let reply = driven.ask(CommandKind::Adopt {
            machine: Box::new(serde_json::from_value(version.clone()).unwrap()),
            by: "ana".to_owned(),
        });
        assert_eq!(reply == Reply::Accepted, fits, "{reply:?}");
    }
}
