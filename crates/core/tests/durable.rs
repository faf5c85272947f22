//! Durable runs: effects whose start is an event, tries, items, branches that settle, going on after a failure.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may end at the first surprise"
)]

use interlock_core::{
    Reply,
    command::{ActivityOutcome, Ask, Command, Effect, EffectFate, Stage},
    decide, effects,
    event::{Cause, Event},
    evolve, lacking,
    machine::{Machine, Outcome},
    names::{FramePath, RunId},
    run::{Phase, Run},
    text::{Files, Places},
};
use serde_json::{Value, json};

/// A run that is driven by hand.
struct Driven {
    machine: Machine,
    run: Run,
    at_ms: u64,
    log: Vec<Event>,
}

impl Driven {
    fn start(machine: Value) -> Self {
        let machine: Machine = serde_json::from_value(machine).unwrap();
        let mut driven = Self {
            machine,
            run: Run::new(RunId::new("r")),
            at_ms: 1_000,
            log: Vec::new(),
        };
        let places = Places {
            run_dir: "/run".to_owned(),
            project: "/project".to_owned(),
            home: "/home".to_owned(),
        };
        driven.accept(Ask::Start {
            input: json!({}).as_object().unwrap().clone(),
            by: "ana".to_owned(),
            places: Some(places),
            mode: None,
            opening: None,
        });
        driven
    }

    fn ask(&mut self, ask: Ask) -> Reply {
        let command = Command {
            at_ms: self.at_ms,
            ask,
        };
        let decision = decide(&self.machine, &self.run, &command);
        for event in decision.events {
            // What is folded is what the log gives back.
            let text = serde_json::to_string(&event).unwrap();
            let event: Event = serde_json::from_str(&text).unwrap();
            let run = std::mem::replace(&mut self.run, Run::new(RunId::new("r")));
            self.run = evolve(run, &event);
            self.log.push(event);
        }
        let kept: Run = serde_json::from_str(&serde_json::to_string(&self.run).unwrap()).unwrap();
        assert_eq!(kept, self.run, "a snapshot gives the run back");
        decision.reply
    }

    fn accept(&mut self, ask: Ask) {
        let reply = self.ask(ask);
        assert_eq!(reply, Reply::Accepted);
    }

    fn effects(&self) -> Vec<Effect> {
        effects(&self.machine, &self.run)
    }

    /// Returns the paths of what is to be carried out, with its input's `command`.
    fn running(&self) -> Vec<(String, String)> {
        self.effects()
            .into_iter()
            .filter(|effect| effect.stage == Stage::Running)
            .map(|effect| {
                let command = effect.input.get("command").and_then(Value::as_str);
                (effect.path, command.unwrap_or_default().to_owned())
            })
            .collect()
    }

    fn done(&mut self, path: &str, output: &str) {
        self.accept(Ask::EndActivity {
            path: Some(path.to_owned()),
            outcome: ActivityOutcome::done(json!(output)),
        });
    }

    fn failed(&mut self, path: &str, code: i64, stderr: &str) {
        self.accept(Ask::EndActivity {
            path: Some(path.to_owned()),
            outcome: ActivityOutcome::Failed(Cause {
                stderr: stderr.to_owned(),
                ..Cause::new(code, format!("it ended with {code}"))
            }),
        });
    }

    /// Returns the code a run ended with.
    fn code(&self) -> Option<u8> {
        match &self.run.phase {
            Phase::Ended {
                outcome: Outcome::Success,
                ..
            } => Some(0),
            Phase::Ended {
                cause: Some(cause), ..
            } => Some(cause.number()),
            _ => None,
        }
    }
}

fn plain(text: &str) -> Value {
    json!([{ "plain": text }])
}

fn key(name: &str) -> Value {
    json!([{ "hole": { "key": name } }])
}

/// A state that runs a shell line and leads on by the rules given.
fn task(command: &Value, on: &Value, more: &Value) -> Value {
    let mut state = json!({
        "activity": { "task": { "kind": "bash", "input": { "object": { "command": { "text": command } } } } },
        "on": on,
        "on_crash": "ask",
    });
    let fields = state.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    state
}

fn to(state: &str) -> Value {
    json!({ "transitions": [{ "target": { "state": state } }] })
}

