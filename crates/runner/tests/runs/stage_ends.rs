//! How a stage ends if its model, its time or its people let it down.

use std::{fs, sync::Arc};

use interlock_core::{event::Event, pending::pending};
use interlock_models::{Answer, Heard, Kind, ModelError, Request, Usage};
use interlock_process::Cancel;
use interlock_runner::{Halt, Model, Models, People, RunContext, Stages, Tries};
use interlock_testkit::provider::{Reply, Script, Stop, call, text};
use serde_json::{Value, json};

use crate::runs::{
    flow::Room,
    stages::{Scripted, drive, machine, stage, stages, submit},
};

/// Returns a run of one stage, after `change`.
fn room_with(change: impl FnOnce(&mut Value)) -> Room {
    let mut only = stage("Do it.", &["Read"], None);
    change(&mut only["activity"]["stage"]);
    Room::new(machine(json!({ "a": only })))
}

/// Returns the outcome of each stage that has ended, with the message of the run's failure.
fn outcomes(room: &Room) -> Vec<String> {
    let events = room.events().into_iter();
    let exits = events.filter_map(|event| match event {
        Event::StageExited { outcome, .. } => Some(outcome),
        _ => None,
    });
    exits.collect()
}

/// Returns the last message of a request that is not of the model.
fn last_message(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    messages.last().unwrap().to_string()
}

#[test]
fn a_stage_whose_time_is_over_ends_although_its_model_is_silent() {
    let silent = || Script::replies(vec![Reply::say(vec![text("Let me see.")]).silent_at(10)]);
    let room = room_with(|stage| stage["timeout_ms"] = json!(50));
    let models = Scripted::new(Kind::Anthropic, silent());
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    assert_eq!(outcomes(&room), ["timeout"]);
    assert_eq!(room.code(), Some(1));

    let room = room_with(|stage| stage["timeout_ms"] = json!(600_000));
    let models = Scripted::new(Kind::Anthropic, Script::turns(vec![submit("ready")]));
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    assert_eq!(
        (outcomes(&room), room.code()),
        (vec!["ok".to_owned()], Some(0))
    );
}

#[test]
fn a_message_cut_at_the_limit_is_answered_as_one() {
    let stopped = [
        (Stop::Length, "cut at the output limit"),
        (Stop::Done, "called no tool. To finish"),
    ];
    for (stop, said) in stopped {
        let room = room_with(|_| ());
        let script = Script::replies(vec![
            Reply::stopped(vec![text("And then")], stop),
            Reply::say(submit("ready")),
        ]);
        let models = Scripted::new(Kind::Anthropic, script);
        assert_eq!(drive(&room, &models, People::default()), Halt::Over);
        assert_eq!(room.code(), Some(0), "{stop:?}");
        let reminder = last_message(&models.asked()[1].body);
        assert!(reminder.contains(said), "{stop:?}: {reminder}");
        assert!(reminder.contains("`submit`"), "{stop:?}: {reminder}");
    }
}

#[test]
fn a_refusal_of_the_provider_ends_the_stage_at_once() {
    let room = room_with(|_| ());
    let refused = Reply::stopped(vec![text("No.")], Stop::Refused);
    let models = Scripted::new(Kind::Anthropic, Script::replies(vec![refused]));
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    assert_eq!(outcomes(&room), ["model_refused"]);
    assert_eq!(models.asked().len(), 1);
}

#[test]
fn of_more_calls_than_a_message_may_have_each_gets_a_result() {
    let room = room_with(|_| ());
    fs::write(room.project().join("one.txt"), "the first line\n").unwrap();
    let read = |_| call("Read", json!({"file_path": "one.txt"}));
    let script = Script::turns(vec![(0..66).map(read).collect(), submit("ready")]);
    let models = Scripted::new(Kind::Anthropic, script);
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    let results = models.asked()[1].results();
    let is_refused = |result: &&String| result.contains("too_many_calls");
    assert_eq!(results.len(), 66);
    assert_eq!(results.iter().filter(is_refused).count(), 2);
    assert!(results[63].contains("the first line"), "{}", results[63]);
    assert!(results[64].contains("too_many_calls"), "{}", results[64]);
}

