//! The answer to a call at a node, and the node after it.

use std::{collections::BTreeSet, rc::Rc};

use interlock_core::{
    Reply,
    call::CallResult,
    command::{self, AGENT, Command, CommandKind, TransitionRequest},
    decide,
    event::Event,
    evolve,
    refusal::{Code, Refusal},
    run::Run,
};
use interlock_prove::Abstraction;

use crate::{
    calls::JudgedCall,
    nodes::Nodes,
    options::Options,
    told::{ClassAnswer, Question, Room},
    verdict::Verdict,
};

/// Creates a command; nothing that is followed depends on the time.
const fn now(kind: CommandKind) -> Command {
    Command { at_ms: 0, kind }
}

/// Maximum number of answers in the cache; beyond it, the cache is cleared.
const REMEMBERED_MAX: usize = 65_536;

/// Asks the engine about a call at a node, unless the answer to a call of its class is known from an equivalent run.
///
/// `room` is what the call finds of the counted files there.
pub(crate) fn told(
    nodes: &mut Nodes,
    node: u32,
    room: Room,
    call: &JudgedCall,
    options: Options,
) -> Rc<ClassAnswer> {
    let key = Question {
        class: call.made.class,
        judged: nodes.get(node).map(|node| node.judged),
        room,
        ok: call.ok,
        exit: exit(call, options),
    };
    if let Some(known) = nodes.told.get(&key) {
        return Rc::clone(known);
    }
    let told = Rc::new(asked(nodes, node, call, options));
    if nodes.told.len() >= REMEMBERED_MAX {
        nodes.told.clear();
    }
    nodes.told.insert(key, Rc::clone(&told));
    told
}

/// The engine's answer to a call at a node.
#[derive(Debug)]
enum Answer {
    Allowed(Vec<Event>),
    Asks(Refusal),
    Denied(Refusal),
    NotJudged,
}

fn answer(nodes: &Nodes, node: u32, call: &JudgedCall) -> Answer {
    let (Some(proposal), Some(at)) = (&call.made.proposal, nodes.get(node)) else {
        return Answer::NotJudged;
    };
    if at.is_over() {
        let why = Refusal::new(Code::RunOver, "the run has ended before this call");
        return Answer::Denied(why);
    }
    let decision = decide(nodes.machine(), &at.run, proposal);
    match decision.reply {
        Reply::Refused(refusal) => Answer::Denied(refusal),
        Reply::Ask(refusal) => Answer::Asks(refusal),
        Reply::Accepted | Reply::Pending { .. } => Answer::Allowed(decision.events),
    }
}

pub(crate) fn asked(
    nodes: &mut Nodes,
    node: u32,
    call: &JudgedCall,
    options: Options,
) -> ClassAnswer {
    let (verdict, code, events) = match answer(nodes, node, call) {
        Answer::Allowed(events) => (Verdict::Allow, None, events),
        Answer::Asks(refusal) => (Verdict::Ask, Some(refusal.code), Vec::new()),
        Answer::Denied(refusal) => (Verdict::Deny, Some(refusal.code), Vec::new()),
        Answer::NotJudged => (Verdict::NotJudged, None, Vec::new()),
    };
    ClassAnswer {
        verdict,
        code,
        change: change(nodes, &events, call, options),
    }
}

/// Returns why a call is refused at a node, or a person is asked, in the engine's words about this very call.
pub(crate) fn refusal(nodes: &Nodes, node: u32, call: &JudgedCall) -> Option<Refusal> {
    match answer(nodes, node, call) {
        Answer::Asks(refusal) | Answer::Denied(refusal) => Some(refusal),
        Answer::Allowed(_) | Answer::NotJudged => None,
    }
}

