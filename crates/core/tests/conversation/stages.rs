//! Model stages in a conversation: attempts and waits, condensing before a stage, and the calls of a message.

use interlock_core::{
    Reply,
    attempt::{FinishReason, MessageCall, MessageCallKind, ModelMessage, Usage},
    call::{CallFacts, CallKind, ToolCall},
    command::{CommandKind, StageCommand},
    event::{Event, Passing},
    names::{CallId, Digest, FramePath},
    refusal::Code,
    run::RunningAt,
    stage::{Step, step},
    stage_task,
};
use serde_json::{Value, json};

use super::{Driven, end, machine, to};
use crate::support::call::call as any_call;

impl Driven {
    fn stage(&mut self, command: StageCommand) -> Reply {
        self.ask(CommandKind::Stage {
            path: FramePath::root(),
            attempt: 1,
            command,
        })
    }
}

fn stage(history: bool, retry: Value) -> Value {
    json!({
        "activity": { "stage": {
            "body": [], "task": [{ "hole": { "template": "Look at {{ count }}" } }], "history": history,
            "ending": { "answer": { "again_max": 3 } }, "turns_max": 75,
        } },
        "data": {}, "on": to("end"), "retry": retry,
    })
}

fn failed(passing: bool, after_ms: Option<u64>) -> StageCommand {
    StageCommand::ModelFailed {
        code: "model_error".to_owned(),
        message: "it answered 503".to_owned(),
        passing: passing.then_some(Passing { after_ms }),
    }
}

fn call() -> StageCommand {
    StageCommand::CallModel {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        request: Digest::new("d"),
    }
}

