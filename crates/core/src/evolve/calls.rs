//! Folds the events of tool calls and of sub-agents: verdicts, results, bindings.

use std::collections::BTreeSet;

use super::{requests, substance};
use crate::{
    event::{CallMarks, CallRecord, EvidenceMark, ProbedCommand},
    names::{AgentId, CallId, FramePath},
    run::{OpenCall, Run, Seen, ShellLine},
    substance::Checked,
};

/// Maximum number of open calls kept; `decide` settles older ones first.
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

/// Binds a sub-agent to a branch; one that had stopped there loses its binding.
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
        frame.stay.used.calls += 1;
        frame.stay.used.files.extend(marks.files.iter().cloned());
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
    let entered_seq = frame.stay.entered_seq;
    if run.calls.len() >= OPEN_CALLS_MAX {
        run.calls.pop_front();
    }
    let overlapped = !asked && substance::overlaps(run, marks);
    run.calls.push_back(OpenCall {
        id: call.id.clone(),
        path: path.clone(),
        entered_seq,
        begun_seq: run.seq,
        asked,
        digest: call.digest.clone(),
        marks: marks.clone(),
        line: None,
        told: false,
        assumed: false,
        overlapped,
    });
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallOutcome<'a> {
    pub(super) ok: bool,
    pub(super) exit: Option<i64>,
    pub(super) commands: &'a [ProbedCommand],
    /// Results of further checks of the shell line; `None`: there were none.
    pub(super) checked: Option<&'a Checked>,
    /// Whether the call may have written until it ended.
    pub(super) writes: bool,
    /// Whether no end was seen, so that the real one may still arrive.
    pub(super) assumed: bool,
}

/// Counts a call that the client's own prompt allowed, and settles its request as approved.
fn admit_asked(run: &mut Run, id: &CallId) {
    let asked = |call: &OpenCall| call.asked && call.id == *id;
    let Some(index) = run.calls.iter().position(asked) else {
        return;
    };
    substance::begins_late(run, index);
    let Some(open) = run.calls.get_mut(index) else {
        return;
    };
    open.asked = false;
    let call = open.clone();
    requests::settle_in_prompt(run, &call);
    count(run, &call.path, &call.marks);
    if call.marks.writes {
        run.last_write = Some(run.seq);
    }
}

/// Ends a call as its client reports it; what `interlock exec` saw of its line takes precedence.
pub(super) fn end_call(run: &mut Run, id: &CallId, outcome: CallOutcome<'_>, bytes: u64) {
    // The client's own prompt said yes: the call ran, so it counts from here.
    admit_asked(run, id);
    let Some(index) = run.calls.iter().position(|call| call.id == *id) else {
        return;
    };
    let Some(mut call) = run.calls.remove(index) else {
        return;
    };
    if let Some(frame) = run
        .frame_mut(&call.path)
        .filter(|frame| call.marks.counts && frame.stay.entered_seq == call.entered_seq)
    {
        frame.stay.used.bytes = frame.stay.used.bytes.saturating_add(bytes);
    }
    if call.line_has_ended() {
        return;
    }
    let goes_on = call.line.as_ref().is_some_and(|line| line.settles);
    if goes_on && !outcome.assumed {
        // Its end is still to come, and settles what it proves.
        call.told = true;
        run.calls.insert(index, call);
        return;
    }
    settle(run, &call, outcome, true);
    if outcome.assumed && outcome.writes {
        call.assumed = true;
        run.calls.insert(index, call);
    }
}

/// Records that `interlock exec` runs the line of a call, so anybody who was asked has approved.
pub(super) fn start_line(run: &mut Run, id: &CallId, settles: bool) {
    if settles {
        admit_asked(run, id);
    }
    if let Some(open) = run.calls.iter_mut().find(|open| open.id == *id) {
        open.line = Some(ShellLine {
            settles,
            ..ShellLine::default()
        });
    }
}