/// Numbers the effects of an allowed call, apart from the bytes of its result.
///
/// `None`: they depend on more than the call's marks and its end.
fn change(nodes: &mut Nodes, events: &[Event], call: &JudgedCall, options: Options) -> Option<u32> {
    let [Event::CallAllowed { path, marks, .. }] = events else {
        return None;
    };
    if call.made.asks.is_some() {
        return None;
    }
    // The files themselves matter only to limits, and to interrupts, which name them again.
    let mut marks = marks.clone();
    let files = std::mem::take(&mut marks.files);
    let files = if nodes.counts_files {
        files
    } else {
        Vec::new()
    };
    let mut text = serde_json::to_vec(&marks).ok()?;
    let classes = files
        .iter()
        .map(|file| nodes.abstraction().file_class(file));
    let classes: BTreeSet<String> = classes.collect();
    let end = (path, call.ok, exit(call, options), classes);
    text.extend(format!("{end:?}").bytes());
    Some(nodes.change(text, files))
}

/// Returns the bytes of a call's result that count.
pub(crate) const fn bytes(nodes: &Nodes, call: &JudgedCall) -> u64 {
    if nodes.counts_bytes { call.bytes } else { 0 }
}

/// Returns the exit code that counts.
fn exit(call: &JudgedCall, options: Options) -> Option<i64> {
    let assumed = (options.assume_exit && call.exit_unknown).then_some(0);
    call.exit.or(assumed)
}

/// Returns the node after an allowed call.
pub(crate) fn after(
    nodes: &mut Nodes,
    node: u32,
    call: &JudgedCall,
    told: &ClassAnswer,
    options: Options,
) -> u32 {
    let bytes = bytes(nodes, call);
    let known = told
        .change
        .and_then(|change| nodes.result(node, change, bytes));
    if let Some(known) = known {
        return known;
    }
    let Some((run, _)) = performed(nodes, node, call, options) else {
        return node;
    };
    match told.change {
        Some(change) => nodes.store(node, (change, bytes), run),
        None => nodes.number(run),
    }
}

/// Runs and ends a call, with a person's approval if one is requested.
pub(crate) fn performed(
    nodes: &Nodes,
    node: u32,
    call: &JudgedCall,
    options: Options,
) -> Option<(Run, Vec<Event>)> {
    let proposed = call.made.call.as_ref().ok()?;
    let proposal = call.made.proposal.as_ref()?;
    let mut run = nodes.get(node)?.run.clone();
    let mut all = Vec::new();
    let mut reply = apply(nodes, &mut run, &mut all, proposal);
    if matches!(reply, Reply::Ask(_)) {
        let id = run.requests.last()?.id();
        let yes = command::Answer {
            by: "a person".to_owned(),
            path: Some(id.to_string()),
            ..command::Answer::default()
        };
        let yes = interlock_simulate::with_what_it_takes(nodes.machine(), &run, yes);
        apply(nodes, &mut run, &mut all, &now(CommandKind::Approve(yes)));
        reply = apply(nodes, &mut run, &mut all, proposal);
    }
    if reply != Reply::Accepted {
        return None;
    }
    if let Some((event, data)) = &call.made.asks {
        let request = TransitionRequest {
            event: event.clone(),
            data: data.clone(),
            branch: proposed.branch.clone(),
            agent: proposed.agent.clone(),
            by: AGENT.to_owned(),
            approved_by: None,
        };
        let request = now(CommandKind::Transition(request));
        apply(nodes, &mut run, &mut all, &request);
    }
    apply(nodes, &mut run, &mut all, &now(CommandKind::Advance));
    let checked = match options.assume_exit {
        true => nodes.abstraction().best_report(&run),
        false => Default::default(),
    };
    let result = CallResult {
        id: Some(proposed.id.clone()),
        ok: call.ok,
        exit: exit(call, options),
        bytes: bytes(nodes, call),
        wrote: Vec::new(),
        commands: Vec::new(),
        checked,
    };
    apply(nodes, &mut run, &mut all, &now(CommandKind::Record(result)));
    Some((run, all))
}

/// Applies a command with the engine, and folds its events.
fn apply(nodes: &Nodes, run: &mut Run, all: &mut Vec<Event>, command: &Command) -> Reply {
    let decision = decide(nodes.machine(), run, command);
    let before = std::mem::replace(run, Abstraction::fresh());
    *run = decision.events.iter().fold(before, evolve);
    all.extend(decision.events);
    decision.reply
}
