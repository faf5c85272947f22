//! The run that binds a call at the gateway: by hook, credential, project policy, or none.

use std::{fs, sync::Barrier};

use crate::gateway::governed_session::{Session, WORK, said, transition};
use crate::gateway::world::{World, session};
use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    command::CommandKind,
    names::{CallId, Digest, RunId},
};
use interlock_gateway::govern::{CallDecision, Caller, Governor, SessionPolicy as _};
use interlock_project::Servers;
use interlock_store::NotedTool;
use serde_json::json;

#[test]
fn beside_runs_of_others_a_run_of_nobody_is_not_taken() {
    let world = World::with(WORK);
    let first = world.started_for("s1");
    for name in ["s2", "s3"] {
        world.note(
            interlock_core::call::ControlTool::Start,
            r#"{"workflow": "w"}"#,
            |note| {
                note.session = session(name);
                note.run = None;
                note.process = Some(crate::gateway::world::process(500));
            },
        );
        crate::gateway::world::call(
            &mut world.control(),
            interlock_core::call::ControlTool::Start,
            r#"{"workflow": "w"}"#,
        );
    }
    assert_eq!(world.runs().len(), 3);
    let (code, text) = Session::new(&world).denied("web", "look", &json!({}));
    assert_eq!(code, "several_runs");
    assert!(text.contains(first.as_str()), "{text}");
}

#[test]
fn a_hooks_note_says_whose_call_it_is() {
    let world = World::with(WORK);
    let (first, second) = (world.started_for("s1"), world.started_for("s2"));
    let mut at_gateway = Session::new(&world);
    world.note(interlock_core::call::ControlTool::Pause, "{}", |note| {
        note.tool = NotedTool::served("look");
        note.session = session("s2");
        note.run = Some(second.clone());
    });
    at_gateway.passes("web", "look", &json!({}));
    assert_eq!(world.run(&second).root.stay.used.calls, 1);
    assert_eq!(world.run(&first).root.stay.used.calls, 0);
    // It can be used only once.
    assert_eq!(
        at_gateway.denied("web", "look", &json!({})).0,
        "several_runs"
    );
}

