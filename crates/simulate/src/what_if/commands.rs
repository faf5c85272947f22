//! Reconstructs the command that produced events.

use interlock_core::{
    call::CallResult,
    command::{AGENT, Answer, CommandKind, Consent, LineEnd, LineStart, TransitionRequest},
    event::{About, Event, RequestKind, VoidReason},
    machine::{Machine, Object},
    names::{AgentId, ApprovalId, FramePath},
    run::{Request, Run},
};

/// Number of events that are searched for the time of a command.
const TIME_WITHIN: usize = 32;
/// Who takes a transition that nobody requested.
const BY_ITSELF: &str = "interlock";
/// Who answers if the log does not say.
const SOMEBODY: &str = "person";

/// Finds the event that shows the command; those before it follow from the same command.
pub(super) fn main_event(ahead: &[Event]) -> Option<&Event> {
    let first = ahead.first()?;
    let leads = |event: &Event| match event {
        Event::AgentBound { .. } | Event::RequestUsed { .. } => false,
        Event::CallEnded { assumed, .. } => !assumed,
        _ => true,
    };
    if matches!(first, Event::CallEnded { assumed: true, .. }) {
        // A call assumed to have ended may raise interrupts before the requested transition.
        let asked = |event: &&Event| match event {
            Event::TransitionTaken { by, .. } => by != BY_ITSELF,
            Event::TransitionRejected { .. }
            | Event::AgentReleased { .. }
            | Event::RequestAnswered { .. } => true,
            Event::RequestOpened { about, .. } => matches!(about, About::Transition(_)),
            _ => false,
        };
        return ahead.iter().find(asked);
    }
    ahead.iter().find(|event| leads(event))
}

/// Lists the commands that may have produced `ahead`, the likeliest first.
///
/// Calls are not included: they are proposals.
pub(super) fn asked(machine: &Machine, run: &Run, ahead: &[Event]) -> Vec<CommandKind> {
    let Some(main) = main_event(ahead) else {
        return Vec::new();
    };
    match main {
        Event::RunStarted { context, by, .. } => {
            let is_input = |(key, value): &(&String, &serde_json::Value)| {
                machine.context.get(*key) != Some(*value)
            };
            let input: Object = context
                .iter()
                .filter(is_input)
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            vec![CommandKind::Start {
                input,
                by: by.clone(),
                durable: None,
            }]
        }
        Event::CallEnded {
            call,
            ok,
            exit,
            bytes,
            wrote,
            commands,
            checked,
            ..
        } => vec![CommandKind::Record(CallResult {
            id: Some(call.clone()),
            ok: *ok,
            exit: *exit,
            bytes: *bytes,
            wrote: wrote.clone(),
            commands: commands.clone(),
            checked: checked.clone(),
        })],
        Event::LineConfined {
            call,
            level,
            unconfined,
            ..
        } => vec![CommandKind::StartLine(LineStart {
            call: call.clone(),
            level: level.clone(),
            unconfined: unconfined.clone(),
        })],
        Event::LineEnded {
            call,
            exit,
            wrote,
            commands,
            unseen,
            checked,
        } => {
            let open = run.calls.iter().find(|open| open.id == *call);
            vec![CommandKind::EndLine(LineEnd {
                call: call.clone(),
                path: open.map_or_else(FramePath::root, |open| open.path.clone()),
                exit: *exit,
                wrote: wrote.clone(),
                commands: commands.clone(),
                unseen: *unseen,
                checked: checked.clone(),
            })]
        }
        Event::AgentReleased { agent } => vec![CommandKind::ReleaseAgent {
            agent: agent.clone(),
        }],
        Event::FinishRefused { .. } => vec![CommandKind::Finish],
        Event::TransitionTaken {
            path,
            event,
            data,
            by,
            ..
        } if by != BY_ITSELF => requests(run, ahead, path, event.as_str(), data, by),
        Event::TransitionRejected { path, event, .. } => {
            requests(run, ahead, path, event, &Object::new(), AGENT)
        }
        Event::RequestOpened {
            path,
            about: About::Transition(parked),
            prompt,
            ..
        } => {
            let (event, data, by) = (parked.event.as_str(), &parked.data, &parked.by);
            let all = requests(run, ahead, path, event, data, by);
            match prompt {
                None => all,
                Some(prompt) => {
                    let in_prompt = |ask| match ask {
                        CommandKind::Transition(request) => CommandKind::AskInPrompt {
                            request,
                            prompt: prompt.clone(),
                        },
                        ask => ask,
                    };
                    all.into_iter().map(in_prompt).collect()
                }
            }
        }
        Event::RequestAnswered {
            path, id, about, ..
        } => answers(run, ahead, main, path, id, *about),
        Event::RequestVoided {
            id,
            why: VoidReason::Refused(_),
            ..
        } => vec![CommandKind::Approve(Answer {
            by: SOMEBODY.to_owned(),
            path: Some(id.to_string()),
            ..Answer::default()
        })],
        _ => Vec::new(),
    }
}