fn end() -> Value {
    json!({ "transitions": [{ "target": { "end": "success" } }] })
}

/// Error rules: each code with its state, then the rest.
fn on_codes(codes: &[(i64, &str)], rest: Option<&str>) -> Value {
    let mut transitions: Vec<Value> = codes
        .iter()
        .map(|(code, state)| {
            json!({ "guards": [{ "inline": { "code": code } }], "target": { "state": state } })
        })
        .collect();
    if let Some(state) = rest {
        transitions
            .push(json!({ "guards": [{ "inline": "uncancelled" }], "target": { "state": state } }));
    }
    json!({ "branched": true, "transitions": transitions })
}

fn machine(context: &Value, states: &Value, machines: &Value) -> Value {
    json!({
        "id": "m",
        "initial": states.as_object().unwrap().keys().next().unwrap(),
        "context": context,
        "states": states,
        "machines": machines,
        "durable": true,
    })
}

fn called(id: &str, states: &Value) -> Value {
    let mut machine = machine(&json!({}), states, &json!({}));
    machine["id"] = json!(id);
    machine
}

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
            driven.effects().first().unwrap().stage,
            Stage::Waiting(until)
        );
        let early = driven.log.len();
        driven.at_ms = until - 1;
        driven.accept(Ask::Advance);
        assert_eq!(driven.log.len(), early, "it is not time yet");
        driven.at_ms = until;
        driven.accept(Ask::Advance);
        assert_eq!(driven.running().len(), 1);
    }
    driven.failed("one", 6, "");
    assert_eq!(driven.code(), Some(6), "the last try counts");
}

#[test]
fn a_lost_effect_follows_the_rule_of_its_state() {
    let rule = |rule: &str| {
        let states = json!({
            "one": task(&plain("a"), &json!({ "done": end(), "error": on_codes(&[], Some("handler")) }), &json!({ "on_crash": rule })),
            "handler": task(&plain("h"), &json!({ "done": end() }), &json!({})),
        });
        let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
        driven.accept(Ask::LoseEffects);
        driven
    };
    assert_eq!(rule("retry").running().first().unwrap().0, "one");
    assert_eq!(rule("fail").running().first().unwrap().0, "handler");
    let settle = |how: EffectFate| {
        let mut asked = rule("ask");
        assert_eq!(asked.effects().first().unwrap().stage, Stage::Lost);
        let late = asked.ask(Ask::EndActivity {
            path: None,
            outcome: ActivityOutcome::done(json!("late")),
        });
        assert!(matches!(late, Reply::Refused(_)), "who started it is gone");
        asked.accept(Ask::SettleEffect {
            path: None,
            how,
            by: "ana".to_owned(),
        });
        asked
    };
    assert_eq!(
        settle(EffectFate::Again).running().first().unwrap().0,
        "one"
    );
    let failed = settle(EffectFate::Failed(json!(4)));
    assert_eq!(failed.running().first().unwrap().0, "handler");
    assert_eq!(settle(EffectFate::Done(json!("x"))).code(), Some(0));
}

