//! Questions to a client's person through the gateway, and the clients that may be asked at all.

use interlock_core::{
    call::ControlTool::Transition,
    command::{Answer, CommandKind},
    event::Event,
    names::RunId,
};
use interlock_gateway::govern::{
    CallDecision, Caller, Governor, OwnCall, PersonSaid, Question, SessionPolicy as _,
};
use interlock_project::Servers;
use interlock_store::Binding;
use serde_json::{Value, json};

use crate::gateway::{
    governed_session::{Session, denial, names, started},
    world::{NOW, World, object, process, session},
};

const SHIP: &str = "
id: w
initial: review
states:
  review: {on: {SHIP: {target: done, requires_approval: true, approval_message: ship it?}}}
  done: {type: final}
";
const GRANT: &str = "
{id: w, initial: a, states: {a: {allowed_tools: [look], on_denied: ask, on: {GO: b}}, b: {type: final}}}
";
const EVENT: &str = r#"{"event": "SHIP", "data": {"version": 3}}"#;

fn no(note: &str) -> PersonSaid {
    PersonSaid::No {
        note: note.to_owned(),
    }
}

fn ship(governor: &mut Governor) -> CallDecision {
    let arguments = object(EVENT);
    let call = OwnCall {
        arguments: &arguments,
        meta: None,
        at_ms: NOW + 15,
    };
    governor.own_call("interlock_transition", &call).unwrap()
}

