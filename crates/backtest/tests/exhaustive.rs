//! Compares the placement with an exhaustive search, which tries every path through the workflow with real runs.

use interlock_backtest::{Backtester, Options};
use interlock_core::{
    Reply,
    call::{CallResult, ToolCall},
    command::{AGENT, Answer, Command, CommandKind, TransitionRequest},
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
/// The calls that states may allow and that sessions consist of.
const CALLS: [(&str, &str, &str); 6] = [
    ("Read", "file_path", "/project/x"),
    ("Edit", "file_path", "/project/x"),
    ("Edit", "file_path", "/project/z"),
    ("Edit", "file_path", "/project/special/y"),
    ("Bash", "command", "make test"),
    ("Bash", "command", "git push"),
];

/// A state: its allowed calls, its limit of calls, and the targets and conditions of its events.
#[derive(Debug, Clone)]
struct Made {
    tools: u8,
    commands: u8,
    limit: Option<u64>,
    /// Maximum number of files written in one stay.
    files: Option<u64>,
    /// The target, whether evidence is required, and whether a person is asked.
    events: Vec<(usize, bool, bool)>,
    /// The same two conditions for the event that leads to the next state.
    onward: (bool, bool),
}

fn made() -> impl Strategy<Value = Made> {
    let event = (0..=STATES.len(), any::<bool>(), any::<bool>());
    let limit = prop::option::weighted(0.4, 1_u64..4);
    let files = prop::option::weighted(0.3, 1_u64..3);
    let events = prop::collection::vec(event, 0..2);
    let onward = any::<(bool, bool)>();
    (any::<u8>(), any::<u8>(), (limit, files), events, onward).prop_map(
        |(tools, commands, (limit, files), events, onward)| Made {
            tools,
            commands,
            limit,
            files,
            events,
            onward,
        },
    )
}

fn machine(states: &[Made], interrupt: bool, since: &str) -> Machine {
    let mut written = serde_json::Map::new();
    for (place, (name, one)) in STATES.iter().zip(states).enumerate() {
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
        if let Some(files) = one.files {
            state["max_files_per_state"] = json!(files);
        }
        let mut on = serde_json::Map::new();
        // Every state is reachable.
        let onward = (place + 1, one.onward.0, one.onward.1);
        for (at, (target, guarded, asks)) in [onward].iter().chain(&one.events).enumerate() {
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
        workflow["interrupts"] =
            json!({"special": {"trigger": {"file_pattern": "special/**"}, "target": "d"}});
    }
    let source = Source::new("made.json", workflow.to_string());
    load(&source, None, &NoWorkflows).unwrap().machine
}

/// Makes a session from calls by number, each with whether it succeeded.
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

fn ask(machine: &Machine, run: &Run, command: CommandKind) -> (Run, Reply) {
    let decision = decide(
        machine,
        run,
        &Command {
            at_ms: 0,
            kind: command,
        },
    );
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

/// Returns every run that is reachable without a call.
///
/// Between two calls, runs differ in the state, in the pending requests, and in whether the state was entered again.
fn reached(machine: &Machine, from: &Run) -> Vec<Run> {
    let entered = from.root.stay.entered_seq;
    let key = |run: &Run| {
        let asked = run.root.stay.pending_transition();
        let asked = asked.map(|asked| asked.event.to_string());
        let stays = run.root.stay.entered_seq == entered;
        (run.root.at.to_string(), asked, stays, run.is_over())
    };
    let by_a_person = || Answer {
        by: "p".to_owned(),
        ..Answer::default()
    };
    let mut seen = vec![key(from)];
    let mut all = vec![from.clone()];
    let mut at = 0;
    while let Some(run) = all.get(at).cloned() {
        at += 1;
        let events = (0..3).map(|at| {
            CommandKind::Transition(TransitionRequest {
                event: format!("E{at}"),
                data: Object::new(),
                branch: None,
                agent: None,
                by: AGENT.to_owned(),
                approved_by: None,
            })
        });
        let answers = [
            CommandKind::Approve(by_a_person()),
            CommandKind::Reject(by_a_person()),
        ];
        for asked in events.chain(answers) {
            let (next, reply) = ask(machine, &run, asked);
            if !matches!(reply, Reply::Refused(_)) && !seen.contains(&key(&next)) {
                seen.push(key(&next));
                all.push(next);
            }
        }
    }
    all
}

/// Returns the minimum number of refusals by trying everything, and notes which calls pass somewhere.
fn exhaustive(machine: &Machine, run: &Run, calls: &[Call], passes: &mut [bool]) -> u64 {
    let Some((first, rest)) = calls.split_first() else {
        return 0;
    };
    let (passed, later) = passes.split_first_mut().unwrap();
    let mut fewest = u64::MAX;
    for run in reached(machine, run) {
        let propose = CommandKind::Propose(Box::new(proposed(first)));
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
            let (next, _) = ask(machine, &next, CommandKind::Record(end));
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
        let machine = machine(&states, interrupt, since);
        let session = session(&calls);
        let mut tester = Backtester::new(&machine, Options::default()).unwrap();
        let found = tester.place(&session, &Scenario::default());
        let start = CommandKind::Start { input: Object::new(), by: "x".to_owned(), durable: None };
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
