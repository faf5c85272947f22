//! The commands that a run accepts before it begins, while it is open or paused, and after its end.

use interlock_core::{
    Reply,
    attempt::Usage,
    call::CallResult,
    command::{
        ActivityOutcome, Answer, Command, CommandKind, EffectSettlement, LineEnd, LineStart,
        NodeCommand, StageCommand, TransitionRequest,
    },
    decide,
    event::{Cause, PromptCall, PromptEnd, TokenPlace, ToolChange},
    evolve,
    machine::Machine,
    names::{AgentId, CallId, Digest, FramePath, RunId},
    run::{DurableRun, Phase, Run},
    substance::Checked,
};
use serde_json::{Value, json};

use crate::support::call::call;

/// Returns a guarded workflow, or a durable one whose first step is running.
fn machine(durable: bool) -> Machine {
    let to = |state: &str| json!({"transitions": [{"target": {"state": state}}]});
    let work = match durable {
        true => json!({
            "activity": {"task": {"kind": {"program": "bash"}, "input": {"object": {"command": {"text": [{"plain": "ls"}]}}}}},
            "on": {"done": to("end")},
        }),
        false => json!({"on": {"GO": to("end"), "FAIL": to("lost")}}),
    };
    let machine = json!({
        "id": "m", "initial": "work", "durable": durable,
        "limits": interlock_core::machine::Limits::default(),
        "states": {
            "work": work,
            "end": {"activity": {"final": {"outcome": "success"}}},
            "lost": {"activity": {"final": {"outcome": "failure"}}},
        },
    });
    serde_json::from_value::<Machine>(machine).unwrap().seal()
}

fn ask(machine: &Machine, run: &Run, kind: CommandKind) -> (Run, Reply, usize) {
    let decision = decide(machine, run, &Command { at_ms: 1, kind });
    let count = decision.events.len();
    let run = decision.events.iter().fold(run.clone(), evolve);
    (run, decision.reply, count)
}

fn by() -> String {
    "ana".to_owned()
}

fn start(durable: bool) -> CommandKind {
    CommandKind::Start {
        input: Default::default(),
        by: by(),
        durable: durable.then(DurableRun::default),
    }
}

fn transition(event: &str) -> CommandKind {
    CommandKind::Transition(TransitionRequest {
        event: event.to_owned(),
        data: Default::default(),
        branch: None,
        agent: None,
        by: "agent".to_owned(),
        approved_by: None,
    })
}

fn ends(outcome: ActivityOutcome) -> CommandKind {
    CommandKind::EndActivity {
        path: None,
        outcome,
    }
}

/// Returns a run before it begins, open, paused, failed, completed and cancelled.
fn runs(machine: &Machine) -> [Run; 6] {
    let new = Run::new(RunId::new("r"));
    let next = |run: &Run, kind| {
        let (run, reply, _) = ask(machine, run, kind);
        assert_eq!(reply, Reply::Accepted);
        run
    };
    let open = next(&new, start(machine.durable));
    let pause = CommandKind::Pause {
        by: by(),
        reason: None,
    };
    let (failed, completed) = match machine.durable {
        true => (
            next(&open, ends(ActivityOutcome::Failed(Cause::new(3, "no")))),
            next(&open, ends(ActivityOutcome::done(""))),
        ),
        false => (
            next(&open, transition("FAIL")),
            next(&open, transition("GO")),
        ),
    };
    assert!(matches!(failed.phase, Phase::Ended { .. }));
    assert!(matches!(completed.phase, Phase::Ended { .. }));
    let cancelled = next(&open, CommandKind::Cancel { by: by() });
    let paused = next(&open, pause);
    [new, open, paused, failed, completed, cancelled]
}

