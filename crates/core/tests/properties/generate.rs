//! Random machines and commands from a seed.

use indexmap::IndexMap;
use interlock_core::{
    call::{
        CallFacts, CallKind, CallResult, ControlTool, FileWrite, PathArea, ToolCall, WrittenPath,
    },
    command::{
        ActivityOutcome, Answer, Command, CommandKind, Consent, LineEnd, LineStart,
        TransitionRequest,
    },
    event::Cause,
    guard::{EvidenceGuard, EvidenceOf, FieldGuard, Guard, GuardRef, Op, Since, Source},
    machine::{
        Activity, ApprovalRule, Branch, Call, Interrupt, Join, Machine, Object, Outcome, Parallel,
        Rule, State, Target, Task, TaskKind, Transition,
    },
    names::{
        AgentId, CallId, Digest, EventName, FramePath, GuardName, InterruptName, MachineId,
        StateName,
    },
    policy::{OnDenied, Policy},
};
use interlock_expr::text::ValueTemplate;
use interlock_testkit::dice::Dice;
use serde_json::json;

fn pick<'a, T>(dice: &mut Dice, from: &'a [T]) -> &'a T {
    dice.pick(from).expect("the list is not empty")
}

pub(crate) const TOOLS: [&str; 5] = ["Read", "Edit", "Bash", "Task", "mcp__x__y"];
const EVENTS: [&str; 4] = ["A", "B", "C", "D"];
const KEYS: [&str; 3] = ["x", "y", "z"];
const FILES: [&str; 4] = ["src/a.rs", "db/one.sql", "docs/b.md", "db/two.sql"];

fn state_name(index: u64) -> StateName {
    StateName::new(format!("s{index}"))
}

pub(crate) fn machine(dice: &mut Dice) -> Machine {
    let mut root = plain_machine(dice, "root", true);
    for name in ["sub", "sub2"] {
        let mut called = plain_machine(dice, name, false);
        if dice.one_in(2) {
            add_call(dice, &mut called);
            // Calls that begin with calls may be endless.
            if dice.one_in(3) {
                called.initial = StateName::new("call");
            }
        }
        root.machines.insert(MachineId::new(name), called);
    }
    if dice.one_in(2) {
        add_call(dice, &mut root);
    }
    root
}

fn plain_machine(dice: &mut Dice, id: &str, forks: bool) -> Machine {
    let count = 3 + dice.number_below(4);
    let mut states = IndexMap::new();
    for index in 0..count {
        states.insert(state_name(index), state(dice, count, index + 1 == count));
    }
    states.insert(
        StateName::new("failed"),
        State {
            activity: Activity::Final {
                outcome: Outcome::Failure,
            },
            ..State::default()
        },
    );
    let mut machine = Machine {
        stages: None,
        conversation: None,
        agents: IndexMap::new(),
        id: MachineId::new(id),
        hash: String::new(),
        initial: state_name(0),
        context: Object::new(),
        states,
        guards: guards(dice),
        interrupts: IndexMap::new(),
        machines: IndexMap::new(),
        limits: Default::default(),
        meta: Object::new(),
        finish: interlock_core::machine::FinishRule::Optional,
        durable: false,
    };
    if dice.one_in(2) {
        for (name, pattern) in [("sql", "db/**"), ("docs", "docs/*.md")] {
            let target = state_name(dice.number_below(count - 1));
            machine.interrupts.insert(
                InterruptName::new(name),
                Interrupt {
                    file_pattern: pattern.to_owned(),
                    target,
                },
            );
        }
    }
    if forks && dice.one_in(2) {
        add_fork(dice, &mut machine, count);
    }
    machine
}

