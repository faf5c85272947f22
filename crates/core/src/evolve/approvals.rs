//! Folds what people are asked and what they answer.

use super::{
    enter_note, remember,
    stage::{fate, waited},
};
use crate::{
    attempt::CallStatus,
    event::{CallMarks, CallRecord, Event, GrantThen},
    names::{AgentId, ApprovalId, Digest, FramePath},
    parts::{PromptCall, PromptEnd},
    run::{
        Frame, Grant, OpenCall, PendingTransition, PromptedTransition, Request, Run, Settled,
        Settlement,
    },
};

/// Settled requests remembered at most.
const SETTLED_MAX: usize = 32;
/// Questions in clients' prompts remembered at most.
const PROMPTS_MAX: usize = 64;

/// Who answered, as far as the event says.
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

/// Which grant an event is about.
#[derive(Debug, Clone, Copy)]
struct Which<'a> {
    path: &'a FramePath,
    digest: &'a Digest,
    id: Option<&'a ApprovalId>,
}

impl Which<'_> {
    fn is(&self, grant: &Grant) -> bool {
        match self.id {
            Some(id) => grant.asked.as_ref().is_some_and(|asked| asked.id() == *id),
            None => grant.path == *self.path && grant.digest == *self.digest,
        }
    }
}

/// Folds an event about a grant.
pub(super) fn apply_grant(run: &mut Run, event: &Event) {
    match event {
        Event::GrantRequested {
            path,
            call,
            marks,
            at_ms,
            then,
            prompt,
            ..
        } => {
            request_grant(run, path, call, marks, *at_ms);
            if let Some(prompt) = prompt {
                prompts_for(run, prompt);
            }
            if let Some(then) = then {
                of_stage(run, path, call, then);
            }
        }
        Event::GrantIssued {
            path,
            digest,
            by,
            id,
            at_ms,
        } => {
            let id = id.as_ref();
            let word = Word {
                how: Settlement::Approved,
                by: Some(by),
                at_ms: *at_ms,
                note: None,
            };
            count_wait(run, Which { path, digest, id }, *at_ms);
            issue_grant(run, Which { path, digest, id }, word);
        }
        Event::GrantDenied {
            path,
            digest,
            by,
            note,
            id,
            at_ms,
            ..
        } => {
            let id = id.as_ref();
            count_wait(run, Which { path, digest, id }, *at_ms);
            let word = Word {
                how: Settlement::Rejected,
                by: Some(by),
                at_ms: *at_ms,
                note: note.as_deref(),
            };
            deny_grant(run, Which { path, digest, id }, word);
        }
        Event::GrantConsumed { path, digest, id } => {
            let id = id.as_ref();
            drop_grant(run, Which { path, digest, id });
        }
        _ => {}
    }
}

/// Folds an answer to a parked transition.
pub(super) fn apply_answer(run: &mut Run, event: &Event) {
    match event {
        Event::ApprovalGranted {
            path,
            by,
            id,
            at_ms,
        } => {
            let word = Word {
                how: Settlement::Approved,
                by: Some(by),
                at_ms: *at_ms,
                note: None,
            };
            unpark(run, path, id.as_ref(), word);
        }
        Event::ApprovalRejected {
            path,
            by,
            note,
            id,
            at_ms,
        } => {
            let word = Word {
                how: Settlement::Rejected,
                by: Some(by),
                at_ms: *at_ms,
                note: note.as_deref(),
            };
            unpark(run, path, id.as_ref(), word);
        }
        Event::ApprovalDropped {
            path,
            refusal,
            id,
            at_ms,
        } => {
            let word = Word::void(&refusal.message, *at_ms);
            unpark(run, path, id.as_ref(), word);
        }
        _ => {}
    }
}