/// Returns every command that needs no other before it, by name.
fn commands(durable: bool) -> Vec<(&'static str, CommandKind)> {
    let path = FramePath::root();
    let object = |value: Value| value.as_object().unwrap().clone();
    let mut adopted = machine(durable);
    adopted.context = object(json!({"x": "1"}));
    vec![
        ("start", start(durable)),
        ("propose", CommandKind::Propose(Box::new(call("c", "Read")))),
        (
            "record",
            CommandKind::Record(CallResult {
                id: None,
                ok: true,
                exit: None,
                bytes: 0,
                wrote: Vec::new(),
                commands: Vec::new(),
                checked: Checked::default(),
            }),
        ),
        (
            "start line",
            CommandKind::StartLine(LineStart {
                call: CallId::new("c"),
                level: "full".to_owned(),
                unconfined: Vec::new(),
            }),
        ),
        (
            "end line",
            CommandKind::EndLine(LineEnd {
                call: CallId::new("c"),
                path: path.clone(),
                exit: None,
                wrote: Vec::new(),
                commands: Vec::new(),
                unseen: false,
                checked: Checked::default(),
            }),
        ),
        ("transition", transition("NOPE")),
        (
            "ask in prompt",
            CommandKind::AskInPrompt {
                request: match transition("NOPE") {
                    CommandKind::Transition(request) => request,
                    _ => return Vec::new(),
                },
                prompt: PromptCall {
                    session: "s".to_owned(),
                    agent: None,
                    call: CallId::new("c"),
                },
            },
        ),
        (
            "close prompts",
            CommandKind::ClosePrompts {
                session: "s".to_owned(),
                agent: None,
                call: None,
                why: PromptEnd::TurnOver,
            },
        ),
        (
            "release agent",
            CommandKind::ReleaseAgent {
                agent: AgentId::new("a"),
            },
        ),
        ("finish", CommandKind::Finish),
        ("approve", CommandKind::Approve(Answer::default())),
        ("reject", CommandKind::Reject(Answer::default())),
        ("end activity", ends(ActivityOutcome::done(""))),
        (
            "stage",
            CommandKind::Stage {
                path: path.clone(),
                attempt: 1,
                command: StageCommand::Begin { tools: Vec::new() },
            },
        ),
        (
            "node",
            CommandKind::Node {
                path: path.clone(),
                attempt: 1,
                command: NodeCommand::Answered {
                    number: 1,
                    digest: Digest::new("d"),
                    finish: interlock_core::attempt::FinishReason::Stop,
                    usage: Usage::default(),
                    ms: 1,
                },
            },
        ),
        (
            "node of another try",
            CommandKind::Node {
                path: path.clone(),
                attempt: 2,
                command: NodeCommand::Note {
                    code: "c".to_owned(),
                    message: "m".to_owned(),
                },
            },
        ),
        (
            "pause",
            CommandKind::Pause {
                by: by(),
                reason: None,
            },
        ),
        (
            "resume",
            CommandKind::Resume {
                by: by(),
                seen: None,
            },
        ),
        (
            "report files",
            CommandKind::ReportFiles {
                files: vec!["a".to_owned()],
                before: None,
            },
        ),
        (
            "report frozen",
            CommandKind::ReportFrozen {
                changes: Vec::new(),
            },
        ),
        (
            "report protected",
            CommandKind::ReportProtected {
                changes: Vec::new(),
            },
        ),
        (
            "report token",
            CommandKind::ReportToken {
                place: TokenPlace::Call,
            },
        ),
        (
            "report tool",
            CommandKind::ReportTool(ToolChange {
                server: "s".to_owned(),
                tool: "t".to_owned(),
                pinned: Digest::new("1"),
                found: Digest::new("2"),
                parts: Vec::new(),
            }),
        ),
        (
            "report console",
            CommandKind::ReportConsole {
                pid: 1,
                program: "sh".to_owned(),
                request: "POST /".to_owned(),
            },
        ),
        (
            "accept tool",
            CommandKind::AcceptTool {
                server: "s".to_owned(),
                tool: "t".to_owned(),
                by: by(),
            },
        ),
        (
            "decide trust",
            CommandKind::DecideTrust {
                project: "/p".to_owned(),
                word: "no".to_owned(),
                digest: Digest::new("d"),
                by: by(),
            },
        ),
        ("cancel", CommandKind::Cancel { by: by() }),
        ("advance", CommandKind::Advance),
        (
            "supply",
            CommandKind::Supply {
                path: path.clone(),
                files: Default::default(),
            },
        ),
        ("lose effects", CommandKind::LoseEffects),
        (
            "settle effect",
            CommandKind::SettleEffect {
                path: None,
                how: EffectSettlement::Again,
                by: by(),
            },
        ),
        ("reopen", CommandKind::Reopen { by: by() }),
        (
            "adopt",
            CommandKind::Adopt {
                machine: Box::new(adopted.seal()),
                by: by(),
            },
        ),
        (
            "set variables",
            CommandKind::SetVariables {
                values: object(json!({"x": "1"})),
                by: by(),
            },
        ),
    ]
}

/// Returns whether a command is accepted (`yes`) with the number of its events, or the code of its refusal.
fn word(machine: &Machine, run: &Run, command: &CommandKind) -> String {
    let (_, reply, events) = ask(machine, run, command.clone());
    let events = match events {
        0 => String::new(),
        events => format!("+{events}"),
    };
    match reply {
        Reply::Accepted => format!("yes{events}"),
        Reply::Refused(refusal) => format!("{}{events}", refusal.code.as_str()),
        other => format!("{other:?}"),
    }
}

/// Returns a line for each command: its result in a run that is new, open, paused, failed, completed and cancelled.
fn table(durable: bool) -> Vec<String> {
    let machine = machine(durable);
    let runs = runs(&machine);
    commands(durable)
        .iter()
        .map(|(name, command)| {
            let words: Vec<String> = runs
                .iter()
                .map(|run| word(&machine, run, command))
                .collect();
            format!("{name}: {}", words.join(" "))
        })
        .collect()
}