/// Records how the line of a call ended, and settles the call if the line was started to do so.
pub(super) fn end_line(run: &mut Run, id: &CallId, mut line: ShellLine) {
    let seq = run.seq;
    let wrote = !line.wrote.is_empty();
    if let Some(index) = run.calls.iter().position(|call| call.id == *id)
        && !run.calls.get(index).is_some_and(OpenCall::line_has_ended)
        && let Some(mut call) = run.calls.remove(index)
    {
        // A line ends once: what is told of it later is only what it was seen to write.
        line.settles = call.line.as_ref().is_some_and(|line| line.settles);
        line.ended_seq = line.settles.then_some(seq);
        if line.settles {
            let outcome = CallOutcome {
                ok: line.exit == Some(0),
                exit: line.exit,
                commands: &line.commands,
                checked: Some(&line.checked),
                writes: call.marks.writes,
                assumed: false,
            };
            settle(run, &call, outcome, !wrote);
        }
        if !call.told {
            call.line = Some(line);
            run.calls.insert(index, call);
        }
    }
    if wrote {
        run.last_write = run.last_write.max(Some(seq));
    }
}

/// Folds the evidence that the end of a call gives, and the evidence that it makes stale.
///
/// `in_order` tells whether everything that the call wrote is known to precede its checks.
fn settle(run: &mut Run, call: &OpenCall, outcome: CallOutcome<'_>, in_order: bool) {
    let begun_seq = call.begun_seq;
    let takes_baseline = run.takes_baseline();
    let alone = in_order && run.last_write <= Some(begun_seq);
    if outcome.writes {
        // It may have waited for a person: what it writes lands at its end at the latest.
        run.last_write = run.last_write.max(Some(run.seq));
    }
    for mark in &call.marks.evidence {
        let Some(seen) = seen(mark, call.marks.shell, outcome) else {
            continue;
        };
        let newer = run
            .evidence
            .get(&mark.key)
            .is_none_or(|known| known.begun_seq <= begun_seq);
        let report = substance::report(call, mark, outcome.checked);
        if let Some(read) = report.as_ref().filter(|_| seen.is_some() && takes_baseline) {
            substance::take_baseline(run, &mark.key, begun_seq, read);
        }
        if newer {
            run.evidence.insert(
                mark.key.clone(),
                Seen {
                    begun_seq,
                    exit: seen,
                    after_writes: mark.after_writes,
                    ended_seq: (outcome.writes && alone).then_some(run.seq),
                    report,
                    frozen: outcome.checked.and_then(|checked| checked.frozen.clone()),
                },
            );
        }
    }
}

/// Returns the exit code that an outcome proves, if it proves one; `Some(None)`: unknown.
///
/// The exit code of the whole line takes precedence: if it is that of the check, no other observation is needed.
fn seen(mark: &EvidenceMark, shell: bool, outcome: CallOutcome<'_>) -> Option<Option<i64>> {
    if !shell {
        return Some(Some(i64::from(!outcome.ok)));
    }
    match outcome.exit {
        Some(0) if mark.proves_success => Some(Some(0)),
        Some(exit) if exit != 0 && mark.proves_exit => Some(Some(exit)),
        // Success of a line that does not prove it says nothing either way.
        exit => probed(mark, outcome.commands)
            .filter(|code| !(mark.failure_only && *code == Some(0)))
            .or((exit != Some(0)).then_some(None)),
    }
}

/// Returns the exit code that all starts of the probed commands share.
fn probed(mark: &EvidenceMark, commands: &[ProbedCommand]) -> Option<Option<i64>> {
    let mut codes = mark.probes.iter().flat_map(|probe| {
        let seen = commands.iter().filter(|seen| seen.at == probe.at);
        let proves = |code: &i64| *code == 0 || probe.exit;
        seen.flat_map(|seen| &seen.exits)
            .map(move |code| code.filter(proves))
    });
    let first = codes.next()?;
    Some(first.filter(|_| codes.all(|code| code == first)))
}

pub(super) fn release(run: &mut Run, path: &FramePath) {
    free(run, |bound| path.holds(bound));
}

/// Releases the branches of sub-agents for which `is` is true.
pub(super) fn free(run: &mut Run, is: impl Fn(&FramePath) -> bool) {
    run.agents.retain(|_, bound| !is(bound));
    let Run { agents, away, .. } = run;
    away.retain(|agent| agents.contains_key(agent));
}