fn guards(dice: &mut Dice) -> IndexMap<GuardName, Guard> {
    let mut guards = IndexMap::new();
    for name in ["g0", "g1"] {
        let op = *pick(
            dice,
            &[Op::Eq, Op::Neq, Op::Gt, Op::Lte, Op::Exists, Op::NotExists],
        );
        let value =
            (!matches!(op, Op::Exists | Op::NotExists)).then(|| json!(dice.number_below(3)));
        let field = (*pick(dice, &KEYS)).to_owned();
        guards.insert(
            GuardName::new(name),
            Guard::Field(FieldGuard {
                field,
                from: Source::Context,
                op,
                value,
            }),
        );
    }
    guards.insert(
        GuardName::new("not"),
        Guard::Not(Box::new(GuardRef::Named(GuardName::new("g0")))),
    );
    for (name, of) in [("unseen", "seen"), ("unknown", "missing")] {
        let of = GuardRef::Named(GuardName::new(of));
        guards.insert(GuardName::new(name), Guard::Not(Box::new(of)));
    }
    let since = *pick(dice, &[Since::LastEdit, Since::StateEntry, Since::RunStart]);
    guards.insert(GuardName::new("seen"), seen(since));
    guards
}

fn seen(since: Since) -> Guard {
    let of = EvidenceOf::Tool {
        tool: "Read".to_owned(),
        path: None,
    };
    Guard::Evidence(EvidenceGuard::of(of, since))
}

/// Adds events that are never requested: whether they are ready shows the evidence.
fn probes(on: &mut IndexMap<EventName, Rule>) {
    for (name, since) in [
        ("edit?", Since::LastEdit),
        ("entry?", Since::StateEntry),
        ("start?", Since::RunStart),
    ] {
        let rule = Rule {
            branched: false,
            transitions: vec![Transition {
                guards: vec![GuardRef::Inline(Box::new(seen(since)))],
                target: Target::State(state_name(0)),
                approval: None,
            }],
        };
        on.insert(EventName::new(name), rule);
    }
}

fn state(dice: &mut Dice, count: u64, last: bool) -> State {
    if last {
        return State {
            activity: Activity::Final {
                outcome: Outcome::Success,
            },
            ..State::default()
        };
    }
    let mut on = IndexMap::new();
    for event in EVENTS
        .iter()
        .take(1 + usize::try_from(dice.number_below(4)).unwrap_or(0))
    {
        on.insert(EventName::new(*event), rule(dice, count));
    }
    probes(&mut on);
    let activity = if dice.one_in(8) {
        on.insert(EventName::new("done"), rule(dice, count));
        on.insert(EventName::new("error"), rule(dice, count));
        Activity::Task(Task {
            kind: TaskKind::Program("bash".into()),
            input: ValueTemplate::default(),
        })
    } else {
        Activity::Await
    };
    State {
        activity,
        policy: policy(dice),
        on,
        safe_next: dice.one_in(5).then(|| state_name(dice.number_below(count))),
        ..State::default()
    }
}

fn policy(dice: &mut Dice) -> Policy {
    let allowed = dice.one_in(3).then(|| {
        TOOLS
            .iter()
            .filter(|_| dice.one_in(2))
            .map(|tool| (*tool).to_owned())
            .collect::<Vec<String>>()
    });
    Policy {
        allowed_tools: allowed,
        disallowed_tools: if dice.one_in(4) {
            vec![(*pick(dice, &TOOLS)).to_owned()]
        } else {
            Vec::new()
        },
        on_denied: *pick(dice, &[OnDenied::Deny, OnDenied::Deny, OnDenied::Ask]),
        iterations_max: dice.one_in(3).then(|| 1 + dice.number_below(3)),
        edit_lines_max: dice.one_in(3).then(|| 1 + dice.number_below(5)),
        files_max: dice.one_in(3).then(|| 1 + dice.number_below(2)),
        result_bytes_max: dice.one_in(4).then(|| 1 + dice.number_below(100)),
        ..Policy::default()
    }
}

fn rule(dice: &mut Dice, count: u64) -> Rule {
    let branched = dice.one_in(4);
    let many = if branched {
        1 + dice.number_below(3)
    } else {
        1
    };
    Rule {
        branched,
        transitions: (0..many).map(|_| transition(dice, count)).collect(),
    }
}

