//! Sub-agents in open branches: where the main agent's calls count, and what a stopped sub-agent keeps.

use interlock_core::{
    Decision, Reply, addressed,
    call::{CallKind, ControlTool, ToolCall},
    command::{AGENT, Command, CommandKind, TransitionRequest},
    decide,
    event::Event,
    evolve,
    machine::Machine,
    names::{AgentId, FramePath},
    run::Run,
};
use serde_json::json;

use crate::support::{call::call, started::started};

/// Returns a machine with a fork into the branches `a` and `b`; those in `nested` fork again, into `c` and `d`.
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
        kind,
        agent: agent.map(AgentId::new),
        ..call(agent.unwrap_or("main"), "Read")
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

/// Returns the path that a command of `agent` with `branch` is addressed to, or the refusal.
fn goes(machine: &Machine, run: &Run, branch: Option<&str>, agent: Option<&str>) -> String {
    let agent = agent.map(AgentId::new);
    match addressed(machine, run, branch, agent.as_ref()) {
        Ok(path) => path.to_string(),
        Err(refusal) => refusal.message,
    }
}

#[test]
fn a_branch_is_found_by_its_name_without_the_names_of_called_machines() {
    let mut machine = json!(machine(&["a"]));
    machine["machines"] = json!({"sub": {
        "id": "sub", "initial": "inner",
        "states": {
            "inner": machine["states"]["inner"],
            "work": machine["states"]["work"],
            "over": machine["states"]["over"],
        },
    }});
    machine["states"]["work"]["activity"] = json!({"call": {"machine": "sub"}});
    machine["states"]["work"]["on"] =
        json!({"done": {"transitions": [{"target": {"state": "over"}}]}});
    let machine: Machine = serde_json::from_value(machine).unwrap();
    let run = started(&machine);
    let leaves: Vec<String> = run.open_leaves().iter().map(ToString::to_string).collect();
    let open = format!("open: {}", leaves.join(", "));
    let unknown = |name: &str| format!("no open branch is named `{name}`; {open}");
    let first = leaves.first().unwrap().as_str();
    let last = leaves.last().unwrap().as_str();
    for (branch, wanted) in [
        ("a", first.to_owned()),
        ("a/c", first.to_owned()),
        ("a/c/c", first.to_owned()),
        ("b/d", last.to_owned()),
        (last, last.to_owned()),
        // Between two branches, there is no default.
        ("c", unknown("c")),
        ("a/e", unknown("a/e")),
        ("b/d/x", unknown("b/d/x")),
        ("", unknown("")),
    ] {
        assert_eq!(goes(&machine, &run, Some(branch), None), wanted, "{branch}");
    }
}

#[test]
fn what_no_branch_takes_is_told_why() {
    let machine = machine(&[]);
    let begun = started(&machine);
    let mut run = begun.clone();
    for agent in ["one", "two"] {
        let bound = proposes(&machine, &run, CallKind::Other, Some(agent));
        run = bound.events.iter().fold(run, evolve);
    }
    let busy = "every open branch has a sub-agent of its own already: wait until one of them ends";
    let elsewhere = "this sub-agent works in branch `a` and may not act in `b`";
    let held =
        "branch `a` is worked in by sub-agent `one`: no other agent may act there until it ends";
    for (branch, agent, wanted) in [
        (None, None, busy),
        (None, Some("three"), busy),
        (None, Some("two"), "b"),
        (Some("a"), Some("one"), "a"),
        (Some("b"), Some("one"), elsewhere),
        (Some("a"), Some("three"), held),
        // A call that only reads may be made in a branch where another agent works.
        (Some("a"), None, "a"),
    ] {
        let found = goes(&machine, &run, branch, agent);
        assert_eq!(found, wanted, "{branch:?} {agent:?}");
    }
    let alone = json!({"id": "m", "initial": "a", "states": {"a": {"activity": {"final": {"outcome": "success"}}}}});
    let alone: Machine = serde_json::from_value(alone).unwrap();
    let over = started(&alone);
    for branch in [None, Some("a")] {
        let found = goes(&alone, &over, branch, None);
        let wanted = match branch {
            None => "the run is over",
            Some(_) => "no open branch is named `a`; no branch is open",
        };
        assert_eq!(found, wanted);
    }
}

#[test]
fn a_fork_lets_sub_agents_start_unless_the_state_disallows_it() {
    for (disallowed, wanted) in [(json!([]), ""), (json!(["Read"]), "tool_disallowed")] {
        let mut machine = json!(machine(&[]));
        machine["states"]["work"]["policy"] =
            json!({"allowed_tools": ["Write"], "disallowed_tools": disallowed});
        let machine: Machine = serde_json::from_value(machine).unwrap();
        let run = started(&machine);
        let found = match proposes(&machine, &run, CallKind::SubAgent, None).reply {
            Reply::Refused(refusal) => refusal.code.as_str(),
            _ => "",
        };
        assert_eq!(found, wanted, "{disallowed}");
        // In addition, an unlisted call is still refused.
        let work = proposes(&machine, &run, CallKind::Other, None).reply;
        assert!(matches!(work, Reply::Refused(_)), "{disallowed}");
    }
}

#[test]
fn of_branches_that_began_together_the_last_open_one_keeps_its_name() {
    let mut machine = json!(machine(&["a"]));
    machine["states"]["work"]["on"] =
        json!({"DONE": {"branched": false, "transitions": [{"target": {"state": "over"}}]}});
    let machine: Machine = serde_json::from_value(machine).unwrap();
    let mut run = started(&machine);
    let done = CommandKind::Transition(TransitionRequest {
        event: "DONE".to_owned(),
        data: Default::default(),
        branch: Some("b".to_owned()),
        agent: None,
        by: AGENT.to_owned(),
        approved_by: None,
    });
    let kind = done;
    let decision = decide(&machine, &run, &Command { at_ms: 1, kind });
    run = decision.events.iter().fold(run, evolve);
    assert_eq!(goes(&machine, &run, Some("a/c"), None), "a/c");
    for name in ["c", "b", "b/c"] {
        let wanted = format!("no open branch is named `{name}`; open: a/c, a/d");
        assert_eq!(goes(&machine, &run, Some(name), None), wanted);
    }
}
