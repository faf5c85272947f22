//! Effects: started, retried, lost, cancelled; texts, variables and files.

use interlock_core::{
    Reply,
    command::{ActivityOutcome, Command, CommandKind, EffectSettlement, EffectStatus},
    decide,
    event::Event,
    machine::Machine,
    missing_files,
    names::{FramePath, RunId},
    run::{Phase, Run},
};
use interlock_expr::text::Files;
use serde_json::{Value, json};

use crate::durable::{
    driven::{Driven, called, end, key, machine, on_codes, plain, task, to},
    items::each,
};

#[test]
fn a_start_is_in_the_log_with_its_texts_filled() {
    let states = json!({
        "one": task(&key("name"), &json!({ "done": to("two") }), &json!({ "capture": { "key": "name" } })),
        "two": task(&key("name"), &json!({ "done": end() }), &json!({})),
    });
    let mut driven = Driven::start(machine(&json!({ "name": "ls" }), &states, &json!({})));
    assert_eq!(driven.running(), [("one".to_owned(), "ls".to_owned())]);
    driven.done("one", "  pwd \n");
    let names: Vec<&str> = driven.log.iter().map(Event::name).collect();
    assert_eq!(
        names,
        [
            "RunStarted",
            "EffectStarted",
            "ActivityEnded",
            "TransitionTaken",
            "EffectStarted"
        ]
    );
    assert_eq!(driven.running(), [("two".to_owned(), "pwd".to_owned())]);
    driven.done("two", "");
    assert_eq!(driven.code(), Some(0));
}

#[test]
fn a_code_finds_its_handler_and_the_error_is_known_there() {
    let message = json!([
        { "hole": { "error": "code" } },
        { "plain": " " },
        { "hole": { "error": "state" } },
        { "plain": " " },
        { "hole": { "error": "stderr" } },
    ]);
    let states = json!({
        "one": task(&plain("a"), &json!({ "done": end(), "error": on_codes(&[(1, "other"), (3, "handler")], Some("rest")) }), &json!({})),
        "other": task(&plain("other"), &json!({ "done": end() }), &json!({})),
        "rest": task(&plain("rest"), &json!({ "done": end() }), &json!({})),
        "handler": task(&message, &json!({ "done": end() }), &json!({})),
    });
    let whole = machine(&json!({}), &states, &json!({}));
    for (code, path, command) in [
        (3, "handler", "3 one broken"),
        (1, "other", "other"),
        (77, "rest", "rest"),
    ] {
        let mut driven = Driven::start(whole.clone());
        driven.failed("one", code, "broken");
        assert_eq!(driven.running(), [(path.to_owned(), command.to_owned())]);
        driven.failed(path, 9, "");
        assert_eq!(driven.code(), Some(9));
    }
}

#[test]
fn texts_see_the_end_of_what_a_failed_program_wrote() {
    let handler = task(
        &json!([{ "hole": { "error": "stderr" } }]),
        &json!({ "done": end() }),
        &json!({}),
    );
    let states = json!({
        "one": task(&plain("a"), &json!({ "done": end(), "error": on_codes(&[], Some("handler")) }), &json!({})),
        "handler": handler,
    });
    let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
    driven.failed("one", 1, &format!("first{}last\n", "é".repeat(40_000)));
    let (_, seen) = driven.running().pop().unwrap();
    assert!(seen.ends_with("éélast"), "the end is there, trimmed");
    assert!((65_530..=65_536).contains(&seen.len()), "{}", seen.len());
}

#[test]
fn tries_follow_each_other_after_growing_waits() {
    let retry = json!({ "retry": { "attempts": 4, "wait_ms": 100, "backoff": "2", "wait_max_ms": 300 }, "capture": { "key": "v" } });
    let states = json!({ "one": task(&plain("a"), &json!({ "done": end() }), &retry) });
    let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
    for (attempt, wait_ms) in [(1, 100), (2, 200), (3, 300)] {
        assert_eq!(driven.effects().first().unwrap().attempt, attempt);
        driven.failed("one", 5, "");
        let until = driven.at_ms + wait_ms;
        assert_eq!(
            driven.effects().first().unwrap().status,
            EffectStatus::Waiting(until)
        );
        let early = driven.log.len();
        driven.at_ms = until - 1;
        driven.accept(CommandKind::Advance);
        assert_eq!(driven.log.len(), early, "it is not time yet");
        driven.at_ms = until;
        driven.accept(CommandKind::Advance);
        assert_eq!(driven.running().len(), 1);
    }
    driven.failed("one", 6, "");
    assert_eq!(driven.code(), Some(6), "the last try counts");
}