#[track_caller]
fn question(ruling: CallDecision) -> Question {
    match ruling {
        CallDecision::Ask(question) => question,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn answer(ruling: CallDecision) -> Value {
    match ruling {
        CallDecision::Answer(answer) => answer,
        other => panic!("{other:?}"),
    }
}

fn at(world: &World, run: &RunId) -> String {
    world.run(run).root.at.as_str().to_owned()
}

#[test]
fn a_yes_takes_the_transition_it_was_asked_about() {
    let world = World::with(SHIP);
    let run = started(&world);
    let mut governor = Session::new(&world).governor;
    let asked = question(ship(&mut governor));
    for part in ["ship it?", "SHIP", run.as_str(), "\"version\":3"] {
        assert!(asked.message.contains(part), "{}", asked.message);
    }
    assert!(
        !asked.message.contains(&asked.key),
        "the key is nobody's to read"
    );
    assert_eq!(
        asked.unasked["structuredContent"]["status"],
        "awaiting_approval"
    );
    assert!(!asked.unasked.to_string().contains(&asked.key));
    let taken = answer(governor.answered(&asked.key, &PersonSaid::Yes, NOW + 20));
    assert_eq!(taken["isError"], false, "{taken}");
    assert_eq!(taken["structuredContent"]["status"], "completed");
    assert_eq!(world.run(&run).root.line.context["version"], 3);
    let by = world
        .events(&run)
        .into_iter()
        .find_map(|event| match event {
            Event::RequestAnswered { by, yes: true, .. } => Some(by),
            _ => None,
        });
    assert_eq!(by.as_deref(), Some("ana (elicitation)"));
    // A key is valid once, and an invented one never is.
    for key in [asked.key.as_str(), "", "0"] {
        let again = denial(governor.answered(key, &PersonSaid::Yes, NOW + 21));
        assert_eq!(again.0, "nothing_pending");
    }
}

#[test]
fn a_no_reaches_the_agent_with_its_note_and_it_may_ask_again() {
    let world = World::with(SHIP);
    let run = started(&world);
    let mut governor = Session::new(&world).governor;
    for _ in 0..3 {
        let asked = question(ship(&mut governor));
        let (code, text) = denial(governor.answered(&asked.key, &no(" tests first "), NOW + 20));
        assert_eq!(code, "grant_denied");
        assert!(text.contains("rejected `SHIP`: tests first"), "{text}");
        assert_eq!(at(&world, &run), "review");
        assert!(world.run(&run).root.stay.request.is_none());
    }
    let asked = question(ship(&mut governor));
    governor.answered(&asked.key, &PersonSaid::Yes, NOW + 20);
    assert_eq!(at(&world, &run), "done");
}

#[test]
fn a_question_that_is_closed_stays_open_for_other_channels() {
    let world = World::with(SHIP);
    let run = started(&world);
    let mut governor = Session::new(&world).governor;
    let asked = question(ship(&mut governor));
    let told = answer(governor.answered(&asked.key, &PersonSaid::Nothing, NOW + 20));
    assert_eq!(told, asked.unasked);
    assert!(world.run(&run).root.stay.request.is_some());
    world.approve(&run);
    assert_eq!(at(&world, &run), "done");
}

#[test]
fn a_late_answer_is_told_who_was_first_and_changes_nothing() {
    let world = World::with(SHIP);
    let run = started(&world);
    let mut governor = Session::new(&world).governor;
    let asked = question(ship(&mut governor));
    world.ask(
        &run,
        CommandKind::Reject(Answer {
            by: "ben".to_owned(),
            ..Answer::default()
        }),
    );
    let (code, text) = denial(governor.answered(&asked.key, &PersonSaid::Yes, NOW + 20));
    assert_eq!(code, "nothing_pending");
    assert!(text.contains("by ben") && text.contains(": no"), "{text}");
    assert_eq!(at(&world, &run), "review");
    // The approval of the first request does not apply to a second one.
    let first = question(ship(&mut governor));
    world.ask(
        &run,
        CommandKind::Reject(Answer {
            by: "ben".to_owned(),
            ..Answer::default()
        }),
    );
    question(ship(&mut governor));
    denial(governor.answered(&first.key, &PersonSaid::Yes, NOW + 20));
    assert_eq!(at(&world, &run), "review");
}

#[test]
fn a_granted_call_passes_once() {
    let world = World::with(GRANT);
    let run = started(&world);
    let mut session = Session::new(&world);
    let arguments = json!({"path": "a.rs", "content": "x"});
    let asked = question(session.call("fs", "write_file", &arguments));
    assert!(
        asked.message.contains("mcp__fs__write_file"),
        "{}",
        asked.message
    );
    assert!(asked.message.contains("a.rs"), "{}", asked.message);
    assert_eq!(
        denial(CallDecision::Answer(asked.unasked.clone())).0,
        "tool_not_allowed"
    );
    let other =
        question(session.call("fs", "write_file", &json!({"path": "b.rs", "content": "x"})));
    let passed = session
        .governor
        .answered(&asked.key, &PersonSaid::Yes, NOW + 20);
    assert!(
        matches!(&passed, CallDecision::Pass(ticket) if ticket.call.is_some()),
        "{passed:?}"
    );
    let events = names(&world, &run);
    let tail: Vec<&str> = events.iter().rev().take(3).copied().collect();
    assert_eq!(tail, ["CallAllowed", "GrantConsumed", "GrantIssued"]);
    // The other call has its own question, and a later identical call gets another one.
    let (code, text) = denial(
        session
            .governor
            .answered(&other.key, &no("not b"), NOW + 21),
    );
    assert_eq!(code, "grant_denied");
    assert!(text.contains("not b"), "{text}");
    question(session.call("fs", "write_file", &arguments));
    // A call that no grant permits is not asked about.
    let own = json!({"path": ".mcp.json", "content": ""});
    assert_eq!(session.denied("fs", "write_file", &own).0, "protected");
}

#[test]
fn a_call_that_was_granted_elsewhere_meanwhile_passes() {
    let world = World::with(GRANT);
    let run = started(&world);
    let mut session = Session::new(&world);
    let asked =
        question(session.call("fs", "write_file", &json!({"path": "a.rs", "content": "x"})));
    world.approve(&run);
    let passed = session
        .governor
        .answered(&asked.key, &PersonSaid::Yes, NOW + 20);
    assert!(matches!(&passed, CallDecision::Pass(_)), "{passed:?}");
    // Without a valid answer, it is not allowed.
    let asked =
        question(session.call("fs", "write_file", &json!({"path": "b.rs", "content": "x"})));
    world.ask(
        &run,
        CommandKind::Reject(Answer {
            by: "ben".to_owned(),
            ..Answer::default()
        }),
    );
    let late = session
        .governor
        .answered(&asked.key, &PersonSaid::Yes, NOW + 21);
    assert_eq!(denial(late).0, "tool_not_allowed");
}

/// Requests the transition as `who`, after `prepare` has changed the world; returns whether a person is asked.
fn is_asked(who: Caller, prepare: impl FnOnce(&World, &RunId)) -> bool {
    let world = World::with(SHIP);
    let run = started(&world);
    prepare(&world, &run);
    let who = match who {
        Caller::Run(_) => Caller::Run(run),
        who => who,
    };
    let mut governor = Governor::new(world.settings(), who, &Servers::default()).unwrap();
    matches!(ship(&mut governor), CallDecision::Ask(_))
}

/// Leaves a note about the transition by a hook of the process `pid`.
fn noted(world: &World, run: &RunId, pid: u32, unattended: bool) {
    world.note(Transition, EVENT, |note| {
        note.run = Some(run.clone());
        note.process = Some(process(pid));
        note.unattended = unattended;
    });
}

#[test]
fn only_the_process_that_the_client_itself_started_may_ask() {
    assert!(is_asked(Caller::Stdio, |_, _| {}));
    // The client is process 77, directly above this one.
    assert!(is_asked(Caller::Stdio, |world, run| noted(
        world, run, 77, false
    )));
    assert!(
        !is_asked(Caller::Stdio, |world, run| noted(world, run, 77, true)),
        "nobody sits there"
    );
    assert!(
        !is_asked(Caller::Stdio, |world, run| noted(world, run, 1, false)),
        "something stands between the client and this process"
    );
    let guarded = |pid| {
        move |world: &World, run: &RunId| {
            let binding = Binding {
                run: run.clone(),
                session: session("s1"),
                project_root: world.project.clone(),
                process: Some(process(pid)),
                at_ms: NOW,
            };
            world
                .home
                .lock_bindings()
                .unwrap()
                .bind(binding, None)
                .unwrap();
        }
    };
    assert!(is_asked(Caller::Stdio, guarded(77)));
    assert!(
        !is_asked(Caller::Stdio, guarded(1)),
        "a guarded agent has started this process"
    );
}

#[test]
fn whoever_reaches_the_port_is_not_believed_unless_a_person_says_so() {
    let any = || Caller::Run(RunId::new("any"));
    assert!(!is_asked(Caller::Nobody, |_, _| {}));
    assert!(!is_asked(any(), |_, _| {}));
    let allow = |world: &World, _: &RunId| {
        std::fs::create_dir_all(&world.configuration).unwrap();
        let text = "[gateway]\napprovals_over_http = true\n";
        std::fs::write(world.configuration.join("config.toml"), text).unwrap();
    };
    assert!(is_asked(any(), allow));
    // A project may not set this.
    let world = World::with(SHIP);
    let text = "[gateway]\napprovals_over_http = true\n";
    let path = world.project.join(".interlock/config.toml");
    std::fs::write(&path, text).unwrap();
    let read = interlock_project::Config::of_project(&world.project);
    assert!(read.is_err_and(|error| error.to_string().contains("approvals_over_http")));
}

#[test]
fn what_takes_a_passkey_is_asked_about_elsewhere() {
    let world = World::with(
        "
id: w
initial: review
states:
  review: {allowed_tools: [look], on_denied: ask, approval: passkey, on: {SHIP: {target: done, approval: passkey}}}
  done: {type: final}
",
    );
    let run = started(&world);
    let mut session = Session::new(&world);
    // The call is denied, and waits for a passkey.
    let arguments = json!({"path": "a.rs", "content": "x"});
    let (code, text) = denial(session.call("fs", "write_file", &arguments));
    assert_eq!(code, "tool_not_allowed");
    assert!(text.contains("with a passkey"), "{text}");
    assert_eq!(world.run(&run).requests.len(), 1);
    // So does the transition; nobody is asked through the client, and the client was not used for asking.
    session.governor.begin();
    let told = answer(ship(&mut session.governor));
    assert_eq!(told["structuredContent"]["status"], "awaiting_approval");
    assert!(told.to_string().contains("with a passkey"), "{told}");
    world.approve(&run);
    assert_eq!(at(&world, &run), "review", "a yes alone is none");
    assert!(world.run(&run).root.stay.request.is_some());
}