#[test]
fn a_credential_is_of_one_run_and_ends_with_it() {
    let world = World::with(WORK);
    let (first, second) = (world.started_for("s1"), world.started_for("s2"));
    let mut of_second = Session::of(&world, Caller::Run(second.clone()), "");
    of_second.passes("web", "look", &json!({}));
    assert_eq!(world.run(&second).root.stay.used.calls, 1);
    assert_eq!(world.run(&first).root.stay.used.calls, 0);
    let answer = of_second.own("interlock_get_state", "{}");
    assert_eq!(answer["structuredContent"]["run"], json!(second));
    world.cancel(&second);
    assert_eq!(of_second.denied("web", "look", &json!({})).0, "run_over");
    let answer = of_second.own("interlock_start", r#"{"workflow": "w"}"#);
    assert_eq!(answer["structuredContent"]["code"], "run_over");
}

/// Returns a world whose project binds every session to `w`.
fn by_policy() -> World {
    let world = World::with(WORK);
    fs::write(
        world.project.join(".interlock/config.toml"),
        "workflow = \"w\"\n",
    )
    .unwrap();
    world
}

#[test]
fn a_project_policy_guards_a_session_that_no_hook_sees() {
    let world = by_policy();
    let mut session = Session::new(&world);
    // Listing starts no run; the list is that of the first state.
    let tools = [("web", "look"), ("fs", "write_file")];
    assert_eq!(session.shown(&tools), [true, false]);
    assert!(world.runs().is_empty());
    let (code, _) = session.denied("fs", "write_file", &json!({"path": "a", "content": ""}));
    assert_eq!(code, "tool_not_allowed");
    assert_eq!(world.runs().len(), 1);
    assert!(
        !session.governor.changed(),
        "the list is that of its first state"
    );
    session.passes("web", "look", &json!({}));
    let moved = session.own("interlock_transition", r#"{"event": "READY"}"#);
    assert_eq!(moved["structuredContent"]["state"], "building");
    assert_eq!(session.shown(&tools), [true, true]);
    session.own("interlock_transition", r#"{"event": "DONE"}"#);
    // The run is over for this session: only protected things are still refused.
    session.passes("fs", "write_file", &json!({"path": "a", "content": ""}));
    let own = json!({"path": ".interlock/config.toml", "content": ""});
    assert_eq!(session.denied("fs", "write_file", &own).0, "protected");
    assert_eq!(world.runs().len(), 1);
}

#[test]
fn a_session_under_a_policy_may_begin_with_a_pause() {
    let world = by_policy();
    let mut session = Session::new(&world);
    let answer = session.own("interlock_pause", r#"{"reason": "which key?"}"#);
    assert_eq!(answer["structuredContent"]["status"], "paused", "{answer}");
    let paused = world.runs().into_iter().map(|run| world.run(&run).paused);
    let reasons: Vec<Option<String>> = paused.map(|paused| paused?.reason).collect();
    assert_eq!(reasons, [Some("which key?".to_owned())]);
}

#[test]
fn each_session_has_a_run_of_the_policy_for_itself() {
    let world = by_policy();
    let mut sessions: Vec<Session> = (0..3)
        .map(|_| Session::of(&world, Caller::Nobody, ""))
        .collect();
    for session in &mut sessions {
        session.passes("web", "look", &json!({}));
    }
    for session in &mut sessions {
        let answer = session.own("interlock_transition", r#"{"event": "READY"}"#);
        assert_eq!(answer["structuredContent"]["state"], "building", "{answer}");
    }
    assert_eq!(world.runs().len(), 3);
    assert!(
        world
            .runs()
            .iter()
            .all(|run| world.run(run).root.at.as_str() == "building")
    );
}

#[test]
fn sessions_that_begin_at_once_each_get_a_run_for_themselves() {
    const SESSIONS: usize = 40;
    let world = by_policy();
    let gate = Barrier::new(SESSIONS);
    std::thread::scope(|scope| {
        for _ in 0..SESSIONS {
            scope.spawn(|| {
                let mut session = Session::of(&world, Caller::Nobody, "");
                gate.wait();
                session.passes("web", "look", &json!({}));
                session.passes("web", "look", &json!({}));
            });
        }
    });
    let runs = world.runs();
    assert_eq!(runs.len(), SESSIONS);
    let used = runs.iter().map(|run| world.run(run).root.stay.used.calls);
    assert!(used.into_iter().all(|calls| calls == 2));
}

#[test]
fn gateways_of_one_client_that_begin_at_once_share_a_run() {
    const GATEWAYS: usize = 12;
    let world = by_policy();
    let gate = Barrier::new(GATEWAYS);
    std::thread::scope(|scope| {
        for _ in 0..GATEWAYS {
            scope.spawn(|| {
                let mut session = Session::new(&world);
                gate.wait();
                session.passes("web", "look", &json!({}));
                session.passes("web", "look", &json!({}));
            });
        }
    });
    let runs = world.runs();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(
        world.run(&runs[0]).root.stay.used.calls,
        2 * GATEWAYS as u64
    );
}

#[test]
fn the_run_of_a_session_whose_client_is_gone_is_gone_on_with() {
    let world = by_policy();
    Session::new(&world).passes("web", "look", &json!({}));
    // No process with the name of the test's clients is running.
    let mut settings = world.settings();
    settings.ancestors = vec![crate::gateway::world::process(78)];
    let governor = Governor::new(settings, Caller::Stdio, &Servers::default()).unwrap();
    let mut next = Session {
        governor,
        ..Session::new(&world)
    };
    next.passes("web", "look", &json!({}));
    let runs = world.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!(world.run(&runs[0]).root.stay.used.calls, 2);
}

#[test]
fn a_client_over_http_takes_no_run_of_a_client_that_is_gone() {
    let world = by_policy();
    Session::new(&world).passes("web", "look", &json!({}));
    let mut over_http = Session::of(&world, Caller::Nobody, "");
    over_http.passes("web", "look", &json!({}));
    let runs = world.runs();
    assert_eq!(runs.len(), 2, "{runs:?}");
    let used = runs.iter().map(|run| world.run(run).root.stay.used.calls);
    assert_eq!(used.collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn a_call_that_a_hook_has_seen_begins_no_run_of_the_policy() {
    let world = by_policy();
    let mut session = Session::new(&world);
    world.note(interlock_core::call::ControlTool::Pause, "{}", |note| {
        note.tool = NotedTool::served("look");
    });
    let ticket = session.passes("web", "look", &json!({}));
    assert_eq!(ticket.call, None, "its session is free");
    world.note(interlock_core::call::ControlTool::GetState, "{}", |_| {});
    let answer = session.own("interlock_get_state", "{}");
    assert_eq!(answer["structuredContent"]["run"], json!(null), "{answer}");
    assert!(world.runs().is_empty());
    // Without a hook's note, the same call starts one.
    session.own("interlock_get_state", "{}");
    assert_eq!(world.runs().len(), 1);
}

#[test]
fn a_run_of_the_policy_is_of_the_client_process_and_of_no_shell_between() {
    let process_of = |who: Caller, above: interlock_store::ClientProcess| {
        let world = by_policy();
        let mut settings = world.settings();
        settings.ancestors = vec![above];
        let governor = Governor::new(settings, who, &Servers::default()).unwrap();
        let mut session = Session {
            governor,
            ..Session::new(&world)
        };
        session.passes("web", "look", &json!({}));
        let run = world.runs().pop().unwrap();
        let binding = world.home.session_of(&run).unwrap().unwrap();
        binding.process
    };
    let own = interlock_clients::process::look(std::process::id()).unwrap();
    let client = Some(own.client.clone());
    assert_eq!(process_of(Caller::Stdio, own.client.clone()), client);
    // A client over HTTP is not an ancestor of this process.
    assert_eq!(process_of(Caller::Nobody, own.client), None);
    let mut shell = std::process::Command::new("sh")
        .args(["-c", "read -r line; exit 0"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Until it has executed its program, it looks like this test.
    let look = || interlock_clients::process::look(shell.id()).unwrap();
    while look().name == own.name {
        std::thread::yield_now();
    }
    assert_eq!(process_of(Caller::Stdio, look().client), None);
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn a_policy_that_cannot_be_read_denies() {
    let world = by_policy();
    for broken in [
        "workflow = ",
        "workflow = \"nothing\"\n",
        "workfow = \"w\"\n",
    ] {
        fs::write(world.project.join(".interlock/config.toml"), broken).unwrap();
        let mut session = Session::new(&world);
        let (code, text) = session.denied("web", "look", &json!({}));
        assert_eq!(code, "unavailable", "{text}");
        assert_eq!(session.shown(&[("web", "look")]), [false]);
    }
    assert!(world.runs().is_empty());
}

/// Returns a call of a tool that the gateway serves, as a hook proposes it.
fn served(id: &str, tool: &str) -> ToolCall {
    ToolCall {
        id: CallId::new(id),
        tool: format!("mcp__interlock__{tool}"),
        common: None,
        served_as: vec![tool.to_owned()],
        foreign: false,
        kind: CallKind::Other,
        digest: Digest::new(id),
        summary: String::new(),
        agent: None,
        branch: None,
        prompts_in: None,
        facts: CallFacts::default(),
    }
}

#[test]
fn a_call_that_a_hook_has_judged_is_counted_once() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    transition(&world, &run, "READY");
    let mut at_gateway = Session::new(&world);
    let input = json!({"path": "a.sql", "content": "x"});
    let judged = |id: &str| {
        CommandKind::Propose(Box::new(ToolCall {
            kind: CallKind::Edit,
            facts: CallFacts {
                edit_lines: Some(1),
                ..CallFacts::default()
            },
            ..served(id, "write_file")
        }))
    };
    world.ask(&run, judged("toolu_1"));
    let leave = |judged: &str| {
        world.note(
            interlock_core::call::ControlTool::Pause,
            &input.to_string(),
            |note| {
                note.tool = NotedTool::served("write_file");
                note.judged = Some(CallId::new(judged));
            },
        );
    };
    leave("toolu_1");
    let ticket = at_gateway.passes("fs", "write_file", &input);
    assert_eq!(ticket.call.as_ref().map(|id| id.as_str()), Some("toolu_1"));
    assert_eq!(world.run(&run).root.stay.used.calls, 1);
    at_gateway.ended(&ticket, &said("ok"));
    assert!(world.run(&run).calls.is_empty(), "it has ended");
    // A note of a verdict that is used up, or was never given, lets no call pass uncounted.
    for stale in ["toolu_1", "toolu_9"] {
        leave(stale);
        at_gateway.passes("fs", "write_file", &input);
    }
    assert_eq!(world.run(&run).root.stay.used.calls, 3);
    // No verdict of a hook permits what the gateway knows to be protected.
    at_gateway.shown(&[("fs", "write_file")]);
    at_gateway.definition["description"] = json!("another tool");
    world.ask(&run, judged("toolu_2"));
    leave("toolu_2");
    assert_eq!(at_gateway.denied("fs", "write_file", &input).0, "protected");
}

#[test]
fn a_credential_takes_the_notes_of_its_run_alone() {
    let world = World::with(WORK);
    let (first, second) = (world.started_for("s1"), world.started_for("s2"));
    let look = |id: &str| CommandKind::Propose(Box::new(served(id, "look")));
    let leave = |run: &RunId, id: &str| {
        world.ask(run, look(id));
        world.note(interlock_core::call::ControlTool::Pause, "{}", |note| {
            note.tool = NotedTool::served("look");
            note.run = Some(run.clone());
            note.judged = Some(CallId::new(id));
        });
    };
    let mut of_second = Session::of(&world, Caller::Run(second.clone()), "");
    leave(&first, "toolu_1");
    leave(&second, "toolu_2");
    let ticket = of_second.passes("web", "look", &json!({}));
    assert_eq!(ticket.call.as_ref().map(|id| id.as_str()), Some("toolu_2"));
    of_second.passes("web", "look", &json!({}));
    assert_eq!(world.run(&second).root.stay.used.calls, 2);
    // Another client on the port cannot use anybody's note.
    let mut anybody = Session::of(&world, Caller::Nobody, "");
    assert_eq!(anybody.denied("web", "look", &json!({})).0, "several_runs");
}

#[test]
fn a_call_that_a_person_was_asked_about_passes_where_their_own_client_makes_it() {
    let world = World::with(
        "{id: w, initial: a, states: {a: {allowed_tools: [other], on_denied: ask, on: {GO: b}}, b: {type: final}}}",
    );
    let run = world.started_for("s1");
    let mut at_gateway = Session::new(&world);
    let (own, other) = (
        crate::gateway::world::process(77),
        crate::gateway::world::process(500),
    );
    for (number, (asked, process, passes)) in [
        (true, Some(other), false),
        (true, None, false),
        // The hook has left no question with the client.
        (false, Some(own.clone()), false),
        (true, Some(own), true),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("toolu_{number}");
        let proposed = served(&id, "look");
        world.ask(&run, CommandKind::Propose(Box::new(proposed)));
        world.note(interlock_core::call::ControlTool::Pause, "{}", |note| {
            note.tool = NotedTool::served("look");
            note.judged = Some(CallId::new(&id));
            note.asked = asked;
            note.process = process;
        });
        let ruling = at_gateway.call("web", "look", &json!({}));
        let same = matches!(&ruling, CallDecision::Pass(ticket) if ticket.call.as_ref().is_some_and(|call| call.as_str() == id));
        assert_eq!(same, passes, "{number}: {ruling:?}");
        assert!(
            passes || !matches!(ruling, CallDecision::Pass(_)),
            "{number}"
        );
    }
}

/// Leaves the note of a hook that has judged a call of `write_file`.
fn leave_judged(world: &World, input: &serde_json::Value, id: &str) {
    let control = interlock_core::call::ControlTool::Pause;
    world.note(control, &input.to_string(), |note| {
        note.tool = NotedTool::served("write_file");
        note.judged = Some(CallId::new(id));
    });
}

#[test]
fn no_verdict_of_a_hook_opens_what_the_gateway_itself_would_refuse() {
    for (input, code) in [
        (json!({"path": "a.rs", "content": "x"}), None),
        (
            json!({"path": ".interlock/config.toml", "content": "x"}),
            Some("protected"),
        ),
        (
            json!({"path": "a\0b", "content": "x"}),
            Some("invalid_arguments"),
        ),
    ] {
        let world = World::with(WORK);
        let run = world.started_for("s1");
        transition(&world, &run, "READY");
        world.ask(
            &run,
            CommandKind::Propose(Box::new(served("toolu_1", "write_file"))),
        );
        leave_judged(&world, &input, "toolu_1");
        let mut at_gateway = Session::new(&world);
        match code {
            None => {
                let ticket = at_gateway.passes("fs", "write_file", &input);
                assert_eq!(ticket.call, Some(CallId::new("toolu_1")), "{input}");
            }
            Some(code) => {
                let (found, _) = at_gateway.denied("fs", "write_file", &input);
                assert_eq!(found, code, "{input}");
            }
        }
    }
}

#[test]
fn a_verdict_of_a_hook_counts_in_the_stay_in_which_it_was_given() {
    let input = json!({"path": "a.rs", "content": "x"});
    for moves in [false, true] {
        let world = World::with(
            "{id: w, initial: a, states: {a: {on: {GO: b}}, b: {on: {GO: c}}, c: {type: final}}}",
        );
        let run = world.started_for("s1");
        world.ask(
            &run,
            CommandKind::Propose(Box::new(served("toolu_1", "write_file"))),
        );
        if moves {
            transition(&world, &run, "GO");
        }
        leave_judged(&world, &input, "toolu_1");
        let ticket = Session::new(&world).passes("fs", "write_file", &input);
        let is_judged = ticket.call == Some(CallId::new("toolu_1"));
        assert_eq!(is_judged, !moves, "{moves}: {ticket:?}");
        assert_eq!(world.run(&run).root.stay.used.calls, 1, "{moves}");
    }
}

#[test]
fn a_note_of_a_call_with_an_id_is_of_that_call() {
    for (noted, called, taken) in [
        (Some("toolu_1"), Some("toolu_1"), true),
        (Some("toolu_1"), Some("toolu_2"), false),
        (Some("toolu_1"), None, true),
        (None, Some("toolu_1"), true),
    ] {
        let world = World::with(WORK);
        let (_, second) = (world.started_for("s1"), world.started_for("s2"));
        world.note(interlock_core::call::ControlTool::Pause, "{}", |note| {
            note.tool = NotedTool::served("look");
            note.session = session("s2");
            note.run = Some(second.clone());
            note.process = Some(crate::gateway::world::process(77));
            note.call = noted.map(CallId::new);
        });
        let meta = called.map(|id| {
            crate::gateway::world::object(&json!({"claudecode/toolUseId": id}).to_string())
        });
        let ruling = Session::new(&world).told("web", "look", meta.as_ref());
        let passes = matches!(ruling, CallDecision::Pass(_));
        assert_eq!(passes, taken, "{noted:?} {called:?}: {ruling:?}");
        assert_eq!(world.run(&second).root.stay.used.calls, u64::from(taken));
    }
}