#[test]
fn no_try_begins_while_the_run_is_paused() {
    let retry =
        json!({ "retry": { "attempts": 2, "wait_ms": 100, "backoff": "1", "wait_max_ms": 100 } });
    let states = json!({ "one": task(&plain("a"), &json!({ "done": end() }), &retry) });
    let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
    driven.failed("one", 5, "");
    driven.accept(CommandKind::Pause {
        by: "ana".to_owned(),
        reason: None,
    });
    driven.at_ms += 1_000;
    driven.accept(CommandKind::Advance);
    assert!(driven.running().is_empty(), "it waits for the person");
    driven.accept(CommandKind::Resume {
        by: "ana".to_owned(),
        seen: None,
    });
    driven.accept(CommandKind::Advance);
    assert_eq!(driven.effects().first().unwrap().attempt, 2);
    assert_eq!(driven.running().len(), 1);
}

#[test]
fn nothing_comes_of_time_while_the_run_is_paused() {
    let retry =
        json!({ "retry": { "attempts": 2, "wait_ms": 100, "backoff": "1", "wait_max_ms": 100 } });
    let tried = task(&plain("a"), &json!({ "done": end() }), &retry);
    let late = task(
        &plain("a"),
        &json!({ "done": end() }),
        &json!({ "timeout_ms": 100 }),
    );
    let waits = json!({ "activity": { "wait": { "wait_ms": 100 } }, "on": { "done": end() } });
    for (what, state) in [("a retry", tried), ("a limit", late), ("a wait", waits)] {
        let mut driven = Driven::start(machine(&json!({}), &json!({ "one": state }), &json!({})));
        if what == "a retry" {
            driven.failed("one", 5, "");
        }
        driven.accept(CommandKind::Pause {
            by: "ana".to_owned(),
            reason: None,
        });
        driven.at_ms += 1_000_000;
        let before = driven.log.len();
        driven.accept(CommandKind::Advance);
        assert_eq!(driven.log.len(), before, "{what}");
        driven.accept(CommandKind::Resume {
            by: "ana".to_owned(),
            seen: None,
        });
        let before = driven.log.len();
        driven.accept(CommandKind::Advance);
        assert!(driven.log.len() > before, "{what}");
    }
}

