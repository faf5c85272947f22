//! Sub-agents in open branches: where the calls of the main agent count, and what a sub-agent that has stopped keeps.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_core::{
    Decision, Reply,
    call::{CallFacts, CallKind, ControlTool, ToolCall},
    command::{Command, CommandKind},
    decide,
    event::Event,
    evolve,
    machine::Machine,
    names::{AgentId, CallId, Digest, FramePath},
    run::Run,
};
use serde_json::json;

use crate::support::started::started;

/// A fork into the branches `a` and `b`; those named in `nested` fork again, into `c` and `d`.
fn machine(nested: &[&str]) -> Machine {
    let branches = |names: [&str; 2], initial: &dyn Fn(&str) -> &'static str| {
        let of = |name: &str| json!({"initial": initial(name), "terminal": "over"});
        let [first, second] = names;
        json!({
            "activity": {"parallel": {"over": {"branches": {first: of(first), second: of(second)}}}},
            "on": {"done": {"transitions": [{"target": {"state": "over"}}]}},
        })
    };
    let outer = branches(["a", "b"], &|name| match nested.contains(&name) {
        true => "inner",
        false => "work",
    });
    serde_json::from_value(json!({
        "id": "m", "initial": "outer",
        "limits": interlock_core::machine::Limits::default(),
        "states": {
            "outer": outer,
            "inner": branches(["c", "d"], &|_| "work"),
            "work": {"policy": {"allowed_tools": ["Read"]}, "on": {}},
            "over": {"activity": {"final": {"outcome": "success"}}},
        },
    }))
    .unwrap()
}

fn proposes(machine: &Machine, run: &Run, kind: CallKind, agent: Option<&str>) -> Decision {
    let call = ToolCall {
        id: CallId::new(agent.unwrap_or("main")),
        tool: "Read".to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind,
        digest: Digest::new("d"),
        summary: String::new(),
        agent: agent.map(AgentId::new),
        branch: None,
        prompts_in: None,
        facts: CallFacts::default(),
    };
    let kind = CommandKind::Propose(Box::new(call));
    decide(machine, run, &Command { at_ms: 1, kind })
}

#[test]
fn where_sub_agents_hold_every_branch_the_main_agents_calls_count_around_the_first() {
    let of_none = [
        CallKind::SubAgent,
        CallKind::Conversation,
        CallKind::Control(ControlTool::GetState),
        CallKind::Control(ControlTool::Pause),
    ];
    for (nested, around) in [
        (&[][..], ""),
        (&["a"], "a"),
        (&["b"], ""),
        (&["a", "b"], "a"),
    ] {
        let machine = machine(nested);
        let mut run = started(&machine);
        for number in 0..run.open_leaves().len() {
            let agent = format!("agent {number}");
            let bound = proposes(&machine, &run, CallKind::Other, Some(&agent));
            assert_eq!(bound.reply, Reply::Accepted, "{nested:?}: {agent}");
            run = bound.events.iter().fold(run, evolve);
        }
        for kind in of_none {
            let decision = proposes(&machine, &run, kind, None);
            let found = (decision.reply, decision.path.names().join("/"));
            assert_eq!(
                found,
                (Reply::Accepted, around.to_owned()),
                "{nested:?}: {kind:?}"
            );
        }
        let work = proposes(&machine, &run, CallKind::Other, None);
        assert!(matches!(work.reply, Reply::Refused(_)), "{nested:?}");
    }
}

#[test]
fn who_takes_a_branch_takes_it_whole_from_those_who_had_stopped_there() {
    let path = |path: &str| {
        let names = path.split('/');
        names.fold(FramePath::root(), |path, name| path.child(name))
    };
    let bound = |agent: &str, at: &str| Event::AgentBound {
        agent: AgentId::new(agent),
        path: path(at),
    };
    for (held, taken, is_lost) in [
        ("a", "a", true),
        ("a", "a/c", true),
        ("a/c", "a", true),
        ("a/c/e", "a", true),
        ("a/c", "a/d", false),
        ("a", "b", false),
        ("a", "ab", false),
    ] {
        for stopped in [true, false] {
            let run = started(&machine(&[]));
            let run = evolve(run, &bound("old", held));
            let agent = AgentId::new("old");
            let run = match stopped {
                true => evolve(run, &Event::AgentReleased { agent }),
                false => run,
            };
            let run = evolve(run, &bound("new", taken));
            let old = AgentId::new("old");
            let keeps = run.agents.contains_key(&old);
            assert_eq!(keeps, !(stopped && is_lost), "{held}, {taken}, {stopped}");
            assert_eq!(
                run.away.contains(&old),
                stopped && !is_lost,
                "{held}, {taken}"
            );
            assert_eq!(run.agents.get(&AgentId::new("new")), Some(&path(taken)));
        }
    }
}
