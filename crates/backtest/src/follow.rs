//! The answer to a call at a node, and the node after it.

use std::rc::Rc;

use interlock_core::{
    Reply,
    call::CallResult,
    command::{AGENT, Answer, Command, CommandKind, TransitionRequest},
    decide,
    event::{CallMarks, Event},
    evolve,
    refusal::{Code, Refusal},
    run::Run,
};
use interlock_prove::Abstraction;

use crate::{
    calls::JudgedCall,
    nodes::{Nodes, short},
    options::Options,
    told::{Question, Told},
    verdict::Verdict,
};

/// Creates a command; nothing that is followed depends on the time.
const fn now(kind: CommandKind) -> Command {
    Command { at_ms: 0, kind }
}

/// Maximum number of answers in the cache; beyond it, the cache is cleared.
const REMEMBERED_MAX: usize = 65_536;

/// Asks the engine about a call at a node, unless the answer is known from an equivalent run.
pub(crate) fn told(nodes: &mut Nodes, node: u32, call: &JudgedCall, options: Options) -> Rc<Told> {
    // What limits have counted matters if one call may use up several at once.
    let own = nodes.counts_files && call.made.writes();
    let key = Question {
        call: call.made.number,
        judged: nodes.get(node).map(|node| node.judged),
        node: own.then_some(node),
        ok: call.ok,
        exit: exit(call, options),
        bytes: if nodes.counts_bytes { call.bytes } else { 0 },
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

fn asked(nodes: &mut Nodes, node: u32, call: &JudgedCall, options: Options) -> Told {
    let plain = |verdict| Told {
        verdict,
        refusal: None,
        change: None,
    };
    let (Some(proposal), Some(at)) = (&call.made.proposal, nodes.get(node)) else {
        return plain(Verdict::NotJudged);
    };
    if at.is_over() {
        let why = Refusal::new(Code::RunOver, "the run has ended before this call");
        return Told {
            refusal: Some(why),
            ..plain(Verdict::Deny)
        };
    }
    let decision = decide(nodes.machine(), &at.run, proposal);
    match decision.reply {
        Reply::Refused(refusal) => Told {
            refusal: Some(refusal),
            ..plain(Verdict::Deny)
        },
        Reply::Ask(refusal) => Told {
            refusal: Some(refusal),
            ..plain(Verdict::Ask)
        },
        Reply::Accepted | Reply::Pending { .. } => Told {
            change: change(nodes, &decision.events, call, options),
            ..plain(Verdict::Allow)
        },
    }
}

/// Numbers the effects of an allowed call; returns `None` if they depend on more than the call's marks and its end.
fn change(nodes: &mut Nodes, events: &[Event], call: &JudgedCall, options: Options) -> Option<u32> {
    let [Event::CallAllowed { path, marks, .. }] = events else {
        return None;
    };
    if call.made.asks.is_some() {
        return None;
    }
    let bytes = if nodes.counts_bytes { call.bytes } else { 0 };
    let mut text = if nodes.counts_files || marks.files.is_empty() {
        serde_json::to_vec(marks)
    } else {
        // The files themselves matter only to limits, and to interrupts, which name them again.
        serde_json::to_vec(&CallMarks {
            files: Vec::new(),
            ..marks.clone()
        })
    }
    .ok()?;
    text.extend(format!("{path} {} {:?} {bytes}", call.ok, exit(call, options)).bytes());
    Some(short(nodes.changes.insert_full(text).0))
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
    told: &Told,
    options: Options,
) -> u32 {
    if let Some(change) = told.change {
        if let Some(known) = nodes.steps.get(&(node, change)) {
            return *known;
        }
        let to = performed(nodes, node, call, options).map_or(node, |(to, _)| to);
        nodes.steps.insert((node, change), to);
        return to;
    }
    performed(nodes, node, call, options).map_or(node, |(to, _)| to)
}

/// Runs and ends a call, with a person's approval if one is requested.
pub(crate) fn performed(
    nodes: &mut Nodes,
    node: u32,
    call: &JudgedCall,
    options: Options,
) -> Option<(u32, Vec<Event>)> {
    let proposed = call.made.call.as_ref().ok()?;
    let proposal = call.made.proposal.as_ref()?;
    let mut run = nodes.get(node)?.run.clone();
    let mut all = Vec::new();
    let mut reply = apply(nodes, &mut run, &mut all, proposal);
    if matches!(reply, Reply::Ask(_)) {
        let id = run.requests.last()?.id();
        let yes = Answer {
            by: "a person".to_owned(),
            path: Some(id.to_string()),
            ..Answer::default()
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
        bytes: if nodes.counts_bytes { call.bytes } else { 0 },
        wrote: Vec::new(),
        commands: Vec::new(),
        checked,
    };
    apply(nodes, &mut run, &mut all, &now(CommandKind::Record(result)));
    Some((nodes.number(run), all))
}

/// Applies a command with the engine, and folds its events.
fn apply(nodes: &Nodes, run: &mut Run, all: &mut Vec<Event>, command: &Command) -> Reply {
    let decision = decide(nodes.machine(), run, command);
    let before = std::mem::replace(run, Abstraction::fresh());
    *run = decision.events.iter().fold(before, evolve);
    all.extend(decision.events);
    decision.reply
}
