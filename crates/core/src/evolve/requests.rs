//! Folds the events of requests to people. Transitions, states and calls share one life cycle.

use super::{
    attempts::{set_status, waited},
    enter_note, remember,
};
use crate::{
    attempt::CallStatus,
    event::Event,
    names::{ApprovalId, FramePath},
    parts::{About, ApprovalKind, PendingGrant},
    run::{Entry, Granted, OpenCall, Request, Run, Settled, Settlement},
};

/// Maximum number of settled requests kept.
const SETTLED_MAX: usize = 32;
/// Maximum number of open requests in clients' own prompts.
const PROMPTS_MAX: usize = 64;
/// Reason for requests that become void because their state was left.
const LEFT: &str = "its state was left";

/// How a request was settled.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    how: Settlement,
    by: Option<&'a str>,
    at_ms: Option<u64>,
    note: Option<&'a str>,
}

impl<'a> Word<'a> {
    const fn void(why: &'a str, at_ms: Option<u64>) -> Self {
        Self {
            how: Settlement::Void,
            by: None,
            at_ms,
            note: Some(why),
        }
    }
}

/// Folds an event of a request.
pub(super) fn apply_request(run: &mut Run, event: &Event) {
    match event {
        Event::RequestOpened {
            path,
            about,
            question,
            prompt,
            approval,
            at_ms,
        } => {
            let Some(frame) = run.frame(path) else { return };
            let request = Request {
                seq: run.seq,
                path: path.clone(),
                entered_seq: frame.stay.entered_seq,
                about: about.clone(),
                question: question.clone(),
                prompt: prompt.clone(),
                approval: *approval,
                at_ms: *at_ms,
                granted: None,
            };
            open(run, request);
        }
        Event::RequestAnswered {
            path,
            id,
            yes,
            by,
            note,
            at_ms,
            ..
        } => {
            let word = Word {
                how: if *yes {
                    Settlement::Approved
                } else {
                    Settlement::Rejected
                },
                by: Some(by),
                at_ms: Some(*at_ms),
                note: note.as_deref(),
            };
            end(run, path, id, word);
        }
        Event::RequestVoided {
            path,
            id,
            why,
            at_ms,
            ..
        } => end(run, path, id, Word::void(why.sentence(), Some(*at_ms))),
        Event::RequestUsed { id, .. } => run.requests.retain(|request| request.id() != *id),
        _ => {}
    }
}

/// Opens a request; the frame waits if it is about its own transition or the entry of its state.
fn open(run: &mut Run, request: Request) {
    match (&request.about, &request.prompt) {
        (About::Call(grant), _) => {
            let grant = grant.clone();
            open_grant(run, request, &grant);
        }
        (About::Transition(_), Some(_)) => {
            let is_transition = |request: &Request| request.transition().is_some();
            let all = run.requests.iter();
            if all.filter(|request| is_transition(request)).count() >= PROMPTS_MAX
                && let Some(oldest) = run.requests.iter().position(is_transition)
            {
                run.requests.remove(oldest);
            }
            run.requests.push(request);
        }
        (About::Transition(_), None) | (About::Entry { .. }, _) => {
            if let Some(frame) = run.frame_mut(&request.path.clone()) {
                if request.transition().is_some() {
                    frame.stay.note = None;
                }
                frame.stay.request = Some(Box::new(request));
            }
        }
    }
}

/// Opens a request about a call, unless the same caller already waits for an answer about the same call.
fn open_grant(run: &mut Run, request: Request, grant: &PendingGrant) {
    let PendingGrant {
        call, marks, then, ..
    } = grant;
    let path = request.path.clone();
    // No prompt of a client says yes to it: a call that runs all the same is none that was asked about.
    let may_run_in_prompt = request.approval == ApprovalKind::Person || then.is_some();
    let same = |other: &Request| {
        let other_call = other.call().map(|other| &other.call);
        other.path == request.path
            && other.entered_seq == request.entered_seq
            && other_call.is_some_and(|other| other.digest == call.digest)
            && other_call.is_some_and(|other| other.agent == call.agent)
    };
    // A yes that is void makes room for the new question; an open one stands.
    run.requests
        .retain(|other| !(same(other) && other.granted.is_some()));
    match run.requests.iter_mut().find(|other| same(other)) {
        Some(open) => {
            if request.prompt.is_some() {
                open.prompt.clone_from(&request.prompt);
            }
        }
        None => run.requests.push(request),
    }
    if may_run_in_prompt {
        remember(run, &path, call, marks, true);
    }
    if then.is_some() {
        set_status(run, &path, &call.id, CallStatus::Asked);
    }
}