fn request_grant(
    run: &mut Run,
    path: &FramePath,
    call: &CallRecord,
    marks: &CallMarks,
    at_ms: Option<u64>,
) {
    let Some(frame) = run.frame(path) else { return };
    let entered_seq = frame.stay.entered_seq;
    let asked = at_ms.map(|at_ms| Request {
        seq: run.seq,
        at_ms,
        question: call.digest.clone(),
    });
    let agent: Option<AgentId> = asked.as_ref().and(call.agent.clone());
    if asked.is_some() {
        let same = |grant: &Grant| {
            grant.path == *path
                && grant.entered_seq == entered_seq
                && grant.digest == call.digest
                && grant.agent == agent
        };
        // A yes that is void makes room for the new question; an open one stands.
        run.grants
            .retain(|grant| !(same(grant) && grant.granted_by.is_some()));
        if run.grants.iter().any(same) {
            remember(run, path, call, marks, true);
            return;
        }
    }
    run.grants.push(Grant {
        path: path.clone(),
        entered_seq,
        digest: call.digest.clone(),
        tool: call.tool.clone(),
        summary: call.summary.clone(),
        granted_by: None,
        asked,
        agent,
        granted_seq: None,
        call: None,
        then: None,
        prompt: None,
    });
    remember(run, path, call, marks, true);
}

/// Notes that the request for this call is asked in a client's own prompt, too.
fn prompts_for(run: &mut Run, prompt: &PromptCall) {
    let Some(digest) = run.calls.back().map(|call| call.digest.clone()) else {
        return;
    };
    let same = |grant: &&mut Grant| {
        grant.digest == digest && grant.agent == prompt.agent && grant.granted_by.is_none()
    };
    // The newest: an older one with the same digest is of a stay that is over.
    if let Some(grant) = run.grants.iter_mut().rev().find(same) {
        grant.prompt = Some(prompt.clone());
    }
}

/// Folds that a client asks its person about a transition.
pub(super) fn ask_in_prompt(
    run: &mut Run,
    path: &FramePath,
    parked: PendingTransition,
    prompt: &PromptCall,
) {
    let Some(entered_seq) = run.frame(path).map(|frame| frame.stay.entered_seq) else {
        return;
    };
    if run.prompts.len() >= PROMPTS_MAX {
        run.prompts.remove(0);
    }
    run.prompts.push(PromptedTransition {
        path: path.clone(),
        entered_seq,
        parked,
        prompt: prompt.clone(),
    });
}

/// Folds that a question in a client's own prompt is over without a yes.
pub(super) fn close_prompt(
    run: &mut Run,
    path: &FramePath,
    id: &ApprovalId,
    why: PromptEnd,
    at_ms: u64,
) {
    let word = Word::void(why.sentence(), Some(at_ms));
    if settle_prompt(run, id, word) {
        return;
    }
    let own = |grant: &Grant| {
        grant.path == *path && grant.asked.as_ref().is_some_and(|asked| asked.id() == *id)
    };
    let open = run.grants.iter().find(|grant| own(grant));
    let settled = open.and_then(|grant| of_grant(grant, word));
    run.grants.retain(|grant| !own(grant));
    keep(run, settled);
}

/// Settles the question about a transition that a client asked in its prompt; `false`: it is none.
fn settle_prompt(run: &mut Run, id: &ApprovalId, word: Word<'_>) -> bool {
    let is = |prompt: &PromptedTransition| prompt.id().as_ref() == Some(id);
    let Some(at) = run.prompts.iter().position(is) else {
        return false;
    };
    let prompt = run.prompts.remove(at);
    keep(run, of_prompt(&prompt, word));
    if word.how == Settlement::Rejected {
        enter_note(run, &prompt.path, word.note);
    }
    true
}

fn of_prompt(prompt: &PromptedTransition, word: Word<'_>) -> Option<Settled> {
    Some(settled(
        prompt.parked.asked.as_ref()?,
        &prompt.path,
        prompt.entered_seq,
        prompt.parked.event.as_str(),
        word,
    ))
}

/// Drops the questions in clients' prompts of frames that `are` over.
fn void_prompts(run: &mut Run, why: &str, at_ms: Option<u64>, are: impl Fn(&FramePath) -> bool) {
    let word = Word::void(why, at_ms);
    let (over, open): (Vec<_>, Vec<_>) = std::mem::take(&mut run.prompts)
        .into_iter()
        .partition(|prompt| are(&prompt.path));
    run.prompts = open;
    for prompt in over {
        keep(run, of_prompt(&prompt, word));
    }
}

/// Notes that the request made last is for a call of a stage.
fn of_stage(run: &mut Run, path: &FramePath, call: &CallRecord, then: &GrantThen) {
    let seq = run.seq;
    let asked_now = |grant: &&mut Grant| grant.asked.as_ref().is_some_and(|asked| asked.seq == seq);
    if let Some(grant) = run.grants.iter_mut().find(asked_now) {
        grant.call = Some(call.id.clone());
        grant.then = Some(then.clone());
    }
    fate(run, path, &call.id, CallStatus::Asked);
}

