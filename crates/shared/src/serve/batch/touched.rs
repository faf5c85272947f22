//! What a run has written, as far as its events say: the paths that rules of approval are about.

use std::collections::BTreeSet;

use interlock_core::{
    call::WrittenPath,
    event::{CallMarks, Event},
    names::CallId,
};
use interlock_store::{
    EventLog as _,
    record::{Marks, Rows as _},
};

use super::{Live, Problem};
use crate::people::Paths;

/// Maximum number of paths of one run; further ones count as files that nobody saw.
const KNOWN_MAX: usize = 10_000;

/// What a run has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Touched {
    /// The number of events that it is of.
    pub(super) seq: u64,
    known: BTreeSet<String>,
    /// Calls that may have written what nobody saw, until their lines say what it was.
    unseen: BTreeSet<CallId>,
    /// Whether files were changed of which only some are known.
    others: bool,
    /// The number of events after the last one that tells of a write.
    pub(super) written_seq: u64,
}

impl Touched {
    /// Notes event number `seq`.
    pub(super) fn note(&mut self, seq: u64, event: &Event, marks: &Marks) {
        self.seq = seq + 1;
        match event {
            Event::CallAllowed {
                call, marks: of, ..
            }
            | Event::ToolAllowed {
                call, marks: of, ..
            } => self.allow(&call.id, of, marks),
            Event::LineEnded {
                call,
                wrote,
                unseen,
                ..
            } => {
                if *unseen {
                    self.miss(call);
                    self.written_seq = self.seq;
                } else {
                    self.unseen.remove(call);
                }
                self.add(wrote, marks);
            }
            Event::CallEnded { wrote, .. } | Event::ToolEnded { wrote, .. } => {
                self.add(wrote, marks);
            }
            Event::FilesChanged { files, .. } => {
                self.know(files.iter().cloned());
                self.others = true;
                self.written_seq = self.seq;
            }
            _ => {}
        }
    }

    fn allow(&mut self, call: &CallId, of: &CallMarks, marks: &Marks) {
        if !of.writes && of.files.is_empty() {
            return;
        }
        let paths = of_call(of, marks);
        self.know(paths.known);
        if paths.others {
            self.miss(call);
        }
        self.written_seq = self.seq;
    }

    fn add(&mut self, wrote: &[WrittenPath], marks: &Marks) {
        for one in wrote {
            let path = one.relative.clone().or_else(|| inside(&one.path, marks));
            self.know(path);
            self.written_seq = self.seq;
        }
    }

    fn know(&mut self, paths: impl IntoIterator<Item = String>) {
        for path in paths {
            if self.known.len() < KNOWN_MAX {
                self.known.insert(path);
            } else if !self.known.contains(&path) {
                self.others = true;
            }
        }
    }

    /// Notes that a call may have written what nobody saw.
    fn miss(&mut self, call: &CallId) {
        if self.unseen.len() < KNOWN_MAX {
            self.unseen.insert(call.clone());
        } else {
            self.others = true;
        }
    }

    /// Returns the paths of everything until now.
    pub(super) fn paths(&self) -> Paths {
        Paths {
            known: self.known.clone(),
            others: self.others || !self.unseen.is_empty(),
        }
    }
}

/// Returns the paths of one call.
///
/// A shell line writes more than it names, and a call that names no path writes anywhere.
pub(super) fn of_call(of: &CallMarks, marks: &Marks) -> Paths {
    Paths {
        known: (of.files.iter())
            .filter_map(|path| inside(path, marks))
            .collect(),
        others: of.writes && (of.shell || of.files.is_empty()),
    }
}

/// Returns a path relative to the project; `None`: it is outside.
pub(super) fn inside(path: &str, marks: &Marks) -> Option<String> {
    let marked = marks.encode_text(path);
    let rest = marked.strip_prefix("@project")?;
    let rest = match rest.strip_prefix('/') {
        Some(rest) => rest,
        None if rest.is_empty() => rest,
        None => return None,
    };
    Some(rest.replace("@@", "@"))
}

impl Live {
    /// Reads what the run has written since it was last asked for.
    pub(super) fn catch_up_touched(&mut self) -> Result<(), Problem> {
        let mut touched = self.touched.take().unwrap_or_default();
        if touched.seq > self.folded.run.seq {
            touched = Touched::default();
        }
        let of = self.log.log_of();
        for recorded in self.log.events(touched.seq) {
            let recorded = recorded?;
            if recorded.seq >= self.folded.run.seq {
                break;
            }
            touched.note(recorded.seq, &recorded.event, of.marks);
        }
        self.touched = Some(touched);
        Ok(())
    }
}