#[test]
fn only_a_run_of_steps_goes_on_after_its_end() {
    let guarded = json!({ "id": "m", "initial": "a", "states": { "a": {} } });
    let mut driven = Driven::start(guarded);
    driven.accept(CommandKind::Cancel {
        by: "ana".to_owned(),
    });
    assert_eq!(driven.run.phase, Phase::Cancelled);
    let again = driven.ask(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    assert!(matches!(again, Reply::Refused(_)), "{again:?}");
}

#[test]
fn a_lost_effect_follows_the_rule_of_its_state() {
    let rule = |rule: &str| {
        let states = json!({
            "one": task(&plain("a"), &json!({ "done": end(), "error": on_codes(&[], Some("handler")) }), &json!({ "on_crash": rule })),
            "handler": task(&plain("h"), &json!({ "done": end() }), &json!({})),
        });
        let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
        driven.accept(CommandKind::LoseEffects);
        driven
    };
    assert_eq!(rule("retry").running().first().unwrap().0, "one");
    assert_eq!(rule("fail").running().first().unwrap().0, "handler");
    let settle = |how: EffectSettlement| {
        let mut asked = rule("ask");
        assert_eq!(asked.effects().first().unwrap().status, EffectStatus::Lost);
        let late = asked.ask(CommandKind::EndActivity {
            path: None,
            outcome: ActivityOutcome::done(json!("late")),
        });
        assert!(matches!(late, Reply::Refused(_)), "who started it is gone");
        asked.accept(CommandKind::SettleEffect {
            path: None,
            how,
            by: "ana".to_owned(),
        });
        asked
    };
    assert_eq!(
        settle(EffectSettlement::Again).running().first().unwrap().0,
        "one"
    );
    let failed = settle(EffectSettlement::Failed(json!(4)));
    assert_eq!(failed.running().first().unwrap().0, "handler");
    assert_eq!(settle(EffectSettlement::Done(json!("x"))).code(), Some(0));
}

#[test]
fn a_question_to_a_person_is_not_lost_with_the_process_that_asked_it() {
    for activity in ["ask", "pause", "task"] {
        let mut one = task(
            &plain("go on?"),
            &json!({ "done": end() }),
            &json!({ "on_crash": "ask" }),
        );
        if activity != "task" {
            let input = one["activity"]["task"]["input"].take();
            one["activity"] = json!({ activity: input });
        }
        let states = json!({ "one": one });
        let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
        driven.accept(CommandKind::LoseEffects);
        let is_lost = driven.effects().first().unwrap().status == EffectStatus::Lost;
        assert_eq!(is_lost, activity == "task", "{activity}");
    }
}

#[test]
fn the_log_has_all_of_what_was_printed_and_a_run_only_its_end() {
    let states = json!({
        "one": task(&plain("a"), &json!({ "done": to("two") }), &json!({})),
        "two": task(&plain("b"), &json!({ "done": end() }), &json!({})),
    });
    let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
    driven.accept(CommandKind::EndActivity {
        path: None,
        outcome: ActivityOutcome::Done {
            output: json!("out"),
            stderr: "a warning".to_owned(),
        },
    });
    let long = "e".repeat(512 * 1024);
    driven.failed("two", 3, &long);
    let told: Vec<(String, usize)> = driven
        .log
        .iter()
        .filter_map(|event| match event {
            Event::ActivityEnded { stderr, error, .. } => {
                let failed = error.as_ref().map_or(0, |error| error.stderr.len());
                Some((stderr.clone(), failed))
            }
            _ => None,
        })
        .collect();
    let warned = ("a warning".to_owned(), 0);
    assert_eq!(told, [warned, (String::new(), long.len())], "each once");
    let kept = serde_json::to_string(&driven.run).unwrap();
    assert!(kept.len() < 256 * 1024, "{} bytes", kept.len());
}

#[test]
fn states_that_only_look_are_ended_after_a_thousand() {
    let look = |next: &str| json!({ "activity": { "test": { "left": plain("x"), "op": "value" } }, "on": { "done": to(next) } });
    let states = json!({ "a": look("b"), "b": look("a") });
    let driven = Driven::start(machine(&json!({}), &states, &json!({})));
    assert_eq!(driven.code(), Some(1));
    let taken = driven
        .log
        .iter()
        .filter(|event| event.name() == "TransitionTaken");
    assert!((1_000..1_010).contains(&taken.count()));
}

#[test]
fn a_called_machine_hands_back_its_variables_below_its_name() {
    let sub = json!({
        "in": task(&key("who"), &json!({ "done": end() }), &json!({ "capture": { "key": "result" } })),
    });
    let states = json!({
        "call": {
            "activity": { "call": { "machine": "sub", "passed": { "who": key("name") }, "namespace": "checks" } },
            "capture": { "key": "last" },
            "on": { "done": to("after") },
        },
        "after": task(&json!([{ "hole": { "key": "checks::result" } }, { "hole": { "key": "last" } }]), &json!({ "done": end() }), &json!({})),
    });
    let machines = json!({ "sub": called("sub", &sub) });
    let mut driven = Driven::start(machine(&json!({ "name": "ana" }), &states, &machines));
    assert_eq!(driven.running(), [("call/in".to_owned(), "ana".to_owned())]);
    driven.done("call/in", " fine ");
    let (path, command) = driven.running().pop().unwrap();
    assert_eq!((path.as_str(), command.as_str()), ("after", "finefine"));
}

#[test]
fn cancelling_takes_only_an_explicit_way() {
    let on = |rules: Value| {
        let states = json!({
            "one": task(&plain("a"), &json!({ "done": end(), "error": rules }), &json!({})),
            "handler": task(&plain("h"), &json!({ "done": end() }), &json!({})),
        });
        let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
        driven.accept(CommandKind::Cancel {
            by: "ana".to_owned(),
        });
        driven
    };
    let rest = on(on_codes(&[], Some("handler")));
    assert_eq!(rest.run.phase, Phase::Cancelled);
    let explicit = on(on_codes(&[(130, "handler")], None));
    assert_eq!(explicit.running().pop().unwrap().0, "handler");
    let mut again = rest;
    again.accept(CommandKind::Reopen {
        by: "ana".to_owned(),
    });
    assert_eq!(again.running().pop().unwrap().0, "one");
}

#[test]
fn files_that_texts_name_are_asked_for_first() {
    let text = json!([{ "hole": { "file": [{ "plain": "./" }, { "hole": { "file": [{ "plain": "@/name" }] } }] } }]);
    let states = json!({ "one": task(&text, &json!({ "done": end() }), &json!({})) });
    let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
    let root = FramePath::root();
    let mut files = Files::new();
    let mut asked = Vec::new();
    while let [file] = missing_files(&driven.machine, &driven.run, &root, &files).as_slice() {
        let content = if file.ends_with("name") {
            "x.txt"
        } else {
            "whole"
        };
        asked.push(file.clone());
        files.insert(file.clone(), Ok(content.to_owned()));
    }
    assert_eq!(asked, ["/project/name", "/run/x.txt"]);
    let few = Files::from([("/project/name".to_owned(), Ok("x.txt".to_owned()))]);
    let reply = driven.ask(CommandKind::Supply {
        path: root.clone(),
        files: few,
    });
    assert!(matches!(reply, Reply::Refused(_)));
    driven.accept(CommandKind::Supply { path: root, files });
    assert_eq!(driven.running(), [("one".to_owned(), "whole".to_owned())]);
}

#[test]
fn a_text_that_cannot_be_filled_is_code_1_and_starts_nothing() {
    let on = json!({ "done": end(), "error": on_codes(&[(1, "handler")], None) });
    let states = json!({
        "one": task(&key("nmae"), &on, &json!({})),
        "handler": task(&json!([{ "hole": { "error": "message" } }]), &json!({ "done": end() }), &json!({})),
    });
    let driven = Driven::start(machine(&json!({ "name": "x" }), &states, &json!({})));
    let (path, message) = driven.running().pop().unwrap();
    assert_eq!(path, "handler");
    assert!(
        message.contains("argument `command`") && message.contains("did you mean `name`"),
        "{message}"
    );
    let starts = driven.log.iter().filter(|event| match event {
        Event::EffectStarted { path, .. } => path.names().is_empty(),
        _ => false,
    });
    assert_eq!(starts.count(), 1, "only the handler's");
}

#[test]
fn variables_that_a_person_sets_are_seen_inside_of_loops() {
    let body = json!({ "step": task(&key("seen"), &json!({ "done": to("next") }), &json!({})), "next": task(&key("seen"), &json!({ "done": end() }), &json!({})) });
    let mut driven = Driven::start(each(false, &body, &json!({ "done": to("after") })));
    driven.done("list", "a");
    driven.accept(CommandKind::SetVariables {
        values: json!({ "seen": "new" }).as_object().unwrap().clone(),
        by: "ana".to_owned(),
    });
    driven.done("list/0/step", "");
    assert_eq!(
        driven.running(),
        [("list/0/next".to_owned(), "new".to_owned())]
    );
}

#[test]
fn a_run_enters_no_more_states_than_it_may() {
    let states = json!({
        "one": task(&plain("a"), &json!({ "done": to("one") }), &json!({})),
    });
    let mut whole = machine(&json!({}), &states, &json!({}));
    whole["limits"] = json!({
        "call_depth_max": 16, "steps_max": 1000, "branches_max": 10, "open_calls_max": 1,
        "queue_max": 1, "context_bytes_max": 1000, "states_max": 3,
    });
    let mut driven = Driven::start(whole);
    driven.done("one", "");
    driven.done("one", "");
    assert_eq!(driven.code(), None);
    driven.done("one", "");
    assert_eq!(driven.code(), Some(1));
}

#[test]
fn a_workflow_of_steps_holds_no_agent() {
    let states = json!({ "one": task(&plain("a"), &json!({ "done": end() }), &json!({})) });
    let machine: Machine =
        serde_json::from_value(machine(&json!({}), &states, &json!({}))).unwrap();
    let command = CommandKind::Start {
        input: json!({}).as_object().unwrap().clone(),
        by: "ana".to_owned(),
        durable: None,
    };
    let decision = decide(
        &machine,
        &Run::new(RunId::new("r")),
        &Command {
            at_ms: 0,
            kind: command,
        },
    );
    assert!(decision.events.is_empty(), "no run begins");
    assert!(matches!(decision.reply, Reply::Refused(_)));
}
