//! Effects that are lost, paused or entered again, and the output of a called machine.

use interlock_core::{
    Reply,
    command::{CommandKind, EffectSettlement},
};
use serde_json::json;

use crate::durable::{
    driven::{Driven, called, end, key, machine, plain, task, to},
    items::each,
};

#[test]
fn the_output_of_a_called_machine_may_go_to_a_file() {
    let sub = json!({ "in": task(&plain("work"), &json!({ "done": end() }), &json!({})) });
    let states = json!({
        "call": {
            "activity": { "call": { "machine": "sub", "namespace": "sub" } },
            "capture": { "file": [{ "plain": "./out/" }, { "hole": { "key": "name" } }] },
            "on": { "done": to("after") },
        },
        "after": task(&plain("after"), &json!({ "done": end() }), &json!({})),
    });
    let machines = json!({ "sub": called("sub", &sub) });
    let mut driven = Driven::start(machine(&json!({ "name": "a.txt" }), &states, &machines));
    driven.done("call/in", "what it says");
    let effects = driven.effects();
    let [write] = effects.as_slice() else {
        unreachable!("{effects:?}");
    };
    assert_eq!(write.file.as_deref(), Some("/run/out/a.txt"));
    assert_eq!(*write.input, json!({ "text": "what it says" }));
    driven.done("call", "");
    assert_eq!(driven.running(), [("after".to_owned(), "after".to_owned())]);
}

#[test]
fn one_of_several_lost_effects_is_settled_by_its_name() {
    let branch = |text: &str| {
        task(
            &plain(text),
            &json!({ "done": end() }),
            &json!({ "on_crash": "ask" }),
        )
    };
    let states = json!({
        "par": {
            "activity": { "parallel": {
                "over": { "branches": {
                    "a": { "initial": "a", "terminal": "" },
                    "b": { "initial": "b", "terminal": "" },
                } },
                "join": "settled", "merge": "captured",
            } },
            "on": { "done": end() },
        },
        "a": branch("a"), "b": branch("b"),
    });
    for (wanted, settled) in [
        (Some("par/b/b"), &["b"][..]),
        (Some("b"), &["b"]),
        (Some("c"), &[]),
        (None, &["a", "b"]),
    ] {
        let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
        driven.accept(CommandKind::LoseEffects);
        assert!(driven.running().is_empty());
        let reply = driven.ask(CommandKind::SettleEffect {
            path: wanted.map(str::to_owned),
            how: EffectSettlement::Again,
            by: "ana".to_owned(),
        });
        assert_eq!(
            matches!(reply, Reply::Refused(_)),
            settled.is_empty(),
            "{wanted:?}"
        );
        let running: Vec<String> = driven.running().into_iter().map(|(_, text)| text).collect();
        assert_eq!(running, settled, "{wanted:?}");
    }
}

#[test]
fn nothing_is_carried_out_while_the_run_is_paused() {
    let states = json!({ "one": task(&plain("a"), &json!({ "done": end() }), &json!({})) });
    let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
    assert_eq!(driven.running().len(), 1);
    driven.accept(CommandKind::Pause {
        by: "ana".to_owned(),
        reason: None,
    });
    assert!(driven.effects().is_empty());
    driven.accept(CommandKind::Resume {
        by: "ana".to_owned(),
        seen: None,
    });
    assert_eq!(driven.running().len(), 1);
}

#[test]
fn what_was_cut_off_waits_for_a_person_whatever_its_time() {
    let more = json!({ "on_crash": "ask", "timeout_ms": 1_000 });
    let states = json!({ "one": task(&plain("a"), &json!({ "done": end() }), &more) });
    for lost in [true, false] {
        let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
        assert_eq!(driven.effects().first().unwrap().late_ms, Some(2_000));
        if lost {
            driven.accept(CommandKind::LoseEffects);
            assert_eq!(driven.effects().first().unwrap().late_ms, None);
        }
        driven.at_ms += 1_000_000;
        driven.accept(CommandKind::Advance);
        assert_eq!(driven.code().is_none(), lost, "lost: {lost}");
    }
}

#[test]
fn each_entry_of_a_state_is_an_effect_of_its_own() {
    let body = json!({ "step": task(&key("item"), &json!({ "done": to("next") }), &json!({})), "next": task(&plain("x"), &json!({ "done": end() }), &json!({})) });
    let mut driven = Driven::start(each(false, &body, &json!({ "done": to("after") })));
    let mut ids = Vec::new();
    driven.done("list", "a\nb");
    while let Some(effect) = driven.effects().pop() {
        ids.push(effect.id);
        driven.done(&effect.path, "");
    }
    assert_eq!(ids.len(), 5, "{ids:?}");
    let whole = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), whole, "{ids:?}");
}
