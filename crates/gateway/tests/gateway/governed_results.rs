//! Results from servers: counted, cut at a state's limit, and used as evidence.

use std::sync::Barrier;

use crate::gateway::governed_session::{Session, WORK, denial, said, started, transition};
use crate::gateway::world::{NOW, World};
use interlock_core::{call::CallResult, command::CommandKind};
use interlock_gateway::govern::{CallDecision, CallEnd, SessionPolicy as _, Ticket};
use serde_json::json;

#[test]
fn of_many_calls_at_once_no_more_pass_than_the_state_allows() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {max_iterations: 7, on: {GO: b}}, b: {type: final}}}",
    );
    let run = started(&world);
    let gate = Barrier::new(20);
    let passed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    let mut session = Session::new(&world);
                    gate.wait();
                    matches!(
                        session.call("web", "look", &json!({})),
                        CallDecision::Pass(_)
                    )
                })
            })
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap());
        ended.filter(|passed| *passed).count()
    });
    assert_eq!(passed, 7);
    assert_eq!(world.run(&run).root.stay.used.calls, 7);
}

#[test]
fn of_calls_whose_end_is_not_known_those_stay_open_that_may_have_written() {
    let world = World::with(WORK);
    let run = started(&world);
    let mut session = Session::new(&world);
    let looked = session.passes("web", "look", &json!({}));
    let instead = session.governor.ended(&looked, CallEnd::Unknown, NOW + 20);
    assert_eq!(instead, None);
    assert!(world.run(&run).calls.is_empty());
    transition(&world, &run, "READY");
    let input = json!({"path": "a", "content": "x"});
    let wrote = session.passes("fs", "write_file", &input);
    session.governor.ended(&wrote, CallEnd::Unknown, NOW + 20);
    let open = world.run(&run).calls;
    assert_eq!(
        open.iter().map(|call| &call.id).collect::<Vec<_>>(),
        [&wrote.call.unwrap()]
    );
}

#[test]
fn a_cut_result_of_a_tool_that_promises_a_schema_is_an_error() {
    for (promises, structured, is_error) in [
        (false, false, false),
        (true, false, true),
        (false, true, true),
        (true, true, true),
    ] {
        let world = World::with(
            "{id: w, initial: a, states: {a: {context_budget_bytes: 10, on: {GO: b}}, b: {type: final}}}",
        );
        started(&world);
        let mut session = Session::new(&world);
        if promises {
            session.definition["outputSchema"] = json!({"type": "object"});
        }
        let mut result = said(&"x".repeat(50));
        if structured {
            result["structuredContent"] = json!({"k": 1});
        }
        let ticket = session.passes("web", "look", &json!({}));
        let cut = session.ended(&ticket, &result).unwrap();
        assert_eq!(
            cut["isError"] == true,
            is_error,
            "{promises} {structured}: {cut}"
        );
        assert_eq!(cut["structuredContent"], json!(null));
    }
}

#[test]
fn a_result_that_comes_after_its_stay_is_not_cut_to_what_the_next_one_has() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {context_budget_bytes: 100, on: {GO: b}}, b: {context_budget_bytes: 10, on: {END: c}}, c: {type: final}}}",
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    let ticket = session.passes("web", "look", &json!({}));
    transition(&world, &run, "GO");
    assert_eq!(session.ended(&ticket, &said(&"x".repeat(50))), None);
    assert_eq!(world.run(&run).root.stay.used.bytes, 0);
    let next = session.passes("web", "look", &json!({}));
    assert_eq!(next.bytes_max, Some(10));
}

