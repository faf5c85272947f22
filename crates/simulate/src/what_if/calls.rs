//! Reconstructed calls of the log, and their effects under the other workflow.

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

/// A call of the log that may be proposed again.
pub(super) struct Proposal {
    pub(super) call: ToolCall,
    /// What is not judged of it; empty if everything is.
    pub(super) lacks: &'static str,
    /// Whether an approval is conclusive: everything that rules consider is known.
    pub(super) conclusive: bool,
}

/// Reconstructs a call, as far as the log contains it.
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
    // A person's approval is for the call as it was.
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

/// Returns the effects under the other workflow, with the more exact data of calls from the log.
///
/// `old` are the effects under the pinned workflow, computed again. Where both workflows agree, the log's data is used; where
/// they differ, that of the other workflow.
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
