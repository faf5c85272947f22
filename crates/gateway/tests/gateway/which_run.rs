//! The run that a call belongs to.

use std::fs;

use interlock_core::call::ControlTool::{GetState, Start, Transition};
use interlock_gateway::{Control, StartedFor};
use interlock_store::{Lookup, SessionKey};
use serde_json::json;

use crate::gateway::world::{NOW, World, at, call, call_as, code, process, session};

const TWO: &str =
    "{id: w, initial: a, states: {a: {on: {GO: b}}, b: {on: {GO: c}}, c: {type: final}}}";
const GO: &str = r#"{"event": "GO"}"#;

#[test]
fn the_note_says_whose_call_it_is() {
    let world = World::with(TWO);
    let (first, second) = (world.started_for("s1"), world.started_for("s2"));
    world.note(Transition, GO, |note| {
        note.session = session("s2");
        note.run = Some(second.clone());
    });
    let answer = call(&mut world.control(), Transition, GO);
    assert_eq!(at(&answer, "/run"), json!(second));
    assert_eq!(world.run(&first).root.at.as_str(), "a");
    assert_eq!(world.run(&second).root.at.as_str(), "b");
}

#[test]
fn a_note_is_used_once() {
    let world = World::with(TWO);
    world.started_for("s1");
    world.started_for("s2");
    assert_eq!(
        code(&world.noted(&mut world.control(), Transition, GO)),
        "ok"
    );
    assert_eq!(
        code(&call(&mut world.control(), Transition, GO)),
        "several_runs"
    );
}

#[test]
fn a_note_is_for_exactly_its_arguments_and_its_tool() {
    let world = World::with(TWO);
    let first = world.started_for("s1");
    world.started_for("s2");
    let mut control = world.control();
    for arguments in [r#"{"event": "GO", "data": {}}"#, r#"{"event": "GO "}"#] {
        world.note(Transition, GO, |_| {});
        assert_eq!(
            code(&call(&mut control, Transition, arguments)),
            "several_runs",
            "{arguments}"
        );
    }
    world.note(Start, "{}", |_| {});
    assert_eq!(code(&call(&mut control, GetState, "{}")), "several_runs");
    // The order of keys and spaces do not matter.
    let sent = r#"{"data": {"b": 1, "a": [1.0]}, "event": "GO"}"#;
    world.note(
        Transition,
        r#"{ "event": "GO", "data": {"a": [1], "b": 1} }"#,
        |_| {},
    );
    assert_eq!(
        at(&call(&mut control, Transition, sent), "/run"),
        json!(first)
    );
}

#[test]
fn without_a_note_the_only_open_run_of_the_project_is_meant() {
    let world = World::with(TWO);
    let first = world.started_for("s1");
    let second = world.started_for("s2");
    let answer = call(&mut world.control(), Transition, GO);
    assert_eq!(code(&answer), "several_runs");
    for run in [&first, &second] {
        assert!(answer.text.contains(run.as_str()), "{}", answer.text);
    }
    assert_eq!(at(&answer, "/runs").as_array().unwrap().len(), 2);
    world.cancel(&first);
    assert_eq!(
        at(&call(&mut world.control(), Transition, GO), "/run"),
        json!(second)
    );
    world.cancel(&second);
    assert_eq!(code(&call(&mut world.control(), Transition, GO)), "no_run");
}

#[test]
fn without_a_note_a_run_of_another_client_process_is_not_meant() {
    let world = World::with(TWO);
    let start = |name: &str, pid: u32| {
        let arguments = r#"{"workflow": "w"}"#;
        world.note(Start, arguments, |note| {
            note.session = session(name);
            note.process = Some(process(pid));
        });
        assert_eq!(code(&call(&mut world.control(), Start, arguments)), "ok");
        world.bound(name).unwrap()
    };
    let other = start("s2", 78);
    assert_eq!(code(&call(&mut world.control(), Transition, GO)), "no_run");
    let ours = start("s1", 77);
    let unknown = world.started_for("s3");
    assert_eq!(
        at(&call(&mut world.control(), Transition, GO), "/run"),
        json!(ours)
    );
    assert!(
        [&other, &unknown]
            .iter()
            .all(|run| world.run(run).root.at.as_str() == "a")
    );
    let mut settings = world.settings();
    settings.ancestors.clear();
    let mut blind = interlock_gateway::Control::new(settings);
    assert_eq!(code(&call(&mut blind, Transition, GO)), "several_runs");
}