/// Closes a request and stores the answer.
fn end(run: &mut Run, path: &FramePath, id: &ApprovalId, word: Word<'_>) {
    let own = |request: &&Request| request.id() == *id;
    if let Some(request) = run
        .frame(path)
        .and_then(|frame| frame.stay.request().filter(own).cloned())
    {
        keep(run, &request, word);
        if let Some(frame) = run.frame_mut(path) {
            frame.stay.request = None;
            match request.about {
                About::Entry { .. } => {
                    frame.stay.entry = match word.how {
                        Settlement::Approved => Entry::Admitted,
                        _ => Entry::Open,
                    };
                }
                _ => {
                    let no = word.note.filter(|_| word.how == Settlement::Rejected);
                    frame.stay.note = no.map(str::to_owned);
                }
            }
        }
        return;
    }
    let Some(at) = run.requests.iter().position(|request| request.id() == *id) else {
        return;
    };
    let seq = run.seq;
    let Some(request) = run.requests.get_mut(at) else {
        return;
    };
    let settled = request.clone();
    if request.call().is_some() && word.how == Settlement::Approved {
        request.granted = Some(Granted {
            by: word.by.unwrap_or_default().to_owned(),
            seq,
        });
    } else {
        run.requests.remove(at);
    }
    keep(run, &settled, word);
    if let Some(then) = settled.call().and_then(|grant| grant.then.as_ref()) {
        // A stage's own time stands still while a person is asked.
        if let Some(now) = word.at_ms {
            waited(run, path, now.saturating_sub(settled.at_ms));
        }
        if word.how == Settlement::Approved {
            run.keys.extend(then.keys.iter().cloned());
        }
    }
    if word.how == Settlement::Rejected {
        enter_note(run, path, word.note);
    }
}

/// Settles the request about a call that ran because the person approved it in the client's own prompt.
pub(super) fn settle_in_prompt(run: &mut Run, call: &OpenCall) {
    let own = |request: &Request| {
        let prompted = request.prompt.as_ref();
        request.call().is_some()
            && (request.seq == call.begun_seq
                || prompted.is_some_and(|prompt| prompt.call == call.id))
    };
    let alike = |request: &Request| {
        request.call().is_some() && request.path == call.path && request.question == call.digest
    };
    if !run.requests.iter().any(own) {
        run.requests.retain(|request| !alike(request));
        return;
    }
    let word = Word {
        how: Settlement::Approved,
        by: Some("the client's prompt"),
        at_ms: None,
        note: None,
    };
    let open = run.requests.iter().find(|request| own(request)).cloned();
    run.requests.retain(|request| !own(request));
    if let Some(open) = open.filter(|request| request.granted.is_none()) {
        keep(run, &open, word);
    }
}

/// Drops the requests of a stay that has ended.
pub(super) fn forget_stay(run: &mut Run, path: &FramePath, at_ms: u64) {
    void(run, LEFT, Some(at_ms), |request| request.path == *path);
}

/// Drops the requests and grants of a stage attempt that has ended.
pub(super) fn void_stage(run: &mut Run, path: &FramePath) {
    void(run, "the attempt of its stage is over", None, |request| {
        request.path == *path && request.is_of_stage()
    });
    run.calls.retain(|call| call.path != *path);
}

/// Drops all requests at or below `path`.
pub(super) fn void_below(run: &mut Run, path: &FramePath, why: &str) {
    let mut standing = Vec::new();
    let mut frames = vec![path.clone()];
    while let Some(path) = frames.pop() {
        let Some(frame) = run.frame(&path) else {
            continue;
        };
        standing.extend(frame.stay.request().cloned());
        let below = frame.open_regions();
        frames.extend(below.map(|region| path.child(&region.name)));
    }
    for request in standing {
        keep(run, &request, Word::void(why, None));
    }
    void(run, why, None, |request| path.holds(&request.path));
}

/// Drops all requests below `path`, but not those of `path` itself.
pub(super) fn void_inside(run: &mut Run, path: &FramePath) {
    void(run, "its branch has ended", None, |request| {
        request.path != *path && path.holds(&request.path)
    });
}

/// Drops the requests for which `are` is true; unanswered ones are stored as void.
fn void(run: &mut Run, why: &str, at_ms: Option<u64>, are: impl Fn(&Request) -> bool) {
    let (over, open): (Vec<Request>, Vec<Request>) =
        std::mem::take(&mut run.requests).into_iter().partition(are);
    run.requests = open;
    for request in over.iter().filter(|request| request.granted.is_none()) {
        keep(run, request, Word::void(why, at_ms));
    }
}

/// Stores how a request was settled.
fn keep(run: &mut Run, request: &Request, word: Word<'_>) {
    let at = run
        .frame(&request.path)
        .map_or_else(String::new, |frame| frame.at.to_string());
    if run.settled.len() >= SETTLED_MAX {
        run.settled.pop_front();
    }
    run.settled.push_back(Settled {
        id: request.id(),
        path: request.path.clone(),
        entered_seq: request.entered_seq,
        about: request.subject(&at).to_owned(),
        how: word.how,
        by: word.by.map(str::to_owned),
        at_ms: word.at_ms,
        note: word.note.map(str::to_owned),
    });
}
