//! The placement against a search that knows no shortcut: every way through the workflow is tried with real runs.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use interlock_backtest::{Backtester, Options};
use interlock_core::{
    Reply,
    call::{CallResult, ToolCall},
    command::{AGENT, Answer, Ask, Command, TransitionRequest},
    decide, evolve,
    machine::{Machine, Object},
    names::RunId,
    run::Run,
};
use interlock_formats::{NoWorkflows, Source, load};
use interlock_sessions::{Call, Ended, Format, Losses, Session};
use interlock_simulate::{Scenario, call, input::ToolLine};
use proptest::prelude::*;
use serde_json::{Value, json};

const STATES: [&str; 4] = ["a", "b", "c", "d"];
/// What a state may allow, and what sessions are made of.
const CALLS: [(&str, &str, &str); 5] = [
    ("Read", "file_path", "/project/x"),
    ("Edit", "file_path", "/project/x"),
    ("Edit", "file_path", "/project/special/y"),
    ("Bash", "command", "make test"),
    ("Bash", "command", "git push"),
];

/// A state: what it allows, its limit of calls, and where its events lead, with which demands.
#[derive(Debug, Clone)]
struct Made {
    tools: u8,
    commands: u8,
    limit: Option<u64>,
    /// The target, whether evidence is asked for, and whether a person is.
    events: Vec<(usize, bool, bool)>,
}

fn made() -> impl Strategy<Value = Made> {
    let event = (0..=STATES.len(), any::<bool>(), any::<bool>());
    let limit = prop::option::weighted(0.4, 1_u64..4);
    (
        any::<u8>(),
        any::<u8>(),
        limit,
        prop::collection::vec(event, 0..3),
    )
        .prop_map(|(tools, commands, limit, events)| Made {
            tools,
            commands,
            limit,
            events,
        })
}