fn transition(dice: &mut Dice, count: u64) -> Transition {
    let guards = if dice.one_in(3) {
        vec![GuardRef::Named(GuardName::new(*pick(
            dice,
            &[
                "g0", "g1", "not", "seen", "seen", "seen", "unseen", "missing", "unknown",
            ],
        )))]
    } else {
        Vec::new()
    };
    let target = if dice.one_in(6) {
        Target::Return
    } else {
        Target::State(state_name(dice.number_below(count)))
    };
    let approval = dice.one_in(5).then(ApprovalRule::default);
    Transition {
        guards,
        target,
        approval,
    }
}

fn add_fork(dice: &mut Dice, machine: &mut Machine, count: u64) {
    let branches = ["left", "right", "third"]
        .iter()
        .take(2 + usize::try_from(dice.number_below(2)).unwrap_or(0))
        .map(|name| {
            let branch = Branch {
                initial: state_name(dice.number_below(count)),
                terminal: state_name(dice.number_below(count)),
            };
            ((*name).to_owned(), branch)
        })
        .collect();
    let fork = Parallel {
        join: *pick(dice, &[Join::All, Join::Any]),
        ..Parallel::branches(branches)
    };
    let activity = Activity::Parallel(fork);
    insert_composite(dice, machine, count, "fork", activity);
}

fn add_call(dice: &mut Dice, machine: &mut Machine) {
    let count = u64::try_from(machine.states.len()).unwrap_or(1) - 1;
    let call = Call {
        machine: MachineId::new(*pick(dice, &["sub", "sub2"])),
        ..Call::default()
    };
    insert_composite(dice, machine, count.min(3), "call", Activity::Call(call));
}

fn insert_composite(
    dice: &mut Dice,
    machine: &mut Machine,
    count: u64,
    name: &str,
    activity: Activity,
) {
    let to = |target: StateName| Rule {
        branched: false,
        transitions: vec![Transition {
            guards: Vec::new(),
            target: Target::State(target),
            approval: None,
        }],
    };
    let mut on = IndexMap::new();
    on.insert(
        EventName::new("done"),
        to(state_name(dice.number_below(count))),
    );
    if dice.one_in(2) {
        on.insert(EventName::new("error"), to(StateName::new("failed")));
    }
    machine.states.insert(
        StateName::new(name),
        State {
            activity,
            on,
            ..State::default()
        },
    );
    if let Some(first) = machine.states.get_mut("s0") {
        first
            .on
            .insert(EventName::new("GO"), to(StateName::new(name)));
    }
}

pub(crate) fn command(dice: &mut Dice, machine: &Machine, step: u64) -> Command {
    let ask = if step == 0 {
        CommandKind::Start {
            input: Object::new(),
            by: "test".to_owned(),
            durable: None,
        }
    } else {
        match dice.number_below(24) {
            20..22 => CommandKind::StartLine(LineStart {
                call: earlier(dice, step),
                level: "files".to_owned(),
                unconfined: Vec::new(),
            }),
            22..24 => CommandKind::EndLine(LineEnd {
                call: earlier(dice, step),
                path: FramePath::root(),
                exit: *pick(dice, &[Some(0), Some(1), None]),
                wrote: wrote(dice),
                commands: Vec::new(),
                unseen: dice.one_in(4),
                checked: interlock_core::substance::Checked::default(),
            }),
            0..5 => CommandKind::Transition(request(dice, machine)),
            5..12 => CommandKind::Propose(Box::new(call(dice, step))),
            12..15 => CommandKind::Record(result(dice, step)),
            15 => CommandKind::Approve(answer(dice)),
            16 => CommandKind::Reject(answer(dice)),
            17 => CommandKind::EndActivity {
                path: None,
                outcome: outcome(dice),
            },
            18 => match dice.number_below(6) {
                1 => CommandKind::ReleaseAgent {
                    agent: AgentId::new(*pick(dice, &["a1", "a2", "a3"])),
                },
                0 => CommandKind::Pause {
                    by: "ana".to_owned(),
                    reason: None,
                },
                _ => CommandKind::Resume {
                    by: "ana".to_owned(),
                    seen: None,
                },
            },
            _ => CommandKind::Advance,
        }
    };
    Command {
        at_ms: step * 1000,
        kind: ask,
    }
}

