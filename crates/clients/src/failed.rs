//! Files that a failed shell line has written all the same.

use interlock_core::{call::WrittenPath, names::CallId, run::Run};
use interlock_facts::{Disk, state_of};

/// Returns the watched files that have changed since a failed call began.
///
/// `cp a db/x; false` fails although it has written; if nothing else observed the write, the disk shows it.
pub(crate) fn wrote(run: &Run, call: &CallId, ok: bool, disk: &dyn Disk) -> Vec<WrittenPath> {
    let known = run.calls.iter().find(|known| known.id == *call);
    let Some(known) = known.filter(|_| !ok) else {
        return Vec::new();
    };
    known
        .marks
        .watched
        .iter()
        .filter(|file| state_of(&file.path, disk) != file.before)
        .map(|file| WrittenPath {
            path: file.path.clone(),
            relative: Some(file.relative.clone()),
        })
        .collect()
}
