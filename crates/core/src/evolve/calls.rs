//! Calls of tools: what was allowed, what ended, and who is bound where.

use std::collections::BTreeSet;

use super::approvals;
use crate::{
    event::{CallMarks, CallRecord},
    names::{AgentId, CallId, FramePath},
    run::{OpenCall, Run, Seen},
};

/// Open calls remembered at most; `decide` settles older ones first.
const OPEN_CALLS_MAX: usize = 256;

pub(super) fn allow(run: &mut Run, path: &FramePath, call: &CallRecord, marks: &CallMarks) {
    if marks.counts {
        count(run, path, marks);
    }
    if marks.writes {
        run.last_write = Some(run.seq);
    }
    remember(run, path, call, marks, false);
}

/// Binds a sub-agent; one that had stopped there has it no more.
pub(super) fn bind(run: &mut Run, agent: &AgentId, path: &FramePath) {
    run.away.remove(agent);
    let Run { agents, away, .. } = run;
    let lost: BTreeSet<AgentId> = away
        .iter()
        .filter(|gone| {
            agents
                .get(*gone)
                .is_some_and(|held| held.holds(path) || path.holds(held))
        })
        .cloned()
        .collect();
    for gone in lost {
        away.remove(&gone);
        agents.remove(&gone);
    }
    agents.insert(agent.clone(), path.clone());
}

pub(super) fn count(run: &mut Run, path: &FramePath, marks: &CallMarks) {
    if let Some(frame) = run.frame_mut(path) {
        frame.used.calls += 1;
        frame.used.files.extend(marks.files.iter().cloned());
    }
}

pub(super) fn remember(
    run: &mut Run,
    path: &FramePath,
    call: &CallRecord,
    marks: &CallMarks,
    asked: bool,
) {
    let Some(frame) = run.frame(path) else { return };
    let entered_seq = frame.entered_seq;
    if run.calls.len() >= OPEN_CALLS_MAX {
        run.calls.pop_front();
    }
    run.calls.push_back(OpenCall {
        id: call.id.clone(),
        path: path.clone(),
        entered_seq,
        begun_seq: run.seq,
        asked,
        digest: call.digest.clone(),
        marks: marks.clone(),
        line: None,
    });
}

pub(super) fn end_call(run: &mut Run, id: &CallId, ok: bool, exit: Option<i64>, bytes: u64) {
    let Some(index) = run.calls.iter().position(|call| call.id == *id) else {
        return;
    };
    let Some(call) = run.calls.remove(index) else {
        return;
    };
    if call.asked {
        // The client's own prompt said yes: the call ran, so it counts from here.
        approvals::settle_in_prompt(run, &call);
        count(run, &call.path, &call.marks);
        if call.marks.writes {
            run.last_write = Some(run.seq);
        }
    }
    if let Some(frame) = run
        .frame_mut(&call.path)
        .filter(|frame| call.marks.counts && frame.entered_seq == call.entered_seq)
    {
        frame.used.bytes = frame.used.bytes.saturating_add(bytes);
    }
    let begun_seq = call.begun_seq;
    for mark in &call.marks.evidence {
        let seen = match (call.marks.shell, exit) {
            (false, _) => Some(i64::from(!ok)),
            (true, Some(0)) if mark.proves_success => Some(0),
            // Success of a line that does not prove it says nothing either way.
            (true, Some(0)) => continue,
            (true, Some(exit)) if mark.proves_exit => Some(exit),
            (true, _) => None,
        };
        let newer = run
            .evidence
            .get(&mark.key)
            .is_none_or(|known| known.begun_seq <= begun_seq);
        if newer {
            run.evidence.insert(
                mark.key.clone(),
                Seen {
                    begun_seq,
                    exit: seen,
                },
            );
        }
    }
}

pub(super) fn release(run: &mut Run, path: &FramePath) {
    free(run, |bound| path.holds(bound));
}

/// Takes their branch from the sub-agents that `is` there.
pub(super) fn free(run: &mut Run, is: impl Fn(&FramePath) -> bool) {
    run.agents.retain(|_, bound| !is(bound));
    let Run { agents, away, .. } = run;
    away.retain(|agent| agents.contains_key(agent));
}
