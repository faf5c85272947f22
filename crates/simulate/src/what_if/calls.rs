//! A call of the log as a proposal, and what follows from it under the other workflow.

use interlock_core::{
    call::{CallFacts, CallKind, ToolCall},
    event::{About, CallMarks, CallRecord, Event},
    names::CallId,
};
use serde_json::json;

use crate::{
    Scenario,
    recorded::{made, read_again},
};

const BY_TOOL: &str = "the log does not keep its arguments: only its tool is judged";

/// A call of the log, as it may be proposed again.
pub(super) struct Proposal {
    pub(super) call: ToolCall,
    /// What is not judged of it; empty: all is.
    pub(super) lacks: &'static str,
    /// Whether a yes says anything: what the call would do is known as far as rules look at it.
    pub(super) conclusive: bool,
}

/// Makes a call again, as far as the log keeps it.
pub(super) fn proposal(scenario: &Scenario, record: &CallRecord) -> Proposal {
    let (mut call, lacks, conclusive) = match read_again(scenario, record) {
        Ok(again) => (again.call, again.lacks, true),
        Err(why) => {
            let mut call = made(scenario, record, json!({}));
            call.facts = CallFacts {
                unheld: call.facts.unheld,
                edit_lines: Some(0),
                environment_held: call.facts.environment_held,
                kernel_holds: call.facts.kernel_holds,
                ..CallFacts::default()
            };
            let acts = matches!(call.kind, CallKind::Shell | CallKind::Edit);
            (call, if acts { why } else { BY_TOOL }, !acts)
        }
    };
    // A yes that a person gave is to the call as it was.
    call.id.clone_from(&record.id);
    call.digest.clone_from(&record.digest);
    call.summary.clone_from(&record.summary);
    call.tool.clone_from(&record.tool);
    Proposal {
        call,
        lacks,
        conclusive,
    }
}

/// Returns what the other workflow brings about, with what the log knows better of calls.
///
/// `old` is what the pinned workflow brings about when it is asked again. What both workflows say alike is as the
/// log has it; what they say differently is as the other workflow has it.
pub(super) fn merged(logged: &[Event], old: &[Event], new: Vec<Event>) -> Vec<Event> {
    if new == old {
        return logged.to_vec();
    }
    let merge = |mut event: Event| {
        if let Some((record, marks)) = call_of_mut(&mut event) {
            let id = record.id.clone();
            let found = |events: &[Event]| events.iter().find_map(|event| call_of(event, &id));
            if let (Some((kept, kept_marks)), Some((_, old_marks))) = (found(logged), found(old)) {
                *record = kept;
                *marks = merged_marks(&kept_marks, &old_marks, std::mem::take(marks));
            }
        }
        event
    };
    new.into_iter().map(merge).collect()
}

fn call_of_mut(event: &mut Event) -> Option<(&mut CallRecord, &mut CallMarks)> {
    match event {
        Event::CallAllowed { call, marks, .. } => Some((call, marks)),
        Event::RequestOpened {
            about: About::Call(grant),
            ..
        } => Some((&mut grant.call, &mut grant.marks)),
        _ => None,
    }
}

fn call_of(event: &Event, id: &CallId) -> Option<(CallRecord, CallMarks)> {
    let (call, marks) = match event {
        Event::CallAllowed { call, marks, .. } => (call, marks),
        Event::RequestOpened {
            about: About::Call(grant),
            ..
        } => (&grant.call, &grant.marks),
        _ => return None,
    };
    (call.id == *id).then(|| (call.clone(), marks.clone()))
}

/// Merges field by field: as logged where both workflows agree.
fn merged_marks(logged: &CallMarks, old: &CallMarks, new: CallMarks) -> CallMarks {
    fn of<T: Clone + PartialEq>(logged: &T, old: &T, new: T) -> T {
        if new == *old { logged.clone() } else { new }
    }
    CallMarks {
        counts: of(&logged.counts, &old.counts, new.counts),
        writes: of(&logged.writes, &old.writes, new.writes),
        shell: of(&logged.shell, &old.shell, new.shell),
        files: of(&logged.files, &old.files, new.files),
        hits: of(&logged.hits, &old.hits, new.hits),
        watched: of(&logged.watched, &old.watched, new.watched),
        evidence: of(&logged.evidence, &old.evidence, new.evidence),
        by_person: of(&logged.by_person, &old.by_person, new.by_person),
        agent: of(&logged.agent, &old.agent, new.agent),
    }
}