#[test]
fn results_are_counted_and_the_one_that_crosses_the_budget_is_cut() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {context_budget_bytes: 20, on: {GO: b}}, b: {type: final}}}",
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    let ticket = session.passes("web", "look", &json!({}));
    assert_eq!(ticket.bytes_max, Some(20));
    assert_eq!(session.ended(&ticket, &said("ten bytes.")), None);
    assert_eq!(world.run(&run).root.stay.used.bytes, 10);
    let ticket = session.passes("web", "look", &json!({}));
    assert_eq!(ticket.bytes_max, Some(10));
    let whole = json!({
        "_meta": {"k": 1},
        "content": [
            {"type": "text", "text": "äöü", "annotations": {"audience": ["user"]}},
            {"type": "text", "text": "12€45"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        ],
        "structuredContent": {"all": 1},
        "resultType": "complete",
    });
    let cut = session.ended(&ticket, &whole).unwrap();
    // Ten bytes are left: six for the umlauts, two for digits; the symbol would take three more.
    assert_eq!(cut["content"][0], whole["content"][0]);
    assert_eq!(cut["content"][1]["text"], "12");
    let notice = cut["content"][2]["text"].as_str().unwrap();
    assert!(notice.contains("8 of 17 bytes"), "{notice}");
    assert!(notice.contains("9 are left out"), "{notice}");
    assert_eq!(cut["content"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        (&cut["_meta"], &cut["resultType"]),
        (&whole["_meta"], &whole["resultType"])
    );
    // No schema is violated: an error needs no structured content.
    assert_eq!(cut.get("structuredContent"), None);
    assert_eq!(cut["isError"], true);
    assert_eq!(
        session.denied("web", "look", &json!({})).0,
        "context_budget"
    );
    assert_eq!(world.run(&run).root.stay.used.bytes, 20);
}

#[test]
fn what_others_have_used_meanwhile_is_not_left() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {context_budget_bytes: 20, on: {GO: b}}, b: {type: final}}}",
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    let [theirs, ours] = [0, 1].map(|_| session.passes("web", "look", &json!({})));
    // Another process that works on the same run.
    let ended = CallResult {
        id: theirs.call,
        ok: true,
        exit: None,
        bytes: 16,
        wrote: Vec::new(),
        commands: Vec::new(),
        checked: interlock_core::substance::Checked::default(),
    };
    world.ask(&run, CommandKind::Record(ended));
    let cut = session.ended(&ours, &said("ten bytes.")).unwrap();
    assert_eq!(cut["content"][0]["text"], "ten ");
    assert_eq!(world.run(&run).root.stay.used.bytes, 20);
}

#[test]
fn calls_under_way_together_share_what_is_left() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {context_budget_bytes: 8, on: {GO: b}}, b: {type: final}}}",
    );
    started(&world);
    let mut session = Session::new(&world);
    let tickets: Vec<Ticket> = (0..3)
        .map(|_| session.passes("web", "look", &json!({})))
        .collect();
    let shown: Vec<usize> = tickets
        .iter()
        .map(|ticket| match session.ended(ticket, &said("12345")) {
            None => 5,
            Some(cut) => match cut["content"].as_array().unwrap().as_slice() {
                [only] => only["text"]
                    .as_str()
                    .unwrap()
                    .find("Interlock")
                    .map_or(9, |_| 0),
                [kept, ..] => kept["text"].as_str().unwrap().len(),
                [] => 0,
            },
        })
        .collect();
    assert_eq!(shown, [5, 3, 0]);
}

#[test]
fn a_write_whose_outcome_never_came_counts_as_done() {
    let world = World::with(WORK);
    let run = started(&world);
    transition(&world, &run, "READY");
    let mut session = Session::new(&world);
    let ticket = session.passes(
        "fs",
        "write_file",
        &json!({"path": "a.sql", "content": "x"}),
    );
    session.governor.ended(&ticket, CallEnd::Unknown, NOW + 20);
    transition(&world, &run, "DONE");
    assert_eq!(world.run(&run).root.at.as_str(), "checking");
}

#[test]
fn a_call_that_succeeded_is_evidence_and_a_task_only_when_it_is_done() {
    let world = World::with(
        r#"{id: w, initial: a, guards: {ran: {evidence: {tool: check}}},
            states: {a: {on: {GO: {target: b, guard: ran}}}, b: {type: final}}}"#,
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    let at = |world: &World| world.run(&run).root.at.as_str().to_owned();
    let ticket = session.passes("ci", "check", &json!({}));
    let task = json!({"task": {"taskId": "1", "status": "working"}});
    assert_eq!(session.ended(&ticket, &task), None);
    transition(&world, &run, "GO");
    assert_eq!(at(&world), "a", "a task that goes on proves nothing");
    let failed = json!({"content": [], "isError": true});
    session.ended(&ticket, &failed);
    transition(&world, &run, "GO");
    assert_eq!(at(&world), "a", "a failure proves nothing");
    let ticket = session.passes("ci", "check", &json!({}));
    session.ended(&ticket, &said("all passed"));
    transition(&world, &run, "GO");
    assert_eq!(at(&world), "b");
}

