//! Everything that may be done where a run stands, each done by the engine itself.

use std::collections::BTreeSet;

use interlock_core::{
    Reply,
    call::{CallResult, WrittenPath},
    command::{AGENT, Answer, Ask, Command, TransitionRequest},
    decide,
    event::Event,
    evolve,
    machine::{Activity, Object},
    names::{CallId, FramePath, RunId},
    run::{Frame, Phase, Run},
};
use interlock_simulate::with_what_it_takes;

use crate::{
    calls::{End, Usable},
    facts::{Facts, Step, bits},
    key::answer_path,
    model::Model,
    substance,
};

/// The event that stands for every one that a state with `safe_next` does not name.
pub(crate) const OTHER_EVENT: &str = "ANYTHING_ELSE";

/// One thing that is done, by number where the model lists it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    /// The run is started with data.
    Start(usize),
    /// A call runs and ends.
    Call {
        class: usize,
        end: End,
        branch: Option<String>,
        /// Whether a person is asked about it first, and says yes.
        asked: bool,
        /// How often it is repeated, the same each time.
        times: u64,
        /// Whether each time is about another file.
        files: bool,
    },
    /// The agent asks for a transition with data.
    Event {
        event: String,
        data: usize,
        branch: Option<String>,
    },
    /// A person says yes, and corrects the data.
    Approve { data: usize, path: Option<String> },
    /// A person says no.
    Reject { path: Option<String> },
}

impl Act {
    pub(crate) const fn is_by_person(&self) -> bool {
        matches!(
            self,
            Self::Approve { .. } | Self::Reject { .. } | Self::Call { asked: true, .. }
        )
    }
}

/// A thing done, and where it leads.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) act: Act,
    pub(crate) facts: Facts,
    pub(crate) bits: Vec<bool>,
    pub(crate) run: Run,
}

/// Starts runs, one with each data.
pub(crate) fn starts(model: &Model) -> Vec<Done> {
    let fresh = Run::new(RunId::new("sim"));
    let mut all = Vec::new();
    for (index, data) in model.cells.data.iter().enumerate() {
        let ask = Ask::Start {
            input: data.clone(),
            by: "simulate".to_owned(),
            durable: None,
        };
        let (run, events, reply) = apply(model, &fresh, ask);
        if reply == Reply::Accepted {
            all.push(done(
                model,
                Act::Start(index),
                None,
                &FramePath::root(),
                &events,
                run,
                None,
            ));
        }
    }
    all
}

/// Gives the engine a command, and folds what it says.
fn apply(model: &Model, run: &Run, ask: Ask) -> (Run, Vec<Event>, Reply) {
    let command = Command { at_ms: 0, ask };
    let decision = decide(&model.machine, run, &command);
    let after = decision.events.iter().fold(run.clone(), evolve);
    (after, decision.events, decision.reply)
}

fn done(
    model: &Model,
    act: Act,
    before: Option<&Run>,
    path: &FramePath,
    events: &[Event],
    run: Run,
    class: Option<usize>,
) -> Done {
    let mut facts = Facts::of(model, before, events, &run);
    facts.by_person |= act.is_by_person();
    let call = class.and_then(|class| model.classes.get(class));
    let bits = bits(
        model,
        Step {
            before,
            path,
            facts: &facts,
            call: call.map(|class| &class.call),
            after: &run,
        },
    );
    Done {
        act,
        facts,
        bits,
        run,
    }
}

/// Does everything that may be done next.
pub(crate) fn next(model: &Model, run: &Run) -> Vec<Done> {
    let mut all = Vec::new();
    if run.phase != Phase::Open {
        return all;
    }
    for path in run.open_leaves() {
        let Some(frame) = run.frame(&path) else {
            continue;
        };
        if frame.stay.request.is_some() {
            answers(model, run, &path, &mut all);
            continue;
        }
        transitions(model, run, &path, frame, &mut all);
        calls(model, run, &path, frame, &mut all);
    }
    all
}

fn branch(path: &FramePath) -> Option<String> {
    (!path.is_root()).then(|| path.to_string())
}

fn answers(model: &Model, run: &Run, path: &FramePath, all: &mut Vec<Done>) {
    let named = answer_path(run, path);
    let no = Ask::Reject(Answer {
        by: "a person".to_owned(),
        path: named.clone(),
        ..Answer::default()
    });
    let (after, events, reply) = apply(model, run, no);
    if reply == Reply::Accepted {
        let act = Act::Reject {
            path: named.clone(),
        };
        all.push(done(model, act, Some(run), path, &events, after, None));
    }
    for (index, data) in model.cells.data.iter().enumerate() {
        let yes = Answer {
            by: "a person".to_owned(),
            data: data.clone(),
            path: named.clone(),
            ..Answer::default()
        };
        let yes = Ask::Approve(with_what_it_takes(&model.machine, run, yes));
        let (after, events, reply) = apply(model, run, yes);
        if !events.is_empty() {
            let act = Act::Approve {
                data: index,
                path: named.clone(),
            };
            all.push(done(model, act, Some(run), path, &events, after, None));
        }
        if reply != Reply::Accepted && index == 0 {
            // A question that is void is so whatever is corrected.
            break;
        }
    }
}

