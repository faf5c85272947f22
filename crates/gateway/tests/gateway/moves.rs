//! `get_state`, `transition` and `pause` on one run.

use interlock_core::{
    call::ControlTool::{self, GetState, Pause, Transition},
    command::{Answer as Said, CommandKind, TransitionRequest},
    event::{Event, PromptEnd},
    machine::Object,
};
use serde_json::json;

use crate::gateway::world::{NOW, World, agent, at, call, code, process};

const WORK: &str = "
id: work
initial: planning
context: {}
guards:
  pass: {field: result, op: eq, value: pass}
states:
  planning:
    instructions: Read first.
    allowed_tools: [Read]
    max_iterations: 3
    on: {READY: testing}
  testing:
    allowed_tools: [Read, Bash]
    allowed_commands: [npm test]
    on:
      DONE: {target: review, guard: pass}
      BACK: planning
  review:
    on: {SHIP: {target: completed, requires_approval: true, approval_message: ship it?}, BACK: planning}
  completed: {type: final}
";

const FORK: &str = "
id: forks
initial: building
states:
  building:
    on:
      GO:
        fork:
          join: all
          branches:
            lint: {initial: lint_run, terminal: lint_ok}
            unit: {initial: unit_run, terminal: unit_ok}
          on_complete: completed
          on_fail: failed
  lint_run: {on: {LINTED: lint_ok}}
  lint_ok: {type: final}
  unit_run: {on: {TESTED: unit_ok}}
  unit_ok: {type: final}
  completed: {type: final}
  failed: {type: final}
";

#[test]
fn the_state_is_the_output_line_with_the_run_and_the_briefing() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    let answer = world.noted(&mut world.control(), GetState, "{}");
    assert_eq!(code(&answer), "ok");
    let keys: Vec<&str> = answer.structured.keys().map(String::as_str).collect();
    let expected = [
        "run", "ok", "code", "message", "state", "status", "context", "tools", "events", "limits",
        "effects", "log", "briefing",
    ];
    assert_eq!(keys, expected);
    assert_eq!(at(&answer, "/run"), json!(run));
    assert_eq!(at(&answer, "/state"), "planning");
    assert_eq!(at(&answer, "/tools"), json!(["Read"]));
    assert_eq!(
        at(&answer, "/events"),
        json!([{"event": "READY", "target": "testing", "ready": true}])
    );
    assert_eq!(at(&answer, "/limits/iterations/1"), 3);
    assert_eq!(at(&answer, "/log"), json!([]));
    for said in [
        "Phase: planning.",
        "Tools: Read.",
        "READY -> testing",
        "Instructions: Read first.",
    ] {
        assert!(answer.text.contains(said), "{said}: {}", answer.text);
        assert!(at(&answer, "/briefing").as_str().unwrap().contains(said));
    }
}

#[test]
fn without_a_run_the_state_says_how_to_start_one_and_nothing_else_passes() {
    let world = World::with(WORK);
    let mut control = world.control();
    let answer = world.noted(&mut control, GetState, "{}");
    assert_eq!(code(&answer), "ok");
    assert_eq!(at(&answer, "/run"), json!(null));
    assert!(answer.text.contains("`interlock_start`"), "{}", answer.text);
    for (tool, arguments) in [(Transition, r#"{"event": "READY"}"#), (Pause, "{}")] {
        let answer = world.noted(&mut control, tool, arguments);
        assert_eq!(code(&answer), "no_run");
        assert_eq!(
            code(&call(&mut control, tool, arguments)),
            "no_run",
            "no note"
        );
    }
}

#[test]
fn a_transition_moves_the_run_and_keeps_numbers_exact() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    let data = r#"{"event": "READY", "data": {"n": 9007199254740993, "d": 0.10000000000000000001, "e": 1e400, "rationale": "read"}}"#;
    let answer = world.noted(&mut world.control(), Transition, data);
    assert_eq!(code(&answer), "ok");
    assert_eq!(at(&answer, "/state"), "testing");
    assert_eq!(at(&answer, "/log"), json!(["TransitionTaken"]));
    assert!(
        answer.text.starts_with("`READY` taken; now in `testing`."),
        "{}",
        answer.text
    );
    let kept = serde_json::to_string(&world.run(&run).root.line.context).unwrap();
    assert_eq!(
        kept,
        r#"{"n":9007199254740993,"d":0.10000000000000000001,"e":1e+400,"rationale":"read"}"#
    );
    assert_eq!(at(&answer, "/context").to_string(), kept);
}