#[test]
fn runs_of_other_projects_are_nobody_elses() {
    let world = World::with(TWO);
    world.started_for("s1");
    let elsewhere = world.project.with_file_name("elsewhere");
    fs::create_dir_all(elsewhere.join(".git")).unwrap();
    let mut settings = world.settings();
    settings.environment.directory = elsewhere;
    let mut control = interlock_gateway::Control::new(settings);
    assert_eq!(code(&call(&mut control, Transition, GO)), "no_run");
    // Not even with a note from the other project.
    world.note(Transition, GO, |_| {});
    assert_eq!(code(&call(&mut control, Transition, GO)), "no_run");
    // Unless it is from the very client that started this server.
    world.note(Transition, GO, |note| note.process = Some(process(77)));
    assert_eq!(code(&call(&mut control, Transition, GO)), "ok");
}

#[test]
fn the_run_this_process_started_is_meant_before_any_other() {
    let world = World::with(TWO);
    let mut control = world.control();
    let started = world.noted(&mut control, Start, r#"{"workflow": "w"}"#);
    assert_eq!(code(&started), "ok");
    world.started_for("s2");
    assert_eq!(
        at(&call(&mut control, GetState, "{}"), "/run"),
        at(&started, "/run")
    );
    assert_eq!(
        code(&call(&mut world.control(), GetState, "{}")),
        "several_runs",
        "another process"
    );
}

#[test]
fn once_the_run_that_this_process_started_is_over_a_later_one_is_meant() {
    let world = World::with(TWO);
    let mut control = world.control();
    world.noted(&mut control, Start, r#"{"workflow": "w"}"#);
    let first = world.bound("s1").unwrap();
    world.cancel(&first);
    // While there is no other run, it is still that one, which reports that it is over.
    assert_eq!(
        at(&call(&mut control, GetState, "{}"), "/run"),
        json!(first)
    );
    let later = world.started_for("s2");
    assert_eq!(
        at(&call(&mut control, GetState, "{}"), "/run"),
        json!(later)
    );
}

#[test]
fn the_call_itself_and_the_clients_process_tell_sessions_apart() {
    let world = World::with(TWO);
    let first = world.started_for("s1");
    let second = world.started_for("s2");
    let both = |change: &dyn Fn(&mut interlock_store::Note, u32)| {
        for (number, run) in [(1, &first), (2, &second)] {
            world.note(GetState, "{}", |note| {
                note.session = session(&format!("s{number}"));
                note.run = Some(run.clone());
                change(note, number);
            });
        }
    };
    both(&|note, number| note.call = Some(format!("toolu_{number}").as_str().into()));
    let mut control = world.control();
    for (id, run) in [("toolu_2", &second), ("toolu_1", &first)] {
        assert_eq!(
            at(&call_as(&mut control, GetState, "{}", Some(id)), "/run"),
            json!(run)
        );
    }
    // A note for another call does not apply to this one.
    both(&|note, number| note.call = Some(format!("toolu_{number}").as_str().into()));
    assert_eq!(
        code(&call_as(&mut control, GetState, "{}", Some("toolu_3"))),
        "several_runs"
    );
    world.home.drop_notes(&session("s1")).unwrap();
    world.home.drop_notes(&session("s2")).unwrap();
    both(&|note, number| note.process = Some(process(if number == 2 { 77 } else { 78 })));
    assert_eq!(
        at(&call(&mut control, GetState, "{}"), "/run"),
        json!(second)
    );
}

#[test]
fn of_two_sessions_that_cannot_be_told_apart_none_is_meant() {
    let world = World::with(TWO);
    let runs = [world.started_for("s1"), world.started_for("s2")];
    for (name, run) in ["s1", "s2"].iter().zip(&runs) {
        world.note(Transition, GO, |note| {
            note.session = session(name);
            note.run = Some(run.clone());
            note.asked = true;
        });
    }
    let mut control = world.control();
    let answer = call(&mut control, Transition, GO);
    assert_eq!(code(&answer), "several_runs");
    assert!(answer.text.contains("call again"), "{}", answer.text);
    assert!(
        runs.iter()
            .all(|run| world.run(run).root.at.as_str() == "a")
    );
    assert_eq!(
        at(&world.noted(&mut control, Transition, GO), "/run"),
        json!(runs.first())
    );
}

#[test]
fn the_newest_note_of_a_session_counts() {
    let world = World::with(TWO);
    let first = world.started_for("s1");
    // Left for a call that never came, before the run ended.
    world.note(GetState, "{}", |_| {});
    world.cancel(&first);
    let second = world.started_for("s1");
    world.note(GetState, "{}", |note| note.at_ms = NOW + 2);
    assert_eq!(
        at(&call(&mut world.control(), GetState, "{}"), "/run"),
        json!(second)
    );
}

#[test]
fn a_note_that_cannot_be_read_refuses() {
    let world = World::with(TWO);
    let run = world.started_for("s1");
    world.note(Transition, GO, |_| {});
    let notes = world.home.path().join("notes");
    for note in fs::read_dir(&notes).unwrap() {
        fs::write(note.unwrap().path(), "{").unwrap();
    }
    let answer = call(&mut world.control(), Transition, GO);
    assert_eq!(code(&answer), "unavailable");
    assert_eq!(world.run(&run).root.at.as_str(), "a");
}

#[test]
fn a_run_that_cannot_be_read_refuses_and_stays_held() {
    let world = World::with(TWO);
    let run = world.started_for("s1");
    let database = world
        .home
        .path()
        .join("runs")
        .join(run.as_str())
        .join("run.db");
    fs::write(&database, "not a database, and long enough to be looked at").unwrap();
    let mut control = world.control();
    for (tool, arguments) in [
        (GetState, "{}"),
        (Transition, GO),
        (Start, r#"{"workflow": "w"}"#),
    ] {
        let answer = world.noted(&mut control, tool, arguments);
        assert_eq!(code(&answer), "unavailable", "{arguments}");
        assert!(answer.text.contains("run.db"), "{}", answer.text);
    }
    assert_eq!(world.bound("s1"), Some(run));
    assert_eq!(world.runs().len(), 1);
    // Nobody else is affected.
    assert_eq!(code(&call(&mut world.control(), GetState, "{}")), "ok");
    world.started_for("s2");
}

#[test]
fn a_session_takes_the_run_that_waits_for_it() {
    let world = World::with(TWO);
    let started = call(&mut world.control(), Start, r#"{"workflow": "w"}"#);
    let waiting = world.home.look_up(&session("s1"), &world.project).unwrap();
    assert!(matches!(waiting, Lookup::Waiting(_)));
    let answer = world.noted(&mut world.control(), GetState, "{}");
    assert_eq!(at(&answer, "/run"), at(&started, "/run"));
    assert_eq!(json!(world.bound("s1")), at(&started, "/run"));
    // The next session is not bound to it.
    world.note(Transition, GO, |note| {
        note.session = session("s2");
        note.run = None;
    });
    assert_eq!(code(&call(&mut world.control(), Transition, GO)), "no_run");
}

#[test]
fn a_run_of_the_project_that_is_over_takes_no_session() {
    let world = World::with(TWO);
    call(&mut world.control(), Start, r#"{"workflow": "w"}"#);
    let run = world.runs().remove(0);
    let bindings = world.home.lock_bindings().unwrap();
    bindings.hold_every(&run, &world.project, None).unwrap();
    drop(bindings);
    world.cancel(&run);
    let found = world.home.look_up(&session("s1"), &world.project).unwrap();
    assert!(matches!(found, Lookup::Project(_)), "{found:?}");
    let answer = world.noted(&mut world.control(), Transition, GO);
    assert_eq!(code(&answer), "no_run");
    assert_eq!(world.bound("s1"), None);
}

/// Returns a server below a client with that credential in its environment.
fn below(world: &World, pid: u32, started_for: StartedFor) -> Control {
    let mut settings = world.settings();
    settings.ancestors = vec![process(pid), process(1)];
    settings.started_for = started_for;
    Control::new(settings)
}

/// Starts the workflow `w` for a session of the client process.
fn held_by(world: &World, name: &str, pid: u32) -> interlock_core::names::RunId {
    let arguments = r#"{"workflow": "w"}"#;
    world.note(Start, arguments, |note| {
        note.session = session(name);
        note.run = None;
        note.process = Some(process(pid));
    });
    assert_eq!(code(&call(&mut world.control(), Start, arguments)), "ok");
    world.bound(name).unwrap()
}

#[test]
fn of_equal_calls_each_is_for_the_run_its_client_was_started_for() {
    let world = World::with(TWO);
    let runs = [held_by(&world, "s1", 77), held_by(&world, "s2", 78)];
    for (name, run, pid) in [("s1", &runs[0], 77), ("s2", &runs[1], 78)] {
        world.note(Transition, GO, |note| {
            note.session = session(name);
            note.run = Some(run.clone());
            note.process = Some(process(pid));
            note.call = Some(interlock_core::names::CallId::new("toolu_1"));
        });
    }
    for (run, pid) in [(&runs[1], 78), (&runs[0], 77)] {
        let mut control = below(&world, pid, StartedFor::Run(run.clone()));
        let answer = call_as(&mut control, Transition, GO, Some("toolu_1"));
        assert_eq!(at(&answer, "/run"), json!(run), "{}", answer.text);
        assert_eq!(world.run(run).root.at.as_str(), "b");
    }
}

#[test]
fn a_credential_read_somewhere_opens_nothing() {
    let world = World::with(TWO);
    let others = held_by(&world, "s2", 78);
    let ours = held_by(&world, "s1", 77);
    // The agent gives its server another run's credential.
    let mut forged = below(&world, 77, StartedFor::Run(others.clone()));
    for tool in [GetState, Transition] {
        let arguments = if tool == Transition { GO } else { "{}" };
        assert_eq!(code(&call(&mut forged, tool, arguments)), "no_run");
    }
    // A hook's note about one run does not apply to the other.
    world.note(Transition, GO, |note| {
        note.run = Some(ours.clone());
        note.process = Some(process(77));
    });
    assert_eq!(code(&call(&mut forged, Transition, GO)), "no_run");
    let mut none = below(&world, 77, StartedFor::Over);
    assert_eq!(code(&call(&mut none, Transition, GO)), "no_run");
    for run in [&others, &ours] {
        assert_eq!(world.run(run).root.at.as_str(), "a");
    }
    // The end of the run that it was started for does not permit it to begin another.
    world.cancel(&ours);
    let mut control = below(&world, 77, StartedFor::Run(ours));
    let start = r#"{"workflow": "w"}"#;
    assert_eq!(code(&call(&mut control, Start, start)), "run_over");
}

#[test]
fn of_several_runs_whose_clients_have_gone_none_is_meant() {
    let world = World::with(TWO);
    let arguments = r#"{"workflow": "w"}"#;
    // Started through a gateway, by a client whose process has ended.
    let start = |name: &str| {
        world.note(Start, arguments, |note| {
            note.session = SessionKey::new("gateway", name);
            note.run = None;
            note.process = Some(process(78));
        });
        let answer = call(&mut world.control(), Start, arguments);
        assert_eq!(code(&answer), "ok");
        at(&answer, "/run").clone()
    };
    let first = start("s1");
    assert_eq!(
        at(&call(&mut world.control(), Transition, GO), "/run"),
        first
    );
    start("s2");
    assert_eq!(code(&call(&mut world.control(), Transition, GO)), "no_run");
}