#[test]
fn a_call_that_wanted_input_goes_on_once_and_is_counted_once() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {max_iterations: 5, on: {GO: b}}, b: {type: final}}}",
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    let ticket = session.passes("web", "look", &json!({"q": 1}));
    let state = json!("opaque");
    let wants =
        json!({"resultType": "input_required", "requestState": "opaque", "inputRequests": {}});
    assert_eq!(session.ended(&ticket, &wants), None);
    let again = session.resumed("web", "look", &json!({"q": 1}), Some(&state));
    assert!(
        matches!(&again, CallDecision::Pass(same) if *same == ticket),
        "{again:?}"
    );
    assert_eq!(world.run(&run).root.stay.used.calls, 1);
    // The same with another state, or with none, is another call.
    for state in [json!("another"), json!(null), json!({"opaque": "opaque"})] {
        let other = session.resumed("web", "look", &json!({"q": 1}), Some(&state));
        assert!(
            !matches!(&other, CallDecision::Pass(same) if *same == ticket),
            "{state}: {other:?}"
        );
    }
    // Another call with that state is another call.
    let other = session.resumed("web", "look", &json!({"q": 2}), Some(&state));
    assert!(
        matches!(&other, CallDecision::Pass(new) if *new != ticket),
        "{other:?}"
    );
    assert_eq!(world.run(&run).root.stay.used.calls, 5);
    // Nor does it continue in another phase, or while the run is paused.
    let by = "ana".to_owned();
    world.ask(
        &run,
        CommandKind::Pause {
            by: by.clone(),
            reason: None,
        },
    );
    let paused = session.resumed("web", "look", &json!({"q": 1}), Some(&state));
    assert_eq!(denial(paused).0, "paused");
    world.ask(&run, CommandKind::Resume { by, seen: None });
    session.ended(&ticket, &said("done"));
    let late = session.resumed("web", "look", &json!({"q": 1}), Some(&state));
    assert_eq!(denial(late).0, "iteration_limit", "it has ended");
}

#[test]
fn a_call_that_wanted_input_and_gave_no_state_is_counted_once() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {max_iterations: 9, on: {GO: b}}, b: {type: final}}}",
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    let arguments = json!({"q": 1});
    let under_way = session.passes("web", "look", &arguments);
    let ticket = session.passes("web", "look", &arguments);
    let wants = json!({"resultType": "input_required", "inputRequests": {}});
    assert_eq!(session.ended(&ticket, &wants), None);
    let again = session.with_input("web", "look", &arguments, (None, true));
    assert!(
        matches!(&again, CallDecision::Pass(same) if *same == ticket && *same != under_way),
        "{again:?}"
    );
    assert_eq!(world.run(&run).root.stay.used.calls, 2);
    // Without the input, it is another call, and so is one after the end.
    let other = session.with_input("web", "look", &arguments, (None, false));
    assert!(matches!(&other, CallDecision::Pass(new) if *new != ticket));
    session.ended(&ticket, &said("done"));
    let late = session.with_input("web", "look", &arguments, (None, true));
    assert!(matches!(&late, CallDecision::Pass(new) if *new != ticket));
    assert_eq!(world.run(&run).root.stay.used.calls, 4);
}

#[test]
fn an_error_that_is_too_long_is_cut_like_a_result() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {context_budget_bytes: 100, on: {GO: b}}, b: {type: final}}}",
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    let short = session.passes("web", "look", &json!({}));
    let error = json!({"code": -32001, "message": "no"});
    assert_eq!(session.failed(&short, &error), None, "it passes as it is");
    let used = world.run(&run).root.stay.used.bytes;
    assert_eq!(used, error.to_string().len() as u64);
    let long = session.passes("web", "look", &json!({}));
    let error = json!({"code": -32001, "message": "z".repeat(500), "data": "d".repeat(500)});
    let cut = session.failed(&long, &error).unwrap();
    assert_eq!(cut["code"], -32001);
    assert_eq!(cut.get("data"), None);
    let message = cut["message"].as_str().unwrap();
    let left = usize::try_from(100 - used).unwrap();
    assert_eq!(message.matches('z').count(), left, "{message}");
    assert!(message.contains("[Interlock: cut here"), "{message}");
    assert_eq!(world.run(&run).root.stay.used.bytes, 100);
}