/// Counts the time that a stage has waited for an answer.
fn count_wait(run: &mut Run, which: Which<'_>, at_ms: Option<u64>) {
    let asked = run
        .grants
        .iter()
        .find(|grant| which.is(grant) && grant.call.is_some())
        .and_then(|grant| grant.asked.as_ref());
    if let (Some(asked), Some(now)) = (asked, at_ms) {
        let ms = now.saturating_sub(asked.at_ms);
        waited(run, which.path, ms);
    }
}

/// Drops the requests and grants of an attempt of a stage that is over.
pub(super) fn void_stage(run: &mut Run, path: &FramePath) {
    void_grants(run, "the attempt of its stage is over", None, |grant| {
        grant.path == *path && grant.call.is_some()
    });
    run.calls.retain(|call| call.path != *path);
}

/// Folds the answer to what was asked before a state began.
pub(super) fn answer_entry(
    run: &mut Run,
    path: &FramePath,
    yes: bool,
    by: &str,
    note: Option<&str>,
    at_ms: u64,
) {
    let Some(frame) = run.frame_mut(path) else {
        return;
    };
    frame.stay.let_in = yes;
    let (entered_seq, at) = (frame.stay.entered_seq, frame.at.clone());
    let word = Word {
        how: if yes {
            Settlement::Approved
        } else {
            Settlement::Rejected
        },
        by: Some(by),
        at_ms: Some(at_ms),
        note,
    };
    if let Some(held) = frame.stay.held.take() {
        let one = settled(&held.asked, path, entered_seq, at.as_str(), word);
        keep(run, Some(one));
    }
}

/// Folds that what was asked before a state began is void.
pub(super) fn dismiss_entry(run: &mut Run, path: &FramePath, reason: &str, at_ms: u64) {
    let Some(frame) = run.frame_mut(path) else {
        return;
    };
    let (entered_seq, at) = (frame.stay.entered_seq, frame.at.clone());
    if let Some(held) = frame.stay.held.take() {
        let word = Word::void(reason, Some(at_ms));
        let one = settled(&held.asked, path, entered_seq, at.as_str(), word);
        keep(run, Some(one));
    }
}

fn issue_grant(run: &mut Run, which: Which<'_>, word: Word<'_>) {
    let seq = run.seq;
    let Some(grant) = run.grants.iter_mut().find(|grant| which.is(grant)) else {
        return;
    };
    grant.granted_by = word.by.map(str::to_owned);
    let keys = grant.then.as_ref().map(|then| then.keys.clone());
    if grant.asked.is_some() {
        grant.granted_seq = Some(seq);
        let settled = of_grant(grant, word);
        keep(run, settled);
    }
    run.keys.extend(keys.unwrap_or_default());
}

fn deny_grant(run: &mut Run, which: Which<'_>, word: Word<'_>) {
    let settled: Vec<Option<Settled>> = run
        .grants
        .iter()
        .filter(|grant| which.is(grant))
        .map(|grant| of_grant(grant, word))
        .collect();
    run.grants.retain(|grant| !which.is(grant));
    for one in settled {
        keep(run, one);
    }
    enter_note(run, which.path, word.note);
}

fn drop_grant(run: &mut Run, which: Which<'_>) {
    run.grants.retain(|grant| !which.is(grant));
}

/// Settles the grant of a call that ran because the client's own prompt said yes.
pub(super) fn settle_in_prompt(run: &mut Run, call: &OpenCall) {
    let own = |grant: &Grant| {
        grant
            .asked
            .as_ref()
            .is_some_and(|asked| asked.seq == call.begun_seq)
            || grant
                .prompt
                .as_ref()
                .is_some_and(|prompt| prompt.call == call.id)
    };
    let alike = |grant: &Grant| grant.path == call.path && grant.digest == call.digest;
    if !run.grants.iter().any(own) {
        run.grants.retain(|grant| !alike(grant));
        return;
    }
    let word = Word {
        how: Settlement::Approved,
        by: Some("the client's prompt"),
        at_ms: None,
        note: None,
    };
    let open = run.grants.iter().find(|grant| own(grant));
    let settled = open
        .filter(|grant| grant.granted_by.is_none())
        .and_then(|grant| of_grant(grant, word));
    run.grants.retain(|grant| !own(grant));
    keep(run, settled);
}