#[test]
fn a_model_is_called_again_on_the_same_transcript_after_the_waits_of_the_policy() {
    let retry = json!({
        "attempts": 5, "wait_ms": 2000, "backoff": "2", "wait_max_ms": 30000, "only_passing": true,
    });
    let states = json!({ "a": stage(true, retry), "end": end() });
    let mut driven = Driven::begin(machine("a", false, states), r#"{"count": 1}"#);
    driven.stage(StageCommand::Begin { tools: Vec::new() });
    let task = stage_task(&driven.machine, &driven.run, &FramePath::root());
    assert_eq!(task, Some(Ok("Look at 1".to_owned())));
    let mut tried = Vec::new();
    // The fourth requests a longer wait than the policy allows.
    for after_ms in [None, None, Some(7_000), Some(90_000), None] {
        assert_eq!(driven.stage(call()), Reply::Accepted);
        tried.push(driven.now_ms);
        driven.stage(failed(true, after_ms));
        let next = step(&driven.machine, &driven.run, &FramePath::root());
        if let Some(Step::Wait(again_ms)) = next {
            let early = driven.stage(call());
            assert!(matches!(early, Reply::Refused(_)), "{early:?}");
            driven.now_ms = again_ms;
        }
    }
    assert_eq!(tried, [0, 2_000, 6_000, 14_000, 44_000]);
    let cause = driven.failure().unwrap();
    assert_eq!(cause.code, "model_error");
    assert!(cause.message.contains("5 attempts"), "{}", cause.message);
    let begun = driven.events.iter();
    let begun = begun.filter(|event| matches!(event, Event::StageEntered { .. }));
    assert_eq!(begun.count(), 1, "the attempt is the same");
}

#[test]
fn what_will_not_pass_is_tried_once() {
    let retry = json!({
        "attempts": 5, "wait_ms": 2000, "backoff": "2", "wait_max_ms": 30000, "only_passing": true,
    });
    let states = json!({ "a": stage(true, retry), "end": end() });
    let mut driven = Driven::begin(machine("a", false, states), "go");
    driven.stage(StageCommand::Begin { tools: Vec::new() });
    driven.stage(call());
    driven.stage(failed(false, None));
    assert!(driven.failure().is_some());
}

#[test]
fn a_long_conversation_is_condensed_once_before_a_stage_sees_it() {
    let states = json!({
        "a": { "on": to("b") }, "b": { "on": to("c") }, "c": stage(true, Value::Null), "end": end(),
    });
    let mut machine = machine("a", false, states);
    machine["conversation"]["condensing"] = json!({ "messages_max": 2, "tokens_max": 1000 });
    let mut driven = Driven::begin(machine, "go");
    driven.ends(None, "one");
    driven.ends(None, "two");
    driven.stage(StageCommand::Begin { tools: Vec::new() });
    let next = |driven: &Driven| step(&driven.machine, &driven.run, &FramePath::root());
    assert_eq!(next(&driven), Some(Step::Condense));
    driven.stage(StageCommand::Condensed {
        summary: Some("one and two".to_owned()),
        model: "p/m".to_owned(),
        usage: Usage {
            input: 5,
            output: 2,
            ..Usage::default()
        },
    });
    let said = driven.said();
    assert!(
        said.len() == 2 && said[0] == "go" && said[1].ends_with("one and two"),
        "{said:?}"
    );
    assert_eq!(driven.run.spent.tokens(), 7);
    assert!(matches!(next(&driven), Some(Step::Model { turn: 1, .. })));
}

#[test]
fn a_run_that_has_spent_its_budget_calls_no_model_and_condenses_nothing() {
    let states = json!({
        "a": { "on": to("b") }, "b": { "on": to("c") }, "c": stage(true, Value::Null), "end": end(),
    });
    for (tokens, is_spent) in [(0, true), (7, false), (8, false)] {
        let mut machine = machine("a", false, states.clone());
        machine["conversation"]["condensing"] = json!({ "messages_max": 2, "tokens_max": 1000 });
        machine["stages"] = json!({ "budget": { "tokens": tokens } });
        let mut driven = Driven::begin(machine, "go");
        driven.ends(None, "one");
        driven.ends(None, "two");
        driven.stage(StageCommand::Begin { tools: Vec::new() });
        let next = step(&driven.machine, &driven.run, &FramePath::root());
        assert_eq!(next == Some(Step::Condense), !is_spent, "{tokens}: {next:?}");
        if !is_spent {
            driven.stage(StageCommand::Condensed {
                summary: Some("one and two".to_owned()),
                model: "p/m".to_owned(),
                usage: Usage {
                    input: 5,
                    output: 2,
                    ..Usage::default()
                },
            });
        }
        // The summary has cost seven tokens: with seven, nothing is left for the answer.
        let reply = driven.stage(call());
        let refused = matches!(&reply, Reply::Refused(refusal) if refusal.code == Code::Budget);
        assert_eq!(refused, tokens < 8, "{tokens}: {reply:?}");
    }
}

/// Starts a stage in mode `yolo` whose model has proposed `calls` in one message.
fn stage_with(calls: Vec<MessageCall>) -> Driven {
    let states = json!({ "a": stage(true, json!(null)), "end": end() });
    let mut machine = machine("a", false, states);
    machine["stages"] = json!({ "mode": "yolo" });
    let mut driven = Driven::begin(machine, "go");
    driven.stage(StageCommand::Begin { tools: Vec::new() });
    driven.stage(call());
    driven.stage(StageCommand::Message(Box::new(ModelMessage {
        digest: Digest::new("m"),
        finish: FinishReason::ToolCalls,
        calls,
        answer: None,
        usage: Usage::default(),
        ms: 0,
    })));
    driven
}

/// Returns the proposal of a server tool's call, which mode `yolo` allows.
fn proposed(id: &CallId, tool: &str, digest: &str) -> StageCommand {
    StageCommand::Propose(Box::new(ToolCall {
        id: id.clone(),
        served_as: vec![tool.to_owned()],
        digest: Digest::new(digest),
        ..any_call("", tool)
    }))
}

#[test]
fn only_the_call_of_the_message_is_judged_by_its_id_its_tool_and_its_arguments() {
    let said = |tool: &str, digest: &str| MessageCall {
        tool: tool.to_owned(),
        digest: Digest::new(digest),
        kind: MessageCallKind::Tool { reads: false },
    };
    let mut driven = stage_with(vec![said("s__one", "d1"), said("s__two", "d2")]);
    let progress = driven.run.root.stay.stage_attempt().cloned().unwrap();
    let (first, second) = (&progress.calls[0].id, &progress.calls[1].id);
    for (id, tool, digest) in [
        (first, "s__one", "d2"),
        (first, "s__two", "d1"),
        (second, "s__one", "d1"),
        (second, "s__two", "d2"),
    ] {
        let reply = driven.stage(proposed(id, tool, digest));
        assert!(
            matches!(&reply, Reply::Refused(refusal) if refusal.code == Code::NothingPending),
            "{id} {tool} {digest}: {reply:?}"
        );
    }
    let reply = driven.stage(proposed(first, "s__one", "d1"));
    assert_eq!(reply, Reply::Accepted);
}

#[test]
fn a_stage_whose_writing_call_was_cut_off_waits_for_a_person_and_another_begins_again() {
    for (reads, again) in [(true, true), (false, false)] {
        let mut driven = stage_with(vec![MessageCall {
            tool: "s__one".to_owned(),
            digest: Digest::new("d1"),
            kind: MessageCallKind::Tool { reads },
        }]);
        let progress = driven.run.root.stay.stage_attempt().cloned().unwrap();
        let mut proposed = proposed(&progress.calls[0].id, "s__one", "d1");
        if let StageCommand::Propose(call) = &mut proposed {
            call.facts.only_reads = reads;
        }
        assert_eq!(driven.stage(proposed), Reply::Accepted);
        assert_eq!(driven.ask(CommandKind::LoseEffects), Reply::Accepted);
        let effect = driven.run.root.stay.effect().unwrap();
        let started = effect.at == RunningAt::Started;
        assert_eq!(started, again, "{effect:?}");
    }
}
