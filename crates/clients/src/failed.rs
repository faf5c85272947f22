//! What a shell line that failed has written all the same.

use interlock_core::{call::WrittenPath, names::CallId, run::Run};
use interlock_facts::{Disk, state_of};

/// Returns the watched files of a failed call that are no longer what they were.
///
/// `cp a db/x; false` fails and has written; where nothing else saw it, the disk tells.
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