#[test]
fn a_refusal_says_why_and_what_is_possible_and_changes_nothing() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    let mut control = world.control();
    let cases: [(&str, &str, &[&str]); 4] = [
        (
            r#"{"event": "RAEDY"}"#,
            "unknown_event",
            &["`READY`", "READY -> testing"],
        ),
        (
            r#"{"event": "READY", "data": {"_x": 1}}"#,
            "reserved_key",
            &["`_x`"],
        ),
        (
            r#"{"event": "READY", "branch": "lint"}"#,
            "unknown_branch",
            &["`lint`"],
        ),
        (r#"{"event": "ready"}"#, "unknown_event", &["Tools: Read."]),
    ];
    for (arguments, expected, texts) in cases {
        let answer = world.noted(&mut control, Transition, arguments);
        assert_eq!(code(&answer), expected);
        assert_eq!(at(&answer, "/state"), "planning");
        assert_eq!(at(&answer, "/tools"), json!(["Read"]));
        assert_eq!(at(&answer, "/events/0/event"), "READY");
        assert_eq!(at(&answer, "/log"), json!(["TransitionRejected"]));
        for text in texts {
            assert!(answer.text.contains(text), "{text}: {}", answer.text);
        }
    }
    world.noted(&mut control, Transition, r#"{"event": "READY"}"#);
    let answer = world.noted(
        &mut control,
        Transition,
        r#"{"event": "DONE", "data": {"result": "pass"}}"#,
    );
    assert_eq!(code(&answer), "guard_failed");
    assert!(
        answer.text.contains("counts only from the next one on"),
        "{}",
        answer.text
    );
    assert!(world.run(&run).root.line.context.is_empty());
}

fn in_review(world: &World) -> interlock_core::names::RunId {
    let run = world.started_for("s1");
    let mut control = world.control();
    for event in [
        r#"{"event": "READY", "data": {"result": "pass"}}"#,
        r#"{"event": "DONE"}"#,
    ] {
        assert_eq!(code(&world.noted(&mut control, Transition, event)), "ok");
    }
    run
}

const SHIP: &str = r#"{"event": "SHIP"}"#;

#[test]
fn nobody_but_a_person_opens_an_approval() {
    let world = World::with(WORK);
    let run = in_review(&world);
    let mut control = world.control();
    let answer = world.noted(&mut control, Transition, SHIP);
    assert_eq!(code(&answer), "ok");
    assert_eq!(at(&answer, "/status"), "awaiting_approval");
    assert_eq!(at(&answer, "/log"), json!(["ApprovalRequested"]));
    assert!(
        answer.text.contains("ship it?") && answer.text.contains("interlock approve"),
        "{}",
        answer.text
    );
    for (tool, arguments) in [
        (Transition, SHIP),
        (Transition, r#"{"event": "BACK"}"#),
        (Pause, "{}"),
    ] {
        assert_eq!(
            code(&world.noted(&mut control, tool, arguments)),
            "awaiting_approval",
            "{arguments}"
        );
    }
    assert_eq!(
        at(&world.noted(&mut control, GetState, "{}"), "/status"),
        "awaiting_approval"
    );
    world.approve(&run);
    let answer = world.noted(&mut control, GetState, "{}");
    assert_eq!(at(&answer, "/status"), "completed");
    assert_eq!(
        code(&world.noted(&mut control, Transition, r#"{"event": "BACK"}"#)),
        "run_over"
    );
}

#[test]
fn a_server_the_client_did_not_start_takes_no_yes() {
    let world = World::with(WORK);
    in_review(&world);
    // A server below a script of the agent: the client is its ancestor, but not its parent.
    let mut settings = world.settings();
    let script = settings.ancestors.remove(1);
    settings.ancestors.insert(0, script);
    let mut control = interlock_gateway::Control::new(settings);
    world.note(Transition, SHIP, |note| {
        note.asked = true;
        note.process = Some(process(77));
        note.at_ms = NOW + 5;
    });
    let answer = call(&mut control, Transition, SHIP);
    assert_eq!(at(&answer, "/status"), "awaiting_approval");
}

#[test]
fn a_note_that_asked_is_the_approval_once() {
    let world = World::with(WORK);
    let run = in_review(&world);
    let mut control = world.control();
    world.note(Transition, SHIP, |note| {
        note.asked = true;
        note.process = Some(process(77));
        note.at_ms = NOW + 5;
    });
    let answer = call(&mut control, Transition, SHIP);
    assert_eq!(at(&answer, "/status"), "completed");
    let by = world
        .events(&run)
        .into_iter()
        .find_map(|event| match event {
            Event::RequestAnswered { by, yes: true, .. } => Some(by),
            _ => None,
        });
    assert_eq!(by.as_deref(), Some("ana"));
}

#[test]
fn a_yes_in_the_prompt_after_a_no_elsewhere_is_none() {
    let closes = [
        CommandKind::Reject(Said {
            by: "ana".to_owned(),
            ..Said::default()
        }),
        CommandKind::ClosePrompts {
            session: "s1".to_owned(),
            agent: None,
            call: None,
            why: PromptEnd::TurnOver,
        },
    ];
    for close in closes {
        let world = World::with(WORK);
        let run = in_review(&world);
        world.note(Transition, SHIP, |note| {
            note.asked = true;
            note.process = Some(process(77));
            note.at_ms = NOW + 5;
        });
        world.ask(&run, close);
        let answer = call(&mut world.control(), Transition, SHIP);
        assert_eq!(at(&answer, "/status"), "awaiting_approval");
        assert!(!world.run(&run).is_over());
    }
}

#[test]
fn a_note_that_asked_is_used_up_by_its_call() {
    let world = World::with(WORK);
    let run = in_review(&world);
    let mut control = world.control();
    let wrong = r#"{"event": "SHIP", "branch": "none"}"#;
    world.note(Transition, wrong, |note| {
        note.asked = true;
        note.process = Some(process(77));
        note.at_ms = NOW + 5;
    });
    assert_eq!(
        code(&call(&mut control, Transition, wrong)),
        "unknown_branch"
    );
    assert_eq!(
        code(&call(&mut control, Transition, wrong)),
        "unknown_branch"
    );
    // The approval was for other arguments.
    let answer = call(&mut control, Transition, SHIP);
    assert_eq!(at(&answer, "/status"), "awaiting_approval");
    assert!(!world.run(&run).is_over());
}

#[test]
fn a_yes_from_before_the_state_was_entered_is_none() {
    let world = World::with(WORK);
    let run = in_review(&world);
    // Asked in an earlier stay; the answer came when the run was back in the same state, by a clock that does not
    // distinguish the stays.
    let asked = world.question(&run, SHIP);
    assert!(asked.is_some());
    let mut control = world.control();
    for event in [
        r#"{"event": "BACK"}"#,
        r#"{"event": "READY"}"#,
        r#"{"event": "DONE"}"#,
    ] {
        assert_eq!(code(&world.noted(&mut control, Transition, event)), "ok");
    }
    world.note(Transition, SHIP, |note| {
        note.asked = true;
        note.process = Some(process(77));
        note.question = asked;
        note.at_ms = NOW + 1000;
    });
    let answer = call(&mut world.control(), Transition, SHIP);
    assert_eq!(at(&answer, "/status"), "awaiting_approval");
    assert!(!world.run(&run).is_over());
}

#[test]
fn a_sub_agent_acts_in_its_own_branch() {
    let world = World::with(FORK);
    let run = world.started_for("s1");
    let mut control = world.control();
    world.noted(&mut control, Transition, r#"{"event": "GO"}"#);
    let mut by = |name: &str, tool: ControlTool, arguments: &str| {
        world.note(tool, arguments, |note| note.agent = Some(agent(name)));
        call(&mut control, tool, arguments)
    };
    let answer = by("a2", Transition, r#"{"event": "NOPE", "branch": "unit"}"#);
    assert_eq!(code(&answer), "unknown_event");
    assert_eq!(
        at(&answer, "/log"),
        json!(["AgentBound", "TransitionRejected"])
    );
    let seen = by("a2", GetState, "{}");
    assert_eq!(at(&seen, "/events/0/event"), "TESTED", "its own branch");
    assert_eq!(
        code(&by("a2", GetState, r#"{"branch": "lint"}"#)),
        "unknown_branch"
    );
    assert_eq!(
        code(&by(
            "a2",
            Transition,
            r#"{"event": "LINTED", "branch": "lint"}"#
        )),
        "unknown_branch"
    );
    assert_eq!(
        code(&by("a1", Transition, r#"{"event": "LINTED"}"#)),
        "ok",
        "the first free one"
    );
    assert_eq!(code(&by("a2", Transition, r#"{"event": "TESTED"}"#)), "ok");
    assert!(world.run(&run).is_over());
}

#[test]
fn the_main_agent_looks_into_any_branch() {
    let world = World::with(FORK);
    world.started_for("s1");
    let mut control = world.control();
    world.noted(&mut control, Transition, r#"{"event": "GO"}"#);
    for (arguments, event) in [("{}", "LINTED"), (r#"{"branch": "unit"}"#, "TESTED")] {
        let answer = world.noted(&mut control, GetState, arguments);
        assert_eq!(at(&answer, "/events/0/event"), event);
    }
    let answer = world.noted(&mut control, GetState, r#"{"branch": "doc"}"#);
    assert_eq!(code(&answer), "unknown_branch");
    assert!(answer.text.contains("lint"), "{}", answer.text);
}

#[test]
fn a_paused_run_stands_still_until_a_person_resumes_it() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    let mut control = world.control();
    let answer = world.noted(&mut control, Pause, r#"{"reason": "which key?"}"#);
    assert_eq!(code(&answer), "ok");
    assert_eq!(at(&answer, "/status"), "paused");
    assert_eq!(
        world.run(&run).paused.unwrap().reason.as_deref(),
        Some("which key?")
    );
    for (tool, arguments) in [
        (Transition, r#"{"event": "READY"}"#),
        (Pause, "{}"),
        (ControlTool::Start, r#"{"workflow": "w"}"#),
        (
            ControlTool::CreateWorkflow,
            r#"{"name": "x", "definition": {}}"#,
        ),
    ] {
        assert_eq!(
            code(&world.noted(&mut control, tool, arguments)),
            "paused",
            "{arguments}"
        );
    }
    assert_eq!(code(&world.noted(&mut control, GetState, "{}")), "ok");
    assert_eq!(
        code(&world.noted(&mut control, ControlTool::ListWorkflows, "{}")),
        "ok"
    );
    world.ask(
        &run,
        CommandKind::Resume {
            by: "ana".to_owned(),
            seen: None,
        },
    );
    assert_eq!(
        code(&world.noted(&mut control, Transition, r#"{"event": "READY"}"#)),
        "ok"
    );
}

#[test]
fn what_the_engine_refuses_a_tool_is_in_the_log() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    let mut control = world.control();
    world.noted(&mut control, Pause, "{}");
    let before = world.events(&run).len();
    let answer = world.noted(&mut control, Pause, "{}");
    assert_eq!(at(&answer, "/log"), json!(["CallDenied"]));
    assert_eq!(world.events(&run).len(), before + 1);
    world.noted(&mut control, GetState, "{}");
    assert_eq!(
        world.events(&run).len(),
        before + 1,
        "looking leaves no trace"
    );
}

#[test]
fn wrong_arguments_are_refused_by_name() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    let mut control = world.control();
    let long = format!(r#"{{"event": "{}"}}"#, "E".repeat(201));
    let cases: [(ControlTool, &str, &str); 11] = [
        (Transition, "{}", "`event`"),
        (Transition, r#"{"event": null}"#, "`event`"),
        (Transition, r#"{"event": ""}"#, "`event`"),
        (Transition, r#"{"event": ["READY"]}"#, "`event`"),
        (Transition, &long, "200"),
        (
            Transition,
            r#"{"event": "READY", "data": "{\"a\": 1}"}"#,
            "`data`",
        ),
        (Transition, r#"{"event": "READY", "data": [1]}"#, "`data`"),
        (
            Transition,
            r#"{"event": "READY", "state": "testing"}"#,
            "`state`",
        ),
        (GetState, r#"{"branch": 7}"#, "`branch`"),
        (Pause, r#"{"reason": {}}"#, "`reason`"),
        (ControlTool::ListWorkflows, r#"{"all": true}"#, "`all`"),
    ];
    for (tool, arguments, named) in cases {
        let answer = world.noted(&mut control, tool, arguments);
        assert_eq!(code(&answer), "invalid_arguments", "{arguments}");
        assert!(answer.text.contains(named), "{named}: {}", answer.text);
    }
    assert_eq!(world.events(&run).len(), 1, "none of it reached the run");
    // Missing and null are the same.
    let arguments = r#"{"event": "READY", "data": null, "branch": null}"#;
    assert_eq!(
        code(&world.noted(&mut control, Transition, arguments)),
        "ok"
    );
}

#[test]
fn two_servers_never_both_take_a_transition() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    let taken: usize = std::thread::scope(|scope| {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut control = world.control();
                    usize::from(!call(&mut control, Transition, r#"{"event": "READY"}"#).refused)
                })
            })
            .collect();
        tasks.into_iter().map(|task| task.join().unwrap()).sum()
    });
    assert_eq!(taken, 1);
    let events = world.events(&run);
    let moves = events
        .iter()
        .filter(|event| matches!(event, Event::TransitionTaken { .. }));
    assert_eq!(moves.count(), 1);
}

#[test]
fn a_run_that_a_person_moved_is_seen_as_it_is_now() {
    let world = World::with(WORK);
    let run = world.started_for("s1");
    let mut control = world.control();
    world.noted(&mut control, GetState, "{}");
    let request = TransitionRequest {
        event: "READY".to_owned(),
        data: Object::new(),
        branch: None,
        agent: None,
        by: "ana".to_owned(),
        approved_by: None,
    };
    world.ask(&run, CommandKind::Transition(request));
    assert_eq!(
        at(&world.noted(&mut control, GetState, "{}"), "/state"),
        "testing"
    );
}