/// Lists who may have requested a transition, and for which branch: the log contains only the path.
fn requests(
    run: &Run,
    ahead: &[Event],
    path: &FramePath,
    event: &str,
    data: &Object,
    by: &str,
) -> Vec<CommandKind> {
    let plain = TransitionRequest {
        event: event.to_owned(),
        data: data.clone(),
        branch: None,
        agent: None,
        by: by.to_owned(),
        approved_by: None,
    };
    let branch = branch_of(path);
    let mut all = Vec::new();
    for agent in agents(run, ahead, path).into_iter().map(Some).chain([None]) {
        for branch in [None, branch.clone()] {
            all.push(TransitionRequest {
                branch,
                agent: agent.clone(),
                ..plain.clone()
            });
        }
    }
    // The main agent at the root is by far the likeliest.
    all.sort_by_key(|request| request.agent.is_some());
    all.dedup();
    all.into_iter().map(CommandKind::Transition).collect()
}

/// Returns the branch name of a path.
pub(super) fn branch_of(path: &FramePath) -> Option<String> {
    (!path.is_root()).then(|| path.to_string())
}

fn agents(run: &Run, ahead: &[Event], path: &FramePath) -> Vec<AgentId> {
    let new = ahead
        .iter()
        .take(TIME_WITHIN)
        .find_map(|event| match event {
            Event::AgentBound { agent, .. } => Some(agent.clone()),
            _ => None,
        });
    let bound = run.agents.iter();
    let bound = bound.filter(|(_, held)| held.holds(path) || path.holds(held));
    new.into_iter()
        .chain(bound.map(|(agent, _)| agent.clone()))
        .collect()
}

fn answers(
    run: &Run,
    ahead: &[Event],
    main: &Event,
    path: &FramePath,
    id: &ApprovalId,
    about: RequestKind,
) -> Vec<CommandKind> {
    let Event::RequestAnswered {
        yes,
        by,
        note,
        passkey,
        ..
    } = main
    else {
        return Vec::new();
    };
    let answer = Answer {
        by: by.clone(),
        note: note.clone(),
        passkey: passkey.clone(),
        path: Some(id.to_string()),
        ..Answer::default()
    };
    if !yes {
        return vec![CommandKind::Reject(answer)];
    }
    let request = run.request(path, id);
    let Some(parked) = request.and_then(Request::transition) else {
        return vec![CommandKind::Approve(answer)];
    };
    let mut all = Vec::new();
    // An approval in the client's own prompt comes with the transition itself.
    if about == RequestKind::Transition
        && let Some(request) = request.filter(|request| request.prompt.is_some())
    {
        let by_prompt = requests(
            run,
            ahead,
            path,
            parked.event.as_str(),
            &parked.data,
            &parked.by,
        );
        for ask in by_prompt {
            if let CommandKind::Transition(asked) = ask {
                all.push(CommandKind::Transition(TransitionRequest {
                    approved_by: Some(Consent {
                        by: by.clone(),
                        question: request.question.clone(),
                    }),
                    ..asked
                }));
            }
        }
    }
    let taken = ahead.iter().find_map(|event| match event {
        Event::TransitionTaken { data, .. } => Some(data),
        _ => None,
    });
    let corrected = taken.into_iter().flatten();
    let corrected = corrected.filter(|(key, value)| parked.data.get(*key) != Some(*value));
    all.push(CommandKind::Approve(Answer {
        data: corrected
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        ..answer
    }));
    all
}

/// Returns the time of a command: the first time in its events.
pub(super) fn time_of(ahead: &[Event]) -> u64 {
    let found = ahead
        .iter()
        .take(TIME_WITHIN)
        .find_map(|event| match event {
            Event::RunStarted { at_ms, .. }
            | Event::RequestOpened { at_ms, .. }
            | Event::RequestAnswered { at_ms, .. }
            | Event::RequestVoided { at_ms, .. }
            | Event::TransitionTaken { at_ms, .. }
            | Event::InterruptRaised { at_ms, .. } => Some(*at_ms),
            _ => None,
        });
    found.unwrap_or_default()
}