fn machine(states: &[Made], interrupt: bool, since: &str) -> Option<Machine> {
    let mut written = serde_json::Map::new();
    for (name, one) in STATES.iter().zip(states) {
        let pick = |mask: u8, all: [&'static str; 3]| -> Vec<&'static str> {
            let picked = all.into_iter().enumerate();
            picked
                .filter(|(at, _)| mask >> at & 1 == 1)
                .map(|(_, name)| name)
                .collect()
        };
        let mut state = json!({
            "allowed_tools": pick(one.tools, ["Read", "Edit", "Bash"]),
            "allowed_commands": pick(one.commands, ["make test", "git push", "ls"]),
        });
        if let Some(limit) = one.limit {
            state["max_iterations"] = json!(limit);
        }
        let mut on = serde_json::Map::new();
        for (at, (target, guarded, asks)) in one.events.iter().enumerate() {
            let target = STATES.get(*target).copied().unwrap_or("done");
            let mut to = json!({"target": target});
            if *guarded {
                to["guard"] = json!("tested");
            }
            if *asks {
                to["requires_approval"] = json!(true);
            }
            on.insert(format!("E{at}"), to);
        }
        state["on"] = Value::Object(on);
        written.insert((*name).to_owned(), state);
    }
    written.insert("done".to_owned(), json!({"type": "final"}));
    let mut workflow = json!({
        "id": "made", "initial": "a", "states": written,
        "guards": {"tested": {"evidence": {"command": "make test", "since": since}}},
    });
    if interrupt {
        workflow["interrupts"] = json!({"special": {"file_pattern": "special/**", "target": "d"}});
    }
    let source = Source::new("made.json", workflow.to_string());
    Some(load(&source, None, &NoWorkflows).ok()?.machine)
}

/// Calls by their numbers, with how each ended.
fn session(calls: &[(usize, bool)]) -> Session {
    let made = calls.iter().enumerate().map(|(index, (kind, ok))| {
        let (tool, field, about) = CALLS.get(*kind).copied().unwrap();
        let shell = tool == "Bash";
        let mut input = json!({field: about});
        if tool == "Edit" {
            input["old_string"] = json!("a");
            input["new_string"] = json!("b");
        }
        Call {
            id: format!("c{index}"),
            tool: tool.to_owned(),
            input,
            agent: None,
            at_ms: None,
            directory: None,
            ended: if *ok { Ended::Well } else { Ended::Failed },
            exit: shell.then_some(i64::from(!ok)),
            bytes: 0,
            files: Vec::new(),
            record: None,
        }
    });
    Session {
        id: "s".to_owned(),
        source: String::new(),
        format: Format::ClaudeCode,
        client: Some("claude-code".to_owned()),
        version: None,
        directory: None,
        calls: made.collect(),
        losses: Losses::default(),
    }
}

fn ask(machine: &Machine, run: &Run, ask: Ask) -> (Run, Reply) {
    let decision = decide(machine, run, &Command { at_ms: 0, ask });
    (
        decision.events.iter().fold(run.clone(), evolve),
        decision.reply,
    )
}

fn proposed(one: &Call) -> ToolCall {
    let line = ToolLine {
        tool: one.tool.clone(),
        input: one.input.clone(),
        ..ToolLine::default()
    };
    call(&Scenario::default(), &line, one.id.clone())
}

/// Every run that one gets to without a call, in up to `depth` moves.
fn reached(machine: &Machine, run: &Run, depth: usize) -> Vec<Run> {
    let mut all = vec![run.clone()];
    if depth == 0 || run.is_over() {
        return all;
    }
    for at in 0..3 {
        let request = TransitionRequest {
            event: format!("E{at}"),
            data: Object::new(),
            branch: None,
            agent: None,
            by: AGENT.to_owned(),
            approved_by: None,
        };
        let (next, reply) = ask(machine, run, Ask::Transition(request));
        match reply {
            Reply::Accepted => all.extend(reached(machine, &next, depth - 1)),
            Reply::Parked { .. } => {
                let yes = Answer {
                    by: "p".to_owned(),
                    ..Answer::default()
                };
                let (next, reply) = ask(machine, &next, Ask::Approve(yes));
                if reply == Reply::Accepted {
                    all.extend(reached(machine, &next, depth - 1));
                }
            }
            _ => {}
        }
    }
    all
}

/// The fewest refusals by trying everything; and whether each call passes somewhere.
fn exhaustive(machine: &Machine, run: &Run, calls: &[Call], passes: &mut [bool]) -> u64 {
    let Some((first, rest)) = calls.split_first() else {
        return 0;
    };
    let (passed, later) = passes.split_first_mut().unwrap();
    let mut fewest = u64::MAX;
    for run in reached(machine, run, STATES.len()) {
        let propose = Ask::Propose(Box::new(proposed(first)));
        let (next, reply) = ask(machine, &run, propose);
        if reply == Reply::Accepted && !run.is_over() {
            *passed = true;
            let end = CallResult {
                id: Some(proposed(first).id),
                ok: first.ended == Ended::Well,
                exit: first.exit,
                bytes: 0,
                wrote: Vec::new(),
                commands: Vec::new(),
                checked: Default::default(),
            };
            let (next, _) = ask(machine, &next, Ask::Record(end));
            fewest = fewest.min(exhaustive(machine, &next, rest, later));
        } else {
            fewest = fewest.min(1 + exhaustive(machine, &run, rest, later));
        }
    }
    fewest
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_placement_refuses_fewer(
        states in prop::collection::vec(made(), 4),
        interrupt in any::<bool>(),
        since in prop::sample::select(vec!["last_edit", "state_entry", "run_start"]),
        calls in prop::collection::vec((0..CALLS.len(), prop::bool::weighted(0.8)), 1..4),
    ) {
        let Some(machine) = machine(&states, interrupt, since) else { return Ok(()) };
        let session = session(&calls);
        let Ok(mut tester) = Backtester::new(&machine, Options::default()) else { return Ok(()) };
        let found = tester.place(&session, &Scenario::default());
        let start = Ask::Start { input: Object::new(), by: "x".to_owned(), durable: None };
        let (run, _) = ask(&machine, &Run::new(RunId::new("x")), start);
        let mut passes = vec![false; calls.len()];
        let fewest = exhaustive(&machine, &run, &session.calls, &mut passes);
        prop_assert_eq!(found.fewest, fewest);
        let nowhere = passes.iter().enumerate().filter(|(_, passes)| !**passes);
        let nowhere: Vec<usize> = nowhere.map(|(at, _)| at).collect();
        let everywhere: Vec<usize> = found.everywhere.iter().map(|one| one.index).collect();
        prop_assert_eq!(everywhere, nowhere);
    }
}