#[test]
fn a_request_that_cannot_be_made_ends_the_stage_without_a_model() {
    type Change = fn(&mut Value);
    let wrong: [(&str, Change); 3] = [
        ("temperature", |stage| {
            stage["options"] = json!({"temperature": "warm"});
        }),
        ("thinking", |stage| {
            stage["options"] = json!({"thinking": "a lot"});
        }),
        ("body", |stage| {
            stage["body"] = json!([{"plain": "x".repeat(256 * 1024 + 1)}]);
        }),
    ];
    for (what, change) in wrong {
        let room = room_with(change);
        let models = Scripted::new(Kind::Anthropic, Script::turns(vec![submit("ready")]));
        assert_eq!(drive(&room, &models, People::default()), Halt::Over);
        assert_eq!(outcomes(&room), ["stage_invalid"], "{what}");
        assert_eq!(models.asked().len(), 0, "{what}");
    }
    let room = room_with(|stage| {
        stage["options"] = json!({"temperature": 0.5});
        stage["body"] = json!([{"plain": "x".repeat(256 * 1024)}]);
    });
    let models = Scripted::new(Kind::Anthropic, Script::turns(vec![submit("ready")]));
    assert_eq!(drive(&room, &models, People::default()), Halt::Over);
    assert_eq!(room.code(), Some(0));
    assert_eq!(models.asked()[0].body["temperature"], json!(0.5));
}

/// A configuration without any model.
struct NoModel;

impl Models for NoModel {
    fn find(&self, wanted: Option<&str>) -> Result<Model, String> {
        Err(format!("there is no model `{}`", wanted.unwrap_or("-")))
    }

    fn call(
        &self,
        _: &Model,
        _: &Request,
        _: Tries,
        _: &Cancel,
        _: &mut dyn FnMut(Heard<'_>),
    ) -> Result<Answer, ModelError> {
        unreachable!("no model was found")
    }

    fn cost(&self, _: &Model, _: &Usage) -> Option<u64> {
        None
    }
}

#[test]
fn a_model_that_is_not_configured_ends_the_stage() {
    let room = room_with(|_| ());
    let unused = Scripted::new(Kind::Anthropic, Script::turns(Vec::new()));
    let of_room = stages(&room, &unused, People::default());
    let of_room = Stages {
        models: Arc::new(NoModel),
        model: Some("openai/none".to_owned()),
        ..of_room.as_ref().clone()
    };
    let mut host =
        room.host_with(|context: &mut RunContext| context.stages = Some(Arc::new(of_room)));
    assert_eq!(host.drive(&room.machine).unwrap(), Halt::Over);
    assert_eq!(outcomes(&room), ["model_error"]);
    let log = format!("{:?}", room.events());
    assert!(log.contains("there is no model `openai/none`"), "{log}");
}

#[test]
fn a_stage_that_nothing_here_can_carry_out_leaves_the_run_as_it_is() {
    let room = room_with(|_| ());
    let before = room.events();
    let broken = room.host().drive(&room.machine).unwrap_err().to_string();
    assert!(broken.contains("model stages cannot run here"), "{broken}");
    assert_eq!((room.code(), room.events()), (None, before));
}

#[test]
fn a_request_nobody_here_answers_stays_open_for_others() {
    let room = room_with(|_| ());
    let write = vec![call("Write", json!({"file_path": "x", "content": "x"}))];
    let script = Script::turns(vec![write, submit("ready")]);
    let models = Scripted::new(Kind::OpenAi, script);
    let people = People {
        here: None,
        elsewhere: true,
        no_wait: true,
    };
    assert_eq!(drive(&room, &models, people), Halt::Standing);
    let open = pending(&room.machine, &room.load());
    assert_eq!(open.len(), 1);
    assert!(open[0].request.call().is_some());
    assert!(!room.project().join("x").exists());
    assert_eq!((room.code(), models.asked().len()), (None, 1));
}
