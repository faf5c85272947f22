//! Decides whether a call that was seen is evidence now.

use super::{Scope, Unmet, substance};
use crate::{
    guard::{EvidenceGuard, EvidenceOf, Since},
    run::{OpenCall, Run, Seen},
};

/// Checks an evidence guard.
pub(super) fn check(scope: Scope<'_>, guard: &EvidenceGuard) -> Result<(), Unmet> {
    let wanted_exit = match &guard.of {
        EvidenceOf::Command { exit, .. } => *exit,
        EvidenceOf::Tool { .. } => 0,
    };
    let what = what(&guard.of);
    let no = |reason: String| Err(Unmet::new("evidence", reason));
    let key = guard.key();
    let Some(seen) = scope.run.evidence.get(&key) else {
        return no(format!("{what} was not seen in this run"));
    };
    if is_suspended(scope.run, &key, seen) {
        return no(format!(
            "{what} was not seen: how a newer call of it ends is not known; run it again, or wait for its end"
        ));
    }
    match seen.exit {
        None => {
            return no(format!(
                "{what} was not seen: how the last call ended is not known"
            ));
        }
        Some(exit) if exit != wanted_exit => {
            return no(format!(
                "{what} was not seen: the last call ended with {exit}"
            ));
        }
        Some(_) => {}
    }
    check_age(scope, guard, seen).map_err(|why| Unmet::new("evidence", format!("{what} {why}")))?;
    substance::check(scope, guard, seen, &what)
}

/// Describes the call that a guard requires.
fn what(of: &EvidenceOf) -> String {
    match of {
        EvidenceOf::Command { exit, .. } => {
            let shown = of.command_shown().unwrap_or_default();
            format!("{shown} ending with {exit}")
        }
        EvidenceOf::Tool {
            tool,
            path: Some(path),
        } => format!("a call of `{tool}` on `{path}`"),
        EvidenceOf::Tool { tool, path: None } => format!("a call of `{tool}`"),
    }
}

/// Checks that a call did not begin too early, and that nothing may still change what it saw.
fn check_age(scope: Scope<'_>, guard: &EvidenceGuard, seen: &Seen) -> Result<(), String> {
    let (stale, since) = match guard.since {
        // What its own line did before it began is no later edit.
        Since::LastEdit => (seen.is_before_an_edit(scope.run), "the last edit"),
        Since::StateEntry => (
            seen.begun_seq <= scope.frame.stay.entered_seq,
            "this state was entered",
        ),
        Since::RunStart => (false, "the run began"),
    };
    if stale {
        return Err(format!("was not seen since {since}; run it again"));
    }
    let open = match guard.since {
        Since::LastEdit => open_edit(scope.run, seen),
        Since::StateEntry | Since::RunStart => None,
    };
    match open {
        Some(by) => Err(format!(
            "was not seen since {since}: an edit {by} has not ended; wait for it, then run it again"
        )),
        None => Ok(()),
    }
}

/// Returns whether a later call that would prove the same has not ended, as far as is known.
fn is_suspended(run: &Run, key: &str, seen: &Seen) -> bool {
    run.calls.iter().any(|call| {
        call.is_open()
            && call.begun_seq > seen.begun_seq
            && call.marks.evidence.iter().any(|mark| mark.key == key)
    })
}

/// Names the agent with an open edit that may still write.
fn open_edit(run: &Run, seen: &Seen) -> Option<String> {
    let is_edit = |call: &&OpenCall| {
        call.is_open() && !call.told && call.marks.writes && call.begun_seq != seen.begun_seq
    };
    let open = run.calls.iter().find(is_edit)?;
    Some(open.marks.agent.as_ref().map_or_else(
        || "of the agent".to_owned(),
        |agent| format!("of the sub-agent `{agent}`"),
    ))
}