fn transitions(model: &Model, run: &Run, path: &FramePath, frame: &Frame, all: &mut Vec<Done>) {
    let Some(state) = model.state(frame.machine.as_ref(), &frame.at) else {
        return;
    };
    if !matches!(state.activity, Activity::Await) {
        return;
    }
    let mut events: Vec<String> = state.on.keys().map(ToString::to_string).collect();
    if state.safe_next.is_some() {
        events.push(OTHER_EVENT.to_owned());
    }
    for event in events {
        for (index, data) in model.cells.data.iter().enumerate() {
            let ask = Ask::Transition(request(&event, data, path));
            let (after, folded, reply) = apply(model, run, ask);
            if matches!(reply, Reply::Refused(_)) {
                if index == 0 {
                    // Guards see the context from before, so no data helps.
                    break;
                }
                // This data is refused for itself, such as a key that is reserved.
                continue;
            }
            let act = Act::Event {
                event: event.clone(),
                data: index,
                branch: branch(path),
            };
            all.push(done(model, act, Some(run), path, &folded, after, None));
        }
    }
}

fn request(event: &str, data: &Object, path: &FramePath) -> TransitionRequest {
    TransitionRequest {
        event: event.to_owned(),
        data: data.clone(),
        branch: branch(path),
        agent: None,
        by: AGENT.to_owned(),
        approved_by: None,
    }
}

fn calls(model: &Model, run: &Run, path: &FramePath, frame: &Frame, all: &mut Vec<Done>) {
    let standing = (frame.machine.clone(), frame.at.clone());
    let Some(usable) = model.usable.get(&standing) else {
        return;
    };
    let mut tried = BTreeSet::new();
    for one in usable {
        if let Some(like) = group(model, run, one)
            && !tried.insert(like)
        {
            continue;
        }
        for end in &one.ends {
            let act = call_act(path, one, end.clone());
            if let Some(done) = call(model, run, path, act) {
                all.push(done);
            }
        }
    }
}

/// Names what a call is of a group of: its commands count alike, and one that was not seen does for all that were not.
fn group(model: &Model, run: &Run, usable: &Usable) -> Option<(usize, String, String)> {
    let [key] = usable.keys.as_slice() else {
        return None;
    };
    let index = model.alike.iter().position(|group| group.contains(key))?;
    let kept = crate::key::seen_word(model, run, key);
    Some((index, kept, usable.signature.clone()))
}

pub(crate) fn call_act(path: &FramePath, usable: &Usable, end: End) -> Act {
    Act::Call {
        class: usable.class,
        end,
        branch: branch(path),
        asked: usable.asked,
        times: 1,
        files: false,
    }
}

/// Lets a call run and end; `None`: it may not run here.
pub(crate) fn call(model: &Model, run: &Run, path: &FramePath, act: Act) -> Option<Done> {
    let Act::Call {
        class, end, asked, ..
    } = &act
    else {
        return None;
    };
    let known = model.classes.get(*class)?;
    let mut call = known.call.clone();
    call.branch = branch(path);
    let mut events = Vec::new();
    let propose = Ask::Propose(Box::new(call.clone()));
    let (mut now, mut said, mut reply) = apply(model, run, propose.clone());
    events.append(&mut said);
    let was_asked = events
        .iter()
        .any(|event| matches!(event, Event::RequestOpened { .. }));
    if was_asked && *asked {
        let id = events.iter().find_map(|event| match event {
            Event::RequestOpened { .. } => now.requests.last().map(|request| request.id()),
            _ => None,
        })?;
        let yes = Answer {
            by: "a person".to_owned(),
            path: Some(id.to_string()),
            ..Answer::default()
        };
        let yes = Ask::Approve(with_what_it_takes(&model.machine, &now, yes));
        for ask in [yes, propose] {
            (now, said, reply) = apply(model, &now, ask);
            events.append(&mut said);
        }
    }
    if reply != Reply::Accepted {
        return None;
    }
    let wrote = end.wrote.iter().map(|path| WrittenPath {
        path: format!("/project/{path}"),
        relative: Some(path.clone()),
    });
    let ended = Ask::Record(CallResult {
        id: Some(CallId::new("prove")),
        ok: end.ok,
        exit: end.exit,
        bytes: end.bytes,
        wrote: wrote.collect(),
        commands: Vec::new(),
        checked: substance::checked(&now),
    });
    let (after, mut said, _) = apply(model, &now, ended);
    events.append(&mut said);
    let class = *class;
    Some(done(
        model,
        act,
        Some(run),
        path,
        &events,
        after,
        Some(class),
    ))
}