/// Ends the wait of a transition, parked or in a client's prompt; what was said is remembered.
fn unpark(run: &mut Run, path: &FramePath, id: Option<&ApprovalId>, word: Word<'_>) {
    if id.is_some_and(|id| settle_prompt(run, id, word)) {
        return;
    }
    let settled = run
        .frame(path)
        .and_then(|frame| of_parked(path, frame, word));
    keep(run, settled);
    if let Some(frame) = run.frame_mut(path) {
        frame.stay.parked = None;
    }
    let said = (word.how == Settlement::Rejected)
        .then_some(word.note)
        .flatten();
    enter_note(run, path, said);
}

/// Drops the grants of a stay that is over.
pub(super) fn forget_stay(run: &mut Run, path: &FramePath, at_ms: u64) {
    void_prompts(run, "its state was left", Some(at_ms), |at| at == path);
    void_grants(run, "its state was left", Some(at_ms), |grant| {
        grant.path == *path
    });
}

/// Drops the grants of a stay that an interrupt ended.
pub(super) fn forget_interrupted(run: &mut Run, path: &FramePath, at_ms: u64) {
    void_prompts(run, "its state was left", Some(at_ms), |at| at == path);
    // Logs that do not say when something was asked have kept them.
    void_grants(run, "its state was left", Some(at_ms), |grant| {
        grant.path == *path && grant.asked.is_some()
    });
}

/// Drops all that waits at or below `path`.
pub(super) fn void_below(run: &mut Run, path: &FramePath, why: &str) {
    let word = Word::void(why, None);
    let mut settled = Vec::new();
    let mut frames = vec![path.clone()];
    while let Some(path) = frames.pop() {
        let Some(frame) = run.frame(&path) else {
            continue;
        };
        settled.push(of_parked(&path, frame, word));
        let below = frame.children.iter().filter(|child| child.ended.is_none());
        frames.extend(below.map(|child| path.child(&child.name)));
    }
    for one in settled {
        keep(run, one);
    }
    void_prompts(run, why, None, |at| path.holds(at));
    void_grants(run, why, None, |grant| path.holds(&grant.path));
}

/// Drops the grants below `path`, but not its own.
pub(super) fn void_grants_below(run: &mut Run, path: &FramePath) {
    let why = "its branch has ended";
    void_prompts(run, why, None, |at| at != path && path.holds(at));
    void_grants(run, why, None, |grant| {
        grant.path != *path && path.holds(&grant.path)
    });
}

fn void_grants(run: &mut Run, why: &str, at_ms: Option<u64>, of: impl Fn(&Grant) -> bool) {
    let word = Word::void(why, at_ms);
    let open = run
        .grants
        .iter()
        .filter(|grant| of(grant) && grant.granted_by.is_none());
    let settled: Vec<Option<Settled>> = open.map(|grant| of_grant(grant, word)).collect();
    run.grants.retain(|grant| !of(grant));
    for one in settled {
        keep(run, one);
    }
}

fn of_grant(grant: &Grant, word: Word<'_>) -> Option<Settled> {
    let asked = grant.asked.as_ref()?;
    Some(settled(
        asked,
        &grant.path,
        grant.entered_seq,
        &grant.tool,
        word,
    ))
}

fn of_parked(path: &FramePath, frame: &Frame, word: Word<'_>) -> Option<Settled> {
    let parked = frame.stay.parked.as_ref()?;
    let asked = parked.asked.as_ref()?;
    Some(settled(
        asked,
        path,
        frame.stay.entered_seq,
        parked.event.as_str(),
        word,
    ))
}

fn settled(
    asked: &Request,
    path: &FramePath,
    entered_seq: u64,
    about: &str,
    word: Word<'_>,
) -> Settled {
    Settled {
        id: asked.id(),
        path: path.clone(),
        entered_seq,
        about: about.to_owned(),
        how: word.how,
        by: word.by.map(str::to_owned),
        at_ms: word.at_ms,
        note: word.note.map(str::to_owned),
    }
}

fn keep(run: &mut Run, settled: Option<Settled>) {
    if let Some(settled) = settled {
        if run.settled.len() >= SETTLED_MAX {
            run.settled.pop_front();
        }
        run.settled.push_back(settled);
    }
}
