//! Counts the files that a call was seen to write, besides those that it named.

use crate::{call::WrittenPath, names::CallId, run::Run};

/// Counts the files of the project that an open, allowed call was seen to write.
pub(super) fn count(run: &mut Run, call: &CallId, wrote: &[WrittenPath]) {
    let open = run.calls.iter().find(|open| open.id == *call);
    let Some((path, entered_seq)) = open.map(|open| (open.path.clone(), open.entered_seq)) else {
        return;
    };
    // What an earlier stay began is none of this one's files.
    if let Some(frame) = run
        .frame_mut(&path)
        .filter(|frame| frame.stay.entered_seq == entered_seq)
    {
        let inside = wrote.iter().filter(|file| file.relative.is_some());
        frame
            .stay
            .used
            .files
            .extend(inside.map(|file| file.path.clone()));
    }
}