fn outcome(dice: &mut Dice) -> ActivityOutcome {
    if dice.one_in(2) {
        ActivityOutcome::done(json!({"x": 1}))
    } else {
        ActivityOutcome::Failed(Cause::new(1, "it failed"))
    }
}

fn answer(dice: &mut Dice) -> Answer {
    Answer {
        by: "ana".to_owned(),
        data: data(dice),
        ..Answer::default()
    }
}

fn data(dice: &mut Dice) -> Object {
    let mut data = Object::new();
    for key in KEYS {
        if dice.one_in(2) {
            data.insert(key.to_owned(), json!(dice.number_below(4)));
        }
    }
    if dice.one_in(20) {
        data.insert("_secret".to_owned(), json!(1));
    }
    data
}

fn request(dice: &mut Dice, machine: &Machine) -> TransitionRequest {
    let known = machine
        .states
        .values()
        .flat_map(|state| state.on.keys())
        .count();
    let event = if known == 0 || dice.one_in(12) {
        "NOPE"
    } else {
        pick(dice, &["A", "B", "C", "D", "GO", "GO", "done", "error"])
    };
    TransitionRequest {
        event: event.to_owned(),
        data: data(dice),
        branch: dice
            .one_in(6)
            .then(|| (*pick(dice, &["left", "right", "nowhere", "left/right"])).to_owned()),
        agent: agent(dice),
        by: "agent".to_owned(),
        approved_by: dice.one_in(10).then(|| Consent {
            by: "ana".to_owned(),
            question: Digest::new("q"),
        }),
    }
}

fn agent(dice: &mut Dice) -> Option<AgentId> {
    dice.one_in(5)
        .then(|| AgentId::new(*pick(dice, &["a1", "a2", "a3"])))
}

fn call(dice: &mut Dice, step: u64) -> ToolCall {
    // Guards require evidence of these two.
    let tool = if dice.one_in(2) {
        *pick(dice, &["Read", "Edit"])
    } else {
        *pick(dice, &TOOLS)
    };
    let kind = match tool {
        "Edit" => CallKind::Edit,
        "Task" => CallKind::SubAgent,
        _ if dice.one_in(12) => CallKind::Control(ControlTool::GetState),
        _ => CallKind::Other,
    };
    let mut facts = CallFacts::default();
    if kind == CallKind::Edit {
        let file = *pick(dice, &FILES);
        facts.edit_lines = Some(dice.number_below(8));
        facts.writes.push(FileWrite {
            path: Some(format!("/p/{file}")),
            relative: Some(file.to_owned()),
            place: PathArea::Project,
            by: "Edit".to_owned(),
            removes: false,
            recursive: false,
            lines: facts.edit_lines,
            before: None,
        });
    }
    if dice.one_in(25) {
        facts.protected = Some("the state directory".to_owned());
    }
    ToolCall {
        id: CallId::new(format!("c{step}")),
        tool: tool.to_owned(),
        common: None,
        served_as: Vec::new(),
        foreign: false,
        kind,
        digest: Digest::new(format!("d{}", dice.number_below(3))),
        summary: String::new(),
        agent: agent(dice),
        branch: None,
        prompts_in: None,
        facts,
    }
}

/// Returns the id of a call that may have been proposed before.
fn earlier(dice: &mut Dice, step: u64) -> CallId {
    CallId::new(format!("c{}", dice.number_below(step + 1)))
}

fn wrote(dice: &mut Dice) -> Vec<WrittenPath> {
    if !dice.one_in(6) {
        return Vec::new();
    }
    let file = *pick(dice, &FILES);
    vec![WrittenPath {
        path: format!("/p/{file}"),
        relative: Some(file.to_owned()),
    }]
}

fn result(dice: &mut Dice, step: u64) -> CallResult {
    CallResult {
        id: dice.one_in(2).then(|| earlier(dice, step)),
        ok: !dice.one_in(4),
        exit: None,
        bytes: dice.number_below(80),
        wrote: wrote(dice),
        commands: Vec::new(),
        checked: interlock_core::substance::Checked::default(),
    }
}