#[test]
fn a_guarded_run_takes_what_its_phase_allows() {
    assert_eq!(
        table(false),
        [
            "start: yes+1 run_open run_open run_open run_open run_open",
            "propose: run_over yes+1 paused+1 yes yes yes",
            "record: run_over yes yes yes yes yes",
            "start line: run_over yes+1 yes+1 yes yes yes",
            "end line: run_over yes+1 yes+1 yes yes yes",
            "transition: run_over+1 unknown_event+1 paused+1 run_over run_over run_over",
            "ask in prompt: run_over yes yes run_over run_over run_over",
            "close prompts: yes yes yes yes yes yes",
            "release agent: yes yes yes yes yes yes",
            "finish: yes yes yes yes yes yes",
            "approve: run_over nothing_pending nothing_pending run_over run_over run_over",
            "reject: run_over nothing_pending nothing_pending run_over run_over run_over",
            "end activity: run_over nothing_pending paused run_over run_over run_over",
            "stage: run_over nothing_pending paused run_over run_over run_over",
            "node: run_over nothing_pending paused run_over run_over run_over",
            "node of another try: run_over nothing_pending paused run_over run_over run_over",
            "pause: run_over yes+1 yes run_over run_over run_over",
            "resume: run_over yes yes+1 run_over run_over run_over",
            "report files: run_over yes yes run_over run_over run_over",
            "report frozen: run_over yes yes run_over run_over run_over",
            "report protected: run_over yes yes run_over run_over run_over",
            "report token: run_over yes+1 yes+1 run_over run_over run_over",
            "report tool: run_over yes+1 yes+1 run_over run_over run_over",
            "report console: run_over yes+1 yes+1 run_over run_over run_over",
            "accept tool: run_over nothing_pending nothing_pending run_over run_over run_over",
            "decide trust: yes+1 yes+1 yes+1 yes+1 yes+1 yes+1",
            "cancel: run_over yes+1 yes+1 run_over run_over run_over",
            "advance: run_over yes yes run_over run_over run_over",
            "supply: run_over invalid_arguments invalid_arguments run_over run_over run_over",
            "lose effects: run_over yes yes run_over run_over run_over",
            "settle effect: run_over nothing_pending nothing_pending run_over run_over run_over",
            "reopen: run_open run_open run_open run_over run_over run_over",
            "adopt: run_over invalid_arguments invalid_arguments run_over run_over run_over",
            "set variables: run_over yes+1 yes+1 run_over run_over run_over",
        ]
    );
}

#[test]
fn a_run_of_steps_takes_what_its_phase_allows() {
    assert_eq!(
        table(true),
        [
            "start: yes+2 run_open run_open run_open run_open run_open",
            "propose: run_over yes+1 paused+1 yes yes yes",
            "record: run_over yes yes yes yes yes",
            "start line: run_over yes+1 yes+1 yes yes yes",
            "end line: run_over yes+1 yes+1 yes yes yes",
            "transition: run_over+1 unknown_event+1 paused+1 run_over run_over run_over",
            "ask in prompt: run_over yes yes run_over run_over run_over",
            "close prompts: yes yes yes yes yes yes",
            "release agent: yes yes yes yes yes yes",
            "finish: yes yes yes yes yes yes",
            "approve: run_over nothing_pending nothing_pending run_over run_over run_over",
            "reject: run_over nothing_pending nothing_pending run_over run_over run_over",
            "end activity: run_over yes+3 paused run_over run_over run_over",
            "stage: run_over nothing_pending paused run_over run_over run_over",
            "node: run_over yes+1 paused run_over run_over run_over",
            "node of another try: run_over nothing_pending paused run_over run_over run_over",
            "pause: run_over yes+1 yes run_over run_over run_over",
            "resume: run_over yes yes+1 run_over run_over run_over",
            "report files: run_over yes yes run_over run_over run_over",
            "report frozen: run_over yes yes run_over run_over run_over",
            "report protected: run_over yes yes run_over run_over run_over",
            "report token: run_over yes+1 yes+1 run_over run_over run_over",
            "report tool: run_over yes+1 yes+1 run_over run_over run_over",
            "report console: run_over yes+1 yes+1 run_over run_over run_over",
            "accept tool: run_over nothing_pending nothing_pending run_over run_over run_over",
            "decide trust: yes+1 yes+1 yes+1 yes+1 yes+1 yes+1",
            "cancel: run_over yes+1 yes+1 run_over run_over run_over",
            "advance: run_over yes yes run_over run_over run_over",
            "supply: run_over invalid_arguments invalid_arguments run_over run_over run_over",
            "lose effects: run_over yes+2 yes+2 run_over run_over run_over",
            "settle effect: run_over nothing_pending nothing_pending run_over run_over run_over",
            "reopen: run_open run_open run_open yes+2 run_over yes+2",
            "adopt: run_over yes+2 yes+2 yes+1 run_over yes+1",
            "set variables: run_over yes+1 yes+1 yes+1 run_over yes+1",
        ]
    );
}
