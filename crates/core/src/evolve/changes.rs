//! Protected things and tools that have changed and that no person has accepted yet.

use crate::{
    event::{ProtectedChange, ToolChange},
    names::{CallId, Digest},
    run::{AcceptedTool, Run},
};

/// Maximum number of changes that wait for a person.
const CHANGES_MAX: usize = 256;

/// Makes earlier evidence stale after files changed without a call that was seen to change them.
pub(super) fn report_files(run: &mut Run, before: Option<&CallId>) {
    let call = before.and_then(|id| run.calls.iter().find(|call| call.id == *id));
    // What that call proves is newer than the change.
    let at = call.map_or(run.seq, |call| call.begun_seq.saturating_sub(1));
    run.last_write = run.last_write.max(Some(at));
}

/// Stores the newest report of each protected thing until a person accepts it.
pub(super) fn report_protected(run: &mut Run, changes: &[ProtectedChange]) {
    for change in changes {
        run.changed.retain(|known| known.path != change.path);
        if run.changed.len() < CHANGES_MAX {
            run.changed.push(change.clone());
        }
    }
}

/// Accepts the changes that a person has seen.
pub(super) fn accept_changes(run: &mut Run) {
    for change in std::mem::take(&mut run.changed) {
        if !change.undone {
            run.accepted.insert(change.path, change.digest);
        }
    }
}

/// Stores the newest report of each changed tool until a person accepts it.
pub(super) fn report_tool(run: &mut Run, change: &ToolChange) {
    run.tools_changed
        .retain(|known| known.server != change.server || known.tool != change.tool);
    if run.tools_changed.len() < CHANGES_MAX {
        run.tools_changed.push(change.clone());
    }
}

pub(super) fn accept_tool(run: &mut Run, server: &str, tool: &str, digest: &Digest) {
    run.tools_changed
        .retain(|known| known.server != server || known.tool != tool);
    run.tools_accepted
        .retain(|known| known.server != server || known.tool != tool);
    run.tools_accepted.push(AcceptedTool {
        server: server.to_owned(),
        tool: tool.to_owned(),
        digest: digest.clone(),
    });
}