fn each(goes_on: bool, body: &Value, on: &Value) -> Value {
    let states = json!({
        "list": task(&plain("list"), &json!({ "done": to("list/each") }), &json!({})),
        "list/each": {
            "activity": { "each": { "machine": "body", "item": "item", "index": "index", "goes_on": goes_on } },
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
    let context = &driven.run.root.context;
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
fn thousands_of_items_without_effects_need_no_deep_stack() {
    let test = json!({
        "look": { "activity": { "test": { "left": key("item"), "op": "value" } }, "on": { "done": end() } },
    });
    let mut driven = Driven::start(each(false, &test, &json!({ "done": to("after") })));
    let lines: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    driven.done("list", &lines);
    let mut longest = driven.log.len();
    while driven.running().is_empty() {
        let due = driven.effects().pop().unwrap().stage;
        assert!(matches!(due, Stage::Waiting(until) if until <= driven.at_ms));
        let before = driven.log.len();
        driven.accept(Ask::Advance);
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
    let ended = driven.ask(Ask::EndActivity {
        path: None,
        outcome: ActivityOutcome::done("early"),
    });
    assert!(matches!(ended, Reply::Refused(_)), "nothing runs");
    driven.accept(Ask::LoseEffects);
    driven.accept(Ask::Cancel {
        by: "ana".to_owned(),
    });
    assert_eq!(driven.run.phase, Phase::Cancelled);
    driven.accept(Ask::Reopen {
        by: "ana".to_owned(),
    });
    while driven.running().is_empty() {
        driven.accept(Ask::Advance);
    }
    assert_eq!(driven.running().pop().unwrap().0, "after");
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
fn the_log_has_all_of_what_was_printed_and_a_run_only_its_end() {
    let states = json!({
        "one": task(&plain("a"), &json!({ "done": to("two") }), &json!({})),
        "two": task(&plain("b"), &json!({ "done": end() }), &json!({})),
    });
    let mut driven = Driven::start(machine(&json!({}), &states, &json!({})));
    driven.accept(Ask::EndActivity {
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
            "activity": { "fork": {
                "branches": {
                    "x": { "initial": "par/x", "terminal": "" },
                    "y": { "initial": "par/y", "terminal": "" },
                    "z": { "initial": "par/z", "terminal": "" },
                },
                "join": join,
                "at_once": at_once,
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
    let mut driven = Driven::start(fork("settle", 2, &on));
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
    let mut driven = Driven::start(fork("settle", 3, &json!({ "done": to("handler") })));
    driven.done("par/x", "kept");
    driven.failed("par/y", 4, "");
    driven.done("par/z", "");
    assert_eq!(driven.code(), Some(4));
    driven.accept(Ask::Reopen {
        by: "ana".to_owned(),
    });
    assert_eq!(running_paths(&driven), ["par/y"]);
    driven.done("par/y", "");
    assert_eq!(
        driven.running(),
        [("handler".to_owned(), "kept".to_owned())]
    );
    driven.done("handler", "");
    let reply = driven.ask(Ask::Reopen {
        by: "ana".to_owned(),
    });
    assert!(matches!(reply, Reply::Refused(_)), "it is completed");
}

#[test]
fn branches_that_failed_go_on_no_more_at_once_than_they_may() {
    let mut driven = Driven::start(fork("settle", 1, &json!({ "done": to("handler") })));
    driven.failed("par/x", 4, "");
    driven.failed("par/y", 4, "");
    driven.accept(Ask::Cancel {
        by: "ana".to_owned(),
    });
    driven.accept(Ask::Reopen {
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
    assert_eq!(running_paths(&driven), ["handler"]);
}

#[test]
fn what_was_lost_beside_the_failure_that_ends_the_run_stays_as_it_is() {
    let mut whole = fork("fail_fast", 3, &json!({ "done": to("handler") }));
    whole["states"]["par/x"]["on_crash"] = json!("fail");
    let mut driven = Driven::start(whole);
    driven.accept(Ask::LoseEffects);
    assert_eq!(driven.code(), Some(1));
    let last = driven.log.last().map(Event::name);
    assert_eq!(last, Some("RunEnded"));
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
    driven.accept(Ask::Reopen {
        by: "ana".to_owned(),
    });
    assert_eq!(running_paths(&driven), ["list/0/call/second"]);
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
        driven.accept(Ask::Cancel {
            by: "ana".to_owned(),
        });
        driven
    };
    let rest = on(on_codes(&[], Some("handler")));
    assert_eq!(rest.run.phase, Phase::Cancelled);
    let explicit = on(on_codes(&[(130, "handler")], None));
    assert_eq!(explicit.running().pop().unwrap().0, "handler");
    let mut again = rest;
    again.accept(Ask::Reopen {
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
    while let [file] = lacking(&driven.machine, &driven.run, &root, &files).as_slice() {
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
    let reply = driven.ask(Ask::Supply {
        path: root.clone(),
        files: few,
    });
    assert!(matches!(reply, Reply::Refused(_)));
    driven.accept(Ask::Supply { path: root, files });
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
    driven.accept(Ask::SetVariables {
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
    let ask = Ask::Start {
        input: json!({}).as_object().unwrap().clone(),
        by: "ana".to_owned(),
        places: None,
        mode: None,
        opening: None,
    };
    let decision = decide(
        &machine,
        &Run::new(RunId::new("r")),
        &Command { at_ms: 0, ask },
    );
    assert!(decision.events.is_empty(), "no run begins");
    assert!(matches!(decision.reply, Reply::Refused(_)));
}
